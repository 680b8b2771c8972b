/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/vector.h"

static void test_growth(void **state)
{
    enum { MANY = 100000 };
    uint32_t *items = NULL;
    size_t count = 0, room = 0, moves = 0;
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        const size_t before = room;
        assert_true(vector_make_room(items, count, room));
        assert_true(room > count);
        moves += room != before;
        items[count++] = i;
    }
    assert_true(moves < 20); /* it grows by factors, not by steps */
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(items[i], i);
    free(items);
}

/* A `room` of uint8_t allows 255 elements. */
static void test_narrow_room(void **state)
{
    char *items = NULL;
    uint8_t count = 0, room = 0;
    (void)state;
    while (vector_make_room(items, count, room)) {
        assert_true(room > count);
        items[count++] = 'x';
    }
    assert_int_equal(count, UINT8_MAX);
    assert_int_equal(room, UINT8_MAX);
    assert_non_null(items);
    free(items);
}

static void test_no_memory(void **state)
{
    struct large {
        char bytes[1 << 20];
    } *items = NULL;
    size_t count = 0, room = SIZE_MAX / sizeof *items;
    (void)state;
    count = room;
    assert_false(vector_make_room(items, count, room)); /* the size in bytes exceeds size_t */
    assert_null(items);
    assert_int_equal(room, SIZE_MAX / sizeof *items);
    count = room = SIZE_MAX;
    assert_false(vector_make_room(items, count, room));
    assert_int_equal(room, SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_narrow_room),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
