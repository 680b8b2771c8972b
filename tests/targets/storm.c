/* SPDX-License-Identifier: BSD-3-Clause */
/* Hits something as fast as it can, and counts: storm usdt|call|syscall [THREADS].
 *   usdt     fires storm:tick (number, text), behind a semaphore
 *   call     calls storm_call(number)
 *   syscall  calls getppid()
 * It obeys the lines of its standard input: "go" begins, "stop" ends the storm, "look" waits until all threads have
 * hit again if it goes on. After each it prints "LISTENED HITS": 1 if a tracer is attached to storm:tick, and how
 * many hits there have been. It ends at the end of its input. */
#include <spoor/probe.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

SPOOR_PROBE_DECLARE(storm, tick, (uint64_t, number), (const char *, text));

enum { THREADS_MAX = 64 };

static char kind;
static bool runs;
static struct { /* one for each thread */
    _Alignas(64) uint64_t hits;
} counts[THREADS_MAX];

__attribute__((noinline, noclone, noipa, used)) void storm_call(uint64_t number)
{
    __asm__ volatile("" ::"r"(number) : "memory");
}

__attribute__((noinline)) static void storm_tick(uint64_t number)
{
    SPOOR_FIRE(storm, tick, number, "storm");
}

static void *work(void *own)
{
    uint64_t *hits = own;
    for (uint64_t count = 0; __atomic_load_n(&runs, __ATOMIC_RELAXED); count++) {
        if (kind == 'u')
            storm_tick(count);
        else if (kind == 'c')
            storm_call(count);
        else
            syscall(SYS_getppid);
        __atomic_store_n(hits, *hits + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static uint64_t hits_of(int thread)
{
    return __atomic_load_n(&counts[thread].hits, __ATOMIC_RELAXED);
}

static void wait_for_hits(int count)
{
    for (int i = 0; i < count; i++)
        for (uint64_t before = hits_of(i); hits_of(i) == before;)
            usleep(100);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    int count = argc > 2 ? atoi(argv[2]) : 1;
    char line[16];
    kind = argc > 1 ? *argv[1] : 'u';
    if (count < 1 || count > THREADS_MAX)
        return 2;
    setlinebuf(stdout);
    while (fgets(line, sizeof line, stdin)) {
        bool go = !strcmp(line, "go\n"), stop = !strcmp(line, "stop\n");
        uint64_t hits = 0;
        if ((go && runs) || (stop && !runs))
            return 2;
        if (go || stop)
            __atomic_store_n(&runs, go, __ATOMIC_RELAXED);
        for (int i = 0; i < count && (go || stop); i++)
            if (go ? pthread_create(&threads[i], NULL, work, &counts[i].hits)
                   : pthread_join(threads[i], NULL))
                return 2;
        if (runs)
            wait_for_hits(count);
        for (int i = 0; i < count; i++)
            hits += hits_of(i);
        printf("%d %llu\n", SPOOR_LISTENED(storm, tick) != 0, (unsigned long long)hits);
    }
    return 0;
}
