/* SPDX-License-Identifier: BSD-3-Clause */
/* What a string may do to a terminal: nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "print/terminal.h"

static void shows(const char *text, size_t length, bool colours, const char *expected)
{
    struct text out = {0};
    terminal_escape(&out, text, length, colours);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}
#define SHOWS(text, expected) shows(text, sizeof text - 1, false, expected)

static void test_plain(void **state)
{
    (void)state;
    SHOWS("", "");
    SHOWS("a line\n\tand more", "a line\n\tand more");
    SHOWS("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\xbe", "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\xbe");
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
          "\\x9b2J"); /* and as it is */
    SHOWS("\xe2\x80\xae"
          "abc",
          "\\xe2\\x80\\xae"
          "abc"); /* right to left */
}

static void test_not_utf8(void **state)
{
    (void)state;
    SHOWS("\xc3", "\\xc3");          /* it ends within a character */
    SHOWS("\xc0\x9b", "\\xc0\\x9b"); /* longer than it need be */
    SHOWS("\xe0\x82\x9b", "\\xe0\\x82\\x9b");
    SHOWS("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* half of a pair */
    SHOWS("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond the last */
    SHOWS("\xff\xfe", "\\xff\\xfe");
}

static void test_colours(void **state)
{
    (void)state;
    shows("\x1b[31mred\x1b[0m", 12, true, "\x1b[31mred\x1b[0m");
    shows("\x1b[31mred\x1b[0m", 12, false, "\\x1b[31mred\\x1b[0m");
    shows("\x1b[2J", 4, true, "\\x1b[2J");
    shows("\x1b[31", 4, true, "\\x1b[31");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_not_utf8),
        cmocka_unit_test(test_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
