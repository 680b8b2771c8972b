/* SPDX-License-Identifier: BSD-3-Clause */
/* Constant folding and algebraic simplification, one instruction at a time, in an order in which operands come
 * before their users.
 *
 * The kernel's verifier learns bounds from the very values that are compared. So no rule makes a check compare
 * another value than the one that is used, unless the first one has no other users. */
#include "bpf/opt/passes.h"

static struct ir *new_before(struct ir *at, enum ir_op op, struct ir *a, struct ir *b)
{
    struct ir *ir = ir_new(at->block->function, op, at->span);
    ir->comment = at->comment;
    ir->a = a;
    ir->b = b;
    a->uses++;
    if (b)
        b->uses++;
    ir_insert_before(at, ir);
    return ir;
}

static struct ir *new_extend(struct ir *at, struct ir *value, unsigned size, bool is_signed)
{
    struct ir *ir = new_before(at, IR_EXTEND, value, NULL);
    ir->size = (uint8_t)size;
    ir->is_signed = is_signed;
    return ir;
}

static int power_of_two(int64_t value)
{
    return value > 0 && !(value & (value - 1)) ? __builtin_ctzll((uint64_t)value) : -1;
}

/* The result of x op constant, for constants with which it is x or a constant. */
static const struct identity {
    enum ir_op op;
    int64_t constant;
    bool gives_x; /* else `result` */
    int64_t result;
} identities[] = {
    {IR_ADD, 0, true, 0},          {IR_SUB, 0, true, 0},          {IR_MUL, 1, true, 0},
    {IR_MUL, 0, false, 0},         {IR_UDIV, 1, true, 0},         {IR_SDIV, 1, true, 0},
    {IR_UMOD, 1, false, 0},        {IR_SMOD, 1, false, 0},        {IR_UDIV, 0, false, 0},
    {IR_SDIV, 0, false, 0},        {IR_UMOD, 0, true, 0},         {IR_SMOD, 0, true, 0},
    {IR_AND, -1, true, 0},         {IR_AND, 0, false, 0},         {IR_OR, 0, true, 0},
    {IR_OR, -1, false, -1},        {IR_XOR, 0, true, 0},          {IR_SHL, 0, true, 0},
    {IR_LSHR, 0, true, 0},         {IR_ASHR, 0, true, 0},         {IR_ULT, 0, false, 0},
    {IR_UGE, 0, false, 1},         {IR_UGT, -1, false, 0},        {IR_ULE, -1, false, 1},
    {IR_SLT, INT64_MIN, false, 0}, {IR_SGE, INT64_MIN, false, 1}, {IR_SGT, INT64_MAX, false, 0},
    {IR_SLE, INT64_MAX, false, 1},
};

static struct ir *simplify_same(struct ir *ir)
{
    switch (ir->op) {
    case IR_SUB:
    case IR_XOR: return ir_constant_before(ir, 0);
    case IR_AND:
    case IR_OR: return ir->a;
    case IR_EQ:
    case IR_ULE:
    case IR_UGE:
    case IR_SLE:
    case IR_SGE: return ir_constant_before(ir, 1);
    case IR_NE:
    case IR_ULT:
    case IR_UGT:
    case IR_SLT:
    case IR_SGT: return ir_constant_before(ir, 0);
    default: return NULL;
    }
}

static bool is_pointer(const struct ir *ir)
{
    return ir->op == IR_FRAME || ir->op == IR_MAP_VALUE || ir->op == IR_CONTEXT;
}

/* Simplifies (x op c1) op c2 for associative operations. c1 may be changed if x op c1 has no other users. */
static bool reassociate(struct ir *ir)
{
    struct ir *inner = ir->a;
    int64_t c1, c2 = ir->b->immediate;
    if (inner->op != ir->op || inner->b->op != IR_CONSTANT || (inner->uses > 1 && !is_pointer(inner->a)))
        return false;
    c1 = inner->b->immediate;
    switch (ir->op) {
    case IR_ADD:
    case IR_MUL:
    case IR_AND:
    case IR_OR:
    case IR_XOR: ir->b = ir_constant_before(ir, ir_fold_binary(ir->op, c1, c2)); break;
    case IR_SHL:
    case IR_LSHR:
        if ((uint64_t)c1 + (uint64_t)c2 > 63 || (uint64_t)c1 > 63 || (uint64_t)c2 > 63)
            return false;
        ir->b = ir_constant_before(ir, c1 + c2);
        break;
    default: return false;
    }
    ir->a = inner->a;
    ir->a->uses++;
    return true;
}

/* Replaces x % 2^n, if it is only compared with 0, by x & (2^n - 1): the result does not depend on the sign of x. */
static bool zero_test_of_remainder(struct ir *value)
{
    if (value->op != IR_SMOD || value->uses != 1 || value->b->op != IR_CONSTANT ||
        power_of_two(value->b->immediate) < 0)
        return false;
    value->op = IR_AND;
    value->b = ir_constant_before(value, value->b->immediate - 1);
    return true;
}

/* Simplifies x op constant. Returns a replacement, or NULL; *changed: the instruction was changed in place. */
static struct ir *simplify_constant(struct ir *ir, bool *changed)
{
    int64_t constant = ir->b->immediate;
    for (size_t i = 0; i < sizeof identities / sizeof *identities; i++)
        if (identities[i].op == ir->op && identities[i].constant == constant)
            return identities[i].gives_x ? ir->a : ir_constant_before(ir, identities[i].result);
    int power = power_of_two(constant);
    switch (ir->op) {
    case IR_SUB:
        ir->op = IR_ADD;
        ir->b = ir_constant_before(ir, (int64_t)(0 - (uint64_t)constant));
        *changed = true;
        return NULL;
    case IR_MUL:
    case IR_UDIV:
        if (power > 0) {
            ir->op = ir->op == IR_MUL ? IR_SHL : IR_LSHR;
            ir->b = ir_constant_before(ir, power);
            *changed = true;
            return NULL;
        }
        break;
    case IR_UMOD:
        if (power > 0) {
            ir->op = IR_AND;
            ir->b = ir_constant_before(ir, constant - 1);
            *changed = true;
            return NULL;
        }
        break;
    case IR_LSHR:
    case IR_ASHR:
        /* A shift to the left and back keeps the low bytes. */
        if (ir->a->op == IR_SHL && ir_is_constant(ir->a->b, constant) &&
            (constant == 32 || constant == 48 || constant == 56))
            return new_extend(ir, ir->a->a, (64 - (unsigned)constant) / 8, ir->op == IR_ASHR);
        break;
    case IR_EQ:
    case IR_NE:
        *changed |= constant == 0 && zero_test_of_remainder(ir->a);
        if (ir_is_compare(ir->a->op) && (constant == 0 || constant == 1)) {
            if ((ir->op == IR_NE) == (constant == 0))
                return ir->a;
            return new_before(ir, ir_compare_negated(ir->a->op), ir->a->a, ir->a->b);
        }
        break;
    default: break;
    }
    *changed |= reassociate(ir);
    return NULL;
}

static struct ir *simplify_binary(struct ir *ir, bool *changed)
{
    if (ir->a->op == IR_CONSTANT && ir->b->op == IR_CONSTANT)
        return ir_constant_before(ir, ir_fold_binary(ir->op, ir->a->immediate, ir->b->immediate));
    if (ir->a->op == IR_CONSTANT && (ir_is_commutative(ir->op) || ir_is_compare(ir->op))) {
        struct ir *a = ir->a;
        ir->a = ir->b;
        ir->b = a;
        if (ir_is_compare(ir->op))
            ir->op = ir_compare_swapped(ir->op);
        *changed = true;
    }
    if (ir->a == ir->b) {
        struct ir *same = simplify_same(ir);
        if (same)
            return same;
    }
    return ir->b->op == IR_CONSTANT ? simplify_constant(ir, changed) : NULL;
}

static bool based_on_context(const struct ir *base)
{
    while (base->op == IR_ADD && base->b->op == IR_CONSTANT)
        base = base->a;
    return base->op == IR_CONTEXT;
}

static struct ir *simplify_extend(struct ir *ir, bool *changed)
{
    struct ir *inner = ir->a;
    if (inner->op == IR_CONSTANT)
        return ir_constant_before(ir, ir_fold_extend(inner->immediate, ir->size, ir->is_signed));
    if (inner->op != IR_EXTEND && inner->op != IR_LOAD)
        return NULL;
    if (inner->size < ir->size && (!inner->is_signed || ir->is_signed))
        return inner;
    if (inner->size == ir->size && inner->is_signed == ir->is_signed)
        return inner;
    if (inner->op == IR_EXTEND && inner->size >= ir->size) {
        ir->a = inner->a;
        ir->a->uses++;
        *changed = true;
    } else if (inner->op == IR_LOAD && inner->size == ir->size && inner->uses == 1 && !inner->is_volatile &&
               !based_on_context(inner->a)) {
        inner->is_signed = ir->is_signed;
        return inner;
    }
    return NULL;
}

static struct ir *simplify_phi(struct ir *phi)
{
    for (uint32_t i = 0; i < phi->argument_count; i++)
        if (phi->arguments[i]->op != IR_CONSTANT ||
            phi->arguments[i]->immediate != phi->arguments[0]->immediate)
            return NULL;
    struct ir *constant = ir_new(phi->block->function, IR_CONSTANT, phi->span);
    constant->immediate = phi->arguments[0]->immediate;
    ir_insert_first(phi->block, constant);
    return constant;
}

static void to_jump(struct ir *branch, unsigned taken)
{
    ir_edge_remove(branch->block, branch->to[!taken]);
    branch->to[0] = branch->to[taken];
    branch->to[1] = NULL;
    branch->op = IR_JUMP;
    branch->a = NULL;
}

static bool simplify_branch(struct ir *branch)
{
    struct ir *condition = branch->a;
    if (condition->op == IR_CONSTANT) {
        to_jump(branch, condition->immediate == 0);
        return true;
    }
    if (zero_test_of_remainder(condition))
        return true;
    if ((condition->op == IR_NE || condition->op == IR_EQ) && ir_is_constant(condition->b, 0)) {
        if (condition->op == IR_EQ) {
            struct ir_block *yes = branch->to[0];
            branch->to[0] = branch->to[1];
            branch->to[1] = yes;
        }
        branch->a = condition->a;
        branch->a->uses++;
        return true;
    }
    return false;
}

static struct ir *simplify(struct ir *ir, bool *changed)
{
    if (ir_is_binary(ir->op) || ir_is_compare(ir->op))
        return simplify_binary(ir, changed);
    switch (ir->op) {
    case IR_EXTEND: return simplify_extend(ir, changed);
    case IR_BSWAP:
        return ir->a->op == IR_CONSTANT ? ir_constant_before(ir, ir_fold_bswap(ir->a->immediate, ir->size))
                                        : NULL;
    case IR_NEG:
    case IR_NOT:
        if (ir->a->op == ir->op)
            return ir->a->a;
        if (ir->a->op == IR_CONSTANT)
            return ir_constant_before(ir, ir->op == IR_NEG ? (int64_t)(0 - (uint64_t)ir->a->immediate)
                                                           : ~ir->a->immediate);
        return NULL;
    case IR_PHI: return simplify_phi(ir);
    case IR_BRANCH: *changed |= simplify_branch(ir); return NULL;
    default: return NULL;
    }
}

bool pass_simplify(struct ir_function *function)
{
    bool any = false;
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *next, *ir = block->first; ir; ir = next) {
            next = ir->next;
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++)
                *ir_operand(ir, k) = ir_resolve(*ir_operand(ir, k));
            bool changed = false;
            struct ir *value = simplify(ir, &changed);
            if (value) {
                /* Users are moved to the new value; their number decides what later rules may do. */
                value->uses += ir->uses;
                ir_replace(ir, value);
            }
            any |= changed || value;
        }
    return any;
}
