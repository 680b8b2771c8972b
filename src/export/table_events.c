/* SPDX-License-Identifier: BSD-3-Clause */
/* A row for each event: when, where, about which object, how long after the object's event before, and the arguments. */
#include <string.h>

#include "export/table.h"

enum {
    RECORDING,
    HOST,
    UNIX_NS,
    TIME_NS,
    THREAD_ID,
    THREAD,
    OWNER_TYPE,
    OWNER_ID,
    OWNER,
    GROUP,
    TRACEPOINT,
    OBJECT_TYPE,
    OBJECT_NUMBER,
    OBJECT_ID,
    AGE_NS,
    STEP_FROM,
    STEP_NS,
    RELATED_TYPE,
    RELATED_NUMBER,
    RELATED_ID,
    SIZE,
    LOST,
    COLUMNS
};

static const struct column_about columns[COLUMNS] = {
    [RECORDING] = {"recording", COLUMN_TEXT, "", "name of the recording's file", true},
    [HOST] = {"host", COLUMN_TEXT, "", "name of the machine on which the program ran", false},
    [UNIX_NS] = {"unix_ns", COLUMN_UNSIGNED, "ns", "time since 1970; NULL if it is unknown", false},
    [TIME_NS] = {"time_ns", COLUMN_UNSIGNED, "ns",
                 "time on CLOCK_BOOTTIME; since the first event where that is unknown", true},
    [THREAD_ID] = {"thread_id", COLUMN_UNSIGNED, "", "id of the thread; of SPDK the lcore", true},
    [THREAD] = {"thread", COLUMN_TEXT, "", "name of the thread", false},
    [OWNER_TYPE] = {"owner_type", COLUMN_TEXT, "", "type of the owner", false},
    [OWNER_ID] = {"owner_id", COLUMN_UNSIGNED, "", "id of the owner", false},
    [OWNER] = {"owner", COLUMN_TEXT, "", "description of the owner", false},
    [GROUP] = {"tracepoint_group", COLUMN_TEXT, "", "group of the tracepoint", true},
    [TRACEPOINT] = {"tracepoint", COLUMN_TEXT, "", "name of the tracepoint", true},
    [OBJECT_TYPE] = {"object_type", COLUMN_TEXT, "", "type of the object; NULL: the event is about none",
                     false},
    [OBJECT_NUMBER] = {"object_number", COLUMN_UNSIGNED, "",
                       "number of the object among those of its type; NULL: its beginning is not known",
                       false},
    [OBJECT_ID] = {"object_id", COLUMN_UNSIGNED, "", "id of the object as it was recorded", false},
    [AGE_NS] = {"age_ns", COLUMN_UNSIGNED, "ns", "time since the object began", false},
    [STEP_FROM] = {"step_from", COLUMN_TEXT, "", "tracepoint of the object's event before", false},
    [STEP_NS] = {"step_ns", COLUMN_UNSIGNED, "ns", "time since the object's event before", false},
    [RELATED_TYPE] = {"related_type", COLUMN_TEXT, "",
                      "type of the first object that the event relates it to", false},
    [RELATED_NUMBER] = {"related_number", COLUMN_UNSIGNED, "", "number of that object", false},
    [RELATED_ID] = {"related_id", COLUMN_UNSIGNED, "", "id of that object", false},
    [SIZE] = {"size", COLUMN_UNSIGNED, "", "size, as the event says it", true},
    [LOST] = {"lost", COLUMN_UNSIGNED, "", "events of the thread that are missing before this one", true},
};

static void put_object(struct export_table *table, const struct recording_event *event,
                       const struct object_step *step)
{
    const struct recording *recording = table->recording;
    const struct object *own = step->own;
    row_word(table, OBJECT_TYPE, &table->types[own->type].name);
    if (own->number != OBJECT_UNNUMBERED)
        row_number(table, OBJECT_NUMBER, own->number);
    row_number(table, OBJECT_ID, own->id);
    const uint64_t now = recording_time(recording, event->stamp);
    if (own->number != OBJECT_UNNUMBERED) {
        const uint64_t begun = recording_time(recording, own->begun);
        row_number(table, AGE_NS, now > begun ? now - begun : 0);
    }
    if (!step->before || step->before_tracepoint >= table->model->tracepoint_room)
        return;
    const struct tracepoint_plan *before = table->plans[step->before_tracepoint];
    const uint64_t then = recording_time(recording, step->before);
    if (before)
        row_word(table, STEP_FROM, &before->name);
    row_number(table, STEP_NS, now > then ? now - then : 0);
}

static int put_event(struct export_table *table, const struct export_event *at, struct text *out)
{
    const struct recording_event *event = at->event;
    const struct object_step *step = at->step;
    const struct tracepoint_plan *plan = table->plans[event->tracepoint->id];
    row_begin(table);
    if (table->realtime)
        row_number(table, UNIX_NS, at->time + table->realtime);
    row_number(table, TIME_NS, at->time);
    row_thread(table, THREAD_ID, event->thread, event->thread_name);
    row_owner(table, OWNER_TYPE, event);
    row_word(table, GROUP, &plan->group);
    row_word(table, TRACEPOINT, &plan->name);
    if (step->own->type >= 0)
        put_object(table, event, step);
    if (step->related_count) {
        row_word(table, RELATED_TYPE, &table->types[step->related[0].type].name);
        if (step->related[0].number != OBJECT_UNNUMBERED)
            row_number(table, RELATED_NUMBER, step->related[0].number);
        row_number(table, RELATED_ID, step->related[0].id);
    }
    row_number(table, SIZE, event->size);
    row_number(table, LOST, event->lost);
    for (unsigned i = 0; i < event->tracepoint->argument_count; i++) {
        struct argument_value value;
        argument_value(event, plan->arguments[i].argument, &value);
        row_argument(table, plan->arguments[i].column, &value);
    }
    return row_end(table, out);
}

const struct table_rows table_events = {"events", columns, COLUMNS, false, put_event, NULL, NULL};
