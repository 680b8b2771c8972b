/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that the line that timeline_expect() prepares is used only where it is right: times asked in any order are
 * those that a fresh timeline gives. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reader/timeline.h"

enum { POINTS = 40, RATE = 1000, STEP = 500 };

static void fill(struct timeline *timeline)
{
    timeline_init(timeline, RATE);
    for (uint64_t i = 1; i <= POINTS; i++)
        assert_int_equal(timeline_add(timeline, i * STEP, i * i * 1000000, 1), 0);
    timeline_finish(timeline);
}

static uint64_t time_alone(uint64_t counter)
{
    struct timeline timeline;
    fill(&timeline);
    const uint64_t time = timeline_time(&timeline, counter);
    timeline_free(&timeline);
    return time;
}

static void test_order(void **state)
{
    (void)state;
    struct timeline timeline;
    fill(&timeline);
    uint64_t counter = 1;
    for (int i = 0; i < 2000; i++) {
        counter = counter * 6364136223846793005u + 1442695040888963407u;
        const uint64_t asked = (counter >> 33) % ((POINTS + 3) * STEP);
        timeline_expect(&timeline, counter >> 40);
        assert_int_equal(timeline_time(&timeline, asked), time_alone(asked));
    }
    for (uint64_t asked = 0, before = 0; asked < (POINTS + 3) * STEP; asked++) {
        const uint64_t time = timeline_time(&timeline, asked);
        assert_true(time >= before);
        before = time;
    }
    assert_int_equal(timeline_time(&timeline, 7 * STEP), 49000000);
    timeline_free(&timeline);
}

/* A counter that hardly moves has all points near each other; two of one instant are one, whatever their times. */
static void test_one_instant(void **state)
{
    (void)state;
    struct timeline timeline;
    timeline_init(&timeline, 10);
    assert_int_equal(timeline_add(&timeline, 5, 100, 0), 0);
    assert_int_equal(timeline_add(&timeline, 6, 300, 0), 0);
    assert_int_equal(timeline_add(&timeline, 5, 200, 0), 0);
    timeline_finish(&timeline);
    assert_int_equal(timeline_time(&timeline, 5), 100);
    assert_int_equal(timeline_time(&timeline, 6), 300);
    timeline_free(&timeline);
}

/* Points of another process replace the last ones, if they rise. */
static void test_replace(void **state)
{
    (void)state;
    struct timeline timeline, other;
    fill(&timeline);
    fill(&other);
    assert_int_equal(timeline_add(&other, (POINTS + 1) * STEP, UINT64_C(5000000000), 1), 0);
    timeline_finish(&other);
    assert_int_equal(timeline_replace(&timeline, 10, other.points + 10, POINTS + 1 - 10), 0);
    for (uint64_t counter = 0; counter < (POINTS + 5) * STEP; counter += 7)
        assert_int_equal(timeline_time(&timeline, counter), timeline_time(&other, counter));
    assert_int_equal(timeline_replace(&timeline, POINTS + 2, other.points, 0), -EBADMSG);
    assert_int_equal(timeline_replace(&timeline, POINTS + 1, other.points + POINTS, 1), -EBADMSG);
    assert_int_equal(timeline_replace(&timeline, 3, other.points, 1), -EBADMSG);
    assert_int_equal(timeline_replace(&timeline, 0, other.points, (size_t)1 << 20), -EBADMSG);
    timeline_free(&timeline);
    timeline_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_one_instant),
                                       cmocka_unit_test(test_replace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
