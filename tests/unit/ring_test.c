/* SPDX-License-Identifier: BSD-3-Clause */
/* Event rings are merged by time. The rings are made by hand, as a kernel fills them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "bpf/image.h"
#include "kernel/state.h"

enum { SIZE = 4096, HEADER = 8, RECORD = sizeof(struct image_record), MANY = 512 };
static const uint32_t BUSY = 1U << 31, DISCARD = 1U << 30;

struct made {
    struct kernel kernel;
    unsigned long *positions; /* of consumers, then of producers */
    uint64_t times[MANY * 8]; /* of what was delivered */
    int count, stop_at, answer;
};

static void make(struct made *made, uint32_t count)
{
    *made = (struct made){.stop_at = -1};
    struct rings *rings = &made->kernel.rings;
    rings->count = count;
    rings->items = calloc(count, sizeof *rings->items);
    rings->tree = calloc(2 * (size_t)count, sizeof *rings->tree);
    made->positions = calloc(2 * (size_t)count, sizeof *made->positions);
    assert_true(rings->items && rings->tree && made->positions);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *data = calloc(2, SIZE);
        assert_non_null(data);
        rings->items[i] = (struct ring){.size = SIZE,
                                        .consumer = &made->positions[i],
                                        .producer = &made->positions[count + i],
                                        .data = data};
    }
}

static void unmake(struct made *made)
{
    for (uint32_t i = 0; i < made->kernel.rings.count; i++)
        free((void *)(uintptr_t)made->kernel.rings.items[i].data);
    free(made->kernel.rings.items);
    free(made->kernel.rings.tree);
    free(made->positions);
}

/* Returns the header of the record, which says what state it is in. */
static uint32_t *put(struct made *made, uint32_t ring, uint64_t time, uint32_t state)
{
    unsigned long *producer = &made->positions[made->kernel.rings.count + ring];
    uint8_t *at = (uint8_t *)(uintptr_t)made->kernel.rings.items[ring].data + *producer;
    assert_true(*producer + HEADER + RECORD <= SIZE);
    uint32_t header = RECORD | state;
    memcpy(at, &header, sizeof header);
    memcpy(at + HEADER, &time, sizeof time);
    *producer += HEADER + RECORD;
    return (uint32_t *)(void *)at;
}

static int deliver(void *state, const uint8_t *record, size_t length)
{
    struct made *made = state;
    assert_int_equal(length, RECORD);
    if (made->count == made->stop_at)
        return made->answer;
    memcpy(&made->times[made->count++], record, sizeof *made->times);
    return 0;
}

static int consume(struct made *made, bool drain)
{
    return ring_consume(&made->kernel.host, drain, deliver, made);
}

static void each_number_of_rings_is_merged(void **state)
{
    (void)state;
    static struct made made;
    uint64_t random = 1;
    for (uint32_t count = 1; count <= MANY; count = count < 20 ? count + 1 : count * 3 / 2 + 7) {
        make(&made, count);
        uint64_t time = 1000;
        for (uint32_t i = 0; i < count * 5; i++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            put(&made, (uint32_t)(random >> 33) % count, time += random >> 62, i % 7 == 3 ? DISCARD : 0);
        }
        int wanted = 0;
        for (uint32_t i = 0; i < count * 5; i++)
            wanted += i % 7 != 3;
        assert_int_equal(consume(&made, true), wanted);
        for (int i = 1; i < wanted; i++)
            assert_true(made.times[i - 1] <= made.times[i]);
        assert_int_equal(made.kernel.rings.disorder, 0);
        assert_memory_equal(made.positions, made.positions + count, count * sizeof *made.positions);
        unmake(&made);
    }
}

/* Into an empty ring something may still come that is a little older than what others have. */
static void an_empty_ring_holds_back_what_is_new(void **state)
{
    (void)state;
    static struct made made;
    make(&made, 3);
    uint64_t now = clock_ns(CLOCK_BOOTTIME), old = now - 1000000000;
    put(&made, 0, old, 0);
    put(&made, 2, old + 1, 0);
    put(&made, 0, now + 1000000000, 0);
    assert_int_equal(consume(&made, false), 2);
    assert_int_equal(consume(&made, false), 0);
    put(&made, 1, old + 2, 0);
    assert_int_equal(consume(&made, false), 1);
    assert_int_equal(consume(&made, true), 1);
    assert_int_equal(made.times[3], now + 1000000000);
    assert_int_equal(made.kernel.rings.disorder, 0);
    unmake(&made);
}

/* What is reserved and not finished stops its own ring, and others at its time; when it is drained no longer. */
static void an_unfinished_record_is_waited_for(void **state)
{
    (void)state;
    static struct made made;
    make(&made, 2);
    uint64_t old = clock_ns(CLOCK_BOOTTIME) - 1000000;
    uint32_t *header = put(&made, 0, old, BUSY);
    put(&made, 0, old + 5, 0);
    put(&made, 1, old + 2000000000, 0);
    put(&made, 1, old + 3000000000, 0);
    assert_int_equal(consume(&made, false), 0);
    assert_int_equal(consume(&made, true), 2);
    assert_int_equal(made.times[0], old + 2000000000);
    *header = RECORD;
    assert_int_equal(consume(&made, true), 2);
    assert_int_equal(made.kernel.rings.disorder, 2); /* they came after younger ones, which is counted */
    unmake(&made);
}

/* A callback that cannot take a record gets it again; one that ends the work has had it. */
static void the_callback_stops(void **state)
{
    (void)state;
    static struct made made;
    make(&made, 5);
    for (uint32_t i = 0; i < 20; i++)
        put(&made, i % 5, 100 + i, 0);
    made.stop_at = 7;
    made.answer = -ENOBUFS;
    assert_int_equal(consume(&made, true), -ENOBUFS);
    made.stop_at = 12;
    made.answer = -ECANCELED;
    assert_int_equal(consume(&made, true), -ECANCELED);
    made.stop_at = -1;
    assert_int_equal(consume(&made, true), 7);
    assert_int_equal(made.count, 19);
    for (int i = 0; i < 19; i++)
        assert_int_equal(made.times[i], 100 + (i < 12 ? i : i + 1));
    unmake(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_number_of_rings_is_merged),
        cmocka_unit_test(an_empty_ring_holds_back_what_is_new),
        cmocka_unit_test(an_unfinished_record_is_waited_for),
        cmocka_unit_test(the_callback_stops),
    };
    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
