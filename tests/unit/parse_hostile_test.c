/* SPDX-License-Identifier: BSD-3-Clause */
/* Hostile texts for the parser: deep, long, flooding, damaged. Nothing crashes or reads too far, and everything
 * ends in time linear in the text's length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lang/parse/parse.h"

struct parsed {
    struct arena arena;
    struct diagnostics diagnostics;
    struct source source;
    char *memory; /* allocated with exactly the text's size, so that ASan sees a read behind it */
    struct parameters parameters;
    struct script *script;
};

static struct parsed *parse_bytes(const char *text, size_t length, size_t count, const char *const *values)
{
    struct parsed *parsed = calloc(1, sizeof *parsed);
    parsed->memory = malloc(length + 1);
    memcpy(parsed->memory, text, length);
    parsed->memory[length] = 0;
    parsed->source = (struct source){"stdin", parsed->memory, length};
    parsed->diagnostics.arena = &parsed->arena;
    parsed->parameters = (struct parameters){.values = values, .count = count};
    parsed->script = script_parse(&parsed->arena, &parsed->diagnostics, &parsed->source, &parsed->parameters);
    return parsed;
}

static struct parsed *parse(const char *text)
{
    return parse_bytes(text, strlen(text), 0, NULL);
}

static void release(struct parsed *parsed)
{
    arena_free(&parsed->arena);
    free(parsed->memory);
    free(parsed);
}

static void expect_clean(const struct parsed *parsed)
{
    struct text text = {0};
    diagnostics_render(&text, &parsed->diagnostics, DIAGNOSTIC_ERROR, false);
    if (parsed->diagnostics.errors)
        fail_msg("%s", text_string(&text));
    text_free(&text);
}

/* Parses the prefix, then the piece many times, then the suffix: nothing crashes, and everything ends in a short
 * time. */
static void hostile(const char *prefix, const char *piece, size_t times, const char *suffix, bool is_wrong)
{
    struct text text = {0};
    text_add(&text, prefix);
    for (size_t i = 0; i < times; i++)
        text_add(&text, piece);
    text_add(&text, suffix);
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    struct parsed *parsed = parse_bytes(text.bytes, text.length, 0, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    if ((parsed->diagnostics.errors != 0) != is_wrong)
        fail_msg("%s %zu * %s %s: %zu errors", prefix, times, piece, suffix, parsed->diagnostics.errors);
    assert_true(parsed->diagnostics.count <= 21);
    if (end.tv_sec - start.tv_sec > 5)
        fail_msg("%s %zu * %s %s: too slow", prefix, times, piece, suffix);
    struct text out = {0};
    script_print(&out, parsed->script); /* walks the tree, however broken */
    text_free(&out);
    release(parsed);
    text_free(&text);
}

static void test_nesting(void **state)
{
    (void)state;
    enum { MANY = 200000 };
    hostile("BEGIN { $x = ", "(", 150, "1)", true);
    hostile("BEGIN { $x = ", "(", MANY, "", true);
    hostile("BEGIN { $x = ", "-", MANY, "1 }", true);
    hostile("BEGIN { $x = ", "!", MANY, "1 }", true);
    hostile("BEGIN { $x = ", "(int8)", MANY / 2, "1 }", true);
    hostile("BEGIN { $x = ", "f(", MANY, "", true);
    hostile("BEGIN { $x = ", "@[", MANY, "", true);
    hostile("BEGIN { $x = ", "sizeof(", MANY / 2, "", true);
    hostile("BEGIN { $x = ", "1 ? ", MANY, "", true);
    hostile("BEGIN { $x = ", "1 ? 2 : ", MANY / 2, "3 }", true);
    hostile("BEGIN { $x = ", "1 ?: ", MANY / 2, "3 }", true);
    hostile("BEGIN ", "{", MANY, "", true);
    hostile("BEGIN {", "if 1 {", MANY / 2, "", true);
    hostile("BEGIN { if 1 { }", "else if 1 { } ", MANY / 4, "}", true);
    hostile("BEGIN { $x = 1", " + 1", MANY, " }", true);
    hostile("BEGIN { $x", ".a", MANY, " }", true);
    hostile("BEGIN { $x", "[1]", MANY, " }", true);
    hostile("BEGIN { $x", "++", MANY, " }", true);
    hostile("BEGIN { $x = (int8 ", "*", MANY, ")1 }", true);
    hostile("BEGIN /", "(", MANY, "/ { }", true);
}

static void test_long_but_good(void **state)
{
    (void)state;
    hostile("BEGIN { $x = 1", " + 1", 900, " }", false);
    hostile("BEGIN { if 1 { }", "else if 1 { } ", 900, "}", false);
    hostile("BEGIN {", "{", 190, "} } } } } } } } } }", true);
    hostile("BEGIN {", " $x = $x + 1;", 50000, "}", false);
    hostile("BEGIN { f(1", ",1", 200000, ") }", false);
    hostile("BEGIN", ",k:x", 100000, " { }", false);
    hostile("", "k:x{}", 100000, "", false);
    hostile("BEGIN { $x = ", "/**/", 200000, "1 }", false);
    hostile("BEGIN / 1 ", "/ 1 ", 900, "/ { }", false);
}

static void test_floods(void **state)
{
    (void)state;
    hostile("", "/", 1000000, "", true);
    hostile("a", "/", 1000000, "", true);
    hostile("a:b", "/b", 500000, "{}", true);
    hostile("a", ":", 1000000, "{}", false);
    hostile("a", "/a:", 300000, "{}", false);
    hostile("", "$9", 500000, "{}", false);
    hostile("", "\"", 1000000, "", true);
    hostile("BEGIN {", "\"", 1000000, "", true);
    hostile("BEGIN {", "`", 1000000, "", true);
    hostile("BEGIN {", "08;", 300000, "", true);
    hostile("BEGIN {", ";", 1000000, "}", false);
    hostile("BEGIN {", "}{", 500000, "", true);
    hostile("BEGIN {", "/*", 500000, "", true);
    hostile("BEGIN {", "( x *", 200000, "", true);
    hostile("BEGIN /", "/ /**/", 150000, "{ }", true);
    hostile("", "struct", 150000, "", true);
    hostile("", "struct ", 140000, "", true);
    hostile("", "struct {", 120000, "", true);
    hostile("", "#\\\n", 300000, "", true);
    hostile("", "fn x ", 200000, "", true);
    hostile("BEGIN {", " {}", 300000, "}", false);
    hostile("BEGIN { @[", ",", 300000, "] }", true);
    hostile("", "BEGIN { x ", 100000, "", true);
    hostile("BEGIN { ", "9", 1000000, " }", true);
    hostile("BEGIN { ", "x", 1000000, " }", false);
}

static void test_refused_texts(void **state)
{
    (void)state;
    struct parsed *parsed = parse_bytes("BEGIN { \0 }", 11, 0, NULL);
    assert_int_equal(parsed->diagnostics.errors, 1);
    assert_string_equal(parsed->diagnostics.items[0].message,
                        "stdin: the script holds a NUL byte: it is not a text");
    release(parsed);
    char *large = malloc((1 << 20) + 2);
    memset(large, ' ', (1 << 20) + 1);
    parsed = parse_bytes(large, (1 << 20) + 1, 0, NULL);
    assert_int_equal(parsed->diagnostics.errors, 1);
    assert_string_equal(parsed->diagnostics.items[0].message, "stdin: the script is larger than 1 MiB");
    release(parsed);
    free(large);
}

/* Every prefix of a script that uses a bit of everything, and that script with each byte changed. */
static void test_damaged_scripts(void **state)
{
    (void)state;
    static const char whole[] =
        "#!spoor\nuprobe:/a/b*:\"f:g\", usdt:./x:y/arg0 / 2 > (uint64)1/ { @m[comm, (1, $t.0)] = "
        "hist(args->x.y[1], 2); "
        "if !$x { return 1; } else if (1) { let $q : struct s * = *$p; } for ($i : 0..10) { break } /* c */ "
        "unroll($1) { $z++; _ = \"a\\n\\x41\" == str(arg1) ? 1ms : 0x1f ?: 017 } while (sizeof(int8[4])) { } "
        "for ($kv : @m) { print((1,)); } }\nEND { clear(@m) } // end";
    struct parsed *parsed = parse(whole);
    expect_clean(parsed);
    release(parsed);
    static const char replacements[] = "{}()[]\"'/\\*;,:.$@#0x=?-\n\x80";
    char text[sizeof whole];
    for (size_t i = 0; i < sizeof whole - 1; i++) {
        release(parse_bytes(whole, i, 0, NULL));
        for (const char *c = replacements; *c; c++) {
            memcpy(text, whole, sizeof whole);
            text[i] = *c;
            release(parse_bytes(text, sizeof whole - 1, 0, NULL));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting),         cmocka_unit_test(test_long_but_good),
        cmocka_unit_test(test_floods),          cmocka_unit_test(test_refused_texts),
        cmocka_unit_test(test_damaged_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
