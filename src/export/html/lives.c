/* SPDX-License-Identifier: BSD-3-Clause */
#include "export/html/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the longest lives of each type, the longest first. */
static int consider(struct page *page, const struct life *life)
{
    const int16_t type = life->living.type;
    struct slow **slowest = &page->slowest[type];
    size_t *count = &page->slowest_count[type];
    const uint64_t long_ = life->last - life->begun;
    if (life->number == OBJECT_UNNUMBERED || !long_)
        return 0;
    if (!*slowest && !(*slowest = calloc(PAGE_SLOWEST, sizeof **slowest)))
        return -ENOMEM;
    if (*count == PAGE_SLOWEST && long_ <= (*slowest)[*count - 1].ended - (*slowest)[*count - 1].begun)
        return 0;
    size_t at = *count < PAGE_SLOWEST ? (*count)++ : *count - 1;
    for (; at > 0 && (*slowest)[at - 1].ended - (*slowest)[at - 1].begun < long_; at--)
        (*slowest)[at] = (*slowest)[at - 1];
    (*slowest)[at] =
        (struct slow){life->serial, life->number, life->living.id, life->begun, life->last, type};
    return 0;
}

static int end_life(struct page *page, struct life *life)
{
    const int error = consider(page, life);
    track_give_lane(life->track, life->lane);
    living_remove(&page->living, &life->living);
    return error;
}

static struct life *begin_life(struct page *page, const struct object *own, uint64_t time, uint32_t owner)
{
    struct living *surplus = living_surplus(&page->living);
    if (surplus && end_life(page, (struct life *)surplus))
        return NULL;
    struct track *track = page_track(page, owner, own->type);
    struct life *life = calloc(1, sizeof *life);
    int64_t lane;
    if (!track || !life || (lane = track_take_lane(track)) < 0 ||
        living_add(&page->living, &life->living, own->type, own->id)) {
        free(life);
        return NULL;
    }
    life->serial = page->serials++;
    life->number = own->number;
    life->begun = life->last = time;
    life->track = track;
    life->lane = (size_t)lane;
    life->chunk = UINT64_MAX;
    return life;
}

/* A step of the object ends with its next event. */
static int end_step(struct page *page, const struct life *life, uint64_t time, uint32_t next)
{
    int error = sums_step(page, life, time);
    if (!error && life->last_chunk != page->chunk.number)
        error = chunk_cross(page, life, time);
    return error ? error
                 : sums_latency(page, life->living.type, (int32_t)life->last_tracepoint, (int32_t)next, time,
                                time - life->last);
}

int page_follow(struct page *page, const struct export_event *at, uint64_t time, uint32_t owner,
                struct life **result)
{
    const struct object *own = at->step->own;
    const struct recording_tracepoint *tracepoint = at->event->tracepoint;
    const int64_t index = page_tracepoint(page, tracepoint);
    *result = NULL;
    if (own->type < 0 || index < 0)
        return index < 0 ? -ENOMEM : 0;
    struct life *life = (struct life *)living_find(&page->living, own->type, own->id);
    int error = 0;
    if (life && at->step->is_first) { /* the end of the one before is not in the recording */
        if (!page->has_ends[own->type])
            error = sums_latency(page, own->type, -1, -1, life->last, life->last - life->begun);
        if (!error)
            error = end_life(page, life);
        life = NULL;
    }
    if (!error && life)
        error = end_step(page, life, time, (uint32_t)index);
    else if (!error && !(life = begin_life(page, own, time, owner)))
        error = -ENOMEM;
    if (error)
        return error;
    living_touch(&page->living, &life->living);
    life->last = time;
    life->last_tracepoint = (uint32_t)index;
    life->last_chunk = page->chunk.number;
    *result = life;
    return 0;
}

int page_followed(struct page *page, const struct export_event *at, struct life *life)
{
    if (!life || at->event->tracepoint->life != RECORDING_ENDS)
        return 0;
    const int error = life->number == OBJECT_UNNUMBERED ? 0
                                                        : sums_latency(page, life->living.type, -1, -1,
                                                                       life->last, life->last - life->begun);
    return error ? error : end_life(page, life);
}

int page_end_lives(struct page *page)
{
    int error = 0;
    while (!error && page->living.oldest) {
        struct life *life = (struct life *)page->living.oldest;
        if (page->has_ends[life->living.type] && page->last > life->last) {
            if (!(error = sums_step(page, life, page->last)))
                error = chunk_cross(page, life, page->last);
        } else if (!page->has_ends[life->living.type] && life->number != OBJECT_UNNUMBERED &&
                   life->last > life->begun) {
            error = sums_latency(page, life->living.type, -1, -1, life->last, life->last - life->begun);
        }
        if (!error)
            error = end_life(page, life);
    }
    return error;
}
