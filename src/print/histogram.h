/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms: which row a value lands in, what a row is called, and how rows are printed.
 *
 * hist(v, k): v is a signed 64-bit value, k from 0 to 5 the bits that divide each power of two.
 *     v < 0         row 0
 *     v < 2^k       row v + 1
 *     otherwise     with p = floor(log2(v)), the position of v's highest bit, and s = p - k:
 *                   row ((s + 1) << k) + ((v >> s) & (2^k - 1)) + 1
 *   There are ((64 - k) << k) + 1 rows. With k = 0 row r > 1 is [2^(r-2), 2^(r-1)).
 *
 * lhist(v, min, max, step): signed 64-bit values.
 *     v < min       row 0
 *     v >= max      the last row
 *     otherwise     row (v - min) / step + 1, the difference and the division unsigned
 *   There are ceil((max - min) / step) + 2 rows; when step does not divide the range, the last row before the
 *   overflow ends at max.
 *
 * The compiler's lowering of hist() and lhist() computes the same numbers in eBPF; tests compare the two.
 * type_histogram_rows() gives the number of rows. */
#ifndef SPOOR_PRINT_HISTOGRAM_H
#define SPOOR_PRINT_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "print/value.h"
#include "type/type.h"

enum { HISTOGRAM_BITS_MAX = 5 };

uint32_t histogram_row(unsigned bits, int64_t value);
uint32_t lhist_row(int64_t minimum, int64_t maximum, int64_t step, int64_t value);
/* Either, by the type (hist or lhist). */
uint32_t histogram_type_row(const struct type *type, int64_t value);

/* The values of a row: low to high, both inclusive. has_low is false for the row below everything, has_high
 * for the overflow row of an lhist. */
struct histogram_bounds {
    int64_t low, high;
    bool has_low, has_high;
};
struct histogram_bounds histogram_bounds(const struct type *type, uint32_t row);
/* "(..., 0)", "[3]", "[512, 1K)", "[10, ...)". */
void histogram_label(struct text *out, const struct type *type, uint32_t row);

/* The rows from the first to the last that is not 0, text lines or a JSON array. counts has
 * type_histogram_rows(type) of them. A divisor (0 counts as 1) divides the counts of hist, not of lhist. */
void print_histogram(struct printer *printer, const struct type *type, const uint64_t *counts,
                     uint64_t divisor);
/* The table of BCC's print_log2_hist() (histogram_bcc.c), for both types; title: of the first column. */
void print_histogram_bcc(struct text *out, const struct type *type, const uint64_t *counts,
                         const char *title);

#endif
