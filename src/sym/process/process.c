/* SPDX-License-Identifier: BSD-3-Clause */
/* See process.h. A hash table of processes. What a process had when it forked is a list that it shares with its
 * children, and theirs; what it has mapped since then is its own, in the order in which it became known. Which part
 * of which file a mapping is, is stored once for all processes (segment.h).
 *
 * Invariant: everything is accessed with the lock held, and the lock is never held while maps are read. */
#include "sym/process/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "sym/process/proc.h"

enum {
    BUCKETS = 4096,
    /* of one process, and of a shared list; when there are more, the oldest quarter is dropped */
    MAPPINGS_MAX = 2048,
    /* of one process, so that a stack full of nonsense does not cause a read for each frame */
    READS_A_SECOND = 8,
    /* of all, enough for some thirty thousand short-lived processes; then the oldest are dropped */
    BYTES_MAX = 6 << 20,
    GOES = 8, /* which share is dropped then: one of so many, of the time since the oldest was used */
    PAGE_SHIFT = 12,
    HEAP = 16, /* bytes that an allocation takes in addition */
};

struct entry { /* a mapping */
    uint64_t page : 40, segment : 24;
    uint64_t since; /* boot clock, ns */
};

struct shared { /* what a process had when it forked, together with what its parent had */
    uint32_t references, count;
    struct entry items[];
};

struct process {
    struct process *next;
    struct shared *shared; /* or NULL */
    struct entry *items;   /* its own */
    uint64_t shared_since; /* the mappings of `shared` count as no older than this */
    uint64_t used;
    uint64_t start_time; /* start time of the process that was read last under this pid; 0: none was */
    pid_t pid, parent;
    uint32_t checked, reads_since; /* seconds */
    uint16_t count, room;
    uint16_t reads;
    bool has_gaps; /* it has mapped more than is kept of it */
};

/* The last answer, which is that for all addresses of [from, to): the frames of a stack lie in few files. */
struct recent {
    const struct process *process; /* NULL: there is none */
    uint64_t version;              /* of all processes, when it was found */
    uint64_t from, to;
    struct code_mapping mapping;
};

struct processes {
    pthread_mutex_t lock;
    uint64_t version; /* rises whenever what a process has may change */
    struct recent recent;
    struct process *buckets[BUCKETS];
    struct segments *segments;
    uint64_t clock;
    size_t bytes; /* without the memory of segments */
    bool follow_events, have_forgotten, misses, has_missed;
    bool has_gaps; /* events were lost, or there was no memory for what they told */
};

struct processes *processes_make(void)
{
    struct processes *processes = calloc(1, sizeof *processes);
    struct segments *segments = processes ? segments_make() : NULL;
    if (!segments) {
        free(processes);
        return NULL;
    }
    processes->segments = segments;
    pthread_mutex_init(&processes->lock, NULL);
    return processes;
}

void process_release(struct processes *processes, struct module *module)
{
    pthread_mutex_lock(&processes->lock);
    module_drop(processes->segments, module);
    pthread_mutex_unlock(&processes->lock);
}

/* ---- lists of mappings ---- */

static void entries_drop(struct processes *processes, const struct entry *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        segment_drop(processes->segments, items[i].segment);
}

static size_t shared_bytes(const struct shared *shared)
{
    return sizeof *shared + shared->count * sizeof *shared->items + HEAP;
}

static void shared_drop(struct processes *processes, struct shared *shared)
{
    if (!shared || --shared->references)
        return;
    entries_drop(processes, shared->items, shared->count);
    processes->bytes -= shared_bytes(shared);
    free(shared);
}

static size_t own_bytes(const struct process *process)
{
    return process->room ? process->room * sizeof *process->items + HEAP : 0;
}

static bool process_reserve(struct processes *processes, struct process *process, size_t room)
{
    if (room <= process->room)
        return true;
    struct entry *grown = realloc(process->items, room * sizeof *grown);
    if (!grown)
        return false;
    processes->bytes -= own_bytes(process);
    process->items = grown;
    process->room = (uint16_t)room;
    processes->bytes += own_bytes(process);
    return true;
}

/* Adds a mapping, with its reference to the segment. If the process has it already, it becomes as young as this
 * one. */
static void process_add(struct processes *processes, struct process *process, struct entry entry)
{
    for (uint32_t i = 0; i < process->count; i++) {
        struct entry *same = &process->items[i];
        if (same->page == entry.page && same->segment == entry.segment) {
            if (same->since < entry.since)
                same->since = entry.since;
            segment_drop(processes->segments, entry.segment);
            return;
        }
    }
    if (process->count == MAPPINGS_MAX) {
        enum { GONE = MAPPINGS_MAX / 4 };
        entries_drop(processes, process->items, GONE);
        process->has_gaps = true;
        process->count -= GONE;
        memmove(process->items, process->items + GONE, process->count * sizeof *process->items);
    }
    if (process->count < process->room ||
        process_reserve(processes, process, process->room + process->room / 2 + 4u))
        process->items[process->count++] = entry;
    else {
        process->has_gaps = true;
        segment_drop(processes->segments, entry.segment);
    }
}

static struct entry shared_entry(const struct process *process, uint32_t number)
{
    struct entry entry = process->shared->items[number];
    if (entry.since < process->shared_since)
        entry.since = process->shared_since;
    return entry;
}

/* Turns everything that a process has into a list that its children share; only the newest mappings, if they are
 * too many. NULL: it has none, or memory ran out. */
static struct shared *process_share(struct processes *processes, struct process *process)
{
    uint32_t old = process->shared ? process->shared->count : 0, count = old + process->count;
    if (!process->count)
        return process->shared;
    uint32_t left_out = count > MAPPINGS_MAX ? count - MAPPINGS_MAX : 0;
    struct shared *shared = malloc(sizeof *shared + (count - left_out) * sizeof *shared->items);
    if (!shared)
        return NULL;
    *shared = (struct shared){.references = 1};
    for (uint32_t i = left_out; i < old; i++) {
        shared->items[shared->count] = shared_entry(process, i);
        segment_hold(processes->segments, shared->items[shared->count++].segment);
    }
    for (uint32_t i = left_out > old ? left_out - old : 0; i < process->count; i++) {
        shared->items[shared->count] = process->items[i];
        segment_hold(processes->segments, shared->items[shared->count++].segment);
    }
    processes->bytes += shared_bytes(shared) - own_bytes(process);
    entries_drop(processes, process->items, process->count);
    free(process->items);
    process->items = NULL;
    process->count = process->room = 0;
    shared_drop(processes, process->shared);
    process->shared = shared;
    process->shared_since = 0;
    return shared;
}

/* ---- processes ---- */

static struct process **process_bucket(struct processes *processes, pid_t pid)
{
    return &processes->buckets[(unsigned)pid % BUCKETS];
}

static struct process *process_known(struct processes *processes, pid_t pid)
{
    struct process *process = *process_bucket(processes, pid);
    while (process && process->pid != pid)
        process = process->next;
    return process;
}

static void process_free(struct processes *processes, struct process *process)
{
    entries_drop(processes, process->items, process->count);
    shared_drop(processes, process->shared);
    processes->bytes -= sizeof *process + HEAP + own_bytes(process);
    free(process->items);
    free(process);
}

void processes_free(struct processes *processes)
{
    if (!processes)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct process *process = processes->buckets[i], *next; process; process = next) {
            next = process->next;
            process_free(processes, process);
        }
    segments_free(processes->segments); /* also modules that a caller still has */
    pthread_mutex_destroy(&processes->lock);
    free(processes);
}

/* Drops the processes that were not used for the longest time. */
static void processes_shrink(struct processes *processes, const struct process *keep)
{
    uint64_t oldest = processes->clock;
    processes->version++;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct process *process = processes->buckets[i]; process; process = process->next)
            if (process->used < oldest)
                oldest = process->used;
    uint64_t limit = oldest + (processes->clock - oldest) / GOES;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct process **at = &processes->buckets[i]; *at;) {
            struct process *process = *at;
            if (process == keep || process->used > limit) {
                at = &process->next;
                continue;
            }
            *at = process->next;
            process_free(processes, process);
        }
    processes->have_forgotten = true;
}

static struct process *process_get(struct processes *processes, pid_t pid)
{
    struct process *process = process_known(processes, pid);
    if (!process) {
        process = calloc(1, sizeof *process);
        if (!process)
            return NULL;
        struct process **bucket = process_bucket(processes, pid);
        process->pid = pid;
        process->next = *bucket;
        *bucket = process;
        processes->bytes += sizeof *process + HEAP;
    }
    process->used = ++processes->clock;
    if (processes->bytes + segments_bytes(processes->segments) > BYTES_MAX)
        processes_shrink(processes, process);
    return process;
}

void processes_follow_events(struct processes *processes)
{
    processes->follow_events = true;
}

void processes_miss_events(struct processes *processes)
{
    pthread_mutex_lock(&processes->lock);
    processes->has_gaps = true;
    pthread_mutex_unlock(&processes->lock);
}

/* Makes a mapping the best one if it has the address and is the youngest so far. */
static bool is_better(struct processes *processes, struct entry entry, uint64_t address,
                      struct code_mapping *best)
{
    uint64_t start = (uint64_t)entry.page << PAGE_SHIFT;
    const struct segment *segment = segment_at(processes->segments, entry.segment);
    if (address < start || address - start >= segment->size || (best->module && entry.since <= best->since))
        return false;
    *best =
        (struct code_mapping){start, start + segment->size, segment->offset, entry.since, segment->module};
    return true;
}

/* Takes from the addresses of an answer those that another mapping may answer. */
static void keep_apart(struct processes *processes, struct entry entry, uint64_t address,
                       struct recent *recent)
{
    const uint64_t start = (uint64_t)entry.page << PAGE_SHIFT,
                   end = start + segment_at(processes->segments, entry.segment)->size;
    if (end <= address && end > recent->from)
        recent->from = end;
    if (start > address && start < recent->to)
        recent->to = start;
}

/* Finds the mapping of an address. Of several of one age it is the one that became known last. */
static bool process_lookup(struct processes *processes, const struct process *process, uint64_t address,
                           struct code_mapping *out)
{
    struct recent *recent = &processes->recent;
    const uint32_t shared_count = process->shared ? process->shared->count : 0;
    if (recent->process == process && recent->version == processes->version && address >= recent->from &&
        address < recent->to) {
        *out = recent->mapping;
        return true;
    }
    *out = (struct code_mapping){.module = NULL};
    for (uint32_t i = process->count; i-- > 0;)
        is_better(processes, process->items[i], address, out);
    for (uint32_t i = shared_count; i-- > 0;)
        is_better(processes, shared_entry(process, i), address, out);
    if (!out->module)
        return false;
    *recent = (struct recent){process, processes->version, out->start, out->end, *out};
    for (uint32_t i = 0; i < process->count; i++)
        keep_apart(processes, process->items[i], address, recent);
    for (uint32_t i = 0; i < shared_count; i++)
        keep_apart(processes, process->shared->items[i], address, recent);
    return true;
}

/* Whether two segments are one part of one file, apart from the generation of its inode, which the kernel's events
 * say and /proc does not. Under two names its symbols would be searched twice. */
static bool is_same_unaged(const struct segment *one, const struct segment *other)
{
    return one->offset == other->offset && one->size == other->size &&
           one->module->device == other->module->device && one->module->inode == other->module->inode &&
           one->module->is_deleted == other->module->is_deleted &&
           !strcmp(one->module->path, other->module->path);
}

/* Gives a mapping that was read from /proc the generation that an event says, and a new mapping from /proc the one
 * that is known. Returns the number of the segment that the new mapping gets. */
static uint32_t entries_learn(struct processes *processes, struct entry *items, size_t count, uint64_t page,
                              uint32_t number)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].page != page || items[i].segment == number)
            continue;
        const struct segment *known = segment_at(processes->segments, items[i].segment),
                             *fresh = segment_at(processes->segments, number);
        if (!is_same_unaged(known, fresh))
            continue;
        const bool is_known = known->module->generation, is_new = fresh->module->generation;
        if (is_known == is_new)
            continue; /* two generations: one file has replaced another */
        const uint32_t better = is_known ? items[i].segment : number,
                       other = is_known ? number : items[i].segment;
        segment_hold(processes->segments, better);
        segment_drop(processes->segments, other);
        items[i].segment = number = better;
    }
    return number;
}

static void process_map(struct processes *processes, struct process *process,
                        const struct code_mapping *mapping, const struct module *module, const char *path)
{
    processes->version++;
    const uint64_t page = mapping->start >> PAGE_SHIFT;
    struct shared *shared = process->shared;
    uint32_t segment;
    if (!segment_take(processes->segments, module, path, mapping->offset, mapping->end - mapping->start,
                      &segment)) {
        process->has_gaps = true;
        return;
    }
    segment = entries_learn(processes, process->items, process->count, page, segment);
    if (shared)
        segment = entries_learn(processes, shared->items, shared->count, page, segment);
    process_add(processes, process, (struct entry){page, segment, mapping->since});
}

void process_mapped(struct processes *processes, pid_t pid, const struct code_mapping *mapping,
                    const struct module *module, const char *path)
{
    pthread_mutex_lock(&processes->lock);
    struct process *process = process_get(processes, pid);
    if (process)
        process_map(processes, process, mapping, module, path);
    else
        processes->has_gaps = true;
    pthread_mutex_unlock(&processes->lock);
}

/* Makes what an earlier process with this pid had from its parent its own, which is older than what the new one
 * has. */
static void process_keep_shared(struct processes *processes, struct process *process)
{
    for (uint32_t i = 0; process->shared && i < process->shared->count; i++) {
        struct entry entry = shared_entry(process, i);
        segment_hold(processes->segments, entry.segment);
        process_add(processes, process, entry);
    }
    shared_drop(processes, process->shared);
    process->shared = NULL;
}

void process_forked(struct processes *processes, pid_t pid, pid_t parent, uint64_t time)
{
    pthread_mutex_lock(&processes->lock);
    processes->version++;
    struct process *child = process_get(processes, pid);
    if (child)
        child->parent = parent;
    struct process *from = child ? process_known(processes, parent) : NULL;
    if (from)
        from->used = processes->clock;
    struct shared *shared = from && from != child ? process_share(processes, from) : NULL;
    if (shared && child->shared != shared) {
        process_keep_shared(processes, child);
        child->shared = shared;
        shared->references++;
    }
    if (shared)
        child->shared_since = time;
    pthread_mutex_unlock(&processes->lock);
}

/* ---- /proc ---- */

int process_read(struct processes *processes, pid_t pid)
{
    struct proc_maps maps;
    uint64_t start_time, now = clock_ns(CLOCK_BOOTTIME);
    int error = proc_start_time(pid, &start_time);
    if (!error)
        error = proc_maps_read(pid, &maps);
    if (error)
        return error;
    pthread_mutex_lock(&processes->lock);
    struct process *process = process_get(processes, pid);
    for (size_t i = 0; process && i < maps.count; i++) {
        const struct proc_mapping *item = &maps.items[i];
        struct module key = {.device = item->device, .inode = item->inode, .is_deleted = item->is_deleted};
        struct code_mapping mapping = {item->start, item->end, item->offset, now, NULL};
        if (item->executable)
            process_map(processes, process, &mapping, &key, item->path);
    }
    if (process) {
        process->start_time = start_time;
        process->checked = (uint32_t)clock_seconds(CLOCK_MONOTONIC_COARSE);
    }
    pthread_mutex_unlock(&processes->lock);
    proc_maps_free(&maps);
    return process ? 0 : -ENOMEM;
}

/* ---- questions ---- */

/* Whether to read /proc: the process is not known at all, another one may have its pid by now, or (missing) it has
 * no code at an address that is on a stack. */
static bool should_read(struct process *process, bool missing)
{
    uint32_t now = (uint32_t)clock_seconds(CLOCK_MONOTONIC_COARSE);
    if (process->reads_since != now) {
        process->reads_since = now;
        process->reads = 0;
    }
    if (missing)
        return process->reads < READS_A_SECOND && ++process->reads;
    if (!process->start_time || process->checked == now)
        return false;
    process->checked = now;
    uint64_t start_time;
    return !proc_start_time(process->pid, &start_time) && start_time != process->start_time;
}

int process_find(struct processes *processes, pid_t pid, uint64_t address, struct code_mapping *out)
{
    struct module *released = out->module;
    int error = -ESRCH;
    for (bool again = false;; again = true) {
        pthread_mutex_lock(&processes->lock);
        if (released)
            module_drop(processes->segments, released);
        released = out->module = NULL;
        /* a process that does not exist is stored, too */
        struct process *process = process_get(processes, pid);
        bool found = process && process_lookup(processes, process, address, out);
        bool has_code = process && (process->count || process->shared);
        bool is_told = processes->follow_events && !processes->has_gaps && process && !process->has_gaps;
        bool is_known = has_code && (!error || is_told);
        bool read = !again && process && should_read(process, !found);
        if (found && !read)
            out->module->references++;
        processes->misses |= !read && !has_code && processes->have_forgotten;
        pthread_mutex_unlock(&processes->lock);
        if (!read)
            return found ? 0 : is_known ? -ENOENT : -ESRCH;
        error = process_read(processes, pid);
    }
}

bool processes_miss_one(struct processes *processes)
{
    pthread_mutex_lock(&processes->lock);
    bool is_first = processes->misses && !processes->has_missed;
    processes->has_missed |= is_first;
    pthread_mutex_unlock(&processes->lock);
    return is_first;
}

pid_t process_parent(struct processes *processes, pid_t pid)
{
    pthread_mutex_lock(&processes->lock);
    const struct process *process = process_known(processes, pid);
    pid_t parent = process ? process->parent : 0;
    pthread_mutex_unlock(&processes->lock);
    return parent;
}

size_t processes_bytes(struct processes *processes)
{
    pthread_mutex_lock(&processes->lock);
    size_t bytes = processes->bytes + segments_bytes(processes->segments);
    pthread_mutex_unlock(&processes->lock);
    return bytes;
}
