/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms as BCC's print_log2_hist() lays them out: a column title, rows "low -> high" from the lowest to
 * the last that is not 0, stars. Rows 0 and 1 are one row there. Nothing is printed when nothing was counted.
 *
 * BCC counts negative numbers as huge ones; here they have a row of their own, before the others. */
#include <inttypes.h>
#include <stdio.h>

#include "print/histogram.h"

enum { STARS_NARROW = 40, STARS_WIDE = 20 };

struct bcc_row {
    uint32_t first, last; /* the rows of the type that this row of the table shows */
    uint64_t count;
};

/* The row of the table that begins with `first`. */
static struct bcc_row row_from(const struct type *type, const uint64_t *counts, uint32_t first)
{
    struct bcc_row row = {first, first, counts[first]};
    if (type->aggregation->halves_first && first == 1 && type_rows(type) > 2) {
        row.last = 2;
        row.count += counts[2];
    }
    return row;
}

static void bound(struct text *out, int64_t value, bool is_known, bool is_left, int width)
{
    char number[24] = "...";
    if (is_known)
        snprintf(number, sizeof number, "%" PRId64, value);
    text_printf(out, is_left ? "%-*s" : "%*s", width, number);
}

static void print_row(struct text *out, const struct type *type, const struct bcc_row *row, bool is_wide,
                      uint64_t most)
{
    const int width = is_wide ? 20 : 10;
    const unsigned room = is_wide ? STARS_WIDE : STARS_NARROW;
    const struct histogram_bounds low = type->aggregation->bounds(type, row->first);
    const struct histogram_bounds high = type->aggregation->bounds(type, row->last);
    const unsigned stars = (unsigned)((unsigned __int128)row->count * room / most);
    bound(out, low.low, low.has_low, false, width);
    text_add(out, " -> ");
    bound(out, high.high, high.has_high, true, width);
    text_printf(out, " : %-8" PRIu64 " |", row->count);
    text_fill(out, '*', stars);
    text_fill(out, ' ', room - stars);
    text_add(out, "|\n");
}

void print_histogram_bcc(struct text *out, const struct type *type, const uint64_t *counts, const char *title)
{
    const uint32_t rows = type_rows(type);
    uint32_t end = rows;
    uint64_t most = 0;
    while (end && !counts[end - 1])
        end--;
    if (!end)
        return;
    for (uint32_t i = 0; i < end; i++) {
        const struct bcc_row row = row_from(type, counts, i);
        most = row.count > most ? row.count : most;
        i = row.last;
    }
    const struct histogram_bounds last = type->aggregation->bounds(type, end - 1);
    const bool is_wide = last.high > UINT32_MAX || last.low > UINT32_MAX;
    text_printf(out,
                is_wide ? "               %-29s : count     distribution\n"
                        : "     %-19s : count     distribution\n",
                title);
    for (uint32_t i = counts[0] ? 0 : 1; i < end; i++) {
        const struct bcc_row row = row_from(type, counts, i);
        print_row(out, type, &row, is_wide, most);
        i = row.last;
    }
}
