/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that a traced string cannot control the terminal. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/terminal.h"

static void shows(const char *text, size_t length, enum terminal_text kind, const char *expected)
{
    struct text out = {0};
    terminal_escape(&out, text, length, kind);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}
#define SHOWS(text, expected) shows(text, sizeof text - 1, TERMINAL_LINES, expected)

static void test_plain(void **state)
{
    (void)state;
    SHOWS("", "");
    SHOWS("a line\n\tand more", "a line\n\tand more");
    SHOWS("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\xbe", "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\xbe");
    SHOWS("\u05d0\u0627\u3000\u2003|",
          "\u05d0\u0627\u3000\u2003|"); /* letters of right-to-left scripts and spaces are printed */
}

static void test_controls(void **state)
{
    (void)state;
    SHOWS("\x1b]0;title\x07", "\\x1b]0;title\\x07");
    SHOWS("a\rb\bc\0d\x7f", "a\\x0db\\x08c\\x00d\\x7f");
    SHOWS("\xc2\x9b"
          "2J",
          "\\xc2\\x9b2J"); /* the 8-bit form of ESC [, as UTF-8 */
    SHOWS("\x9b"
          "2J",
          "\\x9b2J"); /* the same as a single byte */
}

static void test_names(void **state)
{
    (void)state;
    shows("a\nb\tc", 5, TERMINAL_NAME, "a\\x0ab\tc");
    shows("a\r\nb", 4, TERMINAL_NAME, "a\\x0d\\x0ab");
    shows("\u2028x\u2029", 7, TERMINAL_NAME, "\\xe2\\x80\\xa8x\\xe2\\x80\\xa9");
}

/* Each invisible character is hidden, and none of its neighbours. */
static void test_hidden(void **state)
{
    static const uint32_t hidden[][2] = {
        {0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},     {0x180b, 0x180f},   {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xfff0, 0xfffb},
        {0xfffe, 0xffff}, {0x3164, 0x3164}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0x115f, 0x1160},
    };
    (void)state;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        for (uint32_t point = hidden[i][0]; point <= hidden[i][1]; point++)
            assert_true(utf8_is_hidden(point));
        assert_false(utf8_is_hidden(hidden[i][0] - 1) && hidden[i][0] > 0x80);
        assert_false(utf8_is_hidden(hidden[i][1] + 1));
    }
    SHOWS("\u202eabc", "\\xe2\\x80\\xae"
                       "abc"); /* the override to right-to-left */
    SHOWS("a\u200bb\u200db", "a\\xe2\\x80\\x8b"
                             "b\\xe2\\x80\\x8d"
                             "b");
    SHOWS("\U000e0041", "\\xf3\\xa0\\x81\\x81");
}

static void test_not_utf8(void **state)
{
    (void)state;
    SHOWS("\xc3", "\\xc3");          /* the text ends within a character */
    SHOWS("\xc0\x9b", "\\xc0\\x9b"); /* an overlong encoding */
    SHOWS("\xe0\x82\x9b", "\\xe0\\x82\\x9b");
    SHOWS("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* half of a surrogate pair */
    SHOWS("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond the last code point */
    SHOWS("\xff\xfe", "\\xff\\xfe");
}

static void test_colours(void **state)
{
    (void)state;
    shows("\x1b[31mred\x1b[0m", 12, TERMINAL_MESSAGE, "\x1b[31mred\x1b[0m");
    shows("\x1b[31mred\x1b[0m", 12, TERMINAL_LINES, "\\x1b[31mred\\x1b[0m");
    shows("\x1b[2J", 4, TERMINAL_MESSAGE, "\\x1b[2J");
    shows("\x1b[31", 4, TERMINAL_MESSAGE, "\\x1b[31");
}

/* Numbers are written as by printf(); a string that its escapes make longer gets less padding. */
static void test_print(void **state)
{
    struct text out = {0}, expected = {0};
    (void)state;
    terminal_print(&out, "\x1b[31m%s\n|%-8s|%8s|%.2s|%c%c\n", "a\nb", "x\x1b", "y\n", "z\a\a", '\n', 'c');
    assert_string_equal(text_string(&out), "\x1b[31ma\\x0ab\n|x\\x1b   |   y\\x0a|z\\x07|\\x0ac\n");
#define NUMBERS                                                                                              \
    "%d|%5d|%-5d|%05d|%+d|%i|%u|%x|%#X|%o|%hhx|%ld|%lu|%lld|%llx|%zu|%#-10lx|%*d|%-*d|%.3d|%%|%.1f|%6.2f|%"  \
    "g",                                                                                                     \
        -7, 42, 42, 42, 42, -1, 4000000000u, 255, 255, 8, (unsigned char)0x12, -5L, 18446744073709551615UL,  \
        -9LL, 0x123456789abcdefLL, (size_t)12, 255L, 6, 3, 6, 3, 7, 1.25, 3.14159, 0.5
    text_clear(&out);
    terminal_print(&out, NUMBERS);
    text_printf(&expected, NUMBERS);
    assert_string_equal(text_string(&out), text_string(&expected));
    text_clear(&out);
    terminal_print(&out, "%p|%10s|%*s|%.*s|%s", (void *)0x10, "right", 4, "w", 1, "cut",
                   (const char *)"last");
    assert_string_equal(text_string(&out), "0x10|     right|   w|c|last");
    text_free(&out);
    text_free(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),  cmocka_unit_test(test_controls), cmocka_unit_test(test_names),
        cmocka_unit_test(test_hidden), cmocka_unit_test(test_not_utf8), cmocka_unit_test(test_colours),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
