/* SPDX-License-Identifier: BSD-3-Clause */
/* Bars: a line for each key with its number, or for each row of a histogram with its count. */
#include <string.h>

#include "chart/chart.h"
#include "print/histogram.h"

enum { LABEL_LETTERS = 36, NUMBER_WIDTH = 60, KEYS_SHOWN = 12 };

static double draw_bar(struct text *out, double y, const char *label, double value, double largest)
{
    struct text number = {0};
    const double room = CHART_WIDTH - 2 * CHART_MARGIN - CHART_LABEL - NUMBER_WIDTH,
                 size = value < 0 ? -value : value;
    const double width = largest > 0 ? room * size / largest : 0;
    chart_text(out, CHART_MARGIN + CHART_LABEL - 8, y + 12, "end", "label", label, LABEL_LETTERS);
    text_printf(out, "<rect class=\"bar\" x=\"%d\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
                CHART_MARGIN + CHART_LABEL, y + 2, width, CHART_ROW - 3, value < 0 ? "#c8503c" : "#3c78a8");
    chart_number(&number, value);
    chart_text(out, CHART_MARGIN + CHART_LABEL + width + 6, y + 12, "start", "number", text_string(&number),
               20);
    chart_part_free(&number, out);
    return y + CHART_ROW;
}

static double draw_rows(const struct chart_map *map, const struct chart_cell *cell, double y,
                        struct text *out)
{
    uint64_t largest = 0;
    const char *key = chart_key(map, cell->key);
    if (*key) {
        chart_text(out, CHART_MARGIN, y + 14, "start", "key", key, 120);
        y += 20;
    }
    for (uint32_t i = 0; i < cell->count; i++)
        largest = cell->counts[i] > largest ? cell->counts[i] : largest;
    for (uint32_t i = 0; i < cell->count; i++) {
        struct text label = {0};
        histogram_label(&label, map->value, cell->first + i);
        y = draw_bar(out, y, text_string(&label), (double)cell->counts[i], (double)largest);
        chart_part_free(&label, out);
    }
    return y;
}

static double draw_left_out(double y, size_t left, struct text *out)
{
    struct text text = {0};
    if (!left)
        return y;
    text_printf(&text, "and %zu more with smaller values", left);
    chart_text(out, CHART_MARGIN + CHART_LABEL, y + 12, "start", "quiet", text_string(&text), 80);
    chart_part_free(&text, out);
    return y + CHART_ROW;
}

/* The largest come last in the order of maps, and first in the picture. */
double chart_bars(const struct chart_map *map, double y, struct text *out)
{
    const struct chart_print *print = &map->prints[0];
    const size_t most = map->kind == CHART_ROWS ? KEYS_SHOWN : CHART_SHOWN;
    const size_t first = print->count > most ? print->count - most : 0;
    double largest = 0;
    for (size_t i = first; i < print->count; i++) {
        const double value = print->cells[i].value;
        largest = value > largest ? value : -value > largest ? -value : largest;
    }
    for (size_t i = print->count; i > first; i--) {
        const struct chart_cell *cell = &print->cells[i - 1];
        y = map->kind == CHART_ROWS ? draw_rows(map, cell, y, out)
                                    : draw_bar(out, y, chart_key(map, cell->key), cell->value, largest);
    }
    return draw_left_out(y, first, out);
}
