/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers of interval probes: a thread that runs their programs (BPF_PROG_TEST_RUN) when they are due.
 *
 * A software event of perf would run a program without a thread, but the kernel drops the tick of a perf event,
 * without counting it, whenever its CPU is just running another program or updating a map: with busy probes an
 * interval of 100 ms came after seconds. Nothing drops a tick of this thread.
 *
 * Due times are multiples of the period since kernel_timers_start(), however long programs take. Of several ticks
 * that passed while the thread could not run, the last one counts. Whoever stops the timers still gets the ticks that
 * were due by then, so that a trace of 10 ms has at least nine ticks of a millisecond unless the thread had to wait
 * for a CPU, and at least one even then. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/vector.h"
#include "kernel/state.h"

enum { PERIOD_MIN = 10000 /* ns: what perf events have as their shortest */ };

struct timer {
    uint64_t period, due; /* ns; `due` by CLOCK_MONOTONIC */
    size_t program;
};

struct timers {
    struct kernel *kernel;
    struct timer *items;
    size_t count, room;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* held by the thread but while it waits */
    pthread_cond_t stopped;
    uint64_t end;   /* the thread runs what is due by then, and ends */
    int error;      /* atomic: why the kernel did not run a program; 0: it ran all */
    size_t refused; /* with `error`: which program */
};

int kernel_attach_timer(struct kernel *kernel, const struct attach_request *request, uint64_t period)
{
    struct timers *timers = kernel->timers;
    if (!timers) {
        if (!(timers = calloc(1, sizeof *timers)))
            return -ENOMEM;
        timers->kernel = kernel;
        kernel->timers = timers;
    }
    if (!vector_make_room(timers->items, timers->count, timers->room))
        return -ENOMEM;
    timers->items[timers->count++] =
        (struct timer){.period = period > PERIOD_MIN ? period : PERIOD_MIN, .program = request->program};
    return 0;
}

static struct timer *timer_next(const struct timers *timers)
{
    struct timer *next = &timers->items[0];
    for (size_t i = 1; i < timers->count; i++)
        if (timers->items[i].due < next->due)
            next = &timers->items[i];
    return next;
}

static void *timers_run(void *state)
{
    struct timers *timers = state;
    prctl(PR_SET_TIMERSLACK, 1UL); /* or a tick may be late by 50 us */
    pthread_mutex_lock(&timers->lock);
    for (;;) {
        struct timer *next = timer_next(timers);
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (next->due > timers->end)
            break;
        if (next->due > now) {
            struct timespec due = timespec_of(next->due);
            pthread_cond_timedwait(&timers->stopped, &timers->lock, &due);
            continue;
        }
        next->due = now - (now - next->due) % next->period + next->period;
        int error = load_run(&timers->kernel->host, next->program);
        if (error) {
            timers->refused = next->program;
            __atomic_store_n(&timers->error, error, __ATOMIC_RELEASE);
            break;
        }
    }
    pthread_mutex_unlock(&timers->lock);
    return NULL;
}

int kernel_timers_start(struct kernel *kernel)
{
    struct timers *timers = kernel->timers;
    pthread_condattr_t monotonic;
    if (!timers || timers->has_thread)
        return 0;
    pthread_mutex_init(&timers->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&timers->stopped, &monotonic);
    pthread_condattr_destroy(&monotonic);
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < timers->count; i++)
        if (__builtin_add_overflow(now, timers->items[i].period, &timers->items[i].due))
            timers->items[i].due = UINT64_MAX;
    timers->end = UINT64_MAX;
    int error = thread_start(&timers->thread, timers_run, timers);
    timers->has_thread = !error;
    return error;
}

int kernel_timers_failed(const struct kernel *kernel, size_t *program)
{
    const struct timers *timers = kernel->timers;
    int error = timers ? __atomic_load_n(&timers->error, __ATOMIC_ACQUIRE) : 0;
    if (error)
        *program = timers->refused;
    return error;
}

void kernel_timers_stop(struct kernel *kernel)
{
    struct timers *timers = kernel->timers;
    if (!timers || !timers->has_thread)
        return;
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    pthread_mutex_lock(&timers->lock);
    timers->end = now;
    pthread_cond_signal(&timers->stopped);
    pthread_mutex_unlock(&timers->lock);
    pthread_join(timers->thread, NULL);
    timers->has_thread = false;
    pthread_cond_destroy(&timers->stopped);
    pthread_mutex_destroy(&timers->lock);
}

void timers_free(struct kernel *kernel)
{
    kernel_timers_stop(kernel);
    if (kernel->timers)
        free(kernel->timers->items);
    free(kernel->timers);
    kernel->timers = NULL;
}
