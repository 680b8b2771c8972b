/* SPDX-License-Identifier: BSD-3-Clause */
/* Constant folding, in place and children first. Arithmetic is that of the machine that runs programs: 64 bits,
 * overflow wraps, shift counts are taken modulo 64. A division by a constant zero is left for the checker to
 * refuse. What stands only in a discarded branch is not checked any more. A literal has no type of its own; a
 * constant that is computed from casts keeps the type that the checker would have given it, as a cast. */
#include <string.h>

#include "base/number.h"
#include "lang/check/state.h"
#include "lang/parse/type_word.h"

enum { FOLD_DEPTH = 4 * (TREE_NESTING + TREE_CHAIN) };

void fold_to_integer(struct node *node, uint64_t value, bool is_unsigned, const struct type *as_enum)
{
    node->kind = NODE_INTEGER;
    node->integer.value = value;
    node->integer.is_unsigned = is_unsigned && value > INT64_MAX;
    node->integer.as_enum = as_enum;
}

static void fold_to_bool(struct node *node, bool value)
{
    fold_to_integer(node, (uint64_t)value, false, NULL);
    node->kind = NODE_BOOL;
}

void fold_to_child(struct node *node, const struct node *child)
{
    struct node *next = node->next;
    *node = *child;
    node->next = next;
}

static uint64_t narrowed(uint64_t value, const struct type *type)
{
    if (type->kind == TYPE_BOOL)
        return value != 0;
    unsigned shift = 64 - type->size * 8;
    if (!shift)
        return value;
    value <<= shift;
    return type->is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

bool fold_constant(const struct node *node, struct constant *constant)
{
    /* A cast stays in the tree, for its type, but its value is a constant for what is above it. */
    if (node->kind == NODE_CAST) {
        const struct type *type = node->cast.target;
        if (!type && node->cast.name.name && !node->cast.name.suffix_count)
            type = type_word_find(node->cast.name.name);
        if (!type || (type->kind != TYPE_INTEGER && type->kind != TYPE_BOOL) || type->size > 8 || !type->size)
            return false;
        if (!fold_constant(node->cast.operand, constant))
            return false;
        constant->value = narrowed(constant->value, type);
        constant->is_unsigned = !type->is_signed;
        constant->size = type->size;
        return true;
    }
    if (node->kind != NODE_INTEGER && node->kind != NODE_BOOL)
        return false;
    constant->value = node->integer.value;
    constant->is_unsigned = node->integer.is_unsigned;
    constant->size = 0;
    return true;
}

const struct type *fold_literal_type(const struct node *node)
{
    if (node->integer.as_enum)
        return node->integer.as_enum;
    if (node->integer.is_unsigned)
        return &type_u64;
    int64_t value = (int64_t)node->integer.value;
    if (value == (int8_t)value)
        return &type_i8;
    if (value == (int16_t)value)
        return &type_i16;
    return value == (int32_t)value ? &type_i32 : &type_i64;
}

/* ---- positional parameters ---- */

enum number_text { TEXT_IS_WORD, TEXT_IS_NUMBER, TEXT_IS_TOO_LARGE };

static enum number_text parameter_number(const char *text, uint64_t *value, bool *is_unsigned)
{
    switch (signed_literal_parse(text, value, is_unsigned)) {
    case LITERAL_FITS: return TEXT_IS_NUMBER;
    case LITERAL_TOO_LARGE: return TEXT_IS_TOO_LARGE;
    default: return TEXT_IS_WORD;
    }
}

/* Replaces a parameter by its value. is_text: a string is wanted, so that "12" stays a text. */
static void fold_parameter(struct checker *checker, struct node *node, bool is_text)
{
    const struct parameters *parameters = checker->parameters;
    size_t count = parameters ? parameters->count : 0;
    uint64_t number = node->integer.value;
    if (number == 0) {
        fold_to_integer(node, count, false, NULL);
        return;
    }
    const char *text = number <= count ? parameters->values[number - 1] : NULL;
    if (!text) {
        diagnose_warning(checker->diagnostics, node->span,
                         "Positional parameter $%llu is not given: it is %s", (unsigned long long)number,
                         is_text ? "an empty string" : "0");
        diagnose_hint(checker->diagnostics, "parameters follow the script: %zu given", count);
        text = is_text ? "" : "0";
    }
    uint64_t value = 0;
    bool is_unsigned = false;
    enum number_text kind = is_text ? TEXT_IS_WORD : parameter_number(text, &value, &is_unsigned);
    if (kind == TEXT_IS_TOO_LARGE)
        diagnose_error(checker->diagnostics, node->span, "Positional parameter $%llu is too large: %s",
                       (unsigned long long)number, text);
    if (kind != TEXT_IS_WORD) {
        fold_to_integer(node, value, is_unsigned, NULL);
        return;
    }
    node->kind = NODE_STRING;
    node->string.text = arena_strdup(checker->arena, text);
    node->string.length = strlen(text);
}

/* ---- operators ---- */

static bool is_comparison(enum operator op)
{
    return op >= OPERATOR_EQ && op <= OPERATOR_GE;
}

static bool compared(enum operator op, int order)
{
    switch (op) {
    case OPERATOR_EQ: return order == 0;
    case OPERATOR_NE: return order != 0;
    case OPERATOR_LT: return order < 0;
    case OPERATOR_LE: return order <= 0;
    case OPERATOR_GT: return order > 0;
    default: return order >= 0;
    }
}

static uint64_t divided(enum operator op, uint64_t a, uint64_t b, bool is_unsigned)
{
    if (is_unsigned)
        return op == OPERATOR_DIV ? a / b : a % b;
    if (b == UINT64_MAX) /* -1: the one quotient that does not fit wraps instead */
        return op == OPERATOR_DIV ? 0 - a : 0;
    int64_t x = (int64_t)a, y = (int64_t)b;
    return (uint64_t)(op == OPERATOR_DIV ? x / y : x % y);
}

/* Replaces a node by a number with a type, as a cast of a literal. `child`, which is one of its children, becomes
 * the literal. */
static void fold_to_cast(struct node *node, struct node *child, uint64_t value, bool is_unsigned,
                         uint32_t size)
{
    static const char *const words[2][9] = {
        {[1] = "int8", [2] = "int16", [4] = "int32", [8] = "int64"},
        {[1] = "uint8", [2] = "uint16", [4] = "uint32", [8] = "uint64"},
    };
    struct span span = node->span;
    struct node *next = node->next;
    fold_to_integer(child, value, is_unsigned, NULL);
    *node = (struct node){.kind = NODE_CAST, .span = span, .next = next};
    node->cast.name = (struct type_name){.name = words[is_unsigned][size], .span = span};
    node->cast.operand = child;
}

static uint32_t constant_size(struct constant constant)
{
    if (constant.size)
        return constant.size;
    uint64_t value = constant.value;
    for (uint32_t size = 1; size < 8; size *= 2)
        if (constant.is_unsigned ? !(value >> 8 * size) : (value + (1ull << (8 * size - 1))) >> 8 * size == 0)
            return size;
    return 8;
}

/* Returns how many bytes the checker gives the result of an operation of two numbers of which at least one has a
 * type. */
static uint32_t result_size(enum operator op, struct constant left, struct constant right)
{
    switch (op) {
    case OPERATOR_SHR: return constant_size(left);
    case OPERATOR_AND:
    case OPERATOR_OR:
    case OPERATOR_XOR:
    case OPERATOR_MOD: break;
    default: return 8;
    }
    bool is_unsigned = left.size ? left.is_unsigned : right.is_unsigned;
    if (!left.size && (int64_t)left.value >= 0)
        left.is_unsigned = is_unsigned;
    if (!right.size && (int64_t)right.value >= 0)
        right.is_unsigned = is_unsigned;
    uint32_t a = constant_size(left), b = constant_size(right);
    if (left.is_unsigned != right.is_unsigned) /* a signed type holds both only if it is wider */
        *(left.is_unsigned ? &a : &b) *= 2;
    uint32_t size = a > b ? a : b;
    return size > 8 ? 8 : size;
}

/* A literal without a sign takes the other side's; of two types that differ, the signed one wins. */
static bool is_unsigned_together(struct constant left, struct constant right)
{
    return (left.is_unsigned || right.is_unsigned) &&
           (left.is_unsigned || (!left.size && left.value <= INT64_MAX)) &&
           (right.is_unsigned || (!right.size && right.value <= INT64_MAX));
}

static void fold_arithmetic(struct node *node, struct constant left, struct constant right)
{
    enum operator op = node->binary.op;
    uint64_t a = left.value, b = right.value, value;
    bool is_unsigned = is_unsigned_together(left, right);
    if (is_comparison(op)) {
        int order = a == b ? 0 : (is_unsigned ? a < b : (int64_t)a < (int64_t)b) ? -1 : 1;
        fold_to_bool(node, compared(op, order));
        return;
    }
    switch (op) {
    case OPERATOR_ADD: value = a + b; break;
    case OPERATOR_SUB:
        value = a - b;
        is_unsigned = false;
        break;
    case OPERATOR_MUL: value = a * b; break;
    case OPERATOR_DIV:
    case OPERATOR_MOD:
        if (!b)
            return;
        value = divided(op, a, b, is_unsigned);
        break;
    case OPERATOR_AND: value = a & b; break;
    case OPERATOR_OR: value = a | b; break;
    case OPERATOR_XOR: value = a ^ b; break;
    case OPERATOR_SHL:
        value = a << (b & 63);
        is_unsigned = left.is_unsigned;
        break;
    case OPERATOR_SHR:
        is_unsigned = left.is_unsigned;
        value = is_unsigned ? a >> (b & 63) : (uint64_t)((int64_t)a >> (b & 63));
        break;
    default: return;
    }
    if (left.size || right.size)
        fold_to_cast(node, node->binary.left, value, is_unsigned, result_size(op, left, right));
    else
        fold_to_integer(node, value, is_unsigned, NULL);
}

static size_t text_length(const struct node *text)
{
    return strnlen(text->string.text, text->string.length); /* a string ends at its first NUL */
}

static int text_order(const struct node *left, const struct node *right)
{
    size_t a = text_length(left), b = text_length(right);
    int order = memcmp(left->string.text, right->string.text, a < b ? a : b);
    return order ? order : (a > b) - (a < b);
}

static void fold_to_string(struct node *node, const char *text, size_t length)
{
    node->kind = NODE_STRING;
    node->string.text = text;
    node->string.length = length;
}

static void fold_strings(struct checker *checker, struct node *node, const struct node *left,
                         const struct node *right)
{
    enum operator op = node->binary.op;
    size_t a = text_length(left), b = text_length(right);
    if (is_comparison(op)) {
        fold_to_bool(node, compared(op, text_order(left, right)));
    } else if (op == OPERATOR_ADD) {
        char *both = arena_alloc(checker->arena, a + b + 1);
        memcpy(both, left->string.text, a);
        memcpy(both + a, right->string.text, b);
        fold_to_string(node, both, a + b);
    }
}

/* Replaces "text" + 2 by what is behind the first two characters of the text, as adding to a pointer would. */
static void fold_text_behind(struct checker *checker, struct node *node, const struct node *text,
                             int64_t skip)
{
    size_t length = text_length(text);
    if (skip < 0)
        return;
    if ((uint64_t)skip > length) {
        diagnose_warning(checker->diagnostics, node->span,
                         "This text is always empty: there are only %zu characters to skip", length);
        skip = (int64_t)length;
    }
    fold_to_string(node, text->string.text + skip, length - (size_t)skip);
}

/* Reads a literal as a condition: a text is true unless it is empty. False: it is no literal. */
static bool fold_truth(const struct node *node, bool *is_true)
{
    struct constant constant;
    bool is_constant = fold_constant(node, &constant);
    if (is_constant)
        *is_true = constant.value != 0;
    else if (node->kind == NODE_STRING)
        *is_true = text_length(node) > 0;
    return is_constant || node->kind == NODE_STRING;
}

void fold_text_condition(struct node *node)
{
    if (node->kind == NODE_STRING)
        fold_to_bool(node, text_length(node) > 0);
}

static void fold_logical(struct node *node)
{
    bool is_or = node->binary.op == OPERATOR_LOGICAL_OR, left, right;
    if (!fold_truth(node->binary.left, &left))
        return;
    if (left == is_or)
        fold_to_bool(node, left);
    else if (fold_truth(node->binary.right, &right))
        fold_to_bool(node, right);
}

static void fold_binary(struct checker *checker, struct node *node)
{
    struct node *left = node->binary.left, *right = node->binary.right;
    enum operator op = node->binary.op;
    struct constant a, b;
    if (op == OPERATOR_LOGICAL_AND || op == OPERATOR_LOGICAL_OR)
        fold_logical(node);
    else if (left->kind == NODE_STRING && right->kind == NODE_STRING)
        fold_strings(checker, node, left, right);
    else if (op == OPERATOR_ADD && left->kind == NODE_STRING && fold_constant(right, &b))
        fold_text_behind(checker, node, left, (int64_t)b.value);
    else if (op == OPERATOR_ADD && right->kind == NODE_STRING && fold_constant(left, &a))
        fold_text_behind(checker, node, right, (int64_t)a.value);
    else if (fold_constant(left, &a) && fold_constant(right, &b))
        fold_arithmetic(node, a, b);
}

static void fold_unary(struct node *node)
{
    struct constant a;
    if (!fold_constant(node->unary.operand, &a))
        return;
    switch (node->unary.op) {
    case OPERATOR_NOT: fold_to_bool(node, !a.value); break;
    case OPERATOR_COMPLEMENT:
    case OPERATOR_NEGATE: {
        bool is_unsigned = node->unary.op == OPERATOR_COMPLEMENT;
        uint64_t value = is_unsigned ? ~a.value : 0 - a.value;
        if (a.size)
            fold_to_cast(node, node->unary.operand, value, is_unsigned, 8);
        else
            fold_to_integer(node, value, is_unsigned, NULL);
        break;
    }
    default: break;
    }
}

static void fold_sizeof(struct node *node)
{
    const struct type_name *name = &node->cast.name;
    const struct type *type = name->name ? type_word_find(name->name) : NULL;
    if (!type || type->kind == TYPE_NONE || type->kind == TYPE_STRING)
        return; /* only the checker can resolve other types */
    uint64_t size = type->size;
    for (uint32_t i = 0; i < name->suffix_count; i++) {
        size = name->suffixes[i] ? size * name->suffixes[i] : 8;
        if (size > INT32_MAX || name->suffixes[i] == TYPE_NAME_OPEN)
            return;
    }
    fold_to_integer(node, size, false, NULL);
}

void fold_node(struct checker *checker, struct node *node)
{
    bool condition;
    switch (node->kind) {
    case NODE_PARAMETER: fold_parameter(checker, node, false); break;
    case NODE_UNARY: fold_unary(node); break;
    case NODE_BINARY: fold_binary(checker, node); break;
    case NODE_SIZEOF: fold_sizeof(node); break;
    case NODE_TERNARY:
        if (fold_truth(node->ternary.condition, &condition))
            fold_to_child(node, condition ? node->ternary.yes : node->ternary.no);
        break;
    case NODE_BLOCK_VALUE: /* { value } is as constant as its value */
        if (node->list.count == 1 && node_is_expression(node->list.first))
            fold_to_child(node, node->list.first);
        break;
    default: break;
    }
}

/* ---- the walk ---- */

static void fold_within(struct checker *checker, struct node *node, unsigned depth);

static void fold_list(struct checker *checker, struct node_list *list, unsigned depth)
{
    for (struct node *node = list->first; node; node = node->next)
        fold_within(checker, node, depth);
}

static bool wants_text(const struct builtin *builtin, unsigned number)
{
    if (number >= BUILTIN_PARAMETERS)
        return false;
    unsigned kind = builtin->parameters[number];
    return kind == PARAMETER_STRING || kind == PARAMETER_LITERAL_STRING || kind == PARAMETER_TEXT;
}

static bool is_parameter(const struct node *node)
{
    return node->kind == NODE_PARAMETER && node->integer.value;
}

static void fold_call(struct checker *checker, struct node *node, unsigned depth)
{
    const struct builtin *builtin = builtin_find(checker->builtins, node->call.name, NULL);
    unsigned number = 0;
    for (struct node *argument = node->call.arguments.first; argument; argument = argument->next, number++) {
        if (builtin && wants_text(builtin, number) && is_parameter(argument))
            fold_parameter(checker, argument, true);
    }
    fold_list(checker, &node->call.arguments, depth);
}

static void fold_ternary(struct checker *checker, struct node *node, unsigned depth)
{
    fold_within(checker, node->ternary.condition, depth);
    if (node->ternary.yes != node->ternary.condition)
        fold_within(checker, node->ternary.yes, depth);
    fold_within(checker, node->ternary.no, depth);
}

static void fold_children(struct checker *checker, struct node *node, unsigned depth)
{
    switch (node->kind) {
    case NODE_MAP: fold_within(checker, node->map.key, depth); break;
    case NODE_CALL: fold_call(checker, node, depth); break;
    case NODE_UNARY:
    case NODE_COMPTIME:
    case NODE_EXPRESSION:
    case NODE_RETURN: fold_within(checker, node->unary.operand, depth); break;
    case NODE_BINARY:
    case NODE_INDEX:
        fold_within(checker, node->binary.left, depth);
        fold_within(checker, node->binary.right, depth);
        break;
    case NODE_TERNARY:
    case NODE_IF: fold_ternary(checker, node, depth); break;
    case NODE_ASSIGN:
        fold_within(checker, node->assign.target, depth);
        fold_within(checker, node->assign.value, depth);
        break;
    case NODE_STEP: fold_within(checker, node->step.target, depth); break;
    case NODE_FIELD: fold_within(checker, node->field.object, depth); break;
    case NODE_CAST:
    case NODE_SIZEOF:
    case NODE_OFFSETOF:
    case NODE_TYPEOF:
    case NODE_TYPEINFO:
        fold_within(checker, node->cast.operand, depth);
        fold_within(checker, node->cast.name.of, depth);
        break;
    case NODE_TUPLE:
    case NODE_BLOCK_VALUE:
    case NODE_BLOCK: fold_list(checker, &node->list, depth); break;
    case NODE_LET:
        fold_within(checker, node->let.type_name.of, depth);
        fold_within(checker, node->let.value, depth);
        break;
    case NODE_WHILE:
    case NODE_FOR_RANGE:
    case NODE_FOR_MAP:
    case NODE_UNROLL:
        fold_within(checker, node->loop.from, depth);
        fold_within(checker, node->loop.to, depth);
        fold_within(checker, node->loop.condition, depth);
        fold_within(checker, node->loop.body, depth);
        break;
    default: break;
    }
}

static void fold_within(struct checker *checker, struct node *node, unsigned depth)
{
    if (!node || depth == 0)
        return;
    fold_children(checker, node, depth - 1);
    fold_node(checker, node);
}

void fold(struct checker *checker, struct node *node)
{
    fold_within(checker, node, FOLD_DEPTH);
}
