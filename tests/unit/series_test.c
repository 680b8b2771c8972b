/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of src/print/series and src/print/gfp: merging the elements of all CPUs, points, graphs, JSON; names of
 * flags. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "builtin/aggregation.h"
#include "print/gfp.h"
#include "print/series.h"

static struct type series(enum series_value value, bool is_signed, int64_t step, int64_t intervals)
{
    return (struct type){.kind = TYPE_AGGREGATION,
                         .aggregation = &aggregation_kind_tseries,
                         .series = value,
                         .is_signed = is_signed,
                         .step = step,
                         .maximum = intervals};
}

static void assert_sum(enum series_value value, const uint64_t (*cpus)[3], unsigned count, uint64_t epoch,
                       uint64_t expected)
{
    struct type type = series(value, true, 1, 4);
    uint64_t out[3];
    struct series_point point;
    series_sum(&type, cpus, count, out);
    assert_true(series_point(&type, out, &point));
    assert_int_equal(point.epoch, epoch);
    assert_int_equal(point.value, expected);
}

static void cpus_are_joined(void **state)
{
    static const uint64_t same[][3] = {{7, 10, 2}, {7, (uint64_t)-4, 1}, {0, 99, 0}};
    static const uint64_t newer[][3] = {{7, 10, 9}, {8, 3, 1}, {6, 50, 5}};
    (void)state;
    assert_sum(SERIES_SUM, same, 3, 7, 6);
    assert_sum(SERIES_AVG, same, 3, 7, 2);
    assert_sum(SERIES_MIN, same, 3, 7, (uint64_t)-4);
    assert_sum(SERIES_MAX, same, 3, 7, 10);
    assert_sum(SERIES_LAST, same, 3, 7, 10);
    for (int value = SERIES_LAST; value <= SERIES_MAX; value++)
        assert_sum((enum series_value)value, newer, 3, 8, 3);
}

static void nothing_is_no_point(void **state)
{
    struct type type = series(SERIES_AVG, true, 1, 4);
    uint64_t empty[2][3] = {{9, 5, 0}, {3, 1, 0}}, out[3];
    struct series_point point;
    (void)state;
    series_sum(&type, empty, 2, out);
    assert_false(series_point(&type, out, &point));
    series_sum(&type, empty, 0, out);
    assert_false(series_point(&type, out, &point));
}

static void averages_round_towards_zero(void **state)
{
    struct type type = series(SERIES_AVG, true, 1, 4);
    struct series_point point;
    (void)state;
    assert_true(series_point(&type, (const uint64_t[]){1, (uint64_t)-7, 2}, &point));
    assert_int_equal((int64_t)point.value, -3);
    type.is_signed = false;
    assert_true(series_point(&type, (const uint64_t[]){1, UINT64_MAX, 1}, &point));
    assert_true(point.value == UINT64_MAX);
}

static char *printed(const struct type *type, bool json, const struct series_point *points, size_t count,
                     uint64_t last)
{
    struct text out = {0};
    struct printer printer = {.out = &out, .json = json};
    print_series(&printer, type, points, count, last);
    char *copy = strdup(text_string(&out));
    text_free(&out);
    printer_free(&printer);
    return copy;
}

static unsigned lines(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Every line but those of times and bounds is as wide as the graph, and each value lies within it. */
static void graphs_keep_their_width(void **state)
{
    static const uint64_t edges[] = {0,           1, 2, 1000, INT64_MAX, (uint64_t)INT64_MIN, (uint64_t)-1,
                                     (uint64_t)-2};
    enum { EDGES = sizeof edges / sizeof *edges };
    (void)state;
    for (int is_signed = 0; is_signed < 2; is_signed++)
        for (unsigned i = 0; i < EDGES; i++)
            for (unsigned k = 0; k < EDGES; k++) {
                struct type type = series(SERIES_LAST, is_signed, 1000000000, 4);
                struct series_point points[] = {{10, edges[i]}, {12, edges[k]}};
                char *text = printed(&type, false, points, 2, 13);
                assert_int_equal(lines(text), 2 + 4 + 2);
                const char *line = strchr(strchr(text, '\n') + 1, '\n') + 1;
                for (unsigned row = 0; row < 4; row++, line = strchr(line, '\n') + 1) {
                    bool has_value = row == 0 || row == 2;
                    const char *star = memchr(line + 9, '*', 53);
                    assert_true(has_value == (star != NULL));
                    assert_true(line[9] == '|' || line[9] == '*' || line[9] == '.');
                    assert_int_equal(line[9 + 53], ' ');
                    assert_int_equal(line[10 + 53] == '-' && line[11 + 53] == '\n', !has_value);
                }
                free(text);
            }
}

static void only_the_last_intervals_are_shown(void **state)
{
    struct type type = series(SERIES_LAST, false, 1, 3);
    struct series_point points[] = {{1, 1}, {5, 5}, {6, 6}, {7, 7}, {9, 9}};
    (void)state;
    char *text = printed(&type, true, points, 5, 7);
    assert_string_equal(text, "[{\"interval_start\":\"1970-01-01 00:00:00.000000005\",\"value\":5},"
                              "{\"interval_start\":\"1970-01-01 00:00:00.000000006\",\"value\":6},"
                              "{\"interval_start\":\"1970-01-01 00:00:00.000000007\",\"value\":7}]");
    free(text);
    text = printed(&type, true, points, 1, 7);
    assert_string_equal(text, "[]");
    free(text);
    text = printed(&type, false, points, 1, 7);
    assert_string_equal(text, "<no data>");
    free(text);
}

/* Printing ends even for times that no clock gives. */
static void extremes_end(void **state)
{
    static const uint64_t epochs[] = {0, 1, INT64_MAX, UINT64_MAX - 1, UINT64_MAX};
    static const int64_t steps[] = {0, 1, 7, 1000, 60000000000, INT64_MAX};
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        for (unsigned k = 0; k < 6; k++)
            for (int json = 0; json < 2; json++) {
                struct type type = series(SERIES_LAST, true, steps[k], i % 2 ? 3 : -1);
                struct series_point points[] = {{0, 1}, {epochs[i], 2}, {epochs[i], 3}};
                free(printed(&type, json, points, 3, epochs[i]));
                free(printed(&type, json, points, 0, epochs[i]));
            }
}

static void assert_flags(uint64_t flags, const char *expected)
{
    struct text text = {0};
    print_gfp(&text, flags);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void flags_have_names(void **state)
{
    (void)state;
    assert_flags(0, "none");
    assert_flags(0xcc0, "GFP_KERNEL");
    assert_flags(0xc00, "GFP_NOIO");
    assert_flags(0xc40, "GFP_NOFS");
    assert_flags(0x820, "GFP_ATOMIC");
    assert_flags(0x400cc0, "GFP_KERNEL_ACCOUNT");
    assert_flags(0x1, "GFP_DMA");
    assert_flags(0x4, "GFP_DMA32");
    assert_flags(0x100cca, "GFP_HIGHUSER_MOVABLE");
    assert_flags(0x822, "GFP_ATOMIC|__GFP_HIGHMEM");
    assert_flags(UINT64_C(1) << 63, "0x8000000000000000");
    assert_flags(UINT64_C(1) << 63 | 0x100, "__GFP_ZERO|0x8000000000000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpus_are_joined),
        cmocka_unit_test(nothing_is_no_point),
        cmocka_unit_test(averages_round_towards_zero),
        cmocka_unit_test(graphs_keep_their_width),
        cmocka_unit_test(only_the_last_intervals_are_shown),
        cmocka_unit_test(extremes_end),
        cmocka_unit_test(flags_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
