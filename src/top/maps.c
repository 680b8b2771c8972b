/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "bpf/action.h"
#include "bpf/host.h"
#include "lang/check/check.h"
#include "print/map.h"
#include "print/series.h"
#include "print/snapshot.h"
#include "top/quantile.h"

enum { PERIOD_MAX_S = 5 /* a map that is emptied less often is shown as it is */ };

enum top_shape {
    SHAPE_COUNT,  /* a number that is counted up: totals and rates */
    SHAPE_VALUE,  /* a number that is what it is: min, max */
    SHAPE_STATS,  /* avg, stats */
    SHAPE_ROWS,   /* hist, lhist … */
    SHAPE_SERIES, /* tseries */
    SHAPE_TEXT,   /* anything else, shown as it is printed */
};

struct map_table { /* what stands behind a table */
    struct top_maps *maps;
    enum top_shape shape;
    size_t index;             /* of its map in the image; of the table of several, unused */
    bool is_several;          /* its rows are maps without keys */
    const struct type *key;   /* NULL: none */
    const struct type *value; /* of the table of several: NULL */
    uint64_t cleared;         /* when the script emptied the map last; 0: never */
    bool was_cut;             /* at the last refresh there were more keys than rows */
};

struct top_maps {
    struct session *session;
    struct top_table *tables;
    struct map_table *behind;
    size_t count;
};

/* ---- columns ---- */

static const struct top_column columns_count[] = {
    {"TOTAL", TOP_INTEGER, 14}, {"PER SEC", TOP_RATE, 10}, {"SHARE", TOP_PERCENT, 6}};
static const struct top_column columns_value[] = {{"VALUE", TOP_INTEGER, 14}, {"CHANGE", TOP_INTEGER, 10}};
static const struct top_column columns_stats[] = {{"COUNT", TOP_INTEGER, 10},
                                                  {"PER SEC", TOP_RATE, 9},
                                                  {"AVERAGE", TOP_REAL, 12},
                                                  {"TOTAL", TOP_INTEGER, 12}};
static const struct top_column columns_rows[] = {{"COUNT", TOP_INTEGER, 9}, {"PER SEC", TOP_RATE, 8},
                                                 {"P50", TOP_INTEGER, 7},   {"P90", TOP_INTEGER, 7},
                                                 {"P99", TOP_INTEGER, 7},   {"P99.9", TOP_INTEGER, 7}};
static const struct top_column columns_series[] = {
    {"LAST", TOP_INTEGER, 12}, {"MIN", TOP_INTEGER, 10}, {"MAX", TOP_INTEGER, 10}};

static const struct {
    const struct top_column *columns;
    size_t count;
    const char *history; /* NULL: none */
} layouts[] = {
    [SHAPE_COUNT] = {columns_count, 3, "RATE"},        [SHAPE_VALUE] = {columns_value, 2, "VALUE"},
    [SHAPE_STATS] = {columns_stats, 4, "AVERAGE"},     [SHAPE_ROWS] = {columns_rows, 6, "RATE"},
    [SHAPE_SERIES] = {columns_series, 3, "INTERVALS"}, [SHAPE_TEXT] = {NULL, 0, NULL},
};
enum { COUNT_TOTAL, COUNT_RATE, COUNT_SHARE };
enum { VALUE_NOW, VALUE_CHANGE };
enum { STATS_COUNT, STATS_RATE, STATS_AVERAGE, STATS_TOTAL };
enum { ROWS_COUNT, ROWS_RATE, ROWS_QUANTILES };
enum { SERIES_NEWEST, SERIES_MINIMUM, SERIES_MAXIMUM };

static enum top_shape shape_of(const struct type *type)
{
    if (!type_is_aggregation(type))
        return type->kind == TYPE_INTEGER ? SHAPE_COUNT : SHAPE_TEXT;
    if (type->aggregation->is_average)
        return SHAPE_STATS;
    switch (type->aggregation->shape) {
    case AGGREGATION_NUMBER: return type->aggregation->merge == MERGE_ADD ? SHAPE_COUNT : SHAPE_VALUE;
    case AGGREGATION_STATS: return SHAPE_STATS;
    case AGGREGATION_ROWS: return SHAPE_ROWS;
    case AGGREGATION_SERIES: return SHAPE_SERIES;
    default: return SHAPE_TEXT;
    }
}

/* ---- what stands behind a table ---- */

static struct map_table *behind(const struct top_table *table)
{
    return table->state;
}

static const struct image_map *map_at(const struct top_maps *maps, size_t index)
{
    return &session_image(maps->session)->maps[index];
}

/* The index of the map of a row in the table of several. */
static size_t map_of_row(const struct top_row *row)
{
    uint64_t index;
    memcpy(&index, row->bytes, sizeof index);
    return (size_t)index;
}

static const struct type *type_of(const struct top_table *table, const struct top_row *row)
{
    const struct map_table *state = behind(table);
    return state->is_several ? map_at(state->maps, map_of_row(row))->value : state->value;
}

/* Half of a row's own bytes is the value, half the one before. */
static const uint8_t *value_of(const struct top_table *table, const struct top_row *row, bool before)
{
    return row->bytes + table->key_bytes + (before ? table->value_bytes / 2 : 0);
}

/* ---- labels and values as text ---- */

struct printing {
    const struct top_table *table;
    const struct top_row *row;
    struct printer printer;
};

static int print_key_guarded(void *state)
{
    struct printing *printing = state;
    print_key(&printing->printer, behind(printing->table)->key, printing->row->bytes);
    return 0;
}

static int print_value_guarded(void *state)
{
    struct printing *printing = state;
    print_value(&printing->printer, type_of(printing->table, printing->row),
                value_of(printing->table, printing->row, false));
    return 0;
}

static int print_with(const struct top_table *table, const struct top_row *row, struct text *out,
                      int (*print)(void *))
{
    struct session *session = behind(table)->maps->session;
    struct printing printing = {table, row, *session_printer(session)};
    printing.printer.out = out;
    printing.printer.json = false;
    printing.printer.is_terminal = true;
    printing.printer.bcc_histograms = false;
    printing.printer.scratch = (struct text){0};
    const int error = session_guarded(session, print, &printing);
    printer_free(&printing.printer);
    return error;
}

static void write_label(const struct top_table *table, const struct top_row *row, struct text *out)
{
    const struct map_table *state = behind(table);
    if (state->is_several)
        text_add(out, map_at(state->maps, map_of_row(row))->name);
    else if (!state->key)
        text_add(out, table->name);
    else
        print_with(table, row, out, print_key_guarded);
}

static void write_value(const struct top_table *table, const struct top_row *row, struct text *out)
{
    print_with(table, row, out, print_value_guarded);
}

static int compare_keys(const struct top_table *table, const struct top_row *a, const struct top_row *b)
{
    const struct map_table *state = behind(table);
    if (state->is_several)
        return strcmp(map_at(state->maps, map_of_row(a))->name, map_at(state->maps, map_of_row(b))->name);
    return state->key ? map_key_compare(state->key, a->bytes, b->bytes) : 0;
}

static bool make_bars(const struct top_table *table, const struct top_row *row, struct top_bars *bars)
{
    return behind(table)->shape == SHAPE_ROWS &&
           histogram_bars(behind(table)->value, (const uint64_t *)(const void *)value_of(table, row, false),
                          (const uint64_t *)(const void *)value_of(table, row, true), bars);
}

static const struct top_table_source source = {write_label, compare_keys, make_bars, NULL};
static const struct top_table_source text_source = {write_label, compare_keys, NULL, write_value};

/* ---- figures ---- */

static double number_of(const struct type *type, const void *value)
{
    const uint64_t bits =
        type_is_aggregation(type) ? aggregation_integer(type, value) : value_integer(type, value);
    return type->is_signed ? (double)(int64_t)bits : (double)bits;
}

static double word_of(const struct type *type, const uint8_t *value, size_t word)
{
    uint64_t bits;
    memcpy(&bits, value + word * 8, 8);
    return type->is_signed && !word ? (double)(int64_t)bits : (double)bits;
}

static double per_second(const struct top_table *table, double change)
{
    const double seconds = top_table_seconds(table);
    return seconds > 0 ? change / seconds : 0;
}

/* A refresh that comes too soon for rates is none for the history. */
static void push(const struct top_table *table, struct top_row *row, double value)
{
    if (table->elapsed)
        top_row_push(row, value);
}

static void count_figures(const struct top_table *table, struct top_row *row, const struct type *type,
                          const uint8_t *now, const uint8_t *before)
{
    const double total = number_of(type, now), change = total - number_of(type, before);
    row->figures[TOP_TOTAL][COUNT_TOTAL] = total;
    row->figures[TOP_LAST][COUNT_TOTAL] = change;
    row->figures[TOP_TOTAL][COUNT_RATE] = row->figures[TOP_LAST][COUNT_RATE] = per_second(table, change);
    push(table, row, row->figures[TOP_LAST][COUNT_RATE]);
}

static void value_figures(const struct top_table *table, struct top_row *row, const struct type *type,
                          const uint8_t *now, const uint8_t *before)
{
    const double value = number_of(type, now);
    for (int span = 0; span < TOP_SPANS; span++) {
        row->figures[span][VALUE_NOW] = value;
        row->figures[span][VALUE_CHANGE] = top_row_is_new(row) ? 0 : value - number_of(type, before);
    }
    push(table, row, value);
}

static void stats_figures(const struct top_table *table, struct top_row *row, const struct type *type,
                          const uint8_t *now, const uint8_t *before)
{
    const double totals[TOP_SPANS] = {word_of(type, now, 0),
                                      word_of(type, now, 0) - word_of(type, before, 0)};
    const double counts[TOP_SPANS] = {word_of(type, now, 1),
                                      word_of(type, now, 1) - word_of(type, before, 1)};
    for (int span = 0; span < TOP_SPANS; span++) {
        row->figures[span][STATS_COUNT] = counts[span];
        row->figures[span][STATS_RATE] = per_second(table, counts[TOP_LAST]);
        row->figures[span][STATS_AVERAGE] = counts[span] > 0 ? totals[span] / counts[span] : 0;
        row->figures[span][STATS_TOTAL] = totals[span];
    }
    push(table, row, row->figures[TOP_LAST][STATS_AVERAGE]);
}

static void rows_figures(const struct top_table *table, struct top_row *row, const struct type *type,
                         const uint8_t *now, const uint8_t *before)
{
    const size_t rows = type_rows(type);
    const uint64_t *counts = (const uint64_t *)(const void *)now,
                   *old = (const uint64_t *)(const void *)before;
    uint64_t *last = calloc(rows, sizeof *last);
    for (size_t i = 0; last && i < rows; i++)
        last[i] = counts[i] > old[i] ? counts[i] - old[i] : 0;
    const uint64_t *const of_span[TOP_SPANS] = {counts, last ? last : old};
    for (int span = 0; span < TOP_SPANS; span++) {
        row->figures[span][ROWS_COUNT] = (double)histogram_total(of_span[span], rows);
        for (int i = 0; i < QUANTILES; i++)
            row->figures[span][ROWS_QUANTILES + i] =
                histogram_quantile(type, of_span[span], quantile_shares[i]);
    }
    const double rate = per_second(table, row->figures[TOP_LAST][ROWS_COUNT]);
    row->figures[TOP_TOTAL][ROWS_RATE] = row->figures[TOP_LAST][ROWS_RATE] = rate;
    push(table, row, rate);
    free(last);
}

static double point_value(const struct type *type, const struct series_point *point)
{
    return type->is_signed ? (double)(int64_t)point->value : (double)point->value;
}

/* A series has its own history: an element for each interval up to the newest of the map. */
static void series_figures(struct top_row *row, const struct type *type, const struct map_series *series)
{
    double figures[TOP_FIGURES] = {0};
    memset(row->history, 0, sizeof row->history);
    for (size_t i = 0; i < series->count; i++) {
        const double value = point_value(type, &series->points[i]);
        const uint64_t ago = series->last - series->points[i].epoch;
        if (ago < TOP_HISTORY)
            row->history[TOP_HISTORY - 1 - ago] = (float)value;
        figures[SERIES_NEWEST] = value;
        figures[SERIES_MINIMUM] = !i || value < figures[SERIES_MINIMUM] ? value : figures[SERIES_MINIMUM];
        figures[SERIES_MAXIMUM] = !i || value > figures[SERIES_MAXIMUM] ? value : figures[SERIES_MAXIMUM];
    }
    memcpy(row->figures[TOP_TOTAL], figures, sizeof figures);
    memcpy(row->figures[TOP_LAST], figures, sizeof figures);
}

static void set_figures(struct top_table *table, struct top_row *row, const struct type *type)
{
    static void (*const figures[])(const struct top_table *, struct top_row *, const struct type *,
                                   const uint8_t *, const uint8_t *) = {
        [SHAPE_COUNT] = count_figures,
        [SHAPE_VALUE] = value_figures,
        [SHAPE_STATS] = stats_figures,
        [SHAPE_ROWS] = rows_figures,
    };
    const enum top_shape shape = shape_of(type);
    if (shape < sizeof figures / sizeof *figures && figures[shape])
        figures[shape](table, row, type, value_of(table, row, false), value_of(table, row, true));
}

/* ---- reading ---- */

struct reading {
    struct top_table *table;
    size_t index;
    uint64_t elements; /* of the map */
};

static void take_entry(void *state, const struct map_snapshot *map, const struct map_entry *entry)
{
    struct reading *reading = state;
    struct top_table *table = reading->table;
    const struct map_table *of = behind(table);
    const uint64_t index = reading->index;
    reading->elements = map->count;
    const uint64_t none = 0;
    struct top_row *row = top_table_row(table, of->is_several ? (const void *)&index
                                               : of->key      ? entry->key
                                                              : (const void *)&none);
    if (!row)
        return;
    if (type_has_shape(map->value, AGGREGATION_SERIES)) {
        series_figures(row, map->value, entry->value);
        return;
    }
    uint8_t *value = top_row_value(table, row), *before = value + table->value_bytes / 2;
    memcpy(before, value, table->value_bytes / 2);
    memcpy(value, entry->value, type_storage(map->value));
    if (top_row_is_new(row) && of->was_cut) /* what it had before is unknown */
        memcpy(before, value, table->value_bytes / 2);
    if (table->is_periodic)
        memset(before, 0, table->value_bytes / 2);
    set_figures(table, row, map->value);
}

static int read_guarded(void *state)
{
    struct reading *reading = state;
    struct session *session = behind(reading->table)->maps->session;
    return snapshot_each(session_host(session), session_image(session), reading->index,
                         top_table_room(reading->table), take_entry, reading);
}

static int read_map(struct top_table *table, size_t index, uint64_t *elements)
{
    struct reading reading = {.table = table, .index = index};
    const int error = session_guarded(behind(table)->maps->session, read_guarded, &reading);
    *elements = reading.elements;
    return error;
}

static int refresh_table(struct top_maps *maps, struct top_table *table, uint64_t now)
{
    struct map_table *of = behind(table);
    const struct image *image = session_image(maps->session);
    uint64_t elements = 0;
    int error = 0;
    top_table_begin(table, now);
    for (size_t i = 0; of->is_several && i < image->map_count && !error; i++)
        if (image->maps[i].name[0] == '@' && image->maps[i].value && !image->maps[i].key &&
            shape_of(image->maps[i].value) == SHAPE_COUNT)
            error = read_map(table, i, &elements);
    if (!of->is_several)
        error = read_map(table, of->index, &elements);
    top_table_end(table);
    of->was_cut = table->count == top_table_room(table);
    /* An element of others is a row or an interval of a key: how many keys there are is not known. */
    const bool has_elements = of->shape != SHAPE_ROWS && of->shape != SHAPE_SERIES;
    table->keys = of->was_cut && has_elements ? elements : table->count;
    if (of->shape == SHAPE_COUNT && !of->is_several)
        top_table_shares(table, COUNT_TOTAL, COUNT_SHARE);
    return error;
}

int top_maps_refresh(struct top_maps *maps, uint64_t now)
{
    int error = 0;
    for (size_t i = 0; i < maps->count; i++) {
        struct top_table *table = &maps->tables[i];
        const uint64_t since = now - maps->behind[i].cleared;
        if (table->is_periodic && since <= (uint64_t)PERIOD_MAX_S * NSEC_PER_SEC * 2)
            continue;
        table->is_periodic = false;
        const int failed = refresh_table(maps, table, now);
        error = error ? error : failed;
    }
    return error;
}

/* ---- what the script does with its maps ---- */

static bool is_call(const struct action *action, const char *name)
{
    return action->builtin && !strcmp(action->builtin->name, name);
}

static bool empties(const struct action *action)
{
    return is_call(action, "clear") || is_call(action, "zero");
}

static bool prints_map(const struct action *action)
{
    return is_call(action, "print") && !action->field_count;
}

static size_t map_of_action(const struct action *action)
{
    return (size_t)check_argument(action->call, 0)->map.symbol->index;
}

bool top_maps_watch(struct top_maps *maps, const struct action *action, uint64_t now)
{
    if (prints_map(action))
        return true;
    for (size_t i = 0; empties(action) && i < maps->count; i++) {
        struct map_table *of = &maps->behind[i];
        struct top_table *table = &maps->tables[i];
        if (of->is_several || of->index != map_of_action(action))
            continue;
        const uint64_t period = of->cleared ? now - of->cleared : 0;
        of->cleared = now;
        table->is_periodic = period && period <= (uint64_t)PERIOD_MAX_S * NSEC_PER_SEC;
        if (!table->is_periodic)
            continue;
        table->period_ns = period;
        table->time = now - period;
        refresh_table(maps, table, now);
    }
    return false;
}

/* Whether the map is only the script's own: it is cleared at the end, and never printed. */
static bool is_note(const struct session *session, size_t index)
{
    const struct action_table *actions = session_actions(session);
    bool is_cleared = false;
    for (size_t i = 0; i < actions->count; i++) {
        const struct action *action = &actions->items[i];
        if (!empties(action) && !prints_map(action))
            continue;
        if (map_of_action(action) != index)
            continue;
        if (prints_map(action))
            return false;
        is_cleared |= action->probe && !strcasecmp(action->probe, "end");
    }
    return is_cleared;
}

/* ---- tables ---- */

struct found { /* a map that becomes a table */
    size_t index;
    int rank;
};

static int compare_found(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool is_single(const struct image_map *map)
{
    return !map->key && shape_of(map->value) == SHAPE_COUNT;
}

static void add_table(struct top_maps *maps, size_t index, bool is_several, size_t value_bytes, uint64_t now)
{
    const struct image_map *map = map_at(maps, index);
    struct map_table *of = &maps->behind[maps->count];
    struct top_table *table = &maps->tables[maps->count++];
    *of = (struct map_table){
        .maps = maps,
        .shape = shape_of(map->value),
        .index = index,
        .is_several = is_several,
        .key = is_several || !map->key || map->key->kind == TYPE_NONE ? NULL : map->key,
        .value = is_several ? NULL : map->value,
    };
    *table = (struct top_table){
        .name = is_several ? "maps without keys" : map->name,
        .key_title = is_several ? "MAP" : "KEY",
        .history_title = layouts[of->shape].history,
        .columns = layouts[of->shape].columns,
        .column_count = layouts[of->shape].count - is_several, /* there is no share of different things */
        .key_bytes = of->key ? type_storage(of->key) : 8,
        .value_bytes = of->shape == SHAPE_SERIES ? 0 : 2 * value_bytes,
        .has_bars = of->shape == SHAPE_ROWS,
        .is_single = !is_several && !of->key,
        .source = of->shape == SHAPE_TEXT ? &text_source : &source,
        .state = of,
        .time = now,
        .sort = layouts[of->shape].count ? 0 : -1,
    };
}

static void make_tables(struct top_maps *maps, struct found *found, uint64_t now)
{
    const struct image *image = session_image(maps->session);
    size_t count = 0, singles = 0, widest = 0;
    for (size_t i = 0; i < image->map_count; i++) {
        const struct image_map *map = &image->maps[i];
        if (map->name[0] != '@' || !map->value)
            continue;
        const int rank = is_note(maps->session, i) ? 2 : !type_is_aggregation(map->value);
        if (is_single(map)) {
            singles++;
            widest = type_storage(map->value) > widest ? type_storage(map->value) : widest;
        }
        found[count++] = (struct found){i, rank};
    }
    qsort(found, count, sizeof *found, compare_found);
    for (size_t i = 0; i < count; i++) {
        const struct image_map *map = &image->maps[found[i].index];
        if (!is_single(map) || singles == 1)
            add_table(maps, found[i].index, false, type_storage(map->value), now);
        else if (widest) {
            add_table(maps, found[i].index, true, widest, now);
            widest = 0; /* the table is there */
        }
    }
}

int top_maps_make(struct session *session, uint64_t now, struct top_maps **result)
{
    const size_t room = session_image(session)->map_count + 1;
    struct top_maps *maps = calloc(1, sizeof *maps);
    struct found *found = calloc(room, sizeof *found);
    *result = maps;
    if (maps) {
        maps->session = session;
        maps->tables = calloc(room, sizeof *maps->tables);
        maps->behind = calloc(room, sizeof *maps->behind);
    }
    const bool has_memory = maps && found && maps->tables && maps->behind;
    if (has_memory)
        make_tables(maps, found, now);
    free(found);
    return has_memory ? 0 : -ENOMEM;
}

void top_maps_free(struct top_maps *maps)
{
    if (!maps)
        return;
    for (size_t i = 0; maps->tables && i < maps->count; i++)
        top_table_free(&maps->tables[i]);
    free(maps->tables);
    free(maps->behind);
    free(maps);
}

struct top_table *top_maps_tables(const struct top_maps *maps, size_t *count)
{
    *count = maps->count;
    return maps->tables;
}

/* ---- saving ---- */

struct saving {
    struct top_maps *maps;
    struct printer printer;
    size_t index;
};

/* The table of a map of which the last whole period is shown; NULL: the map is shown as it is. */
static const struct top_table *periodic_table(const struct top_maps *maps, size_t index)
{
    for (size_t i = 0; i < maps->count; i++)
        if (maps->tables[i].is_periodic && maps->behind[i].index == index && maps->tables[i].value_bytes)
            return &maps->tables[i];
    return NULL;
}

/* Makes the elements of a map of histograms of its rows: the key, the number of the row, and its count. Returns how many;
 * `bytes` NULL: they are only counted. */
static size_t put_elements(const struct top_table *table, size_t rows, uint8_t *bytes,
                           struct map_entry *entries)
{
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        for (uint64_t row = 0; row < rows; row++) {
            const uint8_t *value = value_of(table, table->rows[i], false) + row * sizeof(uint64_t);
            static const uint64_t nothing = 0;
            if (!memcmp(value, &nothing, sizeof nothing))
                continue;
            if (bytes) {
                uint8_t *key = bytes + count * (table->key_bytes + sizeof row);
                memcpy(key, table->rows[i]->bytes, table->key_bytes);
                memcpy(key + table->key_bytes, &row, sizeof row);
                entries[count] = (struct map_entry){key, value};
            }
            count++;
        }
    return count;
}

/* Prints the map as it was when its last period ended. */
static int save_period(struct saving *saving, const struct top_table *table)
{
    const struct map_table *of = behind(table);
    const bool has_rows = of->shape == SHAPE_ROWS && of->key;
    const size_t rows = has_rows ? type_rows(of->value) : 0;
    const size_t count = has_rows ? put_elements(table, rows, NULL, NULL) : table->count;
    struct map_entry *entries = calloc(count + 1, sizeof *entries);
    uint8_t *bytes = calloc(count + 1, table->key_bytes + sizeof(uint64_t));
    int error = entries && bytes ? 0 : -ENOMEM;
    if (!error && has_rows)
        put_elements(table, rows, bytes, entries);
    for (size_t i = 0; !error && !has_rows && i < count; i++)
        entries[i] = (struct map_entry){table->rows[i]->bytes, value_of(table, table->rows[i], false)};
    const struct map_snapshot snapshot = {table->name, of->key, of->value, entries, count};
    if (!error)
        error = print_map(&saving->printer, &snapshot, 0, 0);
    free(entries);
    free(bytes);
    return error;
}

static int save_guarded(void *state)
{
    struct saving *saving = state;
    struct session *session = saving->maps->session;
    const struct top_table *table = periodic_table(saving->maps, saving->index);
    return table ? save_period(saving, table)
                 : snapshot_print(&saving->printer, session_host(session), session_image(session),
                                  saving->index, 0, 0, true);
}

int top_maps_save(struct top_maps *maps, struct text *out)
{
    const struct image *image = session_image(maps->session);
    struct saving saving = {maps, *session_printer(maps->session), 0};
    int error = 0;
    saving.printer.out = out;
    saving.printer.json = true;
    saving.printer.scratch = (struct text){0};
    for (size_t i = 0; i < image->map_count && !error; i++)
        if (image->maps[i].name[0] == '@' && image->maps[i].value) {
            saving.index = i;
            error = session_guarded(maps->session, save_guarded, &saving);
        }
    printer_free(&saving.printer);
    return error ? error : out->failed ? -ENOMEM : 0;
}
