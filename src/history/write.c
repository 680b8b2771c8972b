/* SPDX-License-Identifier: BSD-3-Clause */
/* The page: tables as JSON, then for each map its states, then the lines in parts, each of them compressed.
 *
 *     states  how many there are; columns of their times since the start, of when the map was emptied before, + 1 (0: it
 *             was not), and of how many bytes each state has; the bytes of all (states.c)
 *     lines   how many there are; columns of their times, kinds and lengths; the bytes of all */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/html/deflate.h"
#include "history/history.h"
#include "print/json.h"
/* page_head and page_tail: see tools/embed */
#include "history.inc"

struct page {
    const struct history *history;
    struct text *out;
    struct text bytes, buffer; /* what is compressed next; for zlib */
    int error;
};

static void put_parts(struct text *out, const char *const *parts)
{
    for (; *parts; parts++)
        text_add(out, *parts);
}

/* Writes the collected bytes as an element that the page's script finds by its name. */
static void put_element(struct page *page, const char *name)
{
    text_printf(page->out, "<script type=\"application/octet-stream\" class=\"%s\">", name);
    if (!page->error)
        page->error = page_deflate(page->out, &page->bytes, &page->buffer);
    text_add(page->out, "</script>\n");
    text_clear(&page->bytes);
}

/* Returns a time since the start. Numbers of the page's script are whole up to 2^53 ns. */
static uint64_t since_start(const struct history *history, uint64_t time)
{
    const uint64_t most = (1ull << 53) - 1;
    time = time > history->start ? time - history->start : 0;
    return time < most ? time : most;
}

/* ---- tables ---- */

/* Writes texts as an array of arrays of their parts, which NUL separates. */
static void put_texts(struct text *out, const char *name, const struct table *table)
{
    text_printf(out, ", \"%s\": [", name);
    for (size_t i = 0; i < table->count; i++) {
        const struct table_entry *entry = &table->entries[i];
        text_add(out, i ? ",[" : "[");
        for (size_t at = 0; at <= entry->length; at += strlen(entry->key + at) + 1) {
            text_add(out, at ? "," : "");
            json_string(out, entry->key + at);
        }
        text_char(out, ']');
    }
    text_char(out, ']');
}

static void put_map(struct text *out, const struct history_map *map)
{
    static const char *const kinds[] = {"numbers", "stats", "rows", "series", "texts"};
    text_add(out, "{\"name\": ");
    json_string(out, map->name);
    text_printf(
        out,
        ", \"kind\": \"%s\", \"signed\": %d, \"adds\": %d, \"keyed\": %d, \"printed\": %d, \"slow\": %d, "
        "\"keysLeft\": %zu, \"statesLeft\": %zu",
        kinds[map->kind], map->is_signed, map->adds_up, map->is_keyed, map->is_printed, map->is_slow,
        map->keys_left, map->states_left);
    text_append(out, text_string(&map->head), map->head.length);
    out->failed |= map->head.failed;
    put_texts(out, "keys", &map->keys);
    put_texts(out, "texts", &map->texts);
    text_char(out, '}');
}

static void put_tables(struct page *page)
{
    const struct history *history = page->history;
    struct text *out = &page->bytes;
    text_add(out, "{\"title\": ");
    json_string(out, history->title);
    text_printf(out,
                ", \"start\": \"%" PRIu64 "\", \"realtime\": \"%" PRId64 "\", \"end\": %" PRIu64
                ", \"json\": %d, \"replay\": %d, \"period\": %" PRIu64 ", \"linesLeft\": %" PRIu64
                ", \"failed\": %d, \"keysMax\": %d, \"statesMax\": %d,\n\"maps\": [",
                history->start, history->realtime, since_start(history, history->end), history->is_json,
                history->is_replay, history->period, history->lines.left, history->failed, HISTORY_KEYS_MAX,
                HISTORY_STATES_MAX);
    for (const struct history_map *map = history->maps; map; map = map->next) {
        text_add(out, map == history->maps ? "\n" : ",\n");
        put_map(out, map);
    }
    text_add(out, "]}\n");
    put_element(page, "tables");
}

/* ---- columns ---- */

static void put_column(struct page *page, struct numbers *column)
{
    code_column(&page->bytes, column->values, column->count);
    column->count = 0;
}

static void put_states(struct page *page, const struct history_map *map)
{
    const struct history *history = page->history;
    struct numbers times = {0}, emptied = {0}, lengths = {0};
    for (size_t i = 0; i < map->count; i++) {
        const struct history_state *state = &map->states[i];
        if (!numbers_add(&times, since_start(history, state->time)) ||
            !numbers_add(&emptied, state->emptied ? since_start(history, state->emptied) + 1 : 0) ||
            !numbers_add(&lengths, state->cells.length))
            page->error = -ENOMEM;
    }
    if (!page->error) {
        code_number(&page->bytes, map->count);
        put_column(page, &times);
        put_column(page, &emptied);
        put_column(page, &lengths);
    }
    for (size_t i = 0; i < map->count; i++)
        text_append(&page->bytes, text_string(&map->states[i].cells), map->states[i].cells.length);
    free(times.values);
    free(emptied.values);
    free(lengths.values);
    put_element(page, "states");
}

static void put_lines(struct page *page, struct history_part *part)
{
    for (size_t i = 0; i < part->times.count; i++)
        part->times.values[i] = since_start(page->history, part->times.values[i]);
    code_number(&page->bytes, part->times.count);
    put_column(page, &part->times);
    put_column(page, &part->kinds);
    put_column(page, &part->lengths);
    text_append(&page->bytes, text_string(&part->bytes), part->bytes.length);
    put_element(page, "lines");
}

int history_write(struct history *history, struct text *out)
{
    struct page page = {.history = history, .out = out};
    history_end_line(history);
    put_parts(out, page_head);
    put_tables(&page);
    for (const struct history_map *map = history->maps; map && !page.error; map = map->next)
        put_states(&page, map);
    for (size_t i = 0; i < history->lines.count && !page.error; i++)
        put_lines(&page, &history->lines.parts[i]);
    put_parts(out, page_tail);
    text_free(&page.bytes);
    text_free(&page.buffer);
    return page.error ? page.error : out->failed ? -ENOMEM : 0;
}
