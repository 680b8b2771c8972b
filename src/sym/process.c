/* SPDX-License-Identifier: BSD-3-Clause */
/* See process.h. A hash table of processes, each with its mappings in the order in which they became known;
 * and one of modules, counted by the mappings that have them.
 *
 * Invariant: everything is reached with the lock held, and it is never held while maps are read. */
#include "sym/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/table.h"
#include "sym/proc.h"

enum {
    BUCKETS = 4096,
    MAPPINGS_MOST = 2048,  /* of one process; the oldest quarter goes */
    READS_A_SECOND = 8,    /* of one process: a stack full of nonsense does not cost a read each */
    BYTES_MOST = 16 << 20, /* of all: some twenty thousand short-lived processes, then the oldest half goes */
};

struct process {
    struct process *next;
    pid_t pid, parent;
    uint64_t start_time; /* of the process that was read last; 0: none was */
    struct code_mapping *items;
    uint32_t count, room;
    uint64_t used;
    time_t checked, reads_since;
    unsigned reads;
};

struct module_entry {
    struct module_entry *next;
    struct module module;
};

struct processes {
    pthread_mutex_t lock;
    struct process *buckets[BUCKETS];
    struct module_entry *modules[BUCKETS];
    uint64_t clock;
    size_t bytes;
    bool are_told;
};

struct processes *processes_make(void)
{
    struct processes *processes = calloc(1, sizeof *processes);
    if (processes)
        pthread_mutex_init(&processes->lock, NULL);
    return processes;
}

static uint64_t boot_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

/* ---- modules ---- */

static struct module_entry **module_bucket(struct processes *processes, const struct module *key,
                                           const char *path)
{
    uint64_t hash =
        table_hash(path, strlen(path)) ^ key->device * 0x9e3779b97f4a7c15u ^ key->inode ^ key->generation;
    return &processes->modules[(hash ^ hash >> 32) % BUCKETS];
}

static struct module *module_take(struct processes *processes, const struct module *key, const char *path)
{
    struct module_entry **bucket = module_bucket(processes, key, path);
    for (struct module_entry *entry = *bucket; entry; entry = entry->next)
        if (entry->module.device == key->device && entry->module.inode == key->inode &&
            entry->module.generation == key->generation && entry->module.is_deleted == key->is_deleted &&
            !strcmp(entry->module.path, path)) {
            entry->module.references++;
            return &entry->module;
        }
    size_t size = sizeof(struct module_entry) + strlen(path) + 1;
    struct module_entry *fresh = malloc(size);
    if (!fresh)
        return NULL;
    fresh->next = *bucket;
    fresh->module.device = key->device;
    fresh->module.inode = key->inode;
    fresh->module.generation = key->generation;
    fresh->module.is_deleted = key->is_deleted;
    fresh->module.references = 1;
    strcpy(fresh->module.path, path);
    *bucket = fresh;
    processes->bytes += size;
    return &fresh->module;
}

static void module_drop(struct processes *processes, struct module *module)
{
    if (!module || --module->references)
        return;
    struct module_entry **at = module_bucket(processes, module, module->path);
    while (&(*at)->module != module)
        at = &(*at)->next;
    struct module_entry *entry = *at;
    *at = entry->next;
    processes->bytes -= sizeof *entry + strlen(module->path) + 1;
    free(entry);
}

void process_release(struct processes *processes, struct module *module)
{
    pthread_mutex_lock(&processes->lock);
    module_drop(processes, module);
    pthread_mutex_unlock(&processes->lock);
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
    for (uint32_t i = 0; i < process->count; i++)
        module_drop(processes, process->items[i].module);
    processes->bytes -= sizeof *process + process->room * sizeof *process->items;
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
    for (size_t i = 0; i < BUCKETS; i++) /* those that an answer still holds */
        for (struct module_entry *entry = processes->modules[i], *next; entry; entry = next) {
            next = entry->next;
            free(entry);
        }
    pthread_mutex_destroy(&processes->lock);
    free(processes);
}

/* The half of them that was used longest ago goes. */
static void processes_shrink(struct processes *processes, const struct process *keep)
{
    uint64_t oldest = processes->clock;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct process *process = processes->buckets[i]; process; process = process->next)
            if (process->used < oldest)
                oldest = process->used;
    uint64_t limit = oldest + (processes->clock - oldest) / 2;
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
        processes->bytes += sizeof *process;
    }
    process->used = ++processes->clock;
    if (processes->bytes > BYTES_MOST)
        processes_shrink(processes, process);
    return process;
}

static bool process_reserve(struct processes *processes, struct process *process, uint32_t room)
{
    if (room <= process->room)
        return true;
    struct code_mapping *grown = realloc(process->items, room * sizeof *grown);
    if (!grown)
        return false;
    processes->bytes += (room - process->room) * sizeof *grown;
    process->items = grown;
    process->room = room;
    return true;
}

/* Both take over the reference to the module. */
static void process_append(struct processes *processes, struct process *process, struct code_mapping mapping)
{
    if (process->count == MAPPINGS_MOST) {
        uint32_t gone = MAPPINGS_MOST / 4;
        for (uint32_t i = 0; i < gone; i++)
            module_drop(processes, process->items[i].module);
        process->count -= gone;
        memmove(process->items, process->items + gone, process->count * sizeof *process->items);
    }
    if (process->count < process->room ||
        process_reserve(processes, process, process->room + process->room / 2 + 4))
        process->items[process->count++] = mapping;
    else
        module_drop(processes, mapping.module);
}

/* Unless it is one of the first `known`: then that one is as young as this. */
static void process_add(struct processes *processes, struct process *process, uint32_t known,
                        struct code_mapping mapping)
{
    for (uint32_t i = 0; i < known; i++) {
        struct code_mapping *same = &process->items[i];
        if (same->start == mapping.start && same->end == mapping.end && same->offset == mapping.offset &&
            same->module == mapping.module) {
            if (same->since < mapping.since)
                same->since = mapping.since;
            module_drop(processes, mapping.module);
            return;
        }
    }
    process_append(processes, process, mapping);
}

void processes_are_told(struct processes *processes)
{
    processes->are_told = true;
}

void process_mapped(struct processes *processes, pid_t pid, const struct code_mapping *mapping,
                    const struct module *module, const char *path)
{
    pthread_mutex_lock(&processes->lock);
    struct process *process = process_get(processes, pid);
    struct code_mapping fresh = *mapping;
    fresh.module = process ? module_take(processes, module, path) : NULL;
    if (fresh.module)
        process_add(processes, process, process->count, fresh);
    pthread_mutex_unlock(&processes->lock);
}

/* What a process of the same number had before stays known, below what the new one has. */
void process_forked(struct processes *processes, pid_t pid, pid_t parent, uint64_t time)
{
    pthread_mutex_lock(&processes->lock);
    struct process *child = process_get(processes, pid);
    if (child)
        child->parent = parent;
    struct process *from = child ? process_known(processes, parent) : NULL;
    if (from)
        from->used = processes->clock;
    uint32_t known = child ? child->count : 0;
    if (from && from != child && (known || process_reserve(processes, child, from->count)))
        for (uint32_t i = 0; i < from->count; i++) {
            struct code_mapping mapping = from->items[i];
            mapping.since = time;
            mapping.module->references++;
            process_add(processes, child, known < child->count ? known : child->count, mapping);
        }
    pthread_mutex_unlock(&processes->lock);
}

/* ---- /proc ---- */

int process_read(struct processes *processes, pid_t pid)
{
    struct proc_maps maps;
    uint64_t start_time, now = boot_clock();
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
        if (item->executable && (mapping.module = module_take(processes, &key, item->path)))
            process_add(processes, process, process->count, mapping);
    }
    if (process) {
        process->start_time = start_time;
        process->checked = seconds_now();
    }
    pthread_mutex_unlock(&processes->lock);
    proc_maps_free(&maps);
    return process ? 0 : -ENOMEM;
}

/* ---- questions ---- */

static bool holds(const struct code_mapping *mapping, uint64_t address)
{
    return address >= mapping->start && address < mapping->end;
}

static const struct code_mapping *process_lookup(struct process *process, uint64_t address)
{
    const struct code_mapping *best = NULL;
    for (uint32_t i = process->count; i-- > 0;) {
        const struct code_mapping *item = &process->items[i];
        if (holds(item, address) && (!best || item->since > best->since))
            best = item;
    }
    return best;
}

/* Whether to look into /proc: it is not known at all, another process may have its number, or (missing) it
 * has no code at an address that a stack holds. */
static bool should_read(struct process *process, bool missing)
{
    time_t now = seconds_now();
    if (process->reads_since != now) {
        process->reads_since = now;
        process->reads = 0;
    }
    if (missing)
        return process->reads++ < READS_A_SECOND;
    if (!process->start_time || process->checked == now)
        return false;
    process->checked = now;
    uint64_t start_time;
    return !proc_start_time(process->pid, &start_time) && start_time != process->start_time;
}

int process_find(struct processes *processes, pid_t pid, uint64_t address, struct code_mapping *out)
{
    int error = -ESRCH;
    for (bool again = false;; again = true) {
        pthread_mutex_lock(&processes->lock);
        struct process *process = process_get(processes, pid); /* also what is not there is remembered */
        const struct code_mapping *found = process ? process_lookup(process, address) : NULL;
        bool is_known = process && process->count && (!error || processes->are_told);
        bool read = !again && process && should_read(process, !found);
        if (found && !read) {
            *out = *found;
            out->module->references++;
        }
        pthread_mutex_unlock(&processes->lock);
        if (!read)
            return found ? 0 : is_known ? -ENOENT : -ESRCH;
        error = process_read(processes, pid);
    }
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
    size_t bytes = processes->bytes;
    pthread_mutex_unlock(&processes->lock);
    return bytes;
}
