/* SPDX-License-Identifier: BSD-3-Clause */
/* Reactors. A message queue is a stack to which senders push without a lock; its thread takes all of it at once and
 * reverses it. Only the push that finds it empty writes to the eventfd. */
#define _GNU_SOURCE
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include <spoor/compat/spdk_usdt.h>
#include <spoor/trace.h>

struct message {
    struct message *next;
    thread_fn fn;
    void *context;
};

struct poller {
    TAILQ_ENTRY(poller) link;
    int (*fn)(void *context);
    void *context;
};

struct thread {
    uint32_t id;
    int core, epoll;
    struct source wake;
    _Atomic(struct message *) inbox;
    bool stopping, again;
    TAILQ_HEAD(, poller) pollers;
    struct io_channel *channels;
    pthread_t handle;
    char name[16];
};

static _Thread_local struct thread *current_thread;

void *memory_get(uint64_t size)
{
    void *memory = calloc(1, size);
    if (!memory) {
        fputs("blockd: out of memory\n", stderr);
        abort();
    }
    return memory;
}

uint64_t clock_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The clock of the SPDK-style probes. */
uint64_t spdk_get_ticks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct thread *thread_current(void)
{
    return current_thread;
}

uint32_t thread_id(const struct thread *thread)
{
    return thread->id;
}

struct io_channel **thread_channels(struct thread *thread)
{
    return &thread->channels;
}

void thread_poll_again(void)
{
    current_thread->again = true;
}

/* ---- messages ---- */

__attribute__((noinline)) void thread_send_msg(struct thread *thread, thread_fn fn, void *context)
{
    struct message *message = memory_get(sizeof *message);
    message->fn = fn;
    message->context = context;
    message->next = atomic_load_explicit(&thread->inbox, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&thread->inbox, &message->next, message,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    /* `message` may be freed by now, but not what was read from it. */
    if (thread != current_thread) {
        const uint64_t one = 1;
        /* Fails only when the counter is full, and then the thread is awake. */
        if (write(thread->wake.fd, &one, sizeof one) < 0 && errno != EAGAIN)
            perror("blockd: eventfd");
    }
}

static void messages_run(struct thread *thread)
{
    struct message *newest = atomic_exchange_explicit(&thread->inbox, NULL, memory_order_acquire);
    struct message *oldest = NULL;
    while (newest) {
        struct message *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest) {
        struct message message = *oldest;
        free(oldest);
        oldest = message.next;
        message.fn(message.context);
    }
}

static void wake_ready(void *context, uint32_t events)
{
    struct thread *thread = context;
    uint64_t count;
    (void)events;
    if (read(thread->wake.fd, &count, sizeof count) < 0 && errno != EAGAIN)
        perror("blockd: eventfd");
}

/* ---- descriptors ---- */

static int watch(struct thread *thread, struct source *source, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(thread->epoll, operation, source->fd, &event) < 0 ? -errno : 0;
}

int thread_watch(struct source *source, uint32_t events)
{
    return watch(current_thread, source, EPOLL_CTL_ADD, events);
}

void thread_rewatch(struct source *source, uint32_t events)
{
    watch(current_thread, source, EPOLL_CTL_MOD, events);
}

void thread_unwatch(struct source *source)
{
    watch(current_thread, source, EPOLL_CTL_DEL, 0);
    source->fd = -1;
}

/* ---- pollers ---- */

struct poller *poller_register(int (*fn)(void *context), void *context)
{
    struct poller *poller = memory_get(sizeof *poller);
    poller->fn = fn;
    poller->context = context;
    TAILQ_INSERT_HEAD(&current_thread->pollers, poller, link);
    return poller;
}

void poller_unregister(struct poller *poller)
{
    TAILQ_REMOVE(&current_thread->pollers, poller, link);
    free(poller);
}

/* Runs the pollers. Returns how long epoll may wait afterwards. */
static int pollers_run(struct thread *thread)
{
    int timeout = -1;
    struct poller *poller;
    thread->again = false;
    TAILQ_FOREACH(poller, &thread->pollers, link)
    {
        const int wish = poller->fn(poller->context);
        if (wish >= 0 && (timeout < 0 || wish < timeout))
            timeout = wish;
    }
    /* A thread does not wake itself for its own messages. */
    return thread->again || atomic_load_explicit(&thread->inbox, memory_order_relaxed) ? 0 : timeout;
}

/* ---- life ---- */

int thread_create(struct thread_set *set, const char *name, int core)
{
    if (set->count == THREAD_MAX)
        return -E2BIG;
    struct thread *thread = memory_get(sizeof *thread);
    thread->epoll = epoll_create1(EPOLL_CLOEXEC);
    thread->wake =
        (struct source){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = wake_ready, .context = thread};
    int error = thread->epoll < 0 || thread->wake.fd < 0 ? -errno : 0;
    if (!error)
        error = watch(thread, &thread->wake, EPOLL_CTL_ADD, EPOLLIN);
    TAILQ_INIT(&thread->pollers);
    thread->core = core;
    thread->id = set->count + 1;
    snprintf(thread->name, sizeof thread->name, "%s", name);
    if (error) {
        thread_free(thread);
        return error;
    }
    if (set->count == 0)
        current_thread = thread;
    set->threads[set->count++] = thread;
    return 0;
}

void thread_run(struct thread *thread)
{
    struct epoll_event events[64];
    int timeout = 0;
    current_thread = thread;
    pthread_setname_np(pthread_self(), thread->name);
    spoor_trace_thread(thread->name);
    if (thread->core >= 0) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(thread->core, &cpus);
        /* Failure only costs speed. */
        pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    }
    while (!thread->stopping) {
        const int count = epoll_wait(thread->epoll, events, 64, timeout);
        for (int i = 0; i < count; i++) {
            struct source *source = events[i].data.ptr;
            if (source->fd >= 0) /* an earlier handler of this turn may have closed it */
                source->ready(source->context, events[i].events);
        }
        messages_run(thread);
        timeout = pollers_run(thread);
    }
    messages_run(thread);
}

static void *thread_main(void *context)
{
    thread_run(context);
    return NULL;
}

int thread_start(struct thread *thread)
{
    return -pthread_create(&thread->handle, NULL, thread_main, thread);
}

void thread_stop(void *thread)
{
    ((struct thread *)thread)->stopping = true;
}

void thread_join(struct thread *thread)
{
    pthread_join(thread->handle, NULL);
}

void thread_free(struct thread *thread)
{
    if (thread->epoll >= 0)
        close(thread->epoll);
    if (thread->wake.fd >= 0)
        close(thread->wake.fd);
    free(thread);
}
