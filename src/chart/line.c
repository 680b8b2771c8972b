/* SPDX-License-Identifier: BSD-3-Clause */
/* Time series: for each key an area over the intervals that it has. */
#include "base/clock.h"
#include "chart/chart.h"

enum { HEIGHT = 70, KEYS_SHOWN = 12 };

static void find_range(const struct chart_cell *cell, double *low, double *high)
{
    *low = *high = 0;
    for (size_t i = 0; i < cell->point_count; i++) {
        *low = cell->points[i].value < *low ? cell->points[i].value : *low;
        *high = cell->points[i].value > *high ? cell->points[i].value : *high;
    }
}

static double draw_series(const struct chart_map *map, const struct chart_cell *cell, double y,
                          struct text *out)
{
    const double room = CHART_WIDTH - 2 * CHART_MARGIN - CHART_LABEL, left = CHART_MARGIN + CHART_LABEL;
    double low, high;
    struct text text = {0};
    if (!cell->point_count)
        return y;
    find_range(cell, &low, &high);
    const uint64_t begin = cell->points[0].epoch, end = cell->points[cell->point_count - 1].epoch + 1;
    const double width = room / (double)(end - begin), scale = high > low ? HEIGHT / (high - low) : 0;
    const char *key = chart_key(map, cell->key);
    chart_text(out, left - 8, y + 12, "end", "label", *key ? key : map->name, 36);
    for (size_t i = 0; i < cell->point_count; i++) {
        const double value = cell->points[i].value;
        const double top = (high - (value > 0 ? value : 0)) * scale,
                     size = (value < 0 ? -value : value) * scale;
        text_printf(
            out, "<rect class=\"point\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n",
            left + width * (double)(cell->points[i].epoch - begin), y + top, width > 2 ? width - 1 : width,
            size, value < 0 ? "#c8503c" : "#3c78a8");
    }
    text_add(&text, "largest ");
    chart_number(&text, high);
    text_printf(&text, ", over %.1f s", (double)(end - begin) * (double)map->value->step / NSEC_PER_SEC);
    chart_text(out, left - 8, y + 28, "end", "quiet", text_string(&text), 36);
    chart_part_free(&text, out);
    text_printf(out, "<path d=\"M%.1f %.1fh%.1f\" stroke=\"#1d1d1b\" stroke-width=\"0.5\"/>\n", left,
                y + high * scale, room);
    return y + HEIGHT + 14;
}

double chart_line(const struct chart_map *map, double y, struct text *out)
{
    const struct chart_print *print = &map->prints[0];
    size_t shown = 0;
    for (size_t i = print->count; i && shown < KEYS_SHOWN; i--, shown++)
        y = draw_series(map, &print->cells[i - 1], y, out);
    return y;
}
