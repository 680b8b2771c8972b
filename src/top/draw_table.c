/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/chart.h"
#include "top/view.h"

enum { HISTORY_WIDTH = 16, HISTORY_WIDTH_MIN = 8, KEY_WIDTH_MIN = 16, KEY_WIDTH_LONG = 60, GAP = 1 };

/* ---- rows of figures ---- */

struct layout {
    size_t columns;   /* how many of the figures there is room for */
    unsigned history; /* columns of the sparkline; 0: none */
    unsigned key;     /* where the key begins */
};

/* How wide keys are, as far as they can be seen. */
static unsigned key_width(const struct top_view *view, const struct top_table *table, unsigned rows)
{
    const size_t first = view->positions[view->current].first;
    unsigned widest = KEY_WIDTH_MIN;
    for (size_t i = first; i < first + rows && i < table->shown_count; i++) {
        const unsigned width = canvas_width(&view->canvas, top_row_label(table, table->shown[i]));
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Keys take room from the history, and both from the last columns. */
static struct layout lay_out(const struct top_view *view, const struct top_table *table, unsigned rows)
{
    const unsigned width = view->canvas.columns;
    struct layout layout = {0};
    for (; layout.columns < table->column_count; layout.columns++) {
        const unsigned wider = layout.key + table->columns[layout.columns].width + GAP;
        if (layout.columns && wider + GAP + KEY_WIDTH_MIN > width)
            break;
        layout.key = wider;
    }
    const unsigned room = width > layout.key + GAP ? width - layout.key - GAP : 0;
    unsigned key = key_width(view, table, rows);
    if (table->is_single)
        key = KEY_WIDTH_MIN;
    if (table->history_title && room > HISTORY_WIDTH_MIN + GAP + KEY_WIDTH_MIN) {
        const unsigned left = room > key + GAP ? room - key - GAP : 0;
        layout.history = left > HISTORY_WIDTH ? HISTORY_WIDTH : left < HISTORY_WIDTH_MIN ? 0 : left;
        if (key > KEY_WIDTH_LONG && !layout.history) /* a stack is never whole */
            layout.history = HISTORY_WIDTH_MIN;
        layout.key += layout.history + (layout.history ? GAP : 0);
    }
    layout.key += layout.key > 0;
    return layout;
}

static void draw_head(struct top_view *view, const struct top_table *table, const struct layout *layout,
                      unsigned row)
{
    struct canvas *canvas = &view->canvas;
    const char *mark = canvas->is_utf8 ? (table->is_reversed ? "▲" : "▼") : table->is_reversed ? "^" : "v";
    unsigned column = 0;
    for (unsigned i = 0; i < canvas->columns; i++)
        canvas_put(canvas, row, i, 1, STYLE_HEAD, " ");
    for (size_t i = 0; i < layout->columns; i++) {
        char title[64];
        const bool is_sorted = table->sort == (int)i;
        const bool is_last = table->span == TOP_LAST && !strcmp(table->columns[i].title, "TOTAL");
        snprintf(title, sizeof title, "%s%s", is_last ? "LAST" : table->columns[i].title,
                 is_sorted ? mark : "");
        canvas_put_right(canvas, row, column, table->columns[i].width, is_sorted ? STYLE_SORT : STYLE_HEAD,
                         title);
        column += table->columns[i].width + GAP;
    }
    if (layout->history)
        canvas_put_right(canvas, row, column, layout->history, STYLE_HEAD, table->history_title);
    column = layout->key + canvas_put(canvas, row, layout->key, canvas->columns,
                                      table->sort < 0 ? STYLE_SORT : STYLE_HEAD, table->key_title);
    if (table->sort < 0)
        canvas_put(canvas, row, column, 1, STYLE_SORT, mark);
}

/* Skips columns at the beginning of a text. */
static const char *shifted(const char *text, unsigned shift)
{
    while (shift-- && *text)
        do
            text++;
        while ((*text & 0xc0) == 0x80);
    return text;
}

static void draw_row(struct top_view *view, const struct top_table *table, struct top_row *of,
                     const struct layout *layout, unsigned row)
{
    struct canvas *canvas = &view->canvas;
    struct text text = {0};
    unsigned column = 0;
    for (size_t i = 0; i < layout->columns; i++) {
        const double figure = of->figures[table->span][i];
        text_clear(&text);
        top_format(&text, table->columns[i].format, figure, table->columns[i].width);
        canvas_put_right(canvas, row, column, table->columns[i].width,
                         figure == 0             ? STYLE_DIM
                         : table->sort == (int)i ? STYLE_STRONG
                                                 : STYLE_PLAIN,
                         text_string(&text));
        column += table->columns[i].width + GAP;
    }
    if (layout->history)
        chart_spark(canvas, row, column, layout->history, STYLE_BAR, of->history, TOP_HISTORY);
    text_clear(&text);
    top_fold(&text, top_row_label(table, of), canvas->is_utf8 ? " ← " : " < ");
    if (table->source->value) {
        text_add(&text, ": ");
        struct text value = {0};
        table->source->value(table, of, &value);
        top_fold(&text, text_string(&value), canvas->is_utf8 ? " ← " : " < ");
        text_free(&value);
    }
    const char *key = shifted(text_string(&text), view->positions[view->current].shift);
    const unsigned width = canvas->columns > layout->key ? canvas->columns - layout->key : 0;
    canvas_put(canvas, row, layout->key, width, STYLE_PLAIN, key);
    if (width && canvas_width(canvas, key) > width)
        canvas_put(canvas, row, canvas->columns - 1, 1, STYLE_DIM, canvas->is_utf8 ? "…" : ">");
    text_free(&text);
}

/* ---- distributions ---- */

/* Makes bars fewer, by joining neighbours, until there is a row for each. */
static void join_bars(struct top_bars *bars, unsigned room)
{
    while (bars->count > room && bars->count > 1) {
        for (size_t i = 0; i < bars->count; i += 2) {
            struct top_bar joined = bars->items[i];
            if (i + 1 < bars->count) {
                const struct top_bar *next = &bars->items[i + 1];
                const char *from = strchr(joined.label, ','), *to = strchr(next->label, ',');
                char label[sizeof joined.label];
                struct text closing = {0}; /* of "[3]", which is its own end */
                text_printf(&closing, ", %s", next->label + (next->label[0] == '['));
                snprintf(label, sizeof label, "%.*s%s",
                         (int)(from ? from - joined.label : (long)strcspn(joined.label, "]")), joined.label,
                         to ? to : text_string(&closing));
                memcpy(joined.label, label, sizeof label);
                text_free(&closing);
                joined.total += next->total;
                joined.last += next->last;
            }
            bars->items[i / 2] = joined;
        }
        bars->count = (bars->count + 1) / 2;
        for (int i = 0; i < TOP_QUANTILES; i++)
            bars->marks[i] /= 2;
    }
}

static const char *const shares[TOP_QUANTILES] = {"p50", "p90", "p99", "p99.9"};

/* Writes "count 1234 (+12)  p50 130 ▲  p90 …" of all values, or of those that came last. */
static void draw_figures(struct canvas *canvas, unsigned row, const struct top_bars *bars, enum top_span span)
{
    enum { NAME = 7, COUNT = 12, QUANTILE = 13 };
    const uint64_t count = span == TOP_TOTAL ? bars->total : bars->last;
    unsigned column = 1;
    struct text text = {0};
    canvas_put(canvas, row, column, NAME, STYLE_DIM, span == TOP_TOTAL ? "all" : "last");
    column += NAME - 2;
    text_printf(&text, "%s%" PRIu64, span == TOP_TOTAL ? "" : "+", count);
    canvas_put_right(canvas, row, column, COUNT - 1, STYLE_STRONG, text_string(&text));
    column += COUNT + 2;
    for (int i = 0; i < TOP_QUANTILES; i++, column += QUANTILE + (unsigned)strlen(shares[3])) {
        const double value = bars->quantiles[span][i], before = bars->before[i];
        if (column + QUANTILE + strlen(shares[i]) > canvas->columns)
            break;
        unsigned at = column + canvas_print(canvas, row, column, 8, STYLE_MARK, "%s ", shares[i]);
        text_clear(&text);
        if (count)
            top_format(&text, TOP_INTEGER, value, 9);
        else
            text_char(&text, '-');
        at += canvas_put(canvas, row, at, 10, STYLE_PLAIN, text_string(&text));
        if (span == TOP_TOTAL && value != before && count > bars->last)
            canvas_put(canvas, row, at, 1, value > before ? STYLE_WARNING : STYLE_GOOD,
                       canvas->is_utf8  ? (value > before ? "▲" : "▼")
                       : value > before ? "^"
                                        : "v");
    }
    text_free(&text);
}

/* Writes which percentiles are in a bar. */
static void draw_marks(struct canvas *canvas, unsigned row, unsigned column, const struct top_bars *bars,
                       size_t bar)
{
    for (int i = 0; i < TOP_QUANTILES; i++)
        if (bars->marks[i] == bar)
            column += canvas_print(canvas, row, column, 6, STYLE_MARK, "%s ", shares[i]);
}

static void draw_bars(struct top_view *view, const struct top_table *table, struct top_bars *bars,
                      unsigned row, unsigned height)
{
    enum { LABEL = 16, COUNT = 10, MARKS = 22, BAR_MIN = 10 };
    struct canvas *canvas = &view->canvas;
    uint64_t most = 0;
    draw_figures(canvas, row, bars, TOP_TOTAL);
    draw_figures(canvas, row + 1, bars, TOP_LAST);
    row += 2;
    height -= 2;
    join_bars(bars, height);
    const bool is_last = table->span == TOP_LAST;
    for (size_t i = 0; i < bars->count; i++) {
        const uint64_t value = is_last ? bars->items[i].last : bars->items[i].total;
        most = value > most ? value : most;
    }
    const unsigned column = LABEL + COUNT + 2;
    const unsigned marks = canvas->columns > column + BAR_MIN + MARKS ? MARKS : 0;
    const unsigned width = canvas->columns > column + marks ? canvas->columns - column - marks : 0;
    for (size_t i = 0; i < bars->count && i < height; i++) {
        const struct top_bar *bar = &bars->items[i];
        const uint64_t value = is_last ? bar->last : bar->total;
        struct text text = {0};
        canvas_put_right(canvas, row + (unsigned)i, 0, LABEL, STYLE_PLAIN, bar->label);
        top_format(&text, TOP_INTEGER, (double)value, COUNT);
        canvas_put_right(canvas, row + (unsigned)i, LABEL, COUNT, value ? STYLE_STRONG : STYLE_DIM,
                         text_string(&text));
        chart_bar(canvas, row + (unsigned)i, column, width, (double)value, (double)bar->last, (double)most);
        if (marks && !is_last)
            draw_marks(canvas, row + (unsigned)i, column + width + 1, bars, i);
        text_free(&text);
    }
}

static void draw_distribution(struct top_view *view, const struct top_table *table, const struct top_row *of,
                              unsigned row, unsigned height)
{
    struct top_bars bars = {0};
    if (height < 3 || !table->source->bars || !table->source->bars(table, of, &bars))
        return;
    draw_bars(view, table, &bars, row, height);
    free(bars.items);
}

/* ---- a table ---- */

static void rule(struct canvas *canvas, unsigned row, const char *title)
{
    for (unsigned column = 0; column < canvas->columns; column++)
        canvas_put(canvas, row, column, 1, STYLE_DIM, canvas->is_utf8 ? "─" : "-");
    struct text text = {0};
    top_fold(&text, title, " < ");
    const unsigned taken = canvas_put(canvas, row, 3, canvas->columns - 4, STYLE_STRONG, text_string(&text));
    canvas_put(canvas, row, 2, 1, STYLE_DIM, " ");
    canvas_put(canvas, row, 3 + taken, 1, STYLE_DIM, " ");
    text_free(&text);
}

static void draw_rows(struct top_view *view, const struct top_table *table, unsigned row, unsigned height)
{
    struct view_position *position = &view->positions[view->current];
    const struct layout layout = lay_out(view, table, height);
    draw_head(view, table, &layout, row++);
    view->page = height -= height > 0;
    if (position->selected < position->first)
        position->first = position->selected;
    if (height && position->selected >= position->first + height)
        position->first = position->selected - height + 1;
    if (position->first + height > table->shown_count)
        position->first = table->shown_count > height ? table->shown_count - height : 0;
    for (unsigned i = 0; i < height && position->first + i < table->shown_count; i++) {
        draw_row(view, table, table->shown[position->first + i], &layout, row + i);
        if (position->first + i == position->selected)
            canvas_select(&view->canvas, row + i);
    }
    if (!table->shown_count && height)
        canvas_put(&view->canvas, row, 2, view->canvas.columns, STYLE_DIM,
                   table->filter.length ? "No key contains this." : "Nothing yet.");
}

void draw_table(struct top_view *view, unsigned row, unsigned height)
{
    enum { DISTRIBUTION_MIN = 9, ROWS_MIN = 3 };
    const struct top_table *table = top_view_table(view);
    const size_t selected = view->positions[view->current].selected;
    if (table->has_bars && table->shown_count && selected < table->shown_count) {
        struct top_row *of = table->shown[selected];
        unsigned above = table->is_single ? 2 : (unsigned)table->shown_count + 1;
        if (!table->is_single && above > height / 2)
            above = height / 2;
        if (height >= above + DISTRIBUTION_MIN || (table->is_single && height > above + 4)) {
            draw_rows(view, table, row, above);
            rule(&view->canvas, row + above, top_row_label(table, of));
            draw_distribution(view, table, of, row + above + 1, height - above - 1);
            return;
        }
    }
    draw_rows(view, table, row, height);
}

/* ---- a row whole ---- */

/* Draws lines, of which `view->scroll` are passed over. Returns how many rows that took. */
static unsigned draw_lines(struct top_view *view, const char *text, unsigned row, unsigned height)
{
    size_t lines = 0, line = 0;
    unsigned drawn = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        lines++;
    if (view->scroll + height > lines)
        view->scroll = lines > height ? lines - height : 0;
    for (const char *at = text; *at && drawn < height; at += strcspn(at, "\n"), at += *at == '\n')
        if (line++ >= view->scroll)
            canvas_put(&view->canvas, row + drawn++, 1, view->canvas.columns, STYLE_PLAIN, at);
    return drawn;
}

void draw_whole_row(struct top_view *view, unsigned row, unsigned height)
{
    enum { GRAPH = 5, GRAPH_MIN_HEIGHT = 16 };
    const struct top_table *table = top_view_table(view);
    const size_t selected = view->positions[view->current].selected;
    struct canvas *canvas = &view->canvas;
    struct text text = {0};
    if (selected >= table->shown_count || height < 4) {
        canvas_put(canvas, row, 2, canvas->columns, STYLE_DIM, "This row is gone.");
        return;
    }
    struct top_row *of = table->shown[selected];
    const unsigned end = row + height;
    const struct layout layout = lay_out(view, table, 1);
    draw_head(view, table, &layout, row);
    draw_row(view, table, of, &layout, row + 1);
    row += 3;
    if (table->history_title && height >= GRAPH_MIN_HEIGHT) {
        rule(canvas, row, table->history_title);
        chart_graph(canvas, row + 1, 1, GRAPH, TOP_HISTORY, of->history, TOP_HISTORY);
        row += GRAPH + 2;
    }
    text_add(&text, top_row_label(table, of));
    if (table->source->value) {
        text_add(&text, ":\n");
        table->source->value(table, of, &text);
    }
    const char *whole = text_string(&text);
    whole += strspn(whole, "\n");
    if (row < end)
        rule(canvas, row++, table->key_title);
    const unsigned left = end > row ? end - row : 0;
    row += draw_lines(view, whole, row, table->has_bars ? left / 2 : left);
    if (table->has_bars && row + 1 < end)
        draw_distribution(view, table, of, row + 1, end - row - 1);
    text_free(&text);
}
