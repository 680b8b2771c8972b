/* SPDX-License-Identifier: BSD-3-Clause */
/* Records as an SPDK program does, for the tests: the sectioned format in shared memory; masks are obeyed, and
 * nothing else is guarded. The file that includes this fills in the declarations. */
#ifndef SPOOR_TESTS_SPDK_WRITING_H
#define SPOOR_TESTS_SPDK_WRITING_H

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "reader/spdk.h"

enum { LCORES = 2, GROUPS = 20, IDS = 1280, OWNERS = 4, DESCRIPTION = 119, TRACEPOINTS = 12, TYPES = 5 };

struct head {
    struct spdk_header header;
    uint64_t main[64];
    uint16_t owner_head[64];
    uint8_t owners[OWNERS][sizeof(struct spdk_owner) + DESCRIPTION];
    _Alignas(8) uint16_t mask_head[64];
    uint64_t masks[GROUPS];
    uint16_t owner_type_head[64];
    struct spdk_letter owner_types[TYPES];
    uint16_t object_head[64];
    struct spdk_letter objects[TYPES];
    uint16_t tracepoint_head[64];
    struct spdk_tracepoint tracepoints[TRACEPOINTS];
    _Alignas(8) uint16_t lcore_head[64];
    uint64_t lcore_offsets[LCORES];
};

static struct head *file;
static uint64_t slots = 4096; /* of each lcore's ring */
static char file_path[256];

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static struct spdk_history *history(unsigned lcore)
{
    return (struct spdk_history *)((uint8_t *)file + file->lcore_offsets[lcore]);
}

/* Writes a record: first the slots, then the position. */
static void record_at(uint64_t tsc, unsigned lcore, uint16_t id, uint16_t owner, uint64_t object,
                      const uint64_t *words, unsigned count, uint64_t written[2])
{
    struct spdk_history *ring = history(lcore);
    uint64_t *counts = (uint64_t *)(ring + 1);
    volatile struct spdk_slot *all = (volatile struct spdk_slot *)(counts + IDS);
    const uint64_t mask = __atomic_load_n(&file->masks[id / 64], __ATOMIC_RELAXED);
    if (!(mask >> id % 64 & 1))
        return;
    uint64_t next = ring->next_entry;
    volatile struct spdk_slot *slot = &all[next++ % slots];
    const uint8_t *bytes = (const uint8_t *)words;
    unsigned left = count * 8, room = sizeof slot->arguments;
    slot->tsc = tsc;
    slot->id = id;
    slot->owner = owner;
    slot->size = count * 512;
    slot->object = object;
    uint8_t *to = (uint8_t *)(uintptr_t)slot->arguments;
    for (;;) {
        const unsigned part = left < room ? left : room;
        memcpy(to, bytes, part);
        bytes += part;
        left -= part;
        if (!left)
            break;
        slot = &all[next++ % slots];
        slot->tsc = tsc;
        slot->id = IDS;
        to = (uint8_t *)(uintptr_t)slot + offsetof(struct spdk_slot, owner);
        room = SPDK_CONTINUATION_BYTES;
    }
    counts[id]++;
    written[0] += next - ring->next_entry;
    written[1]++;
    __atomic_store_n(&ring->next_entry, next, __ATOMIC_RELEASE);
}

static inline void declare(const char *name, uint16_t id, uint8_t type, bool is_new,
                           const char *const *arguments, uint8_t related)
{
    struct spdk_tracepoint *tracepoint = &file->tracepoints[file->tracepoint_head[0]++];
    memcpy(tracepoint->name, name, strlen(name));
    tracepoint->id = id;
    tracepoint->owner_type = tracepoint->object_type = type;
    tracepoint->new_object = is_new;
    for (; arguments[tracepoint->argument_count]; tracepoint->argument_count++) {
        const char *argument = arguments[tracepoint->argument_count];
        struct spdk_argument *to = &tracepoint->arguments[tracepoint->argument_count];
        memcpy(to->name, argument, strlen(argument));
        to->type = !strcmp(argument, "ctx");
        to->size = 8;
        if (related && to->type) {
            tracepoint->relations[0].object_type = related;
            tracepoint->relations[0].argument = tracepoint->argument_count;
        }
    }
}

static inline void add_type(char owner, char object)
{
    const uint8_t type = (uint8_t)(file->object_head[0] + 1);
    file->owner_types[file->owner_type_head[0]++] = (struct spdk_letter){type, owner};
    file->objects[file->object_head[0]++] = (struct spdk_letter){type, object};
}

static inline void owner(unsigned index, uint8_t type, const char *description)
{
    const struct spdk_owner head = {ticks(), type};
    memcpy(file->owners[index], &head, sizeof head);
    memcpy(file->owners[index] + sizeof head, description, strlen(description));
}

/* Reads the counter and the clock at one time: of ten looks the one that took least, because the CPU may be taken away in the
 * middle of one. */
static uint64_t look_at_clock(uint64_t *counter)
{
    uint64_t least = UINT64_MAX, time = 0;
    for (int i = 0; i < 10; i++) {
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        const uint64_t now = ticks();
        clock_gettime(CLOCK_MONOTONIC, &after);
        const uint64_t begin = (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec;
        const uint64_t took = (uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec - begin;
        if (took < least) {
            least = took;
            time = begin + took / 2;
            *counter = now;
        }
    }
    return time;
}

static uint64_t measure_rate(void)
{
    uint64_t begin = 0, end = 0;
    const uint64_t from = look_at_clock(&begin);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    const uint64_t to = look_at_clock(&end);
    return (end - begin) * 1000000000u / (to - from);
}

/* Makes a file in shared memory with rings and without declarations. Exits if that fails. */
static inline void make_file(const char *name)
{
    char *path = file_path;
    const uint64_t lcore_bytes = sizeof(struct spdk_history) + IDS * 8 + slots * sizeof(struct spdk_slot),
                   bytes = sizeof *file + LCORES * lcore_bytes;
    snprintf(path, sizeof file_path, "/dev/shm/%s_trace.pid%d", name, (int)getpid());
    const int shared = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (shared < 0 || ftruncate(shared, (off_t)bytes) ||
        (file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0)) == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    close(shared);
    file->header = (struct spdk_header){
        .file_size = bytes,
        .section_count = SPDK_SECTIONS,
        .offsets = {offsetof(struct head, main), offsetof(struct head, owner_head),
                    offsetof(struct head, mask_head), offsetof(struct head, owner_type_head),
                    offsetof(struct head, object_head), offsetof(struct head, tracepoint_head),
                    offsetof(struct head, lcore_head)},
    };
    file->main[0] = measure_rate();
    file->owner_head[0] = OWNERS;
    file->owner_head[1] = DESCRIPTION;
    file->mask_head[0] = GROUPS;
    memset(file->masks, 0xff, sizeof file->masks);
    file->lcore_head[0] = LCORES;
    for (unsigned i = 0; i < LCORES; i++) {
        file->lcore_offsets[i] = sizeof *file + i * lcore_bytes;
        *history(i) = (struct spdk_history){.lcore = (int32_t)i, .num_entries = slots, .num_tpoint_ids = IDS};
        snprintf(history(i)->thread_name, sizeof history(i)->thread_name, "reactor_%u", i);
    }
}

/* Prints where the file is, when everything has been declared. */
static inline void tell_path(void)
{
    puts(file_path);
    fflush(stdout);
}

#endif
