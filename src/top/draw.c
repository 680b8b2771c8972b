/* SPDX-License-Identifier: BSD-3-Clause */
/* The screen, from above: title, tabs, the table or what else is shown, printed lines, status, keys. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "top/view.h"

static const char *rule_of(const struct canvas *canvas)
{
    return canvas->is_utf8 ? "─" : "-";
}

static void draw_rule(struct canvas *canvas, unsigned row, const char *title)
{
    for (unsigned column = 0; column < canvas->columns; column++)
        canvas_put(canvas, row, column, 1, STYLE_DIM, rule_of(canvas));
    canvas_print(canvas, row, 2, canvas->columns, STYLE_DIM, " %s ", title);
}

/* ---- above ---- */

static void write_elapsed(const struct top_view *view, struct text *out)
{
    const uint64_t seconds = view->now > view->started ? (view->now - view->started) / NSEC_PER_SEC : 0;
    text_printf(out, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600, seconds / 60 % 60,
                seconds % 60);
}

static void draw_title(struct top_view *view)
{
    struct canvas *canvas = &view->canvas;
    struct text right = {0};
    const char *state = view->ended ? view->ended : view->is_paused ? "paused" : "running";
    write_elapsed(view, &right);
    text_printf(&right, "  every %g s  ", (double)view->interval / NSEC_PER_SEC);
    const unsigned taken = canvas_width(canvas, state) + 2;
    const unsigned clock = canvas_width(canvas, text_string(&right));
    unsigned column = canvas_put(canvas, 0, 0, canvas->columns, STYLE_STRONG, "spoor top ");
    column += canvas_put(canvas, 0, column, canvas->columns - column, STYLE_PLAIN, view->title);
    unsigned end = canvas->columns;
    if (column + taken < end) {
        end -= taken;
        canvas_put(canvas, 0, end, taken, view->ended || view->is_paused ? STYLE_WARNING : STYLE_GOOD,
                   canvas->is_utf8 ? "●" : "*");
        canvas_put(canvas, 0, end + 2, taken, view->ended || view->is_paused ? STYLE_WARNING : STYLE_GOOD,
                   state);
    }
    if (column + 2 + clock < end)
        canvas_put(canvas, 0, end - clock, clock, STYLE_DIM, text_string(&right));
    text_free(&right);
}

/* What is to be known of the table besides its rows. */
static void write_about(const struct top_view *view, const struct top_table *table, struct text *out)
{
    const char *dot = table->is_single ? "" : view->canvas.is_utf8 ? "· " : "- ";
    if (table->filter.length || view->edits_filter)
        text_printf(out, "/%s%s %zu of ", text_string(&table->filter), view->edits_filter ? "_" : "",
                    table->shown_count);
    if (!table->is_single)
        text_printf(out, "%" PRIu64 " %s%s ", table->keys, strcmp(table->key_title, "MAP") ? "key" : "map",
                    table->keys == 1 ? "" : "s");
    if (table->unlabelled)
        text_printf(out, "(%zu not looked at yet) ", table->unlabelled);
    if (table->keys > table->count)
        text_printf(out, "(%zu shown) ", table->count);
    if (table->is_periodic)
        text_printf(out, "%slast period, %.1f s", dot, (double)table->period_ns / NSEC_PER_SEC);
    else
        text_printf(out, "%s%s", dot, table->span == TOP_TOTAL ? "in all" : "last refresh");
}

static void draw_tabs(struct top_view *view)
{
    struct canvas *canvas = &view->canvas;
    const struct top_table *table = top_view_table(view);
    struct text about = {0};
    if (table)
        write_about(view, table, &about);
    const unsigned width = canvas_width(canvas, text_string(&about));
    const unsigned room = canvas->columns > width + 2 ? canvas->columns - width - 2 : 0;
    size_t first = view->current; /* as many before the current one as there is room for */
    for (unsigned used = table ? canvas_width(canvas, table->name) + 4 : 0; first; first--) {
        used += canvas_width(canvas, view->tables[first - 1].name) + 4;
        if (used > room)
            break;
    }
    unsigned column = 0;
    for (size_t i = first; i < view->table_count && column < room; i++) {
        const bool is_current = i == view->current;
        const enum canvas_style style = is_current ? STYLE_TAB : STYLE_DIM;
        if (column + canvas_width(canvas, view->tables[i].name) + 4 > room && !is_current)
            break;
        column += canvas_print(canvas, 1, column, room - column, style, " %zu ", i + 1);
        column += canvas_put(canvas, 1, column, room - column, style, view->tables[i].name);
        column += canvas_put(canvas, 1, column, room - column, style, " ");
    }
    canvas_put_right(canvas, 1, room, canvas->columns - room, view->edits_filter ? STYLE_WARNING : STYLE_DIM,
                     text_string(&about));
    text_free(&about);
}

/* ---- below ---- */

static void draw_keys(struct top_view *view, unsigned row)
{
    static const struct {
        const char *key, *does;
    } keys[] = {{"q", "quit"}, {"?", "help"},  {"space", "pause"}, {"s", "sort"}, {"/", "filter"},
                {"d", "last"}, {"tab", "map"}, {"enter", "row"},   {"w", "save"}, {"S", "reverse"}};
    struct canvas *canvas = &view->canvas;
    unsigned column = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (column + strlen(keys[i].key) + strlen(keys[i].does) + 3 > canvas->columns)
            break;
        column += canvas_print(canvas, row, column, canvas->columns, STYLE_KEY, " %s ", keys[i].key);
        column += canvas_print(canvas, row, column, canvas->columns, STYLE_DIM, "%s ", keys[i].does);
    }
}

/* Draws printed lines above `end`. Returns the row at which they begin. */
static unsigned draw_lines(struct top_view *view, unsigned end)
{
    enum { LINES_MAX = 5, ROWS_ABOVE_MIN = 10 };
    const uint64_t count = view->is_paused ? view->lines_shown : view->lines->count;
    unsigned wanted = count < LINES_MAX ? (unsigned)count : LINES_MAX;
    if (end < ROWS_ABOVE_MIN + wanted + 1)
        wanted = end > ROWS_ABOVE_MIN + 1 ? end - ROWS_ABOVE_MIN - 1 : 0;
    if (!wanted)
        return end;
    for (unsigned i = 0; i < wanted; i++) {
        const char *line = top_lines_last(view->lines, count, i);
        if (line)
            canvas_put(&view->canvas, end - 1 - i, 0, view->canvas.columns, STYLE_PLAIN, line);
    }
    draw_rule(&view->canvas, end - 1 - wanted, "printed");
    return end - 1 - wanted;
}

static unsigned draw_status(struct top_view *view, unsigned end)
{
    if (!view->status.length)
        return end;
    canvas_put(&view->canvas, end - 1, 0, view->canvas.columns,
               view->is_warning ? STYLE_WARNING : STYLE_STRONG, text_string(&view->status));
    return end - 1;
}

static void draw_help(struct top_view *view, unsigned row, unsigned height)
{
    static const struct {
        const char *key, *does;
    } lines[] = {
        {"q, Ctrl-C", "quit: the maps are printed as at the end of every trace"},
        {"space", "pause: what is shown stays as it is; the trace goes on"},
        {"arrows, page up/down", "move; left and right move long keys"},
        {"home, end", "first and last row"},
        {"enter", "the selected row whole, and its last values; again: back"},
        {"s, S", "sort by the next column; in the opposite order"},
        {"/", "show only rows that contain this; escape: all"},
        {"tab, 1-9", "another map"},
        {"d", "everything, or only what came since the last refresh"},
        {"w", "write all maps as JSON to a new file"},
        {"escape", "back; away with the message"},
        {"?", "this"},
    };
    struct canvas *canvas = &view->canvas;
    for (unsigned i = 0; i < sizeof lines / sizeof *lines && i < height; i++) {
        canvas_put(canvas, row + i, 2, 22, STYLE_STRONG, lines[i].key);
        canvas_put(canvas, row + i, 24, canvas->columns, STYLE_PLAIN, lines[i].does);
    }
}

void top_view_draw(struct top_view *view)
{
    struct canvas *canvas = &view->canvas;
    canvas_clear(canvas);
    view->is_stale = false;
    if (canvas->rows < VIEW_ROWS_MIN || canvas->columns < VIEW_COLUMNS_MIN) {
        canvas_print(canvas, 0, 0, canvas->columns, STYLE_WARNING, "%ux%u is too small:", canvas->columns,
                     canvas->rows);
        canvas_print(canvas, 1, 0, canvas->columns, STYLE_PLAIN, "%dx%d is needed", VIEW_COLUMNS_MIN,
                     VIEW_ROWS_MIN);
        return;
    }
    unsigned end = canvas->rows - 1;
    draw_title(view);
    draw_tabs(view);
    draw_keys(view, end);
    end = draw_status(view, end);
    end = draw_lines(view, end);
    const unsigned begin = canvas->rows >= 16 ? 3 : 2;
    const unsigned height = end > begin ? end - begin : 0;
    if (view->mode == VIEW_HELP)
        draw_help(view, begin, height);
    else if (!top_view_table(view))
        canvas_put(canvas, begin, 0, canvas->columns, STYLE_DIM, "The script has no maps.");
    else if (view->mode == VIEW_WHOLE_ROW)
        draw_whole_row(view, begin, height);
    else
        draw_table(view, begin, height);
}
