/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows as lines of JSON, an object each. What is NULL is left out. Integers are written with all their digits, as JSON
 * has them: readers with 64-bit integers get them as they were recorded. */
#include <math.h>
#include <string.h>

#include "export/table.h"

static char *put_text(char *at, const char *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    *at++ = '"';
    for (size_t done = 0; done < length;) {
        const unsigned char c = (unsigned char)bytes[done];
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            *at++ = (char)c;
            done++;
        } else if (c == '"' || c == '\\') {
            *at++ = '\\';
            *at++ = (char)c;
            done++;
        } else if (c && c < 0x20) {
            const char code[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
            memcpy(at, code, sizeof code);
            at += sizeof code;
            done++;
        } else {
            at = put_character(at, bytes, length, &done);
        }
    }
    *at++ = '"';
    return at;
}

static void lead(struct text *out, const struct column *column, bool is_first)
{
    text_char(out, is_first ? '{' : ',');
    text_written(out, &table_ndjson, column->name);
    text_char(out, ':');
}

static void head(const struct export_table *table, struct text *out)
{
    (void)table, (void)out;
}

static bool is_not_finite(enum column_kind kind, uint64_t number)
{
    double real;
    memcpy(&real, &number, sizeof real);
    return kind == COLUMN_REAL && !isfinite(real);
}

static char *row(const struct export_table *table, char *at)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        const struct cell *cell = &table->cells[i];
        const struct column *column = &table->columns[cell->column];
        const enum column_kind kind = column->about.kind;
        if (is_not_finite(kind, cell->number)) /* JSON has no such numbers */
            continue;
        memcpy(at, column->lead, column->lead_length);
        at += column->lead_length;
        at =
            kind == COLUMN_TEXT ? put_cell_text(&table_ndjson, at, cell) : put_number(at, kind, cell->number);
    }
    *at++ = '}';
    *at++ = '\n';
    return at;
}

const struct table_writer table_ndjson = {"ndjson", lead, head, row, put_text};
