/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "base/sorted.h"
#include "base/vector.h"
#include "reader/event_wire.h"
#include "reader/recording_wire.h"

enum { NAME_MAX_SENT = 4096 }; /* a longer one is cut: many may be the same bytes of a small file */

static void put_name(struct text *out, const char *name)
{
    char cut[NAME_MAX_SENT + 1];
    const size_t length = strnlen(name, NAME_MAX_SENT);
    memcpy(cut, name, length);
    cut[length] = 0;
    wire_put_text(out, cut);
}

/* ---- what it declares ---- */

struct enumerations { /* in ascending order */
    const struct recording_enumeration **items;
    size_t count, room;
};

static int by_address(const void *one, const void *other)
{
    const uintptr_t a = (uintptr_t) * (void *const *)one, b = (uintptr_t) * (void *const *)other;
    return a < b ? -1 : a > b;
}

/* Finds all enumerations, each once. */
static void find_enumerations(struct text *out, const struct recording_model *model, struct enumerations *all)
{
    for (size_t id = 0; id < model->tracepoint_room; id++) {
        const struct recording_tracepoint *tracepoint = model->tracepoints[id];
        for (unsigned i = 0; tracepoint && i < tracepoint->argument_count; i++) {
            if (!tracepoint->arguments[i].enumeration)
                continue;
            if (!vector_make_room(all->items, all->count, all->room)) {
                out->failed = true;
                return;
            }
            all->items[all->count++] = tracepoint->arguments[i].enumeration;
        }
    }
    size_t kept = 0;
    if (all->count)
        qsort(all->items, all->count, sizeof *all->items, by_address);
    for (size_t i = 0; i < all->count; i++)
        if (!i || all->items[i] != all->items[i - 1])
            all->items[kept++] = all->items[i];
    all->count = kept;
}

static void put_types(struct text *out, const struct recording_type *types, size_t count)
{
    wire_put(out, count);
    for (size_t i = 0; i < count; i++) {
        wire_put(out, types[i].id);
        wire_put(out, (uint8_t)types[i].letter);
        put_name(out, types[i].name);
    }
}

static void put_tracepoint(struct text *out, const struct recording_model *model,
                           const struct enumerations *enumerations,
                           const struct recording_tracepoint *tracepoint)
{
    size_t group = 0;
    while (group < model->group_count && model->groups[group].id != tracepoint->group->id)
        group++;
    wire_put(out, tracepoint->id);
    put_name(out, tracepoint->name);
    wire_put(out, group < model->group_count && tracepoint->group->name[0] ? group + 1 : 0);
    wire_put(out, tracepoint->index);
    wire_put(out, (uint64_t)(tracepoint->object + 1));
    wire_put(out, (uint64_t)(tracepoint->owner + 1));
    wire_put(out, tracepoint->life);
    wire_put(out, tracepoint->argument_count);
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        const struct recording_argument *argument = &tracepoint->arguments[i];
        const struct recording_enumeration *named = argument->enumeration;
        put_name(out, argument->name);
        put_name(out, argument->type);
        wire_put(out, argument->kind);
        wire_put(out, argument->size);
        wire_put(out, named ? partition_point(enumerations->count, k, enumerations->items[k] <= named)
                            : (size_t)0);
    }
    wire_put(out, tracepoint->relation_count);
    for (unsigned i = 0; i < tracepoint->relation_count; i++) {
        wire_put(out, tracepoint->relations[i].argument);
        wire_put(out, tracepoint->relations[i].object);
    }
}

static void put_model(struct text *out, const struct recording *recording)
{
    const struct recording_model *model = &recording->model;
    struct enumerations enumerations = {0};
    size_t count = 0;
    find_enumerations(out, model, &enumerations);
    put_name(out, model->name);
    put_name(out, model->command);
    put_name(out, model->host);
    wire_put(out, model->pid);
    wire_put(out, model->group_count);
    for (size_t i = 0; i < model->group_count; i++) {
        wire_put(out, model->groups[i].id);
        put_name(out, model->groups[i].name);
        put_name(out, model->groups[i].text);
    }
    put_types(out, model->objects, model->object_count);
    put_types(out, model->owners, model->owner_count);
    wire_put(out, enumerations.count);
    for (size_t i = 0; i < enumerations.count; i++) {
        wire_put(out, enumerations.items[i]->id);
        wire_put(out, enumerations.items[i]->count);
        for (size_t k = 0; k < enumerations.items[i]->count; k++) {
            wire_put(out, (uint64_t)enumerations.items[i]->values[k].value);
            put_name(out, enumerations.items[i]->values[k].name);
        }
    }
    for (size_t id = 0; id < model->tracepoint_room; id++)
        count += model->tracepoints[id] != NULL;
    wire_put(out, count);
    for (size_t id = 0; id < model->tracepoint_room; id++)
        if (model->tracepoints[id])
            put_tracepoint(out, model, &enumerations, model->tracepoints[id]);
    free(enumerations.items);
}

/* ---- what is known now ---- */

/* Puts the table of owners, if it is not the one that was sent last. */
static void put_owners(struct text *out, const struct recording *recording, struct recording_sent *sent)
{
    struct text now = {0};
    wire_put(&now, recording->owner_count);
    for (size_t i = 0; i < recording->owner_count; i++) {
        const struct recording_owner_entry *owner = &recording->owners[i];
        wire_put(&now, owner->since);
        wire_put(&now, owner->until);
        wire_put(&now, owner->id);
        wire_put(&now, (uint64_t)(owner->type + 1));
        put_name(&now, owner->description);
    }
    const bool has_changed =
        now.length != sent->owners.length || memcmp(now.bytes, sent->owners.bytes, now.length) != 0;
    wire_put(out, has_changed);
    if (has_changed)
        text_append(out, now.bytes, now.length);
    out->failed |= now.failed;
    text_free(&sent->owners);
    sent->owners = now;
}

/* Puts the points of the timeline from the first one that is another than was sent last. */
static void put_timeline(struct text *out, const struct recording *recording, struct recording_sent *sent)
{
    const struct timeline *timeline = &recording->timeline;
    size_t same = 0;
    while (same < timeline->count && same < sent->point_count &&
           !memcmp(&timeline->points[same], &sent->points[same], sizeof *sent->points))
        same++;
    while (sent->point_room < timeline->count)
        if (!vector_make_room(sent->points, sent->point_room, sent->point_room)) {
            out->failed = true;
            return;
        }
    const size_t bytes = (timeline->count - same) * sizeof *timeline->points;
    if (bytes)
        memcpy(sent->points + same, timeline->points + same, bytes);
    sent->point_count = timeline->count;
    wire_put(out, timeline->rate);
    wire_put(out, same);
    wire_put_bytes(out, bytes ? sent->points + same : sent->points, bytes);
}

void recording_put_state(struct text *out, const struct recording *recording, struct recording_sent *sent)
{
    const bool has_model = !sent->has_begun || sent->model_changes != recording->model_changes;
    if (!sent->has_begun)
        wire_put(out, recording_is_spdk(recording));
    wire_put(out, has_model);
    if (has_model)
        put_model(out, recording);
    sent->has_begun = true;
    sent->model_changes = recording->model_changes;
    put_owners(out, recording, sent);
    put_timeline(out, recording, sent);
    wire_put(out, recording->live);
    wire_put_text(out, recording->unrelated);
    for (size_t i = 0; i < sizeof recording_numbers / sizeof *recording_numbers; i++)
        wire_put(out, *(const uint64_t *)((const char *)recording + recording_numbers[i]));
}

void recording_put_counts(struct text *out, const struct recording *recording)
{
    const struct recording_counts counts = recording_counts(recording);
    for (size_t i = 0; i < sizeof recording_counted / sizeof *recording_counted; i++)
        wire_put(out, *(const uint64_t *)((const char *)&counts + recording_counted[i]));
    wire_put(out, counts.is_all);
    wire_put(out, counts.sources);
    wire_put(out, (uint64_t)counts.read_error);
}

void recording_sent_free(struct recording_sent *sent)
{
    text_free(&sent->owners);
    free(sent->points);
}

/* ---- events ---- */

/* Puts a text behind the event that begins at `begin`, and returns the word that says where it is. Both lengths of a
 * word have 16 bits; what does not fit is cut, as texts are that were too long for a record. */
static uint64_t put_text(struct text *out, size_t begin, const struct recording_event *event,
                         unsigned argument)
{
    const struct recording_text text = recording_string(event, argument);
    const size_t offset = out->length - begin;
    const size_t room = offset < EVENT_BYTES_MAX ? EVENT_BYTES_MAX - offset : 0;
    const size_t length = text.length < room ? text.length : room;
    if (text.is_null || !room)
        return 0;
    text_append(out, text.bytes, length);
    return event->words[argument] >> 32 << 32 | (uint64_t)offset << 16 | length;
}

static void put_event(struct text *out, const struct recording_event *event)
{
    const unsigned count = event->tracepoint->argument_count;
    const size_t begin = out->length;
    uint64_t words[RECORDING_ARGUMENTS_MAX];
    struct event_head head = {
        .stamp = event->stamp,
        .object = event->object,
        .lost = event->lost,
        .owner = event->owner,
        .size = event->size,
        .thread = event->thread,
        .source = event->source,
        .tracepoint = (uint16_t)event->tracepoint->id,
        .is_outside = event->is_outside,
    };
    memcpy(head.thread_name, event->thread_name, sizeof head.thread_name);
    memcpy(words, event->words, count * sizeof *words);
    text_append(out, (const char *)&head, sizeof head);
    text_append(out, (const char *)words, count * sizeof *words);
    for (unsigned strings = event->tracepoint->strings; strings; strings &= strings - 1) {
        const unsigned argument = (unsigned)__builtin_ctz(strings);
        words[argument] = put_text(out, begin, event, argument);
    }
    text_fill(out, '\0', -out->length % 8);
    if (out->failed)
        return;
    head.bytes = (uint32_t)(out->length - begin);
    memcpy(out->bytes + begin, &head, sizeof head);
    memcpy(out->bytes + begin + sizeof head, words, count * sizeof *words);
}

void recording_put_events(struct text *out, const struct recording *recording,
                          const struct recording_event *events, size_t count, struct recording_sent *sent)
{
    const bool has_gaps = recording->gaps != sent->gaps;
    wire_put(out, count);
    wire_put(out, recording->source_count);
    wire_put(out, recording->gap_end);
    wire_put(out, has_gaps);
    for (size_t i = 0; has_gaps && i < recording->source_count; i++)
        wire_put(out, recording->sources[i]->gap_end);
    sent->gaps = recording->gaps;
    for (size_t i = 0; i < count; i++)
        put_event(out, &events[i]);
}
