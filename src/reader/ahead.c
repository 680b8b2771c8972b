/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of slots, each with many events. The thread fills one while the other side reads another; who must wait waits
 * for several slots, so that two threads of unequal speed do not wake each other for each of them. */
#include "reader/ahead.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "reader/format.h"

enum { SLOTS = 8, SLOT_EVENTS = 2048, FEW = 64, LARGE = 8 << 20 };

struct slot {
    struct ahead_event events[SLOT_EVENTS];
    int count;
    uint64_t gap_end;
    uint64_t *gap_ends; /* memory that the slot keeps */
    size_t gap_end_count;
    bool has_gap_ends;
    uint64_t done;
};

struct ahead {
    struct recording *recording;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t room, ready;
    /* Under the lock: */
    unsigned used; /* slots that are filled, with the one that is being read */
    bool has_ended, is_stopped;
    int error;
    /* The thread's: */
    unsigned write;
    uint64_t gaps; /* recording.gaps as it was last told */
    /* The other side's: */
    unsigned read;
    bool is_reading;
    struct slot slots[SLOTS];
};

bool ahead_pays(const struct recording *recording)
{
    cpu_set_t processors;
    return !recording->follower && recording->counts.total >= LARGE &&
           !sched_getaffinity(0, sizeof processors, &processors) && CPU_COUNT(&processors) > 1;
}

/* ---- the thread ---- */

/* Waits for an empty slot. NULL: no more are wanted. */
static struct slot *take_slot(struct ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    if (ahead->used == SLOTS)
        while (ahead->used > SLOTS / 2 && !ahead->is_stopped)
            pthread_cond_wait(&ahead->room, &ahead->lock);
    const bool is_stopped = ahead->is_stopped;
    pthread_mutex_unlock(&ahead->lock);
    if (is_stopped)
        return NULL;
    struct slot *slot = &ahead->slots[ahead->write];
    slot->count = 0;
    slot->has_gap_ends = false;
    return slot;
}

static void give_slot(struct ahead *ahead, struct slot *slot)
{
    slot->done = ahead->recording->counts.done;
    ahead->write = (ahead->write + 1) % SLOTS;
    pthread_mutex_lock(&ahead->lock);
    ahead->used++;
    pthread_cond_signal(&ahead->ready);
    pthread_mutex_unlock(&ahead->lock);
}

static int note_gaps(struct ahead *ahead, struct slot *slot)
{
    const struct recording *recording = ahead->recording;
    uint64_t *ends = realloc(slot->gap_ends, (recording->source_count + 1) * sizeof *ends);
    if (!ends)
        return -ENOMEM;
    for (size_t i = 0; i < recording->source_count; i++)
        ends[i] = recording->sources[i]->gap_end;
    slot->gap_ends = ends;
    slot->gap_end_count = recording->source_count;
    slot->has_gap_ends = true;
    ahead->gaps = recording->gaps;
    return 0;
}

static void add_events(struct slot *slot, const struct recording_event *events, int count)
{
    for (int i = 0; i < count; i++)
        slot->events[slot->count++] = (struct ahead_event){
            .stamp = events[i].stamp,
            .object = events[i].object,
            .source = events[i].source,
            .tracepoint = (uint16_t)events[i].tracepoint->id,
            .is_outside = events[i].is_outside,
        };
}

/* Fills slots until there are no more events, or none are wanted. A slot with new gaps begins with the first event
 * behind them. */
static int fill(struct ahead *ahead)
{
    struct recording_event events[FEW];
    struct slot *slot = take_slot(ahead);
    while (slot) {
        const int got = recording_next_few(ahead->recording, events, FEW);
        const bool has_gaps = ahead->recording->gaps != ahead->gaps;
        if ((has_gaps && slot->count) || slot->count > SLOT_EVENTS - FEW) {
            give_slot(ahead, slot);
            if (!(slot = take_slot(ahead)))
                return 0;
        }
        if (has_gaps && note_gaps(ahead, slot))
            return -ENOMEM;
        slot->gap_end = ahead->recording->gap_end;
        add_events(slot, events, got);
        if (got <= 0) {
            give_slot(ahead, slot);
            return got;
        }
    }
    return 0;
}

static void *run(void *state)
{
    struct ahead *ahead = state;
    const int error = fill(ahead);
    pthread_mutex_lock(&ahead->lock);
    ahead->error = error;
    ahead->has_ended = true;
    pthread_cond_signal(&ahead->ready);
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

/* ---- the other side ---- */

static void free_all(struct ahead *ahead)
{
    for (int i = 0; i < SLOTS; i++)
        free(ahead->slots[i].gap_ends);
    pthread_cond_destroy(&ahead->room);
    pthread_cond_destroy(&ahead->ready);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

int ahead_start(struct recording *recording, struct ahead **result)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return -ENOMEM;
    ahead->recording = recording;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->room, NULL);
    pthread_cond_init(&ahead->ready, NULL);
    const int error = thread_start(&ahead->thread, run, ahead);
    if (error) {
        free_all(ahead);
        return error;
    }
    *result = ahead;
    return 0;
}

int ahead_next(struct ahead *ahead, struct ahead_batch *batch)
{
    pthread_mutex_lock(&ahead->lock);
    if (ahead->is_reading) {
        ahead->read = (ahead->read + 1) % SLOTS;
        if (--ahead->used <= SLOTS / 2)
            pthread_cond_signal(&ahead->room);
    }
    while (!ahead->used && !ahead->has_ended)
        pthread_cond_wait(&ahead->ready, &ahead->lock);
    ahead->is_reading = ahead->used;
    const int got = ahead->used ? 1 : ahead->error;
    pthread_mutex_unlock(&ahead->lock);
    const struct slot *slot = &ahead->slots[ahead->read];
    *batch = (struct ahead_batch){
        .events = slot->events,
        .count = got == 1 ? slot->count : 0,
        .gap_end = slot->gap_end,
        .gap_ends = slot->has_gap_ends ? slot->gap_ends : NULL,
        .gap_end_count = slot->gap_end_count,
        .done = slot->done,
    };
    return got;
}

void ahead_stop(struct ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->is_stopped = true;
    pthread_cond_signal(&ahead->room);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    free_all(ahead);
}
