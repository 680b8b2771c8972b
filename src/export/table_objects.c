/* SPDX-License-Identifier: BSD-3-Clause */
/* A row for each object, written when it ends: where it began, how long it lived, how long each of its steps took, and
 * what its newest events said. A step is the time from one event of the object to its next, and has the name of the
 * first one.
 *
 * A row is made of the events that are exported. Memory grows with the number of objects that live at a time, which is
 * bounded: when there are very many, or they take very much, the row of the one without events for the longest time is
 * written. What comes after that, or after an object's end, is in a row of its own. */
#include <errno.h>
#include <stdlib.h>
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
    OBJECT_TYPE,
    OBJECT_NUMBER,
    OBJECT_ID,
    PARENT_TYPE,
    PARENT_NUMBER,
    PARENT_ID,
    BEGINS,
    ENDS,
    LIFE_NS,
    SEEN_NS,
    EVENTS,
    SIZE,
    COLUMNS
};

static const struct column_about columns[COLUMNS] = {
    [RECORDING] = {"recording", COLUMN_TEXT, "", "name of the recording's file", true},
    [HOST] = {"host", COLUMN_TEXT, "", "name of the machine on which the program ran", false},
    [UNIX_NS] = {"unix_ns", COLUMN_UNSIGNED, "ns",
                 "when the object began, or was first seen, since 1970; NULL if it is unknown", false},
    [TIME_NS] = {"time_ns", COLUMN_UNSIGNED, "ns",
                 "the same on CLOCK_BOOTTIME; since the first event where that is unknown", true},
    [THREAD_ID] = {"thread_id", COLUMN_UNSIGNED, "", "id of the first event's thread; of SPDK the lcore",
                   true},
    [THREAD] = {"thread", COLUMN_TEXT, "", "name of that thread", false},
    [OWNER_TYPE] = {"owner_type", COLUMN_TEXT, "", "type of the first event's owner", false},
    [OWNER_ID] = {"owner_id", COLUMN_UNSIGNED, "", "id of that owner", false},
    [OWNER] = {"owner", COLUMN_TEXT, "", "description of that owner", false},
    [OBJECT_TYPE] = {"object_type", COLUMN_TEXT, "", "type of the object", true},
    [OBJECT_NUMBER] = {"object_number", COLUMN_UNSIGNED, "",
                       "number among those of its type; NULL: its beginning is not known", false},
    [OBJECT_ID] = {"object_id", COLUMN_UNSIGNED, "", "id as it was recorded", true},
    [PARENT_TYPE] = {"parent_type", COLUMN_TEXT, "", "type of the first object that it was related to",
                     false},
    [PARENT_NUMBER] = {"parent_number", COLUMN_UNSIGNED, "", "number of that object", false},
    [PARENT_ID] = {"parent_id", COLUMN_UNSIGNED, "", "id of that object", false},
    [BEGINS] = {"begins", COLUMN_BOOL, "", "the row has the object's beginning", true},
    [ENDS] = {"ends", COLUMN_BOOL, "", "the row has the object's end", true},
    [LIFE_NS] = {"life_ns", COLUMN_UNSIGNED, "ns",
                 "from its beginning to its end; NULL if one of them is unknown", false},
    [SEEN_NS] = {"seen_ns", COLUMN_UNSIGNED, "ns", "from the first event of the row to the last", true},
    [EVENTS] = {"events", COLUMN_UNSIGNED, "", "events of the row", true},
    [SIZE] = {"size", COLUMN_UNSIGNED, "", "the largest size of the events", true},
};

struct step {
    uint64_t first, total; /* ns: time of its first event; sum */
    uint64_t count;
};

struct kept { /* an argument of the newest event that has it */
    struct argument_value value;
    bool is_set, is_copy; /* is_copy: its bytes are its own */
};

enum { LIVING_BYTES_MAX = 256 << 20 };

struct life {
    struct living living;
    struct object own;
    uint64_t begun, first, last; /* ns: its beginning; first and last event of the row */
    uint64_t events;
    const struct recording_tracepoint *tracepoint; /* of the first event, as the four below */
    uint64_t stamp;
    uint32_t owner, thread;
    char thread_name[RECORDING_NAME];
    uint32_t size;
    unsigned last_slot;
    int16_t parent_type;
    uint64_t parent_number, parent_id;
    bool begins, ends, is_whole;
    struct kept *arguments; /* behind the steps */
    struct step steps[];
};

/* ---- its row ---- */

static void put_parent(struct export_table *table, const struct life *life)
{
    if (life->parent_type < 0)
        return;
    row_word(table, PARENT_TYPE, &table->types[life->parent_type].name);
    if (life->parent_number != OBJECT_UNNUMBERED)
        row_number(table, PARENT_NUMBER, life->parent_number);
    row_number(table, PARENT_ID, life->parent_id);
}

static void put_steps(struct export_table *table, const struct life *life)
{
    const struct type_plan *plan = &table->types[life->own.type];
    for (unsigned slot = 0; slot < plan->step_count; slot++) {
        const struct step *step = &life->steps[slot];
        if (!step->count)
            continue;
        row_number(table, plan->step_column + 2 * slot,
                   step->first > life->begun ? step->first - life->begun : 0);
        if (step->count > (slot == life->last_slot)) /* the last event begins no step */
            row_number(table, plan->step_column + 2 * slot + 1, step->total);
    }
}

static int put_row(struct export_table *table, const struct life *life, struct text *out)
{
    const struct type_plan *plan = &table->types[life->own.type];
    const struct recording_event first = {
        .stamp = life->stamp, .owner = life->owner, .tracepoint = life->tracepoint};
    row_begin(table);
    if (table->realtime)
        row_number(table, UNIX_NS, life->begun + table->realtime);
    row_number(table, TIME_NS, life->begun);
    row_thread(table, THREAD_ID, life->thread, life->thread_name);
    row_owner(table, OWNER_TYPE, &first);
    row_word(table, OBJECT_TYPE, &plan->name);
    if (life->own.number != OBJECT_UNNUMBERED)
        row_number(table, OBJECT_NUMBER, life->own.number);
    row_number(table, OBJECT_ID, life->own.id);
    put_parent(table, life);
    row_number(table, BEGINS, life->begins);
    row_number(table, ENDS, life->ends);
    if (life->is_whole) {
        const uint64_t begun = recording_time(table->recording, life->own.begun),
                       ended = recording_time(table->recording, life->own.last);
        row_number(table, LIFE_NS, ended > begun ? ended - begun : 0);
    }
    row_number(table, SEEN_NS, life->last - life->first);
    row_number(table, EVENTS, life->events);
    row_number(table, SIZE, life->size);
    put_steps(table, life);
    for (size_t slot = 0; slot < plan->column_count; slot++)
        if (life->arguments[slot].is_set)
            row_argument(table, plan->columns[slot], &life->arguments[slot].value);
    return row_end(table, out);
}

static size_t life_bytes(const struct type_plan *plan)
{
    return sizeof(struct life) + plan->step_count * sizeof(struct step) +
           plan->column_count * sizeof(struct kept);
}

static void forget_argument(struct export_table *table, struct kept *kept)
{
    if (kept->is_copy) {
        table->living_bytes -= kept->value.length;
        free((char *)(uintptr_t)kept->value.bytes);
    }
    kept->is_set = kept->is_copy = false;
}

static void remove_life(struct export_table *table, struct life *life)
{
    for (size_t slot = 0; slot < table->types[life->living.type].column_count; slot++)
        forget_argument(table, &life->arguments[slot]);
    table->living_bytes -= life_bytes(&table->types[life->living.type]);
    living_remove(&table->living, &life->living);
}

static int end_life(struct export_table *table, struct life *life, struct text *out)
{
    const int error = put_row(table, life, out);
    remove_life(table, life);
    return error;
}

/* ---- its events ---- */

static struct life *begin_life(struct export_table *table, const struct export_event *at, struct text *out)
{
    const struct object *own = at->step->own;
    const struct type_plan *plan = &table->types[own->type];
    const size_t bytes = life_bytes(plan);
    while (table->living.oldest &&
           (living_surplus(&table->living) || table->living_bytes + bytes > LIVING_BYTES_MAX))
        if (end_life(table, (struct life *)table->living.oldest, out))
            return NULL;
    struct life *life = calloc(1, bytes);
    if (!life || living_add(&table->living, &life->living, own->type, own->id)) {
        free(life);
        return NULL;
    }
    table->living_bytes += bytes;
    life->arguments = (struct kept *)(life->steps + plan->step_count);
    life->own = *own;
    life->begun = recording_time(table->recording, own->begun);
    life->first = life->last = at->time;
    life->tracepoint = at->event->tracepoint;
    life->stamp = at->event->stamp;
    life->owner = at->event->owner;
    life->thread = at->event->thread;
    memcpy(life->thread_name, at->event->thread_name, sizeof life->thread_name);
    life->parent_type = -1;
    life->begins = at->step->begins;
    return life;
}

static int keep_argument(struct export_table *table, struct kept *kept, const struct recording_event *event,
                         unsigned argument)
{
    const bool is_recorded = event->tracepoint->arguments[argument].kind == RECORDING_STRING;
    struct argument_value *value = &kept->value;
    forget_argument(table, kept);
    argument_value(event, argument, value);
    if (is_recorded && !value->is_null) {
        char *copy = malloc(value->length + 1);
        if (!copy)
            return -ENOMEM;
        memcpy(copy, value->bytes, value->length);
        value->bytes = copy;
        kept->is_copy = true;
        table->living_bytes += value->length;
    }
    kept->is_set = true;
    return 0;
}

static int add_event(struct export_table *table, struct life *life, const struct export_event *at)
{
    const struct recording_event *event = at->event;
    const struct tracepoint_plan *plan = table->plans[event->tracepoint->id];
    const struct object_step *step = at->step;
    struct step *now = &life->steps[plan->slot];
    if (life->events)
        life->steps[life->last_slot].total += at->time - life->last;
    if (!now->count++)
        now->first = at->time;
    life->own.number = step->own->number;
    life->own.begun = step->own->begun;
    life->own.last = step->own->last;
    life->last = at->time;
    life->last_slot = plan->slot;
    life->events++;
    life->size = event->size > life->size ? event->size : life->size;
    if (life->parent_type < 0 && step->related_count) {
        life->parent_type = step->related[0].type;
        life->parent_number = step->related[0].number;
        life->parent_id = step->related[0].id;
    }
    int error = 0;
    for (unsigned i = 0; i < event->tracepoint->argument_count && !error; i++)
        error = keep_argument(table, &life->arguments[plan->arguments[i].slot], event,
                              plan->arguments[i].argument);
    return error;
}

/* Ends the row of an object that another one with its id took the place of. Where events say that objects end, its
 * end is not in the recording. */
static int replace_life(struct export_table *table, struct life *life, const struct export_event *at,
                        struct text *out)
{
    const struct object *ended = &at->step->ended;
    if (ended->type >= 0 && !recording_has_explicit_ends(table->model, ended->type)) {
        life->ends = true;
        life->is_whole = ended->number != OBJECT_UNNUMBERED;
        life->own = *ended;
    }
    return end_life(table, life, out);
}

static int put_event(struct export_table *table, const struct export_event *at, struct text *out)
{
    const struct object *own = at->step->own;
    if (own->type < 0)
        return 0;
    struct life *life = (struct life *)living_find(&table->living, own->type, own->id);
    if (life && at->step->is_first) {
        const int error = replace_life(table, life, at, out);
        if (error)
            return error;
        life = NULL;
    }
    if (!life && !(life = begin_life(table, at, out)))
        return -ENOMEM;
    living_touch(&table->living, &life->living);
    const int error = add_event(table, life, at);
    if (error || at->event->tracepoint->life != RECORDING_ENDS)
        return error;
    life->ends = true;
    life->is_whole = own->number != OBJECT_UNNUMBERED;
    return end_life(table, life, out);
}

/* ---- the end ---- */

/* Where no event says that objects end, the newest one is the end of those that are known at the end. */
static void see_living(void *context, const struct object *object)
{
    struct export_table *table = context;
    struct life *life = (struct life *)living_find(&table->living, object->type, object->id);
    if (!life || life->own.number != object->number || object->number == OBJECT_UNNUMBERED ||
        object->last <= object->begun || recording_has_explicit_ends(table->model, object->type))
        return;
    life->is_whole = life->ends = true;
    life->own = *object;
}

static int end(struct export_table *table, struct text *out)
{
    int error = 0;
    if (table->export->objects)
        objects_each(table->export->objects, see_living, table);
    while (table->living.oldest && !error)
        error = end_life(table, (struct life *)table->living.oldest, out);
    return error;
}

static void release(struct export_table *table)
{
    while (table->living.oldest)
        remove_life(table, (struct life *)table->living.oldest);
    living_free(&table->living);
}

const struct table_rows table_objects = {"objects", columns, COLUMNS, true, put_event, end, release};
