/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "base/vector.h"

enum { POINTS_MAX = 65536 };

void timeline_init(struct timeline *timeline, uint64_t rate)
{
    *timeline = (struct timeline){.rate = rate, .apart = rate / 10 ? rate / 10 : 1};
}

void timeline_free(struct timeline *timeline)
{
    free(timeline->points);
    timeline->points = NULL;
    timeline->count = timeline->room = 0;
}

static int by_counter(const void *one, const void *other)
{
    const struct timeline_point *a = one, *b = other;
    if (a->counter != b->counter)
        return a->counter < b->counter ? -1 : 1;
    return a->error < b->error ? -1 : a->error > b->error;
}

/* Sorts the points and drops those that are too near to the one before or do not rise. The first one stays, since
 * the recording begins there. Of a young recording more are kept, because the only other knowledge is a rate that
 * was measured in half a millisecond. */
static void thin(struct timeline *timeline)
{
    enum { YOUNG = 8 };
    size_t kept = 0;
    if (timeline->count)
        qsort(timeline->points, timeline->count, sizeof *timeline->points, by_counter);
    for (size_t i = 0; i < timeline->count; i++) {
        const struct timeline_point *point = &timeline->points[i];
        const uint64_t near = kept < YOUNG ? timeline->apart / YOUNG : timeline->apart,
                       apart = near ? near : 1;
        if (kept > 0 && (point->counter - timeline->points[kept - 1].counter < apart ||
                         point->time <= timeline->points[kept - 1].time))
            continue;
        timeline->points[kept++] = *point;
    }
    timeline->count = kept;
}

int timeline_add(struct timeline *timeline, uint64_t counter, uint64_t time, uint64_t error)
{
    /* Blocks of a thread repeat its newest triple. */
    if (timeline->count && timeline->points[timeline->count - 1].counter == counter)
        return 0;
    if (timeline->count == POINTS_MAX) {
        thin(timeline);
        while (timeline->count > POINTS_MAX / 2) {
            timeline->apart = timeline->apart > UINT64_MAX / 4 ? UINT64_MAX / 2 : timeline->apart * 2;
            thin(timeline);
        }
    }
    if (!vector_make_room(timeline->points, timeline->count, timeline->room))
        return -ENOMEM;
    timeline->points[timeline->count++] = (struct timeline_point){counter, time, error, 0};
    return 0;
}

static uint64_t slope(uint64_t nanoseconds, uint64_t units)
{
    const unsigned __int128 value = (((unsigned __int128)nanoseconds << TIMELINE_SHIFT) + units / 2) / units;
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

void timeline_finish(struct timeline *timeline)
{
    thin(timeline);
    timeline->near = (struct timeline_line){0};
    for (size_t i = 0; i < timeline->count; i++) {
        struct timeline_point *point = &timeline->points[i];
        if (i + 1 < timeline->count)
            point->slope = slope(point[1].time - point->time, point[1].counter - point->counter);
        else /* the last line goes on as the one before */
            point->slope = i > 0 ? point[-1].slope : slope(NSEC_PER_SEC, timeline->rate);
    }
}

int timeline_replace(struct timeline *timeline, size_t from, const struct timeline_point *points,
                     size_t count)
{
    if (from > timeline->count || count > POINTS_MAX - from)
        return -EBADMSG;
    timeline->count = from;
    timeline->near = (struct timeline_line){0};
    for (size_t i = 0; i < count; i++) {
        const struct timeline_point *last =
            timeline->count ? &timeline->points[timeline->count - 1] : &(struct timeline_point){0};
        if (timeline->count && (points[i].counter <= last->counter || points[i].time <= last->time))
            return -EBADMSG;
        if (!vector_make_room(timeline->points, timeline->count, timeline->room))
            return -ENOMEM;
        timeline->points[timeline->count++] = points[i];
    }
    return 0;
}

/* Returns the index of the line on which the counter is; before the first line, that one. */
static size_t line_of(const struct timeline *timeline, uint64_t counter)
{
    const size_t behind = partition_point(timeline->count, i, timeline->points[i].counter <= counter);
    return behind ? behind - 1 : 0;
}

void timeline_go_to(struct timeline *timeline, uint64_t counter)
{
    if (!timeline->count)
        return;
    const size_t line = line_of(timeline, counter);
    const struct timeline_point *point = &timeline->points[line];
    const bool is_last = line + 1 == timeline->count;
    timeline->near = (struct timeline_line){
        .from = point->counter,
        .width = is_last ? UINT64_MAX - point->counter : point[1].counter - point->counter,
        .time = point->time,
        .slope = point->slope,
        .most = is_last ? UINT64_MAX : point[1].time,
    };
}

uint64_t timeline_time_anywhere(const struct timeline *timeline, uint64_t counter)
{
    if (!timeline->count)
        return 0;
    const size_t low = line_of(timeline, counter);
    const struct timeline_point *point = &timeline->points[low];
    if (counter < point->counter) {
        const unsigned __int128 before =
            ((unsigned __int128)(point->counter - counter) * point->slope + TIMELINE_HALF) >> TIMELINE_SHIFT;
        return before > point->time ? 0 : point->time - (uint64_t)before;
    }
    return timeline_on_line(point->time, counter - point->counter, point->slope,
                            low + 1 < timeline->count ? point[1].time : UINT64_MAX);
}

uint64_t timeline_error(const struct timeline *timeline)
{
    uint64_t most = 0;
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->points[i].error > most)
            most = timeline->points[i].error;
    const unsigned __int128 error = (unsigned __int128)most * NSEC_PER_SEC / timeline->rate + 1;
    return error > UINT64_MAX ? UINT64_MAX : (uint64_t)error;
}
