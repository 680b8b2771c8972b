/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the objects that lived longest, and the events of their stories. A recording is read twice: first the
 * objects are found, then the events are collected. */
#ifndef SPOOR_READER_STORY_H
#define SPOOR_READER_STORY_H

#include "base/table.h"
#include "reader/objects.h"

enum { STORIES_MAX = 1000 };

struct stories {
    int16_t type;           /* the type of the objects; -1: any */
    size_t most;            /* how many are kept */
    struct object *objects; /* the longest life first */
    size_t count;
    struct table members; /* the story of each instance, in the second reading */
};

int stories_make(struct stories *stories, size_t most, int16_t type);
void stories_free(struct stories *stories);
/* Called for each event of the first reading, and then for the objects that never ended. */
void stories_see(struct stories *stories, const struct recording_event *event,
                 const struct object_step *step);
void stories_see_living(struct stories *stories, const struct objects *objects);

/* Called in the second reading: stories_visit() calls `visit` for each story to which an event belongs. Return 0 or
 * -errno. */
int stories_begin(struct stories *stories);
int stories_visit(struct stories *stories, const struct recording_event *event,
                  const struct object_step *step, int (*visit)(void *context, size_t story), void *context);

#endif
