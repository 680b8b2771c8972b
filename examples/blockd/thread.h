/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that never wait for each other. Each runs a reactor: it sleeps in epoll, then handles what became
 * readable, then the messages that other threads sent, then its pollers. State belongs to one thread and has no
 * lock; other threads send that thread a message to change it. */
#ifndef BLOCKD_THREAD_H
#define BLOCKD_THREAD_H

#include <stdint.h>

enum { THREAD_MAX = 64 };

struct thread;
struct io_channel;

/* All threads of the program. The first is the one that made the set. It is complete before thread_run. */
struct thread_set {
    struct thread *threads[THREAD_MAX];
    unsigned count;
};

typedef void (*thread_fn)(void *context);

/* Adds a thread, to be started by thread_start (or to run in the caller, by thread_run). core: the core to run on,
 * or -1. Returns 0 or -errno. */
int thread_create(struct thread_set *set, const char *name, int core);
int thread_start(struct thread *thread);
void thread_run(struct thread *thread); /* until thread_stop is called in it */
void thread_stop(void *thread);         /* also usable as a message */
void thread_join(struct thread *thread);
void thread_free(struct thread *thread);

struct thread *thread_current(void);
uint32_t thread_id(const struct thread *thread); /* from 1 */
struct io_channel **thread_channels(struct thread *thread);

/* Calls fn(context) soon in that thread. The messages of one sender arrive in their order. */
void thread_send_msg(struct thread *thread, thread_fn fn, void *context);

/* A descriptor that the calling thread waits for. Its memory must last until the reactor's turn is over: free
 * it in a message. */
struct source {
    int fd;
    void (*ready)(void *context, uint32_t events);
    void *context;
};
int thread_watch(struct source *source, uint32_t events); /* 0 or -errno */
void thread_rewatch(struct source *source, uint32_t events);
void thread_unwatch(struct source *source); /* fd becomes -1; the caller closes it */

/* Registers a function that is called at the end of each turn of the calling thread; those registered last come
 * first, so that the upper layer sees in the same turn what a lower layer completes. The function returns in how
 * many milliseconds it wants to be called again at the latest; -1: at any time. */
struct poller;
struct poller *poller_register(int (*fn)(void *context), void *context);
void poller_unregister(struct poller *poller); /* not from within a poller */

/* Makes the calling thread go on without sleeping before its next turn. */
void thread_poll_again(void);

/* Returns zeroed memory for the program's own bookkeeping. Linux does not refuse such small amounts; if it did, the
 * program would end. Memory whose size depends on clients is allocated elsewhere, and may fail. */
void *memory_get(uint64_t size);

uint64_t clock_milliseconds(void);

#endif
