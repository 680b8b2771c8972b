/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings: one interface over every format (spoor's own, SPDK's), whether the file is a copy, was left by a dead
 * program, or is the shared memory of a running one.
 *
 * Other files follow the lives of objects (objects.h), choose (filter.h, find.h), and print (print/event.h).
 * The invariant: everything in the file is untrusted and may change while it is read. It is never mapped, only
 * copied with pread(), and what is used is checked in the copy. So there is no SIGBUS, no torn record, no wild
 * access. */
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

enum { RECORDING_NAME_CUT = 64 };

struct recording_argument {
    const char *name, *type; /* type "" if unknown */
    uint8_t kind;            /* enum recording_kind */
    uint8_t size;
    uint8_t name_length;                             /* at most RECORDING_NAME_CUT */
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
    uint32_t index;                      /* its index in the group */
    int16_t object, owner;               /* indexes of types; -1: there is none, or it is unknown */
    uint8_t life;
    uint8_t argument_count, relation_count;
    uint8_t name_length; /* at most RECORDING_NAME_CUT */
    uint16_t strings;    /* bit N is set if argument N is a string */
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
    const char *host;           /* the node name of the machine that it ran on; "" if unknown */
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

/* Returns the name of a value, or NULL. */
const char *recording_enumerator(const struct recording_enumeration *enumeration, uint64_t value);
/* Gives names to values of an argument, in ascending order, in the tracepoints that a pattern (base/glob.h) matches;
 * NULL: in all. *named: in how many tracepoints the argument is a number. Returns 0 or -ENOMEM. */
struct recording;
int recording_name_values(struct recording *recording, const char *tracepoint, const char *argument,
                          const struct recording_enumerator *values, size_t count, unsigned *named);
/* Whether events about this type ever say that an object ends. Those of SPDK's format never do. */
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
    uint32_t source;         /* its ring: an index for recording_thread() */
    /* As many as the tracepoint has arguments. Of a string: length of the whole text << 32 | offset in
     * `bytes` << 16 | bytes that are there. Offset 0: a null pointer. */
    const uint64_t *words;
    const uint8_t *bytes;
    uint64_t gap_end; /* recording_gap_end() of all rings, when it was handed out */
    uint64_t lost;    /* how many events of this ring are missing just before this one */
    bool is_outside;  /* it is before the time that is shown: objects.h must see it, but it is not shown */
};

struct recording_text {
    const char *bytes;
    uint32_t length;
    bool is_null, is_cut;
};
struct recording_text recording_string(const struct recording_event *event, unsigned argument);

/* ---- a recording ---- */

struct recording;

struct liveness;
struct recording_options {
    bool follow;     /* recording_refresh will be called */
    bool model_only; /* recording_next will not be called */
    bool whole;      /* SPDK's format: events before the time that all lcores cover are not outside */
    bool relate;     /* SPDK's format: times on CLOCK_BOOTTIME, if the counter's relation to it is known */
    /* A process without privileges reads it, and this one is handed what it finds (ask.h), as long as that process is
     * there. For recordings that are followed. */
    bool apart;
    int64_t only_cpu; /* -1: all */
    /* What is known of its writer, where this process cannot look itself; it may change meanwhile. NULL: it looks. */
    const struct liveness *told;
};

/* Opens a recording. Returns 0, or -errno with the reason in `why`. The file is opened for reading only. A
 * recording that is being written and is not to be followed is copied first: nothing is overwritten while it is
 * read, and it is not live any more. */
int recording_open(const char *path, const struct recording_options *options, struct recording **result,
                   struct text *why);
/* As recording_open(), with a descriptor, which belongs to the recording from then on. */
int recording_open_file(int file, const char *path, const struct recording_options *options,
                        struct recording **result, struct text *why);
/* Opens the file of a recording once more, even if its name now leads to another one. */
int recording_again(const struct recording *recording, const struct recording_options *options,
                    struct recording **result, struct text *why);
void recording_close(struct recording *recording);

/* Reads the next event in order of time. Returns 1; 0 if there are no more (for now); else -errno. The event's
 * pointers are valid until the next call. */
int recording_next(struct recording *recording, struct recording_event *event);

/* As recording_next(), but for as many events as are at hand, at most `most`: returns how many. What recording_gap_end()
 * says is true for all of them. */
int recording_next_few(struct recording *recording, struct recording_event *events, int most);

/* Returns the stamp of the first event behind the newest gap of a ring, or of all rings. A gap is where events of
 * the ring are missing between two that are handed out; it is known when the first of these has been. 0: there was
 * none; UINT64_MAX: its end is not known yet. */
#define RECORDING_ALL_SOURCES UINT32_MAX
uint64_t recording_gap_end(const struct recording *recording, uint32_t source);

/* Of a recording that is being written: starts a thread, with the rights of the caller, that copies what is
 * recorded before it is overwritten; recording_refresh() takes what it has. Returns 0 or -errno. */
int recording_keep_up(struct recording *recording);

/* Of a recording that is being written: looks for new events. Afterwards recording_next() goes on, up to a time so
 * long ago that no earlier event can still be on its way. Returns 1 if the program lives, 0 if it has ended and
 * everything comes now, or -errno. */
int recording_refresh(struct recording *recording);
/* Returns how long ago that time is now, ns. */
uint64_t recording_behind(const struct recording *recording);

const struct recording_model *recording_model(const struct recording *recording);
/* Finds the owner that the id of an event meant at its time. False: none is known. */
bool recording_owner(const struct recording *recording, const struct recording_event *event,
                     struct recording_owner *owner);
/* Finds the description at an index, in the order of id and time. False: there are no more. */
bool recording_owner_at(const struct recording *recording, size_t index, struct recording_owner *owner);

struct recording_thread {
    uint32_t id;
    char name[17];
};
/* Finds the thread of the ring at an index, as far as it was read. False: there are no more rings. */
bool recording_thread(const struct recording *recording, size_t index, struct recording_thread *thread);

uint64_t recording_counter_now(void); /* the counter of the CPU that runs this */
/* Returns nanoseconds on the recording's clock (CLOCK_BOOTTIME; in SPDK's format, unless it is related, since its
 * first event). Never decreases with the stamp. */
uint64_t recording_time(const struct recording *recording, uint64_t stamp);
/* added to a time it gives CLOCK_REALTIME; 0: unknown */
uint64_t recording_realtime(const struct recording *recording);
bool recording_clock_is_known(const struct recording *recording); /* false: times only count from its start */
/* what "since the start" counts from, ns; in SPDK's format the first event that is not outside */
uint64_t recording_start(const struct recording *recording);
uint64_t recording_start_stamp(const struct recording *recording); /* recording_start() as a stamp */
uint64_t recording_rate(const struct recording *recording); /* how often the counter ticks per second */
/* how much too early or too late times may be, ns */
uint64_t recording_clock_error(const struct recording *recording);
/* Returns why times do not count on CLOCK_BOOTTIME. NULL: they do. */
const char *recording_unrelated(const struct recording *recording);
/* Of SPDK's format: writes that times count on CLOCK_BOOTTIME, and how exactly, in words. */
void recording_describe_relation(const struct recording *recording, struct text *out);

bool recording_is_live(const struct recording *recording);
/* Of one that is read apart: `leaves` is called now and then while the process is waited for; true: it is given up, as if
 * it were gone. */
void recording_may_leave(struct recording *recording, bool (*leaves)(void *state), void *state);
/* Whether the process that read it apart is gone before its time: no more events come than had come. */
bool recording_is_lost(const struct recording *recording);
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
    /* overwritten before or while it was read; in SPDK's format entries, of which an event has one or more */
    uint64_t overwritten;
    /* those of `overwritten` that were before the first event of a ring, which goes round as long as it is
     * written */
    uint64_t older;
    uint64_t events; /* how many were handed out; from and to: stamps of the first and the last */
    uint64_t from, to;
    bool is_all;   /* all events were read */
    uint64_t lost; /* never recorded, for whatever reason */
    uint64_t lost_by[RECORDING_LOST_COUNT];
    uint64_t owners_lost;
    uint64_t damaged;     /* blocks or entries that make no sense */
    uint64_t unknown;     /* events of tracepoints that are not declared */
    uint64_t done, total; /* bytes that have been read and those that there are, for progress */
    unsigned sources;     /* rings */
    int read_error;       /* errno of a part that the file system did not give; 0: none */
};
/* Writes a sentence about what was overwritten because rings go round: which part of everything the recording has.
 * Writes nothing if it is whole. */
void recording_describe_older(const struct recording *recording, struct text *out);
struct recording_counts recording_counts(const struct recording *recording);

#endif
