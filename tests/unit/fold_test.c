/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of constant folding: what an expression of constants becomes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/check/check.h"

struct fixture {
    struct arena arena;
    jmp_buf nowhere;
    struct diagnostics diagnostics;
    struct source source;
    struct checker checker;
};

static const struct builtin family[] = {
    {.name = "text",
     .flags = BUILTIN_CALL,
     .least = 1,
     .most = 2,
     .parameters = {PARAMETER_TEXT, PARAMETER_INTEGER}},
    {.name = "number", .flags = BUILTIN_CALL, .least = 1, .most = 1, .parameters = {PARAMETER_INTEGER}},
    {0},
};
static const struct builtin *const families[] = {family};
static const struct builtin_table builtins = {families, 1, NULL, NULL};

/* Folds the expression; the caller frees the arena. */
static struct node *folded(struct fixture *f, const char *expression, const struct parameters *parameters)
{
    *f = (struct fixture){0};
    if (arena_guard(&f->arena, f->nowhere))
        abort();
    char text[4096];
    snprintf(text, sizeof text, "BEGIN { _ = %s; }", expression);
    f->source = (struct source){"test", arena_strdup(&f->arena, text), strlen(text)};
    f->diagnostics.arena = &f->arena;
    struct script *script = script_parse(&f->arena, &f->diagnostics, &f->source, parameters);
    if (f->diagnostics.errors) {
        struct text out = {0};
        diagnostics_render(&out, &f->diagnostics, DIAGNOSTIC_ERROR, false);
        fail_msg("%s", text_string(&out));
    }
    f->checker = (struct checker){
        .arena = &f->arena, .diagnostics = &f->diagnostics, .builtins = &builtins, .parameters = parameters};
    struct node *statement = script->blocks->body->list.first;
    fold(&f->checker, statement);
    return statement->unary.operand;
}

static void folds_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
        bool is_unsigned;
    } cases[] = {
        {"1 + 2 * 3", 7, false},
        {"-5", -5, false},
        {"- -5", 5, false},
        {"-7 / 2", -3, false},
        {"-7 % 4", -3, false},
        {"7 - 9", -2, false},
        {"1 << 4 | 1", 17, false},
        {"1 << 64", 1, false}, /* the count is taken modulo 64 */
        {"1 << 65", 2, false},
        {"1 << 63", INT64_MIN, false},
        {"-8 >> 1", -4, false},
        {"0xffffffffffffffff >> 63", 1, false},
        {"~5", -6, true}, /* the operand is a uint64 */
        {"~0xffffffffffffffff", 0, false},
        {"0xff & ~0xf", 0xf0, false},
        {"6 ^ 3", 5, false},
        {"9223372036854775807 + 1", INT64_MIN, false}, /* wraps */
        {"18446744073709551615 + 1", 0, false},
        {"18446744073709551615 / 3", 0x5555555555555555, false},
        {"18446744073709551615 / 1", -1, true},
        {"-9223372036854775807 - 2", INT64_MAX, false},
        {"(-9223372036854775807 - 1) / -1", INT64_MIN, false},
        {"(-9223372036854775807 - 1) % -1", 0, false},
        {"1 ? 10 : 20", 10, false},
        {"0 ? 10 : 20", 20, false},
        {"7 ?: 20", 7, false},
        {"0 ?: 20", 20, false},
        {"sizeof(uint32)", 4, false},
        {"sizeof(int8) + sizeof(uint64 *)", 9, false},
        {"sizeof(int16[3])", 6, false},
        {"sizeof(unsigned long int)", 8, false},
        {"true + true", 2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        struct node *node = folded(&f, cases[i].text, NULL);
        if (node->kind != NODE_INTEGER || (int64_t)node->integer.value != cases[i].value ||
            node->integer.is_unsigned != cases[i].is_unsigned)
            fail_msg("%s: kind %d, %lld, unsigned %d", cases[i].text, node->kind,
                     (long long)node->integer.value, node->integer.is_unsigned);
        arena_free(&f.arena);
    }
}

/* The result of a folded cast keeps its type: it becomes a cast of a literal. */
static void folds_typed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *type;
        int64_t value;
    } cases[] = {
        {"(uint8)300 + 1", "uint64", 45},
        {"(int8)200 + 0", "int64", -56},
        {"(int8)(uint8)(int8)200 + 0", "int64", -56},
        {"(bool)5 + 1", "uint64", 2},
        {"(int8)5 + (uint8)3", "int64", 8},
        {"(uint8)1 - (uint8)2", "int64", -1},
        {"(uint8)200 & 300", "uint16", 8},
        {"(int8)-1 | (uint8)1", "int16", -1},
        {"(uint16)300 >> 1", "uint16", 150},
        {"(uint32)7 % 4", "uint32", 3},
        {"-(uint8)1", "int64", -1},
        {"~(int8)-1", "uint64", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        struct node *node = folded(&f, cases[i].text, NULL);
        if (node->kind != NODE_CAST || strcmp(node->cast.name.name, cases[i].type) != 0 ||
            node->cast.operand->kind != NODE_INTEGER ||
            (int64_t)node->cast.operand->integer.value != cases[i].value)
            fail_msg("%s: kind %d", cases[i].text, node->kind);
        arena_free(&f.arena);
    }
}

static void folds_truth(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool value;
    } cases[] = {
        {"1 < 2", true},
        {"-1 < 1", true},
        {"2 <= 1", false},
        {"1 == 1", true},
        {"1 != 1", false},
        {"18446744073709551615 > 1", true},
        {"(uint64)-1 > 1", true},
        {"(uint64)-1 > -2", true}, /* as int64: -1 > -2 */
        {"!5", false},
        {"!0", true},
        {"1 && 2", true},
        {"0 && pid", false},
        {"1 || pid", true},
        {"\"a\" == \"a\"", true},
        {"\"a\" == \"ab\"", false},
        {"\"a\" != \"b\"", true},
        {"\"a\\0b\" == \"a\"", true},
        {"\"a\" < \"ab\"", true},
        {"\"b\" <= \"ab\"", false},
        {"\"a\" && \"\"", false},
        {"\"\" || 3", true},
        {"\"a\" + \"b\" == \"ab\"", true},
        {"\"abc\" + 1 == \"bc\"", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        struct node *node = folded(&f, cases[i].text, NULL);
        if (node->kind != NODE_BOOL || node->integer.value != cases[i].value)
            fail_msg("%s", cases[i].text);
        arena_free(&f.arena);
    }
}

static void leaves_the_rest(void **state)
{
    (void)state;
    static const char *const cases[] = {"1 / 0",      "1 % 0",    "pid + 1",    "\"a\" - \"b\"",
                                        "\"a\" + -1", "1 && pid", "pid ? 1 : 2"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        struct node *node = folded(&f, cases[i], NULL);
        if (node->kind != NODE_BINARY && node->kind != NODE_TERNARY)
            fail_msg("%s", cases[i]);
        arena_free(&f.arena);
    }
}

static void folds_below(void **state)
{
    (void)state;
    struct fixture f;
    struct node *node = folded(&f, "(pid + 2 * 3, @x[1 + 1], number(3 - 1))", NULL);
    assert_int_equal(node->kind, NODE_TUPLE);
    struct node *sum = node->list.first;
    assert_int_equal(sum->kind, NODE_BINARY);
    assert_int_equal(sum->binary.right->integer.value, 6);
    assert_int_equal(sum->next->map.key->integer.value, 2);
    assert_int_equal(sum->next->next->call.arguments.first->integer.value, 2);
    arena_free(&f.arena);
}

static void gives_parameters(void **state)
{
    (void)state;
    const char *const values[] = {"12", "0x10", "-3", "word", "12abc", "18446744073709551615", "010"};
    struct parameters parameters = {.values = values, .count = 7};
    static const struct {
        const char *text;
        enum node_kind kind;
        int64_t value;
        const char *string;
    } cases[] = {
        {"$1", NODE_INTEGER, 12, NULL},      {"$2", NODE_INTEGER, 16, NULL},
        {"$3", NODE_INTEGER, -3, NULL},      {"$4", NODE_STRING, 0, "word"},
        {"$5", NODE_STRING, 0, "12abc"},     {"$6", NODE_INTEGER, -1, NULL},
        {"$7", NODE_INTEGER, 8, NULL},       {"$#", NODE_INTEGER, 7, NULL},
        {"$1 + $2", NODE_INTEGER, 28, NULL}, {"$4 == \"word\"", NODE_BOOL, 1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        struct node *node = folded(&f, cases[i].text, &parameters);
        assert_int_equal(node->kind, cases[i].kind);
        if (cases[i].string)
            assert_string_equal(node->string.text, cases[i].string);
        else
            assert_int_equal(node->integer.value, cases[i].value);
        assert_int_equal(f.diagnostics.count, 0);
        arena_free(&f.arena);
    }
    struct fixture f;
    struct node *node = folded(&f, "text($1, $2)", &parameters);
    assert_int_equal(node->call.arguments.first->kind, NODE_STRING);
    assert_string_equal(node->call.arguments.first->string.text, "12");
    assert_int_equal(node->call.arguments.last->integer.value, 16);
    arena_free(&f.arena);
}

static void warns_of_missing_parameters(void **state)
{
    (void)state;
    struct fixture f;
    struct node *node = folded(&f, "$9", NULL);
    assert_int_equal(node->kind, NODE_INTEGER);
    assert_int_equal(node->integer.value, 0);
    assert_int_equal(f.diagnostics.count, 1);
    assert_int_equal(f.diagnostics.errors, 0);
    assert_non_null(strstr(f.diagnostics.items[0].message, "$9"));
    arena_free(&f.arena);
    node = folded(&f, "text($9)", NULL);
    assert_int_equal(node->call.arguments.first->kind, NODE_STRING);
    assert_int_equal(node->call.arguments.first->string.length, 0);
    assert_int_equal(f.diagnostics.count, 1);
    arena_free(&f.arena);
    const char *const values[] = {"99999999999999999999"};
    folded(&f, "$1", &(struct parameters){.values = values, .count = 1});
    assert_int_equal(f.diagnostics.errors, 1);
    arena_free(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_integers),
        cmocka_unit_test(folds_typed),
        cmocka_unit_test(folds_truth),
        cmocka_unit_test(leaves_the_rest),
        cmocka_unit_test(folds_below),
        cmocka_unit_test(gives_parameters),
        cmocka_unit_test(warns_of_missing_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
