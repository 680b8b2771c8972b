/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows as comma-separated values (RFC 4180). Every text is in quotes, also an empty one, and nothing else is: what is
 * empty and without quotes is NULL. Lines end with a line feed alone, as those of other tools here do. */
#include <string.h>

#include "export/table.h"

static void lead(struct text *out, const struct column *column, bool is_first)
{
    (void)out, (void)column, (void)is_first;
}

static char *put_text(char *at, const char *bytes, size_t length)
{
    *at++ = '"';
    for (size_t done = 0; done < length;) {
        const unsigned char c = (unsigned char)bytes[done];
        if (c && c < 0x80 && c != '"') {
            *at++ = (char)c;
            done++;
        } else if (c == '"') {
            *at++ = '"';
            *at++ = '"';
            done++;
        } else {
            at = put_character(at, bytes, length, &done);
        }
    }
    *at++ = '"';
    return at;
}

static void head(const struct export_table *table, struct text *out)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (i)
            text_char(out, ',');
        text_written(out, &table_csv, table->columns[i].name);
    }
    text_char(out, '\n');
}

static char *put_commas(char *at, size_t count)
{
    enum {
        FEW = 8
    }; /* a constant, so that it is one instruction and no call; the columns before have left room for it */
    if (count <= FEW)
        memset(at, ',', FEW);
    else
        memset(at, ',', count);
    return at + count;
}

static char *row(const struct export_table *table, char *at)
{
    size_t column = 0;
    for (size_t i = 0; i < table->cell_count; i++) {
        const struct cell *cell = &table->cells[i];
        const enum column_kind kind = table->columns[cell->column].about.kind;
        at = put_commas(at, cell->column - column);
        column = cell->column;
        at = kind == COLUMN_TEXT ? put_cell_text(&table_csv, at, cell) : put_number(at, kind, cell->number);
    }
    at = put_commas(at, table->column_count - 1 - column);
    *at++ = '\n';
    return at;
}

const struct table_writer table_csv = {"csv", lead, head, row, put_text};
