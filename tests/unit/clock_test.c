/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

static void test_units(void **state)
{
    (void)state;
    assert_int_equal(time_unit("ns", 2), 1);
    assert_int_equal(time_unit("us", 2), 1000);
    assert_int_equal(time_unit("ms", 2), 1000000);
    assert_int_equal(time_unit("s", 1), 1000000000);
    assert_int_equal(time_unit("m", 1), 60000000000);
    assert_int_equal(time_unit("ms", 1), 60000000000); /* only the first character of the text is the name */
    assert_int_equal(time_unit("h", 1), 3600000000000);
    assert_int_equal(time_unit("d", 1), 86400000000000);
    assert_int_equal(time_unit("", 0), 0);
    assert_int_equal(time_unit("S", 1), 0);
    assert_int_equal(time_unit("n", 1), 0);
    assert_int_equal(time_unit("min", 3), 0);
}

static void test_timespec(void **state)
{
    static const uint64_t times[] = {0, 1, 999999999, 1000000000, UINT64_C(1785000000123456789)};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const struct timespec time = timespec_of(times[i]);
        assert_in_range(time.tv_nsec, 0, 999999999);
        assert_int_equal(timespec_ns(&time), times[i]);
    }
}

static void test_clocks(void **state)
{
    const uint64_t before = clock_ns(CLOCK_MONOTONIC);
    const uint64_t milliseconds = clock_ms(CLOCK_MONOTONIC);
    const time_t seconds = clock_seconds(CLOCK_MONOTONIC);
    const uint64_t after = clock_ns(CLOCK_MONOTONIC);
    (void)state;
    assert_in_range(milliseconds, before / 1000000, after / 1000000);
    assert_in_range(seconds, before / 1000000000, after / 1000000000);
    assert_true(clock_ahead(CLOCK_REALTIME) > 0); /* the machine was started after 1970 */
    assert_true(clock_ahead(CLOCK_BOOTTIME) >= 0 && clock_ahead(CLOCK_BOOTTIME) < NSEC_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_timespec),
        cmocka_unit_test(test_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
