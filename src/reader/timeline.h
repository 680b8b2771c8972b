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
#define TIMELINE_HALF ((unsigned __int128)1 << (TIMELINE_SHIFT - 1))

struct timeline_line {    /* from one point to the next; width 0: none */
    uint64_t from, width; /* counter units */
    uint64_t time, slope; /* of the point where it begins */
    uint64_t most;        /* the time of the next point */
};

struct timeline {
    struct timeline_point *points;
    size_t count, room;
    uint64_t rate;             /* Hz, used while only one point is known */
    uint64_t apart;            /* counter units: of points that are nearer to each other, one is kept */
    struct timeline_line near; /* the one that is tried first */
};

/* rate must not be 0. */
void timeline_init(struct timeline *timeline, uint64_t rate);
/* Adds a point, in any order. Returns 0 or -ENOMEM. */
int timeline_add(struct timeline *timeline, uint64_t counter, uint64_t time, uint64_t error);
/* To be called after the last timeline_add() and before timeline_time(). */
void timeline_finish(struct timeline *timeline);
/* Replaces all points from an index on by others, which another process has finished. They are taken only if they rise. The
 * timeline can be used then. Returns 0, -EBADMSG or -ENOMEM. */
int timeline_replace(struct timeline *timeline, size_t from, const struct timeline_point *points,
                     size_t count);
/* Makes the line of this counter the one that is tried first. */
void timeline_go_to(struct timeline *timeline, uint64_t counter);
uint64_t timeline_time_anywhere(const struct timeline *timeline, uint64_t counter);
uint64_t timeline_error(const struct timeline *timeline); /* ns */
void timeline_free(struct timeline *timeline);

static inline uint64_t timeline_on_line(uint64_t begin, uint64_t units, uint64_t slope, uint64_t most)
{
    const unsigned __int128 after = ((unsigned __int128)units * slope + TIMELINE_HALF) >> TIMELINE_SHIFT;
    if (after > UINT64_MAX - begin)
        return UINT64_MAX;
    /* Rounding must not lead beyond the beginning of the next line. */
    return begin + (uint64_t)after < most ? begin + (uint64_t)after : most;
}

/* Most calls to come are about this counter and those soon after it. */
static inline void timeline_expect(struct timeline *timeline, uint64_t counter)
{
    if (counter - timeline->near.from >= timeline->near.width)
        timeline_go_to(timeline, counter);
}

static inline uint64_t timeline_time(const struct timeline *timeline, uint64_t counter)
{
    const struct timeline_line *near = &timeline->near;
    return counter - near->from < near->width
               ? timeline_on_line(near->time, counter - near->from, near->slope, near->most)
               : timeline_time_anywhere(timeline, counter);
}

#endif
