/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies a program's rings to a file before they are overwritten: of spoor's format block by block, of SPDK's slot
 * by slot.
 *
 * The writer does nothing for it and never waits. Records go to the file as they are, each format in its own. What
 * was overwritten before it was copied shows in the file as a gap in the numbers at that place. A file is a
 * recording by itself from its first block on; after a rotation it begins with an empty block for each ring, which
 * says up to where the file before went. */
#ifndef SPOOR_READER_DRAIN_H
#define SPOOR_READER_DRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct drain;

struct drain_options {
    const char *output;
    pid_t pid;               /* the process whose recording it is; 0: the one that the recording names */
    uint64_t rotate_bytes;   /* 0: never */
    uint64_t rotate_seconds; /* 0: never */
    unsigned keep;           /* how many files are kept; 0: all */
    uint64_t from;           /* of SPDK's format: events before this counter are left out; 0: none */
};

struct drain_counts {
    uint64_t blocks, events, lost, bytes; /* lost: overwritten before they were copied */
    unsigned files;
    bool are_entries; /* `lost` counts SPDK's entries, of which an event has one or more */
};

/* Opens a recording to drain it. Returns 0, or -errno with the reason. */
int drain_open(const char *path, const struct drain_options *options, struct drain **result,
               struct text *why);
/* As drain_open(), with a recording, which belongs to the drain from then on, even if this fails. */
struct recording;
int drain_open_recording(struct recording *source, const struct drain_options *options, struct drain **result,
                         struct text *why);
/* Copies from all rings what is new. Returns 1 if a ring was so full that the next round should come at once, 0 if
 * not, -errno with the reason. */
int drain_round(struct drain *drain, struct text *why);
bool drain_is_live(struct drain *drain);
/* Copies the rest, with blocks that are not full yet, and closes the file. */
int drain_finish(struct drain *drain, struct text *why);
struct drain_counts drain_counts(const struct drain *drain);
/* Returns why no relation to the boot clock is kept for a recording of SPDK's format; NULL: one is kept, or none is
 * needed. */
const char *drain_unrelated(const struct drain *drain);
void drain_close(struct drain *drain);

/* Drains what is in the rings now to a file in memory, which goes away when it is closed. The file says that it is
 * no recording's output (SPDK's number of the file is 0). Returns its descriptor, or -errno with the reason. */
int drain_to_memory(struct recording *source, struct text *why);

#endif
