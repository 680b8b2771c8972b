/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/quantile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/histogram.h"

const double quantile_shares[QUANTILES] = {0.5, 0.9, 0.99, 0.999};
const char *const quantile_names[QUANTILES] = {"p50", "p90", "p99", "p99.9"};

uint64_t histogram_total(const uint64_t *counts, size_t rows)
{
    uint64_t total = 0;
    for (size_t i = 0; i < rows; i++)
        total += counts[i];
    return total;
}

/* How many values are at most the one that is sought: at least 1, at most all of them. */
static double rank_of(uint64_t total, double share)
{
    const double rank = share * (double)total;
    return rank < 1 ? 1 : rank;
}

size_t histogram_quantile_row(const uint64_t *counts, size_t rows, double share)
{
    const uint64_t total = histogram_total(counts, rows);
    const double rank = rank_of(total, share);
    uint64_t below = 0;
    size_t last = rows;
    for (size_t i = 0; i < rows; i++) {
        if (!counts[i])
            continue;
        last = i;
        below += counts[i];
        if ((double)below >= rank)
            break;
    }
    return last;
}

double histogram_quantile(const struct type *type, const uint64_t *counts, double share)
{
    const size_t rows = type_rows(type), row = histogram_quantile_row(counts, rows, share);
    if (row == rows)
        return 0;
    const struct histogram_bounds bounds = type->aggregation->bounds(type, (uint32_t)row);
    if (!bounds.has_low || !bounds.has_high)
        return (double)(bounds.has_low ? bounds.low : bounds.high);
    const uint64_t below = histogram_total(counts, row);
    const double within =
        (rank_of(histogram_total(counts, rows), share) - (double)below) / (double)counts[row];
    return (double)bounds.low + ((double)bounds.high - (double)bounds.low) * (within < 0   ? 0
                                                                              : within > 1 ? 1
                                                                                           : within);
}

static void fill_bars(const struct type *type, const uint64_t *counts, const uint64_t *last, size_t first,
                      struct top_bars *bars)
{
    struct text label = {0};
    for (size_t i = 0; i < bars->count; i++) {
        struct top_bar *bar = &bars->items[i];
        text_clear(&label);
        histogram_label(&label, type, (uint32_t)(first + i));
        snprintf(bar->label, sizeof bar->label, "%s", text_string(&label));
        bar->total = counts[first + i];
        bar->last = last[first + i];
    }
    text_free(&label);
}

bool histogram_bars(const struct type *type, const uint64_t *counts, const uint64_t *before,
                    struct top_bars *bars)
{
    const size_t rows = type_rows(type);
    size_t first = 0, end = rows;
    while (first < rows && !counts[first])
        first++;
    while (end > first && !counts[end - 1])
        end--;
    if (end - first > TOP_BARS_MAX)
        end = first + TOP_BARS_MAX;
    *bars = (struct top_bars){.count = end - first, .items = calloc(end - first + 1, sizeof *bars->items)};
    uint64_t *last = calloc(rows, sizeof *last);
    for (size_t i = 0; last && i < rows; i++)
        last[i] = counts[i] > before[i] ? counts[i] - before[i] : 0;
    if (bars->items && last) {
        fill_bars(type, counts, last, first, bars);
        bars->total = histogram_total(counts, rows);
        bars->last = histogram_total(last, rows);
        for (int i = 0; i < QUANTILES; i++) {
            bars->quantiles[TOP_TOTAL][i] = histogram_quantile(type, counts, quantile_shares[i]);
            bars->quantiles[TOP_LAST][i] = histogram_quantile(type, last, quantile_shares[i]);
            bars->before[i] = histogram_quantile(type, before, quantile_shares[i]);
            bars->marks[i] = histogram_quantile_row(counts, rows, quantile_shares[i]) - first;
        }
    }
    const bool has_memory = bars->items && last;
    free(last);
    if (!has_memory)
        free(bars->items);
    return has_memory;
}
