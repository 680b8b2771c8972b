/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions: the dispatch by kind of node, literals, tuples, ternaries and conditions. Kinds with rules of their
 * own are in the other files of this folder. */
#include "lang/check/state.h"

/* Bounds of tuples, which go to map keys, values and records. No script needs larger ones, and the sizes of tuples
 * of maps of tuples would double with every line. */
enum { TUPLE_BYTES = 64 << 10, TUPLE_ELEMENTS = 256, TUPLE_DEPTH = 16 };

const struct type *check_readable(const struct type *type)
{
    if (!type_is_aggregation(type))
        return type;
    if (!type_has_shape(type, AGGREGATION_NUMBER))
        return NULL;
    return type->aggregation->is_unsigned || type->is_signed ? &type_i64 : &type_u64;
}

bool check_is_literal_number(const struct node *node)
{
    return node->kind == NODE_INTEGER && !node->integer.as_enum && !node->integer.is_unsigned &&
           node->integer.value <= INT64_MAX;
}

bool check_constant(struct checker *checker, const struct node *node, int64_t *value)
{
    (void)checker;
    struct constant constant;
    if (node->kind == NODE_SIZEOF && node->cast.operand && node->cast.operand->type) {
        *value = node->cast.operand->type->size;
        return true;
    }
    if (!fold_constant(node, &constant))
        return false;
    *value = (int64_t)constant.value;
    return true;
}

/* Returns the type of a string. A type that the node has from an earlier pass and that is still right is returned
 * again, so that passes need no memory. */
const struct type *check_string_type(struct checker *checker, const struct node *node, uint32_t capacity)
{
    if (node->type && node->type->kind == TYPE_STRING && node->type->size == capacity)
        return node->type;
    return type_string(checker->arena, capacity);
}

const struct type *check_pointer_type(struct checker *checker, const struct node *node,
                                      const struct type *target, enum address_space space)
{
    if (node->type && node->type->kind == TYPE_POINTER && node->type->target == target &&
        node->type->space == space)
        return node->type;
    return type_pointer(checker->arena, target, space);
}

static const struct type *check_string(struct checker *checker, struct node *node)
{
    size_t length = node->string.length;
    return check_string_type(checker, node, length >= UINT32_MAX ? UINT32_MAX : (uint32_t)length + 1);
}

static const struct type *check_integer(struct checker *checker, struct node *node)
{
    (void)checker;
    return fold_literal_type(node);
}

static const struct type *check_bool(struct checker *checker, struct node *node)
{
    (void)checker;
    (void)node;
    return &type_bool;
}

/* fold() has replaced parameters; one that is left comes from a tree that was not folded. */
static const struct type *check_parameter(struct checker *checker, struct node *node)
{
    fold_node(checker, node);
    return node->kind == NODE_PARAMETER ? NULL : check_expression(checker, node);
}

/* ---- tuples ---- */

static bool tuple_fits(const struct type *type, unsigned depth, unsigned *budget)
{
    if (type->kind != TYPE_TUPLE)
        return true;
    if (!depth || type->size > TUPLE_BYTES)
        return false;
    for (uint32_t i = 0; i < type->count; i++) {
        if (!*budget)
            return false;
        --*budget;
        if (!tuple_fits(type->fields[i].type, depth - 1, budget))
            return false;
    }
    return true;
}

static bool tuple_is_current(const struct node *node)
{
    if (!node->type || node->type->kind != TYPE_TUPLE || node->type->count != node->list.count)
        return false;
    uint32_t i = 0;
    for (const struct node *element = node->list.first; element; element = element->next, i++)
        if (element->type != node->type->fields[i].type)
            return false;
    return true;
}

static const struct type *check_tuple(struct checker *checker, struct node *node)
{
    bool known = true;
    uint32_t count = 0;
    for (struct node *element = node->list.first; element; element = element->next, count++)
        known &= check_value(checker, element) != NULL;
    if (!known)
        return NULL;
    if (tuple_is_current(node))
        return node->type;
    const struct type **elements = arena_array(checker->arena, count, sizeof *elements);
    count = 0;
    for (struct node *element = node->list.first; element; element = element->next)
        elements[count++] = element->type;
    const struct type *type = type_record(checker->arena, node->names, elements, count);
    unsigned budget = TUPLE_ELEMENTS;
    if (tuple_fits(type, TUPLE_DEPTH, &budget))
        return type;
    check_error(checker, node->span, "This tuple is too large: at most %u bytes, %u elements and %u levels",
                TUPLE_BYTES, TUPLE_ELEMENTS, TUPLE_DEPTH);
    return NULL;
}

/* ---- conditions ---- */

/* Of a condition like (comm = "cat"), which is a record. */
static void hint_assignment(struct checker *checker, const struct node *record)
{
    const struct source *source = record->span.source;
    const uint32_t end = record->list.first->span.begin;
    uint32_t at = record->span.begin;
    check_hint(checker, "a comparison is written ==");
    while (at < end && source->text[at] != '=')
        at++;
    if (at < end && check_takes_hint(checker))
        diagnose_fix(checker->diagnostics, (struct span){source, at, at + 1}, "==");
}

void check_condition(struct checker *checker, struct node *node, const char *what)
{
    fold_text_condition(node);
    const struct type *type = check_value(checker, node);
    if (!type || type_is_scalar(type))
        return;
    check_error(checker, node->span, "Invalid %s: '%s'", what, type_text(checker->arena, type));
    if (node->kind == NODE_TUPLE && node->names && node->list.count == 1)
        hint_assignment(checker, node);
    else if (type->kind == TYPE_STRING)
        check_hint(checker, "compare it with a string: == \"...\"");
    else
        check_hint(checker, "a condition is an integer, a bool or a pointer");
}

/* Returns the type that holds both branches; a literal takes the sign of the other branch. */
static const struct type *ternary_common(struct checker *checker, struct node *yes, struct node *no)
{
    const struct type *a = yes->type, *b = no->type;
    if (check_is_literal_number(yes) && b->kind == TYPE_INTEGER && !b->is_signed && a->size <= b->size)
        return b;
    if (check_is_literal_number(no) && a->kind == TYPE_INTEGER && !a->is_signed && b->size <= a->size)
        return a;
    return type_common(checker->arena, a, b);
}

static const struct type *check_ternary(struct checker *checker, struct node *node)
{
    struct node *condition = node->ternary.condition, *yes = node->ternary.yes, *no = node->ternary.no;
    bool is_comptime = condition->kind == NODE_COMPTIME;
    check_condition(checker, condition, "condition");
    if (is_comptime && yes != condition) {
        if (condition->kind == NODE_COMPTIME)
            return NULL; /* not decided yet */
        fold_node(checker, node);
        return check_expression(checker, node);
    }
    if (yes != condition)
        check_expression(checker, yes);
    check_expression(checker, no);
    struct constant constant;
    if (fold_constant(condition, &constant)) {
        fold_node(checker, node);
        return node->type;
    }
    if (!yes->type || !no->type) {
        struct node *known = yes->type ? yes : no;
        bool may_guess = !checker->is_reporting && known->type &&
                         (checker->state->phase != PHASE_OPEN || !check_is_literal_number(known));
        return may_guess ? known->type : NULL;
    }
    const struct type *type = ternary_common(checker, yes, no);
    if (!type)
        check_error(checker, node->span, "Ternary operator must return the same type: have '%s' and '%s'",
                    type_text(checker->arena, yes->type), type_text(checker->arena, no->type));
    return type;
}

/* ---- all ---- */

typedef const struct type *expression_checker(struct checker *checker, struct node *node);

static expression_checker *const expression_checkers[] = {
    [NODE_INTEGER] = check_integer,
    [NODE_BOOL] = check_bool,
    [NODE_STRING] = check_string,
    [NODE_NAME] = check_name,
    [NODE_VARIABLE] = check_variable,
    [NODE_MAP] = check_map,
    [NODE_PARAMETER] = check_parameter,
    [NODE_CALL] = check_call,
    [NODE_UNARY] = check_unary,
    [NODE_BINARY] = check_binary,
    [NODE_TERNARY] = check_ternary,
    [NODE_ASSIGN] = check_assign,
    [NODE_STEP] = check_step,
    [NODE_FIELD] = check_field,
    [NODE_INDEX] = check_index,
    [NODE_CAST] = check_cast,
    [NODE_TUPLE] = check_tuple,
    [NODE_SIZEOF] = check_sizeof,
    [NODE_OFFSETOF] = check_offsetof,
    [NODE_TYPEOF] = check_typeof,
    [NODE_TYPEINFO] = check_typeinfo,
    [NODE_COMPTIME] = check_comptime,
    [NODE_BLOCK_VALUE] = check_block_value,
};

const struct type *check_expression(struct checker *checker, struct node *node)
{
    struct check_state *state = checker->state;
    if (state->depth > 4 * (TREE_NESTING + TREE_CHAIN)) {
        check_error(checker, node->span, "This expression is nested too deeply");
        return node->type = NULL;
    }
    if ((size_t)node->kind >= sizeof expression_checkers / sizeof *expression_checkers) {
        check_error(checker, node->span, "A statement cannot be used as a value");
        return node->type = NULL;
    }
    state->depth++;
    const struct type *type = expression_checkers[node->kind](checker, node);
    state->depth--;
    if (!type) /* An error was reported or will be; nothing compiles without a type. */
        check_unresolved(checker, node->span);
    return node->type = type;
}

const struct type *check_value(struct checker *checker, struct node *node)
{
    const struct type *type = check_expression(checker, node);
    if (!type || type->kind != TYPE_NONE)
        return type;
    if (node->kind == NODE_CALL || node->kind == NODE_NAME)
        check_error(checker, node->span, "%s%s has no value",
                    node->kind == NODE_CALL ? node->call.name : node->name.name,
                    node->kind == NODE_CALL ? "()" : "");
    else
        check_error(checker, node->span, "This expression has no value");
    if (node->kind == NODE_BLOCK_VALUE)
        check_hint(checker,
                   "the value of a block, also of a macro, is its last statement without a semicolon");
    return NULL;
}
