/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of printed maps: what was printed is kept, and drawn as SVG at the end. A map that was printed once becomes
 * bars; one that was printed several times, as in `interval:s:1 { print(@us); clear(@us); }`, becomes a heat map over time.
 *
 *   collect.c  keeps what is printed
 *   draw.c     the pictures of one document, one below the other
 *   bars.c     bars: rows of histograms, or keys
 *   heat.c     heat maps: rows or keys over time
 *   line.c     time series
 *
 * Memory is bounded: of each printing only the KEYS_MAX keys with the largest values are kept, and of a map's printings
 * the first PRINTS_MAX. The picture says what is missing. */
#ifndef SPOOR_CHART_CHART_H
#define SPOOR_CHART_CHART_H

#include "base/table.h"
#include "print/map.h"

enum { CHART_KEYS_MAX = 200, CHART_PRINTS_MAX = 2000 };

enum chart_kind {
    CHART_NUMBERS, /* a number for each key */
    CHART_ROWS,    /* a histogram for each key */
    CHART_SERIES,  /* a value for each interval, for each key */
    CHART_NONE,    /* its values are no numbers */
};

struct chart_cell {   /* what a key had when the map was printed */
    uint32_t key;     /* its number in the map */
    double value;     /* of a histogram: how many values it has */
    uint64_t *counts; /* of a histogram, from its first row on that is not empty */
    uint32_t first, count;
    struct chart_point { /* of a series */
        uint64_t epoch;
        double value;
    } * points;
    size_t point_count;
};

struct chart_print {
    uint64_t moment; /* boot clock, ns; 0: unknown */
    bool is_fresh;   /* the map had been emptied since it was printed before */
    struct chart_cell *cells;
    size_t count, room;
};

struct chart_map {
    struct chart_map *next;
    char *name; /* with its @ */
    enum chart_kind kind;
    bool
        adds_up; /* values grow with each event, so that the difference of two printings is what came between */
    const struct type *value; /* lives as long as the session */
    struct table
        keys; /* by their text, each with its number and 1; the map itself, without a key, has the text "" */
    struct chart_print *prints;
    size_t print_count, print_room;
    size_t keys_left, prints_left; /* what there was no room for */
    bool is_emptied;               /* since it was printed last */
};

struct chart {
    struct chart_map *maps; /* in the order of their first printing */
    struct map_watcher watcher;
    bool failed; /* memory ran out: something is missing */
};

/* Begins to watch: `watcher` is for a printer. */
void chart_begin(struct chart *chart);
void chart_free(struct chart *chart);
/* Draws all maps, of which title says what they are of. 0 or -ENOMEM. */
int chart_draw(const struct chart *chart, const char *title, struct text *out);

/* ---- for the files that draw: each appends its picture from the height y on, and returns where it ends ---- */

enum { CHART_WIDTH = 900, CHART_MARGIN = 16, CHART_LABEL = 250, CHART_ROW = 16, CHART_SHOWN = 30 };

double chart_bars(const struct chart_map *map, double y, struct text *out);
double chart_heat(const struct chart_map *map, double y, struct text *out);
double chart_line(const struct chart_map *map, double y, struct text *out);

/* Writes a text in the picture; anchor: "start" or "end". Of one that has more letters, the beginning is shown or the end,
 * whichever is anchored. */
void chart_text(struct text *out, double x, double y, const char *anchor, const char *style, const char *text,
                size_t letters);
/* Frees a text that was a part of the picture, which is not whole if memory ran out for it. */
void chart_part_free(struct text *part, struct text *out);
/* Writes a number as short as it can be read: 12, 3.4K, 5.67M. */
void chart_number(struct text *out, double number);
/* What came to a cell since the printing before. of: a row of the histogram, or UINT32_MAX for the value. */
double chart_value(const struct chart_map *map, size_t print, const struct chart_cell *cell, uint32_t of);
const struct chart_cell *chart_find(const struct chart_print *print, uint32_t key);
const char *chart_key(const struct chart_map *map, uint32_t key);

#endif
