/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables as plain text, one below the other. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "print/value.h"
#include "top/run.h"

static void put_right(struct text *out, const char *text, unsigned width)
{
    const size_t length = strlen(text);
    text_fill(out, ' ', length < width ? width - length : 0);
    text_add(out, text);
}

static void write_row(struct text *out, const struct top_table *table, struct top_row *row)
{
    struct text figure = {0};
    for (size_t i = 0; i < table->column_count; i++) {
        text_clear(&figure);
        top_format(&figure, table->columns[i].format, row->figures[table->span][i], table->columns[i].width);
        put_right(out, text_string(&figure), table->columns[i].width);
        text_char(out, ' ');
    }
    text_char(out, ' ');
    top_fold(out, top_row_label(table, row), " < ");
    if (table->source->value) {
        text_clear(&figure);
        table->source->value(table, row, &figure);
        text_add(out, ": ");
        top_fold(out, text_string(&figure), " < ");
    }
    text_char(out, '\n');
    text_free(&figure);
}

static void write_bars(struct text *out, const struct top_table *table, const struct top_row *row)
{
    enum { LABEL = 16, COUNT = 9, BAR = 50 };
    struct top_bars bars = {0};
    uint64_t most = 0;
    if (!table->source->bars || !table->source->bars(table, row, &bars))
        return;
    for (size_t i = 0; i < bars.count; i++)
        most = bars.items[i].total > most ? bars.items[i].total : most;
    for (size_t i = 0; i < bars.count; i++) {
        char count[24];
        snprintf(count, sizeof count, "%" PRIu64, bars.items[i].total);
        put_right(out, bars.items[i].label, LABEL);
        put_right(out, count, COUNT);
        text_add(out, bars.items[i].total ? " " : "");
        text_fill(out, '#', most ? (size_t)((unsigned __int128)bars.items[i].total * BAR / most) : 0);
        text_char(out, '\n');
    }
    free(bars.items);
}

static void write_table(struct text *out, struct top_table *table, unsigned rows)
{
    top_table_arrange(table, 0);
    text_printf(out, "\n%s", table->name);
    if (!table->is_single)
        text_printf(out, ", %" PRIu64 " key%s", table->keys, table->keys == 1 ? "" : "s");
    if (table->is_periodic)
        text_printf(out, ", last period of %.1f s", (double)table->period_ns / NSEC_PER_SEC);
    text_char(out, '\n');
    for (size_t i = 0; i < table->column_count; i++) {
        put_right(out, table->columns[i].title, table->columns[i].width);
        text_char(out, ' ');
    }
    text_printf(out, " %s\n", table->key_title);
    size_t shown = rows && rows < table->shown_count ? rows : table->shown_count;
    for (size_t i = 0; i < shown; i++)
        write_row(out, table, table->shown[i]);
    if (table->keys > shown && !table->is_single)
        text_printf(out, "… and %" PRIu64 " more\n", table->keys - shown);
    if (table->is_single && table->has_bars && table->shown_count)
        write_bars(out, table, table->shown[0]);
}

void top_batch_write(struct text *out, const struct top_settings *settings, struct top_table *tables,
                     size_t count, uint64_t since, uint64_t now)
{
    text_add(out, "\n== ");
    print_time(out, "%H:%M:%S", (int64_t)clock_ns(CLOCK_REALTIME));
    terminal_print(out, "  %s  %.1f s ==\n", settings->title, (double)(now - since) / NSEC_PER_SEC);
    for (size_t i = 0; i < count; i++)
        write_table(out, &tables[i], settings->rows);
}
