/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of events, and how long objects take from one tracepoint to the next and from beginning to end. Times are
 * nanoseconds, as in a listing, in log-linear histograms that are right to 1 in 64; count, sum and largest are
 * exact. */
#ifndef SPOOR_READER_LATENCY_H
#define SPOOR_READER_LATENCY_H

#include "reader/objects.h"
#include "reader/reader.h"
#include "reader/timeline.h"

enum { LATENCY_BITS = 6, LATENCY_OCTAVES = 64 - LATENCY_BITS + 1, LATENCY_PAIRS_MAX = 65536 };

struct latency { /* a histogram */
    uint64_t count, largest;
    unsigned __int128 sum;
    uint64_t *octaves[LATENCY_OCTAVES]; /* arrays of 2^LATENCY_BITS counts, made when needed */
};
int latency_add(struct latency *latency, uint64_t value); /* 0 or -ENOMEM */
/* Returns the value that a share of all values, from 0 to 1, does not exceed. */
uint64_t latency_quantile(const struct latency *latency, double fraction);
void latency_clear(struct latency *latency);

struct latency_pair { /* between successive events of one object; `from` NULL: its whole life */
    int16_t object;
    const struct recording_tracepoint *from, *to;
    struct latency latency;
    struct latency_pair *next;
};

struct latency_table {
    const struct recording *recording;
    const struct recording_model *model;
    const struct timeline *timeline; /* the recording's, or a copy of it */
    struct timeline own_timeline;
    uint64_t events, first, last; /* first and last stamp */
    uint64_t *counts;             /* events by the id of the tracepoint, 65536 of them */
    struct latency_pair **pairs;  /* by the id of `to`, as lists; 65536 of them */
    struct latency_pair **lives;  /* by the type of the object */
    size_t pair_count;
    uint8_t explicit_ends[256]; /* by type: whether events say that an object ends, as far as it was asked */
    uint64_t left_out;          /* events of pairs for which there was no room */
};

int latency_table_make(struct latency_table *table, const struct recording *recording);
/* The recording is read by another thread from now on: the table has a timeline of its own. */
void latency_table_set_apart(struct latency_table *table);
int latency_table_add(struct latency_table *table, const struct recording_event *event,
                      const struct object_step *step);
/* Adds the lives of objects in SPDK's format, of which no event says that they end: there the last event counts as
 * the end. In spoor's, objects that have not ended are no whole lives. Returns 0 or -ENOMEM. */
int latency_table_finish(struct latency_table *table, const struct objects *objects);
void latency_table_free(struct latency_table *table);

#endif
