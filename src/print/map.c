/* SPDX-License-Identifier: BSD-3-Clause */
/* See map.h. A map is first turned into a list of lines (one per key), each with the number that it is
 * ordered by; the list is sorted, its last `top` printed. The rows of a keyed histogram, which come as
 * entries of their own, are brought together by their keys' bytes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* qsort_r */
#endif
#include "print/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "print/histogram.h"
#include "print/json.h"
#include "print/record.h"
#include "print/series.h"

struct line {
    const struct map_entry *entry; /* for a keyed histogram or series: the first of its rows in `by_key` */
    /* For a keyed histogram or series: where its rows begin in `by_key`, and how many there are. */
    size_t first, rows;
    uint64_t rank; /* lines are sorted by it, the smallest first */
    uint64_t key;  /* then by it: the key, if it is a number, which need not be fetched from the entry then */
    size_t arrival;
};

struct lines {
    const struct map_snapshot *map;
    struct line *items;
    size_t count;
    const struct map_entry **by_key; /* entries of a keyed histogram or series, equal keys together */
    uint64_t *counts;                /* for a histogram: room for the rows of one key */
    struct series_point *points;     /* for a time series: room for the intervals of one key */
    uint64_t last;                   /* for a time series: the newest interval of all keys */
};

static uint64_t word_at(const void *bytes, size_t offset)
{
    uint64_t word;
    memcpy(&word, (const uint8_t *)bytes + offset, 8);
    return word;
}

static bool is_keyed(const struct map_snapshot *map)
{
    return map->key && map->key->kind != TYPE_NONE;
}

/* Aggregations. */

/* Word 1 says whether there is a value. */
static bool is_extreme(const struct type *type)
{
    return type->aggregation->merge == MERGE_MIN || type->aggregation->merge == MERGE_MAX;
}

void aggregation_sum(const struct type *type, const void *per_cpu, unsigned cpus, void *out)
{
    size_t size = type_storage(type), words = size / 8;
    const uint8_t *value = per_cpu;
    uint64_t *sum = out;
    if (!cpus) {
        memset(out, 0, size);
        return;
    }
    memcpy(out, per_cpu, size);
    if (!type_is_per_cpu(type))
        return;
    if (type->aggregation->merge_cpus) {
        type->aggregation->merge_cpus(type, per_cpu, cpus, out);
        return;
    }
    bool extreme = is_extreme(type);
    for (unsigned cpu = 1; cpu < cpus; cpu++) {
        value += size;
        if (!extreme) {
            for (size_t i = 0; i < words; i++)
                sum[i] += word_at(value, i * 8);
            continue;
        }
        uint64_t candidate = word_at(value, 0);
        if (!word_at(value, 8))
            continue;
        bool less = type->is_signed ? (int64_t)candidate < (int64_t)sum[0] : candidate < sum[0];
        if (!sum[1] || (candidate != sum[0] && less == (type->aggregation->merge == MERGE_MIN)))
            sum[0] = candidate;
        sum[1] = 1;
    }
    if (extreme && !sum[1])
        sum[0] = 0;
}

uint64_t aggregation_sum_row(const uint64_t *per_cpu, unsigned cpus)
{
    uint64_t sum = 0;
    for (unsigned cpu = 0; cpu < cpus; cpu++)
        sum += per_cpu[cpu];
    return sum;
}

uint64_t aggregation_integer(const struct type *type, const void *bytes)
{
    uint64_t value = word_at(bytes, 0);
    if (!type_is_aggregation(type))
        return value;
    if (is_extreme(type))
        return word_at(bytes, 8) ? value : 0;
    if (!type->aggregation->is_average)
        return value;
    uint64_t count = word_at(bytes, 8);
    if (!count)
        return 0;
    if (type->is_signed && (int64_t)value < 0)
        return 0 - (0 - value) / count;
    return value / count;
}

/* Order. */

static int compare_words(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* A number, made so that unsigned comparison is right. */
static uint64_t ordered_number(const struct type *type, const void *bytes)
{
    return word_at(bytes, 0) ^ (type->is_signed ? UINT64_C(1) << 63 : 0);
}

int map_key_compare(const struct type *type, const void *a, const void *b)
{
    switch (type_order(type)) {
    case ORDER_NONE: break;
    case ORDER_NUMBER: return compare_words(ordered_number(type, a), ordered_number(type, b));
    case ORDER_BYTES: return memcmp(a, b, type->size);
    case ORDER_FIELDS:
        for (uint32_t i = 0; i < type->count; i++) {
            const struct field *field = &type->fields[i];
            int order = map_key_compare(field->type, (const uint8_t *)a + field->offset,
                                        (const uint8_t *)b + field->offset);
            if (order)
                return order;
        }
        break;
    }
    return 0;
}

/* The number by which a value is ordered, made so that unsigned comparison is right; 0: by key only. */
static uint64_t value_rank(const struct type *type, const void *value)
{
    const uint64_t bias = type->is_signed ? UINT64_C(1) << 63 : 0;
    switch (type->kind) {
    case TYPE_INTEGER:
    case TYPE_ENUM: return ordered_number(type, value);
    case TYPE_AGGREGATION:
        return type_reads_as_integer(type) ? aggregation_integer(type, value) ^ (is_extreme(type) ? 0 : bias)
                                           : 0;
    default: return 0;
    }
}

static int compare_lines(const void *a, const void *b, void *context)
{
    const struct line *x = a, *y = b;
    const struct map_snapshot *map = context;
    int order = compare_words(x->rank, y->rank);
    if (!order)
        order = compare_words(x->key, y->key);
    if (!order)
        order = map_key_compare(map->key, x->entry->key, y->entry->key);
    return order ? order : compare_words(x->arrival, y->arrival);
}

/* Orders entries of a keyed histogram by the bytes of their keys, without the row. */
static int compare_key_bytes(const void *a, const void *b, void *context)
{
    const struct map_entry *x = *(const struct map_entry *const *)a;
    const struct map_entry *y = *(const struct map_entry *const *)b;
    size_t size = *(const size_t *)context;
    int order = size ? memcmp(x->key, y->key, size) : 0;
    return order ? order : compare_words((uintptr_t)x, (uintptr_t)y);
}

/* The rank grows by a row's count, or is the newest interval. */
static void line_rank(struct lines *lines, struct line *line, const struct map_entry *entry)
{
    struct series_point point;
    if (!type_has_shape(lines->map->value, AGGREGATION_SERIES))
        line->rank += word_at(entry->value, 0);
    else if (series_point(lines->map->value, entry->value, &point)) {
        line->rank = point.epoch > line->rank ? point.epoch : line->rank;
        lines->last = point.epoch > lines->last ? point.epoch : lines->last;
    }
}

static void lines_from_rows(struct lines *lines, size_t key_size)
{
    const struct map_snapshot *map = lines->map;
    for (size_t i = 0; i < map->count; i++)
        lines->by_key[i] = &map->entries[i];
    qsort_r(lines->by_key, map->count, sizeof *lines->by_key, compare_key_bytes, &key_size);
    for (size_t i = 0; i < map->count; i++) {
        const struct map_entry *entry = lines->by_key[i];
        struct line *line = lines->count ? &lines->items[lines->count - 1] : NULL;
        if (!line || (key_size && memcmp(line->entry->key, entry->key, key_size) != 0)) {
            line = &lines->items[lines->count++];
            *line = (struct line){.entry = entry, .first = i, .arrival = (size_t)(entry - map->entries)};
        }
        line->rows++;
        line_rank(lines, line, entry);
    }
}

static void lines_from_entries(struct lines *lines)
{
    const struct map_snapshot *map = lines->map;
    for (size_t i = 0; i < map->count; i++) {
        const struct map_entry *entry = &map->entries[i];
        lines->items[i] =
            (struct line){.entry = entry, .rank = value_rank(map->value, entry->value), .arrival = i};
    }
    lines->count = map->count;
}

/* Output. */

static int compare_points(const void *a, const void *b)
{
    const struct series_point *x = a, *y = b;
    return compare_words(x->epoch, y->epoch);
}

/* Brings the rows of one key together: in lines->counts, or the points of `series`. */
static void gather_rows(struct lines *lines, const struct line *line, struct map_series *series)
{
    const struct map_snapshot *map = lines->map;
    size_t key_size = is_keyed(map) ? type_storage(map->key) : 0, points = 0;
    uint32_t rows = type_rows(map->value);
    if (lines->counts)
        memset(lines->counts, 0, rows * sizeof *lines->counts);
    for (size_t i = 0; i < line->rows; i++) {
        const struct map_entry *entry = lines->by_key[line->first + i];
        if (lines->points) {
            points += series_point(map->value, entry->value, &lines->points[points]);
            continue;
        }
        uint64_t row = word_at(entry->key, key_size);
        if (row < rows)
            lines->counts[row] += word_at(entry->value, 0);
    }
    if (lines->points)
        qsort(lines->points, points, sizeof *lines->points, compare_points);
    *series = (struct map_series){lines->points, points, lines->last};
}

static void print_map_value(struct printer *printer, struct lines *lines, const struct line *line,
                            uint64_t divisor)
{
    const struct map_snapshot *map = lines->map;
    struct map_series series;
    if (!type_has_rows(map->value)) {
        print_value_divided(printer, map->value, line->entry->value, divisor);
        return;
    }
    gather_rows(lines, line, &series);
    if (lines->points)
        print_series(printer, map->value, series.points, series.count, series.last);
    else
        map->value->aggregation->print(printer, map->value, lines->counts, divisor);
}

static bool is_bcc_histogram(const struct printer *printer, const struct map_snapshot *map)
{
    return printer->bcc_histograms && !printer->json && type_has_shape(map->value, AGGREGATION_ROWS);
}

/* Whether a value is printed below its key. */
static bool has_lines(const struct type *type)
{
    return type_is_aggregation(type) && !type_reads_as_integer(type) && !type->aggregation->is_line;
}

/* name[key] and what stands between it and the value. */
static void print_head(struct printer *printer, const struct map_snapshot *map, const void *key)
{
    struct text *out = printer->out;
    if (!key && is_bcc_histogram(printer, map))
        return; /* the map's name is the title of its table */
    text_add(out, map->name);
    if (key) {
        text_char(out, '[');
        print_key(printer, map->key, key);
        text_char(out, ']');
    }
    text_add(out, has_lines(map->value) ? ":\n" : ": ");
}

static void print_lines(struct printer *printer, struct lines *lines, size_t skip, uint64_t divisor)
{
    struct text *out = printer->out;
    for (size_t i = skip; i < lines->count; i++) {
        const struct line *line = &lines->items[i];
        if (printer->json) {
            text_add(out, i == skip ? "\"" : ", \"");
            print_key(printer, lines->map->key, line->entry->key);
            text_add(out, "\": ");
        } else {
            print_head(printer, lines->map, line->entry->key);
        }
        print_map_value(printer, lines, line, divisor);
        if (!printer->json)
            text_char(out, '\n');
    }
}

/* The type of the line in JSON. */
static const char *record_of(const struct type *type)
{
    static const char *const shapes[] = {"map", "stats", "hist", "tseries", "map"};
    const struct aggregation *kind = type->aggregation;
    if (!type_is_aggregation(type))
        return "map";
    return kind->record ? kind->record : kind->is_average ? "stats" : shapes[kind->shape];
}

static void begin_json(struct printer *printer, const struct map_snapshot *map)
{
    record_begin(printer, record_of(map->value));
    text_add(printer->out, ", \"data\": {");
    json_string(printer->out, map->name);
    text_add(printer->out, ": ");
}

static void end_json(struct printer *printer)
{
    text_add(printer->out, "}}\n");
}

static void lines_free(struct lines *lines)
{
    free(lines->counts);
    free(lines->points);
    free(lines->items);
    free(lines->by_key);
}

/* Whether lines have no other order than that of their keys. */
static bool is_by_key(const struct printer *printer, const struct map_snapshot *map)
{
    return printer && printer->orders_by_key && is_keyed(map) && type_order(map->key) != ORDER_NONE;
}

/* One line per key, in the order of the printer (NULL: by value). A series without a key is one line too: every entry is one of its intervals. */
static int lines_make(struct lines *lines, const struct map_snapshot *map, const struct printer *printer)
{
    bool series = type_has_shape(map->value, AGGREGATION_SERIES),
         rows = series || (type_has_rows(map->value) && is_keyed(map));
    *lines = (struct lines){.map = map, .items = calloc(map->count + 1, sizeof *lines->items)};
    if (rows)
        lines->by_key = calloc(map->count + 1, sizeof(struct map_entry *));
    if (series)
        lines->points = calloc(map->count + 1, sizeof *lines->points);
    else if (rows)
        lines->counts = calloc(type_rows(map->value), sizeof *lines->counts);
    if (!lines->items || (rows && (!lines->by_key || (!lines->points && !lines->counts)))) {
        lines_free(lines);
        return -ENOMEM;
    }
    if (rows)
        lines_from_rows(lines, is_keyed(map) ? type_storage(map->key) : 0);
    else
        lines_from_entries(lines);
    for (size_t i = 0; is_by_key(printer, map) && i < lines->count; i++)
        lines->items[i].rank = 0;
    for (size_t i = 0; is_keyed(map) && type_order(map->key) == ORDER_NUMBER && i < lines->count; i++)
        lines->items[i].key = ordered_number(map->key, lines->items[i].entry->key);
    if (is_keyed(map))
        qsort_r(lines->items, lines->count, sizeof *lines->items, compare_lines, (void *)map);
    return 0;
}

static int print_scalar_series(struct printer *printer, const struct map_snapshot *map)
{
    struct lines lines;
    struct map_series series = {0};
    if (lines_make(&lines, map, printer))
        return -ENOMEM;
    if (lines.count)
        gather_rows(&lines, &lines.items[0], &series);
    print_series(printer, map->value, series.points, series.count, series.last);
    lines_free(&lines);
    return 0;
}

static int print_scalar_map(struct printer *printer, const struct map_snapshot *map, uint64_t divisor)
{
    void *zero = NULL;
    int status = 0;
    if (!map->count && !(zero = calloc(1, type_storage(map->value) + 8)))
        return -ENOMEM;
    size_t begin = printer->out->length;
    if (printer->json)
        begin_json(printer, map);
    else
        print_head(printer, map, NULL);
    if (type_has_shape(map->value, AGGREGATION_SERIES))
        status = print_scalar_series(printer, map);
    else
        print_value_divided(printer, map->value, map->count ? map->entries[0].value : zero, divisor);
    if (printer->json)
        end_json(printer);
    else
        text_char(printer->out, '\n');
    if (status)
        text_truncate(printer->out, begin);
    free(zero);
    return status;
}

static int print_keyed_map(struct printer *printer, const struct map_snapshot *map, size_t top,
                           uint64_t divisor)
{
    struct lines lines;
    if (!map->count)
        return 0;
    if (lines_make(&lines, map, printer))
        return -ENOMEM;
    if (printer->json) {
        begin_json(printer, map);
        text_char(printer->out, '{');
    }
    print_lines(printer, &lines, top && top < lines.count ? lines.count - top : 0, divisor);
    if (printer->json) {
        text_char(printer->out, '}');
        end_json(printer);
    }
    lines_free(&lines);
    return 0;
}

int print_map(struct printer *printer, const struct map_snapshot *map, size_t top, uint64_t divisor)
{
    const char *title = printer->histogram_title;
    for (const struct map_watcher *watcher = printer->watcher; watcher; watcher = watcher->next)
        if (watcher->printed)
            watcher->printed(watcher->state, printer, map, top, divisor);
    if (!title)
        printer->histogram_title = map->name[1] ? map->name + 1 : NULL; /* without its @ */
    int status =
        is_keyed(map) ? print_keyed_map(printer, map, top, divisor) : print_scalar_map(printer, map, divisor);
    printer->histogram_title = title;
    for (const struct map_watcher *watcher = printer->watcher; watcher; watcher = watcher->next)
        if (watcher->ended)
            watcher->ended(watcher->state);
    return status;
}

int map_snapshot_each(const struct printer *printer, const struct map_snapshot *map, size_t top,
                      map_visitor *visit, void *state)
{
    struct lines lines;
    if (lines_make(&lines, map, printer))
        return -ENOMEM;
    for (size_t i = top && top < lines.count ? lines.count - top : 0; i < lines.count; i++) {
        struct map_entry entry = *lines.items[i].entry;
        struct map_series series;
        if (lines.by_key) {
            gather_rows(&lines, &lines.items[i], &series);
            entry.value = lines.points ? (const void *)&series : lines.counts;
        }
        visit(state, map, &entry);
    }
    lines_free(&lines);
    return 0;
}
