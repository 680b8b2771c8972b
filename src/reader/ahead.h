/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a recording that is not written any more on a thread of its own, ahead of who uses its events: one thread reads
 * and merges, the other follows objects and computes, and the order of events is the same.
 *
 * From ahead_start() to ahead_stop() the recording belongs to the thread. What may be asked of it meanwhile is what does
 * not change: its model, its path and its times by a timeline of the caller's own (timeline.h). */
#ifndef SPOOR_READER_AHEAD_H
#define SPOOR_READER_AHEAD_H

#include "reader/reader.h"

struct ahead;

struct ahead_event { /* small, because it goes from one processor to another */
    uint64_t stamp, object;
    uint32_t source;
    uint16_t tracepoint; /* id */
    bool is_outside;
};

struct ahead_batch {
    const struct ahead_event *events;
    int count;
    uint64_t gap_end; /* recording_gap_end() of all sources at these events */
    /* What recording_gap_end() says of each source at these events; NULL: the same as at those before. */
    const uint64_t *gap_ends;
    size_t gap_end_count;
    uint64_t done; /* bytes that have been read */
};

/* Whether reading ahead is of use: this process may run on several processors, and the recording is large enough. */
bool ahead_pays(const struct recording *recording);
/* Returns 0 or -errno; then nothing has begun. */
int ahead_start(struct recording *recording, struct ahead **result);
/* Gives the next events, which are valid until the next call. Returns 1; 0: there are no more; or -errno. */
int ahead_next(struct ahead *ahead, struct ahead_batch *batch);
/* Fills in what is known of an event of a batch, and leaves the rest of *event as it is: its owner, size, thread and
 * arguments. */
static inline void ahead_event(const struct ahead_batch *batch, int index,
                               const struct recording_model *model, struct recording_event *event)
{
    const struct ahead_event *from = &batch->events[index];
    event->stamp = from->stamp;
    event->tracepoint = model->tracepoints[from->tracepoint];
    event->object = from->object;
    event->source = from->source;
    event->gap_end = batch->gap_end;
    event->is_outside = from->is_outside;
}
/* Ends the thread, wherever it is. */
void ahead_stop(struct ahead *ahead);

#endif
