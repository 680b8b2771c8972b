/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "chart/chart.h"
#include "print/series.h"
#include "type/aggregation.h"

static enum chart_kind kind_of(const struct type *type)
{
    if (!type_is_aggregation(type))
        return type->kind == TYPE_INTEGER || type->kind == TYPE_BOOL || type->kind == TYPE_ENUM
                   ? CHART_NUMBERS
                   : CHART_NONE;
    switch (type->aggregation->shape) {
    case AGGREGATION_NUMBER:
    case AGGREGATION_STATS: return CHART_NUMBERS;
    case AGGREGATION_ROWS: return CHART_ROWS;
    case AGGREGATION_SERIES: return CHART_SERIES;
    case AGGREGATION_TEXT: break;
    }
    return CHART_NONE;
}

static struct chart_map *find_map(struct chart *chart, const char *name, const struct type *value)
{
    struct chart_map **at = &chart->maps;
    for (; *at; at = &(*at)->next)
        if (!strcmp((*at)->name, name))
            return *at;
    struct chart_map *map = value ? calloc(1, sizeof *map) : NULL;
    if (!map || !(map->name = strdup(name))) {
        chart->failed |= value != NULL;
        free(map);
        return NULL;
    }
    map->kind = kind_of(value);
    map->value = value;
    map->adds_up = type_is_aggregation(value) && value->aggregation->merge == MERGE_ADD &&
                   value->aggregation->shape != AGGREGATION_STATS && !value->aggregation->is_average;
    return *at = map;
}

/* ---- one printing ---- */

struct printing {
    struct chart *chart;
    struct chart_map *map;
    struct chart_print *print;
    struct printer printer; /* writes keys */
    struct text key;
    uint64_t divisor;
};

/* Finds the number of a key, which is new or was printed before. False: no memory. */
static bool number_key(struct printing *printing, const struct map_snapshot *map, const void *key,
                       uint32_t *number)
{
    struct table *keys = &printing->map->keys;
    text_clear(&printing->key);
    if (map->key && map->key->kind != TYPE_NONE)
        print_key(&printing->printer, map->key, key);
    const char *text = text_string(&printing->key);
    if (printing->key.failed)
        return false;
    const void *found = table_find(keys, text);
    *number = found ? (uint32_t)(uintptr_t)found - 1 : (uint32_t)keys->count;
    return found ||
           !table_put(keys, text, (void *)(uintptr_t)(*number + 1ull)); // NOLINT(performance-no-int-to-ptr)
}

static bool keep_rows(struct chart_cell *cell, const struct type *type, const uint64_t *counts)
{
    const uint32_t rows = type_rows(type);
    uint32_t first = 0, end = rows;
    while (first < end && !counts[first])
        first++;
    while (end > first && !counts[end - 1])
        end--;
    cell->first = first;
    cell->count = end - first;
    for (uint32_t i = first; i < end; i++)
        cell->value += (double)counts[i];
    if (!cell->count)
        return true;
    cell->counts = malloc(cell->count * sizeof *counts);
    if (cell->counts)
        memcpy(cell->counts, counts + first, cell->count * sizeof *counts);
    return cell->counts;
}

static bool keep_points(struct chart_cell *cell, const struct type *type, const struct map_series *series)
{
    cell->points = calloc(series->count + 1, sizeof *cell->points);
    for (size_t i = 0; cell->points && i < series->count; i++)
        cell->points[i] = (struct chart_point){series->points[i].epoch,
                                               type->is_signed ? (double)(int64_t)series->points[i].value
                                                               : (double)series->points[i].value};
    cell->point_count = series->count;
    return cell->points;
}

static double number_of(const struct type *type, const void *bytes, uint64_t divisor)
{
    const uint64_t value =
        type_is_aggregation(type) ? aggregation_integer(type, bytes) : value_integer(type, bytes);
    return (type->is_signed ? (double)(int64_t)value : (double)value) / (double)(divisor ? divisor : 1);
}

static void keep_entry(void *state, const struct map_snapshot *map, const struct map_entry *entry)
{
    struct printing *printing = state;
    struct chart_print *print = printing->print;
    struct chart_cell cell = {0};
    bool is_kept = vector_make_room(print->cells, print->count, print->room) &&
                   number_key(printing, map, entry->key, &cell.key);
    switch (printing->map->kind) {
    case CHART_NUMBERS: cell.value = number_of(map->value, entry->value, printing->divisor); break;
    case CHART_ROWS: is_kept = is_kept && keep_rows(&cell, map->value, entry->value); break;
    case CHART_SERIES: is_kept = is_kept && keep_points(&cell, map->value, entry->value); break;
    case CHART_NONE: break;
    }
    if (is_kept)
        print->cells[print->count++] = cell;
    else
        printing->chart->failed = true;
}

static void free_print(struct chart_print *print)
{
    for (size_t i = 0; i < print->count; i++) {
        free(print->cells[i].counts);
        free(print->cells[i].points);
    }
    free(print->cells);
}

/* How many keys a map has; a histogram and a series have several entries for each. */
static size_t count_keys(const struct map_snapshot *snapshot)
{
    return type_is_aggregation(snapshot->value) && (snapshot->value->aggregation->shape == AGGREGATION_ROWS ||
                                                    snapshot->value->aggregation->shape == AGGREGATION_SERIES)
               ? 0
               : snapshot->count;
}

static void keep(void *state, struct printer *printer, const struct map_snapshot *snapshot, size_t top,
                 uint64_t divisor)
{
    struct chart *chart = state;
    const bool is_keyed = snapshot->key && snapshot->key->kind != TYPE_NONE;
    struct chart_map *map =
        find_map(chart, snapshot->name, snapshot->count || !is_keyed ? snapshot->value : NULL);
    if (!map || map->kind == CHART_NONE)
        return;
    /* A series holds its own past, so that the last printing is enough. */
    if (map->kind == CHART_SERIES && map->print_count)
        free_print(&map->prints[--map->print_count]);
    if (map->print_count >= CHART_PRINTS_MAX) {
        map->prints_left++;
        return;
    }
    if (!vector_make_room(map->prints, map->print_count, map->print_room)) {
        chart->failed = true;
        return;
    }
    /* No event is handled when the maps are printed at the end. */
    const uint64_t moment =
        printer->moment || !map->print_count ? printer->moment : map->prints[map->print_count - 1].moment;
    struct chart_print *print = &map->prints[map->print_count++];
    *print = (struct chart_print){.moment = moment, .is_fresh = map->is_emptied || map->print_count == 1};
    map->is_emptied = false;
    struct printing printing = {chart, map, print, *printer, {0}, divisor};
    printing.printer.out = &printing.key;
    printing.printer.scratch = (struct text){0};
    printing.printer.json = false;
    printing.printer.watcher = NULL;
    const size_t keys = count_keys(snapshot), most = top && top < CHART_KEYS_MAX ? top : CHART_KEYS_MAX;
    if (!top && keys > most && keys - most > map->keys_left)
        map->keys_left = keys - most;
    if (snapshot->count)
        chart->failed |= map_snapshot_each(top ? printer : NULL, snapshot, most, keep_entry, &printing) != 0;
    printer_free(&printing.printer);
    text_free(&printing.key);
}

static void empty(void *state, const char *name, uint64_t moment)
{
    (void)moment;
    struct chart_map *map = find_map(state, name, NULL);
    if (map)
        map->is_emptied = true;
}

void chart_begin(struct chart *chart)
{
    *chart = (struct chart){.watcher = {.state = chart, .printed = keep, .emptied = empty}};
}

void chart_free(struct chart *chart)
{
    while (chart->maps) {
        struct chart_map *map = chart->maps;
        chart->maps = map->next;
        for (size_t i = 0; i < map->print_count; i++)
            free_print(&map->prints[i]);
        free(map->prints);
        table_free(&map->keys);
        free(map->name);
        free(map);
    }
}

/* ---- what was kept ---- */

const char *chart_key(const struct chart_map *map, uint32_t key)
{
    return map->keys.entries[key].key;
}

const struct chart_cell *chart_find(const struct chart_print *print, uint32_t key)
{
    for (size_t i = 0; i < print->count; i++)
        if (print->cells[i].key == key)
            return &print->cells[i];
    return NULL;
}

static double raw_value(const struct chart_cell *cell, uint32_t of)
{
    if (of == UINT32_MAX)
        return cell->value;
    return of >= cell->first && of - cell->first < cell->count ? (double)cell->counts[of - cell->first] : 0;
}

double chart_value(const struct chart_map *map, size_t print, const struct chart_cell *cell, uint32_t of)
{
    const double value = raw_value(cell, of);
    if (!map->adds_up || map->prints[print].is_fresh)
        return value;
    const struct chart_cell *before = chart_find(&map->prints[print - 1], cell->key);
    const double earlier = before ? raw_value(before, of) : 0;
    return value > earlier ? value - earlier : 0;
}
