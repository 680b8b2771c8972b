/* SPDX-License-Identifier: BSD-3-Clause */
/* Between drain.c, which copies rings to output files and rotates them, follower.c, which keeps the copies in
 * memory, and the formats, which know what is in the rings and how it is stored in a file. */
#ifndef SPOOR_READER_DRAIN_FORMAT_H
#define SPOOR_READER_DRAIN_FORMAT_H

#include <time.h>

#include "reader/drain.h"
#include "reader/reader.h"

enum drain_round {
    DRAIN_FULL, /* what is enough to be worth writing; the rest when there is more, or after a while */
    DRAIN_NEW,  /* everything, also what is not full yet, which is copied again when it has grown */
    DRAIN_LAST, /* everything, for the last time */
};

struct drain_format {
    /* checks whether it can be drained, and makes `state` */
    int (*open)(struct drain *drain, struct text *why);
    /* Writes what stands before the records, as it is now: owners, declarations and clocks change while the program
     * runs. */
    int (*describe)(struct drain *drain, struct text *why);
    /* Writes into a file after the first one up to where the file before went. */
    int (*resume)(struct drain *drain, struct text *why);
    /* Copies from all rings once. Returns 1 if one was so full that the next round should come at once. */
    int (*round)(struct drain *drain, enum drain_round round, struct text *why);
    void (*close)(struct drain *drain); /* also after open failed */
};

extern const struct drain_format drain_format_spoor, drain_format_spdk;

struct drain {
    struct drain_options options;
    /* Takes what would be appended to a file, where there are no files. Returns 0 or -errno. */
    int (*append)(struct drain *drain, const void *bytes, size_t length);
    uint64_t share; /* how many bytes, the newest, one round may copy of each ring; 0: all */
    const struct drain_format *format;
    void *state; /* the format's */
    struct recording *source;
    uint64_t begin; /* where records begin in an output file; set by the format's open() */
    int file;
    char *path;               /* of the output file that is open */
    uint64_t written;         /* its length */
    uint64_t first;           /* where its records begin, behind those that resume() wrote */
    time_t opened, described; /* monotonic seconds */
    uint64_t number;          /* how many output files there have been */
    struct drain_counts counts;
};

/* writes the reason, and returns `error` */
int drain_fail(struct text *why, const char *what, const char *path, int error);
int drain_write(struct drain *drain, const void *bytes, size_t length, uint64_t offset, struct text *why);
/* Writes at the end of the file. */
int drain_append(struct drain *drain, const void *bytes, size_t length, struct text *why);
/* Begins a new file if it is time to. To be called between rings. */
int drain_rotate(struct drain *drain, struct text *why);

#endif
