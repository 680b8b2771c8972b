/* SPDX-License-Identifier: BSD-3-Clause */
/* What makes one kind of aggregation different from another: a constant in the file of its builtin
 * (src/builtin/count.c, hist.c …), to which types of that kind point. All other code reads this description and
 * knows no kind by its name.
 *
 * A map has a value of an aggregation for each CPU; reading it merges them. Storage is in words of 8 bytes. */
#ifndef SPOOR_TYPE_AGGREGATION_H
#define SPOOR_TYPE_AGGREGATION_H

#include <stdbool.h>
#include <stdint.h>

struct printer;
struct text;
struct type;

/* The shape of a value when it is read, from the simplest to the largest. */
enum aggregation_shape {
    AGGREGATION_NUMBER, /* one number, which expressions can read */
    AGGREGATION_STATS,  /* a number of values, their total and average */
    /* Counts of values, a row for each range of them. Without a key the value is the array of all rows; with a key the
     * map has an element for each row that is not 0, whose key is the key and then the number of the row. */
    AGGREGATION_ROWS,
    AGGREGATION_SERIES, /* a value for each of the last intervals of time, each an element of the map */
    AGGREGATION_TEXT,   /* a text that its kind writes */
};

/* How the values of two CPUs become one. */
enum aggregation_merge {
    MERGE_ADD, /* adds word by word */
    MERGE_MIN, /* the smaller word 0 of those whose word 1 is not 0 */
    MERGE_MAX,
};

/* The values of a row: low to high, both inclusive. */
struct histogram_bounds {
    int64_t low, high;
    bool has_low;  /* false: the row has all values that are smaller */
    bool has_high; /* false: the row has all values that are larger */
};

struct aggregation {
    const char *name; /* name of the type: "hist_t" */
    enum aggregation_shape shape;
    enum aggregation_merge merge;
    uint8_t words; /* words of a value on one CPU; 0: as words_of() says, or without it a word for each row */
    bool is_unsigned; /* the result is unsigned, whatever is aggregated */
    bool is_average;  /* the value that is read is word 0 divided by word 1 */
    /* a map to which nothing was added is printed as 0 at the end of the trace, and not left out */
    bool starts_at_zero;
    bool ignores_divisor; /* the third argument of print(), the divisor, has no effect */
    bool halves_first;    /* BCC's table shows rows 1 and 2 as one */
    bool is_keyless;      /* its map has no key */
    bool compares_target; /* what is aggregated is a part of the type */
    bool is_line;         /* AGGREGATION_ROWS: print() writes a single line, without its end */
    /* error message, with the map's name, if calls for one map differ in their parameters */
    const char *clash;
    const char *record; /* the type of the line in JSON; NULL: the one of its shape */
    /* Returns how many words a value has, if that depends on the type. */
    uint32_t (*words_of)(const struct type *type);
    /* Makes one value of the values of `cpus` CPUs, which lie one after the other; `out` has room for it. NULL:
     * `merge` is enough. */
    void (*merge_cpus)(const struct type *type, const void *per_cpu, unsigned cpus, void *out);
    /* Returns how many rows or intervals there are, with those for values that are out of range. Only of shapes
     * that have rows. */
    uint32_t (*rows)(const struct type *type);
    /* Of AGGREGATION_ROWS: row() returns the row of a value, as programs compute it; bounds() the values of a row;
     * bound_label() writes the lowest value of a row that has one. */
    uint32_t (*row)(const struct type *type, int64_t value);
    struct histogram_bounds (*bounds)(const struct type *type, uint32_t row);
    void (*bound_label)(struct text *out, const struct type *type, uint32_t row);
    /* Of AGGREGATION_ROWS and AGGREGATION_TEXT: prints all rows, or the value, as text or JSON; text with a newline behind
     * each line. */
    void (*print)(struct printer *printer, const struct type *type, const uint64_t *words, uint64_t divisor);
};

#endif
