/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes unsigned ranges of values from the instructions that make them; removes masks, extensions and
 * comparisons that a range decides, and makes signed operations unsigned where both give the same.
 *
 * The verifier must be able to see the bounds of every value that reaches an address or a helper. So an instruction
 * whose value may do that is removed only where the bound is evident from the operand's own instruction, which the
 * verifier understands in the same way, and never because of what only this pass knows. */
#include "bpf/opt/passes.h"

struct range {
    uint64_t low, high;
};

struct ranges {
    struct range *of; /* by value number; high 0 and low 1: it is not known yet */
    bool *reaches_kernel;
    uint32_t count;
};

static const struct range everything = {0, UINT64_MAX};

static struct range range_of(const struct ranges *ranges, const struct ir *value)
{
    if (value->op == IR_CONSTANT)
        return (struct range){(uint64_t)value->immediate, (uint64_t)value->immediate};
    if (value->number >= ranges->count || ranges->of[value->number].low > ranges->of[value->number].high)
        return everything;
    return ranges->of[value->number];
}

static uint64_t all_below(uint64_t value) /* the smallest 2^n - 1 that is not below the value */
{
    return value ? UINT64_MAX >> __builtin_clzll(value) : 0;
}

static uint64_t size_mask(unsigned size)
{
    return UINT64_MAX >> (64 - 8 * size);
}

static struct range compute_binary(const struct ranges *ranges, const struct ir *ir)
{
    struct range x = range_of(ranges, ir->a), y = range_of(ranges, ir->b), result = everything;
    switch (ir->op) {
    case IR_ADD:
        if (!__builtin_add_overflow(x.high, y.high, &result.high))
            result.low = x.low + y.low;
        else
            result = everything;
        break;
    case IR_MUL:
        if (!__builtin_mul_overflow(x.high, y.high, &result.high))
            result.low = x.low * y.low;
        else
            result = everything;
        break;
    case IR_SUB:
        if (x.low >= y.high)
            result = (struct range){x.low - y.high, x.high - y.low};
        break;
    case IR_AND: result = (struct range){0, x.high < y.high ? x.high : y.high}; break;
    case IR_OR:
    case IR_XOR: result.high = all_below(x.high | y.high); break;
    case IR_UDIV: /* a division by zero gives zero */
        result = (struct range){0, y.low ? x.high / y.low : x.high};
        break;
    case IR_UMOD: result.high = y.low && y.high - 1 < x.high ? y.high - 1 : x.high; break;
    case IR_LSHR:
        if (ir->b->op == IR_CONSTANT)
            result = (struct range){x.low >> (ir->b->immediate & 63), x.high >> (ir->b->immediate & 63)};
        else
            result.high = x.high;
        break;
    case IR_SHL:
        if (ir->b->op == IR_CONSTANT && x.high <= UINT64_MAX >> (ir->b->immediate & 63))
            result = (struct range){x.low << (ir->b->immediate & 63), x.high << (ir->b->immediate & 63)};
        break;
    case IR_ASHR:
    case IR_SDIV:
    case IR_SMOD:
        if (x.high <= INT64_MAX && ir->op == IR_ASHR)
            result.high = x.high;
        break;
    default: break;
    }
    return result;
}

static struct range compute(const struct ranges *ranges, const struct ir *ir)
{
    struct range result = everything;
    if (ir_is_binary(ir->op))
        return compute_binary(ranges, ir);
    if (ir_is_compare(ir->op))
        return (struct range){0, 1};
    switch (ir->op) {
    case IR_LOAD:
        if (!ir->is_signed)
            result.high = size_mask(ir->size);
        break;
    case IR_BSWAP: result.high = size_mask(ir->size); break;
    case IR_EXTEND: {
        struct range inner = range_of(ranges, ir->a);
        uint64_t keeps = ir->is_signed ? size_mask(ir->size) >> 1 : size_mask(ir->size);
        if (inner.high <= keeps)
            result = inner;
        else if (!ir->is_signed)
            result.high = keeps;
        break;
    }
    case IR_PHI:
        result = range_of(ranges, ir->arguments[0]);
        for (uint32_t i = 1; i < ir->argument_count; i++) {
            struct range other = range_of(ranges, ir->arguments[i]);
            result.low = other.low < result.low ? other.low : result.low;
            result.high = other.high > result.high ? other.high : result.high;
        }
        break;
    default: break;
    }
    return result;
}

/* Whether the verifier derives the bound of a value from its instruction alone. */
static bool is_evident(const struct ir *value)
{
    return value->op == IR_CONSTANT || (value->op == IR_LOAD && !value->is_signed && value->size < 8) ||
           (value->op == IR_EXTEND && !value->is_signed) ||
           (value->op == IR_AND && value->b->op == IR_CONSTANT) ||
           (value->op == IR_LSHR && value->b->op == IR_CONSTANT) || ir_is_compare(value->op);
}

/* Finds values that flow into addresses and arguments of calls, through arithmetic and phis. */
static void find_reaching(struct ranges *ranges, struct ir_function *function)
{
    struct arena *arena = function->program->arena;
    struct ir **stack = NULL;
    size_t depth = 0, room = 0;
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                bool reaches = ir->op == IR_CALL || ir->op == IR_CALL_LOCAL ||
                               (k == 0 && ir->op >= IR_LOAD && ir->op <= IR_ATOMIC_COMPARE) ||
                               ir->op == IR_STORE; /* a size that is kept in memory for a callback */
                if (reaches)
                    *arena_push(arena, stack, depth, room) = *ir_operand(ir, k);
            }
        }
    while (depth) {
        struct ir *ir = stack[--depth];
        if (ranges->reaches_kernel[ir->number])
            continue;
        ranges->reaches_kernel[ir->number] = true;
        if (!ir_is_binary(ir->op) && ir->op != IR_PHI && ir->op != IR_EXTEND && ir->op != IR_NEG)
            continue;
        unsigned count = ir_operand_count(ir);
        for (unsigned k = 0; k < count; k++)
            *arena_push(arena, stack, depth, room) = *ir_operand(ir, k);
    }
}

/* Returns the result of a comparison, 0 or 1; -1: the ranges do not decide it. */
static int decide(enum ir_op op, struct range x, struct range y)
{
    if (op >= IR_SLT) { /* both have the sign bit clear: compare them as unsigned */
        if (x.high > INT64_MAX || y.high > INT64_MAX)
            return -1;
        op = IR_ULT + (op - IR_SLT);
    }
    switch (op) {
    case IR_EQ: return x.high < y.low || y.high < x.low ? 0 : -1;
    case IR_NE: return x.high < y.low || y.high < x.low ? 1 : -1;
    case IR_ULT: return x.high < y.low ? 1 : x.low >= y.high ? 0 : -1;
    case IR_ULE: return x.high <= y.low ? 1 : x.low > y.high ? 0 : -1;
    case IR_UGT: return x.low > y.high ? 1 : x.high <= y.low ? 0 : -1;
    case IR_UGE: return x.low >= y.high ? 1 : x.high < y.low ? 0 : -1;
    default: return -1;
    }
}

static struct ir *improve(const struct ranges *ranges, struct ir *ir, bool *changed)
{
    if (ir_is_compare(ir->op)) {
        if (ranges->reaches_kernel[ir->a->number] || ranges->reaches_kernel[ir->b->number])
            return NULL;
        int decided = decide(ir->op, range_of(ranges, ir->a), range_of(ranges, ir->b));
        return decided < 0 ? NULL : ir_constant_before(ir, decided);
    }
    bool free = !ranges->reaches_kernel[ir->number];
    switch (ir->op) {
    case IR_EXTEND: {
        uint64_t keeps = ir->is_signed ? size_mask(ir->size) >> 1 : size_mask(ir->size);
        if (range_of(ranges, ir->a).high <= keeps && (free || is_evident(ir->a)))
            return ir->a;
        return NULL;
    }
    case IR_AND:
        if (ir->b->op == IR_CONSTANT && !((uint64_t)ir->b->immediate & ((uint64_t)ir->b->immediate + 1)) &&
            range_of(ranges, ir->a).high <= (uint64_t)ir->b->immediate && (free || is_evident(ir->a)))
            return ir->a;
        return NULL;
    case IR_ASHR:
        if (range_of(ranges, ir->a).high <= INT64_MAX) {
            ir->op = IR_LSHR;
            *changed = true;
        }
        return NULL;
    case IR_SDIV:
    case IR_SMOD:
        if (range_of(ranges, ir->a).high <= INT64_MAX && range_of(ranges, ir->b).high <= INT64_MAX) {
            ir->op = ir->op == IR_SDIV ? IR_UDIV : IR_UMOD;
            *changed = true;
        }
        return NULL;
    default: return NULL;
    }
}

bool pass_range(struct ir_function *function)
{
    struct arena *arena = function->program->arena;
    struct ranges ranges = {.count = function->value_count};
    ranges.of = arena_array(arena, ranges.count, sizeof *ranges.of);
    ranges.reaches_kernel = arena_array(arena, ranges.count, sizeof *ranges.reaches_kernel);
    for (uint32_t i = 0; i < ranges.count; i++)
        ranges.of[i].low = 1;
    find_reaching(&ranges, function);
    bool any = false;
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *next, *ir = block->first; ir; ir = next) {
            next = ir->next;
            if (ir->number >= ranges.count)
                continue;
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++)
                *ir_operand(ir, k) = ir_resolve(*ir_operand(ir, k));
            if (!ir_has_value(ir))
                continue;
            /* Constants that this pass made have no number here. */
            bool known = (!ir->a || ir->a->number < ranges.count) && (!ir->b || ir->b->number < ranges.count);
            bool changed = false;
            struct ir *value = known ? improve(&ranges, ir, &changed) : NULL;
            any |= changed || value;
            if (value)
                ir_replace(ir, value);
            else
                ranges.of[ir->number] = compute(&ranges, ir);
        }
    return any;
}
