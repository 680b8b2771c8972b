/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects that lived longest, and which events tell their story. Two readings of one recording: the first
 * finds them, the second collects. */
#ifndef SPOOR_READER_STORY_H
#define SPOOR_READER_STORY_H

#include "base/table.h"
#include "reader/objects.h"

enum { STORIES_MAX = 1000 };

struct stories {
    int16_t type;           /* only of this type; -1: of all */
    size_t most;            /* how many are kept */
    struct object *objects; /* the longest life first */
    size_t count;
    struct table members; /* instance → story, in the second reading */
};

int stories_make(struct stories *stories, size_t most, int16_t type);
void stories_free(struct stories *stories);
/* First reading: each event; then those that never ended. */
void stories_see(struct stories *stories, const struct recording_event *event,
                 const struct object_step *step);
void stories_see_living(struct stories *stories, const struct objects *objects);

/* Second reading: to which stories does the event belong? Calls `tell` for each. 0 or -errno. */
int stories_begin(struct stories *stories);
int stories_visit(struct stories *stories, const struct recording_event *event,
                  const struct object_step *step, int (*visit)(void *context, size_t story), void *context);

#endif
