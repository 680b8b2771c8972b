/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of src/print/value and map as text: every kind of value, the order of maps, the examples of the language's
 * reference, and types and bytes that lie. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "builtin/hist.h"
#include "print/histogram.h"
#include "print/map.h"
#include "print/record.h"
#include "print/value.h"

static struct arena arena;
static struct text text;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    text_free(&text);
    return 0;
}

/* ---- names for numbers, as a session has them ---- */

static bool kernel_symbol(void *owner, uint64_t address, struct print_symbol *out)
{
    (void)owner;
    if (address < 0x1000)
        return false;
    *out = (struct print_symbol){.name = "vfs_read", .offset = address - 0x1000};
    return true;
}

static bool user_symbol(void *owner, uint32_t pid, uint64_t address, bool is_return, struct print_symbol *out)
{
    (void)owner, (void)is_return;
    if (pid != 42 || address < 0x1000)
        return false;
    *out = (struct print_symbol){.name = address < 0x2000 ? "main" : NULL, .offset = 3, .module = "/bin/x"};
    return true;
}

static bool stack(void *owner, const struct type *type, uint64_t id, struct print_stack *out)
{
    static const uint64_t both[] = {0x1001, 0x10};
    static const uint64_t user[] = {0x1001, 0x2000, 0x10};
    (void)owner;
    *out = type->kind == TYPE_KSTACK ? (struct print_stack){.frames = both, .count = 2}
                                     : (struct print_stack){.frames = user, .count = 3};
    return id == 7;
}

static const char *name(void *owner, uint64_t index)
{
    (void)owner;
    return index == 1 ? "tracepoint:a:b" : NULL;
}

static const char *username(void *owner, uint64_t uid)
{
    (void)owner;
    return uid == 0 ? "root" : NULL;
}

static int64_t boot_to_wall(void *owner)
{
    (void)owner;
    return 1000000000;
}

static const struct print_names names = {.kernel_symbol = kernel_symbol,
                                         .user_symbol = user_symbol,
                                         .stack = stack,
                                         .name = name,
                                         .username = username,
                                         .boot_to_wall = boot_to_wall};

static const char *value_text(const struct type *type, const void *bytes)
{
    struct printer printer = {.out = &text, .names = &names};
    text_clear(&text);
    print_value(&printer, type, bytes);
    printer_free(&printer);
    return text_string(&text);
}

#define WORDS(...) ((const uint64_t[]){__VA_ARGS__})
#define assert_value(type, bytes, expected) assert_string_equal(value_text((type), (bytes)), (expected))

static const struct type *tuple_of(const struct type *a, const struct type *b)
{
    const struct type *elements[] = {a, b};
    return type_tuple(&arena, elements, 2);
}

static const struct type *simple(enum type_kind kind)
{
    return type_simple(&arena, kind);
}

static const struct type *aggregation(const struct aggregation *kind, const struct type *value)
{
    return type_aggregation(&arena, kind, value);
}

static void scalars(void **state)
{
    (void)state;
    static const struct enumerator colors[] = {{"RED", 1}, {"ODD", -1}};
    struct type color = {.kind = TYPE_ENUM, .size = 4, .is_signed = true, .enumerators = colors, .count = 2};
    assert_value(&type_none, "", "null");
    assert_value(&type_i8, WORDS((uint64_t)-7), "-7");
    assert_value(&type_i64, WORDS(UINT64_C(1) << 63), "-9223372036854775808");
    assert_value(&type_u64, WORDS(UINT64_MAX), "18446744073709551615");
    assert_value(&type_bool, WORDS(1), "true");
    assert_value(&type_bool, WORDS(0), "false");
    assert_value(type_pointer(&arena, &type_i8, SPACE_USER), WORDS(0xFFAB), "0xffab");
    assert_value(&color, WORDS(1), "RED");
    assert_value(&color, WORDS((uint64_t)-1), "ODD");
    assert_value(&color, WORDS((uint64_t)-2), "-2");
}

static void strings_and_buffers(void **state)
{
    (void)state;
    assert_value(type_string(&arena, 8), "abc\0\0\0\0", "abc");
    assert_value(type_string(&arena, 8), "abcdefgh", "abcdefgh..");
    assert_value(type_string(&arena, 8), "\0junk\0\0", "");
    struct printer printer = {.out = &text, .trunc_trailer = "<cut>"};
    text_clear(&text);
    print_value(&printer, type_string(&arena, 8), "abcdefgh");
    assert_string_equal(text_string(&text), "abcdefgh<cut>");
    bool truncated;
    assert_int_equal(value_string_length(type_string(&arena, 8), "abc\0\0\0\0", &truncated), 3);
    assert_false(truncated);
    assert_int_equal(value_string_length(type_string(&arena, 8), "abcdefgh", &truncated), 8);
    assert_true(truncated);
    uint64_t buffer[] = {3, 0};
    memcpy(buffer + 1, "a\n\xe4", 3);
    assert_value(type_buffer(&arena, 8), buffer, "a\\x0a\\xe4");
    buffer[0] = 1 << 20;
    assert_value(type_buffer(&arena, 3), buffer, "a\\x0a\\xe4");
}

static void composites(void **state)
{
    (void)state;
    uint64_t packed = 12345;
    assert_value(type_array(&arena, &type_u8, 8), &packed, "[57,48,0,0,0,0,0,0]");
    assert_value(type_array(&arena, &type_i16, 2), WORDS(0x0001ffff), "[-1,1]");
    assert_value(type_array(&arena, &type_u8, 0), &packed, "[]");
    const struct type *inner = tuple_of(&type_i8, type_string(&arena, 2));
    const struct type *three[] = {&type_i8, inner, &type_bool};
    const struct type *tuple = type_tuple(&arena, three, 3), *one = type_tuple(&arena, three, 1);
    uint64_t words[] = {1, 2, 0, 1};
    memcpy(words + 2, "x", 1);
    assert_value(tuple, words, "(1, (2, x), true)");
    assert_value(one, words, "(1)");
    assert_value(type_tuple(&arena, NULL, 0), words, "()");
    struct field record_fields[] = {{.name = "a", .type = &type_i8},
                                    {.name = "b", .type = type_string(&arena, 2), .offset = 16}};
    struct type record = {.kind = TYPE_TUPLE, .size = 24, .fields = record_fields, .count = 2};
    assert_value(&record, words, "{ .a = 1, .b = x }");
}

static void structs(void **state)
{
    (void)state;
    struct __attribute__((packed)) sample {
        int32_t number;
        uint8_t bits[2];
        char name[6];
        uint64_t pointer;
        uint16_t list[2];
        uint8_t flag, pad;
        uint16_t inner, data_loc, data_length;
        char data[4];
    } sample = {-5,
                {0xf6, 0x01},
                {'f', 'u', 'l', 'l', '6', '6'},
                0xabc,
                {1, 2},
                1,
                0,
                9,
                offsetof(struct sample, data),
                3,
                "hi"};
    struct type number = {.kind = TYPE_STRUCT, .size = 2, .count = 1};
    struct field inner = {.name = "inner", .type = &type_u16};
    number.fields = &inner;
    struct field fields[] = {
        {.name = "number", .type = &type_i32},
        {.name = "low", .type = &type_u8, .offset = 4, .bit_size = 3},
        {.name = "middle", .type = &type_i8, .offset = 4, .bit_offset = 3, .bit_size = 6},
        {.name = "name", .type = type_array(&arena, &type_i8, 6), .offset = 6},
        {.name = "pointer", .type = type_pointer(&arena, &type_none, SPACE_KERNEL), .offset = 12},
        {.name = "list", .type = type_array(&arena, &type_u16, 2), .offset = 20},
        {.name = "flag", .type = &type_bool, .offset = 24},
        {.name = "", .type = &number, .offset = 26},
        {.name = "nested", .type = &number, .offset = 26},
        {.name = "data", .type = &type_u32, .offset = 28, .data_loc = true},
    };
    struct type type = {.kind = TYPE_STRUCT, .size = sizeof sample, .fields = fields, .count = 10};
    assert_value(&type, &sample,
                 "{ .number = -5, .low = 6, .middle = -2, .name = full66, .pointer = 0xabc, .list = [1,2], "
                 ".flag = true, .inner = 9, .nested = { .inner = 9 }, .data = hi }");
    type.count = 0;
    assert_value(&type, &sample, "{}");
}

static void names_for_numbers(void **state)
{
    (void)state;
    assert_value(simple(TYPE_KSYM), WORDS(0x1004), "vfs_read");
    assert_value(simple(TYPE_KSYM), WORDS(0x4), "0x4");
    assert_value(simple(TYPE_USYM), WORDS(0x1004, 42), "main");
    assert_value(simple(TYPE_USYM), WORDS(0x1004, 1), "0x1004");
    assert_value(simple(TYPE_PROBE_NAME), WORDS(1), "tracepoint:a:b");
    assert_value(simple(TYPE_PROBE_NAME), WORDS(99), "99");
    assert_value(simple(TYPE_USERNAME), WORDS(0), "root");
    assert_value(simple(TYPE_USERNAME), WORDS(1000), "1000");
    assert_value(simple(TYPE_INET), WORDS(4, 0x0100007f, 0), "127.0.0.1");
    assert_value(simple(TYPE_INET), WORDS(16, 0, UINT64_C(1) << 56), "::1");
    assert_value(simple(TYPE_INET), WORDS(5, 0, 0), "");
    assert_value(simple(TYPE_MACADDR), WORDS(0x00ffab0c1d2e0f90), "90:0F:2E:1D:0C:AB");
    assert_value(simple(TYPE_CGROUP_PATH), WORDS(7), "7");
    struct printer nameless = {.out = &text};
    text_clear(&text);
    print_value(&nameless, simple(TYPE_KSYM), WORDS(0x1004));
    print_value(&nameless, simple(TYPE_PROBE_NAME), WORDS(1));
    print_value(&nameless, simple(TYPE_USTACK), WORDS(7, 42));
    assert_string_equal(text_string(&text), "0x10041\n        <unwind failure>\n");
}

static void stacks(void **state)
{
    (void)state;
    struct type kernel = {.kind = TYPE_KSTACK, .size = 8}, user = {.kind = TYPE_USTACK, .size = 16};
    assert_value(&kernel, WORDS(7), "\n        vfs_read+1\n        0x10\n");
    assert_value(&user, WORDS(7, 42), "\n        main+3\n        0x2000\n        0x10\n");
    assert_value(&kernel, WORDS(0), "\n"); /* in user mode the kernel's stack is empty */
    assert_value(&user, WORDS(0, 42), "\n        <unwind failure>\n");
    assert_value(&user, WORDS(8, 42), "\n        <unwind failure>\n");
    kernel.stack_mode = user.stack_mode = STACK_PERF;
    assert_value(&kernel, WORDS(7), "\n\t1001 vfs_read+1\n\t10 0x10\n");
    assert_value(&user, WORDS(7, 42),
                 "\n\t1001 main+3 (/bin/x)\n\t2000 0x2000 (/bin/x+0x3)\n\t10 0x10 ([unknown])\n");
    kernel.stack_mode = STACK_RAW;
    assert_value(&kernel, WORDS(7), "\n1001\n10\n");
}

static void times(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    struct type type = {.kind = TYPE_TIMESTAMP, .size = 8, .format = "%H:%M:%S.%f %l %k %% %Y"};
    assert_value(&type, WORDS(UINT64_C(3661002003004)), "01:01:02.002003 002 002003004 % 1970");
    type.format = NULL;
    assert_value(&type, WORDS(0), "00:00:01");
    static const struct {
        int64_t ns;
        const char *format, *expected;
    } cases[] = {
        {-1, "%F %T.%k", "1969-12-31 23:59:59.999999999"},
        {0, "%-d|%_5d|%e", "1|    1| 1"},
        {0, "100%", "100%"},
        {0, "%5", "%5"},
        {0, "", ""},
        {0, "%Ey", "70"},
        {INT64_MIN, "%Y", "1677"},
        {INT64_MAX, "%Y", "2262"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_clear(&text);
        print_time(&text, cases[i].format, cases[i].ns);
        assert_string_equal(text_string(&text), cases[i].expected);
    }
    text_clear(&text);
    print_time(&text, "%99999999999999999d%9999d", 0);
    assert_string_equal(text_string(&text), "");
}

static void aggregations(void **state)
{
    (void)state;
    const struct type *sum = aggregation(&aggregation_kind_sum, &type_i64),
                      *stats = aggregation(&aggregation_kind_stats, &type_i64);
    assert_value(aggregation(&aggregation_kind_count, NULL), WORDS(UINT64_MAX), "18446744073709551615");
    assert_value(sum, WORDS((uint64_t)-3), "-3");
    assert_value(aggregation(&aggregation_kind_min, &type_i8), WORDS((uint64_t)-3, 1), "-3");
    assert_value(aggregation(&aggregation_kind_min, &type_i8), WORDS((uint64_t)-3, 0), "0");
    assert_value(aggregation(&aggregation_kind_avg, &type_i64), WORDS((uint64_t)-7, 2), "-3");
    assert_value(aggregation(&aggregation_kind_avg, &type_u64), WORDS(UINT64_MAX, 0), "0");
    assert_value(stats, WORDS(6, 3), "{ .count = 3, .average = 2, .total = 6 }");
    assert_value(stats, WORDS(UINT64_C(1) << 63, UINT64_MAX),
                 "{ .count = 18446744073709551615, .average = 0, .total = -9223372036854775808 }");
    struct printer printer = {.out = &text};
    text_clear(&text);
    print_value_divided(&printer, stats, WORDS(60, 3), 10);
    print_value_divided(&printer, sum, WORDS((uint64_t)-25), 10);
    print_value_divided(&printer, &type_u64, WORDS(25), 0);
    print_value_divided(&printer, tuple_of(&type_i8, &type_i8), WORDS(25, 30), 5);
    assert_string_equal(text_string(&text), "{ .count = 3, .average = 2, .total = 60 }-225(25, 30)");
}

static void sums_over_cpus(void **state)
{
    (void)state;
    uint64_t out[65];
    const struct type *count = aggregation(&aggregation_kind_count, NULL);
    aggregation_sum(count, WORDS(1, 2, 3), 3, out);
    assert_int_equal(out[0], 6);
    aggregation_sum(count, WORDS(1), 0, out);
    assert_int_equal(out[0], 0);
    aggregation_sum(aggregation(&aggregation_kind_min, &type_i64), WORDS(5, 0, 7, 1, (uint64_t)-2, 1), 3,
                    out);
    assert_true((int64_t)out[0] == -2 && out[1] == 1);
    aggregation_sum(aggregation(&aggregation_kind_min, &type_u64), WORDS(5, 0, 7, 1, (uint64_t)-2, 1), 3,
                    out);
    assert_true(out[0] == 7 && out[1] == 1);
    aggregation_sum(aggregation(&aggregation_kind_max, &type_i64),
                    WORDS((uint64_t)-5, 1, 0, 0, (uint64_t)-9, 1), 3, out);
    assert_true((int64_t)out[0] == -5);
    aggregation_sum(aggregation(&aggregation_kind_max, &type_i64), WORDS(5, 0, 6, 0), 2, out);
    assert_true(out[0] == 0 && out[1] == 0);
    aggregation_sum(aggregation(&aggregation_kind_avg, &type_i64), WORDS(5, 1, 7, 2), 2, out);
    assert_true(out[0] == 12 && out[1] == 3);
    aggregation_sum(&type_i64, WORDS(5, 1), 2, out);
    assert_int_equal(out[0], 5);
    uint64_t rows[2][65] = {{[3] = 1}, {[3] = 2, [64] = 9}};
    aggregation_sum(aggregation(&aggregation_kind_hist, &type_i64), rows, 2, out);
    assert_true(out[3] == 3 && out[64] == 9 && out[0] == 0);
    assert_int_equal(aggregation_sum_row(WORDS(4, 5), 2), 9);
}

/* ---- maps ---- */

static const char *map_text(const char *map_name, const struct type *key, const struct type *value,
                            const struct map_entry *entries, size_t count, size_t top, uint64_t divisor)
{
    struct printer printer = {.out = &text, .names = &names};
    struct map_snapshot map = {map_name, key, value, entries, count};
    text_clear(&text);
    assert_int_equal(print_map(&printer, &map, top, divisor), 0);
    printer_free(&printer);
    return text_string(&text);
}

static void integer_maps_by_value(void **state)
{
    (void)state;
    struct map_entry entries[] = {
        {WORDS(1), WORDS(30)}, {WORDS(2), WORDS((uint64_t)-5)}, {WORDS(3), WORDS(8)}};
    assert_string_equal(map_text("@x", &type_i8, &type_i16, entries, 3, 0, 0),
                        "@x[2]: -5\n@x[3]: 8\n@x[1]: 30\n");
    assert_string_equal(map_text("@x", &type_i8, &type_i16, entries, 3, 2, 10), "@x[3]: 0\n@x[1]: 3\n");
    assert_string_equal(map_text("@x", &type_i8, &type_i16, entries, 3, 9, 1),
                        "@x[2]: -5\n@x[3]: 8\n@x[1]: 30\n");
    assert_string_equal(
        map_text("@x", &type_i8, aggregation(&aggregation_kind_count, NULL), entries, 3, 2, 1),
        "@x[1]: 30\n@x[2]: 18446744073709551611\n");
    assert_string_equal(map_text("@x", &type_i8, &type_i16, NULL, 0, 0, 0), "");
    assert_string_equal(map_text("@", NULL, &type_i64, entries, 1, 0, 0), "@: 30\n");
    assert_string_equal(map_text("@e", NULL, &type_i64, NULL, 0, 0, 0), "@e: 0\n");
    assert_string_equal(map_text("@ss", NULL, aggregation(&aggregation_kind_stats, &type_i64), NULL, 0, 0, 0),
                        "@ss: { .count = 0, .average = 0, .total = 0 }\n");
}

static void minimum_maps_as_unsigned(void **state)
{
    (void)state;
    struct map_entry entries[] = {{"a\0\0\0\0\0\0", WORDS((uint64_t)-5, 1)}, {"b\0\0\0\0\0\0", WORDS(3, 1)}};
    assert_string_equal(map_text("@mi", type_string(&arena, 8), aggregation(&aggregation_kind_min, &type_i64),
                                 entries, 2, 0, 0),
                        "@mi[b]: 3\n@mi[a]: -5\n");
}

static void average_maps_by_average(void **state)
{
    (void)state;
    struct map_entry entries[] = {
        {WORDS(1), WORDS(100, 50)}, {WORDS(2), WORDS(3, 1)}, {WORDS(3), WORDS((uint64_t)-9, 1)}};
    assert_string_equal(
        map_text("@", &type_i8, aggregation(&aggregation_kind_avg, &type_i64), entries, 3, 0, 0),
        "@[3]: -9\n@[1]: 2\n@[2]: 3\n");
}

static void other_maps_by_key(void **state)
{
    (void)state;
    const struct type *letter = type_string(&arena, 8);
    struct map_entry entries[] = {{WORDS(3), "x\0\0\0\0\0\0"},
                                  {WORDS((uint64_t)-10), "y\0\0\0\0\0\0"},
                                  {WORDS((uint64_t)-5), "z\0\0\0\0\0\0"}};
    assert_string_equal(map_text("@s", &type_i64, letter, entries, 3, 0, 0),
                        "@s[-10]: y\n@s[-5]: z\n@s[3]: x\n");
    struct map_entry flags[] = {{"b\0\0\0\0\0\0", WORDS(0)}, {"a\0\0\0\0\0\0", WORDS(1)}};
    assert_string_equal(map_text("@f", letter, &type_bool, flags, 2, 0, 0), "@f[a]: true\n@f[b]: false\n");
    const struct type *key = tuple_of(&type_i8, letter), *value = tuple_of(&type_i8, &type_i8);
    uint64_t keys[3][2] = {{1}, {0}, {1}};
    memcpy(&keys[0][1], "b", 1);
    memcpy(&keys[1][1], "z", 1);
    memcpy(&keys[2][1], "a", 1);
    struct map_entry tuples[] = {{keys[0], WORDS(1, 2)}, {keys[1], WORDS(1, 3)}, {keys[2], WORDS(1, 4)}};
    assert_string_equal(map_text("@t", key, value, tuples, 3, 0, 0),
                        "@t[0, z]: (1, 3)\n@t[1, a]: (1, 4)\n@t[1, b]: (1, 2)\n");
    /* Elements with equal values are ordered by key. */
    struct map_entry equal[] = {{WORDS(9), WORDS(1)}, {WORDS(2), WORDS(1)}};
    assert_string_equal(map_text("@c", &type_i64, aggregation(&aggregation_kind_count, NULL), equal, 2, 0, 0),
                        "@c[2]: 1\n@c[9]: 1\n");
}

static void keys_of_every_shape(void **state)
{
    (void)state;
    const struct type *count = aggregation(&aggregation_kind_count, NULL);
    struct map_entry nested = {WORDS((uint64_t)-4, (uint64_t)-5, (uint64_t)-6), WORDS(12)};
    assert_string_equal(
        map_text("@a", tuple_of(&type_i8, tuple_of(&type_i8, &type_i8)), count, &nested, 1, 0, 0),
        "@a[-4, (-5, -6)]: 12\n");
    struct type kernel = {.kind = TYPE_KSTACK, .size = 8};
    struct map_entry stacked = {WORDS(7, 5), WORDS(3)};
    assert_string_equal(map_text("@", &kernel, count, &stacked, 1, 0, 0),
                        "@[\n        vfs_read+1\n        0x10\n]: 3\n");
    assert_string_equal(map_text("@", tuple_of(&kernel, &type_i8), count, &stacked, 1, 0, 0),
                        "@[\n        vfs_read+1\n        0x10\n, 5]: 3\n");
}

static void histogram_maps(void **state)
{
    (void)state;
    struct type hist = {.kind = TYPE_AGGREGATION, .aggregation = &aggregation_kind_hist, .size = 8},
                linear = {.kind = TYPE_AGGREGATION,
                          .aggregation = &aggregation_kind_lhist,
                          .maximum = 10240,
                          .step = 1024};
    uint64_t five = hist_row_of(0, 5), big = aggregation_kind_lhist.row(&linear, 2048);
    uint64_t keys[4][2] = {{0, five}, {1, five}, {0, five + 1}, {2, 1000}};
    struct map_entry rows[] = {
        {keys[0], WORDS(2)}, {keys[1], WORDS(1)}, {keys[2], WORDS(1)}, {keys[3], WORDS(99)}};
    assert_string_equal(map_text("@h", &type_i64, &hist, rows, 3, 0, 0),
                        "@h[1]:\n"
                        "[4, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
                        "\n"
                        "@h[0]:\n"
                        "[4, 8)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
                        "[8, 16)                1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
                        "\n");
    assert_string_equal(map_text("@h", &type_i64, &hist, rows, 3, 1, 10), "@h[0]:\n\n");
    /* A bucket that no histogram has is not printed. */
    assert_string_equal(map_text("@h", &type_i64, &hist, rows + 3, 1, 0, 0), "@h[2]:\n\n");
    uint64_t linear_key[2] = {1, big};
    struct map_entry one = {linear_key, WORDS(1)};
    assert_string_equal(map_text("@l", &type_i64, &linear, &one, 1, 0, 0),
                        "@l[1]:\n"
                        "[2K, 3K)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
                        "\n");
    uint64_t counts[65] = {[4] = 1};
    struct map_entry scalar = {NULL, counts};
    assert_string_equal(map_text("@h", NULL, &hist, &scalar, 1, 0, 0),
                        "@h:\n"
                        "[4, 8)                 1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
                        "\n");
    assert_string_equal(map_text("@h", NULL, &hist, NULL, 0, 0, 0), "@h:\n\n");
}

static void records_as_text(void **state)
{
    (void)state;
    struct printer printer = {.out = &text, .names = &names};
    struct type kernel = {.kind = TYPE_KSTACK, .size = 8};
    text_clear(&text);
    record_text(&printer, "time", &(const struct text){.bytes = "12:00\n", .length = 6});
    record_value(&printer, &type_i8, WORDS(50), 10);
    record_value(&printer, tuple_of(&type_i8, &type_bool), WORDS(1, 0), 0);
    record_value(&printer, &kernel, WORDS(7), 0);
    assert_string_equal(text_string(&text), "12:00\n5\n(1, false)\n\n        vfs_read+1\n        0x10\n\n");
}

/* Types that a hostile file could describe: nothing outside of the value is read, and every walk ends. */
static void hostile_types(void **state)
{
    (void)state;
    struct type self = {.kind = TYPE_STRUCT, .size = 8, .count = 3};
    struct field fields[] = {
        {.name = "a", .type = &self}, {.name = "", .type = &self}, {.name = "b", .type = &self}};
    self.fields = fields;
    uint64_t *bytes = malloc(8);
    *bytes = UINT64_MAX;
    value_text(&self, bytes);
    assert_true(text.length > 0 && text.length < 1 << 22);

    const struct type *array = type_array(&arena, &type_u64, 1000);
    struct field outside[] = {
        {.name = "far", .type = &type_u64, .offset = UINT32_MAX},
        {.name = "over", .type = &type_u64, .offset = 4},
        {.name = "wide", .type = array, .offset = 4},
        {.name = "text", .type = type_array(&arena, &type_i8, 99), .offset = 7},
        {.name = "tuple", .type = tuple_of(array, &type_u64), .offset = 7},
        {.name = "string", .type = type_string(&arena, 99), .offset = 7},
        {.name = "stats", .type = aggregation(&aggregation_kind_stats, &type_i64), .offset = 4},
        {.name = "hist", .type = aggregation(&aggregation_kind_hist, &type_i64), .offset = 4},
        {.name = "inet", .type = simple(TYPE_INET), .offset = 4},
        {.name = "buffer", .type = type_buffer(&arena, 9), .offset = 4},
        {.name = "loc", .type = &type_u32, .offset = 2, .data_loc = true},
        {.name = "bits", .type = &type_i8, .offset = 7, .bit_offset = 255, .bit_size = 255}};
    struct type liar = {.kind = TYPE_STRUCT, .size = 8, .fields = outside, .count = 12};
    value_text(&liar, bytes);
    assert_null(strstr(text_string(&text), "far"));
    struct type empty = {.kind = TYPE_STRUCT}, many = {.kind = TYPE_ARRAY, .size = 8, .count = UINT32_MAX};
    many.target = &empty;
    assert_value(&many, bytes, "[]");
    many.target = &type_u8;
    assert_value(&many, bytes, "[255,255,255,255,255,255,255,255]");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(scalars, teardown),
        cmocka_unit_test_teardown(strings_and_buffers, teardown),
        cmocka_unit_test_teardown(composites, teardown),
        cmocka_unit_test_teardown(structs, teardown),
        cmocka_unit_test_teardown(names_for_numbers, teardown),
        cmocka_unit_test_teardown(stacks, teardown),
        cmocka_unit_test_teardown(times, teardown),
        cmocka_unit_test_teardown(aggregations, teardown),
        cmocka_unit_test_teardown(sums_over_cpus, teardown),
        cmocka_unit_test_teardown(integer_maps_by_value, teardown),
        cmocka_unit_test_teardown(minimum_maps_as_unsigned, teardown),
        cmocka_unit_test_teardown(average_maps_by_average, teardown),
        cmocka_unit_test_teardown(other_maps_by_key, teardown),
        cmocka_unit_test_teardown(keys_of_every_shape, teardown),
        cmocka_unit_test_teardown(histogram_maps, teardown),
        cmocka_unit_test_teardown(records_as_text, teardown),
        cmocka_unit_test_teardown(hostile_types, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
