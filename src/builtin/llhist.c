/* SPDX-License-Identifier: BSD-3-Clause */
/* llhist(value) and quantile(value, p …): log-linear histograms. Their rows are those of hist(value, 5): 32 for each power
 * of two, so that the middle of a row is at most 1.6 % away from each of its values; what is below 64 has rows of its own.
 * Rows are counts, so those of several CPUs or machines add up, and quantiles are computed from the sum.
 *
 * llhist prints the rows of hist(value) and a line of quantiles, quantile that line alone. In JSON both also have all
 * their rows that are not 0. */
#include <string.h>

#include "builtin/hist.h"
#include "print/histogram.h"
#include "print/json.h"

enum {
    QUANTILES_MAX = 5,
    WHOLE = 1000000 /* the quantile 1 in `value` of struct enumerator, which holds a quantile here */
};

static const struct enumerator usual[] = {
    {"p50", 500000}, {"p90", 900000}, {"p99", 990000}, {"p99.9", 999000}, {"max", WHOLE}};

/* A map's element with rows of hist(value), to print it as such. */
static const struct type coarse = {
    .kind = TYPE_AGGREGATION, .aggregation = &aggregation_kind_hist, .is_signed = true};

/* ---- numbers ---- */

static uint64_t total_of(const struct type *type, const uint64_t *counts)
{
    uint64_t total = 0;
    for (uint32_t row = 0, rows = type_rows(type); row < rows; row++)
        total += counts[row];
    return total;
}

/* The row that holds the smallest value which is not less than this share of all values. */
static uint32_t quantile_row(const struct type *type, const uint64_t *counts, uint64_t total, int64_t share)
{
    const uint64_t wanted = (uint64_t)(((unsigned __int128)total * (uint64_t)share + WHOLE - 1) / WHOLE);
    uint64_t sum = 0;
    uint32_t row = 0, rows = type_rows(type);
    while (row + 1 < rows && (sum += counts[row]) < (wanted ? wanted : 1))
        row++;
    return row;
}

/* The middle of a row; row 0, of what is negative, has none. */
static void quantile_value(struct text *out, const struct type *type, uint32_t row, bool json)
{
    const struct histogram_bounds bounds = hist_bounds(type, row);
    if (!bounds.has_low)
        text_add(out, json ? "null" : "<0");
    else
        number_signed(out, bounds.low + (bounds.high - bounds.low) / 2);
}

/* ---- text and JSON ---- */

static void print_quantiles(struct printer *printer, const struct type *type, const uint64_t *counts)
{
    struct text *out = printer->out;
    const uint64_t total = total_of(type, counts);
    const struct enumerator *quantiles = type->count ? type->enumerators : usual;
    const uint32_t count = type->count ? type->count : sizeof usual / sizeof *usual;
    if (!total && !printer->json)
        text_add(out, "no values");
    for (uint32_t i = 0; i < count && total; i++) {
        text_printf(out, printer->json ? ", \"%s\": " : i ? "  %s " : "%s ", quantiles[i].name);
        quantile_value(out, type, quantile_row(type, counts, total, quantiles[i].value), printer->json);
    }
}

static void print_object(struct printer *printer, const struct type *type, const uint64_t *counts)
{
    text_add(printer->out, "{\"count\": ");
    json_unsigned(printer->out, total_of(type, counts));
    print_quantiles(printer, type, counts);
    text_add(printer->out, ", \"buckets\": [");
    const char *separator = "";
    for (uint32_t row = 0, rows = type_rows(type); row < rows; row++)
        if (counts[row]) {
            text_add(printer->out, separator);
            histogram_row_json(printer->out, type, row, counts[row]);
            separator = ",";
        }
    text_add(printer->out, "]}");
}

static void print_quantile(struct printer *printer, const struct type *type, const uint64_t *counts,
                           uint64_t divisor)
{
    (void)divisor;
    if (printer->json)
        print_object(printer, type, counts);
    else
        print_quantiles(printer, type, counts);
}

static void print_llhist(struct printer *printer, const struct type *type, const uint64_t *counts,
                         uint64_t divisor)
{
    uint64_t sums[64 + 1] = {0};
    if (printer->json) {
        print_object(printer, type, counts);
        return;
    }
    for (uint32_t row = 0, rows = type_rows(type); row < rows; row++) {
        const struct histogram_bounds bounds = hist_bounds(type, row);
        sums[bounds.has_low ? hist_row_of(0, bounds.low) : 0] += counts[row];
    }
    print_histogram(printer, &coarse, sums, divisor);
    print_quantiles(printer, type, counts);
    text_char(printer->out, '\n');
}

/* ---- the language ---- */

/* A quantile as it is written behind its p: up to 100 it is per cent; from 900 on its digits follow the point, so that 999
 * is 99.9 per cent and 9999 is 99.99. False: it is none. */
static bool read_quantile(struct arena *arena, uint64_t number, struct enumerator *quantile)
{
    if (number <= 100) {
        *quantile = (struct enumerator){number == 100 ? "max" : arena_printf(arena, "p%u", (unsigned)number),
                                        (int64_t)number * (WHOLE / 100)};
        return number > 0;
    }
    const char *digits = arena_printf(arena, "%llu", (unsigned long long)number);
    int64_t share = (int64_t)number;
    for (size_t length = strlen(digits); length < 6; length++)
        share *= 10;
    *quantile = (struct enumerator){arena_printf(arena, "p%.2s.%s", digits, digits + 2), share};
    return digits[0] == '9' && strlen(digits) <= 6;
}

static struct type *new_type(struct checker *checker, const struct aggregation *kind)
{
    struct type *type = arena_new(checker->arena, struct type);
    *type = *type_aggregation(checker->arena, kind, &type_i64);
    type->step = HISTOGRAM_BITS_MAX;
    return type;
}

static const struct type *check_llhist(struct checker *checker, struct node *node)
{
    (void)node;
    return new_type(checker, &aggregation_kind_llhist);
}

static const struct type *check_quantile(struct checker *checker, struct node *node)
{
    struct type *type = new_type(checker, &aggregation_kind_quantile);
    struct enumerator *quantiles = arena_array(checker->arena, QUANTILES_MAX, sizeof *quantiles);
    type->enumerators = quantiles;
    for (unsigned i = 1; check_argument(node, i); i++) {
        const struct node *number = check_argument(node, i);
        if (number->kind != NODE_INTEGER)
            return type; /* the checker has not made it a constant yet */
        if (!read_quantile(checker->arena, number->integer.value, &quantiles[type->count++])) {
            check_error(checker, number->span, "quantile(): %lld is no quantile",
                        (long long)number->integer.value);
            check_hint(checker, "1 to 100 are per cent; 999 is 99.9 per cent, 9999 is 99.99");
            return NULL;
        }
    }
    return type;
}

const struct aggregation aggregation_kind_llhist = {
    .name = "llhist_t",
    .shape = AGGREGATION_ROWS,
    .clash = "Different llhist() in a single map unsupported",
    .record = "llhist",
    .rows = hist_rows,
    .row = hist_row,
    .bounds = hist_bounds,
    .bound_label = hist_bound_label,
    .print = print_llhist,
};
const struct aggregation aggregation_kind_quantile = {
    .name = "quantile_t",
    .shape = AGGREGATION_ROWS,
    .is_line = true,
    .clash = "Different quantiles in a single map unsupported",
    .record = "llhist",
    .rows = hist_rows,
    .row = hist_row,
    .bounds = hist_bounds,
    .bound_label = hist_bound_label,
    .print = print_quantile,
};

const struct builtin builtins_llhist[] = {
    {"llhist",
     "llhist(value)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_llhist,
     .update = hist_update,
     .aggregation = &aggregation_kind_llhist},
    {"quantile",
     "quantile(value [, p …])",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1 + QUANTILES_MAX,
     {PARAMETER_INTEGER, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER,
      PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER},
     .check = check_quantile,
     .update = hist_update,
     .aggregation = &aggregation_kind_quantile},
    {0},
};
