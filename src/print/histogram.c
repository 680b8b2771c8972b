/* SPDX-License-Identifier: BSD-3-Clause */
/* See histogram.h, which defines the rows. */
#include "print/histogram.h"

#include <inttypes.h>

#include "print/json.h"

enum { LABEL_WIDTH = 16, COUNT_WIDTH = 8, BAR_WIDTH = 52 };

static unsigned type_bits(const struct type *type)
{
    return type->step < 0 ? 0 : type->step > HISTOGRAM_BITS_MAX ? HISTOGRAM_BITS_MAX : (unsigned)type->step;
}

uint32_t histogram_row(unsigned bits, int64_t value)
{
    if (value < 0)
        return 0;
    if (value < INT64_C(1) << bits)
        return (uint32_t)value + 1;
    unsigned shift = 63 - (unsigned)__builtin_clzll((uint64_t)value) - bits;
    return ((shift + 1) << bits) + ((uint32_t)(value >> shift) & ((1u << bits) - 1)) + 1;
}

uint32_t lhist_row(int64_t minimum, int64_t maximum, int64_t step, int64_t value)
{
    struct type type = {.kind = TYPE_LHIST, .minimum = minimum, .maximum = maximum, .step = step};
    return histogram_type_row(&type, value);
}

uint32_t histogram_type_row(const struct type *type, int64_t value)
{
    if (type->kind == TYPE_HIST)
        return histogram_row(type_bits(type), value);
    if (value < type->minimum)
        return 0;
    uint32_t last = type_histogram_rows(type) - 1;
    if (value >= type->maximum || type->step <= 0)
        return last;
    uint64_t row = ((uint64_t)value - (uint64_t)type->minimum) / (uint64_t)type->step + 1;
    return row > last ? last : (uint32_t)row;
}

/* The lowest value of row index + 1 of a hist; 2^63 for the index after the last. */
static uint64_t hist_low(unsigned bits, uint32_t index)
{
    if (index < 2u << bits)
        return index;
    unsigned shift = (index >> bits) - 1;
    return (uint64_t)((1u << bits) + (index & ((1u << bits) - 1))) << shift;
}

/* As hist_low, with K for 2^10, M for 2^20 … where the row's interval is a multiple of it. */
static void hist_low_label(struct text *out, unsigned bits, uint32_t index)
{
    if (index < 2u << bits) {
        number_unsigned(out, index);
        return;
    }
    unsigned shift = (index >> bits) - 1;
    number_unsigned(out, (uint64_t)((1u << bits) + (index & ((1u << bits) - 1))) << shift % 10);
    if (shift >= 10)
        text_char(out, "KMGTPE"[shift / 10 - 1]);
}

/* The lowest value of row `row` (from 1) of an lhist: never beyond the maximum. */
static int64_t lhist_low(const struct type *type, uint32_t row)
{
    if (row + 1 >= type_histogram_rows(type))
        return type->maximum;
    return (int64_t)((uint64_t)type->minimum + (uint64_t)(row - 1) * (uint64_t)type->step);
}

static void lhist_low_label(struct text *out, const struct type *type, int64_t value)
{
    static const struct {
        int64_t unit;
        char suffix;
    } units[] = {{1 << 20, 'M'}, {1 << 10, 'K'}};
    if (value && type->step % 1024 == 0)
        for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
            if (value % units[i].unit == 0) {
                number_signed(out, value / units[i].unit);
                text_char(out, units[i].suffix);
                return;
            }
    number_signed(out, value);
}

struct histogram_bounds histogram_bounds(const struct type *type, uint32_t row)
{
    struct histogram_bounds bounds = {.has_low = row > 0, .has_high = true};
    if (type->kind == TYPE_HIST) {
        unsigned bits = type_bits(type);
        bounds.low = row ? (int64_t)hist_low(bits, row - 1) : 0;
        bounds.high = (int64_t)(hist_low(bits, row) - 1);
        return bounds;
    }
    bounds.has_high = row + 1 < type_histogram_rows(type);
    bounds.low = row ? lhist_low(type, row) : 0;
    /* The row below a minimum of INT64_MIN is empty for ever: the difference may wrap. */
    bounds.high = bounds.has_high ? (int64_t)((uint64_t)lhist_low(type, row + 1) - 1) : 0;
    return bounds;
}

static void bound_label(struct text *out, const struct type *type, uint32_t row)
{
    if (type->kind == TYPE_HIST)
        hist_low_label(out, type_bits(type), row - 1);
    else
        lhist_low_label(out, type, lhist_low(type, row));
}

void histogram_label(struct text *out, const struct type *type, uint32_t row)
{
    struct histogram_bounds bounds = histogram_bounds(type, row);
    text_char(out, bounds.has_low ? '[' : '(');
    if (bounds.has_low)
        bound_label(out, type, row);
    else
        text_add(out, "...");
    if (bounds.has_low && bounds.has_high && bounds.low == bounds.high) {
        text_char(out, ']');
        return;
    }
    text_add(out, ", ");
    if (bounds.has_high)
        bound_label(out, type, row + 1);
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

static void row_json(struct text *out, const struct type *type, uint32_t row, uint64_t count)
{
    struct histogram_bounds bounds = histogram_bounds(type, row);
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
    uint32_t rows = type_histogram_rows(type), first = 0, end = rows;
    if (printer->bcc_histograms && !printer->json) {
        print_histogram_bcc(printer->out, type, counts,
                            printer->histogram_title ? printer->histogram_title : "value");
        return;
    }
    if (!divisor || type->kind == TYPE_LHIST)
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
        row_json(printer->out, type, row, counts[row] / divisor);
    }
    if (printer->json)
        text_char(printer->out, ']');
}
