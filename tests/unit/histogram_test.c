/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of src/print/histogram: rows, bounds, labels and printed rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "builtin/hist.h"
#include "print/histogram.h"

static struct type hist_type(unsigned bits)
{
    return (struct type){.kind = TYPE_AGGREGATION, .aggregation = &aggregation_kind_hist, .step = bits};
}

static struct type lhist_type(int64_t minimum, int64_t maximum, int64_t step)
{
    return (struct type){.kind = TYPE_AGGREGATION,
                         .aggregation = &aggregation_kind_lhist,
                         .minimum = minimum,
                         .maximum = maximum,
                         .step = step};
}

static void assert_label(const struct type *type, uint32_t row, const char *expected)
{
    struct text text = {0};
    histogram_label(&text, type, row);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void assert_within(const struct type *type, int64_t value)
{
    uint32_t row = type->aggregation->row(type, value);
    assert_true(row < type_rows(type));
    struct histogram_bounds bounds = type->aggregation->bounds(type, row);
    assert_true(!bounds.has_low || value >= bounds.low);
    assert_true(!bounds.has_high || value <= bounds.high);
}

static const int64_t edges[] = {INT64_MIN,
                                INT64_MIN + 1,
                                -1000000,
                                -2,
                                -1,
                                0,
                                1,
                                2,
                                3,
                                7,
                                8,
                                31,
                                32,
                                33,
                                63,
                                64,
                                100,
                                1023,
                                1024,
                                1025,
                                4095,
                                4096,
                                1 << 20,
                                INT32_MAX,
                                INT64_C(1) << 40,
                                INT64_C(1) << 62,
                                INT64_MAX - 1,
                                INT64_MAX};

static void every_value_is_within_its_row(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= HISTOGRAM_BITS_MAX; bits++) {
        struct type type = hist_type(bits);
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
            assert_within(&type, edges[i]);
        assert_int_equal(hist_row_of(bits, INT64_MAX), type_rows(&type) - 1);
        assert_int_equal(hist_row_of(bits, -1), 0);
    }
    const struct type linear[] = {lhist_type(0, 100, 10), lhist_type(-7, 100, 9), lhist_type(5, 6, 1),
                                  lhist_type(INT64_MIN, INT64_MAX, INT64_MAX / 10), lhist_type(0, 10, 100)};
    for (size_t t = 0; t < sizeof linear / sizeof *linear; t++)
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
            assert_within(&linear[t], edges[i]);
}

static void rows_are_contiguous(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= HISTOGRAM_BITS_MAX; bits++) {
        struct type type = hist_type(bits);
        for (uint32_t row = 1; row < type_rows(&type); row++) {
            struct histogram_bounds bounds = type.aggregation->bounds(&type, row);
            assert_int_equal(hist_row_of(bits, bounds.low), row);
            assert_int_equal(hist_row_of(bits, bounds.high), row);
            assert_true(type.aggregation->bounds(&type, row - 1).high == bounds.low - 1);
        }
        assert_true(type.aggregation->bounds(&type, type_rows(&type) - 1).high == INT64_MAX);
    }
    struct type type = lhist_type(-10, 95, 10);
    for (uint32_t row = 1; row + 1 < type_rows(&type); row++) {
        struct histogram_bounds bounds = type.aggregation->bounds(&type, row);
        assert_int_equal(type.aggregation->row(&type, bounds.low), row);
        assert_int_equal(type.aggregation->row(&type, bounds.high), row);
        assert_int_equal(type.aggregation->bounds(&type, row - 1).high, bounds.low - 1);
    }
    assert_int_equal(type.aggregation->row(&type, 95), type_rows(&type) - 1);
    assert_int_equal(type.aggregation->row(&type, 94), type_rows(&type) - 2);
}

static void hist_labels(void **state)
{
    (void)state;
    struct type type = hist_type(0);
    assert_label(&type, 0, "(..., 0)");
    assert_label(&type, hist_row_of(0, 0), "[0]");
    assert_label(&type, hist_row_of(0, 1), "[1]");
    assert_label(&type, hist_row_of(0, 2), "[2, 4)");
    assert_label(&type, hist_row_of(0, 512), "[512, 1K)");
    assert_label(&type, hist_row_of(0, 1024), "[1K, 2K)");
    assert_label(&type, hist_row_of(0, (1 << 20) - 1), "[512K, 1M)");
    assert_label(&type, hist_row_of(0, INT64_MAX), "[4E, 8E)");
    type = hist_type(2);
    assert_label(&type, hist_row_of(2, 7), "[7]");
    assert_label(&type, hist_row_of(2, 8), "[8, 10)");
    assert_label(&type, hist_row_of(2, 224), "[224, 256)");
    assert_label(&type, hist_row_of(2, 5 << 10), "[5K, 6K)");
    type = hist_type(5);
    assert_label(&type, hist_row_of(5, 63), "[63]");
    assert_label(&type, hist_row_of(5, 64), "[64, 66)");
}

static void lhist_labels(void **state)
{
    (void)state;
    struct type type = lhist_type(0, 100, 10);
    assert_label(&type, 0, "(..., 0)");
    assert_label(&type, 1, "[0, 10)");
    assert_label(&type, 10, "[90, 100)");
    assert_label(&type, 11, "[100, ...)");
    type = lhist_type(0, 3, 1);
    assert_label(&type, 2, "[1]");
    type = lhist_type(0, 10240, 1024);
    assert_label(&type, 1, "[0, 1K)");
    assert_label(&type, 3, "[2K, 3K)");
    type = lhist_type(0, 10, 3);
    assert_label(&type, 4, "[9]");
    type = lhist_type(0, 11, 3);
    assert_label(&type, 4, "[9, 11)");
    type = lhist_type(0, 4 << 20, 1 << 20);
    assert_label(&type, 2, "[1M, 2M)");
}

static void assert_rows(const struct type *type, const uint64_t *counts, uint64_t divisor, bool json,
                        const char *expected)
{
    struct text text = {0};
    struct printer printer = {.out = &text, .json = json};
    print_histogram(&printer, type, counts, divisor);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
    printer_free(&printer);
}

static void rows_as_text(void **state)
{
    (void)state;
    struct type type = hist_type(0);
    uint64_t counts[65] = {0};
    assert_rows(&type, counts, 1, false, "");
    static const int64_t values[] = {-1, 2, 3, 7, 20};
    for (size_t i = 0; i < 5; i++)
        counts[hist_row_of(0, values[i])]++;
    assert_rows(&type, counts, 1, false,
                "(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
                "[0]                    0 |                                                    |\n"
                "[1]                    0 |                                                    |\n"
                "[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
                "[4, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
                "[8, 16)                0 |                                                    |\n"
                "[16, 32)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n");
    assert_rows(&type, counts, 100, false, "");
    memset(counts, 0, sizeof counts);
    counts[3] = UINT64_MAX;
    counts[4] = 123456789;
    assert_rows(
        &type, counts, 1, false,
        "[2, 4)          18446744073709551615 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
        "[4, 8)          123456789 |                                                    |\n");
    type = lhist_type(0, 20, 10);
    uint64_t linear[4] = {0, 4, 2, 0};
    assert_rows(&type, linear, 2, false, /* not divided */
                "[0, 10)                4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
                "[10, 20)               2 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n");
}

static void rows_as_json(void **state)
{
    (void)state;
    struct type type = hist_type(0);
    uint64_t counts[65] = {1, 0, 0, 0, 4};
    assert_rows(&type, counts, 2, true,
                "[{\"max\": -1, \"count\": 0},{\"min\": 0, \"max\": 0, \"count\": 0},"
                "{\"min\": 1, \"max\": 1, \"count\": 0},{\"min\": 2, \"max\": 3, \"count\": 0},"
                "{\"min\": 4, \"max\": 7, \"count\": 2}]");
    memset(counts, 0, sizeof counts);
    assert_rows(&type, counts, 1, true, "[]");
    counts[64] = 1;
    assert_rows(&type, counts, 1, true,
                "[{\"min\": 4611686018427387904, \"max\": \"9223372036854775807\", \"count\": 1}]");
    type = lhist_type(5, 25, 10);
    uint64_t linear[4] = {1, 1, 0, 3};
    assert_rows(&type, linear, 1, true,
                "[{\"max\": 4, \"count\": 1},{\"min\": 5, \"max\": 14, \"count\": 1},"
                "{\"min\": 15, \"max\": 24, \"count\": 0},{\"min\": 25, \"count\": 3}]");
}

static void nonsense_parameters_are_harmless(void **state)
{
    (void)state;
    struct type types[] = {
        lhist_type(10, 0, 1),
        lhist_type(0, 10, 0),
        lhist_type(0, 10, -3),
        lhist_type(0, 0, 1),
        lhist_type(INT64_MIN, 0, 1),
        lhist_type(INT64_MAX, INT64_MIN, 7),
        {.kind = TYPE_AGGREGATION, .aggregation = &aggregation_kind_hist, .step = -4},
        {.kind = TYPE_AGGREGATION, .aggregation = &aggregation_kind_hist, .step = INT64_MAX}};
    struct text text = {0};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        uint32_t rows = type_rows(&types[t]);
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
            assert_true(types[t].aggregation->row(&types[t], edges[i]) < rows);
        for (uint32_t row = 0; row < rows && row < 100; row++)
            histogram_label(&text, &types[t], row);
        histogram_label(&text, &types[t], rows - 1);
        text_clear(&text);
    }
    text_free(&text);
}

/* BCC's layout accepts any type and any counts: every row ends, and bars are as wide as their frame. */
static void bcc_layout_of_extremes(void **state)
{
    (void)state;
    const struct type types[] = {hist_type(0), hist_type(3), lhist_type(-5, 5, 3),
                                 lhist_type(INT64_MIN, 0, 1), lhist_type(INT64_MAX, INT64_MIN, 7)};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const uint32_t rows = type_rows(&types[t]);
        uint64_t *counts = calloc(rows, sizeof *counts);
        struct text text = {0};
        print_histogram_bcc(&text, &types[t], counts, "t");
        assert_int_equal(text.length, 0);
        counts[0] = UINT64_MAX;
        counts[rows - 1] = UINT64_MAX;
        counts[rows / 2] = 1;
        if (rows < 5000)
            print_histogram_bcc(&text, &types[t], counts, "t");
        for (const char *line = text_string(&text); *line; line = strchr(line, '\n') + 1) {
            const char *end = strchr(line, '\n');
            assert_non_null(end);
            assert_true(line == text_string(&text) || end[-1] == '|');
        }
        text_free(&text);
        free(counts);
    }
}

static void bcc_layout(void **state)
{
    (void)state;
    const struct type type = hist_type(0);
    uint64_t counts[65] = {[1] = 1, [2] = 2, [5] = 6}; /* the buckets of 0, of 1, and of 8 to 15 */
    struct text text = {0};
    print_histogram_bcc(&text, &type, counts, "size");
    assert_string_equal(text_string(&text),
                        "     size                : count     distribution\n"
                        "         0 -> 1          : 3        |********************                    |\n"
                        "         2 -> 3          : 0        |                                        |\n"
                        "         4 -> 7          : 0        |                                        |\n"
                        "         8 -> 15         : 6        |****************************************|\n");
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_within_its_row),
        cmocka_unit_test(rows_are_contiguous),
        cmocka_unit_test(hist_labels),
        cmocka_unit_test(lhist_labels),
        cmocka_unit_test(rows_as_text),
        cmocka_unit_test(rows_as_json),
        cmocka_unit_test(bcc_layout),
        cmocka_unit_test(bcc_layout_of_extremes),
        cmocka_unit_test(nonsense_parameters_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
