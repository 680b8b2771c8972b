/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls busy_call(i, "text") a given number of times from a given number of threads: busy COUNT [THREADS] [CALLS
 * BEFORE A PAUSE OF 1 ms]. The threads have names of their own: busy-0, busy-1, … */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "warm.h"

static long count = 1, burst;

__attribute__((noinline, noclone, noipa, used)) long busy_call(long i, const char *text)
{
    __asm__ volatile("" ::: "memory");
    return i + !text;
}

#ifdef __x86_64__
/* Begins with an instruction at which no uprobe can stand. */
__asm__(".globl locked_call\n.type locked_call, @function\nlocked_call: lock incl (%rdi)\nret\n.size "
        "locked_call, . - locked_call");
#endif

static void *work(void *number)
{
    char name[16];
    snprintf(name, sizeof name, "busy-%d", (int)(long)number);
    pthread_setname_np(pthread_self(), name);
    for (long i = 0; i < count; i++) {
        busy_call(i, "text");
        if (burst && i % burst == burst - 1)
            usleep(1000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    enum { THREADS_MAX = 64 };
    pthread_t threads[THREADS_MAX];
    count = argc > 1 ? atol(argv[1]) : 1;
    long number = argc > 2 ? atol(argv[2]) : 1;
    burst = argc > 3 ? atol(argv[3]) : 0;
    if (number < 1 || number > THREADS_MAX)
        return 2;
    for (long i = 0; i < number; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (long i = 0; i < number; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
