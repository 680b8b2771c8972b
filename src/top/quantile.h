/* SPDX-License-Identifier: BSD-3-Clause */
/* Percentiles of a histogram: within a row values are taken as evenly spread. */
#ifndef SPOOR_TOP_QUANTILE_H
#define SPOOR_TOP_QUANTILE_H

#include <stddef.h>
#include <stdint.h>

#include "top/table.h"
#include "type/type.h"

enum { QUANTILES = TOP_QUANTILES };
extern const double quantile_shares[QUANTILES]; /* 0.5, 0.9, 0.99, 0.999 */
extern const char *const quantile_names[QUANTILES];

uint64_t histogram_total(const uint64_t *counts, size_t rows);
/* Returns the row in which a share of all values is reached; `rows` if there are no values. */
size_t histogram_quantile_row(const uint64_t *counts, size_t rows, double share);
/* Returns the value that a share of all values does not exceed; 0 if there are none. */
double histogram_quantile(const struct type *type, const uint64_t *counts, double share);
/* Makes bars of the rows from the first to the last that is not 0. `before`: the counts at the refresh before. False: memory ran
 * out. */
bool histogram_bars(const struct type *type, const uint64_t *counts, const uint64_t *before,
                    struct top_bars *bars);

#endif
