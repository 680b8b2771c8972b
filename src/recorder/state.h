/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the recorder share: the one recording that a process can have, and who may touch what.
 *
 * Three kinds of code run here. The record path (ring.c, and what it calls: clock.c, file.c, inherit.c) may
 * run in a signal handler in the middle of anything: it takes no lock (at most tries one), allocates nothing,
 * and preserves errno. The control path (everything else that is public) runs under recorder_lock.
 * Constructors and destructors of modules are control path.
 *
 * The invariant: memory that a thread once could record into stays mapped for ever (closing replaces it with
 * anonymous zeros), so that no late record can fault.
 */
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
    unsigned generation; /* of the recording; 0: none. Never the same twice. */
    unsigned generations;
    int forked; /* this is the child of a fork, and the recording is still the parent's: see inherit.c */
    uint64_t forked_at; /* counter */
    struct recorder_settings settings;
    struct recording recording;
    struct registry *registry; /* of the recording */
    char *enabled;             /* what was asked for at open: for modules that are loaded later */
    uint64_t sections_used;    /* ours: what the file says may be the parent's */
    uint64_t last_clock;       /* counter of the newest triple in the control page */
    uint64_t dumps;
    struct sigaction signal_before;
};

extern struct recorder recorder;

/* ---- open.c ---- */
void recorder_lock(void);
bool recorder_try_lock(void);
void recorder_unlock(void);
/* Fills the text of spoor_trace_error; returns `error`. */
int recorder_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Under the lock: the process's own recording, also in the child of a fork. NULL: none. */
struct recording *recorder_own(void);

/* ---- file.c: files and memory; safe on the record path ---- */
/* Creates settings.directory/name.pid.spoor with `bytes` of space, `mapped` bytes of it in memory. 0 or
 * -errno, `step` says what failed. */
int file_create(struct recording *recording, const struct recorder_settings *settings, size_t bytes,
                size_t mapped, const char **step);
/* Space for [offset, offset + bytes). 0 or -errno. */
int file_extend(const struct recording *recording, uint64_t offset, uint64_t bytes);
void file_close(struct recording *recording);     /* if it is still ours */
void file_discard(struct recording *recording);   /* of a failed open: unmaps, closes, removes */
void file_retire(uint8_t *memory, size_t mapped); /* in place of the file, anonymous zeros */
uint64_t file_start_ticks(void);                  /* of this process, 0 unknown */
char *file_append(char *at, char *end,
                  const char *text); /* both return the new end, NULL if it does not fit */
char *file_append_number(char *at, char *end, uint64_t number);

/* ---- clock.c ---- */
struct layout_clock clock_read(void);
uint64_t clock_measure_rate(const struct layout_clock *start);
bool clock_is_invariant(void);
void clock_publish(struct recording *recording,
                   const struct layout_clock *clock); /* if a second has gone by */

/* ---- ring.c ---- */
void ring_forget(void); /* the calling thread has no ring any more */
int ring_make(const char *name, bool populate);
void ring_lost(enum layout_lost reason);

/* ---- inherit.c ---- */
int inherit_prepare(void); /* registers the fork handlers, once */
int inherit_open(void);    /* under the lock, forked: gives the child its recording; record path */

/* ---- registry.c: what modules declare ---- */
struct registry_group {
    char *name, *text, *file;
    int line;
    unsigned tracepoints; /* so far */
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
    unsigned group, object; /* ids; object 0: none */
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
    struct registry_group *groups; /* id i at [i - 1], here and below */
    struct registry_letter *objects, *owners;
    struct registry_tracepoint *tracepoints;
    struct registry_enumeration *enumerations;
    struct registry_relation *relations;
    unsigned group_count, object_count, owner_count, tracepoint_count, enumeration_count, relation_count;
};

int registry_collect(struct registry **registry); /* of all modules; 0 or -errno after recorder_fail */
void registry_free(struct registry *registry);
unsigned registry_owner_type(const struct registry *registry, const char *name);
unsigned registry_enumeration(const struct registry *registry, const struct spoor_enumerator *values);
/* All descriptors look at the recording's enable bytes (or, without one, at a zero). */
void registry_point(struct registry *registry, uint8_t *enable);

/* ---- sections.c ---- */
struct sections_from { /* how many of each are in the file already */
    unsigned groups, objects, owners, tracepoints, enumerations, relations;
};
/* The sections of what the registry has beyond `from`; with the process if `settings`. malloc'ed; NULL: no
 * memory. */
uint8_t *sections_build(const struct registry *registry, const struct sections_from *from,
                        const struct recorder_settings *settings, size_t *bytes);

/* ---- owner.c ---- */
void owner_publish(void); /* under the lock, at open: those registered before */
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
