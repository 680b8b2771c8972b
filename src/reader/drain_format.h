/* SPDX-License-Identifier: BSD-3-Clause */
/* Between those who want what is in a program's rings - drain.c, which has output files and their rotation, and
 * follower.c, which keeps it in memory - and the formats, which know what is in the rings and how it stands in
 * a file. */
#ifndef SPOOR_READER_DRAIN_FORMAT_H
#define SPOOR_READER_DRAIN_FORMAT_H

#include <time.h>

#include "reader/drain.h"
#include "reader/reader.h"

enum drain_round {
    DRAIN_FULL, /* what is worth writing; the rest when there is more, or after a while */
    DRAIN_NEW,  /* everything, also what is not full yet, which is given again when it has grown */
    DRAIN_LAST, /* everything, for the last time */
};

struct drain_format {
    int (*open)(struct drain *drain, struct text *why); /* can it be drained? Makes `state`. */
    /* What stands before the records, as it is now: owners, declarations and clocks change while the program
     * runs. */
    int (*describe)(struct drain *drain, struct text *why);
    /* In a file after the first: says up to where the file before went. */
    int (*resume)(struct drain *drain, struct text *why);
    /* All rings once. 1: one was so full that the next round should come at once. */
    int (*round)(struct drain *drain, enum drain_round round, struct text *why);
    void (*close)(struct drain *drain); /* also after open failed */
};

extern const struct drain_format drain_format_spoor, drain_format_spdk;

struct drain {
    struct drain_options options;
    /* Instead of files: takes what a file would be appended. 0 or -errno. */
    int (*append)(struct drain *drain, const void *bytes, size_t length);
    uint64_t share; /* bytes that one round may give of each ring, the newest; 0: all */
    const struct drain_format *format;
    void *state; /* the format's */
    struct recording *source;
    uint64_t begin; /* where records begin in an output file; the format knows when it is open */
    int file;
    char *path;               /* of the output file that is open */
    uint64_t written;         /* its length */
    uint64_t first;           /* where its records begin, those that resume wrote not counted */
    time_t opened, described; /* monotonic seconds */
    uint64_t number;          /* of output files so far */
    struct drain_counts counts;
};

int drain_fail(struct text *why, const char *what, const char *path, int error); /* returns error */
int drain_write(struct drain *drain, const void *bytes, size_t length, uint64_t offset, struct text *why);
/* At the end of the file. */
int drain_append(struct drain *drain, const void *bytes, size_t length, struct text *why);
/* To be asked between rings: begins a new file if it is time. */
int drain_rotate(struct drain *drain, struct text *why);

#endif
