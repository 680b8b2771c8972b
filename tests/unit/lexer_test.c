/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the lexer: kinds, values and positions of tokens, and the messages for wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lexer.h"

/* A text in memory of exactly its size, so that ASan sees a read behind it, and its first token. */
struct held {
    struct source source;
    struct lexer lexer;
    char *memory;
};

static struct held *hold(const char *text, size_t length)
{
    struct held *held = calloc(1, sizeof *held);
    held->memory = malloc(length + 1);
    memcpy(held->memory, text, length);
    held->memory[length] = 0;
    held->source = (struct source){"test", held->memory, length};
    held->lexer.source = &held->source;
    return held;
}

static void release(struct held *held)
{
    free(held->memory);
    free(held);
}

static void expect_number(const char *text, uint64_t value)
{
    struct held *held = hold(text, strlen(text));
    struct token token = lexer_next(&held->lexer);
    if (token.error)
        fail_msg("%s: %s", text, token.error);
    assert_int_equal(token.kind, TOKEN_INTEGER);
    assert_int_equal(token.value, value);
    assert_int_equal(token.span.end, strlen(text));
    assert_int_equal(lexer_next(&held->lexer).kind, TOKEN_END);
    release(held);
}

static void expect_wrong(const char *text, enum token_kind kind, const char *error)
{
    struct held *held = hold(text, strlen(text));
    struct token token = lexer_next(&held->lexer);
    if (!token.error)
        fail_msg("%s: no error", text);
    assert_string_equal(token.error, error);
    assert_int_equal(token.kind, kind);
    release(held);
}

static void test_numbers(void **state)
{
    (void)state;
    expect_number("0", 0);
    expect_number("42", 42);
    expect_number("0x1F", 31);
    expect_number("0Xffffffffffffffff", UINT64_MAX);
    expect_number("017", 15);
    expect_number("1_000_000", 1000000);
    expect_number("0x12_34", 0x1234);
    expect_number("1e6", 1000000);
    expect_number("5E0", 5);
    expect_number("0e99", 0);
    expect_number("18446744073709551615", UINT64_MAX);
    expect_number("9223372036854775808ull", 9223372036854775808ull);
    expect_number("7u", 7);
    expect_number("7L", 7);
    expect_number("7ULL", 7);
    expect_number("0x10ul", 16);
    expect_number("1ns", 1);
    expect_number("10us", 10000);
    expect_number("10ms", 10000000);
    expect_number("2s", 2000000000);
    expect_number("1m", 60000000000);
    expect_number("1h", 3600000000000);
    expect_number("1d", 86400000000000);
    expect_number("1e3ms", 1000000000);
    expect_number("0x1d", 29);
}

static void test_wrong_numbers(void **state)
{
    (void)state;
    expect_wrong("18446744073709551616", TOKEN_INTEGER, "Integer is too large");
    expect_wrong("1e20", TOKEN_INTEGER, "Integer is too large");
    expect_wrong("1e99999999999999999999", TOKEN_INTEGER, "Integer is too large");
    expect_wrong("999999999999d", TOKEN_INTEGER, "Integer is too large");
    expect_wrong("0x", TOKEN_INTEGER, "Invalid number");
    expect_wrong("0xg", TOKEN_INTEGER, "Invalid number");
    expect_wrong("12abc", TOKEN_INTEGER, "Invalid number");
    expect_wrong("1e", TOKEN_INTEGER, "Invalid number");
    expect_wrong("0x10ms", TOKEN_INTEGER, "Invalid number");
    expect_wrong("08", TOKEN_INTEGER, "Invalid digit in an octal number");
}

static void expect_text(const char *text, const char *value, size_t length)
{
    struct arena arena = {0};
    struct held *held = hold(text, strlen(text));
    struct token token = lexer_next(&held->lexer);
    if (token.error)
        fail_msg("%s: %s", text, token.error);
    assert_int_equal(token.kind, TOKEN_STRING);
    size_t got;
    const char *string = lexer_string(&arena, &token, &got);
    assert_int_equal(got, length);
    assert_memory_equal(string, value, length + 1);
    release(held);
    arena_free(&arena);
}

static void test_strings(void **state)
{
    (void)state;
    expect_text("\"\"", "", 0);
    expect_text("\"a b\"", "a b", 3);
    expect_text("\"\\n\\t\\r\\\\\\\"\"", "\n\t\r\\\"", 5);
    expect_text("\"\\101\\x42\\x4\"", "AB\4", 3);
    expect_text("\"a\\0b\"", "a\0b", 3);
    expect_text("\"\\0101\"", "\b1", 2);
    expect_text("\"/* no comment */ // none\"", "/* no comment */ // none", 24);
    expect_text("\"\xc3\xa9\"", "\xc3\xa9", 2);
    expect_wrong("\"abc", TOKEN_ERROR, "Unterminated string");
    expect_wrong("\"abc\ndef\"", TOKEN_ERROR, "Unterminated string");
    expect_wrong("\"abc\\", TOKEN_ERROR, "Unterminated string");
    expect_wrong("\"abc\\\"", TOKEN_ERROR, "Unterminated string");
    expect_wrong("\"a\\q\"", TOKEN_STRING, "Invalid escape in a string");
    expect_wrong("\"a\\x\"", TOKEN_STRING, "Invalid escape in a string");
}

/* Compares the kinds of all tokens of a text with a list that ends with TOKEN_END. */
static void expect_tokens(const char *text, int in_predicate, ...)
{
    struct held *held = hold(text, strlen(text));
    held->lexer.in_predicate = in_predicate;
    va_list kinds;
    va_start(kinds, in_predicate);
    for (;;) {
        enum token_kind kind = (enum token_kind)va_arg(kinds, int);
        struct token token = lexer_next(&held->lexer);
        if (token.kind != kind)
            fail_msg("%s: at %u: kind %d instead of %d", text, token.span.begin, token.kind, kind);
        if (kind == TOKEN_END)
            break;
    }
    va_end(kinds);
    release(held);
}

static void test_kinds(void **state)
{
    (void)state;
    expect_tokens("", false, TOKEN_END);
    expect_tokens(" \t\r\n // c\n /* c * / */ ", false, TOKEN_END);
    expect_tokens("$x $_y1 @m @ @[", false, TOKEN_VARIABLE, TOKEN_VARIABLE, TOKEN_MAP, TOKEN_MAP, TOKEN_MAP,
                  TOKEN_BRACKET_OPEN, TOKEN_END);
    expect_tokens("$1 $#", false, TOKEN_PARAMETER, TOKEN_PARAMETER, TOKEN_END);
    expect_tokens("a<<=b>>c<=d<e", false, TOKEN_NAME, TOKEN_SHL_ASSIGN, TOKEN_NAME, TOKEN_SHR, TOKEN_NAME,
                  TOKEN_LE, TOKEN_NAME, TOKEN_LT, TOKEN_NAME, TOKEN_END);
    expect_tokens("a+++b---c->d", false, TOKEN_NAME, TOKEN_INCREMENT, TOKEN_ADD, TOKEN_NAME, TOKEN_DECREMENT,
                  TOKEN_SUB, TOKEN_NAME, TOKEN_ARROW, TOKEN_NAME, TOKEN_END);
    expect_tokens("0..10", false, TOKEN_INTEGER, TOKEN_RANGE, TOKEN_INTEGER, TOKEN_END);
    expect_tokens("$t.0.1", false, TOKEN_VARIABLE, TOKEN_DOT, TOKEN_INTEGER, TOKEN_DOT, TOKEN_INTEGER,
                  TOKEN_END);
    expect_tokens("if iff while", false, TOKEN_IF, TOKEN_NAME, TOKEN_WHILE, TOKEN_END);
    expect_tokens("a /b// c\n/ d", false, TOKEN_NAME, TOKEN_DIV, TOKEN_NAME, TOKEN_DIV, TOKEN_NAME,
                  TOKEN_END);
    expect_tokens("a / 2 / /* c */ {", true, TOKEN_NAME, TOKEN_DIV, TOKEN_INTEGER, TOKEN_PREDICATE_END,
                  TOKEN_BRACE_OPEN, TOKEN_END);
    expect_tokens("a / 2 / {", false, TOKEN_NAME, TOKEN_DIV, TOKEN_INTEGER, TOKEN_DIV, TOKEN_BRACE_OPEN,
                  TOKEN_END);
}

static void test_wrong_characters(void **state)
{
    (void)state;
    expect_wrong("#", TOKEN_ERROR, "Unexpected character");
    expect_wrong("'c'", TOKEN_ERROR, "Unexpected character");
    expect_wrong("\xc3\xa9", TOKEN_ERROR, "Unexpected character");
    expect_wrong("\x01", TOKEN_ERROR, "Unexpected character");
    expect_wrong("/* never ends", TOKEN_ERROR, "Unterminated comment");
    expect_wrong("/*", TOKEN_ERROR, "Unterminated comment");
    expect_wrong("/*/", TOKEN_ERROR, "Unterminated comment");
    expect_wrong("$", TOKEN_ERROR, "A name, a number or # is missing after $");
    expect_wrong("$0", TOKEN_PARAMETER, "There is no such parameter");
    expect_wrong("$99999999999999999999", TOKEN_PARAMETER, "There is no such parameter");
}

static void test_spans(void **state)
{
    (void)state;
    struct held *held = hold("  ab\n \xc3\xa9 /* x", 13);
    struct token token = lexer_next(&held->lexer);
    assert_int_equal(token.span.begin, 2);
    assert_int_equal(token.span.end, 4);
    token = lexer_next(&held->lexer);
    assert_int_equal(token.span.begin, 6);
    assert_int_equal(token.span.end, 8);
    token = lexer_next(&held->lexer);
    assert_int_equal(token.span.begin, 9);
    assert_int_equal(token.span.end, 11);
    token = lexer_next(&held->lexer);
    assert_int_equal(token.kind, TOKEN_END);
    assert_int_equal(token.span.begin, 13);
    assert_int_equal(token.span.end, 13);
    release(held);
}

/* Every pair of bytes gives tokens, an error or the end, and the lexer always advances. */
static void test_all_bytes(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < 0x10000; pair++) {
        char text[] = {(char)(pair >> 8), (char)pair, 0};
        struct source source = {"test", text, 2};
        struct lexer lexer = {.source = &source, .in_predicate = pair & 1};
        unsigned tokens = 0;
        for (struct token token; (token = lexer_next(&lexer)).kind != TOKEN_END;) {
            assert_true(token.span.end > token.span.begin && token.span.end <= 2);
            assert_true(++tokens <= 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),          cmocka_unit_test(test_wrong_numbers),
        cmocka_unit_test(test_strings),          cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_wrong_characters), cmocka_unit_test(test_spans),
        cmocka_unit_test(test_all_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
