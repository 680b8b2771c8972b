/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions: scalars as values, everything else into memory, conditions as branches.
 *
 * The invariant: a scalar's value is extended to 64 bits as its type says; memory has the storage form. */
#include "bpf/lower/state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const struct builtin *lower_builtin(const struct node *node)
{
    return node->kind == NODE_CALL ? node->call.builtin : node->kind == NODE_NAME ? node->name.builtin : NULL;
}

/* ---- conversions of scalars ---- */

static bool is_unsigned(const struct type *type)
{
    return !type->is_signed;
}

/* Whether every value of one type is a value of the other. */
static bool fits(const struct type *from, const struct type *to)
{
    if (from->kind == TYPE_BOOL || to->size >= 8)
        return true;
    if (!type_is_number(from))
        return false;
    return from->size < to->size ? is_unsigned(from) || to->is_signed
                                 : from->size == to->size && from->is_signed == to->is_signed;
}

static struct ir *extend(struct lowering *l, struct ir *value, const struct type *type)
{
    if (type->kind == TYPE_BOOL)
        return ir_binary_constant(&l->b, IR_NE, value, 0);
    if (type->size == 1 || type->size == 2 || type->size == 4)
        return ir_extend(&l->b, value, type->size, type->is_signed);
    return value;
}

struct ir *lower_convert(struct lowering *l, struct ir *value, const struct type *from, const struct type *to)
{
    if (to->kind == TYPE_BOOL)
        return from->kind == TYPE_BOOL ? value : ir_binary_constant(&l->b, IR_NE, value, 0);
    if (!type_is_scalar(to) || fits(from, to))
        return value;
    return extend(l, value, to);
}

/* ---- operators ---- */

static const struct {
    enum ir_op of_signed, of_unsigned;
} operations[] = {
    [OPERATOR_ADD] = {IR_ADD, IR_ADD},   [OPERATOR_SUB] = {IR_SUB, IR_SUB},
    [OPERATOR_MUL] = {IR_MUL, IR_MUL},   [OPERATOR_DIV] = {IR_SDIV, IR_UDIV},
    [OPERATOR_MOD] = {IR_SMOD, IR_UMOD}, [OPERATOR_AND] = {IR_AND, IR_AND},
    [OPERATOR_OR] = {IR_OR, IR_OR},      [OPERATOR_XOR] = {IR_XOR, IR_XOR},
    [OPERATOR_SHL] = {IR_SHL, IR_SHL},   [OPERATOR_SHR] = {IR_ASHR, IR_LSHR},
    [OPERATOR_EQ] = {IR_EQ, IR_EQ},      [OPERATOR_NE] = {IR_NE, IR_NE},
    [OPERATOR_LT] = {IR_SLT, IR_ULT},    [OPERATOR_LE] = {IR_SLE, IR_ULE},
    [OPERATOR_GT] = {IR_SGT, IR_UGT},    [OPERATOR_GE] = {IR_SGE, IR_UGE},
};

/* Lowers a division. One by zero is counted, and its result is 1. */
static struct ir *divide(struct lowering *l, enum ir_op op, struct ir *x, struct ir *y, struct span span)
{
    struct ir_builder *b = &l->b;
    if (y->op == IR_CONSTANT && y->immediate)
        return ir_binary(b, op, x, y);
    uint32_t result = ir_variable(b);
    struct ir_block *end = ir_label(b);
    struct ir_block *by_zero = lower_unlikely(l, ir_binary_constant(b, IR_EQ, y, 0));
    ir_write(b, result, ir_binary(b, op, x, y));
    ir_jump(b, end);
    ir_place(b, by_zero);
    lower_runtime_error(l, RUNTIME_ERROR_DIVIDE, span, -1, NULL);
    ir_write(b, result, ir_constant(b, 1));
    ir_place(b, end);
    return ir_read(b, result);
}

static int64_t step_of(const struct type *pointer)
{
    return pointer->target && pointer->target->size ? pointer->target->size : 1;
}

/* Lowers arithmetic of pointers, which counts in elements. */
static struct ir *operate_on_pointers(struct lowering *l, enum operator op, struct ir *x,
                                      const struct type *x_type, struct ir *y, const struct type *y_type)
{
    struct ir_builder *b = &l->b;
    bool x_points = x_type->kind == TYPE_POINTER, y_points = y_type->kind == TYPE_POINTER;
    if (x_points && y_points) {
        struct ir *difference = ir_binary(b, IR_SUB, x, y);
        return step_of(x_type) == 1 ? difference
                                    : ir_binary_constant(b, IR_SDIV, difference, step_of(x_type));
    }
    if (x_points)
        y = ir_binary_constant(b, IR_MUL, y, step_of(x_type));
    else
        x = ir_binary_constant(b, IR_MUL, x, step_of(y_type));
    return ir_binary(b, operations[op].of_signed, x, y);
}

struct ir *lower_operate(struct lowering *l, enum operator op, bool is_signed, struct ir *x,
                         const struct type *x_type, struct ir *y, const struct type *y_type,
                         const struct type *result, struct span span)
{
    enum ir_op operation = is_signed ? operations[op].of_signed : operations[op].of_unsigned;
    if ((op == OPERATOR_ADD || op == OPERATOR_SUB) &&
        (x_type->kind == TYPE_POINTER || y_type->kind == TYPE_POINTER))
        return operate_on_pointers(l, op, x, x_type, y, y_type);
    if (op >= OPERATOR_EQ && op <= OPERATOR_GE)
        return ir_binary(&l->b, operation, x, y);
    struct ir *value = op == OPERATOR_DIV || op == OPERATOR_MOD ? divide(l, operation, x, y, span)
                                                                : ir_binary(&l->b, operation, x, y);
    return extend(l, value, result);
}

/* ---- conditions ---- */

static bool is_comparison(const struct node *node)
{
    return node->kind == NODE_BINARY && node->binary.op >= OPERATOR_EQ && node->binary.op <= OPERATOR_GE;
}

static bool reads_as_scalar(const struct type *type)
{
    return type_is_scalar(type) || type_reads_as_integer(type);
}

static const struct node *literal_of(const struct node *node)
{
    return node->kind == NODE_STRING ? node : NULL;
}

/* Compares the name of a probe or function with a text. The name is a number, and which numbers have this text is
 * known. */
static void branch_on_name(struct lowering *l, struct node *name, const struct node *literal,
                           struct ir_block *equal, struct ir_block *different)
{
    struct ir_builder *b = &l->b;
    const char *const *names = l->options->names->items;
    size_t count = l->options->names->count;
    size_t length = strnlen(literal->string.text, literal->string.length); /* a string ends at its NUL */
    struct memory memory = lower_memory(l, name);
    struct ir *number = ir_load(b, memory.base, memory.offset, 8, false);
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && names[end] && strlen(names[end]) == length &&
               !memcmp(names[end], literal->string.text, length))
            end++;
        if (end == i) {
            i++;
            continue;
        }
        struct ir *distance = ir_binary_constant(b, IR_SUB, number, (int64_t)i);
        ir_jump_if(b, ir_binary_constant(b, IR_ULT, distance, (int64_t)(end - i)), equal);
        i = end;
    }
    ir_jump(b, different);
}

/* Compares values that do not fit in a register. Both sides are converted to one type first, unless they are
 * strings, which are compared as they are. */
static void branch_on_equality(struct lowering *l, struct node *node, struct ir_block *equal,
                               struct ir_block *different)
{
    struct node *left = node->binary.left, *right = node->binary.right;
    const struct type *x_type = left->type, *y_type = right->type;
    struct memory x, y;
    struct temporary_mark mark = lower_mark(l);
    if ((x_type->kind == TYPE_PROBE_NAME && literal_of(right)) ||
        (y_type->kind == TYPE_PROBE_NAME && literal_of(left))) {
        bool is_left = x_type->kind == TYPE_PROBE_NAME;
        branch_on_name(l, is_left ? left : right, is_left ? right : left, equal, different);
        lower_release(l, mark);
        return;
    }
    if (x_type->kind == TYPE_STRING && y_type->kind == TYPE_STRING) {
        const struct node *literal = literal_of(left) ? literal_of(left) : literal_of(right);
        x = literal == left ? (struct memory){0} : lower_memory(l, left);
        y = literal == right ? (struct memory){0} : lower_memory(l, right);
        if (literal_of(left) && literal_of(right))
            x = lower_memory(l, left);
        lower_compare(l, x, x_type, y, y_type, literal == left ? left : NULL, literal == right ? right : NULL,
                      different);
    } else {
        const struct type *common =
            type_equal(x_type, y_type) ? x_type : type_common(l->arena, x_type, y_type);
        if (!common) { /* the checker accepted them: only the bytes of the shorter one can be compared */
            common = type_storage(x_type) < type_storage(y_type) ? x_type : y_type;
        }
        if (type_equal(x_type, common))
            x = lower_memory(l, left);
        else
            lower_into_type(l, left, common, x = lower_temporary(l, type_storage(common), false));
        if (type_equal(y_type, common))
            y = lower_memory(l, right);
        else
            lower_into_type(l, right, common, y = lower_temporary(l, type_storage(common), false));
        lower_compare(l, x, common, y, common, NULL, NULL, different);
    }
    ir_jump(&l->b, equal);
    lower_release(l, mark);
}

void lower_branch(struct lowering *l, struct node *node, struct ir_block *yes, struct ir_block *no)
{
    struct ir_builder *b = &l->b;
    struct span span = b->span;
    b->span = node->span;
    if (node->kind == NODE_UNARY && node->unary.op == OPERATOR_NOT)
        lower_branch(l, node->unary.operand, no, yes);
    else if (node->kind == NODE_BINARY &&
             (node->binary.op == OPERATOR_LOGICAL_AND || node->binary.op == OPERATOR_LOGICAL_OR)) {
        struct ir_block *second = ir_label(b);
        bool is_and = node->binary.op == OPERATOR_LOGICAL_AND;
        lower_branch(l, node->binary.left, is_and ? second : yes, is_and ? no : second);
        ir_place(b, second);
        lower_branch(l, node->binary.right, yes, no);
    } else if (is_comparison(node) && !reads_as_scalar(node->binary.left->type)) {
        bool is_equality = node->binary.op == OPERATOR_EQ;
        branch_on_equality(l, node, is_equality ? yes : no, is_equality ? no : yes);
    } else if (node->kind != NODE_MAP || !lower_map_branch(l, node, yes, no))
        ir_branch(b, lower_scalar(l, node), yes, no);
    b->span = span;
}

/* Returns a condition that is control flow as a value: 0 or 1. */
static struct ir *branch_value(struct lowering *l, struct node *node)
{
    struct ir_builder *b = &l->b;
    struct ir_block *yes = ir_label(b), *no = ir_label(b), *end = ir_label(b);
    uint32_t result = ir_variable(b);
    lower_branch(l, node, yes, no);
    ir_place(b, yes);
    ir_write(b, result, ir_constant(b, 1));
    ir_jump(b, end);
    ir_place(b, no);
    ir_write(b, result, ir_constant(b, 0));
    ir_place(b, end);
    return ir_read(b, result);
}

struct ir *lower_condition(struct lowering *l, struct node *node)
{
    return lower_scalar(l, node);
}

/* ---- scalars ---- */

static struct ir *scalar_integer(struct lowering *l, struct node *node)
{
    return ir_constant(&l->b, (int64_t)node->integer.value);
}

static struct ir *scalar_builtin(struct lowering *l, struct node *node)
{
    const char *comment = l->b.comment;
    const struct builtin *builtin = lower_builtin(node);
    if (!builtin)
        return lower_call(l, node);
    l->b.comment = builtin->name;
    struct ir *value = builtin->lower(l, node, &(struct destination){.kind = DESTINATION_VALUE});
    l->b.comment = comment;
    return value ? value : ir_constant(&l->b, 0);
}

static struct ir *scalar_variable(struct lowering *l, struct node *node)
{
    return lower_variable_read(l, node->variable.symbol);
}

static struct ir *scalar_unary(struct lowering *l, struct node *node)
{
    struct ir_builder *b = &l->b;
    struct node *operand = node->unary.operand;
    switch (node->unary.op) {
    case OPERATOR_NOT: return branch_value(l, node);
    case OPERATOR_COMPLEMENT: return extend(l, ir_unary(b, IR_NOT, lower_scalar(l, operand)), node->type);
    case OPERATOR_NEGATE: return extend(l, ir_unary(b, IR_NEG, lower_scalar(l, operand)), node->type);
    case OPERATOR_DEREFERENCE: return lower_access_scalar(l, node);
    case OPERATOR_ADDRESS: return lower_address_of(l, operand);
    default: return lower_scalar(l, operand);
    }
}

static struct ir *scalar_binary(struct lowering *l, struct node *node)
{
    enum operator op = node->binary.op;
    struct node *left = node->binary.left, *right = node->binary.right;
    if (op == OPERATOR_LOGICAL_AND || op == OPERATOR_LOGICAL_OR ||
        (is_comparison(node) && !reads_as_scalar(left->type)))
        return branch_value(l, node);
    struct ir *x = lower_scalar(l, left), *y = lower_scalar(l, right);
    return lower_operate(l, op, check_is_signed(node), x, left->type, y, right->type, node->type, node->span);
}

/* The two branches of a ternary, and where they meet. */
struct choice {
    struct ir_block *yes, *no, *end;
};

static struct choice choice_begin(struct lowering *l, struct node *condition)
{
    struct ir_builder *b = &l->b;
    struct choice choice = {ir_label(b), ir_label(b), ir_label(b)};
    lower_branch(l, condition, choice.yes, choice.no);
    ir_place(b, choice.yes);
    return choice;
}

static void choice_other(struct lowering *l, const struct choice *choice)
{
    if (!ir_ended(&l->b))
        ir_jump(&l->b, choice->end);
    ir_place(&l->b, choice->no);
}

static void choice_end(struct lowering *l, const struct choice *choice)
{
    ir_place(&l->b, choice->end);
}

/* Lowers a ?: b, whose value is also the condition: it is evaluated once. */
static struct ir *scalar_or_else(struct lowering *l, struct node *node)
{
    struct ir_builder *b = &l->b;
    uint32_t result = ir_variable(b);
    struct ir *value = lower_scalar(l, node->ternary.condition);
    struct ir_block *end = ir_label(b);
    ir_write(b, result, lower_convert(l, value, node->ternary.condition->type, node->type));
    ir_jump_if(b, value, end);
    value = lower_scalar(l, node->ternary.no);
    ir_write(b, result, lower_convert(l, value, node->ternary.no->type, node->type));
    ir_place(b, end);
    return ir_read(b, result);
}

static struct ir *scalar_ternary(struct lowering *l, struct node *node)
{
    if (node->ternary.yes == node->ternary.condition)
        return scalar_or_else(l, node);
    uint32_t result = ir_variable(&l->b);
    struct choice choice = choice_begin(l, node->ternary.condition);
    struct ir *value = lower_scalar(l, node->ternary.yes);
    ir_write(&l->b, result, lower_convert(l, value, node->ternary.yes->type, node->type));
    choice_other(l, &choice);
    value = lower_scalar(l, node->ternary.no);
    ir_write(&l->b, result, lower_convert(l, value, node->ternary.no->type, node->type));
    choice_end(l, &choice);
    return ir_read(&l->b, result);
}

static struct ir *scalar_assign(struct lowering *l, struct node *node)
{
    return lower_assign(l, node, true);
}

static struct ir *scalar_step(struct lowering *l, struct node *node)
{
    return lower_step(l, node, true);
}

static struct ir *scalar_cast(struct lowering *l, struct node *node)
{
    struct node *operand = node->cast.operand;
    if (reads_as_scalar(operand->type)) {
        struct ir *value = lower_scalar(l, operand);
        if (node->type->kind == TYPE_BOOL || node->type->size >= 8)
            return lower_convert(l, value, operand->type, node->type);
        return fits(operand->type, node->type) ? value : extend(l, value, node->type);
    }
    /* The result is the first bytes of an array. */
    struct memory memory = lower_memory(l, operand);
    uint32_t have = type_storage(operand->type), size = node->type->size;
    if (size != 1 && size != 2 && size != 4)
        size = 8;
    return have < size ? ir_constant(&l->b, 0)
                       : ir_load(&l->b, memory.base, memory.offset, size, node->type->is_signed);
}

/* Lowers the statements before a block's value. Returns the value's node; NULL: there is none. */
static struct node *lower_until_value(struct lowering *l, struct node *node)
{
    for (struct node *item = node->list.first; item; item = item->next) {
        if (!item->next && node_is_expression(item))
            return item;
        if (!ir_ended(&l->b))
            lower_statement(l, item);
    }
    return NULL;
}

static struct ir *scalar_block(struct lowering *l, struct node *node)
{
    return lower_scalar(l, lower_until_value(l, node));
}

void lower_discard_block(struct lowering *l, struct node *node)
{
    struct node *value = lower_until_value(l, node);
    if (value && !ir_ended(&l->b))
        lower_discard(l, value);
}

static struct ir *(*const scalars[])(struct lowering *, struct node *) = {
    [NODE_INTEGER] = scalar_integer,    [NODE_BOOL] = scalar_integer,      [NODE_NAME] = scalar_builtin,
    [NODE_CALL] = scalar_builtin,       [NODE_VARIABLE] = scalar_variable, [NODE_MAP] = lower_map_read,
    [NODE_UNARY] = scalar_unary,        [NODE_BINARY] = scalar_binary,     [NODE_TERNARY] = scalar_ternary,
    [NODE_ASSIGN] = scalar_assign,      [NODE_STEP] = scalar_step,         [NODE_FIELD] = lower_access_scalar,
    [NODE_INDEX] = lower_access_scalar, [NODE_CAST] = scalar_cast,         [NODE_BLOCK_VALUE] = scalar_block,
};

struct ir *lower_scalar(struct lowering *l, struct node *node)
{
    struct span span = l->b.span;
    struct ir *(*lower)(struct lowering *, struct node *) =
        node->kind < sizeof scalars / sizeof scalars[0] ? scalars[node->kind] : NULL;
    assert(lower);
    l->b.span = node->span;
    struct temporary_mark mark = lower_mark(l);
    struct ir *value = lower(l, node);
    lower_release(l, mark); /* only the value is still needed */
    l->b.span = span;
    return value;
}

/* ---- into memory ---- */

static void store_literal(struct lowering *l, const struct node *literal, uint32_t storage, struct memory to)
{
    for (uint32_t i = 0; i < storage; i += 8) {
        uint64_t word = 0;
        if (i < literal->string.length)
            memcpy(&word, literal->string.text + i,
                   literal->string.length - i < 8 ? literal->string.length - i : 8);
        else if (storage - i > COPY_INLINE_MAX) {
            lower_zero(l, (struct memory){to.base, to.offset + (int32_t)i}, storage - i);
            return;
        }
        ir_store_constant(&l->b, to.base, to.offset + (int32_t)i, 8, (int64_t)word);
    }
}

uint32_t name_list_index(struct arena *arena, struct name_list *names, const char *text)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->items[i] && !strcmp(names->items[i], text))
            return (uint32_t)i;
    *arena_push(arena, names->items, names->count, names->room) = text;
    return (uint32_t)names->count - 1;
}

/* Stores a text where symbols are stored. */
static void store_name(struct lowering *l, struct ir *number, const struct type *type, struct memory to)
{
    number = ir_binary(&l->b, IR_OR, number, ir_constant(&l->b, (int64_t)SYMBOL_IS_NAME));
    ir_store(&l->b, to.base, to.offset, 8, number);
    if (type->kind == TYPE_USYM)
        ir_store_constant(&l->b, to.base, to.offset + 8, 8, 0);
}

enum { NAME_TABLE_MAX = 64 << 20 /* bytes */ };

/* Returns a table of texts with a row for each name. */
static const char *name_rows(struct lowering *l, uint32_t width)
{
    struct name_list *names = l->options->names;
    if (names->rows && names->row_count == names->count)
        return names->rows;
    char *bytes = arena_array(l->arena, names->count + 1, width);
    for (size_t i = 0; i < names->count; i++)
        if (names->items[i]) /* a longer name that came later was cut, and has no NUL */
            memcpy(bytes + i * width, names->items[i], strnlen(names->items[i], width));
    names->row_count = names->count; /* there will be more if probes come later */
    names->map = arena_printf(l->arena, "names_%zu", names->count);
    return names->rows = bytes;
}

/* Copies the text of a name to memory. */
static void name_to_text(struct lowering *l, struct memory name, const struct type *name_type,
                         struct memory to, const struct type *type)
{
    const struct type text = {.kind = TYPE_STRING, .size = name_type->count};
    const uint32_t width = type_storage(&text), want = type_storage(type);
    const size_t rows = l->options->names->count;
    if ((uint64_t)(rows + 1) * width > NAME_TABLE_MAX) {
        diagnose_error(l->diagnostics, l->b.span,
                       "The names of %zu probes and functions are more than can be used as texts", rows);
        diagnose_hint(l->diagnostics, "they can be printed, and be compared with constant texts");
        return;
    }
    struct ir *number = ir_load(&l->b, name.base, name.offset, 8, false);
    const char *table = name_rows(l, width);
    lower_table_row(l, l->options->names->map, table, (uint32_t)rows, width, width < want ? width : want,
                    number, to);
    if (width < want)
        lower_zero(l, (struct memory){to.base, to.offset + (int32_t)width}, want - width);
}

void lower_convert_memory(struct lowering *l, struct memory from, const struct type *from_type,
                          struct memory to, const struct type *to_type)
{
    uint32_t have = type_storage(from_type), want = type_storage(to_type);
    if (from_type->kind == TYPE_PROBE_NAME && type_is_symbol(to_type)) {
        store_name(l, ir_load(&l->b, from.base, from.offset, 8, false), to_type, to);
        return;
    }
    if (from_type->kind == TYPE_PROBE_NAME && to_type->kind == TYPE_STRING) {
        name_to_text(l, from, from_type, to, to_type);
        return;
    }
    if (type_is_scalar(to_type) && type_is_scalar(from_type)) {
        struct ir *value = ir_load(&l->b, from.base, from.offset, 8, false);
        ir_store(&l->b, to.base, to.offset, 8, lower_convert(l, value, from_type, to_type));
    } else if (to_type->kind == TYPE_TUPLE && from_type->kind == TYPE_TUPLE &&
               to_type->count == from_type->count) {
        for (uint32_t i = 0; i < from_type->count; i++) {
            int place = type_element(to_type, from_type, i);
            assert(place >= 0);
            const struct field *x = &from_type->fields[i], *y = &to_type->fields[place];
            lower_convert_memory(l, (struct memory){from.base, from.offset + (int32_t)x->offset}, x->type,
                                 (struct memory){to.base, to.offset + (int32_t)y->offset}, y->type);
        }
    } else {
        lower_copy(l, to, from, have < want ? have : want);
        if (have < want)
            lower_zero(l, (struct memory){to.base, to.offset + (int32_t)have}, want - have);
    }
}

static void tuple_into(struct lowering *l, struct node *node, const struct type *type, struct memory to)
{
    uint32_t i = 0;
    for (struct node *element = node->list.first; element && i < type->count; element = element->next, i++) {
        int place = type_element(type, node->type, i);
        assert(place >= 0);
        lower_into_type(l, element, type->fields[place].type,
                        (struct memory){to.base, to.offset + (int32_t)type->fields[place].offset});
    }
}

static void cast_into(struct lowering *l, struct node *node, struct memory to)
{
    struct node *operand = node->cast.operand;
    uint32_t want = type_storage(node->type);
    if (reads_as_scalar(operand->type)) {
        struct ir *value = lower_scalar(l, operand);
        uint32_t size = node->type->size;
        if (size < 8) /* an array of fewer bytes */
            value = ir_binary_constant(&l->b, IR_AND, value, (int64_t)((UINT64_C(1) << 8 * size) - 1));
        ir_store(&l->b, to.base, to.offset, 8, value);
        if (want > 8)
            lower_zero(l, (struct memory){to.base, to.offset + 8}, want - 8);
        return;
    }
    lower_convert_memory(l, lower_memory(l, operand), operand->type, to, node->type);
}

/* Writes a value that is no scalar to memory, in the node's own type. */
static void aggregate_to(struct lowering *l, struct node *node, struct destination *destination)
{
    const struct memory to = destination->memory;
    const struct builtin *builtin = lower_builtin(node);
    const char *comment = l->b.comment;
    if (builtin) {
        l->b.comment = builtin->name;
        builtin->lower(l, node, destination);
        l->b.comment = comment;
        return;
    }
    if (lower_is_stored(node)) {
        lower_access_into(l, node, destination);
        return;
    }
    switch (node->kind) {
    case NODE_STRING: store_literal(l, node, type_storage(node->type), to); break;
    case NODE_TUPLE: tuple_into(l, node, node->type, to); break;
    case NODE_MAP: lower_map_read_into(l, node, to); break;
    case NODE_CAST: cast_into(l, node, to); break;
    case NODE_VARIABLE: {
        const struct type *type = node->variable.symbol->type;
        lower_convert_memory(l, lower_variable_memory(l, node->variable.symbol), type, to, node->type);
        break;
    }
    case NODE_BLOCK_VALUE: lower_to(l, lower_until_value(l, node), node->type, destination); break;
    case NODE_ASSIGN:
        lower_assign(l, node, false);
        aggregate_to(l, node->assign.target, destination);
        break;
    default: assert(!"an expression without storage form"); break;
    }
}

void lower_to(struct lowering *l, struct node *node, const struct type *type, struct destination *destination)
{
    const struct memory to = destination->memory;
    struct span span = l->b.span;
    struct temporary_mark mark = lower_mark(l);
    l->b.span = node->span;
    if (type_is_scalar(type) && reads_as_scalar(node->type)) {
        struct ir *value = lower_scalar(l, node);
        ir_store(&l->b, to.base, to.offset, 8, lower_convert(l, value, node->type, type));
    } else if (node->kind == NODE_TERNARY) {
        struct choice choice = choice_begin(l, node->ternary.condition);
        lower_to(l, node->ternary.yes, type, destination);
        choice_other(l, &choice);
        lower_to(l, node->ternary.no, type, destination);
        choice_end(l, &choice);
    } else if (node->kind == NODE_BLOCK_VALUE)
        lower_to(l, lower_until_value(l, node), type, destination);
    else if (node->kind == NODE_TUPLE && type->kind == TYPE_TUPLE)
        tuple_into(l, node, type, to);
    else if (node->kind == NODE_STRING && type->kind == TYPE_STRING)
        store_literal(l, node, type_storage(type), to);
    else if (node->kind == NODE_STRING && type_is_symbol(type))
        store_name(
            l,
            ir_constant(&l->b, name_list_index(l->arena, l->options->names,
                                               arena_copy(l->arena, node->string.text, node->string.length))),
            type, to);
    else if (type_storage(type) == type_storage(node->type) && type->kind == node->type->kind &&
             (type->kind != TYPE_TUPLE || type_equal(type, node->type)))
        aggregate_to(l, node, destination);
    else if (type->kind == TYPE_STRING && node->type->kind == TYPE_STRING &&
             type_storage(type) > type_storage(node->type)) {
        uint32_t have = type_storage(node->type);
        aggregate_to(l, node, destination);
        lower_zero(l, (struct memory){to.base, to.offset + (int32_t)have}, type_storage(type) - have);
    } else
        lower_convert_memory(l, lower_memory(l, node), node->type, to, type);
    lower_release(l, mark);
    l->b.span = span;
}

void lower_into_type(struct lowering *l, struct node *node, const struct type *type, struct memory to)
{
    struct destination destination = destination_of(to);
    lower_to(l, node, type, &destination);
}

void lower_into(struct lowering *l, struct node *node, struct memory to)
{
    lower_into_type(l, node, node->type, to);
}

struct memory lower_memory(struct lowering *l, struct node *node)
{
    if (!reads_as_scalar(node->type)) {
        if (node->kind == NODE_VARIABLE && type_equal(node->type, node->variable.symbol->type))
            return lower_variable_memory(l, node->variable.symbol);
        if (node->kind == NODE_FIELD && node->field.object->type->kind == TYPE_TUPLE) {
            struct location location = lower_location(l, node);
            if (location.is_direct)
                return (struct memory){location.base, location.offset};
            struct memory copy = lower_temporary(l, type_storage(node->type), false);
            lower_read(l, copy, type_storage(node->type), ir_offset(&l->b, location.base, location.offset),
                       location.space, node->span);
            return copy;
        }
    }
    struct memory memory = lower_temporary(l, type_storage(node->type), false);
    lower_into(l, node, memory);
    return memory;
}
