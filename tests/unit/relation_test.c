/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the relation of the counter to the boot clock: which readings are kept, what times follow from them, how
 * far those may be wrong, and when there is no usable relation at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reader/reader.h"
#include "reader/relation.h"

#define RATE UINT64_C(2500000000) /* the rate that the file states */
#define SECOND UINT64_C(1000000000)

static struct layout_clock at(uint64_t counter, uint64_t boottime, uint64_t error)
{
    struct layout_clock clock = {
        .counter = counter, .boottime = boottime, .monotonic = boottime, .error = error};
    clock.check = layout_clock_check(&clock);
    return clock;
}

/* Makes a relation of `count` readings, `milliseconds` apart, of a counter that started long before. The caller
 * frees it. */
static struct relation *make(uint64_t count, uint64_t milliseconds)
{
    struct relation *relation = calloc(1, sizeof *relation);
    assert_non_null(relation);
    *relation = (struct relation){.check = RELATION_CHECK, .apart = RATE};
    for (uint64_t i = 0; i < count; i++) {
        const struct layout_clock clock = at(RATE * 1000000 + i * milliseconds * (RATE / 1000),
                                             SECOND * 900000 + i * milliseconds * 1000000, 100);
        relation_add(relation, &clock, RATE);
    }
    return relation;
}

static void test_look(void **state)
{
    (void)state;
    const uint64_t before = recording_counter_now();
    const struct layout_clock clock = relation_look();
    assert_in_range(clock.counter, before, recording_counter_now());
    assert_int_equal(clock.check, layout_clock_check(&clock));
    assert_in_range(clock.error, 1, (recording_counter_now() - before) / 2 + 1);
}

static void test_which_are_kept(void **state)
{
    (void)state;
    struct relation *relation = make(101, 100);
    assert_int_equal(relation->check, RELATION_CHECK ^ relation->count);
    assert_in_range(relation->count, 10, 13); /* about one reading for each of the ten seconds */
    assert_int_equal(relation->clocks[0].boottime, SECOND * 900000);
    assert_int_equal(relation->clocks[relation->count - 1].boottime, SECOND * 900010);
    free(relation);

    relation = make(100000, 1000); /* more than a day */
    assert_in_range(relation->count, RELATION_CLOCKS / 4, RELATION_CLOCKS);
    assert_int_equal(relation->clocks[0].boottime, SECOND * 900000);
    assert_int_equal(relation->clocks[relation->count - 1].boottime, SECOND * 999999);
    for (uint64_t i = 1; i < relation->count; i++)
        assert_in_range(relation->clocks[i].boottime - relation->clocks[i - 1].boottime, SECOND,
                        1024 * SECOND);
    assert_int_equal(relation->since, 0);
    free(relation);
}

static void test_broken(void **state)
{
    (void)state;
    const struct layout_clock first = at(RATE * 100, SECOND * 100, 50);
    const struct {
        uint64_t counter, time;
        bool is_broken;
    } rows[] = {
        {RATE * 101, SECOND * 101, false},
        {RATE * 101 + RATE / 400, SECOND * 101, false}, /* a rate that was rounded */
        {RATE * 101 + RATE / 50, SECOND * 101, true},   /* the rate of another counter */
        {RATE * 101 - RATE / 50, SECOND * 101, true},
        {RATE * 101, SECOND * 131, true},            /* the counter stopped while the machine slept */
        {RATE * 131, SECOND * 131, false},           /* the counter did not stop */
        {RATE * 1, SECOND * 101, true},              /* the counter started again */
        {RATE * 101, SECOND * 100, true},            /* the clock did not advance */
        {RATE * 100 + 60, SECOND * 100 + 30, false}, /* closer together than their accuracy */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct layout_clock second = at(rows[i].counter, rows[i].time, 50);
        assert_int_equal(relation_is_broken(&first, &second, RATE), rows[i].is_broken);
    }
    struct relation *relation = make(20, 1000);
    const struct layout_clock later = at(RATE * 1000030, SECOND * 900600, 100);
    relation_add(relation, &later, RATE);
    assert_int_equal(relation->count, 1);
    assert_int_equal(relation->since, later.counter);
    free(relation);
}

static void test_times(void **state)
{
    (void)state;
    struct relation *relation = make(100, 1000);
    struct timeline timeline;
    int error;
    timeline_init(&timeline, RATE + RATE / 300); /* the stated rate differs from the measured one */
    assert_null(relation_use(relation, &timeline, &error));
    assert_int_equal(error, 0);
    const int64_t seconds[] = {-899999, -1000, 0, 1, 50, 99, 1000, 1000000};
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++)
        for (uint64_t part = 0; part < 5; part++) {
            const uint64_t counter = RATE * 1000000 + (uint64_t)seconds[i] * RATE + part * 5,
                           time = SECOND * 900000 + (uint64_t)seconds[i] * SECOND + part * 2,
                           got = timeline_time(&timeline, counter);
            assert_in_range(got, time - 1, time + 1); /* allows for rounding */
        }
    timeline_free(&timeline);

    relation->clocks[50].counter ^= 1; /* half written */
    timeline_init(&timeline, RATE);
    assert_null(relation_use(relation, &timeline, &error));
    assert_int_equal(timeline_time(&timeline, RATE * 1000050), SECOND * 900050);
    timeline_free(&timeline);

    timeline_init(&timeline, RATE * 2);
    assert_non_null(relation_use(relation, &timeline, &error)); /* the readings are of another counter */
    timeline_free(&timeline);

    const uint64_t counts[] = {0, 99, RELATION_CLOCKS + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        relation->count = counts[i];
        relation->check = RELATION_CHECK ^ (counts[i] == 99 ? 0 : counts[i]);
        timeline_init(&timeline, RATE);
        assert_non_null(relation_use(relation, &timeline, &error));
        timeline_free(&timeline);
    }
    free(relation);
}

static uint64_t error_of(uint64_t count, uint64_t milliseconds, uint64_t oldest, uint64_t newest)
{
    struct relation *relation = make(count, milliseconds);
    struct timeline timeline;
    int error;
    timeline_init(&timeline, RATE);
    assert_null(relation_use(relation, &timeline, &error));
    const uint64_t result = relation_error(&timeline, oldest, newest);
    timeline_free(&timeline);
    free(relation);
    return result;
}

static void test_error(void **state)
{
    (void)state;
    const uint64_t first = RATE * 1000000;
    /* Readings are exact to 100 ticks, 40 ns; the kernel's clock may deviate by a millionth. */
    assert_in_range(error_of(2, 100, first, first), 40 + 50, 40 + 50 + 3);
    assert_in_range(error_of(11, 1000, first, first + 10 * RATE), 40 + 500, 40 + 500 + 3);
    /* Ten seconds before two readings that are 0.1 s apart: 200 ticks in 0.1 s are 0.8 parts per million. */
    assert_in_range(error_of(2, 100, first - 10 * RATE, first), 90 + 18000, 90 + 18000 + 5);
    assert_in_range(error_of(2, 100, first, first + RATE / 10 + 10 * RATE), 90 + 18000, 90 + 18000 + 5);
    /* With a single reading only the stated rate is known, which may be rounded. */
    assert_in_range(error_of(1, 100, first - RATE, first), SECOND / 100, SECOND / 99);
    assert_in_range(error_of(2, 100, 0, UINT64_MAX), SECOND * 1000, UINT64_MAX);
    assert_in_range(error_of(1, 100, 0, UINT64_MAX), SECOND * 1000, UINT64_MAX);
}

static void test_counters(void **state)
{
    (void)state;
    static const char
        good[] = "processor\t: 0\nflags\t\t: fpu tsc constant_tsc rep_good nonstop_tsc\nbugs\t\t:\n",
        stops[] = "processor\t: 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc_s3x\nbugs\t\t: nonstop_tsc\n",
        varies[] = "processor\t: 0\nflags\t\t: fpu tsc nonstop_tsc xconstant_tsc\nbugs\t\t:\n";
    assert_null(relation_counter_refusal(good, "tsc"));
    assert_null(relation_counter_refusal(good, "kvm-clock"));
    assert_null(relation_counter_refusal(good, ""));
    assert_null(relation_counter_refusal(NULL, "arch_sys_counter"));
    assert_non_null(relation_counter_refusal(good, "hpet"));
    assert_non_null(relation_counter_refusal(NULL, "acpi_pm"));
    assert_non_null(strstr(relation_counter_refusal(stops, "tsc"), "nonstop_tsc"));
    assert_non_null(strstr(relation_counter_refusal(varies, "tsc"), "constant_tsc"));
    assert_non_null(relation_counter_refusal("", "tsc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_look),  cmocka_unit_test(test_which_are_kept), cmocka_unit_test(test_broken),
        cmocka_unit_test(test_times), cmocka_unit_test(test_error),          cmocka_unit_test(test_counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
