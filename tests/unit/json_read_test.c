/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of reading foreign JSON: whether a line is an object, which members it has, and the order of lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "reader/json_lines.h"
#include "reader/json_read.h"

static bool is_object(const char *text)
{
    /* The text lies in memory of exactly its size, so that a sanitizer sees a read behind it. */
    const size_t length = strlen(text);
    char *copy = malloc(length ? length : 1);
    memcpy(copy, text, length);
    const bool is_right = json_read_object(copy, length, NULL, 0);
    free(copy);
    return is_right;
}

static void test_what_is_an_object(void **state)
{
    (void)state;
    static const char *const right[] = {
        "{}",
        " { } \r\n",
        "{\"a\": 1}",
        "{\"a\": -0.5e+10, \"b\": [1, 2, [ ]], \"c\": {\"d\": null}, \"e\": true, \"f\": false}",
        "{\"\\u00fc\\n\\\"\": \"\\ud83d\\ude00\"}",
        "{\"a\": 0, \"a\": 10}",
    };
    static const char *const wrong[] = {
        "",
        "{",
        "}",
        "[]",
        "1",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a\":1,}",
        "{a: 1}",
        "{\"a\": 01}",
        "{\"a\": 1.}",
        "{\"a\": .5}",
        "{\"a\": +1}",
        "{\"a\": -}",
        "{\"a\": 1e}",
        "{\"a\": tru}",
        "{\"a\": \"",
        "{\"a\": \"\\",
        "{\"a\": \"\\u12",
        "{\"a\": \"\\x\"}",
        "{\"a\": \"\n\"}",
        "{} {}",
        "{\"a\": [1,]}",
        "{\"a\": [1",
        "{'a': 1}",
        "{\"a\": nulll}",
    };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
        if (!is_object(right[i]))
            fail_msg("refused: %s", right[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (is_object(wrong[i]))
            fail_msg("taken: %s", wrong[i]);
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    enum { DEEP = 1 << 20 };
    char *text = malloc(DEEP);
    memset(text, '[', DEEP);
    memcpy(text, "{\"a\":", 5);
    assert_false(json_read_object(text, DEEP, NULL, 0));
    free(text);
}

static void test_members(void **state)
{
    (void)state;
    static const char text[] =
        "{\"other\": {\"data\": \"inner\"}, \"data\": \"\\u00fc\\u20ac\\ud83d\\ude00\\ud800 \\t\\\\\\/\", "
        "\"number\": 18446744073709551615, \"quoted\": \"9007199254740993\", \"large\": "
        "18446744073709551616, "
        "\"real\": 1.5, \"empty\": \"\", \"data\": \"again\"}";
    struct json_wanted wanted[] = {{.name = "data"},  {.name = "number"}, {.name = "quoted"},
                                   {.name = "large"}, {.name = "real"},   {.name = "empty"},
                                   {.name = "none"}};
    struct text said = {0};
    uint64_t number;
    assert_true(json_read_object(text, strlen(text), wanted, 7));
    assert_true(json_read_string(&wanted[0].value, &said));
    assert_string_equal(text_string(&said), "ü€😀\xef\xbf\xbd \t\\/");
    assert_true(json_read_unsigned(&wanted[1].value, &number));
    assert_true(number == UINT64_MAX);
    assert_true(json_read_unsigned(&wanted[2].value, &number));
    assert_true(number == 9007199254740993u);
    for (size_t i = 3; i < 7; i++)
        assert_false(json_read_unsigned(&wanted[i].value, &number));
    text_clear(&said);
    assert_false(json_read_string(&wanted[1].value, &said));
    assert_false(json_read_string(&wanted[6].value, &said));
    assert_true(json_read_string(&wanted[5].value, &said));
    assert_int_equal(said.length, 0);
    text_free(&said);
}

/* ---- lines ---- */

static struct json_lines *open_text(const char *text, size_t length)
{
    char path[] = "/tmp/spoor-lines.XXXXXX";
    struct text why = {0};
    struct json_lines *lines;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, length), (ssize_t)length);
    close(file);
    assert_int_equal(json_lines_open(path, NULL, &lines, &why), 0);
    unlink(path);
    return lines;
}

static void test_order(void **state)
{
    (void)state;
    static const char text[] = "{\"type\": \"begin\"}\n"
                               "{\"type\": \"printf\", \"time_ns\": 30, \"data\": \"thirty\\n\"}\n"
                               "{\"type\": \"map\", \"data\": {}}\n"
                               "\n"
                               "{\"type\": \"printf\", \"time_ns\": \"20\", \"data\": \"twenty\"}\n"
                               "broken\n"
                               "{\"type\": \"printf\", \"time_ns\": 30, \"data\": \"again\"}";
    static const struct {
        uint64_t before, time;
        const char *text; /* NULL: the line is not printed text */
        bool has_time;
    } expected[] = {{0, 0, NULL, false},
                    {25, 20, "twenty", true},
                    {31, 30, "thirty\n", true},
                    {31, 30, NULL, false},
                    {UINT64_MAX, 30, "again", true}};
    struct json_lines *lines = open_text(text, strlen(text));
    struct json_line line;
    assert_int_equal(json_lines_next(lines, 0, &line), 0); /* no line is older than that */
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const uint64_t before = expected[i].before ? expected[i].before : 1;
        assert_int_equal(json_lines_next(lines, before, &line), 1);
        assert_true(line.time == expected[i].time);
        assert_int_equal(line.has_time, expected[i].has_time);
        assert_int_equal(line.text != NULL, expected[i].text != NULL);
        if (line.text) {
            assert_int_equal(line.text_length, strlen(expected[i].text));
            assert_memory_equal(line.text, expected[i].text, line.text_length);
        }
    }
    assert_int_equal(json_lines_next(lines, UINT64_MAX, &line), 0);
    const struct json_lines_counts counts = json_lines_counts(lines);
    assert_int_equal(counts.lines, 5);
    assert_int_equal(counts.timed, 3);
    assert_int_equal(counts.refused, 1);
    assert_int_equal(counts.late, 0);
    json_lines_close(lines);
}

/* A line that comes later than the window allows is counted as late, not lost. */
static void test_late_lines(void **state)
{
    (void)state;
    struct text text = {0};
    enum { MANY = 20000 };
    for (int i = 0; i < MANY; i++)
        text_printf(&text, "{\"type\": \"value\", \"time_ns\": %d}\n", i + 100);
    text_add(&text, "{\"type\": \"value\", \"time_ns\": 5}\n");
    struct json_lines *lines = open_text(text_string(&text), text.length);
    struct json_line line;
    size_t count = 0;
    while (json_lines_next(lines, UINT64_MAX, &line) == 1)
        count++;
    assert_int_equal(count, MANY + 1);
    assert_int_equal(json_lines_counts(lines).late, 1);
    json_lines_close(lines);
    text_free(&text);
}

static void test_no_end_of_a_line(void **state)
{
    (void)state;
    enum { LONG = 40 << 20 };
    char *text = malloc(LONG);
    memset(text, ' ', LONG);
    memcpy(text, "{\"a\": \"", 7);
    struct json_lines *lines = open_text(text, LONG);
    struct json_line line;
    assert_int_equal(json_lines_next(lines, UINT64_MAX, &line), 0);
    assert_int_equal(json_lines_counts(lines).refused, 1);
    json_lines_close(lines);
    free(text);
}

static void test_paths_and_items(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": {\"b\": [1, {\"c\": [ ]} ,\"x\\/y\"], \"b\": 2}, \"d\": \"a.b\"}";
    const struct json_value whole = {text, strlen(text)};
    const struct json_value array = json_find(whole, "a.b");
    struct json_value item;
    size_t at = 0;
    assert_true(json_next_item(array, &at, &item));
    assert_int_equal(item.length, 1);
    assert_true(json_next_item(array, &at, &item));
    size_t inner = 0;
    struct json_value nothing;
    assert_false(json_next_item(json_find(item, "c"), &inner, &nothing));
    assert_true(json_next_item(array, &at, &item));
    assert_true(json_is_string(item, "x/y"));
    assert_false(json_is_string(item, "x/"));
    assert_false(json_next_item(array, &at, &item));
    static const char *const missing[] = {"b", "a.c", "a.b.c", "d.a", "a..b", ".a"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        assert_null(json_find(whole, missing[i]).bytes);
    at = 0;
    assert_false(json_next_item(json_find(whole, "d"), &at, &item));
    assert_false(json_is_string(json_find(whole, "x"), ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_an_object),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_paths_and_items),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_late_lines),
        cmocka_unit_test(test_no_end_of_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
