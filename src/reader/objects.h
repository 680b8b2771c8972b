/* SPDX-License-Identifier: BSD-3-Clause */
/* The lives of objects: which instance an event is about, how old it is, and what it is related to.
 *
 * An instance begins with an event that says so, or is first met in the middle of its life. Instances of a type are
 * numbered from 0 in the order of their beginning: i429. Memory is bounded: when very many are known, those without
 * events for the longest time are forgotten, first of them those that have ended; later events about them are as of
 * unknown ones. The same events give the same numbers.
 *
 * Where events are missing, ends and beginnings may be among them. Only here it is decided what a gap makes
 * unknown: an instance is treated as if it had never been met when, since its last event, there was a gap in the
 * ring of that event or in the ring of the new one; and in any ring, if instances of its type have been seen to go
 * from ring to ring. (What is missing before the first event of a ring is no gap.) */
#ifndef SPOOR_READER_OBJECTS_H
#define SPOOR_READER_OBJECTS_H

#include "reader/reader.h"

struct objects;

#define OBJECT_UNNUMBERED UINT64_MAX

struct object {               /* an instance */
    uint64_t id;              /* as recorded */
    uint64_t number;          /* OBJECT_UNNUMBERED: its beginning is not in the recording */
    uint64_t begun;           /* stamp of its beginning, or of when it was first met */
    uint64_t last;            /* stamp of its newest event */
    uint64_t parent;          /* number of the object of its first relation, or OBJECT_UNNUMBERED */
    uint32_t source;          /* ring of its newest event */
    uint16_t last_tracepoint; /* id */
    int16_t type;             /* index of its type in the model */
    int16_t parent_type;      /* -1: none */
    bool has_ended;
};

struct object_step { /* what one event means */
    /* The instance after the event; type -1: the event is about none. It is valid until the next event is followed. */
    const struct object *own;
    uint64_t before; /* stamp of the instance's previous event; 0: this is its first */
    uint16_t before_tracepoint;
    bool begins;
    bool is_first; /* the instance was not known before: it begins, or is met in the middle of its life */
    /* an instance that this beginning replaced although it had not ended; type -1: there is none */
    struct object ended;
    unsigned related_count;
    struct {
        int16_t type;
        uint64_t number, id;
    } related[RECORDING_RELATIONS_MAX];
};

/* Makes the objects of a recording, whose events must be given in its order. NULL: memory ran out. */
struct objects *objects_make(const struct recording *recording);
void objects_free(struct objects *objects);
/* is_apart: another thread reads the recording (ahead.h), and objects_set_gap_ends() says what it knows of gaps. Events have
 * no arguments then, and no relations are followed. */
void objects_set_apart(struct objects *objects, bool is_apart);
int objects_set_gap_ends(struct objects *objects, const uint64_t *gap_ends, size_t count); /* 0 or -ENOMEM */
/* Follows one event. Returns 0 or -ENOMEM. */
int objects_follow(struct objects *objects, const struct recording_event *event, struct object_step *step);
/* Calls `see` for each object that has not ended, as far as is known, in no order. */
void objects_each(const struct objects *objects, void (*see)(void *context, const struct object *object),
                  void *context);
/* Returns how much memory is in use, for tests of the bound. */
size_t objects_bytes(const struct objects *objects);

#endif
