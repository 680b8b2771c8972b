/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole map as text or as one JSON line, in the order that the language promises.
 *
 * The caller hands over a snapshot: keys and values as bytes in storage layout, the values of per-CPU maps
 * already made one with aggregation_sum(). Nothing here knows where maps live. The snapshot is not changed.
 *
 * Order: integers, enums, count and sum ascending by value; avg and stats by average; min and max by value
 * taken as unsigned; hist and lhist by total count; tseries by the newest interval; everything else by key
 * (numbers numerically, strings bytewise, tuples field by field). Equal ones by key, and then as they came.
 */
#ifndef SPOOR_PRINT_MAP_H
#define SPOOR_PRINT_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "print/value.h"
#include "type/type.h"

struct map_entry {
    const void
        *key; /* type_storage(key type) bytes; of keyed hist, lhist, tseries: those and then the u64 row */
    const void
        *value; /* type_storage(value type) bytes; of a keyed hist or lhist: the u64 count of that row */
};

struct map_snapshot {
    const char *name;       /* with its @ */
    const struct type *key; /* NULL or TYPE_NONE: no key, at most one entry (a hist's is its array of rows);
                               tseries: all intervals */
    const struct type *value;
    const struct map_entry *entries;
    size_t count;
};

/* Prints the map: in text one line per entry (a histogram: header, rows, empty line); in JSON one line of
 * type map, hist or stats. A keyed map without entries prints nothing; one without a key and without an
 * entry prints as zero. top: only the last of the order (0: all). divisor: of integer results (0: 1).
 * 0, or -ENOMEM with nothing printed. */
int print_map(struct printer *printer, const struct map_snapshot *map, size_t top, uint64_t divisor);

/* Hands out the entries in the order in which print_map prints them (printer NULL: by value), the last `top` of it (0: all); one
 * for each key. The value of a histogram is its array of rows, of a series a struct map_series. 0 or -ENOMEM. */
struct series_point;
struct map_series {
    const struct series_point *points; /* in order of time */
    size_t count;
    uint64_t last; /* the newest interval of the whole map */
};
typedef void map_visitor(void *state, const struct map_snapshot *map, const struct map_entry *entry);
int map_snapshot_each(const struct printer *printer, const struct map_snapshot *map, size_t top,
                      map_visitor *visit, void *state);

/* Makes one value of a value per CPU: per_cpu holds cpus values of type_storage(type) bytes each; out has
 * room for one. count, sum, hist, lhist (keyless: all rows): the sums. min, max: of those that are set. avg,
 * stats: total and count. Sums wrap. Types that are not per-CPU: the first CPU's bytes. */
void aggregation_sum(const struct type *type, const void *per_cpu, unsigned cpus, void *out);
/* Sums, over all CPUs, the u64 that is one row of a keyed hist or lhist. */
uint64_t aggregation_sum_row(const uint64_t *per_cpu, unsigned cpus);

/* What an aggregation reads as in an expression, in print(@m[k]) and in the order of maps: the total, the
 * extreme, or the average (rounded toward zero); 0 when nothing was added. Signed as type->is_signed says. */
uint64_t aggregation_integer(const struct type *type, const void *bytes);

/* How entries compare: < 0, 0, > 0. */
int map_key_compare(const struct type *type, const void *a, const void *b);

#endif
