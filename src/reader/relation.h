/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU's counter and CLOCK_BOOTTIME, read together, for recordings that have only the counter, as SPDK's do.
 *
 * A reading is right within half of the time that it took. Between two readings the counter's time is a straight
 * line; before the first and behind the last that line goes on, which is less and less certain. The rate that a
 * file gives only says whether it is this counter at all, because programs round it. The invariant: all readings of
 * a relation are of one run of the counter. If it did not go on evenly (the machine slept) the relation begins
 * anew, and nothing is said about earlier stamps. */
#ifndef SPOOR_READER_RELATION_H
#define SPOOR_READER_RELATION_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "reader/timeline.h"
#include "recorder/layout.h"

/* What drained files of SPDK's format have behind struct spdk_stream (spdk.h). Each reading has a check of its own,
 * because the file is read while it is written. */
enum { RELATION_CLOCKS = 512 };
struct relation {
    uint64_t check;    /* RELATION_CHECK ^ count */
    uint64_t count;    /* how many readings are kept */
    uint64_t since;    /* smaller stamps are from before the counter last stopped; 0: it did not */
    uint64_t realtime; /* CLOCK_REALTIME minus CLOCK_BOOTTIME, ns */
    uint64_t apart;    /* counter units between readings that are kept; the newest may be nearer */
    struct layout_clock clocks[RELATION_CLOCKS]; /* in ascending order */
};
#define RELATION_CHECK 0x6e6f6974616c6572ull

static_assert(sizeof(struct relation) == 40 + RELATION_CLOCKS * sizeof(struct layout_clock), "layout");

/* Reads both clocks some times and returns the narrowest reading. */
struct layout_clock relation_look(void);
/* Begins a relation with a first reading. rate: that of the counter, Hz, roughly. */
void relation_begin(struct relation *relation, uint64_t rate);
void relation_add(struct relation *relation, const struct layout_clock *clock, uint64_t rate);
/* Waits until the first reading is so old that one more makes the counter's rate known to a few parts per million. */
void relation_ripen(const struct relation *relation);
/* Whether the counter may have stopped between two readings, or is not one of this rate. */
bool relation_is_broken(const struct layout_clock *before, const struct layout_clock *after, uint64_t rate);

/* Puts the readings into a timeline, which has the rate of the file. Returns NULL, or why that cannot be. *error: 0
 * or -ENOMEM. */
const char *relation_use(const struct relation *relation, struct timeline *timeline, int *error);
/* Returns by how much the times of stamps from `oldest` to `newest` may be wrong, ns. */
uint64_t relation_error(const struct timeline *timeline, uint64_t oldest, uint64_t newest);

/* Returns NULL if the counter that programs read on this machine can be related to the boot clock, else why it
 * cannot. `cpuinfo` is the text of /proc/cpuinfo, NULL where it says nothing about the counter; `clocksource` is
 * the kernel's source of time, "" if it is unknown. */
const char *relation_counter_refusal(const char *cpuinfo, const char *clocksource);
/* As relation_counter_refusal(), with what this machine says. */
const char *relation_machine_refusal(void);

#endif
