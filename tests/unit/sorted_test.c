/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sorted.h"

/* All arrays of up to 40 elements, with the border at each index. Elements come in pairs of equal ones. */
static void test_every_border(void **state)
{
    enum { MANY = 40 };
    unsigned items[MANY];
    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        items[i] = i / 2;
    for (unsigned count = 0; count <= MANY; count++)
        for (unsigned value = 0; value <= MANY; value++) {
            size_t smaller = 0, not_larger = 0;
            for (unsigned i = 0; i < count; i++) {
                smaller += items[i] < value;
                not_larger += items[i] <= value;
            }
            assert_int_equal(partition_point(count, i, items[i] < value), smaller);
            assert_int_equal(partition_point(count, i, items[i] <= value), not_larger);
        }
}

/* The elements need not exist: a search among SIZE_MAX of them takes at most 64 steps. */
static void test_steps(void **state)
{
    size_t steps = 0;
    (void)state;
    assert_int_equal(partition_point(SIZE_MAX, i, (steps++, i < SIZE_MAX - 5)), SIZE_MAX - 5);
    assert_in_range(steps, 1, 64);
    assert_int_equal(partition_point(0, i, (steps = 0, i == 0)), 0);
    assert_true(steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_border),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
