/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields, elements and what pointers point to. A chain such as p->a.b[2].c is followed to an address first;
 * only what is asked for is read in the end.
 *
 * Does not decide which fields exist: the checker did. */
#include <assert.h>

#include "bpf/lower_state.h"

static bool is_args(const struct lowering *l, const struct node *node)
{
    const struct builtin *builtin = lower_builtin(node);
    return l->context->args && builtin && builtin->flags & BUILTIN_USES_ARGS;
}

/* The checker found the field in the value that args is as a whole; the probe kind has it elsewhere. */
static struct ir *args_field(struct lowering *l, const struct node *node)
{
    struct field field = node->field.found;
    bool is_found = type_find_field(l->context->args, field.name, &field);
    assert(is_found);
    (void)is_found;
    return l->context->lower_args_field(l, l->context, &field);
}

bool lower_is_stored(const struct node *node)
{
    return node->kind == NODE_FIELD || node->kind == NODE_INDEX ||
           (node->kind == NODE_UNARY && node->unary.op == OPERATOR_DEREFERENCE);
}

static struct location location_of_pointer(struct lowering *l, struct node *pointer, int32_t offset)
{
    return (struct location){
        .base = lower_scalar(l, pointer), .offset = offset, .space = lower_space(l, pointer->type)};
}

static struct location location_of_field(struct lowering *l, struct node *node)
{
    struct node *object = node->field.object;
    const struct field *found = &node->field.found;
    if (is_args(l, object))
        return (struct location){.base = args_field(l, node), .space = SPACE_BPF};
    if (object->type->kind == TYPE_POINTER)
        return location_of_pointer(l, object, (int32_t)found->offset);
    struct location location = lower_location(l, object);
    location.offset +=
        object->type->kind == TYPE_TUPLE && node->field.element < object->type->count && !node->field.name
            ? (int32_t)object->type->fields[node->field.element].offset
            : (int32_t)found->offset;
    return location;
}

/* Beyond the end of an array nothing is read: the value is zero, and it counts as a fault. */
static struct ir *bounded(struct lowering *l, struct ir *index, uint32_t count, struct place place)
{
    struct ir_builder *b = &l->b;
    uint32_t variable = ir_variable(b);
    struct ir_block *end = ir_block_new(b);
    struct ir_block *outside = lower_unlikely(l, ir_binary_constant(b, IR_UGE, index, count));
    ir_write(b, variable, index);
    ir_jump(b, end);
    ir_enter(b, outside);
    lower_mishap(l, MISHAP_FAULT, place, -1, NULL);
    ir_write(b, variable, ir_constant(b, 0));
    ir_jump(b, end);
    ir_seal(b, end);
    ir_enter(b, end);
    return ir_read(b, variable);
}

static struct location location_of_element(struct lowering *l, struct node *node)
{
    struct ir_builder *b = &l->b;
    struct node *left = node->binary.left;
    const struct type *element = left->type->target;
    uint32_t size = element && element->size ? element->size : 1;
    bool is_pointer = left->type->kind == TYPE_POINTER;
    uint32_t count = left->type->kind == TYPE_STRING ? left->type->size : left->type->count;
    struct location location = is_pointer ? location_of_pointer(l, left, 0) : lower_location(l, left);
    struct ir *index = lower_scalar(l, node->binary.right);
    int64_t offset = index->op == IR_CONSTANT ? index->immediate * (int64_t)size : -1;
    if (index->op == IR_CONSTANT && offset >= 0 && offset <= 4096 &&
        (is_pointer || index->immediate < count)) {
        location.offset += (int32_t)offset;
        return location;
    }
    if (!is_pointer)
        index = bounded(l, index, count, node->place);
    location.base = ir_binary(b, IR_ADD, ir_offset(b, location.base, location.offset),
                              ir_binary_constant(b, IR_MUL, index, size));
    location.offset = 0;
    if (location.is_direct) {
        location.is_direct = false;
        location.space = SPACE_BPF;
    }
    return location;
}

struct location lower_location(struct lowering *l, struct node *node)
{
    if (node->kind == NODE_FIELD)
        return location_of_field(l, node);
    if (node->kind == NODE_INDEX)
        return location_of_element(l, node);
    if (lower_is_stored(node))
        return location_of_pointer(l, node->unary.operand, 0);
    struct memory memory = lower_memory(l, node);
    return (struct location){
        .is_direct = true, .base = memory.base, .offset = memory.offset, .space = SPACE_BPF};
}

static struct ir *address_of(struct lowering *l, const struct location *location)
{
    return ir_offset(&l->b, location->base, location->offset);
}

static bool is_tuple_element(const struct node *node)
{
    return node->kind == NODE_FIELD && node->field.object->type->kind == TYPE_TUPLE;
}

/* The bytes that hold the field are read as one word, then shifted to the top and back. */
static struct ir *read_bit_field(struct lowering *l, const struct location *location,
                                 const struct field *field, struct place place)
{
    struct ir_builder *b = &l->b;
    struct memory word = lower_temporary(l, 8, true);
    uint32_t bits = field->bit_offset + field->bit_size;
    uint32_t bytes = bits > 56 ? 8 : (bits + 7) / 8;
    lower_read(l, word, bytes, address_of(l, location), location->space, place);
    struct ir *value = ir_load(b, word.base, word.offset, 8, false);
    value = ir_binary_constant(b, IR_SHL, value, bits < 64 ? 64 - bits : 0);
    value = ir_binary_constant(b, field->type->is_signed ? IR_ASHR : IR_LSHR, value,
                               field->bit_size < 64 ? 64 - field->bit_size : 0);
    return field->type->kind == TYPE_BOOL ? ir_binary_constant(b, IR_NE, value, 0) : value;
}

struct ir *lower_access_scalar(struct lowering *l, struct node *node)
{
    if (node->kind == NODE_FIELD && is_args(l, node->field.object))
        return args_field(l, node);
    struct location location = lower_location(l, node);
    if (is_tuple_element(node))
        return ir_load(&l->b, location.base, location.offset, 8, false);
    if (node->kind == NODE_FIELD && node->field.found.bit_size)
        return read_bit_field(l, &location, &node->field.found, node->place);
    const struct type *type = node->type;
    uint32_t size = type->size;
    bool is_plain = size == 1 || size == 2 || size == 4 || size == 8;
    if (location.is_direct && is_plain && location.offset % (int32_t)size == 0) {
        struct ir *value = ir_load(&l->b, location.base, location.offset, size, type->is_signed);
        return type->kind == TYPE_BOOL ? ir_binary_constant(&l->b, IR_NE, value, 0) : value;
    }
    return lower_read_scalar(l, address_of(l, &location), type, location.space, node->place);
}

void lower_access_into(struct lowering *l, struct node *node, struct memory to)
{
    struct location location = lower_location(l, node);
    if (is_tuple_element(node) || node->type->kind == TYPE_TUPLE)
        lower_copy(l, to, (struct memory){location.base, location.offset}, type_storage(node->type));
    else if (node->type->kind == TYPE_STRING)
        lower_read_string(l, to, node->type->size, NULL, address_of(l, &location), location.space, true,
                          node->place);
    else
        lower_read(l, to, node->type->size, address_of(l, &location), location.space, node->place);
}

struct ir *lower_pointer(struct lowering *l, struct node *node, enum address_space *space)
{
    if (type_is_scalar(node->type) || type_is_aggregation(node->type)) {
        *space = lower_space(l, node->type);
        return lower_scalar(l, node);
    }
    struct location location = lower_location(l, node);
    *space = location.space;
    return address_of(l, &location);
}
