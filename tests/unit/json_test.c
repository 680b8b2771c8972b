/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the JSON output: the writer, every kind of value, maps and records. Each line is also read by a strict
 * checker of this test: RFC 8259, valid UTF-8, no control characters, no leading zeros, nothing after the value. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "builtin/hist.h"
#include "print/histogram.h"
#include "print/json.h"
#include "print/map.h"
#include "print/record.h"

static struct arena arena;
static struct text text;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    text_free(&text);
    return 0;
}

/* ---- the checker: each function returns where its value ends, or NULL if it is wrong ---- */

static const char *check_value(const char *at);

static const char *check_digits(const char *at)
{
    if (*at < '0' || *at > '9')
        return NULL;
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

static const char *check_number(const char *at)
{
    at += *at == '-';
    if (*at == '0' && at[1] >= '0' && at[1] <= '9')
        return NULL;
    at = check_digits(at);
    if (at && *at == '.')
        at = check_digits(at + 1);
    return at;
}

static const char *check_utf8(const char *at)
{
    const unsigned char *byte = (const unsigned char *)at;
    unsigned length = *byte < 0x80   ? 1
                      : *byte < 0xc2 ? 0
                      : *byte < 0xe0 ? 2
                      : *byte < 0xf0 ? 3
                      : *byte < 0xf5 ? 4
                                     : 0;
    if (!length)
        return NULL;
    uint32_t code = *byte & (length == 1 ? 0x7f : 0x3f >> (length - 1));
    for (unsigned i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return NULL;
        code = code << 6 | (byte[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return NULL;
    return at + length;
}

static const char *check_string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    while (*at != '"') {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\') {
            at = check_utf8(at);
            if (!at)
                return NULL;
            continue;
        }
        if (!*++at || !strchr("\"\\/bfnrtu", *at))
            return NULL;
        if (*at++ == 'u') {
            if (strspn(at, "0123456789abcdefABCDEF") < 4)
                return NULL;
            at += 4;
        }
    }
    return at + 1;
}

static const char *check_items(const char *at, char close, bool members)
{
    at++;
    if (*at == close)
        return at + 1;
    for (;;) {
        at += *at == ' ';
        if (members) {
            at = check_string(at);
            if (!at || *at++ != ':')
                return NULL;
            at += *at == ' ';
        }
        at = check_value(at);
        if (!at)
            return NULL;
        if (*at == close)
            return at + 1;
        if (*at++ != ',')
            return NULL;
    }
}

static const char *check_value(const char *at)
{
    static const char *const words[] = {"true", "false", "null"};
    if (*at == '{')
        return check_items(at, '}', true);
    if (*at == '[')
        return check_items(at, ']', false);
    if (*at == '"')
        return check_string(at);
    for (int i = 0; i < 3; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    return check_number(at);
}

static bool is_json(const char *string)
{
    const char *end = check_value(string);
    return end && (!*end || strcmp(end, "\n") == 0);
}

#define assert_json(expected)                                                                                \
    do {                                                                                                     \
        assert_string_equal(text_string(&text), expected);                                                   \
        assert_true(is_json(text_string(&text)));                                                            \
    } while (0)

static struct printer *json_printer(void)
{
    static struct printer printer;
    printer = (struct printer){.out = &text, .json = true};
    text_clear(&text);
    return &printer;
}

static void value(const struct type *type, const void *bytes)
{
    struct printer *printer = json_printer();
    print_value(printer, type, bytes);
    printer_free(printer);
}

#define WORDS(...) ((const uint64_t[]){__VA_ARGS__})

static void the_checker_is_strict(void **state)
{
    (void)state;
    static const char *const good[] = {"{}", "[1,-2,0]", "{\"a\": [null,true], \"b\": \"\\u00ff\xc3\xa9\"}\n",
                                       "\"\""};
    static const char *const bad[] = {
        "",       "{",   "[1,]",     "01",         "{\"a\" 1}", "\"\x80\"", "\"\xc0\x80\"",
        "\"\n\"", "1 2", "\"\\x\"",  "[1 2]",      "{a: 1}",    "-",        "\"\xed\xa0\x80\"",
        "tru",    "\"a", "{\"a\":}", "[\"\\u12\"]"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(is_json(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(is_json(bad[i]));
}

static void strings_are_escaped(void **state)
{
    (void)state;
    text_clear(&text);
    json_string(&text, "a\"b\\c\n\r\t\x01\x1f\x7f/");
    assert_json("\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u001f\\u007f/\"");
    text_clear(&text);
    json_string(&text, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xbe");
    assert_json("\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xbe\"");
    text_clear(&text);
    json_string(&text, "\x80 \xc0\xaf \xe2\x82 \xed\xa0\x80 \xf5\x80 \xf4\x90\x80\x80 \xf0\x80\x80\x80 \xc3");
    assert_json("\"\\u0080 \\u00c0\\u00af \\u00e2\\u0082 \\u00ed\\u00a0\\u0080 \\u00f5\\u0080 "
                "\\u00f4\\u0090\\u0080\\u0080 \\u00f0\\u0080\\u0080\\u0080 \\u00c3\"");
    text_clear(&text); /* hidden characters and their neighbours */
    json_string(&text, "\xc2\x9b\u202d\u202e\u202f|\U000e0041\ufeff\U000f0000");
    assert_json("\"\\u009b\\u202d\\u202e\u202f|\\udb40\\udc41\\ufeff\U000f0000\"");
    text_clear(&text); /* foreign JSON keeps its own escapes */
    static const char others[] = "{\"a\\n\": \"\x7f\u202e\\u202e\u20ac\\\"\"}";
    json_escape_again(&text, others, sizeof others - 1);
    assert_json("{\"a\\n\": \"\\u007f\\u202e\\u202e\u20ac\\\"\"}");
}

/* Every string of up to three bytes from an alphabet of boundary values, and random longer strings. */
static void any_bytes_make_valid_json(void **state)
{
    (void)state;
    static const unsigned char borders[] = {0,    0x1f, '"',  '\\', 'a',  0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
                                            0xbf, 0xc1, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff};
    enum { COUNT = sizeof borders };
    struct text scratch = {0}, tail = {0};
    uint64_t random = 1;
    for (unsigned i = 0; i < COUNT * COUNT * COUNT + 20000; i++) {
        char bytes[24];
        size_t length = 3;
        if (i < COUNT * COUNT * COUNT) {
            unsigned rest = i;
            for (size_t b = 0; b < 3; b++, rest /= COUNT)
                bytes[b] = (char)borders[rest % COUNT];
        } else {
            for (length = 0; length < sizeof bytes; length++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                bytes[length] = (char)(random >> 60 < 10 ? borders[(random >> 33) % COUNT] : random >> 40);
            }
        }
        text_clear(&text);
        text_char(&text, '"');
        json_escape(&text, bytes, length);
        text_char(&text, '"');
        assert_true(is_json(text_string(&text)));
        text_clear(&tail);
        text_char(&tail, '"');
        text_append(&tail, bytes, length);
        json_escape_tail(&tail, 1, &scratch);
        text_char(&tail, '"');
        assert_string_equal(text_string(&tail), text_string(&text));
    }
    text_free(&scratch);
    text_free(&tail);
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *as_unsigned, *as_signed;
    } cases[] = {
        {0, "0", "0"},
        {UINT64_C(1) << 53, "9007199254740992", "9007199254740992"},
        {(UINT64_C(1) << 53) + 1, "\"9007199254740993\"", "\"9007199254740993\""},
        {UINT64_C(1) << 62, "4611686018427387904", "4611686018427387904"},
        {UINT64_C(1) << 63, "9223372036854775808", "-9223372036854775808"},
        {UINT64_MAX, "\"18446744073709551615\"", "-1"},
        {(UINT64_C(1) << 63) - 1, "\"9223372036854775807\"", "\"9223372036854775807\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_clear(&text);
        json_unsigned(&text, cases[i].value);
        assert_json(cases[i].as_unsigned);
        text_clear(&text);
        json_signed(&text, (int64_t)cases[i].value);
        assert_json(cases[i].as_signed);
    }
    text_clear(&text);
    number_hex(&text, 0);
    number_hex(&text, UINT64_C(0xfedcba9876543210));
    assert_string_equal(text_string(&text), "0fedcba9876543210");
}

static void values(void **state)
{
    (void)state;
    const struct enumerator red = {"RED", 1};
    struct type color = {.kind = TYPE_ENUM, .size = 4, .enumerators = &red, .count = 1};
    const struct type *pointer = type_pointer(&arena, &type_i8, SPACE_USER), *name = type_string(&arena, 8);
    const struct type *inner[] = {&type_bool, name}, *outer[] = {&type_i8, type_tuple(&arena, inner, 2)};
    uint64_t words[] = {7, 1, 0};
    value(&type_none, "");
    assert_json("null");
    value(&type_bool, WORDS(1));
    assert_json("true");
    value(&color, WORDS(1));
    assert_json("1");
    value(pointer, WORDS(0x10));
    assert_json("16");
    value(&type_u64, WORDS(UINT64_MAX));
    assert_json("\"18446744073709551615\"");
    memcpy(words + 2, "a\"\xff\n\0\0\0", 8);
    value(type_tuple(&arena, outer, 2), words);
    assert_json("[7,[true,\"a\\\"\\u00ff\\n\"]]");
    value(name, "12345678");
    assert_json("\"12345678..\"");
    value(type_array(&arena, &type_u8, 3), words);
    assert_json("[7,0,0]");
    value(type_buffer(&arena, 8), WORDS(2, 0xff41));
    assert_json("[65,255]");
    value(type_simple(&arena, TYPE_INET), WORDS(4, 0x0100007f, 0));
    assert_json("\"127.0.0.1\"");
    value(type_simple(&arena, TYPE_MACADDR), WORDS(0x1ff));
    assert_json("\"FF:01:00:00:00:00\"");
    value(type_simple(&arena, TYPE_KSYM), WORDS(0x10));
    assert_json("\"0x10\"");
    value(type_simple(&arena, TYPE_PROBE_NAME), WORDS(3));
    assert_json("\"3\"");
    value(type_simple(&arena, TYPE_KSTACK), WORDS(0));
    assert_json("[]");
    value(type_simple(&arena, TYPE_USTACK), WORDS(0, 0));
    assert_json("[]");
    struct type moment = {.kind = TYPE_TIMESTAMP, .size = 8, .format = "\"%f\""};
    value(&moment, WORDS(1000));
    assert_json("\"\\\"000001\\\"\"");
    value(type_aggregation(&arena, &aggregation_kind_stats, &type_i64), WORDS(6, 3));
    assert_json("{\"count\": 3, \"average\": 2, \"total\": 6}");
    value(type_aggregation(&arena, &aggregation_kind_avg, &type_i64), WORDS(6, 3));
    assert_json("2");
    struct field fields[] = {{.name = "a", .type = &type_i32},
                             {.name = "s\"", .type = type_array(&arena, &type_i8, 4), .offset = 4},
                             {.name = "p", .type = pointer, .offset = 8}};
    struct type object = {.kind = TYPE_STRUCT, .size = 16, .fields = fields, .count = 3};
    value(&object, WORDS(UINT64_C(0x0000006800000005), 32));
    assert_json("{\"a\": 5, \"s\\\"\": \"h\", \"p\": 32}");
    object.count = 0;
    value(&object, WORDS(0, 0));
    assert_json("{}");
}

static bool hostile_symbol(void *owner, uint64_t address, struct print_symbol *out)
{
    (void)owner, (void)address;
    *out = (struct print_symbol){.name = "a\"\x1b[0m\xff", .offset = 1, .module = "m\n"};
    return true;
}

static bool one_frame(void *owner, const struct type *type, uint64_t id, struct print_stack *out)
{
    static const uint64_t frame = 0x20;
    (void)owner, (void)type, (void)id;
    *out = (struct print_stack){.frames = &frame, .count = 1};
    return true;
}

static void hostile_names(void **state)
{
    (void)state;
    static const struct print_names names = {.kernel_symbol = hostile_symbol, .stack = one_frame};
    struct printer printer = {.out = &text, .names = &names, .json = true};
    struct type stack = {.kind = TYPE_KSTACK, .size = 8, .stack_mode = STACK_PERF};
    text_clear(&text);
    print_value(&printer, &stack, WORDS(1));
    assert_json("[\"20 a\\\"\\u001b[0m\\u00ff+1 (m\\n)\"]");
    printer.json_stack_text = true;
    text_clear(&text);
    print_value(&printer, &stack, WORDS(1));
    assert_json("\"\\n\\t20 a\\\"\\u001b[0m\\u00ff+1 (m\\n)\\n\"");
    struct map_entry entry = {WORDS(1), WORDS(2)};
    struct map_snapshot map = {"@\"", &stack, &type_i8, &entry, 1};
    text_clear(&text);
    assert_int_equal(print_map(&printer, &map, 0, 0), 0);
    assert_json("{\"type\": \"map\", \"data\": {\"@\\\"\": "
                "{\"\\n\\t20 a\\\"\\u001b[0m\\u00ff+1 (m\\n)\\n\": 2}}}\n");
    printer_free(&printer);
}

static void map(const char *name, const struct type *key, const struct type *type,
                const struct map_entry *entries, size_t count)
{
    struct printer *printer = json_printer();
    struct map_snapshot snapshot = {name, key, type, entries, count};
    assert_int_equal(print_map(printer, &snapshot, 0, 0), 0);
    printer_free(printer);
}

static void maps(void **state)
{
    (void)state;
    const struct type *name = type_string(&arena, 16),
                      *count = type_aggregation(&arena, &aggregation_kind_count, NULL);
    const struct type *two[] = {name, &type_i8}, *pair[] = {&type_i8, &type_i8};
    const struct type *nested[] = {&type_i8, type_tuple(&arena, pair, 2)};
    struct map_entry entries[] = {{"key1\0\0\0\0\0\0\0\0\0\0\0", WORDS(3)},
                                  {"key2\0\0\0\0\0\0\0\0\0\0\0", WORDS(2)}};
    map("@x", NULL, &type_i8, &(struct map_entry){NULL, WORDS(5)}, 1);
    assert_json("{\"type\": \"map\", \"data\": {\"@x\": 5}}\n");
    map("@m", name, count, entries, 2);
    assert_json("{\"type\": \"map\", \"data\": {\"@m\": {\"key2\": 2, \"key1\": 3}}}\n");
    map("@m", name, count, entries, 0);
    assert_string_equal(text_string(&text), "");
    uint64_t words[3] = {0, 0, 2};
    memcpy(words, "bpftrace", 8);
    map("@m", type_tuple(&arena, two, 2), &type_bool, &(struct map_entry){words, WORDS(1)}, 1);
    assert_json("{\"type\": \"map\", \"data\": {\"@m\": {\"bpftrace,2\": true}}}\n");
    map("@m", type_tuple(&arena, nested, 2), &type_i8,
        &(struct map_entry){WORDS((uint64_t)-4, (uint64_t)-5, (uint64_t)-6), WORDS(1)}, 1);
    assert_json("{\"type\": \"map\", \"data\": {\"@m\": {\"-4,(-5,-6)\": 1}}}\n");
    map("@st", NULL, type_aggregation(&arena, &aggregation_kind_stats, &type_i64),
        &(struct map_entry){NULL, WORDS(5, 1)}, 1);
    assert_json("{\"type\": \"stats\", \"data\": {\"@st\": {\"count\": 1, \"average\": 5, \"total\": 5}}}\n");
    map("@av", &type_i8, type_aggregation(&arena, &aggregation_kind_avg, &type_i64),
        &(struct map_entry){WORDS(1), WORDS(6, 2)}, 1);
    assert_json("{\"type\": \"stats\", \"data\": {\"@av\": {\"1\": 3}}}\n");
}

static void histograms(void **state)
{
    (void)state;
    struct type hist = {.kind = TYPE_AGGREGATION, .aggregation = &aggregation_kind_hist, .size = 8};
    uint64_t counts[65] = {0};
    struct map_entry scalar = {NULL, counts};
    map("@h", NULL, &hist, &scalar, 1);
    assert_json("{\"type\": \"hist\", \"data\": {\"@h\": []}}\n");
    counts[hist_row_of(0, 5)] = 1;
    map("@h", NULL, &hist, &scalar, 1);
    assert_json("{\"type\": \"hist\", \"data\": {\"@h\": [{\"min\": 4, \"max\": 7, \"count\": 1}]}}\n");
    uint64_t key[3] = {0, 0, hist_row_of(0, 5)};
    memcpy(key, "k", 1);
    map("@h", type_string(&arena, 16), &hist, &(struct map_entry){key, WORDS(1)}, 1);
    assert_json(
        "{\"type\": \"hist\", \"data\": {\"@h\": {\"k\": [{\"min\": 4, \"max\": 7, \"count\": 1}]}}}\n");
    map("@h", type_string(&arena, 16), &hist, NULL, 0);
    assert_string_equal(text_string(&text), "");
}

static void records(void **state)
{
    (void)state;
    struct printer *printer = json_printer();
    record_text(printer, "time", &(const struct text){.bytes = "12:00\n", .length = 6});
    assert_json("{\"type\": \"time\", \"data\": \"12:00\\n\"}\n");
    printer = json_printer();
    const struct format_argument arguments[] = {{type_string(&arena, 8), "a\"\x01\0\0\0\0", false},
                                                {&type_i8, WORDS(3), false}};
    record_format(printer, "printf", format_parse(&arena, "%5s|%d\n", 7), arguments, 2);
    assert_json("{\"type\": \"printf\", \"data\": \"  a\\\"\\u0001|3\\n\"}\n");
    printer_free(printer);
    /* %s inside of printf is written as text, not as a JSON value. */
    printer = json_printer();
    const struct type *pair[] = {&type_i8, &type_bool};
    struct format_argument tuple = {type_tuple(&arena, pair, 2), WORDS(1, 1), false};
    record_format(printer, "printf", format_parse(&arena, "%s", 2), &tuple, 1);
    assert_json("{\"type\": \"printf\", \"data\": \"(1, true)\"}\n");
    printer = json_printer();
    record_value(printer, tuple.type, tuple.bytes, 0);
    assert_json("{\"type\": \"value\", \"data\": [1,true]}\n");

    text_clear(&text);
    record_attached_probes(&text, 1);
    assert_json("{\"type\": \"attached_probes\", \"count\": 1, \"data\": {\"probes\": 1}}\n");
    text_clear(&text);
    record_lost_events(&text, 5, NULL, NULL);
    assert_json("{\"type\": \"lost_events\", \"count\": 5, \"data\": {\"events\": 5}}\n");
    text_clear(&text);
    record_lost_events(&text, 5, "uprobe:/bin/\"x\":f", "ring");
    assert_json("{\"type\": \"lost_events\", \"count\": 5, "
                "\"data\": {\"events\": 5, \"probe\": \"uprobe:/bin/\\\"x\\\":f\", \"reason\": \"ring\"}}\n");
    text_clear(&text);
    record_problem(&text, &(struct record_problem){.kind = "helper_error",
                                                   .message = "Bad address",
                                                   .helper = "probe_read_user",
                                                   .return_code = -14,
                                                   .file = "stdin",
                                                   .line = 1,
                                                   .column = 87});
    assert_json("{\"type\": \"helper_error\", \"msg\": \"Bad address\", \"helper\": \"probe_read_user\", "
                "\"retcode\": -14, \"filename\": \"stdin\", \"line\": 1, \"col\": 87}\n");
    text_clear(&text);
    record_problem(&text, &(struct record_problem){
                              .kind = "errorf", .message = "no", .file = "stdin", .line = 1, .column = 9});
    assert_json(
        "{\"type\": \"errorf\", \"msg\": \"no\", \"filename\": \"stdin\", \"line\": 1, \"col\": 9}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_checker_is_strict, teardown),
        cmocka_unit_test_teardown(strings_are_escaped, teardown),
        cmocka_unit_test_teardown(any_bytes_make_valid_json, teardown),
        cmocka_unit_test_teardown(numbers, teardown),
        cmocka_unit_test_teardown(values, teardown),
        cmocka_unit_test_teardown(hostile_names, teardown),
        cmocka_unit_test_teardown(maps, teardown),
        cmocka_unit_test_teardown(histograms, teardown),
        cmocka_unit_test_teardown(records, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
