/* SPDX-License-Identifier: BSD-3-Clause */
/* From the CPU's counter to nanoseconds: straight lines between instants at which both were read.
 *
 * It is one function of the counter for the whole recording, and never decreases: the order of stamps is the order
 * of times. Only whole numbers are used, rounded to the nearest nanosecond. */
#ifndef SPOOR_READER_TIMELINE_H
#define SPOOR_READER_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

struct timeline_point {
    uint64_t counter, time;
    uint64_t error; /* counter units */
    uint64_t slope; /* ns per unit from here on, in units of 2^-TIMELINE_SHIFT */
};
enum { TIMELINE_SHIFT = 54 };

struct timeline {
    struct timeline_point *points;
    size_t count, room;
    uint64_t rate;  /* Hz, used while only one point is known */
    uint64_t apart; /* counter units: of points that are nearer to each other, one is kept */
    size_t near;    /* index of the line that is tried first */
};

/* rate must not be 0. */
void timeline_init(struct timeline *timeline, uint64_t rate);
/* Adds a point, in any order. Returns 0 or -ENOMEM. */
int timeline_add(struct timeline *timeline, uint64_t counter, uint64_t time, uint64_t error);
/* To be called after the last timeline_add() and before timeline_time(). */
void timeline_finish(struct timeline *timeline);
uint64_t timeline_time(const struct timeline *timeline, uint64_t counter);
/* Most calls to come are about this counter and those soon after it. */
void timeline_expect(struct timeline *timeline, uint64_t counter);
uint64_t timeline_error(const struct timeline *timeline); /* ns */
void timeline_free(struct timeline *timeline);

#endif
