/* SPDX-License-Identifier: BSD-3-Clause */
/* The rings of a recording as one order of time. Each format has merge_events() with its own functions in it, which the
 * compiler puts in the place of their calls: this is what every event of a recording passes. */
#ifndef SPOOR_READER_MERGE_H
#define SPOOR_READER_MERGE_H

#include "reader/format.h"

/* ---- a heap of sources, the one with the oldest next event on top ---- */

static inline void merge_down(struct recording *recording, size_t at)
{
    struct recording_source **heap = recording->heap;
    struct recording_source *moving = heap[at];
    for (size_t child; (child = at * 2 + 1) < recording->heap_count; at = child) {
        if (child + 1 < recording->heap_count && heap[child + 1]->stamp < heap[child]->stamp)
            child++;
        if (heap[child]->stamp >= moving->stamp)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

/* Makes the source with the oldest event the current one. False: no source has an event. */
static inline bool merge_choose(struct recording *recording)
{
    struct recording_source *source = recording->current;
    if (source && source->ready) {
        if (recording->heap_count && recording->heap[0]->stamp < source->stamp) {
            recording->current = recording->heap[0];
            recording->heap[0] = source;
            merge_down(recording, 0);
        }
        return true;
    }
    recording->current = recording->heap_count ? recording->heap[0] : NULL;
    if (!recording->current)
        return false;
    recording->heap[0] = recording->heap[--recording->heap_count];
    if (recording->heap_count)
        merge_down(recording, 0);
    return true;
}

/* Returns the first of the rings that a thread went through. */
static inline struct recording_source *merge_first(struct recording_source *source)
{
    enum { HOPS = 16 }; /* more than there are sizes of rings: a damaged file may lead in a circle */
    for (int i = 0; i < HOPS && source->after; i++)
        source = source->after;
    return source;
}

/* Notes a gap in front of a source's next event. What is missing before its first event is no gap: the recording
 * begins behind it. */
void merge_add_gap(struct recording *recording, struct recording_source *source);

static inline void merge_note_gap(struct recording *recording, struct recording_source *source)
{
    if (source->lost)
        merge_add_gap(recording, source);
}

/* Leaves the event that was handed out last. Its bytes stay where they are until the next one is asked for. */
static inline __attribute__((always_inline)) void
merge_leave(struct recording *recording, void (*advance)(struct recording *, struct recording_source *))
{
    if (recording->taken) {
        advance(recording, recording->current);
        merge_note_gap(recording, recording->current);
    }
    recording->taken = false;
}

/* Hands out the next events, at most `most`: no more than there are until a source must read from its file, or until a
 * gap. Returns how many.
 * take: fills an event with the source's next one, except for what is set here.
 * step: moves to the event after it, if it can be handed out together with it. */
static inline __attribute__((always_inline)) int
merge_events(struct recording *recording, struct recording_event *events, int most,
             void (*take)(struct recording *, struct recording_source *, struct recording_event *),
             bool (*step)(struct recording *, struct recording_source *),
             void (*advance)(struct recording *, struct recording_source *))
{
    struct recording_counts *counts = &recording->counts;
    int count = 0;
    merge_leave(recording, advance);
    do {
        /* What a source has is all that there is, or all that there is now. */
        if (!merge_choose(recording) || recording->current->stamp > recording->limit) {
            recording->taken = false;
            break;
        }
        struct recording_source *source = recording->current, *first = merge_first(source);
        if (source->lost) {
            if (count) { /* what is known of gaps is the same for all events that are handed out together */
                recording->taken = false;
                break;
            }
            if (first->has_begun) /* this is the first event of a ring that follows another */
                merge_add_gap(recording, source);
            else /* it was overwritten because the ring went round */
                counts->older += source->lost;
        }
        struct recording_event *event = &events[count++];
        take(recording, source, event);
        event->stamp = source->stamp;
        event->source = first->index;
        event->lost = source->lost;
        event->gap_end = recording->gap_end;
        event->is_outside = source->stamp < recording->window;
        source->has_begun = first->has_begun = true;
        recording->taken = true;
    } while (count < most && step(recording, recording->current));
    counts->is_all = !count;
    if (!count)
        return 0;
    if (!counts->events)
        counts->from = events[0].stamp;
    counts->events += (uint64_t)count;
    counts->to = events[count - 1].stamp;
    timeline_expect(&recording->timeline, counts->to);
    return count;
}

#endif
