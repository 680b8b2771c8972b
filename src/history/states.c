/* SPDX-License-Identifier: BSD-3-Clause */
/* A state of a map as bytes: numbers as src/export/html/column.h describes them; what is signed is folded. For each key
 * its number, and then
 *
 *     HISTORY_NUMBERS  the value
 *     HISTORY_STATS    the average, the count, the total
 *     HISTORY_ROWS     the first row that is not empty, how many there are from there on, and their counts
 *     HISTORY_SERIES   how many points there are, and of each its interval and value
 *     HISTORY_TEXTS    the number of the text
 *
 * Each state is readable without the others, so that some can be left out. */
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "history/history.h"
#include "print/histogram.h"
#include "print/json.h"
#include "print/series.h"
#include "type/aggregation.h"

static enum history_kind kind_of(const struct type *type)
{
    static const enum history_kind kinds[] = {
        [AGGREGATION_NUMBER] = HISTORY_NUMBERS, [AGGREGATION_STATS] = HISTORY_STATS,
        [AGGREGATION_ROWS] = HISTORY_ROWS,      [AGGREGATION_SERIES] = HISTORY_SERIES,
        [AGGREGATION_TEXT] = HISTORY_TEXTS,
    };
    if (type_is_aggregation(type))
        return kinds[type->aggregation->shape];
    return type->kind == TYPE_INTEGER ? HISTORY_NUMBERS : HISTORY_TEXTS;
}

struct history_map *history_find(struct history *history, const char *name)
{
    for (struct history_map *map = history->maps; map; map = map->next)
        if (!strcmp(map->name, name))
            return map;
    return NULL;
}

/* ---- what is told of a map's type ---- */

static void put_bound(struct text *out, bool is_there, int64_t bound)
{
    if (is_there)
        json_signed(out, bound);
    else
        text_add(out, "null");
}

static void put_rows(struct text *out, const struct type *type)
{
    text_add(out, ", \"rows\": [");
    for (uint32_t row = 0; row < type_rows(type); row++) {
        const struct histogram_bounds bounds = type->aggregation->bounds(type, row);
        struct text label = {0};
        histogram_label(&label, type, row);
        text_add(out, row ? ",[" : "[");
        json_string(out, text_string(&label));
        text_char(out, ',');
        put_bound(out, bounds.has_low, bounds.low);
        text_char(out, ',');
        put_bound(out, bounds.has_high, bounds.high);
        text_char(out, ']');
        out->failed |= label.failed;
        text_free(&label);
    }
    text_char(out, ']');
}

static void put_head(struct history_map *map, const struct map_snapshot *snapshot)
{
    struct text *out = &map->head;
    const struct type *key = snapshot->key, *value = snapshot->value;
    text_add(out, ", \"type\": ");
    json_string(out, type_is_aggregation(value) ? value->aggregation->name : "");
    text_add(out, ", \"columns\": [");
    for (uint32_t i = 0; map->is_keyed && key->kind == TYPE_TUPLE && i < key->count; i++) {
        text_add(out, i ? "," : "");
        json_string(out, type_is_record(key) && key->fields[i].name ? key->fields[i].name : "");
    }
    text_char(out, ']');
    if (map->kind == HISTORY_ROWS)
        put_rows(out, value);
    if (map->kind == HISTORY_SERIES)
        text_printf(out, ", \"interval\": %lld", (long long)value->step);
}

static struct history_map *add_map(struct history *history, const struct map_snapshot *snapshot)
{
    struct history_map **at = &history->maps, *map = calloc(1, sizeof *map);
    const struct type *value = snapshot->value;
    if (!map || !(map->name = strdup(snapshot->name))) {
        free(map);
        return NULL;
    }
    map->kind = kind_of(value);
    map->is_signed = value->is_signed;
    map->is_keyed = snapshot->key && snapshot->key->kind != TYPE_NONE;
    map->adds_up = type_is_aggregation(value) && value->aggregation->merge == MERGE_ADD &&
                   !value->aggregation->is_average &&
                   (map->kind == HISTORY_NUMBERS || map->kind == HISTORY_ROWS);
    map->stride = 1;
    put_head(map, snapshot);
    while (*at)
        at = &(*at)->next;
    return *at = map;
}

/* ---- one state ---- */

struct keeping {
    struct history *history;
    struct history_map *map;
    struct history_state *state;
    struct printer printer; /* writes keys and texts */
    struct text text;
    uint64_t divisor;
    size_t left;
    size_t pass; /* keys that come before those that are kept */
};

/* Finds the number of a text in a table, to which it is added if it is new. False: there is no room or no memory. */
static bool number_text(struct keeping *keeping, struct table *table, uint32_t *number)
{
    struct text *text = &keeping->text;
    text_truncate(text, HISTORY_TEXT_MAX);
    const void *found = table_get(table, text_string(text), text->length);
    *number = found ? (uint32_t)(uintptr_t)found - 1 : (uint32_t)table->count;
    if (found)
        return true;
    if (table->count >= HISTORY_ALL_KEYS_MAX || keeping->history->bytes >= HISTORY_BYTES_MAX)
        return false;
    if (text->failed || table_set(table, text_string(text), text->length,
                                  (void *)(uintptr_t)(*number + 1ull))) { // NOLINT(performance-no-int-to-ptr)
        keeping->history->failed = true;
        return false;
    }
    keeping->history->bytes += text->length;
    return true;
}

static bool number_key(struct keeping *keeping, const struct type *type, const void *key, uint32_t *number)
{
    text_clear(&keeping->text);
    const bool has_parts = keeping->map->is_keyed && type->kind == TYPE_TUPLE;
    for (uint32_t i = 0; has_parts && i < type->count; i++) {
        if (i)
            text_char(&keeping->text, 0);
        print_text(&keeping->printer, type->fields[i].type, (const uint8_t *)key + type->fields[i].offset);
    }
    if (keeping->map->is_keyed && !has_parts)
        print_text(&keeping->printer, type, key);
    return number_text(keeping, &keeping->map->keys, number);
}

static uint64_t divided(uint64_t value, bool is_signed, uint64_t divisor)
{
    if (divisor <= 1)
        return value;
    return is_signed && (int64_t)value < 0 ? 0 - (0 - value) / divisor : value / divisor;
}

static void put_number(struct keeping *keeping, uint64_t value, uint64_t divisor)
{
    value = divided(value, keeping->map->is_signed, divisor);
    code_number(&keeping->state->cells, keeping->map->is_signed ? code_fold(value) : value);
}

static void put_counts(struct keeping *keeping, const struct type *type, const uint64_t *counts)
{
    struct text *out = &keeping->state->cells;
    uint32_t first = 0, end = type_rows(type);
    while (first < end && !counts[first])
        first++;
    while (end > first && !counts[end - 1])
        end--;
    code_number(out, first);
    code_number(out, end - first);
    for (uint32_t row = first; row < end; row++)
        code_number(out,
                    divided(counts[row], false, type->aggregation->ignores_divisor ? 1 : keeping->divisor));
}

static void put_points(struct keeping *keeping, const struct map_series *series)
{
    code_number(&keeping->state->cells, series->count);
    for (size_t i = 0; i < series->count; i++) {
        code_number(&keeping->state->cells, series->points[i].epoch);
        put_number(keeping, series->points[i].value, 1);
    }
}

static void put_value(struct keeping *keeping, const struct type *type, const void *value, uint32_t text)
{
    switch (keeping->map->kind) {
    case HISTORY_STATS: {
        uint64_t words[2];
        memcpy(words, value, sizeof words);
        put_number(keeping, aggregation_integer(type, value), keeping->divisor);
        code_number(&keeping->state->cells, words[1]);
        put_number(keeping, words[0], 1);
        break;
    }
    case HISTORY_NUMBERS:
        put_number(keeping,
                   type_is_aggregation(type) ? aggregation_integer(type, value) : value_integer(type, value),
                   keeping->divisor);
        break;
    case HISTORY_ROWS: put_counts(keeping, type, value); break;
    case HISTORY_SERIES: put_points(keeping, value); break;
    case HISTORY_TEXTS: code_number(&keeping->state->cells, text); break;
    }
}

static void keep_entry(void *state, const struct map_snapshot *snapshot, const struct map_entry *entry)
{
    struct keeping *keeping = state;
    uint32_t key, text = 0;
    if (keeping->pass) {
        keeping->pass--;
        return;
    }
    bool is_kept = number_key(keeping, snapshot->key, entry->key, &key);
    if (is_kept && keeping->map->kind == HISTORY_TEXTS) {
        text_clear(&keeping->text);
        print_value_divided(&keeping->printer, snapshot->value, entry->value, keeping->divisor);
        is_kept = number_text(keeping, &keeping->map->texts, &text);
    }
    if (!is_kept) {
        keeping->left++;
        return;
    }
    code_number(&keeping->state->cells, key);
    put_value(keeping, snapshot->value, entry->value, text);
}

static void count_entry(void *state, const struct map_snapshot *snapshot, const struct map_entry *entry)
{
    (void)snapshot, (void)entry;
    ++*(size_t *)state;
}

/* ---- how many states there may be ---- */

static void drop_state(struct history *history, struct history_state *state)
{
    history->bytes -= state->cells.length + sizeof *state;
    text_free(&state->cells);
}

/* Leaves out every second state, but not the newest one. */
static void thin_out(struct history *history, struct history_map *map)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->count; i++) {
        if ((map->count - i) % 2)
            map->states[kept++] = map->states[i];
        else
            drop_state(history, &map->states[i]);
    }
    map->states_left += map->count - kept;
    map->count = kept;
    map->stride *= 2;
}

/* Makes room for a state. All maps that are looked at have theirs at the same times. */
static bool make_room(struct history *history, struct history_map *map)
{
    const bool is_full = history->bytes >= HISTORY_BYTES_MAX;
    if (map->count >= HISTORY_STATES_MAX || is_full) {
        for (struct history_map *other = history->maps; other; other = other->next)
            if (other == map || is_full || (!map->is_printed && !other->is_printed))
                thin_out(history, other);
        if (!map->is_printed || is_full)
            history->period *= 2;
    }
    if (history->bytes >= HISTORY_BYTES_MAX)
        return false;
    if (vector_make_room(map->states, map->count, map->room))
        return true;
    history->failed = true;
    return false;
}

/* Whether a state that was printed is kept. With the first one, those that the map had until then are dropped. */
static bool take_printed(struct history *history, struct history_map *map)
{
    if (history->is_ending)
        return true;
    if (!map->is_printed) {
        for (size_t i = 0; i < map->count; i++)
            drop_state(history, &map->states[i]);
        map->count = map->states_left = map->skipped = 0;
        map->stride = 1;
        map->is_printed = true;
    }
    if (map->skipped++ % map->stride)
        map->states_left++;
    return !((map->skipped - 1) % map->stride);
}

/* A state at the end takes the place of one that was taken just before, and a series has its past in itself. */
static void replace_last(struct history *history, struct history_map *map, uint64_t time)
{
    if (!map->count)
        return;
    struct history_state *last = &map->states[map->count - 1];
    const bool is_again = history->is_ending && !map->is_printed && time - last->time < history->period &&
                          map->emptied <= last->time;
    if (is_again || (map->kind == HISTORY_SERIES && map->emptied <= last->time)) {
        drop_state(history, last);
        map->count--;
    }
}

void history_keep(struct history *history, struct printer *printer, const struct map_snapshot *snapshot,
                  uint64_t time, size_t top, uint64_t divisor, bool is_own)
{
    struct history_map *map = history_find(history, snapshot->name);
    const bool is_keyed = snapshot->key && snapshot->key->kind != TYPE_NONE;
    if (!map && !snapshot->count && is_keyed)
        return;
    if (!map && !(map = add_map(history, snapshot))) {
        history->failed = true;
        return;
    }
    if (history->is_ending && map->is_printed && is_keyed && !snapshot->count)
        return; /* nothing is printed of it */
    if (!is_own && !take_printed(history, map))
        return;
    if (map->count && map->states[map->count - 1].time > time)
        time = map->states[map->count - 1].time; /* events are handled some time after their own */
    replace_last(history, map, time);
    if (!make_room(history, map)) {
        map->states_left++;
        return;
    }
    struct history_state *state = &map->states[map->count++];
    *state = (struct history_state){.time = time, .emptied = map->emptied};
    struct keeping keeping = {history, map, state, *printer, {0}, divisor ? divisor : 1, 0, 0};
    keeping.printer.out = &keeping.text;
    keeping.printer.scratch = (struct text){0};
    keeping.printer.json = false;
    keeping.printer.is_terminal = false;
    keeping.printer.watcher = NULL;
    /* The script's order says which are the last ones of it that are printed; else those with the largest values are kept. */
    const struct printer *order = top ? printer : NULL;
    size_t keys = 0;
    int error = 0;
    if (snapshot->count > HISTORY_KEYS_MAX)
        error = map_snapshot_each(order, snapshot, top, count_entry, &keys);
    keeping.left = keeping.pass = keys > HISTORY_KEYS_MAX ? keys - HISTORY_KEYS_MAX : 0;
    if (snapshot->count && !error)
        error = map_snapshot_each(order, snapshot, top, keep_entry, &keeping);
    history->failed |= error || state->cells.failed;
    history->bytes += state->cells.length + sizeof *state;
    if (keeping.left > map->keys_left)
        map->keys_left = keeping.left;
    printer_free(&keeping.printer);
    text_free(&keeping.text);
}

void history_maps_free(struct history *history)
{
    while (history->maps) {
        struct history_map *map = history->maps;
        history->maps = map->next;
        for (size_t i = 0; i < map->count; i++)
            text_free(&map->states[i].cells);
        free(map->states);
        table_free(&map->keys);
        table_free(&map->texts);
        text_free(&map->head);
        free(map->name);
        free(map);
    }
}
