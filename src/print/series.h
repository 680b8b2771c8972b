/* SPDX-License-Identifier: BSD-3-Clause */
/* Time series: a value for each of the last intervals, as a graph that runs down the page, or as JSON.
 *
 * All keys of a map share the end of the time that is shown, which is the newest interval of the map; each
 * begins with its own oldest interval that is not older than the type's number of intervals. */
#ifndef SPOOR_PRINT_SERIES_H
#define SPOOR_PRINT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "print/value.h"
#include "type/type.h"

struct series_point {
    uint64_t epoch; /* number of the interval since 1970 */
    uint64_t value; /* signed as the type says */
};

/* One element of a map out of one per CPU: of the newest interval among them. */
void series_sum(const struct type *type, const void *per_cpu, unsigned cpus, void *out);
/* What an element of a map holds. False: nothing. */
bool series_point(const struct type *type, const void *element, struct series_point *point);
/* The points, in order of time, no interval twice, up to the interval `last`. Text: lines, each with its
 * newline, or "<no data>" without one. JSON: an array. */
void print_series(struct printer *printer, const struct type *type, const struct series_point *points,
                  size_t count, uint64_t last);

#endif
