/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the parsers of numbers, sizes and times, and of texts that are none. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/number.h"

static void test_numbers(void **state)
{
    uint64_t number;
    (void)state;
    assert_true(number_parse("0", &number) && number == 0);
    assert_true(number_parse("007", &number) && number == 7);
    assert_true(number_parse("0x1f", &number) && number == 31);
    assert_true(number_parse("18446744073709551615", &number) && number == UINT64_MAX);
    static const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "1x", "0x", "18446744073709551616"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(number_parse(wrong[i], &number));
}

static void test_written(void **state)
{
    static const uint64_t around[] = {0, 9, 10, 99, 100, UINT32_MAX, INT64_MAX, UINT64_MAX};
    char digits[21], wanted[21];
    (void)state;
    for (uint64_t power = 1, i = 0; i < 20; power *= 10, i++)
        for (int less = 0; less < 2; less++) {
            snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)(power - (uint64_t)less));
            *number_write(digits, power - (uint64_t)less) = 0;
            assert_string_equal(digits, wanted);
        }
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++) {
        snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)around[i]);
        *number_write(digits, around[i]) = 0;
        assert_string_equal(digits, wanted);
    }
}

static void test_digits(void **state)
{
    static const char text[] = "12ab34";
    const char *at = text;
    uint64_t number;
    (void)state;
    assert_true(number_take(&at, NULL, 10, &number) && number == 12 && at == text + 2);
    assert_false(number_take(&at, NULL, 10, &number));
    assert_true(number == 0 && at == text + 2);
    assert_true(number_take(&at, text + 5, 16, &number) && number == 0xab3 && at == text + 5);
    at = "99999999999999999999 ";
    assert_false(number_take(&at, NULL, 10, &number));
    assert_true(number == UINT64_MAX && *at == ' ');
    assert_true(decimal_parse("010", &number) && number == 10);
    assert_false(decimal_parse("0x10", &number));
}

static void test_literals(void **state)
{
    static const struct {
        const char *text;
        unsigned suffixes;
        enum literal_fault fault;
        uint64_t value;
    } rows[] = {
        {"0", 0, LITERAL_FITS, 0},
        {"017", 0, LITERAL_FITS, 15},
        {"0_17", 0, LITERAL_FITS, 15},
        {"0x1_f", 0, LITERAL_FITS, 31},
        {"1e6", 0, LITERAL_FITS, 1000000},
        {"1E6", 0, LITERAL_FITS, 1000000},
        {"0e999", 0, LITERAL_FITS, 0},
        {"1_000", 0, LITERAL_FITS, 1000},
        {"18446744073709551615", 0, LITERAL_FITS, UINT64_MAX},
        {"18446744073709551616", 0, LITERAL_TOO_LARGE, 0},
        {"1e20", 0, LITERAL_TOO_LARGE, 0},
        {"08", 0, LITERAL_NOT_OCTAL, 0},
        {"", 0, LITERAL_INVALID, 0},
        {"_1", 0, LITERAL_INVALID, 0},
        {"0x", 0, LITERAL_INVALID, 0},
        {"0x_", 0, LITERAL_INVALID, 0},
        {"1e", 0, LITERAL_INVALID, 0},
        {"+1", 0, LITERAL_INVALID, 0},
        {" 1", 0, LITERAL_INVALID, 0},
        {"10ms", 0, LITERAL_INVALID, 0},
        {"10ul", 0, LITERAL_INVALID, 0},
        {"10ms", LITERAL_TIME, LITERAL_FITS, 10000000},
        {"1e3ms", LITERAL_TIME, LITERAL_FITS, 1000000000},
        {"010s", LITERAL_TIME, LITERAL_INVALID, 0},
        {"0x10s", LITERAL_TIME, LITERAL_INVALID, 0},
        {"10ul", LITERAL_TIME, LITERAL_INVALID, 0},
        {"10uLL", LITERAL_C, LITERAL_FITS, 10},
        {"0x10UL", LITERAL_C, LITERAL_FITS, 16},
        {"999999999999d", LITERAL_TIME, LITERAL_TOO_LARGE, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t value;
        assert_int_equal(literal_parse(rows[i].text, strlen(rows[i].text), rows[i].suffixes, &value),
                         rows[i].fault);
        if (rows[i].fault == LITERAL_FITS)
            assert_true(value == rows[i].value);
    }
}

static void test_signed_literals(void **state)
{
    uint64_t value;
    bool is_unsigned;
    (void)state;
    assert_int_equal(signed_literal_parse("-1e3", &value, &is_unsigned), LITERAL_FITS);
    assert_true((int64_t)value == -1000 && !is_unsigned);
    assert_int_equal(signed_literal_parse("-9223372036854775808", &value, &is_unsigned), LITERAL_FITS);
    assert_true((int64_t)value == INT64_MIN && !is_unsigned);
    assert_int_equal(signed_literal_parse("-9223372036854775809", &value, &is_unsigned), LITERAL_TOO_LARGE);
    assert_int_equal(signed_literal_parse("9223372036854775808", &value, &is_unsigned), LITERAL_FITS);
    assert_true(is_unsigned);
    assert_int_equal(signed_literal_parse("-", &value, &is_unsigned), LITERAL_INVALID);
    assert_int_equal(signed_literal_parse("--1", &value, &is_unsigned), LITERAL_INVALID);
}

static void test_sizes(void **state)
{
    uint64_t bytes;
    (void)state;
    assert_true(size_parse("4096", &bytes) && bytes == 4096);
    assert_true(size_parse("64K", &bytes) && bytes == 65536);
    assert_true(size_parse("0x10K", &bytes) && bytes == 16384);
    assert_true(size_parse("1G", &bytes) && bytes == 1u << 30);
    assert_true(size_parse("17179869183G", &bytes) && bytes == UINT64_MAX - ((1u << 30) - 1));
    static const char *const wrong[] = {
        "", "0", "K", "1k", "1KB", "-1", "17179869184G", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(size_parse(wrong[i], &bytes));
}

static void test_times(void **state)
{
    uint64_t time;
    (void)state;
    assert_true(time_parse("1500", NSEC_PER_USEC, &time) && time == 1500000);
    assert_true(time_parse("1500", NSEC_PER_SEC, &time) && time == 1500000000000);
    assert_true(time_parse("0.25", NSEC_PER_SEC, &time) && time == 250000000);
    assert_true(time_parse("1.5ms", NSEC_PER_SEC, &time) && time == 1500000);
    assert_true(time_parse("2s", NSEC_PER_USEC, &time) && time == 2000000000);
    assert_true(time_parse("5m", NSEC_PER_SEC, &time) && time == 300000000000);
    assert_true(time_parse("2h", NSEC_PER_SEC, &time) && time == 7200000000000);
    assert_true(time_parse("1d", NSEC_PER_SEC, &time) && time == 86400000000000);
    static const char *const wrong[] = {
        "", "-1", "12parsecs", "s", ".5", "1 s", "99999999999999999999", "9999999999h"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(time_parse(wrong[i], NSEC_PER_SEC, &time));
}

static void test_percentiles(void **state)
{
    static const struct {
        const char *text;
        uint32_t thousandths;
    } right[] = {{"p1", 1000},       {"p99", 99000}, {"p99.9", 99900},
                 {"p99.999", 99999}, {"p0.001", 1},  {"p050", 50000}};
    static const char *const wrong[] = {
        "",     "p",   "p0",   "p100",     "p0.000", "99",      "p9x",
        "p99.", "p.5", "p99 ", "p99.9999", "p-1",    "p99.9.9", "p18446744073709551616"};
    uint32_t thousandths;
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_true(percentile_parse(right[i].text, &thousandths));
        assert_int_equal(thousandths, right[i].thousandths);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(percentile_parse(wrong[i], &thousandths));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits),          cmocka_unit_test(test_written),
        cmocka_unit_test(test_numbers),         cmocka_unit_test(test_literals),
        cmocka_unit_test(test_signed_literals), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_times),           cmocka_unit_test(test_percentiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
