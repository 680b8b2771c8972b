/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of a page, as JSON. Names are untrusted: what they cannot contain afterwards is the character with which
 * an element could begin or end. */
#include "export/html/page.h"

#include <inttypes.h>
#include <string.h>

#include "print/json.h"

static const char *separated(bool *is_first)
{
    const char *separator = *is_first ? "" : ",\n";
    *is_first = false;
    return separator;
}

static void put_bytes(struct text *out, const char *bytes, size_t length)
{
    text_char(out, '"');
    json_escape(out, bytes, length);
    text_char(out, '"');
}

static void put_head(const struct page *page, struct text *out, const struct export *export)
{
    const struct recording *recording = page->recording;
    const struct recording_model *model = page->model;
    text_add(out, "{\"path\": ");
    json_string(out, recording_path(recording));
    text_add(out, ", \"program\": ");
    json_string(out, model->name ? model->name : "");
    text_add(out, ", \"command\": ");
    json_string(out, model->command);
    text_add(out, ", \"host\": ");
    json_string(out, model->host);
    text_printf(out,
                ", \"pid\": %" PRIu32 ", \"spdk\": %s, \"start\": \"%" PRIu64 "\", \"realtime\": \"%" PRIu64
                "\", \"clockError\": ",
                model->pid, recording_is_spdk(recording) ? "true" : "false", page->start,
                recording_realtime(recording));
    json_unsigned(out, recording_clock_error(recording));
    text_printf(out,
                ",\n\"events\": %" PRIu64 ", \"lines\": %" PRIu64 ", \"first\": %" PRIu64
                ", \"last\": %" PRIu64 ", \"objectCount\": %" PRIu64 ", \"leftOut\": %" PRIu64,
                page->events, page->lines, page->events || page->lines ? page->first : 0, page->last,
                page->serials, page->sums.left_out);
    text_add(out, ",\n\"notes\": [");
    bool is_first = true;
    for (const char *note = export->notes ? export->notes : ""; *note;) {
        const size_t length = strcspn(note, "\n");
        text_add(out, separated(&is_first));
        put_bytes(out, note, length);
        note += length + (note[length] == '\n');
    }
    text_add(out, "]");
}

/* Returns the index of an enumeration, which is in the tables once; -1: there is none. When memory runs out `out`
 * fails. */
static int enumeration_index(struct table *known, const struct recording_enumeration *enumeration,
                             struct text *out)
{
    const uintptr_t found = (uintptr_t)table_get(known, &enumeration, sizeof enumeration);
    if (!enumeration || found)
        return enumeration ? (int)found - 1 : -1;
    if (table_set(known, &enumeration, sizeof enumeration, (void *)(known->count + 1)))
        out->failed = true;
    return (int)known->count - 1;
}

static void put_enumerations(const struct table *known, struct text *out)
{
    bool is_first = true;
    text_add(out, ",\n\"enumerations\": [");
    for (size_t i = 0; i < known->count; i++) {
        const struct recording_enumeration *enumeration;
        memcpy(&enumeration, known->entries[i].key, sizeof enumeration);
        text_printf(out, "%s{", separated(&is_first));
        for (size_t j = 0; j < enumeration->count; j++) {
            text_printf(out, "%s\"%" PRId64 "\": ", j ? ", " : "", enumeration->values[j].value);
            json_string(out, enumeration->values[j].name);
        }
        text_char(out, '}');
    }
    text_char(out, ']');
}

static void put_tracepoint(const struct page *page, struct text *out,
                           const struct recording_tracepoint *tracepoint, struct table *enumerations)
{
    text_add(out, "{\"name\": ");
    json_string(out, tracepoint->name);
    text_add(out, ", \"group\": ");
    json_string(out, tracepoint->group->name);
    text_printf(out, ", \"object\": %d, \"life\": %u, \"count\": %" PRIu64 ", \"arguments\": [",
                tracepoint->object, tracepoint->life, page->latency.counts[tracepoint->id & 0xffff]);
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        const struct recording_argument *argument = &tracepoint->arguments[i];
        text_add(out, i ? ", {\"name\": " : "{\"name\": ");
        json_string(out, argument->name);
        text_printf(out, ", \"kind\": %u, \"values\": %d}", argument->kind,
                    enumeration_index(enumerations, argument->enumeration, out));
    }
    text_add(out, "], \"relations\": [");
    for (unsigned i = 0; i < tracepoint->relation_count; i++)
        text_printf(out, "%s[%u, %u]", i ? ", " : "", tracepoint->relations[i].argument,
                    tracepoint->relations[i].object);
    text_add(out, "]}");
}

static void put_places(const struct page *page, struct text *out)
{
    bool is_first = true;
    text_add(out, ",\n\"types\": [");
    for (size_t i = 0; i < page->model->object_count; i++) {
        text_printf(out, "%s{\"letter\": ", separated(&is_first));
        put_bytes(out, &page->model->objects[i].letter, 1);
        text_add(out, ", \"name\": ");
        json_string(out, page->model->objects[i].name);
        text_add(out, page->has_ends[i] ? ", \"ends\": true}" : ", \"ends\": false}");
    }
    is_first = true;
    text_add(out, "],\n\"threads\": [");
    for (size_t i = 0; i < page->threads.count; i++) {
        const struct thread *thread = page->threads.entries[i].value;
        text_printf(out, "%s{\"id\": %" PRIu32 ", \"events\": %" PRIu64 ", \"summed\": %s, \"name\": ",
                    separated(&is_first), thread->id, thread->events, thread->counts ? "true" : "false");
        put_bytes(out, thread->name, strnlen(thread->name, sizeof thread->name));
        text_char(out, '}');
    }
    is_first = true;
    text_add(out, "],\n\"owners\": [");
    for (size_t i = 0; i < page->owners.count; i++) {
        text_add(out, separated(&is_first));
        put_bytes(out, page->owners.entries[i].key, page->owners.entries[i].length);
    }
    is_first = true;
    text_add(out, "],\n\"tracks\": [");
    for (size_t i = 0; i < page->tracks.count; i++) {
        const struct track *track = page->tracks.entries[i].value;
        text_printf(out, "%s{\"owner\": %" PRIu32 ", \"type\": %d, \"lanes\": %zu}", separated(&is_first),
                    track->owner, track->type, track->lane_count);
    }
    text_char(out, ']');
}

static void put_latency(const struct page *page, struct text *out, const struct latency_pair *pair,
                        bool *is_first)
{
    static const double shares[] = {0.5, 0.9, 0.99, 0.999};
    const struct latency *latency = &pair->latency;
    const uint32_t *indexes = page->tracepoint_indexes;
    text_printf(out,
                "%s{\"type\": %d, \"from\": %d, \"to\": %d, \"count\": %" PRIu64
                ", \"sum\": %.0f, \"max\": %" PRIu64 ", \"quantiles\": [",
                separated(is_first), pair->object,
                pair->from ? (int)indexes[pair->from->id & 0xffff] - 1 : -1,
                pair->to ? (int)indexes[pair->to->id & 0xffff] - 1 : -1, latency->count, (double)latency->sum,
                latency->largest);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        text_printf(out, "%s%" PRIu64, i ? ", " : "", latency_quantile(latency, shares[i]));
    text_add(out, "], \"rows\": [");
    const char *separator = "";
    for (unsigned octave = 0; octave < LATENCY_OCTAVES; octave++)
        for (unsigned row = 0; latency->octaves[octave] && row < 1u << LATENCY_BITS; row++)
            if (latency->octaves[octave][row]) {
                text_printf(out, "%s%u,%" PRIu64, separator, octave << LATENCY_BITS | row,
                            latency->octaves[octave][row]);
                separator = ",";
            }
    text_add(out, "]}");
}

static void put_latencies(const struct page *page, struct text *out)
{
    bool is_first = true;
    text_add(out, ",\n\"latencies\": [");
    for (size_t i = 0; i < 256; i++)
        if (page->latency.lives[i])
            put_latency(page, out, page->latency.lives[i], &is_first);
    for (size_t i = 0; i < page->tracepoint_count; i++)
        for (const struct latency_pair *pair = page->latency.pairs[page->tracepoints[i]->id & 0xffff]; pair;
             pair = pair->next)
            put_latency(page, out, pair, &is_first);
    is_first = true;
    text_add(out, "],\n\"slowest\": [");
    for (size_t type = 0; type < 256; type++)
        for (size_t i = 0; i < page->slowest_count[type]; i++) {
            const struct slow *slow = &page->slowest[type][i];
            text_printf(out,
                        "%s{\"type\": %d, \"serial\": %" PRIu64 ", \"number\": %" PRIu64
                        ", \"id\": \"%" PRIu64 "\", \"begun\": %" PRIu64 ", \"ended\": %" PRIu64 "}",
                        separated(&is_first), slow->type, slow->serial, slow->number, slow->id, slow->begun,
                        slow->ended);
        }
    text_char(out, ']');
}

static void put_sums(const struct page *page, struct text *out)
{
    const struct sums *sums = &page->sums;
    text_add(out, ",\n\"chunks\": [");
    for (size_t i = 0; i + 2 < page->chunks.count; i += 3)
        text_printf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "", page->chunks.values[i],
                    page->chunks.values[i + 1], page->chunks.values[i + 2]);
    text_printf(out, "],\n\"instant\": %" PRIu64 ", \"instants\": %d, \"series\": [", sums->instant,
                PAGE_INSTANTS);
    for (size_t i = 0; i < sums->series_count; i++)
        text_printf(out, "%s[%" PRIu32 ",%" PRIu32 "]", i ? "," : "", sums->series[i].track,
                    sums->series[i].tracepoint);
    text_printf(out, "],\n\"column\": %" PRIu64 ", \"columns\": %d, \"rows\": %d, \"heats\": [", sums->column,
                PAGE_HEAT_COLUMNS, PAGE_HEAT_ROWS);
    for (size_t i = 0; i < sums->heat_count; i++)
        text_printf(out, "%s[%d,%" PRId32 ",%" PRId32 "]", i ? "," : "", sums->heats[i].type,
                    sums->heats[i].from, sums->heats[i].to);
    text_char(out, ']');
}

void page_write_tables(struct page *page, struct text *out, const struct export *export)
{
    struct text json = {0};
    struct table enumerations = {0};
    bool is_first = true;
    put_head(page, &json, export);
    text_add(&json, ",\n\"tracepoints\": [");
    for (size_t i = 0; i < page->tracepoint_count; i++) {
        text_add(&json, separated(&is_first));
        put_tracepoint(page, &json, page->tracepoints[i], &enumerations);
    }
    text_char(&json, ']');
    put_enumerations(&enumerations, &json);
    table_free(&enumerations);
    put_places(page, &json);
    put_latencies(page, &json);
    put_sums(page, &json);
    text_add(&json, "}\n");
    text_add(out, "<script type=\"application/json\" id=\"tables\">\n");
    for (const char *at = text_string(&json), *end = at + json.length; at < end;) {
        const size_t plain = strcspn(at, "<");
        text_append(out, at, plain);
        at += plain;
        if (at < end && *at++ == '<')
            text_add(out, "\\u003c");
    }
    text_add(out, "</script>\n");
    out->failed |= json.failed;
    text_free(&json);
}
