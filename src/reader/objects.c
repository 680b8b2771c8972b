/* SPDX-License-Identifier: BSD-3-Clause */
/* Two hash tables with open addressing, the young and the old. An object that is met moves to the young one. When
 * that is full it becomes the old one, and the old one is forgotten. Before it grows that far, objects that have
 * ended move to the old one, and those that were there are forgotten. */
#include "reader/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    YOUNG_MAX = 1 << 18,
    FIRST_SLOTS = 1 << 10,
    SORTED_SLOTS = 1 << 15, /* from this size on, objects that have ended are removed first */
};

struct generation {
    struct object *slots; /* type -1: free */
    size_t slot_count;    /* a power of two */
    size_t count;
};

struct objects {
    const struct recording *recording;
    /* What recording_gap_end() says of each source, where another thread reads the recording. */
    bool is_apart;
    uint64_t *gap_ends;
    size_t gap_end_count;
    struct generation young, old;
    uint64_t numbers[256]; /* the next number of each type */
    bool travels[256];     /* instances of this type have been seen to go from ring to ring */
};

static int generation_make(struct generation *generation, size_t slot_count)
{
    generation->slots = malloc(slot_count * sizeof *generation->slots);
    generation->slot_count = slot_count;
    generation->count = 0;
    for (size_t i = 0; generation->slots && i < slot_count; i++)
        generation->slots[i].type = -1;
    return generation->slots ? 0 : -ENOMEM;
}

/* Returns the slot of an instance, or the free one where it would be; NULL: there is no table. */
static inline struct object *find(const struct generation *generation, int16_t type, uint64_t id)
{
    if (!generation->slots)
        return NULL;
    uint64_t hash = (id ^ (uint64_t)type << 56) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    for (size_t at = hash & (generation->slot_count - 1);; at = (at + 1) & (generation->slot_count - 1)) {
        struct object *slot = &generation->slots[at];
        if (slot->type < 0 || (slot->id == id && slot->type == type))
            return slot;
    }
}

static void put(struct generation *generation, const struct object *object)
{
    struct object *slot = find(generation, object->type, object->id);
    generation->count += slot->type < 0;
    *slot = *object;
}

static size_t count_ended(const struct generation *generation)
{
    size_t count = 0;
    for (size_t i = 0; i < generation->slot_count; i++)
        count += generation->slots[i].type >= 0 && generation->slots[i].has_ended;
    return count;
}

/* Returns how many slots a table for `count` objects has: at least twice as many, and never so few that it would
 * have to grow again at once. */
static size_t slots_for(size_t count)
{
    size_t slots = SORTED_SLOTS;
    while (slots < count * 2)
        slots *= 2;
    return slots;
}

/* Makes all objects that have not ended, young or old, the young ones, and the young ones that have ended the old
 * ones. */
static int sort_ended(struct objects *objects, size_t living_most, size_t ended)
{
    struct generation *young = &objects->young, *old = &objects->old, living, gone;
    if (generation_make(&living, slots_for(living_most * 2)))
        return -ENOMEM;
    if (generation_make(&gone, slots_for(ended))) {
        free(living.slots);
        return -ENOMEM;
    }
    for (size_t i = 0; i < old->slot_count; i++)
        if (old->slots[i].type >= 0 && !old->slots[i].has_ended &&
            find(young, old->slots[i].type, old->slots[i].id)->type < 0)
            put(&living, &old->slots[i]);
    for (size_t i = 0; i < young->slot_count; i++)
        if (young->slots[i].type >= 0)
            put(young->slots[i].has_ended ? &gone : &living, &young->slots[i]);
    free(young->slots);
    free(old->slots);
    *young = living;
    *old = gone;
    return 0;
}

static int make_room(struct objects *objects)
{
    struct generation *young = &objects->young;
    if (young->count + 1 <= young->slot_count / 2)
        return 0;
    struct generation next;
    if (young->slot_count >= SORTED_SLOTS) {
        size_t ended = count_ended(young);
        size_t living_most = young->count - ended + objects->old.count - count_ended(&objects->old);
        if (ended >= young->count / 2 && living_most <= YOUNG_MAX / 2)
            return sort_ended(objects, living_most, ended);
    }
    if (young->count >= YOUNG_MAX) {
        if (generation_make(&next, FIRST_SLOTS))
            return -ENOMEM;
        free(objects->old.slots);
        objects->old = *young;
        *young = next;
        return 0;
    }
    if (generation_make(&next, young->slot_count * 2))
        return -ENOMEM;
    for (size_t i = 0; i < young->slot_count; i++)
        if (young->slots[i].type >= 0)
            put(&next, &young->slots[i]);
    free(young->slots);
    *young = next;
    return 0;
}

static uint64_t gap_end_of(const struct objects *objects, uint32_t source)
{
    if (!objects->is_apart)
        return recording_gap_end(objects->recording, source);
    return source < objects->gap_end_count ? objects->gap_ends[source] : 0;
}

/* Whether a gap, of which the newest ends at gap_end, has made it unknown what became of an instance, for an event of
 * this ring. */
static inline bool is_in_doubt(const struct objects *objects, const struct object *object, uint32_t source,
                               uint64_t gap_end)
{
    return gap_end > object->last &&
           (objects->travels[object->type] || gap_end_of(objects, source) > object->last ||
            gap_end_of(objects, object->source) > object->last);
}

static struct object unknown_object(int16_t type, uint64_t id)
{
    return (struct object){
        .id = id, .number = OBJECT_UNNUMBERED, .parent = OBJECT_UNNUMBERED, .type = type, .parent_type = -1};
}

/* Makes an instance that is not among the young ones young: one of the old, or a new one with the number
 * OBJECT_UNNUMBERED. NULL: memory ran out. */
static struct object *make_young(struct objects *objects, int16_t type, uint64_t id, bool *is_new)
{
    if (make_room(objects))
        return NULL;
    struct object *young = find(&objects->young, type, id);
    const struct object *old = find(&objects->old, type, id);
    *is_new = !old || old->type < 0;
    *young = *is_new ? unknown_object(type, id) : *old;
    objects->young.count++;
    return young;
}

/* Returns the instance that an event is about, which is young from now on; if it is not known, a new one with the number
 * OBJECT_UNNUMBERED. */
static inline struct object *meet(struct objects *objects, const struct recording_event *event, bool *is_new)
{
    const int16_t type = event->tracepoint->object;
    struct object *young = find(&objects->young, type, event->object);
    *is_new = false;
    if (young->type < 0 && !(young = make_young(objects, type, event->object, is_new)))
        return NULL;
    if (!*is_new && is_in_doubt(objects, young, event->source, event->gap_end)) {
        *young = unknown_object(type, event->object);
        *is_new = true;
    }
    return young;
}

static const struct object *look(const struct objects *objects, int16_t type, uint64_t id,
                                 const struct recording_event *event)
{
    const struct object *found = find(&objects->young, type, id);
    if (found->type < 0)
        found = find(&objects->old, type, id);
    return found && found->type >= 0 && !is_in_doubt(objects, found, event->source, event->gap_end) ? found
                                                                                                    : NULL;
}

struct objects *objects_make(const struct recording *recording)
{
    struct objects *objects = calloc(1, sizeof *objects);
    if (objects && generation_make(&objects->young, FIRST_SLOTS)) {
        free(objects);
        return NULL;
    }
    if (objects)
        objects->recording = recording;
    return objects;
}

void objects_free(struct objects *objects)
{
    if (!objects)
        return;
    free(objects->young.slots);
    free(objects->old.slots);
    free(objects->gap_ends);
    free(objects);
}

void objects_set_apart(struct objects *objects, bool is_apart)
{
    objects->is_apart = is_apart;
}

int objects_set_gap_ends(struct objects *objects, const uint64_t *gap_ends, size_t count)
{
    uint64_t *own = realloc(objects->gap_ends, (count + 1) * sizeof *own);
    if (!own)
        return -ENOMEM;
    memcpy(own, gap_ends, count * sizeof *own);
    objects->gap_ends = own;
    objects->gap_end_count = count;
    return 0;
}

static void follow_relations(const struct objects *objects, const struct recording_event *event,
                             struct object_step *step)
{
    const struct recording_tracepoint *tracepoint = event->tracepoint;
    for (unsigned i = 0; i < tracepoint->relation_count; i++) {
        const struct recording_relation *relation = &tracepoint->relations[i];
        const uint64_t id = event->words[relation->argument];
        const struct object *object = look(objects, relation->object, id, event);
        if (!object) /* an argument may be related to several types, of which only one has the object */
            continue;
        step->related[step->related_count].type = relation->object;
        step->related[step->related_count].number = object->number;
        step->related[step->related_count++].id = id;
    }
}

int objects_follow(struct objects *objects, const struct recording_event *event, struct object_step *step)
{
    static const struct object none = {.type = -1};
    const struct recording_tracepoint *tracepoint = event->tracepoint;
    step->own = &none;
    step->ended.type = -1;
    step->related_count = 0;
    step->before = 0;
    step->begins = step->is_first = false;
    if (tracepoint->relation_count && !objects->is_apart)
        follow_relations(objects, event, step);
    if (tracepoint->object < 0)
        return 0;
    struct object *object = meet(objects, event, &step->is_first);
    if (!object)
        return -ENOMEM;
    if (tracepoint->life == RECORDING_BEGINS) {
        if (!step->is_first && !object->has_ended)
            step->ended = *object;
        *object = (struct object){
            .id = event->object,
            .number = objects->numbers[tracepoint->object]++,
            .begun = event->stamp,
            .parent = OBJECT_UNNUMBERED,
            .type = tracepoint->object,
            .parent_type = -1,
        };
        step->begins = step->is_first = true;
    } else if (step->is_first) {
        object->begun = event->stamp;
    } else {
        objects->travels[tracepoint->object] |= object->source != event->source;
        step->before = object->last;
        step->before_tracepoint = object->last_tracepoint;
    }
    object->last = event->stamp;
    object->source = event->source;
    object->last_tracepoint = (uint16_t)tracepoint->id;
    if (tracepoint->life == RECORDING_ENDS)
        object->has_ended = true;
    for (unsigned i = 0; i < step->related_count && object->parent_type < 0; i++) {
        object->parent_type = step->related[i].type;
        object->parent = step->related[i].number;
    }
    step->own = object;
    return 0;
}

void objects_each(const struct objects *objects, void (*see)(void *context, const struct object *object),
                  void *context)
{
    const uint64_t gap_end = recording_gap_end(objects->recording, RECORDING_ALL_SOURCES);
    const struct generation *const generations[] = {&objects->young, &objects->old};
    for (int i = 0; i < 2; i++)
        for (size_t j = 0; generations[i]->slots && j < generations[i]->slot_count; j++) {
            const struct object *object = &generations[i]->slots[j];
            if (object->type >= 0 && !object->has_ended &&
                !is_in_doubt(objects, object, object->source, gap_end) &&
                (i == 0 || find(&objects->young, object->type, object->id)->type < 0))
                see(context, object);
        }
}

size_t objects_bytes(const struct objects *objects)
{
    return sizeof *objects + (objects->young.slot_count + objects->old.slot_count) * sizeof(struct object);
}
