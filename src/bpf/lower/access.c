/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields, elements and dereferences. A chain such as p->a.b[2].c is followed to an address first; only what the
 * script needs is read in the end. The checker has decided which fields exist. */
#include <assert.h>

#include "bpf/lower/state.h"

static bool is_args(const struct lowering *l, const struct node *node)
{
    const struct builtin *builtin = lower_builtin(node);
    return l->context->args && builtin && builtin->flags & BUILTIN_USES_ARGS;
}

/* Lowers a field of args. The checker found it in the type of args as a whole, which may not be where the probe
 * kind has it. */
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
        return (struct location){.base = args_field(l, node), .space = lower_args_space(l)};
    if (object->type->kind == TYPE_POINTER)
        return location_of_pointer(l, object, (int32_t)found->offset);
    struct location location = lower_location(l, object);
    location.offset +=
        object->type->kind == TYPE_TUPLE && node->field.element < object->type->count && !node->field.name
            ? (int32_t)object->type->fields[node->field.element].offset
            : (int32_t)found->offset;
    return location;
}

/* Returns the address of an element. Beyond the end of an array it is 0: what is read there is 0, and counts as a
 * fault. */
static struct ir *bounded(struct lowering *l, struct ir *array, struct ir *index, uint32_t count,
                          uint32_t size)
{
    struct ir_builder *b = &l->b;
    uint32_t variable = ir_variable(b);
    struct ir_block *end = ir_label(b);
    struct ir_block *outside = lower_unlikely(l, ir_binary_constant(b, IR_UGE, index, count));
    ir_write(b, variable, ir_binary(b, IR_ADD, array, ir_binary_constant(b, IR_MUL, index, size)));
    ir_jump(b, end);
    ir_place(b, outside);
    ir_write(b, variable, ir_constant(b, 0));
    ir_place(b, end);
    return ir_read(b, variable);
}

static struct location location_of_element(struct lowering *l, struct node *node)
{
    struct ir_builder *b = &l->b;
    struct node *left = node->binary.left;
    const struct type *element = left->type->target;
    uint32_t size = element && element->size ? element->size : 1;
    bool is_pointer = left->type->kind == TYPE_POINTER;
    uint32_t count = type_characters(left->type);
    struct location location = is_pointer ? location_of_pointer(l, left, 0) : lower_location(l, left);
    /* it is unknown where x[] ends, at the end of a struct in traced memory */
    bool is_open = is_pointer || (left->type->kind == TYPE_ARRAY && !count && location.space != SPACE_BPF);
    struct ir *index = lower_scalar(l, node->binary.right);
    int64_t offset = index->op == IR_CONSTANT ? index->immediate * (int64_t)size : -1;
    if (index->op == IR_CONSTANT && offset >= 0 && offset <= 4096 && (is_open || index->immediate < count)) {
        location.offset += (int32_t)offset;
        return location;
    }
    struct ir *array = ir_offset(b, location.base, location.offset);
    if (is_open)
        location.base = ir_binary(b, IR_ADD, array, ir_binary_constant(b, IR_MUL, index, size));
    else
        location.base = bounded(l, array, index, count, size);
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

struct ir *lower_address_of(struct lowering *l, struct node *node)
{
    if (node->kind == NODE_VARIABLE)
        return lower_pointer_number(l, lower_address(l, lower_variable_memory(l, node->variable.symbol)));
    if (node->kind == NODE_MAP)
        return lower_pointer_number(l, lower_map_lookup(l, node->map.symbol, lower_map_key(l, node)));
    struct location location = lower_location(l, node);
    struct ir *address = address_of(l, &location);
    return location.is_direct ? lower_pointer_number(l, address) : address;
}

/* Reads a bit-field: the bytes that have it are read as one word, which is shifted to the top and back. A packed
 * field may end in a ninth byte. */
static struct ir *read_bit_field(struct lowering *l, const struct location *location,
                                 const struct field *field, struct span span)
{
    struct ir_builder *b = &l->b;
    uint32_t bits = field->bit_offset + field->bit_size;
    struct ir *value;
    if (location->is_direct && bits <= 64 - 8 * ((uint32_t)location->offset % 8)) {
        /* In the program's own memory, the aligned word of 8 bytes is read. */
        int32_t skip = location->offset % 8;
        value = ir_load(b, location->base, location->offset - skip, 8, false);
        value = ir_binary_constant(b, IR_LSHR, value, 8 * skip);
    } else {
        struct memory word = lower_temporary(l, bits > 64 ? 16 : 8, true);
        lower_read(l, word, (bits + 7) / 8, address_of(l, location), location->space, span);
        value = ir_load(b, word.base, word.offset, 8, false);
        if (bits > 64) {
            struct ir *last = ir_load(b, word.base, word.offset + 8, 1, false);
            value = ir_binary_constant(b, IR_LSHR, value, field->bit_offset);
            value = ir_binary(b, IR_OR, value, ir_binary_constant(b, IR_SHL, last, 64 - field->bit_offset));
            bits = field->bit_size;
        }
    }
    value = ir_binary_constant(b, IR_SHL, value, bits < 64 ? 64 - bits : 0);
    value = ir_binary_constant(b, field->type->is_signed ? IR_ASHR : IR_LSHR, value,
                               field->bit_size < 64 ? 64 - field->bit_size : 0);
    return field->type->kind == TYPE_BOOL ? ir_binary_constant(b, IR_NE, value, 0) : value;
}

/* Returns the map of whose value a node is a member, and the member's offset if that is constant; NULL: there is
 * none. */
static struct node *map_of_member(struct node *node, int32_t *offset)
{
    *offset = 0;
    for (;;) {
        if (node->kind == NODE_MAP)
            return !type_is_aggregation(node->map.symbol->value) &&
                           type_equal(node->type, node->map.symbol->value)
                       ? node
                       : NULL;
        if (node->kind == NODE_FIELD && !node->field.found.data_loc &&
            !type_is_scalar(node->field.object->type)) {
            const struct type *tuple = node->field.object->type;
            *offset += tuple->kind == TYPE_TUPLE && !node->field.name
                           ? (int32_t)tuple->fields[node->field.element].offset
                           : (int32_t)node->field.found.offset;
            node = node->field.object;
        } else if (node->kind == NODE_INDEX && node->binary.left->type->kind == TYPE_ARRAY &&
                   node->binary.right->kind == NODE_INTEGER) {
            *offset += (int32_t)(node->binary.right->integer.value * node->binary.left->type->target->size);
            node = node->binary.left;
        } else
            return NULL;
    }
}

static struct ir *read_scalar(struct lowering *l, struct node *node, struct location location);

struct ir *lower_access_scalar(struct lowering *l, struct node *node)
{
    if (node->kind == NODE_FIELD && is_args(l, node->field.object))
        return args_field(l, node);
    int32_t offset;
    struct node *map = map_of_member(node, &offset);
    return map ? lower_map_member(l, map, read_scalar, node, offset)
               : read_scalar(l, node, lower_location(l, node));
}

static struct ir *read_scalar(struct lowering *l, struct node *node, struct location location)
{
    if (is_tuple_element(node)) {
        if (location.is_direct)
            return ir_load(&l->b, location.base, location.offset, 8, false);
        return lower_read_scalar(l, address_of(l, &location), &type_u64, location.space, node->span);
    }
    if (node->kind == NODE_FIELD && node->field.found.bit_size)
        return read_bit_field(l, &location, &node->field.found, node->span);
    const struct type *type = node->type;
    uint32_t size = type->size;
    bool is_plain = size == 1 || size == 2 || size == 4 || size == 8;
    if (location.is_direct && is_plain && location.offset % (int32_t)size == 0) {
        struct ir *value = ir_load(&l->b, location.base, location.offset, size, type->is_signed);
        return type->kind == TYPE_BOOL ? ir_binary_constant(&l->b, IR_NE, value, 0) : value;
    }
    return lower_read_scalar(l, address_of(l, &location), type, location.space, node->span);
}

/* Copies a value that is inside of another one. What follows a struct or an array there is not part of it. */
static void lower_copy_value(struct lowering *l, struct memory to, struct memory from,
                             const struct type *type)
{
    uint32_t size = type->size, rest = size % 8;
    if ((type->kind != TYPE_STRUCT && type->kind != TYPE_ARRAY) || !rest) {
        lower_copy(l, to, from, type_storage(type));
        return;
    }
    if (size > 8)
        lower_copy(l, to, from, size - rest);
    struct ir *last = ir_load(&l->b, from.base, from.offset + (int32_t)(size - rest), 8, false);
    last = ir_binary_constant(&l->b, IR_AND, last, (int64_t)((UINT64_C(1) << 8 * rest) - 1));
    ir_store(&l->b, to.base, to.offset + (int32_t)(size - rest), 8, last);
}

void lower_access_into(struct lowering *l, struct node *node, struct destination *destination)
{
    const struct memory to = destination->memory;
    struct location location = lower_location(l, node);
    enum type_kind kind = node->type->kind;
    if (location.is_direct && (is_tuple_element(node) || (kind != TYPE_STRING && !(location.offset % 8))))
        lower_copy_value(l, to, (struct memory){location.base, location.offset}, node->type);
    else if (kind == TYPE_STRING)
        lower_read_string(l, destination, type_characters(node->type), NULL, address_of(l, &location),
                          location.space, TEXT_PADDED | (node->type->count ? TEXT_BOUNDED : 0), node->span);
    else
        lower_read(l, to,
                   kind == TYPE_STRUCT || kind == TYPE_ARRAY ? node->type->size : type_storage(node->type),
                   address_of(l, &location), location.space, node->span);
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
