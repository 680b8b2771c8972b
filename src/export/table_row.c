/* SPDX-License-Identifier: BSD-3-Clause */
/* A row while it is made, and what both ways to write one share: numbers, and texts as valid UTF-8. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "export/table.h"
#include "print/json.h"

/* ---- a row ---- */

static struct cell *next_cell(struct export_table *table, unsigned column)
{
    struct cell *cell = &table->cells[table->cell_count++];
    cell->column = column;
    cell->is_written = cell->is_cut = cell->is_number = false;
    return cell;
}

void row_begin(struct export_table *table)
{
    table->cell_count = table->text_room = 0;
    row_word(table, 0, &table->recording_name);
    if (table->model->host[0])
        row_word(table, 1, &table->host);
}

void row_number(struct export_table *table, unsigned column, uint64_t number)
{
    table->cells[table->cell_count++] = (struct cell){.column = column, .number = number};
}

void row_text(struct export_table *table, unsigned column, const char *bytes, size_t length)
{
    struct cell *cell = next_cell(table, column);
    cell->bytes = bytes;
    cell->length = (uint32_t)length;
    table->text_room += length * TEXT_GROWS;
}

void row_word(struct export_table *table, unsigned column, const struct word *word)
{
    row_text(table, column, word->bytes, word->length);
    table->cells[table->cell_count - 1].is_written = true;
}

void row_thread(struct export_table *table, unsigned column, uint32_t id, const char *name)
{
    row_number(table, column, id);
    if (name[0])
        row_text(table, column + 1, name, strnlen(name, RECORDING_NAME));
}

void row_owner(struct export_table *table, unsigned column, const struct recording_event *event)
{
    struct recording_owner owner;
    const bool is_known = recording_owner(table->recording, event, &owner);
    const int16_t type = is_known && owner.letter ? owner.type : event->tracepoint->owner;
    if (type < 0 && !event->owner)
        return;
    if (type >= 0)
        row_word(table, column, &table->owner_types[type]);
    row_number(table, column + 1, event->owner);
    if (is_known && owner.description_length)
        row_text(table, column + 2, owner.description, owner.description_length);
}

void argument_value(const struct recording_event *event, unsigned argument, struct argument_value *value)
{
    const struct recording_argument *declared = &event->tracepoint->arguments[argument];
    *value = (struct argument_value){.word = event->words[argument],
                                     .is_signed = declared->kind == RECORDING_SIGNED};
    if (declared->kind == RECORDING_STRING) {
        const struct recording_text text = recording_string(event, argument);
        value->bytes = text.bytes;
        value->length = text.length;
        value->is_null = text.is_null;
        value->is_cut = text.is_cut;
    } else if (declared->enumeration) {
        value->bytes = recording_enumerator(declared->enumeration, value->word);
        value->length = value->bytes ? (uint32_t)strlen(value->bytes) : 0;
    }
}

void row_argument(struct export_table *table, unsigned column, const struct argument_value *value)
{
    if (value->is_null)
        return;
    struct cell *cell = next_cell(table, column);
    cell->length = value->length;
    table->text_room += (size_t)value->length * TEXT_GROWS;
    cell->is_cut = value->is_cut;
    cell->is_number = !value->bytes;
    cell->is_signed = value->is_signed;
    if (value->bytes)
        cell->bytes = value->bytes;
    else
        cell->number = value->word;
}

static void end_at(struct text *out, char *end)
{
    out->length = (size_t)(end - out->bytes);
    *end = 0;
}

int row_end(struct export_table *table, struct text *out)
{
    if (!text_reserve(out, table->row_room + table->text_room))
        return -ENOMEM;
    end_at(out, table->writer->row(table, out->bytes + out->length));
    table->row_count++;
    return 0;
}

/* ---- for the writers ---- */

char *put_character(char *at, const char *bytes, size_t length, size_t *done)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const size_t step = bytes[*done] ? utf8_length(bytes + *done, length - *done) : 0;
    const size_t put = step ? step : sizeof replacement - 1;
    memcpy(at, step ? bytes + *done : replacement, put);
    *done += step ? step : 1;
    return at + put;
}

/* Writes a number so that it is read as the same number: as a decimal fraction where few digits are enough. A function of
 * its own, so that integers do not pay for it. */
static __attribute__((noinline)) char *put_real(char *at, uint64_t bits)
{
    static const double scales[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    double real;
    memcpy(&real, &bits, sizeof real);
    const double size = fabs(real);
    if (isnan(real))
        return at + snprintf(at, NUMBER_ROOM, "nan");
    for (size_t decimals = 0;
         size < 1e9 && (real != 0 || !signbit(real)) && /* which excludes infinity and -0 */
         decimals < sizeof scales / sizeof scales[0];
         decimals++) {
        const double whole = (double)(uint64_t)(size * scales[decimals] + 0.5);
        if (whole / scales[decimals] !=
            size) /* both are exact: the quotient is what a reader makes of the digits */
            continue;
        char digits[24];
        size_t length = (size_t)(number_write(digits, (uint64_t)whole) - digits);
        for (; length <= decimals; length++) {
            memmove(digits + 1, digits, length);
            digits[0] = '0';
        }
        if (real < 0)
            *at++ = '-';
        memcpy(at, digits, length - decimals);
        at += length - decimals;
        if (decimals)
            *at++ = '.';
        memcpy(at, digits + length - decimals, decimals);
        return at + decimals;
    }
    return at + snprintf(at, NUMBER_ROOM, "%.17g", real);
}

char *put_number(char *at, enum column_kind kind, uint64_t number)
{
    switch (kind) {
    case COLUMN_REAL: return put_real(at, number);
    case COLUMN_BOOL: {
        const size_t length = number ? 4 : 5;
        memcpy(at, number ? "true" : "false", length);
        return at + length;
    }
    case COLUMN_SIGNED:
        if ((int64_t)number < 0) {
            *at++ = '-';
            number = 0 - number;
        }
        break;
    default: break;
    }
    return number_write(at, number);
}

char *put_cell_text(const struct table_writer *writer, char *at, const struct cell *cell)
{
    if (cell->is_written) {
        memcpy(at, cell->bytes, cell->length);
        return at + cell->length;
    }
    if (cell->is_number) {
        *at++ = '"';
        at = put_number(at, cell->is_signed ? COLUMN_SIGNED : COLUMN_UNSIGNED, cell->number);
        *at++ = '"';
        return at;
    }
    at = writer->text(at, cell->bytes, cell->length);
    if (!cell->is_cut)
        return at;
    at[-1] = '.';
    *at++ = '.';
    *at++ = '"';
    return at;
}

void text_written(struct text *out, const struct table_writer *writer, const char *string)
{
    const size_t length = strlen(string);
    if (text_reserve(out, length * TEXT_GROWS + NUMBER_ROOM))
        end_at(out, writer->text(out->bytes + out->length, string, length));
}
