/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording as one JSON document, with the names that SPDK's reader uses and those that its format lacks.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "print/event.h"
#include "print/json.h"

static void letter_string(struct text *out, char letter)
{
    const char text[2] = {letter, 0};
    json_string(out, text);
}

static void write_tracepoint(struct text *out, const struct recording_tracepoint *tracepoint,
                             const struct recording_model *model)
{
    text_add(out, "{\"name\": ");
    json_string(out, tracepoint->name);
    text_printf(out, ", \"id\": %" PRIu32 ", \"group\": ", tracepoint->id);
    json_string(out, tracepoint->group->name);
    text_printf(out, ", \"new_object\": %s", tracepoint->life == RECORDING_BEGINS ? "true" : "false");
    text_printf(out, ", \"ends_object\": %s", tracepoint->life == RECORDING_ENDS ? "true" : "false");
    if (tracepoint->object >= 0) {
        text_add(out, ", \"object\": ");
        letter_string(out, model->objects[tracepoint->object].letter);
    }
    text_add(out, ", \"args\": [");
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        const struct recording_argument *argument = &tracepoint->arguments[i];
        text_add(out, i ? "," : "");
        text_add(out, "{\"name\": ");
        json_string(out, argument->name);
        /* 0 integer, 1 pointer, 2 string, as SPDK numbers them; 3 real */
        text_printf(out, ", \"type\": %d, \"size\": %u",
                    argument->kind == RECORDING_POINTER  ? 1
                    : argument->kind == RECORDING_STRING ? 2
                    : argument->kind == RECORDING_REAL   ? 3
                                                         : 0,
                    argument->size);
        if (argument->type[0]) {
            text_add(out, ", \"ctype\": ");
            json_string(out, argument->type);
        }
        text_char(out, '}');
    }
    text_add(out, "]}");
}

/* As SPDK's reader has them, by id, each with its newest description; and all that is known of them. */
static void write_owners(struct text *out, const struct recording *recording)
{
    struct recording_owner owner, next;
    text_add(out, "],\n\"owners\": {");
    const char *comma = "\n";
    for (size_t i = 0; recording_owner_at(recording, i, &owner); i++) {
        if (recording_owner_at(recording, i + 1, &next) && next.id == owner.id)
            continue;
        text_printf(out, "%s\"%" PRIu32 "\": ", comma, owner.id);
        json_string(out, owner.description);
        comma = ",\n";
    }
    text_add(out, "},\n\"owner_history\": [");
    for (size_t i = 0; recording_owner_at(recording, i, &owner); i++) {
        text_printf(out, "%s{\"id\": %" PRIu32, i ? ",\n" : "\n", owner.id);
        if (owner.letter) {
            text_add(out, ", \"type\": ");
            letter_string(out, owner.letter);
        }
        text_add(out, ", \"description\": ");
        json_string(out, owner.description);
        text_printf(out, ", \"tsc\": ");
        json_unsigned(out, owner.since);
        text_char(out, '}');
    }
    text_char(out, ']');
}

void event_json_head(struct text *out, const struct recording *recording)
{
    const struct recording_model *model = recording_model(recording);
    bool is_first = true;
    text_printf(out, "{\"tsc_rate\": %" PRIu64 ",\n\"tpoints\": [", recording_rate(recording));
    for (size_t i = 0; i < model->tracepoint_room; i++)
        if (model->tracepoints[i]) {
            text_add(out, is_first ? "\n" : ",\n");
            is_first = false;
            write_tracepoint(out, model->tracepoints[i], model);
        }
    write_owners(out, recording);
    if (recording_is_spdk(recording) && !recording_unrelated(recording))
        text_printf(
            out,
            ",\n\"boot_clock\": {\"tsc\": %" PRIu64 ", \"time_ns\": %" PRIu64 ", \"error_ns\": %" PRIu64 "}",
            recording_start_stamp(recording), recording_start(recording), recording_clock_error(recording));
    if (model->host[0]) {
        text_add(out, ",\n\"host\": ");
        json_string(out, model->host);
    }
    text_add(out, ",\n\"entries\": [");
}

void event_json_tail(struct text *out, const struct recording *recording)
{
    const struct recording_counts counts = recording_counts(recording);
    text_printf(out, "\n],\n\"overwritten\": %" PRIu64 ", \"lost\": %" PRIu64 "}\n", counts.overwritten,
                counts.lost);
}

static void write_value(struct text *out, const struct recording_event *event, unsigned index)
{
    const uint64_t word = event->words[index];
    switch (event->tracepoint->arguments[index].kind) {
    case RECORDING_SIGNED: json_signed(out, (int64_t)word); break;
    case RECORDING_STRING: {
        const struct recording_text text = recording_string(event, index);
        if (text.is_null) {
            text_add(out, "null");
            break;
        }
        text_char(out, '"');
        json_escape(out, text.bytes, text.length);
        text_char(out, '"');
        break;
    }
    case RECORDING_REAL: {
        double value;
        memcpy(&value, &word, sizeof value);
        if (isfinite(value))
            text_printf(out, "%.17g", value);
        else
            text_add(out, "null");
        break;
    }
    case RECORDING_BOOL: text_add(out, word ? "true" : "false"); break;
    default: json_unsigned(out, word);
    }
}

static void write_owner(struct text *out, const struct recording *recording,
                        const struct recording_event *event)
{
    struct text poller = {0};
    struct recording_owner owner;
    event_print_owner(&poller, recording, event);
    if (poller.length) {
        text_add(out, ", \"poller\": ");
        json_string(out, text_string(&poller));
        text_add(out, ", \"owner_id\": ");
        number_unsigned(out, event->owner);
    }
    text_free(&poller);
    if (recording_owner(recording, event, &owner) && owner.description_length) {
        text_add(out, ", \"owner\": ");
        json_string(out, owner.description);
    }
}

/* Writes the object; its time is how long ago it began, in ticks of the counter. */
static void write_object(struct text *out, const struct recording_model *model,
                         const struct recording_event *event, const struct object_step *step)
{
    text_add(out, ", \"object\": {");
    if (step->own->number != OBJECT_UNNUMBERED) {
        text_add(out, "\"id\": \"");
        event_print_object(out, model, step->own->type, step->own->number, step->own->id);
        text_add(out, "\", ");
    }
    if (step->own->number != OBJECT_UNNUMBERED && !step->begins) {
        text_add(out, "\"time\": ");
        json_unsigned(out, event->stamp > step->own->begun ? event->stamp - step->own->begun : 0);
        text_add(out, ", ");
    }
    text_add(out, "\"value\": ");
    json_unsigned(out, step->own->id);
    text_char(out, '}');
}

/* Those that have a number, as SPDK's reader does; or the others, under another name. */
static void write_related(struct text *out, const struct recording_model *model,
                          const struct object_step *step, bool is_numbered)
{
    const char *before = is_numbered ? ", \"related\": \"" : ", \"related_unknown\": \"";
    bool is_any = false;
    for (unsigned i = 0; i < step->related_count; i++) {
        if ((step->related[i].number != OBJECT_UNNUMBERED) != is_numbered)
            continue;
        text_add(out, is_any ? " " : before);
        is_any = true;
        event_print_object(out, model, step->related[i].type, step->related[i].number, step->related[i].id);
    }
    if (is_any)
        text_char(out, '"');
}

void event_json(struct text *out, const struct recording *recording, const struct recording_event *event,
                const struct object_step *step, bool is_first)
{
    const struct recording_model *model = recording_model(recording);
    const struct recording_tracepoint *tracepoint = event->tracepoint;
    text_add(out, is_first ? "\n{\"lcore\": " : ",\n{\"lcore\": ");
    number_unsigned(out, event->thread);
    text_add(out, ", \"tpoint\": ");
    number_unsigned(out, tracepoint->id);
    text_add(out, ", \"tsc\": ");
    json_unsigned(out, event->stamp);
    text_add(out, ", \"time_ns\": ");
    json_unsigned(out, recording_time(recording, event->stamp));
    if (event->thread_name[0]) {
        text_add(out, ", \"thread\": ");
        json_string(out, event->thread_name);
    }
    write_owner(out, recording, event);
    if (event->size) {
        text_add(out, ", \"size\": ");
        number_unsigned(out, event->size);
    }
    if (event->lost) {
        text_add(out, ", \"lost_before\": ");
        json_unsigned(out, event->lost);
    }
    if (step->own->type >= 0)
        write_object(out, model, event, step);
    write_related(out, model, step, true);
    write_related(out, model, step, false);
    if (tracepoint->argument_count) {
        text_add(out, ", \"args\": [");
        for (unsigned i = 0; i < tracepoint->argument_count; i++) {
            text_add(out, i ? ", " : "");
            write_value(out, event, i);
        }
        text_char(out, ']');
    }
    text_char(out, '}');
}
