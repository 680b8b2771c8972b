/* SPDX-License-Identifier: BSD-3-Clause */
/* See histogram.h. */
#include "print/histogram.h"

#include <inttypes.h>

#include "print/json.h"

enum { LABEL_WIDTH = 16, COUNT_WIDTH = 8, BAR_WIDTH = 52 };

void histogram_label(struct text *out, const struct type *type, uint32_t row)
{
    struct histogram_bounds bounds = type->aggregation->bounds(type, row);
    text_char(out, bounds.has_low ? '[' : '(');
    if (bounds.has_low)
        type->aggregation->bound_label(out, type, row);
    else
        text_add(out, "...");
    if (bounds.has_low && bounds.has_high && bounds.low == bounds.high) {
        text_char(out, ']');
        return;
    }
    text_add(out, ", ");
    if (bounds.has_high)
        type->aggregation->bound_label(out, type, row + 1);
    else
        text_add(out, "...");
    text_char(out, ')');
}

static void pad_to(struct text *out, size_t begin, size_t width)
{
    size_t length = out->length - begin;
    if (length < width)
        text_fill(out, ' ', width - length);
}

static void row_text(struct text *out, const struct type *type, uint32_t row, uint64_t count, uint64_t most)
{
    size_t begin = out->length;
    histogram_label(out, type, row);
    pad_to(out, begin, LABEL_WIDTH);
    unsigned digits = 1;
    for (uint64_t rest = count; rest >= 10; rest /= 10)
        digits++;
    if (digits < COUNT_WIDTH)
        text_fill(out, ' ', COUNT_WIDTH - digits);
    number_unsigned(out, count);
    text_add(out, " |");
    begin = out->length;
    text_fill(out, '@', most ? (size_t)((unsigned __int128)count * BAR_WIDTH / most) : 0);
    pad_to(out, begin, BAR_WIDTH);
    text_add(out, "|\n");
}

void histogram_row_json(struct text *out, const struct type *type, uint32_t row, uint64_t count)
{
    struct histogram_bounds bounds = type->aggregation->bounds(type, row);
    text_char(out, '{');
    if (bounds.has_low) {
        text_add(out, "\"min\": ");
        json_signed(out, bounds.low);
        text_add(out, ", ");
    }
    if (bounds.has_high) {
        text_add(out, "\"max\": ");
        json_signed(out, bounds.high);
        text_add(out, ", ");
    }
    text_add(out, "\"count\": ");
    json_unsigned(out, count);
    text_char(out, '}');
}

void print_histogram(struct printer *printer, const struct type *type, const uint64_t *counts,
                     uint64_t divisor)
{
    uint32_t rows = type_rows(type), first = 0, end = rows;
    if (printer->bcc_histograms && !printer->json) {
        print_histogram_bcc(printer->out, type, counts,
                            printer->histogram_title ? printer->histogram_title : "value");
        return;
    }
    if (!divisor || type->aggregation->ignores_divisor)
        divisor = 1;
    while (first < rows && !counts[first])
        first++;
    while (end > first && !counts[end - 1])
        end--;
    uint64_t most = 0;
    for (uint32_t row = first; row < end; row++)
        if (counts[row] / divisor > most)
            most = counts[row] / divisor;
    if (!most) /* divided, every count is 0 */
        end = first;
    if (printer->json)
        text_char(printer->out, '[');
    for (uint32_t row = first; row < end; row++) {
        if (!printer->json) {
            row_text(printer->out, type, row, counts[row] / divisor, most);
            continue;
        }
        if (row != first)
            text_char(printer->out, ',');
        histogram_row_json(printer->out, type, row, counts[row] / divisor);
    }
    if (printer->json)
        text_char(printer->out, ']');
}
