/* SPDX-License-Identifier: BSD-3-Clause */
/* src/base/lines: text in pieces, as lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/lines.h"

static void gather(void *state, uint64_t time, const char *line, size_t length)
{
    text_printf(state, "%d:", (int)time);
    text_append(state, line, length);
    text_char(state, ';');
}

static void test_lines(void **state)
{
    static const char *const pieces[] = {"a\nb", "", "c", "\n\n", "d\ne\nf"};
    struct text all = {0};
    struct line_splitter splitter = {.visit = gather, .state = &all};
    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        lines_add(&splitter, i, pieces[i], strlen(pieces[i]));
    assert_string_equal(text_string(&all), "0:a;0:bc;3:;4:d;4:e;");
    lines_end(&splitter);
    lines_end(&splitter);
    assert_string_equal(text_string(&all), "0:a;0:bc;3:;4:d;4:e;4:f;");
    assert_false(splitter.failed);
    lines_free(&splitter);
    text_free(&all);
}

static void test_long_line(void **state)
{
    static char piece[LINES_PENDING_MAX / 2];
    struct text all = {0};
    struct line_splitter splitter = {.visit = gather, .state = &all};
    (void)state;
    memset(piece, 'x', sizeof piece);
    for (uint64_t i = 0; i < 3; i++)
        lines_add(&splitter, i, piece, sizeof piece);
    lines_add(&splitter, 3, "\n", 1);
    assert_int_equal(all.length, 3 * sizeof piece + 2 * strlen("0:;"));
    assert_memory_equal(all.bytes + strlen("0:") + 2 * sizeof piece, ";2:x", 4);
    lines_free(&splitter);
    text_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
