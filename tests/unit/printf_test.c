/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of src/print/format: parsing of formats, every conversion, flag, width and length. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/format.h"

static struct arena arena;
static struct text text;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    text_free(&text);
    return 0;
}

static const struct format *parse(const char *format)
{
    return format_parse(&arena, format, strlen(format));
}

static const char *print(const char *format, const struct format_argument *arguments, size_t count)
{
    struct printer printer = {.out = &text};
    text_clear(&text);
    format_print(&printer, parse(format), arguments, count);
    printer_free(&printer);
    return text_string(&text);
}

static struct format_argument integer(const struct type *type, uint64_t value)
{
    uint64_t *word = arena_new(&arena, uint64_t);
    *word = value;
    return (struct format_argument){type, word, false};
}

static struct format_argument string(const char *value, uint32_t capacity)
{
    const struct type *type = type_string(&arena, capacity);
    char *bytes = arena_alloc(&arena, type_storage(type));
    memcpy(bytes, value, strnlen(value, capacity));
    return (struct format_argument){type, bytes, false};
}

static void assert_print(const char *format, struct format_argument argument, const char *expected)
{
    assert_string_equal(print(format, &argument, 1), expected);
}

static void the_reference_examples(void **state)
{
    (void)state;
    struct format_argument five = integer(&type_i8, 5), abc = string("abc", 4);
    const struct type *pointer = type_pointer(&arena, &type_i8, SPACE_NONE);
    struct format_argument arguments[] = {integer(&type_bool, 1),
                                          five,
                                          five,
                                          five,
                                          integer(&type_i16, 255),
                                          integer(&type_i16, 255),
                                          integer(&type_i8, 8),
                                          integer(&type_i8, (uint64_t)-1),
                                          integer(&type_i8, (uint64_t)-1),
                                          integer(&type_i8, 65),
                                          string("str", 4),
                                          abc,
                                          abc,
                                          string("abcdef", 7),
                                          integer(pointer, 0x10)};
    assert_string_equal(print("%d %5d|%-5d|%05d %x %#x %o %u %lu %c %s|%10s|%-10s|%.3s %p %%", arguments, 15),
                        "1     5|5    |00005 ff 0xff 10 4294967295 18446744073709551615 A str|       abc|abc "
                        "      |abcdef 0x10 %");
    struct format_argument wide = integer(&type_u64, 0x12345678abcdef);
    struct format_argument four[] = {wide, wide, wide, wide};
    assert_string_equal(print("%hhx %hx %x %jx", four, 4), "ef cdef 78abcdef 12345678abcdef");
}

static void integers(void **state)
{
    (void)state;
    struct format_argument minus = integer(&type_i64, (uint64_t)-5), most = integer(&type_u64, UINT64_MAX);
    struct format_argument least = integer(&type_i64, UINT64_C(1) << 63);
    assert_print("%d", minus, "-5");
    assert_print("%i", minus, "-5");
    assert_print("%05d", minus, "-0005");
    assert_print("%5d", minus, "   -5");
    assert_print("%-5d|", minus, "-5   |");
    assert_print("%-05d|", minus, "-5   |");
    assert_print("%+d", integer(&type_i8, 5), "+5");
    assert_print("% d", integer(&type_i8, 5), " 5");
    assert_print("%+05d", integer(&type_i8, 5), "+0005");
    assert_print("%+d", minus, "-5");
    assert_print("%ld", least, "-9223372036854775808");
    assert_print("%25ld", least, "     -9223372036854775808");
    assert_print("%lu", most, "18446744073709551615");
    assert_print("%22lu", most, "  18446744073709551615");
    assert_print("%d", most, "-1");
    assert_print("%u", most, "4294967295");
    assert_print("%hhd", integer(&type_u64, 0x180), "-128");
    assert_print("%hd", integer(&type_u64, 0x18000), "-32768");
    assert_print("%hhu", most, "255");
    assert_print("%lx", most, "ffffffffffffffff");
    assert_print("%lX", most, "FFFFFFFFFFFFFFFF");
    assert_print("%#X", integer(&type_i8, 10), "0XA");
    assert_print("%#x", integer(&type_i8, 0), "0");
    assert_print("%#010x", integer(&type_i16, 255), "0x000000ff");
    assert_print("%#o", integer(&type_i8, 8), "010");
    assert_print("%lo", most, "1777777777777777777777");
    assert_print("%lld", minus, "-5");
    assert_print("%zu", integer(&type_u64, 7), "7");
    assert_print("%td", minus, "-5");
    assert_print("%Ld", minus, "-5");
    assert_print("%jd", minus, "-5");
    assert_print("%p", integer(&type_u64, 0), "0x0");
    assert_print("%20p", most, "  0xffffffffffffffff");
    assert_print("%3c|", integer(&type_i8, 'x'), "  x|");
    assert_print("%-3c|", integer(&type_i8, 'x'), "x  |");
    assert_print("%.3d", integer(&type_i8, 5), "5");
    assert_print("%*d", integer(&type_i8, 5), "5");
}

/* Compares with C's printf everything that it can do, too, with the same flags. */
static void agrees_with_c(void **state)
{
    (void)state;
    static const char flags[] = "-+ #0";
    static const char *const widths[] = {"", "1", "7", "21", "24"};
    static const char *const lengths[] = {"hh", "h", "", "l", "ll", "j", "z", "t"};
    static const char conversions[] = "diuoxX";
    static const uint64_t values[] = {0,
                                      1,
                                      9,
                                      10,
                                      99,
                                      100,
                                      12345,
                                      0x80,
                                      0xff00,
                                      0x8000,
                                      0x80000000,
                                      0xffffffff00000000,
                                      UINT64_C(1) << 63,
                                      UINT64_MAX};
    enum { FLAG_SETS = 1 << (sizeof flags - 1) };
    unsigned compared = 0;
    for (size_t f = 0; f < FLAG_SETS; f++) {
        char chosen[sizeof flags] = "", *end = chosen;
        for (size_t i = 0; flags[i]; i++)
            if (f >> i & 1)
                *end++ = flags[i];
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
                for (size_t c = 0; conversions[c]; c++)
                    for (size_t v = 0; v < sizeof values / sizeof *values; v++, compared++) {
                        char format[32], expected[64];
                        snprintf(format, sizeof format, "%%%s%s%s%c", chosen, widths[w], lengths[l],
                                 conversions[c]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                        snprintf(expected, sizeof expected, format, values[v]);
#pragma GCC diagnostic pop
                        assert_print(format, integer(&type_u64, values[v]), expected);
                        assert_print(format, integer(&type_i64, values[v]), expected);
                    }
    }
    assert_int_equal(compared, 32 * 5 * 8 * 6 * 14);
}

static void strings_of_anything(void **state)
{
    (void)state;
    assert_print("%s", string("ab", 3), "ab");
    assert_print("%s", string("abc", 3), "abc..");
    assert_print("[%6s]", string("ab", 3), "[    ab]");
    assert_print("[%-6s]", string("ab", 3), "[ab    ]");
    assert_print("[%1s]", string("ab", 3), "[ab]");
    assert_print("%s", integer(&type_i32, (uint64_t)-3), "-3");
    assert_print("%s", integer(&type_bool, 0), "false");
    assert_print("%s", integer(type_pointer(&arena, &type_i8, SPACE_USER), 0xabc), "0xabc");
    const struct type *pair[] = {&type_i8, &type_bool};
    uint64_t words[] = {7, 1};
    assert_print("%12s", (struct format_argument){type_tuple(&arena, pair, 2), words, false}, "   (7, true)");
}

static void buffers(void **state)
{
    (void)state;
    uint64_t storage[3] = {5};
    memcpy(storage + 1, "a\\\0\xff~zzz", 8);
    struct format_argument buffer = {type_buffer(&arena, 16), storage, false};
    assert_print("%r", buffer, "a\\\\x00\\xff~");
    assert_print("%rx", buffer, "\\x61\\x5c\\x00\\xff\\x7e");
    assert_print("%rh", buffer, "61 5c 00 ff 7e");
    assert_print("%s", buffer, "a\\\\x00\\xff~");
    assert_print("%17rh|", buffer, "   61 5c 00 ff 7e|");
    assert_print("%rhx", buffer, "61 5c 00 ff 7ex");
    storage[0] = UINT64_MAX; /* a length beyond the capacity */
    assert_int_equal(strlen(print("%rx", &buffer, 1)), 16 * 4);
    storage[0] = 0;
    assert_print("%rh", buffer, "");
}

static void what_is_no_conversion_is_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"",   "100%",   "%",  "%%",   "%y",  "%5",
                                        "%l", "%-+0 #", "%.", "a%\n", "%5%%"};
    static const char *const printed[] = {"",   "100%",   "%",  "%",    "%y", "%5",
                                          "%l", "%-+0 #", "%.", "a%\n", "%5%"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_string_equal(print(texts[i], NULL, 0), printed[i]);
        assert_int_equal(parse(texts[i])->arguments, 0);
    }
    /* A NUL in the format is an ordinary character. */
    struct printer printer = {.out = &text};
    text_clear(&text);
    format_print(&printer, format_parse(&arena, "a\0%%b", 5), NULL, 0);
    assert_int_equal(text.length, 4);
    assert_memory_equal(text.bytes, "a\0%b", 4);
}

static void segments_have_positions(void **state)
{
    (void)state;
    const struct format *format = parse("a%% %5d, %rx.");
    assert_int_equal(format->arguments, 2);
    assert_int_equal(format_conversion(format, 0)->begin, 4);
    assert_int_equal(format_conversion(format, 0)->end, 7);
    assert_int_equal(format_conversion(format, 1)->conversion, 'r');
    assert_int_equal(format_conversion(format, 1)->end, 12);
    assert_null(format_conversion(format, 2));
}

static void arguments_are_checked(void **state)
{
    (void)state;
    assert_null(format_count_problem(&arena, parse("%d"), 1));
    assert_string_equal(format_count_problem(&arena, parse("%d"), 0),
                        "not enough arguments for format string (0 supplied, 1 expected)");
    assert_string_equal(format_count_problem(&arena, parse("%%"), 2),
                        "too many arguments for format string (2 supplied, 0 expected)");
    const struct format *format = parse("%d%s%r%p");
    const struct type *text_type = type_string(&arena, 2), *buffer = type_buffer(&arena, 2);
    const struct type *pointer = type_pointer(&arena, &type_i8, SPACE_USER);
    assert_true(format_accepts(format_conversion(format, 0), &type_i8));
    assert_true(format_accepts(format_conversion(format, 0), &type_bool));
    assert_true(format_accepts(format_conversion(format, 0), pointer));
    assert_false(format_accepts(format_conversion(format, 0), text_type));
    assert_true(format_accepts(format_conversion(format, 1), text_type));
    assert_true(format_accepts(format_conversion(format, 1), buffer));
    assert_false(format_accepts(format_conversion(format, 1), &type_none));
    assert_true(format_accepts(format_conversion(format, 2), buffer));
    assert_false(format_accepts(format_conversion(format, 2), text_type));
    assert_true(format_accepts(format_conversion(format, 3), pointer));
}

static void mistakes_are_survived(void **state)
{
    (void)state;
    assert_print("%d", string("text", 5), "text");
    assert_print("%r", integer(&type_i8, 3), "3");
    assert_string_equal(print("%d %d|", &(struct format_argument){&type_i8, (uint64_t[]){4}, false}, 1),
                        "4 |");
    struct format_argument one = integer(&type_i8, 1);
    size_t width = strlen(print("%99999999999999999999d", &one, 1));
    assert_true(width > 1000 && width <= 1 << 16);
    assert_int_equal(strlen(print("%99999999999999999999s", &one, 1)), width);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_reference_examples, teardown),
        cmocka_unit_test_teardown(integers, teardown),
        cmocka_unit_test_teardown(agrees_with_c, teardown),
        cmocka_unit_test_teardown(strings_of_anything, teardown),
        cmocka_unit_test_teardown(buffers, teardown),
        cmocka_unit_test_teardown(what_is_no_conversion_is_text, teardown),
        cmocka_unit_test_teardown(segments_have_positions, teardown),
        cmocka_unit_test_teardown(arguments_are_checked, teardown),
        cmocka_unit_test_teardown(mistakes_are_survived, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
