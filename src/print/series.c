/* SPDX-License-Identifier: BSD-3-Clause */
/* See series.h. */
#include "print/series.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "print/json.h"

enum { GRAPH_WIDTH = 53, WIDTH_MIN = 21, EPOCH = 0, VALUE = 1, MARK = 2, WORDS = 3 };

static bool is_less(const struct type *type, uint64_t a, uint64_t b)
{
    return type->is_signed ? (int64_t)a < (int64_t)b : a < b;
}

/* Two elements of the same interval. */
static void join(const struct type *type, uint64_t *to, const uint64_t *from)
{
    switch (type->series) {
    case SERIES_AVG:
    case SERIES_SUM:
        to[VALUE] += from[VALUE];
        to[MARK] += from[MARK];
        return;
    case SERIES_LAST:
        if (from[MARK] <= to[MARK])
            return;
        break;
    case SERIES_MIN:
    case SERIES_MAX:
        if (is_less(type, from[VALUE], to[VALUE]) != (type->series == SERIES_MIN))
            return;
    }
    memcpy(to, from, WORDS * sizeof *to);
}

void series_sum(const struct type *type, const void *per_cpu, unsigned cpus, void *out)
{
    uint64_t sum[WORDS] = {0};
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        uint64_t element[WORDS];
        memcpy(element, (const uint8_t *)per_cpu + cpu * sizeof element, sizeof element);
        if (!element[MARK])
            continue;
        if (!sum[MARK] || element[EPOCH] > sum[EPOCH])
            memcpy(sum, element, sizeof sum);
        else if (element[EPOCH] == sum[EPOCH])
            join(type, sum, element);
    }
    memcpy(out, sum, sizeof sum);
}

bool series_point(const struct type *type, const void *element, struct series_point *point)
{
    uint64_t words[WORDS];
    memcpy(words, element, sizeof words);
    if (!words[MARK])
        return false;
    *point = (struct series_point){words[EPOCH], words[VALUE]};
    if (type->series == SERIES_AVG)
        point->value = type->is_signed && (int64_t)words[VALUE] < 0 ? 0 - (0 - words[VALUE]) / words[MARK]
                                                                    : words[VALUE] / words[MARK];
    return true;
}

/* ---- text ---- */

struct graph {
    struct text *out;
    const struct type *type;
    const struct series_unit *unit;
    uint64_t least, most;
};

/* The largest unit that the interval is a multiple of: how much of the time is shown. */
static const struct series_unit {
    int64_t nanoseconds;
    const char *suffix, *format;
    unsigned width;
} units[] = {
    {NSEC_PER_SEC, "", "%H:%M:%S", 8},
    {1000000, ".ms", "%H:%M:%S.%l", 12},
    {1000, ".us", "%H:%M:%S.%f", 15},
    {1, ".ns", "%H:%M:%S.%k", 18},
};

static void put_number(const struct graph *graph, uint64_t value)
{
    if (graph->type->is_signed)
        number_signed(graph->out, (int64_t)value);
    else
        number_unsigned(graph->out, value);
}

static void pad_to(struct text *out, size_t begin, size_t width)
{
    if (out->length - begin < width)
        text_fill(out, ' ', width - (out->length - begin));
}

/* The smallest and the largest value, above and below the graph. */
static void put_bounds(const struct graph *graph)
{
    struct text *out = graph->out, most = {0};
    struct graph aside = *graph;
    aside.out = &most;
    text_fill(out, ' ', graph->unit->width + 1);
    size_t begin = out->length;
    put_number(graph, graph->least);
    pad_to(out, begin, WIDTH_MIN);
    put_number(&aside, graph->most);
    if (out->length - begin + most.length < GRAPH_WIDTH)
        text_fill(out, ' ', GRAPH_WIDTH - (out->length - begin) - most.length);
    text_append(out, text_string(&most), most.length);
    text_char(out, '\n');
    text_free(&most);
}

static size_t column(const struct graph *graph, uint64_t value)
{
    unsigned __int128 scaled = (unsigned __int128)(value - graph->least) * (GRAPH_WIDTH - 1);
    return (size_t)(scaled / (graph->most - graph->least));
}

static void put_row(const struct graph *graph, uint64_t epoch, const struct series_point *point)
{
    char line[GRAPH_WIDTH];
    memset(line, ' ', sizeof line);
    line[0] = line[GRAPH_WIDTH - 1] = '|';
    if (graph->type->is_signed && (int64_t)graph->least < 0 && (int64_t)graph->most > 0)
        line[column(graph, 0)] = '.';
    if (point)
        line[column(graph, point->value)] = '*';
    print_time(graph->out, graph->unit->format, (int64_t)(epoch * (uint64_t)graph->type->step));
    text_char(graph->out, ' ');
    text_append(graph->out, line, sizeof line);
    text_char(graph->out, ' ');
    if (point)
        put_number(graph, point->value);
    else
        text_char(graph->out, '-');
    text_char(graph->out, '\n');
}

static void find_bounds(struct graph *graph, const struct series_point *points, size_t count)
{
    graph->least = graph->most = points[0].value;
    for (size_t i = 1; i < count; i++) {
        if (is_less(graph->type, points[i].value, graph->least))
            graph->least = points[i].value;
        if (is_less(graph->type, graph->most, points[i].value))
            graph->most = points[i].value;
    }
    if (graph->least != graph->most)
        return;
    /* One value stands in the middle, unless there is nothing on one side of it. */
    uint64_t bottom = graph->type->is_signed ? (uint64_t)INT64_MIN : 0;
    uint64_t top = graph->type->is_signed ? (uint64_t)INT64_MAX : UINT64_MAX;
    graph->least -= graph->least != bottom;
    graph->most += graph->most != top;
}

static void put_graph(struct text *out, const struct type *type, const struct series_point *points,
                      size_t count, uint64_t last)
{
    struct graph graph = {.out = out, .type = type, .unit = units};
    while (type->step % graph.unit->nanoseconds)
        graph.unit++;
    find_bounds(&graph, points, count);
    put_bounds(&graph);
    size_t begin = out->length;
    text_add(out, "hh:mm:ss");
    text_add(out, graph.unit->suffix);
    pad_to(out, begin, graph.unit->width + 1);
    text_char(out, '|');
    text_fill(out, '_', GRAPH_WIDTH - 2);
    text_add(out, "|\n");
    size_t next = 0;
    for (uint64_t i = 0; i <= last - points[0].epoch; i++) {
        bool has_value = next < count && points[next].epoch == points[0].epoch + i;
        put_row(&graph, points[0].epoch + i, has_value ? &points[next] : NULL);
        next += has_value;
    }
    text_fill(out, ' ', graph.unit->width + 1);
    text_char(out, 'v');
    text_fill(out, '_', GRAPH_WIDTH - 2);
    text_add(out, "v\n");
    put_bounds(&graph);
}

/* ---- JSON ---- */

static void put_start(struct text *out, uint64_t nanoseconds)
{
    time_t seconds = (time_t)(nanoseconds / NSEC_PER_SEC);
    struct tm when;
    char text[64];
    if (!gmtime_r(&seconds, &when))
        memset(&when, 0, sizeof when);
    text_append(out, text, strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &when));
    text_printf(out, ".%09u", (unsigned)(nanoseconds % NSEC_PER_SEC));
}

static void put_json(struct text *out, const struct type *type, const struct series_point *points,
                     size_t count, uint64_t last)
{
    size_t next = 0;
    text_char(out, '[');
    for (uint64_t i = 0; count && i <= last - points[0].epoch; i++) {
        uint64_t epoch = points[0].epoch + i;
        text_add(out, i ? ",{\"interval_start\":\"" : "{\"interval_start\":\"");
        put_start(out, epoch * (uint64_t)type->step);
        text_add(out, "\",\"value\":");
        if (next < count && points[next].epoch == epoch) {
            uint64_t value = points[next++].value;
            type->is_signed ? json_signed(out, (int64_t)value) : json_unsigned(out, value);
        } else
            text_add(out, "null");
        text_char(out, '}');
    }
    text_char(out, ']');
}

void print_series(struct printer *printer, const struct type *type, const struct series_point *points,
                  size_t count, uint64_t last)
{
    uint64_t intervals = type_rows(type);
    uint64_t first = last >= intervals ? last - intervals + 1 : 0;
    while (count && points->epoch < first) {
        points++;
        count--;
    }
    while (count && points[count - 1].epoch > last)
        count--;
    if (printer->json)
        put_json(printer->out, type, points, count, last);
    else if (count)
        put_graph(printer->out, type, points, count, last);
    else
        text_add(printer->out, "<no data>");
}
