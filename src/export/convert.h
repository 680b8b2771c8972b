/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording in the other format: spoor's in SPDK's, SPDK's in spoor's; of SPDK's format also what was drained or
 * is still being written, as a file that its own reader takes.
 *
 * Events go over as they are read (reader.h), one by one: memory does not grow with their number. What the other format
 * has no place for is counted, each kind in a note of its own. What is missing in the recording is missing visibly
 * in the file: SPDK's format gets events that say so (SPDK_MARK in spdk.h), spoor's gaps in its numbers. */
#ifndef SPOOR_EXPORT_CONVERT_H
#define SPOOR_EXPORT_CONVERT_H

#include <stdint.h>

#include "base/text.h"
#include "reader/reader.h"

enum convert_note {
    /* to SPDK's format */
    CONVERT_TRACEPOINT_NAMES,
    CONVERT_ARGUMENT_NAMES,
    CONVERT_ARGUMENTS,
    CONVERT_RELATIONS,
    CONVERT_ENDS,
    CONVERT_VALUE_NAMES,
    CONVERT_REALS,
    CONVERT_NAMES,
    CONVERT_THREADS,
    CONVERT_STRINGS,
    CONVERT_NULLS,
    CONVERT_NEGATIVE,
    CONVERT_DESCRIPTIONS,
    CONVERT_OWNERS,
    CONVERT_CLOCK,
    /* to spoor's */
    CONVERT_CUT_DESCRIPTIONS,
    CONVERT_OWNER_ZERO,
    CONVERT_TRACEPOINT_ZERO,
    /* to both */
    CONVERT_TIMES,
    CONVERT_OVERWRITTEN_ENTRIES,
    CONVERT_OVERWRITTEN_EVENTS,
    CONVERT_UNRECORDED,
    CONVERT_LEFT_OUT,
    CONVERT_NOTES,
};

struct convert_result {
    uint64_t events;
    uint64_t notes[CONVERT_NOTES]; /* how many of each; 0: there is nothing to say */
};

/* What a note says, behind its number; *is_alone: there is no number to be said. */
const char *convert_note_text(enum convert_note note, bool *is_alone);

struct convert_job {
    struct recording *recording; /* opened whole, and at its beginning */
    const struct recording_model *model;
    int file;                 /* empty, and can be written at any place */
    const volatile int *stop; /* somebody wants it to end */
    struct convert_result *result;
    struct text *why; /* after an error: the reason */
};

/* 0, -EINTR, or -errno with the reason. */
typedef int convert_function(const struct convert_job *job);
convert_function convert_to_spdk, convert_to_spoor;

/* ---- for both ---- */

struct convert_threads { /* in the order of their first events */
    struct convert_thread_place {
        uint32_t id, index;
    } * places; /* in ascending order of id */
    uint32_t count, room;
};

/* The index of a thread, a new one for one that was not met: then it is the old count. -1: there is no memory. */
int64_t convert_thread(struct convert_threads *threads, uint32_t id);
void convert_threads_free(struct convert_threads *threads);
/* What is missing, into the notes: when all events were read. */
void convert_count_missing(const struct recording *recording, struct convert_result *result);
/* Could all of it be read? 0, or -errno with the reason. */
int convert_check_read(const struct recording *recording, struct text *why);
/* A file is as long as its tables say, also when the last of them are empty. */
int convert_set_length(int file, uint64_t length, struct text *why);
int convert_write(int file, const void *bytes, size_t length, uint64_t offset, struct text *why);

#endif
