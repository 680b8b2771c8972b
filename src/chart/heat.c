/* SPDX-License-Identifier: BSD-3-Clause */
/* Heat maps: a column for each time that the map was printed, a line for each row of a histogram or for each key, the darker
 * the more. What is dark is told apart by the logarithm, so that single events are seen beside many. */
#include <stdlib.h>
#include <string.h>

#include "chart/chart.h"
#include "print/histogram.h"

enum { COLUMNS_MAX = 300, KEYS_SHOWN = 8, LINES_MAX = 200 };

struct grid {
    const struct chart_map *map;
    size_t columns, each; /* each: printings in a column */
    double *values;       /* lines × columns */
    double largest;
    struct text *out;
};

/* How many steps of 5 % lead from 1 to a number. */
static unsigned steps_to(double number)
{
    unsigned steps = 0;
    while (number > 1) {
        number /= 1.05;
        steps++;
    }
    return steps;
}

/* The position of a value between nothing and the largest, on a logarithmic scale. */
static double shade(double value, double largest)
{
    const unsigned all = steps_to(largest + 1);
    return all ? (double)steps_to(value + 1) / all : 0;
}

static void draw_cell(const struct grid *grid, size_t column, double y, double value)
{
    const double room = CHART_WIDTH - 2 * CHART_MARGIN - CHART_LABEL, width = room / (double)grid->columns;
    const double part = shade(value, grid->largest);
    struct text number = {0};
    if (value <= 0)
        return;
    chart_number(&number, value);
    text_printf(grid->out,
                "<rect class=\"cell\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" "
                "fill=\"#%02x%02x%02x\"><title>%s</title></rect>\n",
                CHART_MARGIN + CHART_LABEL + width * (double)column, y, width > 1.5 ? width - 0.5 : width,
                CHART_ROW - 1, (unsigned)(246 - 206 * part), (unsigned)(222 - 182 * part),
                (unsigned)(170 - 70 * part), text_string(&number));
    chart_part_free(&number, grid->out);
}

static double draw_line(const struct grid *grid, const char *label, const double *values, double y)
{
    chart_text(grid->out, CHART_MARGIN + CHART_LABEL - 8, y + 12, "end", "label", label, 36);
    for (size_t i = 0; i < grid->columns; i++)
        draw_cell(grid, i, y, values[i]);
    return y + CHART_ROW;
}

/* Writes below the columns when they begin and end. */
static double draw_times(const struct grid *grid, double y)
{
    const struct chart_print *prints = grid->map->prints;
    const uint64_t first = prints[0].moment, last = prints[grid->map->print_count - 1].moment;
    struct text count = {0}, text = {0};
    text_printf(&count, "%zu printings", grid->map->print_count);
    chart_text(grid->out, CHART_MARGIN + CHART_LABEL, y + 12, "start", "quiet", text_string(&count), 60);
    chart_part_free(&count, grid->out);
    if (last > first && first)
        text_printf(&text, "%.1f s, ", (double)(last - first) / 1e9);
    text_add(&text, "darkest: ");
    chart_number(&text, grid->largest);
    chart_text(grid->out, CHART_WIDTH - CHART_MARGIN, y + 12, "end", "quiet", text_string(&text), 60);
    chart_part_free(&text, grid->out);
    return y + CHART_ROW + 4;
}

/* Fills a line. Of several printings in one column values that add up are added, others are the largest. */
static void fill(struct grid *grid, double *values, uint32_t key, uint32_t of)
{
    for (size_t i = 0; i < grid->columns; i++)
        values[i] = 0;
    for (size_t i = 0; i < grid->map->print_count; i++) {
        const struct chart_cell *cell = chart_find(&grid->map->prints[i], key);
        const double value = cell ? chart_value(grid->map, i, cell, of) : 0;
        double *at = &values[i / grid->each];
        *at = grid->map->adds_up ? *at + value : value > *at ? value : *at;
    }
    for (size_t i = 0; i < grid->columns; i++)
        grid->largest = values[i] > grid->largest ? values[i] : grid->largest;
}

/* ---- which keys, which rows ---- */

struct ranked {
    uint32_t key;
    double total;
};

static int compare_ranks(const void *a, const void *b)
{
    const double one = ((const struct ranked *)a)->total, other = ((const struct ranked *)b)->total;
    return one < other ? 1 : one > other ? -1 : 0;
}

/* Makes the list of keys, those with the largest sum first, which the caller frees. */
static struct ranked *rank(const struct chart_map *map)
{
    struct ranked *keys = calloc(map->keys.count + 1, sizeof *keys);
    for (uint32_t i = 0; keys && i < map->keys.count; i++)
        keys[i].key = i;
    for (size_t i = 0; keys && i < map->print_count; i++)
        for (size_t k = 0; k < map->prints[i].count; k++) {
            const struct chart_cell *cell = &map->prints[i].cells[k];
            keys[cell->key].total += chart_value(map, i, cell, UINT32_MAX);
        }
    if (keys)
        qsort(keys, map->keys.count, sizeof *keys, compare_ranks);
    return keys;
}

/* The rows of a histogram that any printing has. */
static void find_rows(const struct chart_map *map, uint32_t key, uint32_t *first, uint32_t *end)
{
    *first = UINT32_MAX;
    *end = 0;
    for (size_t i = 0; i < map->print_count; i++) {
        const struct chart_cell *cell = chart_find(&map->prints[i], key);
        if (!cell || !cell->count)
            continue;
        *first = cell->first < *first ? cell->first : *first;
        *end = cell->first + cell->count > *end ? cell->first + cell->count : *end;
    }
}

/* The histogram of a key, large values at the top. */
static double draw_rows(struct grid *grid, uint32_t key, double y)
{
    uint32_t first, end;
    find_rows(grid->map, key, &first, &end);
    if (first >= end)
        return y;
    const uint32_t count = end - first < LINES_MAX ? end - first : LINES_MAX;
    first = end - count;
    if (*chart_key(grid->map, key)) {
        chart_text(grid->out, CHART_MARGIN, y + 14, "start", "key", chart_key(grid->map, key), 120);
        y += 20;
    }
    grid->largest = 0;
    for (uint32_t i = 0; i < count; i++)
        fill(grid, grid->values + i * grid->columns, key, first + i);
    for (uint32_t i = count; i; i--) {
        struct text label = {0};
        histogram_label(&label, grid->map->value, first + i - 1);
        y = draw_line(grid, text_string(&label), grid->values + (i - 1) * grid->columns, y);
        chart_part_free(&label, grid->out);
    }
    return draw_times(grid, y);
}

static double draw_keys(struct grid *grid, const struct ranked *keys, double y)
{
    const size_t count = grid->map->keys.count < CHART_SHOWN ? grid->map->keys.count : CHART_SHOWN;
    for (size_t i = 0; i < count; i++)
        fill(grid, grid->values + i * grid->columns, keys[i].key, UINT32_MAX);
    for (size_t i = 0; i < count; i++)
        y = draw_line(
            grid, *chart_key(grid->map, keys[i].key) ? chart_key(grid->map, keys[i].key) : grid->map->name,
            grid->values + i * grid->columns, y);
    return draw_times(grid, y);
}

double chart_heat(const struct chart_map *map, double y, struct text *out)
{
    struct grid grid = {.map = map, .out = out};
    grid.each = (map->print_count + COLUMNS_MAX - 1) / COLUMNS_MAX;
    grid.columns = (map->print_count + grid.each - 1) / grid.each;
    grid.values = calloc(grid.columns * LINES_MAX, sizeof *grid.values);
    struct ranked *keys = rank(map);
    size_t shown = map->kind == CHART_ROWS ? KEYS_SHOWN : CHART_SHOWN;
    out->failed |= !grid.values || !keys;
    if (grid.values && keys && map->kind == CHART_NUMBERS)
        y = draw_keys(&grid, keys, y);
    else if (grid.values && keys)
        for (size_t i = 0; i < map->keys.count && i < shown; i++)
            y = draw_rows(&grid, keys[i].key, y);
    if (map->keys.count > shown) {
        struct text text = {0};
        text_printf(&text, "and %zu more keys with less", map->keys.count - shown);
        chart_text(out, CHART_MARGIN + CHART_LABEL, y + 12, "start", "quiet", text_string(&text), 80);
        chart_part_free(&text, out);
        y += CHART_ROW;
    }
    free(keys);
    free(grid.values);
    return y;
}
