/* SPDX-License-Identifier: BSD-3-Clause */
/* Unary and binary operators.
 *
 * Sums, products, quotients and shifts to the left have 64 bits, so that `$n + 1` never wraps at a width that the
 * script did not choose; differences are signed. A literal without a sign takes that of the other operand. */
#include <string.h>

#include "base/number.h"
#include "lang/check/state.h"

enum operator_class {
    CLASS_NONE,
    CLASS_WIDE,
    CLASS_BITS,
    CLASS_SHIFT,
    CLASS_EQUALITY,
    CLASS_ORDER,
    CLASS_LOGICAL,
};

static const uint8_t operator_classes[OPERATOR_ADDRESS + 1] = {
    [OPERATOR_ADD] = CLASS_WIDE,
    [OPERATOR_SUB] = CLASS_WIDE,
    [OPERATOR_MUL] = CLASS_WIDE,
    [OPERATOR_DIV] = CLASS_WIDE,
    [OPERATOR_MOD] = CLASS_BITS,
    [OPERATOR_AND] = CLASS_BITS,
    [OPERATOR_OR] = CLASS_BITS,
    [OPERATOR_XOR] = CLASS_BITS,
    [OPERATOR_SHL] = CLASS_SHIFT,
    [OPERATOR_SHR] = CLASS_SHIFT,
    [OPERATOR_EQ] = CLASS_EQUALITY,
    [OPERATOR_NE] = CLASS_EQUALITY,
    [OPERATOR_LT] = CLASS_ORDER,
    [OPERATOR_LE] = CLASS_ORDER,
    [OPERATOR_GT] = CLASS_ORDER,
    [OPERATOR_GE] = CLASS_ORDER,
    [OPERATOR_LOGICAL_AND] = CLASS_LOGICAL,
    [OPERATOR_LOGICAL_OR] = CLASS_LOGICAL,
};

bool check_is_signed(const struct node *binary)
{
    const struct node *left = binary->binary.left, *right = binary->binary.right;
    bool left_signed = left->type && left->type->is_signed,
         right_signed = right->type && right->type->is_signed;
    if (operator_classes[binary->binary.op] == CLASS_SHIFT)
        return left_signed;
    /* The other operand of a pointer is an address or a distance. */
    if ((left->type && left->type->kind == TYPE_POINTER) ||
        (right->type && right->type->kind == TYPE_POINTER))
        return false;
    return left_signed || right_signed;
}

/* ---- the sign of literals ---- */

static const struct type *unsigned_literal_type(uint64_t value)
{
    return value <= UINT8_MAX    ? &type_u8
           : value <= UINT16_MAX ? &type_u16
           : value <= UINT32_MAX ? &type_u32
                                 : &type_u64;
}

static bool is_unsigned_integer(const struct type *type)
{
    return (type->kind == TYPE_INTEGER && !type->is_signed) || type->kind == TYPE_POINTER;
}

/* Gives literals in a node, also those in a tuple, the sign of the type that they meet. */
static void literal_adapt(struct checker *checker, struct node *node, const struct type *other)
{
    if (check_is_literal_number(node) && is_unsigned_integer(other)) {
        node->type = unsigned_literal_type(node->integer.value);
    } else if (node->kind == NODE_TUPLE && other->kind == TYPE_TUPLE && other->count == node->list.count) {
        bool changed = false;
        uint32_t i = 0;
        for (struct node *element = node->list.first; element; element = element->next, i++) {
            int place = type_element(other, node->type, i);
            if (place >= 0)
                literal_adapt(checker, element, other->fields[place].type);
            changed |= element->type != node->type->fields[i].type;
        }
        if (!changed)
            return;
        const struct type **elements = arena_array(checker->arena, i, sizeof *elements);
        i = 0;
        for (struct node *element = node->list.first; element; element = element->next)
            elements[i++] = element->type;
        node->type = type_record(checker->arena, node->names, elements, i);
    }
}

/* ---- errors ---- */

static const struct type *operand_error(struct checker *checker, struct node *node, enum operator op,
                                        const struct node *left, const struct node *right)
{
    check_error(checker, node->span, "The %s operator can not be used on expressions of types '%s', '%s'",
                operator_text(op), type_text(checker->arena, left->type),
                type_text(checker->arena, right->type));
    if (left->type->kind == TYPE_POINTER || right->type->kind == TYPE_POINTER)
        check_hint(checker, "cast the pointer to an integer first: (uint64)...");
    return NULL;
}

static void warn_signs(struct checker *checker, struct node *node, enum operator op, const struct type *left,
                       const struct type *right)
{
    check_warning(checker, node->span,
                  "%s of integers of different signs: '%s' and '%s' can lead to undefined behavior",
                  operator_classes[op] == CLASS_ORDER || operator_classes[op] == CLASS_EQUALITY
                      ? "comparison"
                      : "arithmetic",
                  type_text(checker->arena, left), type_text(checker->arena, right));
    check_hint(checker, "the values are taken as int64; cast one side to choose");
}

/* Whether no type holds both: one is a uint64, and the other is signed. */
static bool signs_clash(const struct type *left, const struct type *right)
{
    return (left->is_signed && right->kind == TYPE_INTEGER && !right->is_signed && right->size == 8) ||
           (right->is_signed && left->kind == TYPE_INTEGER && !left->is_signed && left->size == 8);
}

/* ---- arithmetic ---- */

static const struct type *number_type(const struct type *type)
{
    return type->kind == TYPE_BOOL ? &type_u8 : type_integer(type->size, type->is_signed);
}

static const struct type *pointer_arithmetic(struct checker *checker, struct node *node, enum operator op,
                                             struct node *left, struct node *right)
{
    const struct type *a = left->type, *b = right->type;
    const struct type *pointer = a->kind == TYPE_POINTER ? a : b;
    const struct type *target = pointer->target;
    if (target)
        type_complete(target);
    if (a->kind == TYPE_POINTER && b->kind == TYPE_POINTER) {
        if (op != OPERATOR_SUB || !type_common(checker->arena, a, b))
            return operand_error(checker, node, op, left, right);
    } else if (!type_is_number(a == pointer ? b : a) ||
               (op != OPERATOR_ADD && (op != OPERATOR_SUB || a != pointer))) {
        return operand_error(checker, node, op, left, right);
    }
    if (target && target->kind == TYPE_STRUCT && !target->size) {
        check_error(checker, node->span, "The size of '%s' is not known: pointers to it cannot be moved",
                    type_text(checker->arena, target));
        return NULL;
    }
    return a->kind == b->kind ? &type_i64 : pointer;
}

static const struct type *arithmetic(struct checker *checker, struct node *node, enum operator op,
                                     struct node *left, struct node *right)
{
    enum operator_class class = operator_classes[op];
    if ((left->type->kind == TYPE_POINTER || right->type->kind == TYPE_POINTER) && class == CLASS_WIDE)
        return pointer_arithmetic(checker, node, op, left, right);
    if (!type_is_number(left->type) || !type_is_number(right->type))
        return operand_error(checker, node, op, left, right);
    int64_t divisor;
    if ((op == OPERATOR_DIV || op == OPERATOR_MOD) && check_constant(checker, right, &divisor) && !divisor) {
        check_error(checker, node->span, "Division by zero");
        return NULL;
    }
    if (class == CLASS_SHIFT)
        return op == OPERATOR_SHR ? number_type(left->type) : type_integer(8, left->type->is_signed);
    literal_adapt(checker, left, right->type);
    literal_adapt(checker, right, left->type);
    const struct type *a = number_type(left->type), *b = number_type(right->type);
    if (op == OPERATOR_SUB)
        return &type_i64;
    /* For &, | and ^ the sign makes no difference. */
    if ((class == CLASS_WIDE || op == OPERATOR_MOD) && signs_clash(a, b))
        warn_signs(checker, node, op, a, b);
    return class == CLASS_WIDE ? type_integer(8, a->is_signed || b->is_signed)
                               : type_common(checker->arena, a, b);
}

/* ---- comparisons ---- */

/* How an operand is written; NULL: a macro has written it, or it is long. */
static const char *written(struct checker *checker, const struct node *node)
{
    enum { LENGTH_MAX = 60 };
    const struct span span = node->span;
    const char *last = node->kind == NODE_FIELD  ? node->field.name
                       : node->kind == NODE_NAME ? node->name.name
                                                 : NULL;
    const size_t length = last ? strlen(last) : 0;
    if (!length || span.end - span.begin > LENGTH_MAX || span.end - span.begin < length ||
        !source_has_name(span.source, span.end - (uint32_t)length, last))
        return NULL;
    return arena_copy(checker->arena, span.source->text + span.begin, span.end - span.begin);
}

/* Says how a string is compared with what is none. */
static void hint_comparison(struct checker *checker, const struct node *string, const struct node *other)
{
    uint64_t number;
    if (string->type->kind != TYPE_STRING || !check_takes_hint(checker))
        return;
    const char *text = written(checker, other);
    if (other->type->kind == TYPE_POINTER) {
        const char *call = text ? arena_printf(checker->arena, "str(%s)", text) : NULL;
        check_hint(checker, "%s is the text at this address", call ? call : "str()");
        if (call)
            diagnose_fix(checker->diagnostics, other->span, call);
    } else if (string->kind == NODE_STRING && number_parse(string->string.text, &number)) {
        check_hint(checker, "a number is written without quotes");
        if (string->span.source->text[string->span.begin] == '"')
            diagnose_fix(checker->diagnostics, string->span, string->string.text);
    }
}

static const struct type *comparison(struct checker *checker, struct node *node, enum operator op,
                                     struct node *left, struct node *right)
{
    literal_adapt(checker, left, right->type);
    literal_adapt(checker, right, left->type);
    const struct type *a = left->type, *b = right->type;
    if (type_is_scalar(a) && type_is_scalar(b)) {
        if (type_is_number(a) && type_is_number(b) && signs_clash(a, b))
            warn_signs(checker, node, op, a, b);
        return &type_bool;
    }
    bool is_one_kind = type_is_comparable(a) && type_common(checker->arena, a, b);
    if (operator_classes[op] == CLASS_ORDER && (is_one_kind || a->kind == b->kind))
        return operand_error(checker, node, op, left, right);
    if (is_one_kind)
        return &type_bool;
    check_error(checker, node->span, "Type mismatch for '%s': comparing '%s' with '%s'", operator_text(op),
                type_text(checker->arena, a), type_text(checker->arena, b));
    hint_comparison(checker, left, right);
    hint_comparison(checker, right, left);
    return NULL;
}

static const struct type *logical(struct checker *checker, struct node *node, enum operator op,
                                  struct node *left, struct node *right)
{
    if (type_is_scalar(left->type) && type_is_scalar(right->type))
        return &type_bool;
    return operand_error(checker, node, op, left, right);
}

/* ---- all ---- */

/* Guesses the type of an operation of which one operand is not known yet, because `@n = @n + 1` must start
 * somewhere. NULL: it is too early. */
static const struct type *operation_guess(struct checker *checker, enum operator op, const struct node *known)
{
    if (checker->is_reporting || !known->type || !type_is_number(known->type) ||
        (checker->state->phase == PHASE_OPEN && check_is_literal_number(known)))
        return NULL;
    if (op == OPERATOR_SUB)
        return &type_i64;
    return type_integer(8, number_type(known->type)->is_signed);
}

const struct type *check_operation(struct checker *checker, struct node *node, enum operator op,
                                   struct node *left, struct node *right)
{
    enum operator_class class = operator_classes[op];
    bool is_known = left->type && right->type;
    switch (class) {
    case CLASS_LOGICAL: return is_known ? logical(checker, node, op, left, right) : &type_bool;
    case CLASS_EQUALITY:
    case CLASS_ORDER: return is_known ? comparison(checker, node, op, left, right) : &type_bool;
    case CLASS_NONE: return NULL;
    default: break;
    }
    if (!is_known)
        return operation_guess(checker, op, left->type ? left : right);
    return arithmetic(checker, node, op, left, right);
}

const struct type *check_binary(struct checker *checker, struct node *node)
{
    check_value(checker, node->binary.left);
    check_value(checker, node->binary.right);
    fold_node(checker, node);
    if (node->kind != NODE_BINARY)
        return check_expression(checker, node);
    return check_operation(checker, node, node->binary.op, node->binary.left, node->binary.right);
}

const struct type *check_unary(struct checker *checker, struct node *node)
{
    struct node *operand = node->unary.operand;
    enum operator op = node->unary.op;
    if (op == OPERATOR_ADDRESS)
        return check_address(checker, node);
    const struct type *type = check_value(checker, operand);
    if (!type)
        return op == OPERATOR_NOT ? &type_bool : op == OPERATOR_NEGATE ? &type_i64 : NULL;
    fold_node(checker, node);
    if (node->kind != NODE_UNARY)
        return check_expression(checker, node);
    if (op == OPERATOR_DEREFERENCE)
        return check_dereference(checker, node);
    if (op == OPERATOR_NOT ? type_is_scalar(type) : type_is_number(type))
        return op == OPERATOR_NOT ? &type_bool : op == OPERATOR_NEGATE ? &type_i64 : &type_u64;
    check_error(checker, node->span, "The %s operator can not be used on expressions of type '%s'",
                operator_text(op), type_text(checker->arena, type));
    return NULL;
}
