/* SPDX-License-Identifier: BSD-3-Clause */
/* What of the tables is seen, and what keys do to it. It knows no terminal: keys come as numbers, and the picture is a canvas.
 *
 *   view.c       keys
 *   draw.c       the screen: title, tabs, printed lines, status, help
 *   draw_table.c a table, and the bars of a distribution */
#ifndef SPOOR_TOP_VIEW_H
#define SPOOR_TOP_VIEW_H

#include "top/canvas.h"
#include "top/lines.h"
#include "top/table.h"

enum { VIEW_ROWS_MIN = 6, VIEW_COLUMNS_MIN = 30 };

/* Keys beside characters, which are what they are. */
enum view_key {
    VIEW_NO_KEY = 0,
    VIEW_TAB = '\t',
    VIEW_ENTER = '\n',
    VIEW_ESCAPE = 27,
    VIEW_BACKSPACE = 127,
    VIEW_UP = 0x200000, /* above all characters */
    VIEW_DOWN,
    VIEW_LEFT,
    VIEW_RIGHT,
    VIEW_PAGE_UP,
    VIEW_PAGE_DOWN,
    VIEW_HOME,
    VIEW_END,
    VIEW_BACK_TAB,
};

/* What a key asks of the one who called. */
enum view_request { VIEW_NOTHING, VIEW_ARRANGE /* order or filter changed */, VIEW_QUIT, VIEW_SAVE };

enum view_mode { VIEW_TABLE, VIEW_WHOLE_ROW, VIEW_HELP };

struct view_position {      /* in a table */
    size_t selected, first; /* indexes of rows that are shown */
    bool follows;           /* the selection goes with its row when the order changes */
    uint64_t hash;          /* of that row */
    unsigned shift;         /* how many columns of the keys are passed over */
};

struct top_view {
    struct canvas canvas;
    struct top_table *tables;
    struct view_position *positions; /* one for each table */
    size_t table_count, current;
    const char *title;
    uint64_t started, now, interval; /* ns; `now`: when the tables were refreshed */
    bool is_paused;
    const char *ended; /* why nothing changes any more; NULL: it goes on */
    enum view_mode mode;
    bool edits_filter;
    size_t scroll; /* lines that are passed over in a whole row */
    struct top_lines *lines;
    uint64_t lines_shown; /* how many of them, while it is paused */
    struct text status;   /* the newest warning or note */
    bool is_warning;
    bool is_stale; /* it has changed since it was drawn */
    size_t page;   /* rows of the table that were drawn last */
};

/* Returns 0 or -ENOMEM. The tables, title and lines are the caller's; there may become `room` tables. */
int top_view_begin(struct top_view *view, struct top_table *tables, size_t count, size_t room,
                   struct top_lines *lines);
void top_view_free(struct top_view *view);
enum view_request top_view_key(struct top_view *view, uint32_t key);
/* To be called when tables were arranged: the selection stays on its row. */
void top_view_arranged(struct top_view *view);
/* Sets the line of status, whose first line alone is shown. */
void top_view_status(struct top_view *view, bool is_warning, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct top_table *top_view_table(const struct top_view *view); /* NULL: there is none */

void top_view_draw(struct top_view *view);

/* draw_table.c: draw into rows from `row` on, `height` of them. */
void draw_table(struct top_view *view, unsigned row, unsigned height);
void draw_whole_row(struct top_view *view, unsigned row, unsigned height);

#endif
