/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the diagnostics: duplicates are kept once, hints follow their message, and floods and endless lines are
 * bounded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/diagnostic.h"

static struct arena arena;
static struct text text;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    text_free(&text);
    return 0;
}

static void a_hint_belongs_to_the_latest_report(void **state)
{
    (void)state;
    const struct source source = {"a.bt", "one two\n", 8};
    struct diagnostics diagnostics = {.arena = &arena};
    diagnose_hint(&diagnostics, "nothing was said");
    diagnose_error(&diagnostics, (struct span){&source, 0, 3}, "first");
    diagnose_hint(&diagnostics, "of the first");
    diagnose_error(&diagnostics, (struct span){&source, 4, 7}, "second");
    /* A repeated message is not kept, and neither are the hints and contexts that follow it: they must not go to
     * the second message. */
    diagnose_error(&diagnostics, (struct span){&source, 0, 3}, "first");
    diagnose_hint(&diagnostics, "of the first");
    diagnose_context(&diagnostics, (struct span){&source, 0, 3}, "about the first");
    assert_int_equal(diagnostics.count, 2);
    assert_int_equal(diagnostics.errors, 3);
    diagnostics_render(&text, &diagnostics, DIAGNOSTIC_ERROR, false);
    assert_string_equal(text_string(&text), "a.bt:1:1-4: ERROR: first\none two\n~~~\nHINT: of the first\n"
                                            "a.bt:1:5-8: ERROR: second\none two\n    ~~~\n");
    text_clear(&text);
}

static void a_flood_is_cut(void **state)
{
    (void)state;
    struct diagnostics diagnostics = {.arena = &arena};
    for (unsigned i = 0; i < 100000; i++) {
        assert_int_equal(diagnostics_are_full(&diagnostics), i > 100);
        diagnose_error(&diagnostics, (struct span){0}, "number %u", i);
        diagnose_hint(&diagnostics, "hint %u", i);
    }
    diagnose_warning(&diagnostics, (struct span){0}, "a warning is kept for all that");
    assert_int_equal(diagnostics.errors, 100000);
    assert_int_equal(diagnostics.count, 102);
    assert_string_equal(diagnostics.items[99].message, "number 99");
    assert_string_equal(diagnostics.items[99].hint, "hint 99");
    assert_string_equal(diagnostics.items[100].message, "Too many errors: the others are not shown");
    assert_null(diagnostics.items[100].hint);
}

/* A fix replaces the name where it stands: once in the report's span, as a whole word. */
static void a_fix_needs_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *best;
        uint32_t begin; /* of the fix; UINT32_MAX: there is none */
    } table[] = {
        {"uprobe:libc:mallocc", "mallocc", "malloc", 12},
        {"@ab[@abc]", "@abc", "@abcd", 4},
        {"Begni", "begni", "begin", 0},
        {"twice twice", "twice", "once", UINT32_MAX},
        {"a_name", "name", "same", UINT32_MAX},
        {"named", "name", "same", UINT32_MAX},
        {"MACRO(1)", "name", "same", UINT32_MAX},
        {"f::b", "b", "f::c(int)", UINT32_MAX}, /* would need quotes */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct source source = {"a.bt", table[i].text, strlen(table[i].text)};
        struct diagnostics diagnostics = {.arena = &arena}, again = {.arena = &arena};
        const struct nearest nearest = {.name = table[i].name, .best = table[i].best};
        diagnose_nearest(&diagnostics, &nearest, "");
        diagnose_error(&diagnostics, (struct span){&source, 0, (uint32_t)source.length}, "no such name");
        diagnose_nearest(&diagnostics, &nearest, "()");
        diagnostics_repeat(&again, &diagnostics, true);
        assert_non_null(strstr(again.items[0].hint, "()'?"));
        const struct diagnostic_fix *fix = again.items[0].fix;
        if (table[i].begin == UINT32_MAX) {
            assert_null(fix);
            continue;
        }
        assert_non_null(fix);
        assert_int_equal(fix->span.begin, table[i].begin);
        assert_int_equal(fix->span.end, table[i].begin + strlen(table[i].name));
        assert_string_equal(fix->text, table[i].best);
    }
}

/* The line is shown around the position, and is never cut in the middle of a character. */
static void a_long_line_is_cut(void **state)
{
    (void)state;
    static char line[100000];
    for (size_t i = 0; i + 1 < sizeof line; i += 2)
        memcpy(line + i, "\xc3\xa4", 2);
    const struct source source = {"a.bt", line, sizeof line - 2};
    const uint32_t places[] = {0, 100, 50000, sizeof line - 4};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct diagnostics diagnostics = {.arena = &arena};
        diagnose_error(&diagnostics, (struct span){&source, places[i], places[i] + 2}, "here");
        diagnostics_render(&text, &diagnostics, DIAGNOSTIC_ERROR, false);
        const char *shown = strchr(text_string(&text), '\n') + 1;
        size_t length = strcspn(shown, "\n");
        assert_in_range(length, 2, 1000);
        assert_memory_equal(shown, "\xc3\xa4", 2);
        assert_memory_equal(shown + length - 2, "\xc3\xa4", 2);
        const char *marker = strchr(shown, '\n') + 1;
        assert_int_equal(strspn(marker, " "), places[i] < 200 ? places[i] : 200);
        assert_string_equal(marker + strspn(marker, " "), "~~\n");
        text_clear(&text);
    }
}

static void the_nearest_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *candidates[4], *best; /* NULL: none is near enough */
        unsigned distance;
    } table[] = {
        {"printf", {"print", "printf"}, "printf", 0},
        {"prinft", {"print", "printf", "sprint"}, "printf", 1}, /* exchanged neighbours are one step */
        {"pdi", {"tid", "pid"}, "pid", 1},
        {"ca", {"abc", "ac"}, "ac", 1},
        {"prinf", {"printf", "print"}, "printf", 1}, /* of equally near ones the first */
        {"brown", {"crown", "borwn"}, "borwn", 1},   /* unless only the order of its letters differs */
        {"coutn", {"count", "counts"}, "count", 1},
        {"abcd", {"badc"}, NULL, 0}, /* two steps are too many for four letters */
        {"abcdef", {"badcef"}, "badcef", 2},
        {"abcdef", {"fedcba"}, NULL, 0},
        {"", {"a"}, NULL, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nearest nearest = {.name = table[i].name};
        for (size_t k = 0; k < 4 && table[i].candidates[k]; k++)
            nearest_offer(&nearest, table[i].candidates[k]);
        if (!table[i].best) {
            assert_null(nearest.best);
            continue;
        }
        assert_string_equal(nearest.best, table[i].best);
        assert_int_equal(nearest.distance, table[i].distance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_name),   cmocka_unit_test(a_hint_belongs_to_the_latest_report),
        cmocka_unit_test(a_flood_is_cut),     cmocka_unit_test(a_fix_needs_its_place),
        cmocka_unit_test(a_long_line_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
