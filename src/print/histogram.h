/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms: what a row is called, and how rows are printed. Which values a row counts is up to the kind of aggregation
 * (type/aggregation.h). */
#ifndef SPOOR_PRINT_HISTOGRAM_H
#define SPOOR_PRINT_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "print/value.h"
#include "type/type.h"

/* "(..., 0)", "[3]", "[512, 1K)", "[10, ...)". */
void histogram_label(struct text *out, const struct type *type, uint32_t row);

/* A row and its count as an object of JSON. */
void histogram_row_json(struct text *out, const struct type *type, uint32_t row, uint64_t count);

/* The rows from the first to the last that is not 0, text lines or a JSON array. counts has type_rows(type) of them. A
 * divisor (0 counts as 1) divides the counts, unless the kind ignores it. */
void print_histogram(struct printer *printer, const struct type *type, const uint64_t *counts,
                     uint64_t divisor);
/* The table of BCC's print_log2_hist() (histogram_bcc.c), for every kind; title: of the first column. */
void print_histogram_bcc(struct text *out, const struct type *type, const uint64_t *counts,
                         const char *title);

#endif
