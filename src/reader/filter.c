/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/number.h"
#include "base/vector.h"

int filter_add(struct filter *filter, enum filter_kind kind, char *values)
{
    for (char *rest, *value = strtok_r(values, ",", &rest); value; value = strtok_r(NULL, ",", &rest)) {
        if (!vector_make_room(filter->kinds[kind].values, filter->kinds[kind].count,
                              filter->kinds[kind].room))
            return -ENOMEM;
        filter->kinds[kind].values[filter->kinds[kind].count++] = value;
    }
    return 0;
}

void filter_free(struct filter *filter)
{
    for (int i = 0; i < FILTER_KINDS; i++)
        free(filter->kinds[i].values);
    free(filter->tracepoints);
    *filter = (struct filter){0};
}

bool filter_names_number(const char *value, uint64_t number)
{
    uint64_t wanted;
    return number_parse(value, &wanted) && wanted == number;
}

static bool thread_passes(const char *value, const struct recording_event *event)
{
    return filter_names_number(value, event->thread) ||
           (event->thread_name[0] && glob_match(value, event->thread_name));
}

bool filter_names_tracepoint(const char *value, const struct recording_tracepoint *tracepoint)
{
    const char *colon = strchr(value, ':');
    char group[256];
    if (!colon)
        return glob_match(value, tracepoint->name);
    snprintf(group, sizeof group, "%.*s", (int)(colon - value < 255 ? colon - value : 255), value);
    return glob_match(group, tracepoint->group->name) && glob_match(colon + 1, tracepoint->name);
}

bool filter_passes_tracepoint(const struct filter *filter, const struct recording_tracepoint *tracepoint)
{
    bool group = !filter->kinds[FILTER_GROUP].count, name = !filter->kinds[FILTER_TRACEPOINT].count;
    for (size_t i = 0; i < filter->kinds[FILTER_GROUP].count && !group; i++)
        group = glob_match(filter->kinds[FILTER_GROUP].values[i], tracepoint->group->name);
    for (size_t i = 0; i < filter->kinds[FILTER_TRACEPOINT].count && !name; i++)
        name = filter_names_tracepoint(filter->kinds[FILTER_TRACEPOINT].values[i], tracepoint);
    return group && name;
}

static bool owner_passes(const char *value, const struct recording *recording,
                         const struct recording_event *event)
{
    struct recording_owner owner;
    const bool is_known = recording_owner(recording, event, &owner);
    const struct recording_model *model = recording_model(recording);
    char letter = event->tracepoint->owner >= 0 ? model->owners[event->tracepoint->owner].letter : 0;
    if (is_known && owner.letter)
        letter = owner.letter;
    if (!letter && !event->owner)
        return false;
    uint64_t number;
    if (letter && value[0] == letter && decimal_parse(value + 1, &number) && number == event->owner)
        return true;
    return filter_names_number(value, event->owner) ||
           (is_known && owner.description_length && glob_match(value, owner.description));
}

static bool object_is(const char *value, const struct recording_model *model, int16_t type, uint64_t number,
                      uint64_t id)
{
    uint64_t wanted;
    if (type < 0)
        return false;
    if (value[0] == '0' && (value[1] == 'x' || value[1] == 'X'))
        return filter_names_number(value, id);
    if (value[0] != model->objects[type].letter)
        return false;
    const char *at = value + 2;
    if (value[1] == '@')
        return number_take(&at, NULL, 16, &wanted) && !*at && wanted == id;
    return decimal_parse(value + 1, &wanted) && wanted == number;
}

static bool object_passes(const char *value, const struct recording_model *model,
                          const struct object_step *step)
{
    bool passes = object_is(value, model, step->own->type, step->own->number, step->own->id);
    for (unsigned i = 0; i < step->related_count && !passes; i++)
        passes = object_is(value, model, step->related[i].type, step->related[i].number, step->related[i].id);
    return passes;
}

static uint64_t since_start(const struct recording *recording, const struct recording_event *event)
{
    const uint64_t time = recording_time(recording, event->stamp), start = recording_start(recording);
    return time > start ? time - start : 0;
}

bool filter_is_over(const struct filter *filter, const struct recording *recording,
                    const struct recording_event *event)
{
    return filter->to && since_start(recording, event) > filter->to;
}

bool filter_is_empty(const struct filter *filter)
{
    bool is_empty = !filter->from && !filter->to;
    for (int kind = 0; kind < FILTER_KINDS; kind++)
        is_empty &= !filter->kinds[kind].count;
    return is_empty;
}

bool filter_passes(struct filter *filter, const struct recording *recording,
                   const struct recording_event *event, const struct object_step *step)
{
    const struct recording_model *model = recording_model(recording);
    if (filter->kinds[FILTER_GROUP].count || filter->kinds[FILTER_TRACEPOINT].count) {
        uint8_t verdict = filter->tracepoints ? filter->tracepoints[event->tracepoint->id & 0xffff] : 0;
        if (!verdict) {
            verdict = filter_passes_tracepoint(filter, event->tracepoint) ? 1 : 2;
            if (!filter->tracepoints)
                filter->tracepoints = calloc(65536, 1);
            if (filter->tracepoints)
                filter->tracepoints[event->tracepoint->id & 0xffff] = verdict;
        }
        if (verdict != 1)
            return false;
    }
    if (filter->from && since_start(recording, event) < filter->from)
        return false;
    for (int kind = 0; kind < FILTER_KINDS; kind++) {
        bool passes = !filter->kinds[kind].count || kind == FILTER_GROUP || kind == FILTER_TRACEPOINT;
        for (size_t i = 0; i < filter->kinds[kind].count && !passes; i++) {
            const char *value = filter->kinds[kind].values[i];
            passes = kind == FILTER_THREAD  ? thread_passes(value, event)
                     : kind == FILTER_OWNER ? owner_passes(value, recording, event)
                                            : object_passes(value, model, step);
        }
        if (!passes)
            return false;
    }
    return !filter_is_over(filter, recording, event);
}
