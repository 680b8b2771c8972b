/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU's counter and CLOCK_BOOTTIME, read together, for recordings that bring the counter alone, as SPDK's do.
 *
 * A reading is right within half of what it took; between two readings the counter's time is a straight line, and before
 * the first and behind the last that line goes on, which is less and less certain. The rate that a file gives only tells
 * whether it is this counter at all: programs round it. The invariant: all readings of a relation are of one run of the
 * counter. When it did not go on evenly (the machine slept) the relation begins anew, and nothing is said of stamps from
 * before. */
#ifndef SPOOR_READER_RELATION_H
#define SPOOR_READER_RELATION_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "reader/timeline.h"
#include "recorder/layout.h"

/* What drained files of SPDK's format have behind struct spdk_stream (spdk.h). Each reading has a check of its own: the
 * file is read while it is written. */
enum { RELATION_CLOCKS = 512 };
struct relation {
    uint64_t check;    /* RELATION_CHECK ^ count */
    uint64_t count;    /* of readings that are kept */
    uint64_t since;    /* stamps below are from before the counter last stopped; 0: there are none */
    uint64_t realtime; /* CLOCK_REALTIME minus CLOCK_BOOTTIME, ns */
    uint64_t apart;    /* of readings that are kept but for the newest, counter units */
    struct layout_clock clocks[RELATION_CLOCKS]; /* in ascending order */
};
#define RELATION_CHECK 0x6e6f6974616c6572ull

static_assert(sizeof(struct relation) == 40 + RELATION_CLOCKS * sizeof(struct layout_clock), "layout");

/* The narrowest of some readings. */
struct layout_clock relation_look(void);
/* rate: of the counter, Hz, roughly. */
void relation_begin(struct relation *relation, uint64_t rate);
void relation_add(struct relation *relation, const struct layout_clock *clock, uint64_t rate);
/* Waits until the first reading is so old that one more makes the counter's rate known to a few parts per million. */
void relation_ripen(const struct relation *relation);
/* May the counter have stopped between two readings, or is it not one of this rate? */
bool relation_is_broken(const struct layout_clock *before, const struct layout_clock *after, uint64_t rate);

/* To the timeline, which has the rate of the file. NULL, or why that cannot be. *error: 0 or -ENOMEM. */
const char *relation_use(const struct relation *relation, struct timeline *timeline, int *error);
/* How far the times of stamps from `oldest` to `newest` may be wrong, ns. */
uint64_t relation_error(const struct timeline *timeline, uint64_t oldest, uint64_t newest);

/* Can the counter that this machine's programs read be related at all? `cpuinfo` is the text of /proc/cpuinfo, NULL where
 * that tells nothing of the counter; `clocksource` is what the kernel keeps its time by, "" if unknown. NULL: yes; else
 * why not. */
const char *relation_counter_refusal(const char *cpuinfo, const char *clocksource);
/* The same of this machine. */
const char *relation_machine_refusal(void);

#endif
