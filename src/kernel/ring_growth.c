/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings of many CPUs begin small, so that all of them together take no more than a budget. One that fills to the half
 * gets a ring of the full size in its place.
 *
 * The array of rings is changed by a thread, because each change waits for a grace period, some ten milliseconds, in
 * which the rings have to be read. The old ring stays among those that are read: it has records that are older than
 * those of the new one, and a program that is just running may still write to it. Programs that name their rings
 * have few, which are never small. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "kernel/state.h"

enum { BUDGET = 64 << 20, RING_MIN = 64 << 10 };

struct growth {
    int map;               /* descriptor of the array of rings */
    uint32_t slot_count;   /* of the array */
    uint32_t first, bytes; /* the number of its first ring; the full size of a ring */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    int *wanted;     /* by slot of the array: the ring that is to come there; 0: none */
    int *values;     /* the same, while it is done */
    uint32_t *slots; /* and which slots these are */
    bool any, stops;
};

uint32_t growth_first_bytes(const struct kernel *kernel, const struct image_map *map)
{
    uint32_t bytes = map->value_size;
    const uint64_t budget = kernel->ring_budget ? kernel->ring_budget : BUDGET;
    if (map->type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
        while (bytes > RING_MIN && bytes * (uint64_t)kernel->online_count > budget)
            bytes /= 2;
    return bytes;
}

void kernel_rings_are_full(struct kernel *kernel)
{
    kernel->ring_budget = UINT64_MAX;
}

static void *growth_run(void *state)
{
    struct growth *growth = state;
    pthread_mutex_lock(&growth->lock);
    while (!growth->stops) {
        if (!growth->any) {
            pthread_cond_wait(&growth->changed, &growth->lock);
            continue;
        }
        uint32_t count = 0;
        for (uint32_t slot = 0; slot < growth->slot_count; slot++) {
            if (!growth->wanted[slot])
                continue;
            growth->slots[count] = slot;
            growth->values[count++] = growth->wanted[slot];
            growth->wanted[slot] = 0;
        }
        growth->any = false;
        pthread_mutex_unlock(&growth->lock);
        create_fill(growth->map, growth->slots, growth->values, count); /* if it fails they stay small */
        pthread_mutex_lock(&growth->lock);
    }
    pthread_mutex_unlock(&growth->lock);
    return NULL;
}

void growth_begin(struct kernel *kernel, const struct kernel_map *map, uint32_t bytes)
{
    const uint32_t slots = map->max_entries;
    struct growth *growth = calloc(1, sizeof *growth);
    if (!growth)
        return;
    *growth = (struct growth){.map = map->fd,
                              .slot_count = slots,
                              .first = map->ring,
                              .bytes = bytes,
                              .wanted = calloc(slots, sizeof *growth->wanted),
                              .values = calloc(slots, sizeof *growth->values),
                              .slots = calloc(slots, sizeof *growth->slots)};
    pthread_mutex_init(&growth->lock, NULL);
    pthread_cond_init(&growth->changed, NULL);
    kernel->growth = growth;
    if (!growth->wanted || !growth->values || !growth->slots) {
        growth_end(kernel);
        return;
    }
    for (size_t i = 0; i < kernel->online_count; i++)
        kernel->rings.items[growth->first + i].can_grow = true;
}

/* Makes a large ring for the CPUs that use this one. Returns 0 or -errno. */
static int grow(struct kernel *kernel, uint32_t number)
{
    struct growth *growth = kernel->growth;
    int fd = create_ring("events", growth->bytes);
    if (fd < 0)
        return fd;
    int error = ring_open(&kernel->rings, &fd, 1, growth->bytes);
    if (error) {
        close(fd);
        return error;
    }
    pthread_mutex_lock(&growth->lock);
    for (uint32_t cpu = 0; cpu < growth->slot_count; cpu++)
        if (growth->first + ring_of_cpu(kernel, cpu) == number)
            growth->wanted[cpu] = fd;
    growth->any = true;
    pthread_cond_signal(&growth->changed);
    pthread_mutex_unlock(&growth->lock);
    return 0;
}

void growth_look(struct kernel *kernel)
{
    struct growth *growth = kernel->growth;
    const uint32_t count = kernel->rings.count;
    kernel->rings.is_half_full = false;
    if (!growth)
        return;
    if (!growth->has_thread && thread_start(&growth->thread, growth_run, growth))
        return;
    growth->has_thread = true;
    for (uint32_t i = 0; i < count; i++) {
        struct ring *ring = &kernel->rings.items[i];
        if (!ring->is_half_full || !ring->can_grow)
            continue;
        ring->can_grow = false;
        if (grow(kernel, i))
            return;
    }
}

void growth_end(struct kernel *kernel)
{
    struct growth *growth = kernel->growth;
    if (!growth)
        return;
    if (growth->has_thread) {
        pthread_mutex_lock(&growth->lock);
        growth->stops = true;
        pthread_cond_signal(&growth->changed);
        pthread_mutex_unlock(&growth->lock);
        pthread_join(growth->thread, NULL);
    }
    pthread_mutex_destroy(&growth->lock);
    pthread_cond_destroy(&growth->changed);
    free(growth->wanted);
    free(growth->values);
    free(growth->slots);
    free(growth);
    kernel->growth = NULL;
}
