/* SPDX-License-Identifier: BSD-3-Clause */
/* hist(value, bits): signed 64-bit values; `bits`, from 0 to 5, divides each power of two into 2^bits rows.
 *
 *     value < 0         row 0
 *     value < 2^bits    row value + 1
 *     otherwise         with p = floor(log2(value)), the position of the value's highest bit, and s = p - bits:
 *                       row ((s + 1) << bits) + ((value >> s) & (2^bits - 1)) + 1
 *
 * There are ((64 - bits) << bits) + 1 rows. With bits = 0 row r > 1 is [2^(r-2), 2^(r-1)). The program computes the row in
 * eBPF, hist_row_of() the same here; tests compare the two. */
#ifndef SPOOR_BUILTIN_HIST_H
#define SPOOR_BUILTIN_HIST_H

#include "builtin/aggregation.h"

enum { HISTOGRAM_BITS_MAX = 5 };

uint32_t hist_row_of(unsigned bits, int64_t value);

/* For kinds whose rows are those of hist(), with `bits` in the `step` of their type. */
uint32_t hist_rows(const struct type *type);
uint32_t hist_row(const struct type *type, int64_t value);
struct histogram_bounds hist_bounds(const struct type *type, uint32_t row);
void hist_bound_label(struct text *out, const struct type *type, uint32_t row);
void hist_update(struct lowering *l, struct node *map, struct node *node);

#endif
