/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the recorder share: the one recording that a process can have, and which code may touch what.
 *
 * Three kinds of code run here. The record path (ring.c, and what it calls: clock.c, file.c, inherit.c) may run in
 * a signal handler that interrupted any other code: it takes no lock (at most tries one), allocates nothing, and
 * preserves errno. The control path (every other public function) runs under recorder_lock. Constructors and
 * destructors of modules belong to the control path.
 *
 * The invariant: memory into which a thread could once record stays mapped for ever (closing replaces it with
 * anonymous zeros), so that no late record can fault. */
#ifndef SPOOR_RECORDER_STATE_H
#define SPOOR_RECORDER_STATE_H

#define SPOOR_TRACE_LIBRARY_
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/layout.h"
#include "spoor/trace.h"

struct registry;

enum { RECORDER_NAME_MAX = 64 };

struct recorder_settings { /* spoor_trace_options with every default filled in */
    char name[RECORDER_NAME_MAX + 1];
    char directory[PATH_MAX - 128];
    char dump_path[PATH_MAX - 128];
    uint64_t ring_bytes;
    unsigned threads, kept, owners, flags;
    int dump_signal;
    unsigned dump_seconds;
};

struct recording {
    uint8_t *memory; /* NULL: none */
    size_t mapped;
    struct layout_header *header;
    struct layout_control *control;
    int file;
    dev_t device; /* of `file`: a program may have closed it and opened another under its number */
    ino_t inode;
    char path[PATH_MAX];
};

struct recorder {
    int locked;
    unsigned generation; /* number of the recording, never the same for two of them; 0: there is none */
    unsigned generations;
    int forked; /* this is the child of a fork, and the recording is still the parent's: see inherit.c */
    uint64_t forked_at; /* counter */
    struct recorder_settings settings;
    struct recording recording;
    struct registry *registry; /* what the modules declared that are in the recording */
    char *enabled;             /* the option string at open, for modules that are loaded later; or NULL */
    /* how much of the file's sections this process knows; the file's own number may be the parent's */
    uint64_t sections_used;
    uint64_t last_clock; /* counter of the newest triple in the control page, or of the first one */
    uint64_t dumps;
    int64_t ended;        /* how many rings are in state ENDED, to know when a search for one is worth it */
    uint64_t looked_at;   /* the ring that was last looked at, to find out whether its thread has ended */
    uint64_t taken;       /* the ring at which the last search for one in state ENDED stopped */
    uint64_t look_at_all; /* counter from which all rings may be looked at again; 0: now */
    struct sigaction signal_before;
};

extern struct recorder recorder;

/* ---- open.c ---- */
void recorder_lock(void);
bool recorder_try_lock(void);
void recorder_unlock(void);
/* Fills the text of spoor_trace_error; returns `error`. */
int recorder_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns this process's recording, or NULL if there is none. The child of a fork gets its own first. To be called
 * under the lock. */
struct recording *recorder_own(void);

/* ---- file.c: files and memory; safe on the record path ---- */
/* Creates the file settings.directory/name.pid.spoor of `bytes`, with reserved space for the first `used` of them and
 * for the last page, and maps `mapped` bytes of it. Returns 0 or -errno; then *step says what failed. */
int file_create(struct recording *recording, const struct recorder_settings *settings, size_t used,
                size_t bytes, size_t mapped, const char **step);
/* Reserves space for [offset, offset + bytes) of the file. Returns 0 or -errno. */
int file_extend(const struct recording *recording, uint64_t offset, uint64_t bytes);
void file_close(struct recording *recording); /* unless the program has closed its number */
/* Undoes file_create() after an open that failed: unmaps, closes and removes the file. */
void file_discard(struct recording *recording);
void file_retire(uint8_t *memory, size_t mapped); /* Replaces the mapping of the file with anonymous zeros. */
uint64_t file_start_ticks(void); /* when this process was started, in clock ticks after boot; 0: unknown */
char *
file_append(char *at, char *end,
            /* Both append text at `at` and return its new end, or NULL if it does not fit before `end` or
                   * `at` is NULL. */
            const char *text);
char *file_append_number(char *at, char *end, uint64_t number);

/* ---- clock.c ---- */
struct layout_clock clock_read(void);
uint64_t clock_measure_rate(const struct layout_clock *start);
bool clock_is_invariant(void);
void clock_publish(
    struct recording *recording,
    /* Adds the triple to the control page, unless the newest one there is less than a second old. */
    const struct layout_clock *clock);

/* ---- ring.c ---- */
void ring_forget(void); /* The calling thread has no ring from now on. */
/* Makes a ring for the calling thread, which has none: a small one, or (`whole`) the largest that there is, with
 * memory behind it. Returns 0; -EAGAIN if rings take all the memory that they may; or another -errno. */
int ring_make(const char *name, bool whole);
void ring_lost(enum layout_lost reason);

/* Returns the position at which a block begins. */
static inline uint64_t block_begin(uint64_t position)
{
    return position & ~(uint64_t)(LAYOUT_BLOCK_WORDS - 1);
}

static inline uint64_t *ring_blocks(struct layout_ring *ring)
{
    return (uint64_t *)((uint8_t *)ring + LAYOUT_PAGE);
}

/* ---- directory.c ---- */
void directory_begin(void); /* No thread has a ring yet in the recording that is being opened. */
struct layout_place *directory_place(const struct recording *recording, uint64_t index);
struct layout_ring *directory_ring(const struct recording *recording, const struct layout_place *place);
/* Claims a place for a ring of these bytes, which is then in state MAKING: that of a thread that ended if enough
 * others are kept, a new one, or any of a thread that ended, perhaps a larger one. self: id of the calling thread,
 * if whatever has this id was left by an earlier thread; else 0. *fresh: the ring was never used. Returns 0;
 * -EAGAIN if rings take all the memory that they may; or another -errno. */
int directory_claim(const struct recording *recording, uint32_t self, uint64_t bytes, bool *fresh,
                    struct layout_place **place);

/* ---- inherit.c ---- */
/* Registers the handlers of fork when it is called for the first time. Returns 0 or -errno. */
int inherit_prepare(void);
/* Gives the child of a fork its recording. Belongs to the record path; to be called with the lock held, when
 * `forked` is set. Returns 0 or -errno. */
int inherit_open(void);

/* ---- index.c: ids of the registry's items, by a hash ---- */
struct registry_slot {
    uint32_t hash;
    unsigned id; /* 0: the slot is free */
};

struct registry_index { /* zeros: it is empty */
    struct registry_slot *slots;
    unsigned room, count;
};

enum { INDEX_HASH_FIRST = 0x7fffffff }; /* the hash of nothing */

/* Returns the hash of what has this hash, and then these bytes. */
uint32_t index_hash(uint32_t hash, const void *bytes, size_t length);
int index_add(struct registry_index *index, uint32_t hash,
              unsigned id); /* returns 0, or -ENOMEM after recorder_fail() */
/* Whether the item with this id is what is sought. */
typedef bool index_matcher(const struct registry *registry, unsigned id, const void *key);
/* Returns the id of the item with this hash that matches; 0: there is none. */
unsigned index_find(const struct registry_index *index, uint32_t hash, index_matcher *matches,
                    const struct registry *registry, const void *key);

/* ---- registry.c: what modules declare ---- */
struct registry_group {
    char *name, *text, *file;
    int line;
    unsigned tracepoints; /* how many of its tracepoints have an index */
};

struct registry_letter { /* a type of objects or owners */
    char *name, *file;
    int line;
    char letter;
};

struct registry_tracepoint {
    char *name, *file;
    struct spoor_tracepoint *descriptor; /* NULL: its module was unloaded */
    const struct spoor_definition *definition;
    int line;
    unsigned group, object; /* their ids; object is 0 if the tracepoint has none */
    unsigned index;
};

struct registry_enumeration {
    const struct spoor_enumerator *values;
    const void *module;
};

struct registry_relation {
    unsigned tracepoint, argument, object;
    const char *file;
    int line;
};

struct registry {
    struct registry_group *groups; /* The item with id i is at [i - 1], in each of these arrays. */
    struct registry_letter *objects, *owners;
    struct registry_tracepoint *tracepoints;
    struct registry_enumeration *enumerations;
    struct registry_relation *relations;
    unsigned group_count, object_count, owner_count, tracepoint_count, enumeration_count, relation_count;
    struct registry_index groups_by_name, tracepoints_by_name, enumerations_by_address, relations_by_ids;
};

/* Makes a registry of what all modules declare. Returns 0, or -errno after recorder_fail(). */
int registry_collect(struct registry **registry);
void registry_free(struct registry *registry);
unsigned registry_owner_type(const struct registry *registry, const char *name);
unsigned registry_enumeration(const struct registry *registry, const struct spoor_enumerator *values);
/* Makes the descriptors of all tracepoints point to their enable bytes; NULL: to a byte that is 0. */
void registry_point(struct registry *registry, uint8_t *enable);

/* ---- sections.c ---- */
struct sections_from { /* how many items of each kind are in the file already */
    unsigned groups, objects, owners, tracepoints, enumerations, relations;
};
/* Returns the sections for what the registry has beyond `from`, in memory of *bytes bytes that the caller frees;
 * with a section about the process if `settings` are given. NULL: memory ran out. */
uint8_t *sections_build(const struct registry *registry, const struct sections_from *from,
                        const struct recorder_settings *settings, size_t *bytes);

/* ---- owner.c ---- */
/* Writes the owners that were registered before into the new recording. Called under the lock. */
void owner_publish(void);
unsigned owner_table_needed(void);
uint32_t owner_next(void);

/* ---- enable.c ---- */
int enable_check(const struct registry *registry, const char *what);
void enable_apply(const struct registry *registry, const char *what, uint8_t *enable, uint8_t value,
                  unsigned first);
bool enable_is_help(const char *what);
void enable_list(const struct registry *registry, FILE *stream);

/* ---- dump.c ---- */
int dump_signal_begin(void);
void dump_signal_end(void);

#endif
