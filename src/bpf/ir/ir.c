/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the intermediate representation in SSA form: variables are renamed while code is built, after Braun et
 * al., "Simple and Efficient Construction of Static Single Assignment Form".
 *
 * Only constants are folded; nothing else is optimised here. The invariant: an instruction belongs to exactly one
 * block's list, a block's predecessors are exactly the blocks whose last instruction names it, and a phi of a
 * sealed block has one argument for each of them, in their order. */
#include "bpf/ir/ir.h"

#include <assert.h>
#include <stdarg.h>

#include "bpf/ir/edit.h"

struct ir_binding {
    uint32_t block; /* number of the block + 1; 0: the slot is free */
    uint32_t variable;
    struct ir *value;
};

/* Programs, functions, blocks */

struct ir_program *ir_program_new(struct arena *arena, const struct features *features)
{
    struct ir_program *program = arena_new(arena, struct ir_program);
    program->arena = arena;
    program->features = features;
    return program;
}

struct ir_block *ir_block_append(struct ir_function *function)
{
    struct ir_block *block = arena_new(function->program->arena, struct ir_block);
    block->function = function;
    block->number = function->block_count++;
    if (function->last)
        function->last->next = block;
    else
        function->first = block;
    function->last = block;
    return block;
}

struct ir_function *ir_function_new(struct ir_program *program, const char *name, uint8_t parameters)
{
    struct ir_function *function = arena_new(program->arena, struct ir_function);
    function->program = program;
    function->name = name;
    function->parameters = parameters;
    if (program->last_function)
        program->last_function->next = function;
    else
        program->functions = function;
    program->last_function = function;
    struct ir_block *entry = ir_block_append(function);
    entry->sealed = true;
    entry->entered = ++function->entered_count;
    return function;
}

struct ir_block *ir_block_new(struct ir_builder *b)
{
    return ir_block_append(b->function);
}

void ir_enter(struct ir_builder *b, struct ir_block *block)
{
    assert(block->function == b->function);
    b->block = block;
    if (!block->entered)
        block->entered = ++block->function->entered_count;
}

bool ir_ended(const struct ir_builder *b)
{
    return b->block->last && ir_is_terminator(b->block->last->op);
}

/* Lists */

struct ir *ir_new(struct ir_function *function, enum ir_op op, struct span span)
{
    struct ir *ir = arena_new(function->program->arena, struct ir);
    ir->op = op;
    ir->span = span;
    ir->number = function->value_count++;
    return ir;
}

static void insert_between(struct ir_block *block, struct ir *previous, struct ir *next, struct ir *ir)
{
    ir->block = block;
    ir->previous = previous;
    ir->next = next;
    *(previous ? &previous->next : &block->first) = ir;
    *(next ? &next->previous : &block->last) = ir;
}

void ir_insert_before(struct ir *at, struct ir *ir)
{
    insert_between(at->block, at->previous, at, ir);
}

void ir_append(struct ir_block *block, struct ir *ir)
{
    insert_between(block, block->last, NULL, ir);
}

static bool belongs_at_start(const struct ir *ir)
{
    return ir->op == IR_PHI || ir->op == IR_CONTEXT || ir->op == IR_PARAMETER || ir->op == IR_FRAME;
}

void ir_insert_first(struct ir_block *block, struct ir *ir)
{
    struct ir *next = block->first;
    while (next && belongs_at_start(next))
        next = next->next;
    insert_between(block, next ? next->previous : block->last, next, ir);
}

void ir_remove(struct ir *ir)
{
    *(ir->previous ? &ir->previous->next : &ir->block->first) = ir->next;
    *(ir->next ? &ir->next->previous : &ir->block->last) = ir->previous;
    ir->previous = ir->next = NULL;
    ir->block = NULL;
}

void ir_replace(struct ir *old, struct ir *value)
{
    value = ir_resolve(value);
    assert(value != old);
    ir_remove(old);
    old->forward = value;
}

static struct ir *make(struct ir_builder *b, enum ir_op op)
{
    if (ir_ended(b)) {
        ir_enter(b, ir_block_append(b->function));
        b->block->sealed = true;
    }
    struct ir *ir = ir_new(b->function, op, b->span);
    ir->comment = b->comment;
    ir->part = b->part;
    ir_append(b->block, ir);
    return ir;
}

/* Makes an instruction at the beginning of the function: parameters before frames before everything else, so that
 * both are there for all code, and parameters are read before their registers are used for anything else. */
static struct ir *make_at_entry(struct ir_builder *b, enum ir_op op)
{
    struct ir_block *entry = b->function->first;
    struct ir *ir = ir_new(b->function, op, b->span);
    ir->comment = b->comment;
    struct ir *next = entry->first;
    while (next && belongs_at_start(next) && (op == IR_FRAME || op == IR_CONSTANT || next->op != IR_FRAME))
        next = next->next;
    insert_between(entry, next ? next->previous : entry->last, next, ir);
    return ir;
}

/* Variables */

static size_t binding_slot(const struct ir_function *function, uint32_t block, uint32_t variable)
{
    uint64_t hash = ((uint64_t)block << 32 | variable) * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash >> 20) & (function->binding_room - 1);
    while (function->bindings[slot].block &&
           (function->bindings[slot].block != block || function->bindings[slot].variable != variable))
        slot = (slot + 1) & (function->binding_room - 1);
    return slot;
}

static void binding_set(struct ir_function *function, uint32_t block, uint32_t variable, struct ir *value)
{
    if (function->binding_count * 2 >= function->binding_room) {
        struct ir_binding *old = function->bindings;
        size_t old_room = function->binding_room;
        function->binding_room = old_room ? old_room * 2 : 64;
        function->bindings =
            arena_array(function->program->arena, function->binding_room, sizeof *function->bindings);
        for (size_t i = 0; i < old_room; i++)
            if (old[i].block)
                function->bindings[binding_slot(function, old[i].block, old[i].variable)] = old[i];
    }
    struct ir_binding *binding = &function->bindings[binding_slot(function, block, variable)];
    function->binding_count += !binding->block;
    *binding = (struct ir_binding){.block = block, .variable = variable, .value = value};
}

static struct ir *binding_get(const struct ir_function *function, uint32_t block, uint32_t variable)
{
    if (!function->binding_room)
        return NULL;
    return ir_resolve(function->bindings[binding_slot(function, block, variable)].value);
}

uint32_t ir_variable(struct ir_builder *b)
{
    return b->function->variable_count++;
}

void ir_write(struct ir_builder *b, uint32_t variable, struct ir *value)
{
    assert(variable < b->function->variable_count);
    binding_set(b->function, b->block->number + 1, variable, ir_resolve(value));
}

static struct ir *phi_new(struct ir_builder *b, struct ir_block *block, uint32_t variable)
{
    struct ir *phi = ir_new(b->function, IR_PHI, b->span);
    phi->immediate = variable;
    insert_between(block, NULL, block->first, phi);
    binding_set(b->function, block->number + 1, variable, phi);
    return phi;
}

/* Returns the value of a variable at the end of a block. A phi that this makes in a sealed block is left pending. */
static struct ir *variable_at(struct ir_builder *b, struct ir_block *block, uint32_t variable)
{
    struct ir_function *function = b->function;
    struct ir_block *at = block;
    struct ir *value = NULL;
    /* No block is visited twice, because a circle of blocks that cannot be reached would be followed for ever. */
    for (uint32_t steps = 0; steps <= function->block_count; steps++) {
        value = binding_get(function, at->number + 1, variable);
        if (value)
            break;
        if (!at->sealed) {
            value = phi_new(b, at, variable);
            *arena_push(function->program->arena, at->incomplete, at->incomplete_count, at->incomplete_room) =
                value;
            break;
        }
        if (at->predecessor_count > 1) {
            value = phi_new(b, at, variable);
            *arena_push(function->program->arena, function->pending, function->pending_count,
                        function->pending_room) = value;
            break;
        }
        if (!at->predecessor_count)
            break;
        at = at->predecessors[0];
    }
    if (!value)
        value = make_at_entry(b, IR_CONSTANT);
    if (at != block)
        binding_set(function, block->number + 1, variable, value);
    return value;
}

/* Replaces a phi that has only one value (and itself) by that value. False: it has more. */
static bool phi_remove_trivial(struct ir *phi)
{
    struct ir *same = NULL;
    for (uint32_t i = 0; i < phi->argument_count; i++) {
        struct ir *argument = phi->arguments[i] = ir_resolve(phi->arguments[i]);
        if (argument == phi || argument == same)
            continue;
        if (same)
            return false;
        same = argument;
    }
    if (!same)
        return false;
    ir_replace(phi, same);
    return true;
}

static void phi_fill(struct ir_builder *b, struct ir *phi)
{
    struct ir_block *block = phi->block;
    phi->arguments = arena_array(b->program->arena, block->predecessor_count, sizeof *phi->arguments);
    phi->argument_room = (uint32_t)block->predecessor_count;
    for (size_t i = 0; i < block->predecessor_count; i++)
        phi->arguments[i] = variable_at(b, block->predecessors[i], (uint32_t)phi->immediate);
    phi->argument_count = (uint32_t)block->predecessor_count;
}

static void phis_finish(struct ir_builder *b)
{
    struct ir_function *function = b->function;
    for (size_t i = 0; i < function->pending_count; i++)
        if (function->pending[i]->block && !function->pending[i]->argument_count)
            phi_fill(b, function->pending[i]);
    while (function->pending_count) {
        struct ir *phi = function->pending[--function->pending_count];
        if (phi->block)
            phi_remove_trivial(phi);
    }
}

struct ir *ir_read(struct ir_builder *b, uint32_t variable)
{
    assert(variable < b->function->variable_count);
    struct ir *value = variable_at(b, b->block, variable);
    phis_finish(b);
    return ir_resolve(value);
}

void ir_seal(struct ir_builder *b, struct ir_block *block)
{
    assert(!block->sealed);
    block->sealed = true;
    for (size_t i = 0; i < block->incomplete_count; i++) {
        struct ir *phi = block->incomplete[i];
        if (!block->predecessor_count) /* it cannot be reached: no value was written on the way to it */
            ir_replace(phi, make_at_entry(b, IR_CONSTANT));
        else
            *arena_push(b->program->arena, b->function->pending, b->function->pending_count,
                        b->function->pending_room) = phi;
    }
    block->incomplete_count = 0;
    phis_finish(b);
}

/* Instructions */

struct ir *ir_constant(struct ir_builder *b, int64_t value)
{
    struct ir *ir = make(b, IR_CONSTANT);
    ir->immediate = value;
    return ir;
}

struct ir *ir_constant_before(struct ir *at, int64_t value)
{
    struct ir *ir = ir_new(at->block->function, IR_CONSTANT, at->span);
    ir->immediate = value;
    ir_insert_before(at, ir);
    return ir;
}

struct ir *ir_context(struct ir_builder *b)
{
    assert(b->function->parameters >= 1);
    if (!b->function->context)
        b->function->context = make_at_entry(b, IR_CONTEXT);
    return b->function->context;
}

struct ir *ir_parameter(struct ir_builder *b, unsigned number)
{
    assert(number < b->function->parameters);
    if (!number)
        return ir_context(b);
    for (struct ir *ir = b->function->first->first; ir && belongs_at_start(ir); ir = ir->next)
        if (ir->op == IR_PARAMETER && ir->immediate == (int64_t)number)
            return ir;
    struct ir *ir = make_at_entry(b, IR_PARAMETER);
    ir->immediate = number;
    return ir;
}

struct ir *ir_frame(struct ir_builder *b, uint32_t bytes)
{
    struct ir *ir = make_at_entry(b, IR_FRAME);
    ir->immediate = ((int64_t)bytes + 7) & ~(int64_t)7;
    return ir;
}

struct ir *ir_map(struct ir_builder *b, uint32_t map)
{
    struct ir *ir = make(b, IR_MAP);
    ir->immediate = map;
    return ir;
}

struct ir *ir_ring(struct ir_builder *b, uint32_t map, uint32_t cpu)
{
    struct ir *ir = ir_map(b, map);
    ir->offset = (int32_t)cpu + 1;
    return ir;
}

struct ir *ir_map_value(struct ir_builder *b, uint32_t map, int32_t offset)
{
    struct ir *ir = make(b, IR_MAP_VALUE);
    ir->immediate = map;
    ir->offset = offset;
    return ir;
}

struct ir *ir_function_address(struct ir_builder *b, struct ir_function *function)
{
    struct ir *ir = make(b, IR_FUNCTION);
    ir->callee = function;
    return ir;
}

struct ir *ir_binary(struct ir_builder *b, enum ir_op op, struct ir *x, struct ir *y)
{
    assert(ir_is_binary(op) || ir_is_compare(op));
    x = ir_resolve(x);
    y = ir_resolve(y);
    if (x->op == IR_CONSTANT && y->op == IR_CONSTANT)
        return ir_constant(b, ir_fold_binary(op, x->immediate, y->immediate));
    struct ir *ir = make(b, op);
    ir->a = x;
    ir->b = y;
    return ir;
}

struct ir *ir_binary_constant(struct ir_builder *b, enum ir_op op, struct ir *x, int64_t y)
{
    x = ir_resolve(x);
    if (x->op == IR_CONSTANT)
        return ir_constant(b, ir_fold_binary(op, x->immediate, y));
    return ir_binary(b, op, x, ir_constant(b, y));
}

struct ir *ir_unary(struct ir_builder *b, enum ir_op op, struct ir *x)
{
    assert(op == IR_NEG || op == IR_NOT);
    x = ir_resolve(x);
    if (x->op == IR_CONSTANT)
        return ir_constant(b, op == IR_NEG ? (int64_t)(0 - (uint64_t)x->immediate) : ~x->immediate);
    struct ir *ir = make(b, op);
    ir->a = x;
    return ir;
}

struct ir *ir_bswap(struct ir_builder *b, struct ir *x, unsigned size)
{
    assert(size == 2 || size == 4 || size == 8);
    x = ir_resolve(x);
    if (x->op == IR_CONSTANT)
        return ir_constant(b, ir_fold_bswap(x->immediate, size));
    struct ir *ir = make(b, IR_BSWAP);
    ir->a = x;
    ir->size = (uint8_t)size;
    return ir;
}

struct ir *ir_extend(struct ir_builder *b, struct ir *x, unsigned size, bool is_signed)
{
    assert(size == 1 || size == 2 || size == 4 || size == 8);
    x = ir_resolve(x);
    if (size == 8)
        return x;
    if (x->op == IR_CONSTANT)
        return ir_constant(b, ir_fold_extend(x->immediate, size, is_signed));
    struct ir *ir = make(b, IR_EXTEND);
    ir->a = x;
    ir->size = (uint8_t)size;
    ir->is_signed = is_signed;
    return ir;
}

static struct ir *make_access(struct ir_builder *b, enum ir_op op, struct ir *base, int32_t offset,
                              unsigned size, struct ir *value)
{
    assert(size == 1 || size == 2 || size == 4 || size == 8);
    struct ir *ir = make(b, op);
    ir->a = ir_resolve(base);
    ir->offset = offset;
    ir->size = (uint8_t)size;
    ir->b = ir_resolve(value);
    return ir;
}

struct ir *ir_load(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size, bool is_signed)
{
    struct ir *ir = make_access(b, IR_LOAD, base, offset, size, NULL);
    ir->is_signed = is_signed && size < 8;
    return ir;
}

void ir_store(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size, struct ir *value)
{
    make_access(b, IR_STORE, base, offset, size, value);
}

void ir_store_constant(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size, int64_t value)
{
    ir_store(b, base, offset, size, ir_constant(b, value));
}

void ir_atomic_add(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size, struct ir *value)
{
    make_access(b, IR_ATOMIC_ADD, base, offset, size, value);
}

struct ir *ir_atomic_exchange(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size,
                              struct ir *value)
{
    return make_access(b, IR_ATOMIC_EXCHANGE, base, offset, size, value);
}

struct ir *ir_atomic_compare(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size,
                             struct ir *expected, struct ir *value)
{
    struct ir *ir = make_access(b, IR_ATOMIC_COMPARE, base, offset, size, expected);
    ir->c = ir_resolve(value);
    return ir;
}

static void take_arguments(struct ir_builder *b, struct ir *call, unsigned count, va_list list)
{
    assert(count <= 5);
    call->arguments = arena_array(b->program->arena, count, sizeof *call->arguments);
    call->argument_count = call->argument_room = count;
    for (unsigned i = 0; i < count; i++)
        call->arguments[i] = ir_resolve(va_arg(list, struct ir *));
}

struct ir *ir_call(struct ir_builder *b, int64_t helper, unsigned count, ...)
{
    struct ir *ir = make(b, IR_CALL);
    ir->immediate = helper;
    va_list list;
    va_start(list, count);
    take_arguments(b, ir, count, list);
    va_end(list);
    return ir;
}

struct ir *ir_call_local(struct ir_builder *b, struct ir_function *callee, unsigned count, ...)
{
    struct ir *ir = make(b, IR_CALL_LOCAL);
    ir->callee = callee;
    va_list list;
    va_start(list, count);
    take_arguments(b, ir, count, list);
    va_end(list);
    return ir;
}

/* Ends of blocks */

static void edge_add(struct ir_builder *b, struct ir_block *from, struct ir_block *to)
{
    assert(!to->sealed);
    *arena_push(b->program->arena, to->predecessors, to->predecessor_count, to->predecessor_room) = from;
}

void ir_jump(struct ir_builder *b, struct ir_block *to)
{
    struct ir *ir = make(b, IR_JUMP);
    ir->to[0] = to;
    edge_add(b, b->block, to);
}

void ir_branch(struct ir_builder *b, struct ir *condition, struct ir_block *yes, struct ir_block *no)
{
    if (yes == no) {
        ir_jump(b, yes);
        return;
    }
    struct ir *ir = make(b, IR_BRANCH);
    ir->a = ir_resolve(condition);
    ir->to[0] = yes;
    ir->to[1] = no;
    edge_add(b, b->block, yes);
    edge_add(b, b->block, no);
}

void ir_return(struct ir_builder *b, struct ir *value)
{
    make(b, IR_RETURN)->a = ir_resolve(value);
}

void ir_edge_remove(struct ir_block *from, struct ir_block *to)
{
    size_t index = 0;
    while (index < to->predecessor_count && to->predecessors[index] != from)
        index++;
    if (index == to->predecessor_count)
        return;
    to->predecessor_count--;
    for (size_t i = index; i < to->predecessor_count; i++)
        to->predecessors[i] = to->predecessors[i + 1];
    for (struct ir *phi = to->first; phi && phi->op == IR_PHI; phi = phi->next) {
        phi->argument_count--;
        for (size_t i = index; i < phi->argument_count; i++)
            phi->arguments[i] = phi->arguments[i + 1];
    }
}

/* Memory */

struct ir *ir_offset(struct ir_builder *b, struct ir *base, int32_t offset)
{
    return offset ? ir_binary_constant(b, IR_ADD, base, offset) : ir_resolve(base);
}

void ir_zero(struct ir_builder *b, struct ir *base, int32_t offset, uint32_t bytes)
{
    assert(bytes % 8 == 0);
    if (!bytes)
        return;
    struct ir *zero = ir_constant(b, 0);
    for (uint32_t i = 0; i < bytes; i += 8)
        ir_store(b, base, offset + (int32_t)i, 8, zero);
}

void ir_copy(struct ir_builder *b, struct ir *to, int32_t to_offset, struct ir *from, int32_t from_offset,
             uint32_t bytes)
{
    assert(bytes % 8 == 0);
    for (uint32_t i = 0; i < bytes; i += 8)
        ir_store(b, to, to_offset + (int32_t)i, 8, ir_load(b, from, from_offset + (int32_t)i, 8, false));
}
