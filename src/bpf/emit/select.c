/* SPDX-License-Identifier: BSD-3-Clause */
/* Instruction selection: from the representation of the passes to the form of machine.h.
 *
 * Lowers what the target lacks (signed division, sign-extending loads), folds addresses, immediates and comparisons
 * into the instructions that use them, and splits critical edges. Adds no instruction that the encoding does not
 * need, and never moves one across another. */
#include "bpf/emit/machine.h"

#include <assert.h>

struct ir *ir_leaf_copy(struct ir_function *function, const struct ir *leaf, struct span span)
{
    struct ir *copy = ir_new(function, leaf->op, span);
    uint32_t number = copy->number;
    *copy = *leaf;
    copy->number = number;
    copy->span = span;
    copy->block = NULL;
    copy->previous = copy->next = copy->forward = NULL;
    return copy;
}

struct ir *ir_frame_leaf(struct ir_function *function, struct ir *object, int32_t offset, struct span span)
{
    struct ir *leaf = ir_new(function, IR_FRAME, span);
    leaf->immediate = object->immediate;
    leaf->mark = object;
    leaf->offset = offset;
    return leaf;
}

static bool moves_operand(const struct ir *ir, unsigned index)
{
    switch (ir->op) {
    case IR_CALL:
    case IR_CALL_LOCAL:
    case IR_PHI:
    case IR_RETURN: return true;
    case IR_NEG:
    case IR_BSWAP:
    case IR_EXTEND: return index == 0;
    case IR_ATOMIC_EXCHANGE:
    case IR_ATOMIC_COMPARE: return index == 1;
    default: return ir_is_binary(ir->op) && index == 0;
    }
}

bool ir_holds_directly(const struct ir *ir, unsigned index, const struct ir *leaf)
{
    if (moves_operand(ir, index))
        return true;
    if (leaf->op == IR_CONSTANT && index == 1) {
        if (ir->op == IR_STORE || ir->op == IR_BRANCH || ir_is_binary(ir->op) || ir_is_compare(ir->op))
            return fits_immediate(leaf->immediate);
        return false;
    }
    if (leaf->op == IR_FRAME && index == 0)
        return ir->op == IR_LOAD || ir->op == IR_STORE || ir->op == IR_ATOMIC_ADD ||
               ir->op == IR_ATOMIC_EXCHANGE || ir->op == IR_ATOMIC_COMPARE;
    return false;
}

void ir_set_leaf(struct ir *user, unsigned index, const struct ir *leaf)
{
    struct ir *copy = ir_leaf_copy(user->block->function, leaf, user->span);
    *ir_operand(user, index) = copy;
    if (!ir_holds_directly(user, index, leaf))
        ir_insert_before(user, copy);
}

/* What the target lacks */

static struct ir *before(struct ir *at, enum ir_op op, struct ir *a, struct ir *b)
{
    struct ir *ir = ir_new(at->block->function, op, at->span);
    ir->comment = at->comment;
    ir->a = a;
    ir->b = b;
    ir_insert_before(at, ir);
    return ir;
}

/* Lowers a signed division to an unsigned one: with s = -1 for a negative x and 0 otherwise, (x ^ s) - s is |x|,
 * and applied to |x| gives x back. This is right for the smallest integer, too, and a zero divisor gives what eBPF
 * gives. */
static void lower_signed_division(struct ir *ir)
{
    struct ir *bits = ir_constant_before(ir, 63);
    struct ir *sign = before(ir, IR_ASHR, ir->a, bits);
    struct ir *dividend = before(ir, IR_SUB, before(ir, IR_XOR, ir->a, sign), sign);
    struct ir *divisor, *result_sign;
    if (ir->b->op == IR_CONSTANT) {
        uint64_t magnitude = (uint64_t)ir->b->immediate;
        bool negative = ir->b->immediate < 0;
        divisor = ir_constant_before(ir, (int64_t)(negative ? 0 - magnitude : magnitude));
        result_sign =
            negative && ir->op == IR_SDIV ? before(ir, IR_XOR, sign, ir_constant_before(ir, -1)) : sign;
    } else {
        struct ir *divisor_sign = before(ir, IR_ASHR, ir->b, bits);
        divisor = before(ir, IR_SUB, before(ir, IR_XOR, ir->b, divisor_sign), divisor_sign);
        result_sign = ir->op == IR_SDIV ? before(ir, IR_XOR, sign, divisor_sign) : sign;
    }
    struct ir *result = before(ir, ir->op == IR_SDIV ? IR_UDIV : IR_UMOD, dividend, divisor);
    ir_replace(ir, before(ir, IR_SUB, before(ir, IR_XOR, result, result_sign), result_sign));
}

static bool is_access(const struct ir *ir)
{
    return ir->op >= IR_LOAD && ir->op <= IR_ATOMIC_COMPARE;
}

/* Whether a base is the context. The kernel rewrites loads from it, and does not support sign-extending ones
 * there. */
static bool is_context(const struct ir *base)
{
    while (base->op == IR_ADD && base->b->op == IR_CONSTANT)
        base = base->a;
    return base->op == IR_CONTEXT;
}

static void lower_missing(struct ir_function *function)
{
    bool v4 = function->program->features->signed_division;
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *next, *ir = block->first; ir; ir = next) {
            next = ir->next;
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++)
                *ir_operand(ir, k) = ir_resolve(*ir_operand(ir, k));
            if (is_access(ir) && ir->offset != (int16_t)ir->offset) {
                ir->a = before(ir, IR_ADD, ir->a, ir_constant_before(ir, ir->offset));
                ir->offset = 0;
            }
            if ((ir->op >= IR_UDIV && ir->op <= IR_SMOD) && ir_is_constant(ir->b, 0)) {
                /* the verifier refuses a division by a constant zero, which the machine allows */
                ir_replace(ir, ir->op == IR_UDIV || ir->op == IR_SDIV ? ir->b : ir->a);
            } else if (ir->op == IR_NOT) {
                ir->op = IR_XOR;
                ir->b = ir_constant_before(ir, -1);
            } else if ((ir->op == IR_SDIV || ir->op == IR_SMOD) && !v4) {
                lower_signed_division(ir);
            } else if (ir->op == IR_LOAD && ir->is_signed && (!v4 || is_context(ir->a))) {
                struct ir *load = before(ir, IR_LOAD, ir->a, NULL);
                load->offset = ir->offset;
                load->size = ir->size;
                load->is_volatile = ir->is_volatile;
                struct ir *extended = before(ir, IR_EXTEND, load, NULL);
                extended->size = ir->size;
                extended->is_signed = true;
                ir_replace(ir, extended);
            } else if (ir->op == IR_SHL || ir->op == IR_LSHR || ir->op == IR_ASHR) {
                if (ir->b->op == IR_CONSTANT && (ir->b->immediate < 0 || ir->b->immediate > 63))
                    ir->b = ir_constant_before(ir, ir->b->immediate & 63);
            }
        }
}

/* Addresses, values of stores */

static void fold_address(struct ir *ir)
{
    while (ir->a->op == IR_ADD && ir->a->b->op == IR_CONSTANT) {
        int64_t offset = ir->offset + ir->a->b->immediate;
        if (ir->a->b->immediate != (int16_t)ir->a->b->immediate || offset != (int16_t)offset)
            break;
        ir->offset = (int32_t)offset;
        ir->a = ir->a->a;
    }
}

/* Replaces a stored value by another one with the same low bytes that takes less work. */
static void fold_stored(struct ir *ir)
{
    uint64_t mask = ir->size == 8 ? ~(uint64_t)0 : ((uint64_t)1 << ir->size * 8) - 1;
    for (;;) {
        struct ir *value = ir->b;
        if (value->op == IR_EXTEND && value->size >= ir->size)
            ir->b = value->a;
        else if (value->op == IR_AND && value->b->op == IR_CONSTANT &&
                 ((uint64_t)value->b->immediate & mask) == mask)
            ir->b = value->a;
        else
            break;
    }
    if (ir->b->op == IR_CONSTANT && ir->size < 8) {
        int64_t low = ir_fold_extend(ir->b->immediate, ir->size, true);
        if (low != ir->b->immediate)
            ir->b = ir_constant_before(ir, low);
    }
}

/* 32-bit forms */

static bool is_unsigned_32(const struct ir *ir)
{
    switch (ir->op) {
    case IR_CONSTANT: return (uint64_t)ir->immediate <= UINT32_MAX;
    case IR_LOAD: return ir->size <= 4 && !ir->is_signed;
    case IR_EXTEND: return !ir->is_signed || ir_is_compare(ir->a->op);
    case IR_BSWAP: return ir->size <= 4;
    case IR_AND:
        return ir->size == 4 || (ir->b->op == IR_CONSTANT && (uint64_t)ir->b->immediate <= UINT32_MAX);
    case IR_LSHR: return ir->b->op == IR_CONSTANT && ir->b->immediate >= 32;
    default: return ir_is_compare(ir->op) || (ir_is_binary(ir->op) && ir->size == 4);
    }
}

static bool is_signed_32(const struct ir *ir)
{
    return (ir->op == IR_CONSTANT && fits_immediate(ir->immediate)) ||
           (ir->op == IR_LOAD && ir->size <= 4 && (ir->is_signed || ir->size < 4)) ||
           (ir->op == IR_EXTEND && (ir->is_signed || ir->size < 4));
}

static struct ir *strip_extend_32(struct ir *value)
{
    return value->op == IR_EXTEND && value->size == 4 && value->uses == 1 ? value->a : value;
}

/* Whether the low half of the result depends only on the low halves of the operands. */
static bool has_32_bit_form(const struct ir *ir)
{
    switch (ir->op) {
    case IR_ADD:
    case IR_SUB:
    case IR_MUL:
    case IR_AND:
    case IR_OR:
    case IR_XOR: return ir->b->op != IR_FRAME && ir->a->op != IR_FRAME;
    case IR_SHL: return ir->b->op == IR_CONSTANT && ir->b->immediate < 32;
    default: return false;
    }
}

static void narrow_constant(struct ir *ir)
{
    if (ir->b && ir->b->op == IR_CONSTANT && !fits_immediate(ir->b->immediate))
        ir->b = ir_constant_before(ir, (int32_t)ir->b->immediate);
}

static void select_32_bit(struct ir *ir)
{
    if (ir->op == IR_EXTEND && ir->size == 4 && !ir->is_signed && ir->a->uses == 1 &&
        ir->a->block == ir->block && has_32_bit_form(ir->a)) {
        struct ir *operation = ir->a;
        operation->size = 4;
        operation->a = strip_extend_32(operation->a);
        operation->b = strip_extend_32(operation->b);
        narrow_constant(operation);
        ir_replace(ir, operation);
    } else if (ir->op == IR_AND && ir->b->op == IR_CONSTANT && !fits_immediate(ir->b->immediate) &&
               (uint64_t)ir->b->immediate <= UINT32_MAX) {
        ir->size = 4;
        narrow_constant(ir);
    }
}

/* Branches */

static void select_branch(struct ir *branch)
{
    struct ir *condition = branch->a;
    bool negated = false;
    if (ir_is_compare(condition->op) && condition->uses <= 1) {
        branch->immediate = condition->op;
        branch->a = condition->a;
        branch->b = condition->b;
    } else {
        branch->immediate = IR_NE;
        branch->b = ir_constant_before(branch, 0);
    }
    struct ir *tested = branch->a;
    if ((branch->immediate == IR_EQ || branch->immediate == IR_NE) && ir_is_constant(branch->b, 0) &&
        tested->op == IR_AND && tested->uses <= 1 && !tested->size && tested->block == branch->block) {
        negated = branch->immediate == IR_EQ;
        branch->immediate = IR_AND;
        branch->a = tested->a;
        branch->b = tested->b;
    }
    if (negated) {
        struct ir_block *yes = branch->to[0];
        branch->to[0] = branch->to[1];
        branch->to[1] = yes;
    }
    branch->size = 8;
    if (branch->immediate == IR_AND || !branch->block->function->program->features->alu32_jmp32)
        return;
    bool is_signed = branch->immediate >= IR_SLT,
         either = branch->immediate == IR_EQ || branch->immediate == IR_NE;
    bool both_signed = is_signed_32(branch->a) && is_signed_32(branch->b);
    bool both_unsigned = is_unsigned_32(branch->a) && is_unsigned_32(branch->b);
    if (either ? !both_signed && !both_unsigned : is_signed ? !both_signed : !both_unsigned)
        return;
    struct ir *a = strip_extend_32(branch->a), *b = strip_extend_32(branch->b);
    bool wide = branch->b->op == IR_CONSTANT && !fits_immediate(branch->b->immediate);
    if (a == branch->a && b == branch->b && !wide)
        return; /* nothing is gained, and the 64-bit form says more to the verifier */
    branch->a = a;
    branch->b = b;
    branch->size = 4;
    narrow_constant(branch);
}

/* Moves a constant to the right operand. */
static void canonical_order(struct ir *ir)
{
    if (!ir->a || !ir->b || ir->a->op != IR_CONSTANT || ir->b->op == IR_CONSTANT)
        return;
    if (!ir_is_commutative(ir->op) && !ir_is_compare(ir->op))
        return;
    struct ir *a = ir->a;
    ir->a = ir->b;
    ir->b = a;
    if (ir_is_compare(ir->op))
        ir->op = ir_compare_swapped(ir->op);
}

static void remove_unused(struct ir_function *function)
{
    for (bool again = true; again;) {
        again = false;
        for (struct ir_block *block = function->first; block; block = block->next)
            for (struct ir *previous, *ir = block->last; ir; ir = previous) {
                previous = ir->previous;
                if (ir->uses || !ir_has_value(ir) || !ir_is_removable(ir))
                    continue;
                unsigned count = ir_operand_count(ir);
                for (unsigned k = 0; k < count; k++) {
                    struct ir *value = *ir_operand(ir, k);
                    value->uses--;
                    /* Only phis have operands that come later, in blocks that were seen already. */
                    again |= !value->uses && ir->op == IR_PHI;
                }
                ir_remove(ir);
            }
    }
}

/* Leaves are removed from the lists, and copied to instructions that must have them in registers. An address or a
 * constant that takes two words to load stays where it is, in a register, if any user cannot hold it. */
static bool is_expensive(const struct ir *ir)
{
    return ir->op == IR_MAP_VALUE ||
           (ir->op == IR_CONSTANT && !fits_immediate(ir->immediate) && (uint64_t)ir->immediate > UINT32_MAX);
}

static void place_leaves(struct ir_function *function)
{
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next)
            if (ir_is_leaf(ir)) {
                ir->uses = 0; /* from here on: uses by instructions that cannot hold it */
                if (ir->op == IR_FRAME)
                    ir->mark = ir;
            }
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                struct ir *value = *ir_operand(ir, k);
                if (value->op == IR_ADD && value->a->op == IR_FRAME && value->b->op == IR_CONSTANT &&
                    value->b->immediate == (int16_t)value->b->immediate)
                    *ir_operand(ir, k) =
                        ir_frame_leaf(function, value->a, (int32_t)value->b->immediate, ir->span);
                else if (ir_is_leaf(value) && !ir_holds_directly(ir, k, value))
                    value->uses++;
            }
        }
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *next, *ir = block->first; ir; ir = next) {
            next = ir->next;
            if (ir_is_leaf(ir)) {
                if (!is_expensive(ir) || !ir->uses)
                    ir_remove(ir);
                continue;
            }
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                struct ir *value = *ir_operand(ir, k);
                if (ir_is_leaf(value) && !(is_expensive(value) && value->uses) &&
                    !ir_holds_directly(ir, k, value))
                    ir_set_leaf(ir, k, value);
            }
        }
}

static void split_edge(struct ir_block *from, unsigned which)
{
    struct ir_block *to = from->last->to[which];
    struct ir_block *middle = ir_block_append(from->function);
    middle->sealed = true;
    middle->unlikely = from->unlikely || to->unlikely;
    struct ir *jump = ir_new(from->function, IR_JUMP, from->last->span);
    jump->to[0] = to;
    ir_append(middle, jump);
    *arena_push(from->function->program->arena, middle->predecessors, middle->predecessor_count,
                middle->predecessor_room) = from;
    for (size_t i = 0; i < to->predecessor_count; i++)
        if (to->predecessors[i] == from)
            to->predecessors[i] = middle;
    from->last->to[which] = middle;
}

static void split_critical_edges(struct ir_function *function)
{
    struct ir_block *last = function->last;
    for (struct ir_block *block = function->first;; block = block->next) {
        if (block->last->op == IR_BRANCH)
            for (unsigned i = 0; i < 2; i++)
                if (block->last->to[i]->first->op == IR_PHI && block->last->to[i]->predecessor_count > 1)
                    split_edge(block, i);
        if (block == last)
            break;
    }
}

/* Whether a block only returns, as one side of a branch does when a condition is not met. */
static bool is_exit(const struct ir_block *block)
{
    return block->last->op == IR_RETURN && block->first == block->last;
}

static bool is_exit_stub(const struct ir_block *block)
{
    if (!is_exit(block) || block->predecessor_count != 1)
        return false;
    const struct ir *branch = block->predecessors[0]->last;
    return branch->op == IR_BRANCH && !is_exit(branch->to[branch->to[0] == block]);
}

/* Puts blocks into the order of emission: unlikely blocks, and those reached only from them, come last. */
static void place_blocks(struct ir_function *function)
{
    struct ir_block *lists[2] = {NULL, NULL}, **ends[2] = {&lists[0], &lists[1]};
    for (struct ir_block *next, *block = function->first; block; block = next) {
        next = block->next;
        block->next = NULL;
        bool unlikely = block->predecessor_count > 0;
        for (size_t i = 0; i < block->predecessor_count; i++)
            unlikely &= block->predecessors[i]->unlikely;
        block->unlikely = block != function->first && (block->unlikely || unlikely || is_exit_stub(block));
        *ends[block->unlikely] = block;
        ends[block->unlikely] = &block->next;
        function->last = block;
    }
    *ends[0] = lists[1];
    function->first = lists[0];
    while (function->last->next)
        function->last = function->last->next;
}

void ir_select(struct ir_function *function)
{
    lower_missing(function);
    ir_clean(function);
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *next, *ir = block->first; ir; ir = next) {
            next = ir->next;
            canonical_order(ir);
            if (is_access(ir))
                fold_address(ir);
            if (ir->op == IR_STORE)
                fold_stored(ir);
        }
    ir_clean(function);
    remove_unused(function);
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *next, *ir = block->first; ir; ir = next) {
            next = ir->next;
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++)
                *ir_operand(ir, k) = ir_resolve(*ir_operand(ir, k));
            select_32_bit(ir);
            if (ir->op == IR_BRANCH)
                select_branch(ir);
        }
    ir_clean(function);
    remove_unused(function);
    place_leaves(function);
    ir_clean(function);
    remove_unused(function);
    split_critical_edges(function);
    ir_clean(function);
    place_blocks(function);
}
