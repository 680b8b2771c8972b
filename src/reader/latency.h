/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts, and how long objects take from one tracepoint to the next and from beginning to end. In
 * nanoseconds, as a listing has them; log-linear histograms, right to 1 in 64; count, sum and largest are
 * exact. */
#ifndef SPOOR_READER_LATENCY_H
#define SPOOR_READER_LATENCY_H

#include "reader/objects.h"
#include "reader/reader.h"

enum { LATENCY_BITS = 6, LATENCY_OCTAVES = 64 - LATENCY_BITS + 1, LATENCY_PAIRS_MAX = 65536 };

struct latency { /* a histogram */
    uint64_t count, largest;
    unsigned __int128 sum;
    uint64_t *octaves[LATENCY_OCTAVES]; /* of 2^LATENCY_BITS counts each, made when needed */
};
int latency_add(struct latency *latency, uint64_t value); /* 0 or -ENOMEM */
/* The value that `fraction` of all (0 to 1) do not exceed. */
uint64_t latency_quantile(const struct latency *latency, double fraction);
void latency_clear(struct latency *latency);

struct latency_pair { /* between successive events of one object; from NULL: its whole life */
    int16_t object;
    const struct recording_tracepoint *from, *to;
    struct latency latency;
    struct latency_pair *next;
};

struct latency_table {
    const struct recording *recording;
    const struct recording_model *model;
    uint64_t events, first, last; /* first and last stamp */
    uint64_t *counts;             /* by tracepoint id, 65536 of them */
    struct latency_pair **pairs;  /* by id of `to`, chained; 65536 of them */
    struct latency_pair **lives;  /* by type */
    size_t pair_count;
    uint64_t left_out; /* more pairs than are kept */
};

int latency_table_make(struct latency_table *table, const struct recording *recording);
int latency_table_add(struct latency_table *table, const struct recording_event *event,
                      const struct object_step *step);
/* Those that have not ended are no whole lives; with SPDK's format nobody says so, and the last event counts
 * as the end. */
int latency_table_finish(struct latency_table *table, const struct objects *objects);
void latency_table_free(struct latency_table *table);

#endif
