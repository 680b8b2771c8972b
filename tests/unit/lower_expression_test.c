/* SPDX-License-Identifier: BSD-3-Clause */
/* Random expressions are compiled and run in the kernel, and must give the same value as an evaluation of the
 * checked tree in this process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lower_testing.h"

static int64_t extended(int64_t value, const struct type *type)
{
    if (type->kind == TYPE_BOOL)
        return value != 0;
    switch (type->size) {
    case 1: return type->is_signed ? (int64_t)(int8_t)value : (int64_t)(uint8_t)value;
    case 2: return type->is_signed ? (int64_t)(int16_t)value : (int64_t)(uint16_t)value;
    case 4: return type->is_signed ? (int64_t)(int32_t)value : (int64_t)(uint32_t)value;
    default: return value;
    }
}

static int64_t divided(int64_t x, int64_t y, bool is_signed, bool modulo)
{
    if (!y)
        return 1;
    if (!is_signed)
        return (int64_t)(modulo ? (uint64_t)x % (uint64_t)y : (uint64_t)x / (uint64_t)y);
    if (y == -1)
        return modulo ? 0 : (int64_t)(0 - (uint64_t)x);
    return modulo ? x % y : x / y;
}

static int64_t evaluate(const struct node *node, const uint64_t *words);

static int64_t evaluate_binary(const struct node *node, const uint64_t *words)
{
    int64_t x = evaluate(node->binary.left, words);
    if (node->binary.op == OPERATOR_LOGICAL_AND)
        return x && evaluate(node->binary.right, words);
    if (node->binary.op == OPERATOR_LOGICAL_OR)
        return x || evaluate(node->binary.right, words);
    int64_t y = evaluate(node->binary.right, words);
    uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
    bool is_signed = check_is_signed(node);
    switch (node->binary.op) {
    case OPERATOR_ADD: return (int64_t)(ux + uy);
    case OPERATOR_SUB: return (int64_t)(ux - uy);
    case OPERATOR_MUL: return (int64_t)(ux * uy);
    case OPERATOR_DIV: return divided(x, y, is_signed, false);
    case OPERATOR_MOD: return divided(x, y, is_signed, true);
    case OPERATOR_AND: return x & y;
    case OPERATOR_OR: return x | y;
    case OPERATOR_XOR: return x ^ y;
    case OPERATOR_SHL: return (int64_t)(ux << (uy & 63));
    case OPERATOR_SHR: return is_signed ? x >> (uy & 63) : (int64_t)(ux >> (uy & 63));
    case OPERATOR_EQ: return x == y;
    case OPERATOR_NE: return x != y;
    case OPERATOR_LT: return is_signed ? x < y : ux < uy;
    case OPERATOR_LE: return is_signed ? x <= y : ux <= uy;
    case OPERATOR_GT: return is_signed ? x > y : ux > uy;
    case OPERATOR_GE: return is_signed ? x >= y : ux >= uy;
    default: fail_msg("operator"); return 0;
    }
}

static int64_t evaluate(const struct node *node, const uint64_t *words)
{
    switch (node->kind) {
    case NODE_INTEGER:
    case NODE_BOOL: return (int64_t)node->integer.value;
    case NODE_NAME: return extended((int64_t)words[node->name.number], node->type);
    case NODE_CAST: return extended(evaluate(node->cast.operand, words), node->type);
    case NODE_TERNARY: {
        const struct node *taken =
            evaluate(node->ternary.condition, words) ? node->ternary.yes : node->ternary.no;
        return extended(evaluate(taken, words), node->type);
    }
    case NODE_UNARY: {
        int64_t x = evaluate(node->unary.operand, words);
        return extended(node->unary.op == OPERATOR_NOT          ? !x
                        : node->unary.op == OPERATOR_COMPLEMENT ? ~x
                                                                : (int64_t)(0 - (uint64_t)x),
                        node->type);
    }
    case NODE_BINARY: return extended(evaluate_binary(node, words), node->type);
    default: fail_msg("node kind %d", node->kind); return 0;
    }
}

static uint64_t random_state = 1;

static unsigned random_below(unsigned limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % limit;
}

static void random_expression(struct text *out, unsigned depth)
{
    static const char *const binary[] = {"+",  "-",  "*",  "/", "%",  "&", "|",  "^",  "<<",
                                         ">>", "==", "!=", "<", "<=", ">", ">=", "&&", "||"};
    static const char *const unary[] = {"-", "~", "!"};
    static const char *const types[] = {"int8",  "uint8",  "int16", "uint16",
                                        "int32", "uint32", "int64", "uint64"};
    unsigned choice = depth ? random_below(12) : random_below(3);
    if (choice < 2)
        text_printf(out, "arg%u", random_below(10));
    else if (choice == 2)
        text_printf(out, "%u", 1 + random_below(random_below(2) ? 12 : 70000));
    else if (choice < 9) {
        text_char(out, '(');
        random_expression(out, depth - 1);
        text_printf(out, " %s ", binary[random_below(sizeof binary / sizeof binary[0])]);
        random_expression(out, depth - 1);
        text_char(out, ')');
    } else if (choice == 9) {
        text_printf(out, "%s(", unary[random_below(3)]);
        random_expression(out, depth - 1);
        text_char(out, ')');
    } else if (choice == 10) {
        text_printf(out, "((%s)(", types[random_below(8)]);
        random_expression(out, depth - 1);
        text_add(out, "))");
    } else {
        text_char(out, '(');
        random_expression(out, depth - 1);
        text_add(out, " > 2 ? ");
        random_expression(out, depth - 1);
        text_add(out, " : (int64)");
        random_expression(out, depth - 1);
        text_char(out, ')');
    }
}

enum { EXPRESSIONS = 24, EXPRESSION_PROGRAMS = 40 };

static void expressions_are_as_in_c(void **state)
{
    NEED_KERNEL();
    static struct testing t;
    unsigned compared = 0;
    for (unsigned round = 0; round < EXPRESSION_PROGRAMS; round++) {
        struct text text = {0};
        text_add(&text, "BEGIN { ");
        for (unsigned i = 0; i < EXPRESSIONS; i++) {
            text_printf(&text, "@r%u = (int64)(", i);
            random_expression(&text, 4);
            text_add(&text, ");\n");
        }
        text_char(&text, '}');
        testing_init(&t);
        mode_set(&t, round % 2 ? OLD : PLAIN);
        t.options.registers_for_tests = round % 5 == 4 ? 3 + round % 2 : 0;
        uint64_t words[WORDS];
        words_fill(words);
        for (unsigned i = 0; i < 10; i++)
            if (random_below(4) == 0)
                words[i] = (uint64_t)random_below(1000) << random_below(60);
        if (!testing_compile(&t, text_string(&text))) {
            /* Some constants, such as x / 0 after folding, are errors: another round has other ones. */
            text_free(&text);
            testing_end(&t);
            continue;
        }
        if (testing_load(&t)) {
            explain(&t, text_string(&text));
            fail_msg("not loaded");
        }
        assert_int_equal(testing_run(&t, 0, words), 0);
        unsigned i = 0;
        for (struct node *node = t.unit->body->list.first; node; node = node->next, i++) {
            struct node *value = node->unary.operand->assign.value;
            char name[16];
            snprintf(name, sizeof name, "@r%u", i);
            int64_t expected = evaluate(value, words), got = testing_word(&t, name, NULL);
            if (got != expected) {
                print_message("%.*s\n", (int)(value->span.end - value->span.begin),
                              t.source.text + value->span.begin);
                fail_msg("is %lld, not %lld", (long long)got, (long long)expected);
            }
            compared++;
        }
        text_free(&text);
        testing_end(&t);
    }
    assert_true(compared > EXPRESSIONS * EXPRESSION_PROGRAMS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_are_as_in_c),
    };
    testing_find_kernel();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
