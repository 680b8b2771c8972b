/* SPDX-License-Identifier: BSD-3-Clause */
/* What is on the screen, as a grid of characters with styles. Everything is drawn here; terminal.h brings it to a terminal, and
 * tests read it. Whatever the text, a cell holds one visible character: what is none is shown as '?'. */
#ifndef SPOOR_TOP_CANVAS_H
#define SPOOR_TOP_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum canvas_style {
    STYLE_PLAIN,
    STYLE_DIM,     /* of little interest: rules, hints, what is zero */
    STYLE_STRONG,  /* titles and figures that matter */
    STYLE_HEAD,    /* the heads of columns */
    STYLE_SORT,    /* the head of the column by which rows are sorted */
    STYLE_TAB,     /* the map that is shown, among the names of all */
    STYLE_KEY,     /* a key that can be pressed */
    STYLE_BAR,     /* the bar of a histogram, a sparkline */
    STYLE_NEW,     /* the part of a bar that came since the last refresh */
    STYLE_MARK,    /* a percentile */
    STYLE_GOOD,    /* running, fewer */
    STYLE_WARNING, /* warnings, paused, more */
    STYLE_COUNT,
};

enum { CANVAS_BYTES = 7, CANVAS_ROWS_MAX = 1000, CANVAS_COLUMNS_MAX = 1000 };

struct canvas_cell {
    char bytes[CANVAS_BYTES]; /* UTF-8 with a NUL; "" for the second half of a wide character */
    uint8_t style : 7;
    uint8_t is_selected : 1;
};

struct canvas {
    unsigned rows, columns;
    bool is_utf8; /* else everything drawn is ASCII */
    struct canvas_cell *cells;
};

/* Makes it so large, at most CANVAS_ROWS_MAX and CANVAS_COLUMNS_MAX, and empty. Returns 0 or -ENOMEM. */
int canvas_resize(struct canvas *canvas, unsigned rows, unsigned columns);
void canvas_free(struct canvas *canvas);
void canvas_clear(struct canvas *canvas);
struct canvas_cell *canvas_cell(const struct canvas *canvas, unsigned row,
                                unsigned column); /* NULL: outside */

/* Puts text at a place, up to so many columns and to its first newline. Returns how many columns it took. */
unsigned canvas_put(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                    enum canvas_style style, const char *text);
unsigned canvas_print(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                      enum canvas_style style, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Puts text so that it ends before column + width. */
void canvas_put_right(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                      enum canvas_style style, const char *text);
/* Marks a row as selected, from a column on. */
void canvas_select(struct canvas *canvas, unsigned row);
/* Returns how many columns text takes, up to its first newline. */
unsigned canvas_width(const struct canvas *canvas, const char *text);
/* Appends the row as plain text, without the spaces at its end. */
void canvas_row_text(const struct canvas *canvas, unsigned row, struct text *out);

#endif
