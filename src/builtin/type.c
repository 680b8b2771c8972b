/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions about the type of an expression. They are answered while the script is compiled: the call becomes
 * a constant, and the expression is never evaluated. */
#include "bpf/lower/lower.h"
#include "builtin/all.h"

enum question { IS_STR, IS_PTR, IS_ARRAY, IS_INTEGER, IS_UNSIGNED_INTEGER, IS_LITERAL };

static bool is_literal(const struct node *node)
{
    return node->kind == NODE_INTEGER || node->kind == NODE_STRING || node->kind == NODE_BOOL;
}

static const struct type *check_question(struct checker *checker, struct node *node)
{
    const struct node *argument = check_argument(node, 0);
    const struct type *type = argument->type;
    bool answer = false;
    switch ((enum question)node->call.builtin->data) {
    case IS_STR: answer = type->kind == TYPE_STRING || type->kind == TYPE_PROBE_NAME; break;
    case IS_PTR: answer = type->kind == TYPE_POINTER; break;
    case IS_ARRAY: answer = type->kind == TYPE_ARRAY; break;
    case IS_INTEGER: answer = type->kind == TYPE_INTEGER || type->kind == TYPE_ENUM; break;
    case IS_UNSIGNED_INTEGER: answer = type->kind == TYPE_INTEGER && !type->is_signed; break;
    case IS_LITERAL: answer = is_literal(argument); break;
    }
    return check_answer(checker, node, answer);
}

static struct ir *lower_question(struct lowering *l, struct node *node, struct destination *into)
{
    (void)node, (void)into;
    return ir_constant(&l->b, 0); /* never reached: the call has become a constant */
}

#define QUESTION(which)                                                                                      \
    BUILTIN_CALL, 1, 1, {PARAMETER_ANY}, .check = check_question, .lower = lower_question, .data = which

const struct builtin builtins_type[] = {
    {"is_str", "is_str(expression)", QUESTION(IS_STR)},
    {"is_ptr", "is_ptr(expression)", QUESTION(IS_PTR)},
    {"is_array", "is_array(expression)", QUESTION(IS_ARRAY)},
    {"is_integer", "is_integer(expression)", QUESTION(IS_INTEGER)},
    {"is_unsigned_integer", "is_unsigned_integer(expression)", QUESTION(IS_UNSIGNED_INTEGER)},
    {"is_literal", "is_literal(expression)", QUESTION(IS_LITERAL)},
    {0},
};
