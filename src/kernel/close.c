/* SPDX-License-Identifier: BSD-3-Clause */
/* Closes links many at once. To close a uprobe_multi link takes the kernel some 55 ms, which it waits for programs
 * that may still run, without a lock: those who wait at the same time wait for the same. So thousands of links take
 * hardly longer than one, if each of many threads closes some.
 *
 * Links of kprobes and perf events are closed under a lock of the kernel's, and gain nothing. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "kernel/state.h"

enum { THREADS = 256, STACK_BYTES = 128 << 10 };

struct closing {
    const int *fds;
    size_t count;
    atomic_size_t next;
};

static void *close_some(void *state)
{
    struct closing *closing = state;
    for (size_t i; (i = atomic_fetch_add(&closing->next, 1)) < closing->count;)
        close(closing->fds[i]);
    return NULL;
}

void close_at_once(const int *fds, size_t count)
{
    struct closing closing = {.fds = fds, .count = count};
    pthread_t threads[THREADS];
    size_t started = 0;
    pthread_attr_t attributes;
    if (count > 1 && !pthread_attr_init(&attributes)) {
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        /* This thread is the last. If there can be no more of them, fewer do it. */
        while (started < THREADS - 1 && started < count - 1 &&
               !pthread_create(&threads[started], &attributes, close_some, &closing))
            started++;
        pthread_attr_destroy(&attributes);
    }
    close_some(&closing);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
