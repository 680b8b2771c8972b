/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "export/export.h"
#include "export/living.h"
#include "otlp/attribute.h"
#include "otlp/traceparent.h"

/* Fields of the messages Span, Span.Event and Span.Link. */
enum { SPAN_ATTRIBUTES = 9, SPAN_EVENTS = 11, SPAN_LINKS = 13, EVENT_ATTRIBUTES = 3, LINK_ATTRIBUTES = 4 };
#define EVENT_TIME FIELD(1, "timeUnixNano")
#define EVENT_NAME FIELD(2, "name")
#define LINK_TRACE FIELD(1, "traceId")
#define LINK_SPAN FIELD(2, "spanId")

enum { ENDED_MAX = 1 << 15 };

struct place { /* where an object is among the traces */
    uint8_t trace[OTLP_TRACE_ID];
    uint64_t span;
    uint64_t number; /* of the object: another one of the same id has another */
};
struct life {
    struct living living;
    struct place place;
    uint64_t parent;      /* 0: none */
    uint64_t start, last; /* ns */
    const struct recording_tracepoint *first;
    uint32_t thread;         /* of its first event */
    bool is_fixed;           /* its trace cannot change any more */
    bool is_shown, is_whole; /* an event of it is shown; its beginning is known */
    bool is_error;
    unsigned event_count, link_count;
    uint64_t dropped_events, dropped_links;
    struct text attributes, events, links, message;
    size_t bytes; /* of these texts, as counted in all */
};
struct ended { /* an object that has ended, whose place others may still name */
    struct living living;
    struct place place;
};

struct otlp_spans {
    const struct recording *recording;
    enum spans_form form;
    span_sink *sink;
    void *state;
    uint64_t realtime;
    uint64_t identity; /* of the recording */
    struct living_table living, ended;
    bool has_explicit_ends[256]; /* by type of object */
    size_t bytes;                /* of the texts of all lives */
    struct text label;
    struct spans_counts counts;
};

/* ---- ids ---- */

/* Mixes all bits of a hash into all others, so that any of them may be used alone, as samplers do. 0 is no id. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    value ^= value >> 31;
    return value ? value : 1;
}

/* Of SPDK's format the clock is related to the counter at each reading, and is not the same in each. */
static uint64_t identify(const struct recording *recording)
{
    const struct recording_model *model = recording_model(recording);
    const uint64_t clock =
        recording_is_spdk(recording) ? recording_rate(recording) : recording_realtime(recording);
    return mix(clock) ^ mix(model->pid + 1ull) ^ table_hash(model->name, strlen(model->name));
}

/* A new object is the root of its own trace. */
static void find_place(const struct otlp_spans *spans, const struct object *object, struct place *place)
{
    const struct recording_model *model = recording_model(spans->recording);
    const uint64_t key[] = {spans->identity, object->id, object->begun, model->objects[object->type].id};
    const uint64_t hash = table_hash(key, sizeof key), high = mix(hash ^ 1),
                   low = mix(hash ^ mix(object->begun));
    place->span = mix(hash);
    place->number = object->number;
    for (int i = 0; i < 8; i++) {
        place->trace[i] = (uint8_t)(high >> 8 * i);
        place->trace[8 + i] = (uint8_t)(low >> 8 * i);
    }
}

/* ---- what a span consists of ---- */

static struct encoder encoder_of(const struct otlp_spans *spans, struct text *out)
{
    return (struct encoder){.out = out, .is_json = spans->form == SPANS_JSON};
}

static bool has_argument(const struct recording_tracepoint *tracepoint, const char *name)
{
    for (unsigned i = 0; i < tracepoint->argument_count; i++)
        if (!strcmp(tracepoint->arguments[i].name, name))
            return true;
    return false;
}

/* Writes the arguments of an event as attributes of its span; keys are unique. */
static void put_arguments(const struct otlp_spans *spans, struct life *life,
                          const struct recording_event *event)
{
    struct encoder encoder = encoder_of(spans, &life->attributes);
    if (spans->form == SPANS_BARE)
        return;
    for (unsigned i = 0; i < event->tracepoint->argument_count; i++)
        if (event->tracepoint == life->first ||
            !has_argument(life->first, event->tracepoint->arguments[i].name))
            attribute_argument(&encoder, SPAN_ATTRIBUTES, event, i);
}

static void put_first(struct otlp_spans *spans, struct life *life, const struct recording_event *event)
{
    struct encoder encoder = encoder_of(spans, &life->attributes);
    if (spans->form == SPANS_BARE)
        return;
    attribute_pointer(&encoder, SPAN_ATTRIBUTES, "spoor.object", event->object);
    text_clear(&spans->label);
    export_owner_label(&spans->label, spans->recording, event);
    if (spans->label.length)
        attribute_string(&encoder, SPAN_ATTRIBUTES, "spoor.owner", spans->label.bytes, spans->label.length);
    attribute_unsigned(&encoder, SPAN_ATTRIBUTES, "thread.id", event->thread);
    if (event->thread_name[0])
        attribute_text(&encoder, SPAN_ATTRIBUTES, "thread.name", event->thread_name);
    put_arguments(spans, life, event);
}

/* Writes an event of a span. The thread is that of the span unless the event says otherwise. */
static void put_event(struct otlp_spans *spans, struct life *life, const struct recording_event *event,
                      uint64_t time)
{
    if (spans->form == SPANS_BARE)
        return;
    if (life->event_count >= SPANS_EVENTS_MAX || spans->bytes >= SPANS_BYTES_MAX) {
        life->dropped_events++;
        spans->counts.dropped++;
        return;
    }
    struct encoder encoder = encoder_of(spans, &life->events);
    life->event_count++;
    encode_open(&encoder, ITEM(SPAN_EVENTS));
    encode_fixed(&encoder, EVENT_TIME, time);
    encode_text(&encoder, EVENT_NAME, event->tracepoint->name);
    encode_list(&encoder, "attributes");
    for (unsigned i = 0; i < event->tracepoint->argument_count; i++)
        attribute_argument(&encoder, EVENT_ATTRIBUTES, event, i);
    if (event->size)
        attribute_unsigned(&encoder, EVENT_ATTRIBUTES, "spoor.size", event->size);
    if (event->thread != life->thread)
        attribute_unsigned(&encoder, EVENT_ATTRIBUTES, "thread.id", event->thread);
    if (event->lost)
        attribute_unsigned(&encoder, EVENT_ATTRIBUTES, "spoor.lost_before", event->lost);
    encode_list_end(&encoder);
    encode_close(&encoder);
}

static void put_link(struct otlp_spans *spans, struct life *life, const uint8_t *trace, uint64_t span,
                     const char *tracepoint)
{
    if (spans->form == SPANS_BARE)
        return;
    if (life->link_count >= SPANS_LINKS_MAX) {
        life->dropped_links++;
        return;
    }
    struct encoder encoder = encoder_of(spans, &life->links);
    life->link_count++;
    encode_open(&encoder, ITEM(SPAN_LINKS));
    encode_id(&encoder, LINK_TRACE, trace, OTLP_TRACE_ID);
    encode_span(&encoder, LINK_SPAN, span);
    encode_list(&encoder, "attributes");
    attribute_text(&encoder, LINK_ATTRIBUTES, "spoor.tracepoint", tracepoint);
    encode_list_end(&encoder);
    encode_close(&encoder);
}

/* An argument `error` that is a number other than 0, true, or a text, makes the span one that failed. */
static void look_for_error(struct life *life, const struct recording_event *event)
{
    for (unsigned i = 0; i < event->tracepoint->argument_count && !life->is_error; i++) {
        const struct recording_argument *argument = &event->tracepoint->arguments[i];
        const uint64_t word = event->words[i];
        if (argument->kind == RECORDING_REAL || argument->kind == RECORDING_POINTER ||
            strcmp(argument->name, "error") != 0)
            continue;
        if (argument->kind == RECORDING_STRING) {
            const struct recording_text text = recording_string(event, i);
            life->is_error = !text.is_null && text.length;
            if (life->is_error)
                text_append(&life->message, text.bytes, text.length);
            continue;
        }
        const char *name = argument->enumeration ? recording_enumerator(argument->enumeration, word) : NULL;
        life->is_error = word != 0;
        if (word && name)
            text_add(&life->message, name);
        else if (word && argument->kind != RECORDING_BOOL)
            text_printf(&life->message, "%s %lld", argument->name, (long long)word);
    }
}

/* ---- lives ---- */

static void free_life(struct otlp_spans *spans, struct life *life)
{
    spans->bytes -= life->bytes;
    text_free(&life->attributes);
    text_free(&life->events);
    text_free(&life->links);
    text_free(&life->message);
    living_remove(&spans->living, &life->living);
}

static int remember(struct otlp_spans *spans, const struct life *life)
{
    struct living *before = living_find(&spans->ended, life->living.type, life->living.id);
    if (before)
        living_remove(&spans->ended, before);
    else if (spans->ended.count >= ENDED_MAX)
        living_remove(&spans->ended, spans->ended.oldest);
    struct ended *ended = malloc(sizeof *ended);
    if (!ended)
        return -ENOMEM;
    ended->place = life->place;
    const int error = living_add(&spans->ended, &ended->living, life->living.type, life->living.id);
    if (error)
        free(ended);
    return error;
}

/* Hands out a span that is over. is_over: the program said so, or never does. */
static int end_life(struct otlp_spans *spans, struct life *life, bool is_over)
{
    const struct recording_type *type = &recording_model(spans->recording)->objects[life->living.type];
    struct encoder encoder = encoder_of(spans, &life->attributes);
    int error = remember(spans, life);
    if (!life->is_whole)
        attribute_bool(&encoder, SPAN_ATTRIBUTES, "spoor.begin_is_missing", true);
    if (!is_over)
        attribute_bool(&encoder, SPAN_ATTRIBUTES, "spoor.end_is_missing", true);
    text_clear(&spans->label);
    export_type_label(&spans->label, type);
    struct otlp_span span = {
        .id = life->place.span,
        .parent = life->parent,
        .start = life->start,
        .end = life->last,
        .type = life->living.type,
        .is_error = life->is_error,
        .name = text_string(&spans->label),
        .message = life->message.length ? life->message.bytes : NULL,
        .attributes = &life->attributes,
        .events = &life->events,
        .links = &life->links,
        .dropped_events = life->dropped_events,
        .dropped_links = life->dropped_links,
    };
    memcpy(span.trace, life->place.trace, sizeof span.trace);
    if (life->attributes.failed || life->events.failed || life->links.failed || life->message.failed ||
        spans->label.failed)
        error = -ENOMEM;
    if (!error && life->is_shown)
        error = spans->sink(spans->state, &span);
    free_life(spans, life);
    return error;
}

/* Makes the life of an object that was not known before. What had its id has ended. */
static int begin_life(struct otlp_spans *spans, const struct recording_event *event,
                      const struct object_step *step, struct life **result)
{
    struct life *before = (struct life *)living_find(&spans->living, step->own->type, step->own->id);
    struct life *surplus = before ? NULL : (struct life *)living_surplus(&spans->living);
    int error = 0;
    if (before)
        error = end_life(spans, before, !spans->has_explicit_ends[step->own->type]);
    if (surplus)
        error = end_life(spans, surplus, !spans->has_explicit_ends[surplus->living.type]);
    struct life *life = *result = calloc(1, sizeof *life);
    if (error || !life || living_add(&spans->living, &life->living, step->own->type, step->own->id)) {
        free(life);
        return error ? error : -ENOMEM;
    }
    find_place(spans, step->own, &life->place);
    life->start = life->last = recording_time(spans->recording, step->own->begun) + spans->realtime;
    life->first = event->tracepoint;
    life->thread = event->thread;
    life->is_whole = step->begins;
    put_first(spans, life, event);
    return 0;
}

/* Finds where a related object is. As the parent of another one its place is fixed from then on. */
static const struct place *find_related(struct otlp_spans *spans, const struct object_step *step,
                                        unsigned index, bool fixes)
{
    const int16_t type = step->related[index].type;
    struct life *life = (struct life *)living_find(&spans->living, type, step->related[index].id);
    if (life && life->place.number == step->related[index].number) {
        life->is_fixed |= fixes;
        return &life->place;
    }
    const struct ended *ended = (struct ended *)living_find(&spans->ended, type, step->related[index].id);
    return ended && ended->place.number == step->related[index].number ? &ended->place : NULL;
}

static bool may_have_parent(const struct life *life)
{
    return !life->is_fixed && !life->parent;
}

static void relate(struct otlp_spans *spans, struct life *life, const struct recording_event *event,
                   const struct object_step *step)
{
    struct traceparent outer;
    for (unsigned i = 0; i < step->related_count; i++) {
        const bool is_parent = may_have_parent(life);
        if (step->related[i].type == step->own->type && step->related[i].id == step->own->id)
            continue;
        const struct place *place = find_related(spans, step, i, is_parent);
        if (place && is_parent) {
            life->parent = place->span;
            memcpy(life->place.trace, place->trace, sizeof life->place.trace);
        } else if (place && place->span != life->parent)
            put_link(spans, life, place->trace, place->span, event->tracepoint->name);
    }
    if (!traceparent_of(event, &outer) || outer.span == life->parent)
        return;
    if (may_have_parent(life)) {
        life->parent = outer.span;
        memcpy(life->place.trace, outer.trace, sizeof life->place.trace);
    } else
        put_link(spans, life, outer.trace, outer.span, event->tracepoint->name);
}

static void count_bytes(struct otlp_spans *spans, struct life *life)
{
    const size_t bytes = life->attributes.room + life->events.room + life->links.room + life->message.room;
    spans->bytes += bytes - life->bytes;
    life->bytes = bytes;
}

/* ---- events ---- */

/* An event about no object belongs to the first of those that it names. */
static int put_alone(struct otlp_spans *spans, const struct recording_event *event,
                     const struct object_step *step, uint64_t time)
{
    for (unsigned i = 0; i < step->related_count; i++) {
        struct life *life =
            (struct life *)living_find(&spans->living, step->related[i].type, step->related[i].id);
        if (!life || life->place.number != step->related[i].number)
            continue;
        life->is_shown = true;
        put_event(spans, life, event, time);
        count_bytes(spans, life);
        return 0;
    }
    spans->counts.alone++;
    return 0;
}

int spans_event(struct otlp_spans *spans, const struct recording_event *event, const struct object_step *step,
                bool is_shown)
{
    const uint64_t time = recording_time(spans->recording, event->stamp) + spans->realtime;
    if (step->own->type < 0)
        return is_shown ? put_alone(spans, event, step, time) : 0;
    struct life *life = (struct life *)living_find(&spans->living, step->own->type, step->own->id);
    int error = 0;
    if (!life && !step->is_first) { /* its span has ended already */
        spans->counts.dropped += is_shown;
        return 0;
    }
    if (step->is_first && (error = begin_life(spans, event, step, &life)))
        return error;
    living_touch(&spans->living, &life->living);
    if (time > life->last)
        life->last = time;
    relate(spans, life, event, step);
    look_for_error(life, event);
    if (is_shown) {
        life->is_shown = true;
        put_event(spans, life, event, time);
    }
    const bool is_last = event->tracepoint->life == RECORDING_ENDS;
    if (is_last && !step->is_first)
        put_arguments(spans, life, event);
    count_bytes(spans, life);
    return is_last ? end_life(spans, life, true) : 0;
}

int spans_end(struct otlp_spans *spans)
{
    int error = 0;
    while (spans->living.oldest && !error)
        error = end_life(spans, (struct life *)spans->living.oldest,
                         !spans->has_explicit_ends[spans->living.oldest->type]);
    return error;
}

struct spans_counts spans_counts(const struct otlp_spans *spans)
{
    return spans->counts;
}

struct otlp_spans *spans_make(const struct recording *recording, enum spans_form form, span_sink *sink,
                              void *state)
{
    const struct recording_model *model = recording_model(recording);
    struct otlp_spans *spans = calloc(1, sizeof *spans);
    if (!spans)
        return NULL;
    *spans = (struct otlp_spans){.recording = recording, .form = form, .sink = sink, .state = state};
    spans->realtime = recording_realtime(recording);
    spans->identity = identify(recording);
    for (size_t i = 0; i < model->object_count; i++)
        spans->has_explicit_ends[i] = recording_has_explicit_ends(model, (int16_t)i);
    return spans;
}

void spans_free(struct otlp_spans *spans)
{
    if (!spans)
        return;
    while (spans->living.oldest)
        free_life(spans, (struct life *)spans->living.oldest);
    living_free(&spans->living);
    living_free(&spans->ended);
    text_free(&spans->label);
    free(spans);
}
