/* SPDX-License-Identifier: BSD-3-Clause */
/* From a program's rings to a file, before they are overwritten: spoor's block by block, SPDK's slot by slot.
 *
 * The writer does nothing for it and never waits. Records go to the file as they are, each format in its own;
 * what was overwritten before it was reached shows in the file as a gap in their numbers, in place. A file is
 * a recording by itself from its first block on; one after a rotation begins with an empty block for each
 * ring, which says up to where the file before went. */
#ifndef SPOOR_READER_DRAIN_H
#define SPOOR_READER_DRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct drain;

struct drain_options {
    const char *output;
    pid_t pid;               /* whose recording it is; 0: the one that it names itself */
    uint64_t rotate_bytes;   /* 0: never */
    uint64_t rotate_seconds; /* 0: never */
    unsigned keep;           /* files; 0: all */
    uint64_t from;           /* SPDK's format: what is older than this counter stays; 0: nothing */
};

struct drain_counts {
    uint64_t blocks, events, lost, bytes; /* lost: overwritten before they were reached */
    unsigned files;
    bool are_entries; /* `lost` counts SPDK's entries, of which an event has one or more */
};

/* 0, or -errno with the reason. */
int drain_open(const char *path, const struct drain_options *options, struct drain **result,
               struct text *why);
/* The same with a recording, which then belongs to the drain, also when it fails. */
struct recording;
int drain_open_recording(struct recording *source, const struct drain_options *options, struct drain **result,
                         struct text *why);
/* One round over all rings: 1 if a ring was filled so far that the next round should come at once, 0 if not;
 * -errno with the reason. */
int drain_round(struct drain *drain, struct text *why);
bool drain_is_live(struct drain *drain);
/* The rest, with blocks that are not full yet; closes the file. */
int drain_finish(struct drain *drain, struct text *why);
struct drain_counts drain_counts(const struct drain *drain);
/* SPDK's format: why no relation to the boot clock is kept; NULL: one is, or none is needed. */
const char *drain_unrelated(const struct drain *drain);
void drain_close(struct drain *drain);

/* What is in the rings now, drained to a file in memory that goes away when it is closed; it is no recording's
 * output, and says so (SPDK's number of the file is 0). Its descriptor, or -errno with the reason. */
int drain_to_memory(struct recording *source, struct text *why);

#endif
