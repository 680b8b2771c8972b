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
 * Which ring comes first is the result of a tournament (struct rings): when one ring has changed, only its own
 * matches are played again.
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
enum { HEADER = 8, LINE = 64 };
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
    struct contender *tree = realloc(rings->tree, 2 * (size_t)(before + count) * sizeof *tree);
    if (!tree)
        return -ENOMEM;
    rings->tree = tree;
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
    free(rings->tree);
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
            __builtin_prefetch(at + LINE); /* of many rings the machine itself foresees nothing */
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

/* ---- the tournament ---- */

/* settled: from when on records may still come into an empty ring; UINT64_MAX: none come. What is there goes before
 * what could come at the same time. */
static uint64_t contender_key(const struct ring *ring, uint64_t settled)
{
    if (ring->record)
        return ring->time << 1;
    if (settled == UINT64_MAX)
        return UINT64_MAX;
    if (ring->busy_since && !ring->given_up && ring->busy_since - WINDOW < settled)
        settled = ring->busy_since - WINDOW;
    return settled << 1 | 1;
}

/* The keys of all rings are set as those of leaves, [count + i]. Each match leaves its loser where it was played. */
static void tournament_begin(struct contender *tree, uint32_t count)
{
    for (uint32_t at = count - 1; at; at--)
        tree[at] = tree[2 * at + (tree[2 * at + 1].key < tree[2 * at].key)];
    tree[0] = tree[1];
    for (uint32_t at = 1; at < count; at++)
        tree[at] = tree[2 * at + (tree[2 * at + 1].key >= tree[2 * at].key)];
}

/* The winner has a new key. Which nodes it meets does not depend on who wins, so nothing waits for a match's end. */
static void tournament_again(struct contender *tree, uint32_t count, uint64_t key)
{
    struct contender winner = {key, tree[0].ring};
    for (uint32_t at = (count + winner.ring) / 2; at; at /= 2) {
        /* They change places, or not, without a branch: nobody could foresee which. */
        const struct contender other = tree[at];
        const uint64_t is_first = -(uint64_t)(other.key < winner.key);
        const uint64_t keys = (other.key ^ winner.key) & is_first;
        const uint32_t rings = (other.ring ^ winner.ring) & (uint32_t)is_first;
        tree[at] = (struct contender){other.key ^ keys, other.ring ^ rings};
        winner = (struct contender){winner.key ^ keys, winner.ring ^ rings};
    }
    tree[0] = winner;
}

/* Up to which time the winner would win again: that of the first of those that have lost against it. */
static uint64_t tournament_second(const struct contender *tree, uint32_t count)
{
    uint64_t second = UINT64_MAX;
    for (uint32_t at = (count + tree[0].ring) / 2; at; at /= 2)
        second = tree[at].key < second ? tree[at].key : second;
    return second >> 1;
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
    struct contender *tree = rings->tree;
    int count = 0, answer = 0;
    if (!rings->count)
        return 0;
    for (uint32_t i = 0; i < rings->count; i++) {
        struct ring *ring = &rings->items[i];
        ring->end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
        ring_look(ring, now);
        ring->is_half_full = ring->can_grow && ring->end - ring->position > ring->size / 2;
        rings->is_half_full |= ring->is_half_full;
        tree[rings->count + i] = (struct contender){contender_key(ring, settled), i};
    }
    tournament_begin(tree, rings->count);
    for (uint32_t last = UINT32_MAX; !answer && !(tree[0].key & 1);) {
        /* One record, or as many as there are if this one has won before. */
        uint32_t first = tree[0].ring;
        uint64_t until = first == last ? tournament_second(tree, rings->count) : tree[0].key >> 1;
        last = first;
        answer = ring_deliver(rings, &rings->items[first], until, now, &count, record, state);
        tournament_again(tree, rings->count, contender_key(&rings->items[first], settled));
    }
    for (uint32_t i = 0; i < rings->count; i++)
        ring_publish(&rings->items[i]);
    return answer ? answer : count;
}

int ring_consume(struct host *host, bool drain, host_record *record, void *state)
{
    struct kernel *kernel = kernel_of(host);
    int answer = consume(&kernel->rings, drain, record, state);
    if (kernel->rings.is_half_full)
        growth_look(kernel);
    return answer;
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
