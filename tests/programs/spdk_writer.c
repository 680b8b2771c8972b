/* SPDX-License-Identifier: BSD-3-Clause */
/* Records as an SPDK program does: the sectioned format in shared memory, masks obeyed, nothing else guarded.
 *
 *   spdk_writer NAME EVENTS PAUSE [SLOTS]
 *
 * Two lcores, a thread each. Each makes EVENTS rounds (0: until it is killed) of BDEV_IO_START, BDEV_IO_DONE,
 * TCP_REQ_NEW and TCP_REQ_COMPLETED, with PAUSE µs after each; an event may take several slots. The words of
 * an event follow from its number, so that a torn one shows. Prints the file's path; after the rounds, for
 * each lcore how many slots and events it wrote; then waits until its standard input ends. */
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

enum { LCORES = 2, GROUPS = 20, IDS = 1280, OWNERS = 4, DESCRIPTION = 119, TRACEPOINTS = 4 };
enum { IO_START = 3 * 64, IO_DONE, REQ_NEW = 5 * 64, REQ_COMPLETED = 5 * 64 + 12 };

struct head {
    struct spdk_header header;
    uint64_t main[64];
    uint16_t owner_head[64];
    uint8_t owners[OWNERS][sizeof(struct spdk_owner) + DESCRIPTION];
    _Alignas(8) uint16_t mask_head[64];
    uint64_t masks[GROUPS];
    uint16_t owner_type_head[64];
    struct spdk_letter owner_types[2];
    uint16_t object_head[64];
    struct spdk_letter objects[2];
    uint16_t tracepoint_head[64];
    struct spdk_tracepoint tracepoints[TRACEPOINTS];
    _Alignas(8) uint16_t lcore_head[64];
    uint64_t lcore_offsets[LCORES];
};

static struct head *file;
static uint64_t rounds, slots = 4096;
static unsigned pause_us;

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
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

/* The slots first, then the position. */
static void record(unsigned lcore, uint16_t id, uint16_t owner, uint64_t object, const uint64_t *words,
                   unsigned count, uint64_t written[2])
{
    struct spdk_history *ring = history(lcore);
    uint64_t *counts = (uint64_t *)(ring + 1);
    volatile struct spdk_slot *all = (volatile struct spdk_slot *)(counts + IDS);
    const uint64_t mask = __atomic_load_n(&file->masks[id / 64], __ATOMIC_RELAXED);
    if (!(mask >> id % 64 & 1))
        return;
    const uint64_t tsc = ticks();
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

static uint64_t written[LCORES][2];

static void *work(void *argument)
{
    const unsigned lcore = (unsigned)(uintptr_t)argument;
    for (uint64_t i = 1; !rounds || i <= rounds; i++) {
        const uint64_t io = i % 8 * 64 + 4096 + lcore, request = i % 16 * 128 + 65536 + lcore;
        const uint64_t start[] = {i % 4, request, i * 8, i * 3, i * 5, i * 7, i * 11, i * 13};
        record(lcore, REQ_NEW, 2, request, (uint64_t[]){i}, 1, written[lcore]);
        record(lcore, IO_START, 1, io, start, 8, written[lcore]);
        record(lcore, IO_DONE, 1, io, (uint64_t[]){request}, 1, written[lcore]);
        record(lcore, REQ_COMPLETED, 2, request, (uint64_t[]){i}, 1, written[lcore]);
        if (pause_us)
            nanosleep(&(struct timespec){pause_us / 1000000, pause_us % 1000000 * 1000}, NULL);
    }
    return NULL;
}

static void declare(unsigned index, const char *name, uint16_t id, uint8_t type, bool is_new,
                    const char *const *arguments)
{
    struct spdk_tracepoint *tracepoint = &file->tracepoints[index];
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
    }
    for (unsigned i = 0; type == 1 && i < tracepoint->argument_count; i++)
        if (!strcmp(arguments[i], "ctx")) {
            tracepoint->relations[0].object_type = 2;
            tracepoint->relations[0].argument = (uint8_t)i;
        }
}

static void owner(unsigned index, uint8_t type, const char *description)
{
    const struct spdk_owner head = {ticks(), type};
    memcpy(file->owners[index], &head, sizeof head);
    memcpy(file->owners[index] + sizeof head, description, strlen(description));
}

static uint64_t measure_rate(void)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    const uint64_t begin = ticks();
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    const uint64_t end = ticks();
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (end - begin) * 1000000000u /
           (uint64_t)((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec);
}

static void fill(uint64_t bytes, uint64_t lcore_bytes)
{
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
    owner(1, 1, "Nvme0n1");
    owner(2, 2, "qpair 2");
    file->mask_head[0] = GROUPS;
    memset(file->masks, 0xff, sizeof file->masks);
    file->owner_type_head[0] = file->object_head[0] = 2;
    file->owner_types[0] = (struct spdk_letter){1, 'b'};
    file->owner_types[1] = (struct spdk_letter){2, 't'};
    file->objects[0] = (struct spdk_letter){1, 'i'};
    file->objects[1] = (struct spdk_letter){2, 'r'};
    file->tracepoint_head[0] = TRACEPOINTS;
    declare(0, "BDEV_IO_START", IO_START, 1, true,
            (const char *const[]){"type", "ctx", "offset", "len", "a", "b", "c", "d", NULL});
    declare(1, "BDEV_IO_DONE", IO_DONE, 1, false, (const char *const[]){"ctx", NULL});
    declare(2, "TCP_REQ_NEW", REQ_NEW, 2, true, (const char *const[]){"number", NULL});
    declare(3, "TCP_REQ_COMPLETED", REQ_COMPLETED, 2, false, (const char *const[]){"number", NULL});
    file->lcore_head[0] = LCORES;
    for (unsigned i = 0; i < LCORES; i++) {
        file->lcore_offsets[i] = sizeof *file + i * lcore_bytes;
        *history(i) = (struct spdk_history){.lcore = (int32_t)i, .num_entries = slots, .num_tpoint_ids = IDS};
        snprintf(history(i)->thread_name, sizeof history(i)->thread_name, "reactor_%u", i);
    }
}

int main(int argc, char **argv)
{
    char path[256];
    pthread_t threads[LCORES];
    if (argc < 4) {
        fputs("usage: spdk_writer NAME EVENTS PAUSE [SLOTS]\n", stderr);
        return 2;
    }
    rounds = strtoull(argv[2], NULL, 10);
    pause_us = (unsigned)strtoul(argv[3], NULL, 10);
    if (argc > 4)
        slots = strtoull(argv[4], NULL, 10);
    const uint64_t lcore_bytes = sizeof(struct spdk_history) + IDS * 8 + slots * sizeof(struct spdk_slot),
                   bytes = sizeof *file + LCORES * lcore_bytes;
    snprintf(path, sizeof path, "/dev/shm/%s_trace.pid%d", argv[1], (int)getpid());
    const int shared = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (shared < 0 || ftruncate(shared, (off_t)bytes)) {
        perror(path);
        return 1;
    }
    file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    if (file == MAP_FAILED) {
        perror(path);
        return 1;
    }
    close(shared);
    fill(bytes, lcore_bytes);
    puts(path);
    fflush(stdout);
    for (uintptr_t i = 0; i < LCORES; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (unsigned i = 0; i < LCORES; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < LCORES; i++)
        printf("%" PRIu64 " %" PRIu64 "\n", written[i][0], written[i][1]);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
