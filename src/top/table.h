/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of what is shown: tables of rows that are found again by their keys, each with its figures, their last values, and
 * what came since the refresh before. It knows nothing of maps, of recordings and of screens.
 *
 * A source fills a table once per refresh:
 *
 *     top_table_begin(table, now);
 *     for each key: row = top_table_row(table, key, size), then row->bytes, top_row_set(), top_row_push()
 *     top_table_end(table);
 *
 * Rows that were not met are gone then. There are at most top_table_room() of them: a source that has more hands over the
 * largest. */
#ifndef SPOOR_TOP_TABLE_H
#define SPOOR_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { TOP_ROWS_MAX = 32768, TOP_FIGURES = 9, TOP_HISTORY = 64, TOP_BYTES_MAX = 128 << 20 };

/* Since the beginning, or since the refresh before. */
enum top_span { TOP_TOTAL, TOP_LAST, TOP_SPANS };

enum top_format {
    TOP_INTEGER, /* all its digits, as long as there is room */
    TOP_RATE,    /* per second */
    TOP_REAL,    /* with three digits behind the point */
    TOP_PERCENT,
};

struct top_column {
    const char *title;
    enum top_format format;
    unsigned width;
};

struct top_row {
    uint64_t hash;
    uint32_t refresh; /* the last one in which it was met */
    uint32_t age;     /* how many refreshes it was met in before this one */
    double figures[TOP_SPANS][TOP_FIGURES];
    float history[TOP_HISTORY]; /* the newest is the last */
    char *label;                /* NULL: not asked for yet */
    uint8_t bytes[];            /* key; then table->value_bytes that are the source's own */
};

enum { TOP_QUANTILES = 4, TOP_BARS_MAX = 4096 };

/* The distribution that a row stands for. */
struct top_bars {
    struct top_bar {
        char label[40];
        uint64_t total, last;
    } * items; /* the owner frees them */
    size_t count;
    uint64_t total, last;
    /* p50, p90, p99 and p99.9: of everything, of what came last, and of everything before that; and the bars in which the
     * first of these are. */
    double quantiles[TOP_SPANS][TOP_QUANTILES], before[TOP_QUANTILES];
    size_t marks[TOP_QUANTILES];
};

struct top_table;
struct top_table_source {
    /* Appends the key (several lines, where it has such). */
    void (*label)(const struct top_table *table, const struct top_row *row, struct text *out);
    /* How two rows compare by their keys. */
    int (*compare)(const struct top_table *table, const struct top_row *a, const struct top_row *b);
    /* Makes the bars. False: the row is no distribution, or memory ran out. NULL: none is. */
    bool (*bars)(const struct top_table *table, const struct top_row *row, struct top_bars *bars);
    /* Appends the value as lines; NULL: its figures say all. */
    void (*value)(const struct top_table *table, const struct top_row *row, struct text *out);
};

struct top_table {
    const char *name;                      /* as its tab has it; it and what follows are the source's */
    const char *key_title, *history_title; /* history_title NULL: rows have no history */
    bool has_bars, is_single;              /* rows are distributions; there is one row and no key */
    const struct top_column *columns;
    size_t column_count; /* at most TOP_FIGURES */
    size_t key_bytes, value_bytes;
    const struct top_table_source *source;
    void *state;
    uint64_t keys;    /* how many there are in all */
    bool is_periodic; /* the script empties it now and then, and what is shown is the last whole period */
    uint64_t period_ns;

    /* Of the last refresh, ns, at first of the beginning, when all was 0; and since the one before. 0: unknown. */
    uint64_t time, elapsed;
    uint32_t refreshes;
    struct top_row **rows; /* all of them, in no order */
    size_t count, room;
    size_t met;             /* how many of them were met in this refresh */
    struct top_row **slots; /* the same, by their hashes */
    size_t slot_count;
    bool is_incomplete; /* memory ran out */

    /* What the user chose. */
    enum top_span span;
    int sort; /* index of a column; -1: by the keys */
    bool is_reversed;
    struct text filter;     /* only rows whose label contains it, in any case */
    struct top_row **shown; /* rows that pass the filter, in order */
    size_t shown_count;
    size_t
        unlabelled; /* rows that were not looked at by the filter yet, because their labels take time to make */
};

/* How many rows it may have. */
size_t top_table_room(const struct top_table *table);
void top_table_begin(struct top_table *table, uint64_t now);
/* Returns the row of a key, new ones with zeros; NULL: there is no room for it. */
struct top_row *top_table_row(struct top_table *table, const void *key);
void top_table_end(struct top_table *table);
void top_table_free(struct top_table *table);

/* Seconds since the refresh before, for rates; 0: there was none. */
double top_table_seconds(const struct top_table *table);
/* Sets, in a column of all rows, which part the row has of the sum of another column, in percent. */
void top_table_shares(struct top_table *table, unsigned of, unsigned share);
/* Whether the row is met for the first time. In a table that was read before it had nothing then. */
bool top_row_is_new(const struct top_row *row);
void top_row_push(struct top_row *row, double value); /* becomes the newest value of its history */
uint8_t *top_row_value(const struct top_table *table, struct top_row *row);
/* Returns its label, made once. Never NULL. */
const char *top_row_label(const struct top_table *table, struct top_row *row);

/* Puts the rows that pass the filter in order. patience_ns: how long labels may be made for it; 0: no limit. */
void top_table_arrange(struct top_table *table, uint64_t patience_ns);
/* Chooses the next column to sort by, or the one before; behind the last comes the key. */
void top_table_sort_next(struct top_table *table, int step);

/* Writes a figure in at most `width` columns. */
void top_format(struct text *out, enum top_format format, double value, unsigned width);
/* Writes a text of several lines as one: "a < b < c". */
void top_fold(struct text *out, const char *text, const char *separator);

#endif
