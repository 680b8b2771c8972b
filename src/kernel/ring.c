/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the event rings where they are, without copying, and merges them by time.
 *
 * A program reads the clock first and reserves its record after, so a ring that is empty now may still get a
 * record that is a little older than what other rings hold. How much older is bounded by what can come
 * between the two (an interrupt, a preemption): WINDOW. A record is delivered when every other ring shows a
 * later one, or when it is older than the window. A record that is reserved but not finished stops its own
 * ring, and makes the others wait for PATIENCE, no longer. What comes too late after all is delivered and
 * counted as disorder.
 *
 * Within one ring the order of reservation is kept. Invariant: `published` <= `position` <= `end` <=
 * producer. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/state.h"
#include "kernel/syscalls.h"

static const uint64_t WINDOW = 2000000, PATIENCE = 50000000; /* ns */
enum { HEADER = 8 };
static const uint32_t BUSY = 1U << 31, DISCARD = 1U << 30;

static int ring_map(struct ring *ring, int fd, uint32_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!size || size & (size - 1) || size % page)
        return -EINVAL;
    ring->fd = fd;
    ring->size = size;
    void *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (consumer == MAP_FAILED)
        return -errno;
    char *producer = mmap(NULL, page + 2 * (size_t)size, PROT_READ, MAP_SHARED, fd, (off_t)page);
    if (producer == MAP_FAILED) {
        int error = -errno;
        munmap(consumer, page);
        return error;
    }
    ring->consumer = consumer;
    ring->producer = (const unsigned long *)producer;
    ring->data = (const uint8_t *)producer + page;
    ring->position = ring->published = *ring->consumer;
    return 0;
}

static void ring_unmap(struct ring *ring)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(ring->consumer, page);
    munmap((void *)((uintptr_t)ring->data - page), page + 2 * (size_t)ring->size);
}

/* Maps the rings. If that succeeds the descriptors belong to them. */
int ring_open(struct rings *rings, const int *fds, uint32_t count, uint32_t size)
{
    int error = 0;
    uint32_t before = rings->count;
    struct ring *items = realloc(rings->items, (before + count) * sizeof *items);
    if (!items)
        return -ENOMEM;
    rings->items = items;
    memset(items + before, 0, count * sizeof *items);
    if (!before)
        rings->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (rings->epoll < 0)
        return -errno;
    for (; rings->count < before + count; rings->count++) {
        error = ring_map(&items[rings->count], fds[rings->count - before], size);
        if (error)
            goto failed;
        struct epoll_event event = {.events = EPOLLIN};
        if (epoll_ctl(rings->epoll, EPOLL_CTL_ADD, fds[rings->count - before], &event)) {
            error = -errno;
            ring_unmap(&rings->items[rings->count]);
            goto failed;
        }
    }
    return 0;
failed:
    while (rings->count > before)
        ring_unmap(&rings->items[--rings->count]);
    return error;
}

/* CPUs that come later share the first one, which several writers may. */
uint32_t ring_of_cpu(const struct kernel *kernel, uint32_t cpu)
{
    for (size_t ring = 0; ring < kernel->online_count; ring++)
        if (kernel->online[ring] == cpu)
            return (uint32_t)ring;
    return 0;
}

void ring_close(struct rings *rings)
{
    for (uint32_t i = 0; i < rings->count; i++) {
        ring_unmap(&rings->items[i]);
        close(rings->items[i].fd);
    }
    if (rings->items && rings->epoll >= 0)
        close(rings->epoll);
    free(rings->items);
    *rings = (struct rings){.epoll = -1};
}

static void ring_publish(struct ring *ring)
{
    if (ring->published != ring->position)
        __atomic_store_n(ring->consumer, ring->position, __ATOMIC_RELEASE);
    ring->published = ring->position;
}

/* Finds the record at the position: skips discarded and senseless ones. */
static void ring_look(struct ring *ring, uint64_t now)
{
    ring->record = NULL;
    while (ring->position < ring->end) {
        const uint8_t *at = ring->data + (ring->position & (ring->size - 1));
        uint32_t header = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
        if (header & BUSY) {
            if (!ring->busy_since)
                ring->busy_since = now;
            ring->given_up = now - ring->busy_since > PATIENCE;
            return;
        }
        ring->busy_since = 0;
        ring->given_up = false;
        uint32_t length = header & ~DISCARD;
        if (length > ring->size)
            length = ring->size; /* cannot happen, but no length may lead outside of the ring */
        if (!(header & DISCARD) && length >= sizeof(struct image_record)) {
            ring->record = at + HEADER;
            ring->length = length;
            memcpy(&ring->time, ring->record, sizeof ring->time);
            return;
        }
        ring->position += ((unsigned long)length + HEADER + 7) & ~7UL;
    }
}

static void ring_advance(struct ring *ring, uint64_t now)
{
    ring->position += ((unsigned long)ring->length + HEADER + 7) & ~7UL;
    /* Telling the producer touches its cache line: now and then is enough. */
    if (ring->position - ring->published > ring->size / 8)
        ring_publish(ring);
    ring_look(ring, now);
}

/* Delivers the records of one ring up to a time. Non-zero: the callback's answer. */
static int ring_deliver(struct rings *rings, struct ring *ring, uint64_t until, uint64_t now, int *count,
                        host_record *record, void *state)
{
    while (ring->record && ring->time <= until) {
        const uint64_t time = ring->time;
        int answer = record(state, ring->record, ring->length);
        if (answer == -ENOBUFS)
            return answer;
        if (time < rings->delivered_time)
            rings->disorder++;
        else
            rings->delivered_time = time;
        ring_advance(ring, now);
        if (answer)
            return answer;
        ++*count;
    }
    return 0;
}

static int consume(struct rings *rings, bool drain, host_record *record, void *state)
{
    /* The clock before the producers: what is not in a ring yet was reserved after this time, and its clock
     * was read no more than the window before. */
    uint64_t now = clock_ns(CLOCK_BOOTTIME), settled = drain || rings->count == 1 ? UINT64_MAX : now - WINDOW;
    int count = 0, answer = 0;
    for (uint32_t i = 0; i < rings->count; i++) {
        struct ring *ring = &rings->items[i];
        ring->end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
        ring_look(ring, now);
    }
    while (!answer) {
        struct ring *first = NULL;
        uint64_t second = UINT64_MAX; /* the time up to which `first` may run */
        for (uint32_t i = 0; i < rings->count; i++) {
            struct ring *ring = &rings->items[i];
            if (!ring->record) {
                /* The ring is empty: what comes into it later is not older than this. */
                uint64_t from = settled;
                if (ring->busy_since && !drain && !ring->given_up && ring->busy_since - WINDOW < from)
                    from = ring->busy_since - WINDOW;
                if (rings->count > 1 && from < second)
                    second = from;
            } else if (!first || ring->time < first->time) {
                if (first && first->time < second)
                    second = first->time;
                first = ring;
            } else if (ring->time < second) {
                second = ring->time;
            }
        }
        if (!first || first->time > second)
            break;
        answer = ring_deliver(rings, first, second, now, &count, record, state);
    }
    for (uint32_t i = 0; i < rings->count; i++)
        ring_publish(&rings->items[i]);
    return answer ? answer : count;
}

int ring_consume(struct host *host, bool drain, host_record *record, void *state)
{
    return consume(&kernel_of(host)->rings, drain, record, state);
}

/* Most events send nothing, and then no clock is read. */
int ring_consume_own(struct host *host, host_record *record, void *state)
{
    struct rings *rings = &kernel_of(host)->own_rings;
    const struct ring *ring = rings->items;
    if (!rings->count || __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) == ring->position)
        return 0;
    return consume(rings, true, record, state);
}
