/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cursor.h"

static void test_numbers(void **state)
{
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0xfe, 0xff, 0xff};
    struct cursor cursor = cursor_over(bytes, sizeof bytes);
    (void)state;
    assert_int_equal(cursor_peek(&cursor, 9, 2), 0xfffe);
    assert_int_equal(cursor_take(&cursor, 1), 1);
    assert_int_equal(cursor_take(&cursor, 8), 0x0908070605040302);
    assert_int_equal(cursor_take_signed(&cursor, 2), -2);
    assert_int_equal(cursor_left(&cursor), 1);
    assert_false(cursor_is_done(&cursor));
    assert_int_equal(cursor_take(&cursor, 1), 0xff);
    assert_true(cursor_is_done(&cursor));
}

/* The bytes are copied into memory of exactly their size, so that a sanitizer sees a read behind them. The caller
 * frees *memory. */
static struct cursor copied(const void *bytes, size_t size, void **memory)
{
    *memory = malloc(size);
    assert_non_null(*memory);
    memcpy(*memory, bytes, size);
    return cursor_over(*memory, size);
}

static void test_beyond_the_end(void **state)
{
    void *memory;
    const struct cursor whole = copied("abc", 3, &memory);
    struct cursor cursor = whole;
    (void)state;
    assert_int_equal(cursor_take(&cursor, 4), 0);
    assert_true(cursor.is_bad);
    assert_int_equal(cursor_take(&cursor, 1), 0); /* although the byte is there: a bad cursor stays bad */
    assert_int_equal(cursor_peek(&cursor, 0, 1), 0);
    assert_null(cursor_take_bytes(&cursor, 0));
    assert_null(cursor_take_text(&cursor, 10));
    assert_ptr_equal(cursor.at, whole.at);
    assert_false(cursor_is_done(&cursor));
    assert_int_equal(cursor_peek(&whole, 2, 2), 0);
    assert_int_equal(cursor_peek(&whole, UINT64_MAX, 8), 0);
    assert_int_equal(cursor_peek(&whole, 2, 1), 'c');
    cursor = whole;
    assert_null(cursor_take_bytes(&cursor, UINT64_MAX));
    cursor = cursor_over(NULL, 0);
    assert_true(cursor_is_done(&cursor));
    assert_null(cursor_take_text(&cursor, 1));
    free(memory);
}

static void test_leb128(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        uint64_t is_unsigned;
        int64_t is_signed;
    } known[] = {
        {"\x00", 1, 0, 0},
        {"\x3f", 1, 63, 63},
        {"\x40", 1, 64, -64},
        {"\x7f", 1, 127, -1},
        {"\x80\x01", 2, 128, 128},
        {"\xff\xff\x7f", 3, 0x1fffff, -1},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, -1},
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10, UINT64_C(1) << 63, INT64_MIN},
        {"\x85\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 13, 5, 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        void *memory;
        const struct cursor whole = copied(known[i].bytes, known[i].size, &memory);
        struct cursor cursor = whole;
        assert_int_equal(cursor_take_uleb(&cursor), known[i].is_unsigned);
        assert_true(cursor_is_done(&cursor));
        cursor = whole;
        assert_int_equal(cursor_take_sleb(&cursor), known[i].is_signed);
        assert_true(cursor_is_done(&cursor));
        cursor = whole;
        cursor.end--; /* the last byte, which ends the number, is missing */
        assert_int_equal(cursor_take_sleb(&cursor), 0);
        assert_true(cursor.is_bad);
        free(memory);
    }
}

static void test_texts(void **state)
{
    struct cursor cursor = cursor_over("one\0\0three\0four", 15), again;
    (void)state;
    assert_string_equal(cursor_take_text(&cursor, SIZE_MAX), "one");
    assert_string_equal(cursor_take_text(&cursor, SIZE_MAX), "");
    again = cursor;
    assert_null(cursor_take_text(&again, 5)); /* its NUL is the sixth byte */
    assert_string_equal(cursor_take_text(&cursor, 6), "three");
    assert_null(cursor_take_text(&cursor, SIZE_MAX));
    assert_true(cursor.is_bad);
}

static void test_parts(void **state)
{
    struct cursor cursor = cursor_over("abcdef", 6), part, ahead;
    (void)state;
    ahead = cursor_ahead(&cursor, 4);
    assert_int_equal(cursor_take(&ahead, 1), 'e');
    part = cursor_take_part(&cursor, 2);
    assert_int_equal(cursor_take(&part, 2), 'a' | 'b' << 8);
    assert_true(cursor_is_done(&part));
    assert_int_equal(cursor_take(&part, 1), 0);
    assert_true(part.is_bad);
    assert_int_equal(cursor_take(&cursor, 1), 'c');
    part = cursor_take_part(&cursor, 4);
    assert_true(part.is_bad && cursor.is_bad);
    assert_int_equal(cursor_left(&part), 0);
    assert_true(cursor_ahead(&ahead, 2).is_bad);
    assert_true(cursor_ahead(&part, 0).is_bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_beyond_the_end), cmocka_unit_test(test_leb128),
        cmocka_unit_test(test_texts),   cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
