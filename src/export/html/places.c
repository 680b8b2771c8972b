/* SPDX-License-Identifier: BSD-3-Clause */
#include "export/html/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

struct thread *page_thread(struct page *page, const struct recording_event *event)
{
    struct table *table = &page->threads;
    struct thread *thread = table_get(table, &event->thread, sizeof event->thread);
    if (!thread && table->count >= PAGE_PLACES_MAX)
        thread = table->entries[0].value;
    if (!thread) {
        if (!(thread = calloc(1, sizeof *thread)) ||
            table_set(table, &event->thread, sizeof event->thread, thread)) {
            free(thread);
            return NULL;
        }
        thread->id = event->thread;
        thread->index = (uint32_t)table->count - 1;
    }
    if (!thread->name[0])
        memcpy(thread->name, event->thread_name, sizeof thread->name);
    thread->events++;
    return thread;
}

/* An id that was given to another owner later is another owner: the label says which one. */
int64_t page_owner(struct page *page, const struct recording_event *event)
{
    text_clear(&page->label);
    export_owner_label(&page->label, page->recording, event);
    if (page->label.failed)
        return -1;
    if (!page->label.length)
        return 0;
    const void *found = table_get(&page->owners, page->label.bytes, page->label.length);
    if (found)
        return (int64_t)(uintptr_t)found;
    if (page->owners.count >= PAGE_PLACES_MAX)
        return 0;
    const size_t index = page->owners.count + 1;
    return table_set(&page->owners, page->label.bytes, page->label.length, (void *)(uintptr_t)index)
               ? -1
               : (int64_t)index;
}

struct track *page_track(struct page *page, uint32_t owner, int16_t type)
{
    /* Beyond PAGE_PLACES_MAX tracks, a type's objects have one for all of their owners. */
    const uint32_t key[2] = {page->tracks.count < PAGE_PLACES_MAX ? owner : 0, (uint32_t)type};
    struct track *track = table_get(&page->tracks, key, sizeof key);
    if (track)
        return track;
    if (!(track = calloc(1, sizeof *track)) || table_set(&page->tracks, key, sizeof key, track)) {
        free(track);
        return NULL;
    }
    track->index = (uint32_t)page->tracks.count - 1;
    track->owner = key[0];
    track->type = type;
    return track;
}

int64_t page_tracepoint(struct page *page, const struct recording_tracepoint *tracepoint)
{
    uint32_t *index = &page->tracepoint_indexes[tracepoint->id & 0xffff];
    if (!*index) {
        if (!vector_make_room(page->tracepoints, page->tracepoint_count, page->tracepoint_room))
            return -1;
        page->tracepoints[page->tracepoint_count++] = tracepoint;
        *index = (uint32_t)page->tracepoint_count;
    }
    return *index - 1;
}

/* ---- lanes ---- */

int64_t track_take_lane(struct track *track)
{
    while (track->free_word < track->words && track->lanes[track->free_word] == UINT64_MAX)
        track->free_word++;
    if (track->free_word == track->words) {
        const size_t words = track->words ? track->words * 2 : 1;
        uint64_t *lanes = realloc(track->lanes, words * sizeof *lanes);
        if (!lanes)
            return -1;
        memset(lanes + track->words, 0, (words - track->words) * sizeof *lanes);
        track->lanes = lanes;
        track->words = words;
    }
    uint64_t *word = &track->lanes[track->free_word];
    const unsigned bit = (unsigned)__builtin_ctzll(~*word);
    *word |= 1ull << bit;
    const size_t lane = track->free_word * 64 + bit;
    if (lane >= track->lane_count)
        track->lane_count = lane + 1;
    return (int64_t)lane;
}

void track_give_lane(struct track *track, size_t lane)
{
    track->lanes[lane / 64] &= ~(1ull << lane % 64);
    if (lane / 64 < track->free_word)
        track->free_word = lane / 64;
}

void page_places_free(struct page *page)
{
    for (size_t i = 0; i < page->threads.count; i++) {
        struct thread *thread = page->threads.entries[i].value;
        free(thread->counts);
        free(thread);
    }
    for (size_t i = 0; i < page->tracks.count; i++) {
        struct track *track = page->tracks.entries[i].value;
        free(track->lanes);
        free(track);
    }
    table_free(&page->threads);
    table_free(&page->owners);
    table_free(&page->tracks);
    free(page->tracepoints);
    text_free(&page->label);
}
