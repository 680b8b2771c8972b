/* SPDX-License-Identifier: BSD-3-Clause */
/* Native histograms of Prometheus: buckets whose bounds grow by a factor of 2^(2^-schema), of which only those are written that
 * counted something. The bucket with the index i has the values from above base^(i-1) up to base^i.
 *
 * A row of a histogram counts in the bucket that has the middle of the row. Rows that are powers of two, as those of hist(),
 * are buckets of schema 0; others come into the one that is next, which is about as wide as they are. */
#ifndef SPOOR_METRICS_NATIVE_H
#define SPOOR_METRICS_NATIVE_H

#include "metrics/family.h"

enum { NATIVE_SCHEMA_MIN = -4, NATIVE_SCHEMA_MAX = 8 };

/* Returns the schema whose buckets are not narrower than most of the rows. */
int metric_native_schema(const struct metric_row *rows, uint32_t count);

/* Walks over the buckets of positive or negative values, in the order of their indexes. */
struct native_walk {
    const struct metric_family *family;
    const uint64_t *counts;
    bool is_negative;
    uint32_t at; /* how many rows have been seen */
};
/* Returns false at the end. */
bool native_next(struct native_walk *walk, int32_t *index, uint64_t *count);
/* Returns how many values were 0. */
uint64_t native_zeros(const struct metric_family *family, const uint64_t *counts);

#endif
