/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* qsort_r, strcasestr */
#endif
#include "top/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/table.h"
#include "base/vector.h"

enum { SLOTS_MIN = 64 };

/* ---- rows by their keys ---- */

/* The slot of a key, or the free one in which it would be. There is always one. */
static size_t slot_of(const struct top_table *table, uint64_t hash, const void *key)
{
    size_t slot = hash & (table->slot_count - 1);
    const struct top_row *row;
    while ((row = table->slots[slot]) &&
           (row->hash != hash || memcmp(row->bytes, key, table->key_bytes) != 0))
        slot = (slot + 1) & (table->slot_count - 1);
    return slot;
}

/* Makes the slots anew, twice as many as are needed. False: no memory. */
static bool rehash(struct top_table *table, size_t count)
{
    size_t slots = SLOTS_MIN;
    while (slots < count * 2 + 2)
        slots *= 2;
    if (slots != table->slot_count) {
        struct top_row **made = reallocarray(table->slots, slots, sizeof *made);
        if (!made)
            return false;
        table->slots = made;
        table->slot_count = slots;
    }
    memset(table->slots, 0, slots * sizeof(struct top_row *));
    for (size_t i = 0; i < table->count; i++)
        table->slots[slot_of(table, table->rows[i]->hash, table->rows[i]->bytes)] = table->rows[i];
    return true;
}

static size_t row_size(const struct top_table *table)
{
    return sizeof(struct top_row) + table->key_bytes + table->value_bytes;
}

size_t top_table_room(const struct top_table *table)
{
    const size_t room = TOP_BYTES_MAX / row_size(table);
    return room < TOP_ROWS_MAX ? room : TOP_ROWS_MAX;
}

static struct top_row *add_row(struct top_table *table, uint64_t hash, const void *key)
{
    if (table->met >= top_table_room(table) || !vector_make_room(table->rows, table->count, table->room))
        return NULL;
    if (table->count * 2 + 2 > table->slot_count && !rehash(table, table->count + 1))
        return NULL;
    struct top_row *row = calloc(1, row_size(table));
    if (!row)
        return NULL;
    row->hash = hash;
    row->refresh = table->refreshes;
    memcpy(row->bytes, key, table->key_bytes);
    table->slots[slot_of(table, hash, key)] = row;
    table->rows[table->count++] = row;
    table->met++;
    return row;
}

struct top_row *top_table_row(struct top_table *table, const void *key)
{
    const uint64_t hash = table_hash(key, table->key_bytes);
    struct top_row *row = table->slot_count ? table->slots[slot_of(table, hash, key)] : NULL;
    if (!row) {
        row = add_row(table, hash, key);
        table->is_incomplete |= !row;
        return row;
    }
    if (row->refresh != table->refreshes) {
        row->age++;
        table->met++;
    }
    row->refresh = table->refreshes;
    return row;
}

static void free_row(struct top_row *row)
{
    free(row->label);
    free(row);
}

void top_table_begin(struct top_table *table, uint64_t now)
{
    table->elapsed = table->time && now > table->time ? now - table->time : 0;
    table->time = now;
    table->refreshes++;
    table->is_incomplete = false;
    table->met = 0;
}

void top_table_end(struct top_table *table)
{
    size_t kept = 0;
    table->shown_count = 0; /* it may name rows that go */
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i]->refresh == table->refreshes)
            table->rows[kept++] = table->rows[i];
        else
            free_row(table->rows[i]);
    const bool has_lost = kept < table->count;
    table->count = kept;
    if (has_lost && !rehash(table, kept)) { /* without slots nothing is found: begin anew */
        for (size_t i = 0; i < kept; i++)
            free_row(table->rows[i]);
        table->count = table->slot_count = 0;
        free(table->slots);
        table->slots = NULL;
        table->is_incomplete = true;
    }
    if (table->keys < table->count)
        table->keys = table->count;
}

void top_table_free(struct top_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free_row(table->rows[i]);
    free(table->rows);
    free(table->slots);
    free(table->shown);
    text_free(&table->filter);
    table->rows = table->slots = table->shown = NULL;
    table->count = table->room = table->slot_count = table->shown_count = 0;
}

/* ---- a row ---- */

double top_table_seconds(const struct top_table *table)
{
    return (double)table->elapsed / NSEC_PER_SEC;
}

bool top_row_is_new(const struct top_row *row)
{
    return !row->age;
}

void top_table_shares(struct top_table *table, unsigned of, unsigned share)
{
    for (int span = 0; span < TOP_SPANS; span++) {
        double total = 0;
        for (size_t i = 0; i < table->count; i++)
            total += table->rows[i]->figures[span][of];
        for (size_t i = 0; i < table->count; i++)
            table->rows[i]->figures[span][share] =
                total > 0 ? table->rows[i]->figures[span][of] * 100 / total : 0;
    }
}

void top_row_push(struct top_row *row, double value)
{
    memmove(row->history, row->history + 1, sizeof row->history - sizeof *row->history);
    row->history[TOP_HISTORY - 1] = (float)value;
}

uint8_t *top_row_value(const struct top_table *table, struct top_row *row)
{
    return row->bytes + table->key_bytes;
}

const char *top_row_label(const struct top_table *table, struct top_row *row)
{
    if (!row->label) {
        struct text text = {0};
        table->source->label(table, row, &text);
        row->label = text.failed ? NULL : strdup(text_string(&text));
        text_free(&text);
    }
    return row->label ? row->label : "?";
}

/* ---- order ---- */

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct top_row *x = *(struct top_row *const *)a, *y = *(struct top_row *const *)b;
    const struct top_table *table = context;
    int order = 0;
    if (table->sort >= 0) {
        const double left = x->figures[table->span][table->sort],
                     right = y->figures[table->span][table->sort];
        order = left > right ? -1 : left < right;
    }
    if (!order)
        order = table->source->compare(table, x, y);
    return table->is_reversed ? -order : order;
}

static bool passes(const struct top_table *table, struct top_row *row)
{
    return !table->filter.length || strcasestr(top_row_label(table, row), text_string(&table->filter));
}

void top_table_arrange(struct top_table *table, uint64_t patience_ns)
{
    const uint64_t until = clock_ns(CLOCK_MONOTONIC) + patience_ns;
    struct top_row **shown = reallocarray(table->shown, table->count + 1, sizeof *shown);
    table->shown_count = table->unlabelled = 0;
    if (!shown) {
        table->is_incomplete = true;
        return;
    }
    table->shown = shown;
    bool is_late = false;
    for (size_t i = 0; i < table->count; i++) {
        struct top_row *row = table->rows[i];
        if (table->filter.length && !row->label) {
            is_late = is_late || (patience_ns && clock_ns(CLOCK_MONOTONIC) > until);
            table->unlabelled += is_late;
            if (is_late)
                continue;
        }
        if (passes(table, row))
            shown[table->shown_count++] = row;
    }
    qsort_r(shown, table->shown_count, sizeof *shown, compare_rows, table);
}

void top_table_sort_next(struct top_table *table, int step)
{
    const int count = (int)table->column_count + 1; /* and the key */
    table->sort = (table->sort + 1 + step + count) % count - 1;
}

/* ---- figures and labels as text ---- */

/* Writes a large number with a suffix, in about five characters. */
static void write_short(struct text *out, double value)
{
    static const char suffixes[] = "kMGTPE";
    size_t i = 0;
    value /= 1000;
    for (; (value >= 999.5 || value <= -999.5) && i + 2 < sizeof suffixes; i++)
        value /= 1000;
    const double size = value < 0 ? -value : value;
    text_printf(out, "%.*f%c", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, value, suffixes[i]);
}

void top_format(struct text *out, enum top_format format, double value, unsigned width)
{
    static const double whole_max = 9007199254740992.0; /* up to 2^53 integers are exact */
    char digits[64];
    const double size = value < 0 ? -value : value;
    if (format == TOP_PERCENT)
        snprintf(digits, sizeof digits, "%.1f%%", value);
    else if (format == TOP_REAL && size < 1e12)
        snprintf(digits, sizeof digits, "%.3f", value);
    else if (format == TOP_RATE && size < 1000 && value != (double)(int64_t)(size < 1e15 ? value : 0))
        snprintf(digits, sizeof digits, "%.1f", value);
    else if (size <= whole_max)
        snprintf(digits, sizeof digits, "%" PRId64,
                 (int64_t)(size > 1e15 ? value
                           : value < 0 ? value - 0.5
                                       : value + 0.5));
    else
        snprintf(digits, sizeof digits, "%.6g", value);
    if (format == TOP_REAL && strlen(digits) > width && size < 1e12)
        snprintf(digits, sizeof digits, "%.1f", value);
    if (strlen(digits) <= width || size < 1000)
        text_add(out, digits);
    else
        write_short(out, value);
}

void top_fold(struct text *out, const char *text, const char *separator)
{
    bool is_first = true;
    while (*text) {
        size_t length = strcspn(text, "\n"), skip = strspn(text, " \t");
        const char *next = text + length + (text[length] == '\n');
        skip = skip < length ? skip : length;
        while (length > skip && (text[length - 1] == ' ' || text[length - 1] == '\t'))
            length--;
        if (length > skip && !is_first)
            text_add(out, separator);
        if (length > skip) {
            text_append(out, text + skip, length - skip);
            is_first = false;
        }
        text = next;
    }
}
