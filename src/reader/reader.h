/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings: one interface over every format (spoor's own, SPDK's), whether the file is a copy, was left by
 * a dead program, or is the shared memory of one that runs at full speed.
 *
 * Not here: what happens to objects (objects.h), choosing (filter.h, find.h), printing (print/event.h).
 * The invariant: everything in the file is untrusted and may change while it is read. It is never mapped,
 * only copied with pread, and what is used is checked in the copy. So there is no SIGBUS, no torn record, no
 * wild access. */
#ifndef SPOOR_READER_READER_H
#define SPOOR_READER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

enum { RECORDING_ARGUMENTS_MAX = 12, RECORDING_RELATIONS_MAX = 16 };

/* ---- the model: what the program declared ---- */

enum recording_kind { /* of an argument; numbered as in recorder/layout.h */
                      RECORDING_UNSIGNED = 1,
                      RECORDING_SIGNED = 2,
                      RECORDING_POINTER = 3,
                      RECORDING_STRING = 4,
                      RECORDING_REAL = 5,
                      RECORDING_BOOL = 6,
};

enum recording_life { RECORDING_USES = 0, RECORDING_BEGINS = 1, RECORDING_ENDS = 2 };

struct recording_group {
    uint32_t id;
    const char *name, *text; /* "" if unknown */
};

struct recording_type { /* of objects, or of owners */
    uint32_t id;        /* from 1 */
    const char *name;   /* "" if unknown */
    char letter;
};

struct recording_enumerator {
    int64_t value;
    const char *name;
};

struct recording_enumeration {
    uint32_t id;
    const struct recording_enumerator *values; /* in ascending order */
    size_t count;
};

struct recording_argument {
    const char *name, *type; /* type "" if unknown */
    uint8_t kind;            /* enum recording_kind */
    uint8_t size;
    const struct recording_enumeration *enumeration; /* or NULL */
};

struct recording_relation { /* the argument holds the id of an object of that type */
    uint8_t argument;
    uint8_t object; /* index of the type in the model, not its id */
};

struct recording_tracepoint {
    uint32_t id;
    const char *name;
    const struct recording_group *group; /* never NULL */
    uint32_t index;                      /* in its group */
    int16_t object, owner;               /* indexes of types, -1: none, or not told */
    uint8_t life;
    uint8_t argument_count, relation_count;
    struct recording_argument arguments[RECORDING_ARGUMENTS_MAX];
    struct recording_relation relations[RECORDING_RELATIONS_MAX];
};

struct recording_model {
    const struct recording_group *groups;
    size_t group_count;
    const struct recording_type *objects, *owners; /* at most 255 types of objects */
    size_t object_count, owner_count;
    const struct recording_tracepoint *const *tracepoints; /* index = id; may hold NULL */
    size_t tracepoint_room;
    const char *name, *command; /* of the program, "" if unknown */
    uint32_t pid;               /* 0: unknown */
};

struct recording_owner {
    uint32_t id;
    int16_t type; /* index in model.owners, -1: none */
    char letter;  /* 0: none */
    const char *description;
    size_t description_length;
    uint64_t since, until; /* counter */
};

/* The name of a value, or NULL. */
const char *recording_enumerator(const struct recording_enumeration *enumeration, uint64_t value);
/* From now on values of an argument, of the tracepoints that a pattern (sym/glob.h) means, NULL: of all, have these names,
 * in ascending order; *named: how many arguments that are numbers there are. 0 or -ENOMEM. */
struct recording;
int recording_name_values(struct recording *recording, const char *tracepoint, const char *argument,
                          const struct recording_enumerator *values, size_t count, unsigned *named);
/* Do events of this type ever say that an object ends? Those of SPDK's format never do. */
bool recording_has_explicit_ends(const struct recording_model *model, int16_t type);

/* ---- events ---- */

enum { RECORDING_NAME = 16 };

struct recording_event {
    uint64_t stamp; /* the CPU's counter */
    const struct recording_tracepoint *tracepoint;
    uint64_t object;
    uint32_t owner; /* id; with SPDK's format 0 may be one */
    uint32_t size;
    uint32_t thread;         /* id of the thread; of SPDK's format, the lcore */
    const char *thread_name; /* RECORDING_NAME bytes, zeros behind the name; "" if unknown */
    uint32_t source;         /* ring: index as of recording_thread */
    /* As many as the tracepoint has arguments. Of a string: length of the whole text << 32 | offset in
     * `bytes` << 16 | bytes that are there. Offset 0: a null pointer. */
    const uint64_t *words;
    const uint8_t *bytes;
    uint64_t lost;   /* events of this ring that are missing just before this one */
    bool is_outside; /* before the time that is shown: it tells of objects, and is not to be shown itself */
};

struct recording_text {
    const char *bytes;
    uint32_t length;
    bool is_null, is_cut;
};
struct recording_text recording_string(const struct recording_event *event, unsigned argument);

/* ---- a recording ---- */

struct recording;

struct recording_options {
    bool follow;      /* recording_refresh will be called */
    bool model_only;  /* recording_next will not be called */
    bool whole;       /* SPDK's format: events before the time that all lcores cover are not outside */
    bool relate;      /* SPDK's format: times on CLOCK_BOOTTIME, if the counter's relation to it is known */
    int64_t only_cpu; /* -1: all */
};

/* 0, or -errno with the reason in `why`. The file is opened for reading only. Of a recording that is being written
 * and is not to be followed, what is there now is copied first: nothing is overwritten while it is read, and it is
 * no longer live. */
int recording_open(const char *path, const struct recording_options *options, struct recording **result,
                   struct text *why);
/* The same with a descriptor, which then belongs to the recording. */
int recording_open_file(int file, const char *path, const struct recording_options *options,
                        struct recording **result, struct text *why);
/* The same file once more, whatever its name leads to by now. */
int recording_again(const struct recording *recording, const struct recording_options *options,
                    struct recording **result, struct text *why);
void recording_close(struct recording *recording);

/* The next event in order of time: 1; 0: no more (for now), else -errno. The event's pointers hold until the
 * next call. */
int recording_next(struct recording *recording, struct recording_event *event);

/* Stamp of the first event behind the newest gap of a ring, or of all: a gap is where events of the ring are missing
 * between two that were handed out, and it is known when the first of these has been. 0: there was none;
 * UINT64_MAX: it is not known yet where it ends. */
#define RECORDING_ALL_SOURCES UINT32_MAX
uint64_t recording_gap_end(const struct recording *recording, uint32_t source);

/* Live: from now on a thread, with the rights that the caller has, copies what is recorded before it is
 * overwritten; recording_refresh takes what it has. 0 or -errno. */
int recording_keep_up(struct recording *recording);

/* Live: looks for what has been recorded since. Afterwards recording_next goes on, up to an instant so long
 * ago that no event before it can still be on its way. 1: the program lives; 0: it has ended, and everything
 * will come now. */
int recording_refresh(struct recording *recording);
/* How long ago that instant is now, ns. */
uint64_t recording_behind(const struct recording *recording);

const struct recording_model *recording_model(const struct recording *recording);
/* Whom this id meant at that instant; false: nobody is known. */
bool recording_owner(const struct recording *recording, const struct recording_event *event,
                     struct recording_owner *owner);
/* The nth description, in order of id and time; false: no more. */
bool recording_owner_at(const struct recording *recording, size_t index, struct recording_owner *owner);

struct recording_thread {
    uint32_t id;
    char name[17];
};
/* The thread of the nth ring, as far as it was read; false: no more rings. */
bool recording_thread(const struct recording *recording, size_t index, struct recording_thread *thread);

uint64_t recording_counter_now(void); /* of this CPU */
/* Nanoseconds on the recording's clock (CLOCK_BOOTTIME; SPDK's format, unless related: since its first event). Never
 * decreases with the stamp. */
uint64_t recording_time(const struct recording *recording, uint64_t stamp);
uint64_t recording_realtime(const struct recording *recording);   /* CLOCK_REALTIME minus that; 0: unknown */
bool recording_clock_is_known(const struct recording *recording); /* false: times only count from its start */
uint64_t recording_start(const struct recording *recording);      /* what "since the start" counts from, ns;
                                                                   SPDK's format: the first that is not outside */
uint64_t recording_start_stamp(const struct recording *recording); /* the same in the CPU's counter */
uint64_t recording_rate(const struct recording *recording);        /* of the counter, Hz */
uint64_t recording_clock_error(const struct recording *recording); /* times are right within +- this, ns */
/* Why times do not count on CLOCK_BOOTTIME. NULL: they do. */
const char *recording_unrelated(const struct recording *recording);
/* Of SPDK's format: that they do, and how exactly, in words. */
void recording_describe_relation(const struct recording *recording, struct text *out);

bool recording_is_live(const struct recording *recording);
bool recording_is_spdk(const struct recording *recording);
const char *recording_path(const struct recording *recording);
int recording_file(const struct recording *recording);

enum recording_lost { /* why the program could not record */
                      RECORDING_LOST_LIMIT,
                      RECORDING_LOST_SPACE,
                      RECORDING_LOST_MAKING,
                      RECORDING_LOST_NESTED,
                      RECORDING_LOST_COUNT,
};

struct recording_counts {
    uint64_t overwritten; /* gone before or while we read; SPDK's format: entries, of which an event has one
                             or more */
    uint64_t
        older; /* of these: before the first event of a ring, which goes round for as long as it is written */
    uint64_t events; /* that were handed out; from and to: stamps of the first and the last */
    uint64_t from, to;
    bool is_all;   /* there were no more */
    uint64_t lost; /* never recorded, for whatever reason */
    uint64_t lost_by[RECORDING_LOST_COUNT];
    uint64_t owners_lost;
    uint64_t damaged;     /* blocks or entries that make no sense */
    uint64_t unknown;     /* of tracepoints that are not declared */
    uint64_t done, total; /* bytes, for progress */
    unsigned sources;     /* rings */
    int read_error;       /* errno of a part that the file system did not give; 0: none */
};
/* What was overwritten because rings go round, in a sentence: which part of all the recording holds. Nothing if it is
 * whole. */
void recording_describe_older(const struct recording *recording, struct text *out);
struct recording_counts recording_counts(const struct recording *recording);

#endif
