/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the numbers, sizes and times of the command line, and of texts that are none. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/clock.h"
#include "cmd/values.h"

static void test_numbers(void **state)
{
    uint64_t number;
    (void)state;
    assert_true(value_number("0", &number) && number == 0);
    assert_true(value_number("007", &number) && number == 7);
    assert_true(value_number("0x1f", &number) && number == 31);
    assert_true(value_number("18446744073709551615", &number) && number == UINT64_MAX);
    static const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "1x", "0x", "18446744073709551616"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(value_number(wrong[i], &number));
}

static void test_sizes(void **state)
{
    uint64_t bytes;
    (void)state;
    assert_true(value_size("4096", &bytes) && bytes == 4096);
    assert_true(value_size("64K", &bytes) && bytes == 65536);
    assert_true(value_size("1G", &bytes) && bytes == 1u << 30);
    assert_true(value_size("17179869183G", &bytes) && bytes == UINT64_MAX - ((1u << 30) - 1));
    static const char *const wrong[] = {
        "", "0", "K", "1k", "1KB", "-1", "17179869184G", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(value_size(wrong[i], &bytes));
}

static void test_times(void **state)
{
    uint64_t time;
    (void)state;
    assert_true(value_time("1500", NSEC_PER_USEC, &time) && time == 1500000);
    assert_true(value_time("1500", NSEC_PER_SEC, &time) && time == 1500000000000);
    assert_true(value_time("0.25", NSEC_PER_SEC, &time) && time == 250000000);
    assert_true(value_time("1.5ms", NSEC_PER_SEC, &time) && time == 1500000);
    assert_true(value_time("2s", NSEC_PER_USEC, &time) && time == 2000000000);
    assert_true(value_time("5m", NSEC_PER_SEC, &time) && time == 300000000000);
    assert_true(value_time("2h", NSEC_PER_SEC, &time) && time == 7200000000000);
    assert_true(value_time("1d", NSEC_PER_SEC, &time) && time == 86400000000000);
    static const char *const wrong[] = {
        "", "-1", "12parsecs", "s", ".5", "1 s", "99999999999999999999", "9999999999h"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(value_time(wrong[i], NSEC_PER_SEC, &time));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
