/* SPDX-License-Identifier: BSD-3-Clause */
/* See mappings.h. One event on each CPU that counts nothing, with a ring of records.
 *
 * The order among the rings does not matter to mappings (they carry their time); forked processes are reported
 * last, ordered by time, so that a parent's mappings are known by then. */
#include "kernel/mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/vector.h"
#include "kernel/syscalls.h"

enum {
    RECORD_MAX = 8192, /* a path has 4096 bytes at most */
    CPUS_MAX = 8192,
    BUDGET = 32 << 20,   /* bytes of all rings; with more CPUs each gets less, */
    RING_MIN = 32 << 10, /* but no less than this */
};

struct ring_of_cpu {
    int fd;
    struct perf_event_mmap_page *control;
    const uint8_t *data;
};

struct fork {
    uint64_t time;
    pid_t pid, parent;
};

struct mappings {
    struct ring_of_cpu *rings;
    size_t count, bytes; /* of a ring */
    int epoll;           /* of all rings; -1: nobody wants to be woken */
    struct fork *forks;
    size_t fork_count, fork_room;
    _Alignas(8) uint8_t record[RECORD_MAX + 1];
};

static int ring_open_on(struct mappings *mappings, struct ring_of_cpu *ring, int cpu)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .mmap = 1,
        .mmap2 = 1,
        .task = 1,
        .use_clockid = 1,
        .clockid = CLOCK_BOOTTIME,
        .watermark = mappings->epoll >= 0, /* each record wakes */
        .wakeup_watermark = mappings->epoll >= 0,
    };
    ring->fd = syscall_perf_event_open(&attributes, -1, cpu);
    if (ring->fd < 0)
        return ring->fd;
    void *at = mmap(NULL, page + mappings->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (at == MAP_FAILED) {
        int error = -errno;
        close(ring->fd);
        return error;
    }
    ring->control = at;
    ring->data = (const uint8_t *)at + page;
    if (mappings->epoll >= 0)
        epoll_ctl(mappings->epoll, EPOLL_CTL_ADD, ring->fd, &(struct epoll_event){.events = EPOLLIN});
    return 0;
}

int mappings_descriptor(const struct mappings *mappings)
{
    return mappings->epoll;
}

int mappings_open(struct mappings **out, size_t bytes, bool wakes)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct mappings *mappings = calloc(1, sizeof *mappings);
    if (!mappings || cpus < 1 || cpus > CPUS_MAX ||
        !(mappings->rings = calloc((size_t)cpus, sizeof *mappings->rings))) {
        free(mappings);
        return -ENOMEM;
    }
    const uint64_t online = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    while (bytes > RING_MIN && bytes * online > BUDGET)
        bytes /= 2;
    mappings->bytes = bytes;
    mappings->epoll = wakes ? epoll_create1(EPOLL_CLOEXEC) : -1;
    int error = 0;
    for (int cpu = 0; cpu < cpus && !error; cpu++) {
        error = ring_open_on(mappings, &mappings->rings[mappings->count], cpu);
        if (!error)
            mappings->count++;
        else if (error == -ENODEV || error == -ENXIO) /* the CPU is offline */
            error = 0;
    }
    if (error) {
        mappings_close(mappings);
        return error;
    }
    *out = mappings;
    return 0;
}

void mappings_close(struct mappings *mappings)
{
    if (!mappings)
        return;
    for (size_t i = 0; i < mappings->count; i++) {
        munmap(mappings->rings[i].control, (size_t)sysconf(_SC_PAGESIZE) + mappings->bytes);
        close(mappings->rings[i].fd);
    }
    if (mappings->epoll >= 0)
        close(mappings->epoll);
    free(mappings->rings);
    free(mappings->forks);
    free(mappings);
}

static void copy_out(const struct mappings *mappings, const struct ring_of_cpu *ring, uint64_t at,
                     uint8_t *bytes, size_t size)
{
    size_t from = at % mappings->bytes, first = mappings->bytes - from < size ? mappings->bytes - from : size;
    memcpy(bytes, ring->data + from, first);
    memcpy(bytes + first, ring->data, size - first);
}

/* The kernel's layouts. The time stands behind, in the sample id: its only member. */
struct record_mmap2 {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t start, length, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
    char path[];
};
struct record_fork {
    struct perf_event_header header;
    uint32_t pid, parent, tid, parent_tid;
    uint64_t time;
};
struct record_lost {
    struct perf_event_header header;
    uint64_t id, lost;
};

static void take_mapping(const uint8_t *bytes, size_t size, mapping_visitor *visit, void *state)
{
    const struct record_mmap2 *record = (const void *)bytes;
    if (size < sizeof *record + 8)
        return;
    struct mapping_event event = {
        .pid = (pid_t)record->pid,
        .start = record->start,
        .length = record->length,
        .offset = record->offset,
        .device = (uint64_t)record->major << 32 | record->minor,
        .inode = record->inode,
        .generation = record->generation,
        .path = record->path, /* ends before the time; the byte behind the record is 0 anyhow */
    };
    memcpy(&event.time, bytes + size - sizeof event.time, sizeof event.time);
    if (!strcmp(event.path, "//anon"))
        event.path = "";
    visit(state, &event);
}

/* Without memory a child's mappings are read from /proc. */
static void take_fork(struct mappings *mappings, const uint8_t *bytes, size_t size)
{
    const struct record_fork *record = (const void *)bytes;
    if (size < sizeof *record || record->pid == record->parent) /* a new thread, not a process */
        return;
    if (!vector_make_room(mappings->forks, mappings->fork_count, mappings->fork_room))
        return;
    mappings->forks[mappings->fork_count++] =
        (struct fork){record->time, (pid_t)record->pid, (pid_t)record->parent};
}

static int compare_forks(const void *a, const void *b)
{
    const struct fork *left = a, *right = b;
    return (left->time > right->time) - (left->time < right->time);
}

uint64_t mappings_consume(struct mappings *mappings, mapping_visitor *visit, void *state)
{
    uint64_t lost = 0;
    mappings->fork_count = 0;
    for (size_t i = 0; i < mappings->count; i++) {
        struct ring_of_cpu *ring = &mappings->rings[i];
        uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE),
                 at = ring->control->data_tail;
        while (at < head) {
            struct perf_event_header header;
            copy_out(mappings, ring, at, (uint8_t *)&header, sizeof header);
            if (header.size < sizeof header || header.size > head - at) {
                at = head; /* cannot happen */
                break;
            }
            size_t size = header.size < RECORD_MAX ? header.size : 0;
            copy_out(mappings, ring, at, mappings->record, size);
            mappings->record[size] = 0;
            if (size && header.type == PERF_RECORD_MMAP2)
                take_mapping(mappings->record, size, visit, state);
            else if (size && header.type == PERF_RECORD_FORK)
                take_fork(mappings, mappings->record, size);
            else if (size >= sizeof(struct record_lost) && header.type == PERF_RECORD_LOST)
                lost += ((const struct record_lost *)mappings->record)->lost;
            at += header.size;
        }
        __atomic_store_n(&ring->control->data_tail, at, __ATOMIC_RELEASE);
    }
    if (mappings->fork_count)
        qsort(mappings->forks, mappings->fork_count, sizeof *mappings->forks, compare_forks);
    for (size_t i = 0; i < mappings->fork_count; i++) {
        const struct fork *fork = &mappings->forks[i];
        visit(state, &(struct mapping_event){
                         .pid = fork->pid, .parent = fork->parent, .time = fork->time, .path = ""});
    }
    return lost;
}
