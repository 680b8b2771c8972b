/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts a recording to the other format: spoor's to SPDK's, SPDK's to spoor's. A recording of SPDK's format that
 * was drained or is still being written also becomes a file that SPDK's own reader takes.
 *
 * Events are converted one by one as they are read (reader.h), so that memory does not grow with their number. What
 * the other format cannot express is counted, each kind in a note of its own. What is missing in the recording is
 * visibly missing in the file: SPDK's format gets events that say so (SPDK_MARK in spdk.h), spoor's gets gaps in
 * its numbers. */
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
    uint64_t notes[CONVERT_NOTES]; /* how many there are of each; 0: it is not said */
};

/* Returns the text of a note, which follows its number; *is_alone: the text is said without a number. */
const char *convert_note_text(enum convert_note note, bool *is_alone);

struct convert_job {
    struct recording *recording; /* opened with option `whole`, and at its beginning */
    const struct recording_model *model;
    int file;                 /* an empty file, which can be written at any place */
    const volatile int *stop; /* becomes true when the conversion is to end */
    struct convert_result *result;
    struct text *why; /* after an error, the reason */
};

/* Converts a recording. Returns 0, -EINTR if it was stopped, or -errno with the reason. */
typedef int convert_function(const struct convert_job *job);
convert_function convert_to_spdk, convert_to_spoor;

/* ---- for both ---- */

struct convert_threads { /* threads in the order of their first events */
    struct convert_thread_place {
        uint32_t id, index;
    } * places; /* sorted by id */
    uint32_t count, room;
};

/* Returns the index of a thread; for one that was not met before a new one, which is the previous count. -1: memory
 * ran out. */
int64_t convert_thread(struct convert_threads *threads, uint32_t id);
void convert_threads_free(struct convert_threads *threads);
/* Counts in the notes what is missing. To be called when all events have been read. */
void convert_count_missing(const struct recording *recording, struct convert_result *result);
/* Checks that all of a recording could be read. Returns 0, or -errno with the reason. */
int convert_check_read(const struct recording *recording, struct text *why);
/* Makes a file as long as its tables say, even if the last of them are empty. */
int convert_set_length(int file, uint64_t length, struct text *why);
int convert_write(int file, const void *bytes, size_t length, uint64_t offset, struct text *why);

#endif
