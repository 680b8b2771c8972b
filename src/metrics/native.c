/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/native.h"

#include <math.h>
#include <stdlib.h>

static bool is_bounded(const struct metric_row *row)
{
    return !isinf(row->low) && !isinf(row->high);
}

/* Returns by which factor the values of a row differ; 1 for a row of one value, or without bounds. */
static double row_factor(const struct metric_row *row)
{
    return is_bounded(row) && row->low > 0 && row->high > row->low ? (row->high + 1) / row->low : 1;
}

static int compare_factors(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the largest schema whose buckets grow by this factor at least. */
static int schema_of(double factor)
{
    double power = factor * factor, bound = 2;
    int schema = 0;
    for (; schema < NATIVE_SCHEMA_MAX && power <= 2; schema++)
        power *= power;
    for (; schema > NATIVE_SCHEMA_MIN && factor > bound; schema--)
        bound *= bound;
    return schema;
}

int metric_native_schema(const struct metric_row *rows, uint32_t count)
{
    enum { USUAL = 3 };
    double *factors = calloc((size_t)count + 1, sizeof *factors);
    uint32_t used = 0;
    for (uint32_t i = 0; factors && i < count; i++)
        if (row_factor(&rows[i]) > 1)
            factors[used++] = row_factor(&rows[i]);
    int schema = USUAL; /* also without memory: any schema is right */
    if (used) {
        qsort(factors, used, sizeof *factors, compare_factors);
        schema = schema_of(factors[used / 2]);
    }
    free(factors);
    return schema;
}

/* Returns the value that stands for a row: its middle, or one behind the only bound that it has. */
static double middle(const struct metric_row *row)
{
    if (is_bounded(row))
        return row->low + (row->high - row->low) / 2;
    return isinf(row->low) ? isinf(row->high) ? 0 : row->high - 0.5 : row->low + 0.5;
}

/* Returns the logarithm to the base of the schema, rounded up. Squaring a number between 1 and 2 gives the next bit of its
 * logarithm to the base of 2; a library for that is not needed. */
static int32_t index_of(double value, int schema)
{
    int octave;
    double rest = 2 * frexp(value, &octave);
    int32_t index = octave - 1;
    for (int bit = 0; bit < schema; bit++) {
        rest *= rest;
        index = 2 * index + (rest >= 2);
        rest /= rest >= 2 ? 2 : 1;
    }
    index += rest > 1;
    for (int bit = schema; bit < 0; bit++)
        index = index > 0 ? (index + 1) / 2 : index / 2; /* up */
    return index;
}

bool native_next(struct native_walk *walk, int32_t *index, uint64_t *count)
{
    const struct metric_family *family = walk->family;
    *count = 0;
    for (; walk->at < family->row_count; walk->at++) {
        const uint32_t row = walk->is_negative ? family->row_count - 1 - walk->at : walk->at;
        const double value = (walk->is_negative ? -1 : 1) * middle(&family->rows[row]);
        if (!walk->counts[row] || !(value > 0))
            continue;
        const int32_t at = index_of(value, family->schema);
        if (*count && at != *index)
            return true;
        *index = at;
        *count += walk->counts[row];
    }
    return *count;
}

uint64_t native_zeros(const struct metric_family *family, const uint64_t *counts)
{
    uint64_t zeros = 0;
    for (uint32_t i = 0; i < family->row_count; i++)
        if (middle(&family->rows[i]) == 0)
            zeros += counts[i];
    return zeros;
}
