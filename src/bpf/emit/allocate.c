/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns registers to the values of a selected function (machine.h).
 *
 * Linear scan over exact live ranges: values in the order of their first position, each into the first register of
 * its hints that is free at all of its positions. A value that is live across a call can only be in r6 to r9. Where
 * none of these is free, the cheapest of the competitors is spilled: its uses become leaves (machine.h: reloaded
 * from a slot, or made again), and the function is scanned again.
 *
 * Positions: each block and each instruction has four. An instruction reads at 0, a call clobbers at 1, the result
 * exists from 2 on; an operand that must outlive the making of the result is held until 3. Phis and parameters are
 * made at the beginning of their block, arguments of phis are read at the end of theirs. The emitter makes the
 * moves that this needs. */
#include "bpf/emit/machine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

enum { READ = 0, CLOBBER = 1, RESULT = 2, HELD = 3, STEP = 4 };
enum { HINTS_MAX = 8 }; /* how many users are examined when a register is chosen */

/* In tests only the first `limit` registers of this list are used; it mixes both kinds so that some of each are
 * there. */
static const uint8_t limit_order[REGISTER_COUNT] = {0, 6, 1, 7, 2, 8, 3, 9, 4, 5};
static const uint8_t short_order[REGISTER_COUNT] = {0, 5, 4, 3, 2, 1, 6, 7, 8, 9};

struct use {
    struct ir *user;
    unsigned index;
};

struct value {
    struct ir *ir;
    struct live_range *ranges;
    uint32_t range_count;
    uint32_t begin, length;
    struct use *uses;
    uint32_t use_count;
    struct ir *slot; /* its slot when it is spilled; else NULL */
    float weight;    /* the cost of a spill */
    uint8_t reg;
    bool crosses_call;
    bool avoid_r0;
    bool unspillable;
    bool spilled;
};

struct scan {
    struct ir_function *function;
    struct arena *arena;
    struct allocation *out;
    struct flow flow;
    uint16_t usable;      /* the registers that may be used, as bits */
    bool saves_stack;     /* what can be made again has no slot */
    struct value *values; /* by value number */
    uint32_t value_count;
    struct value **order; /* values that need a register, by their first position */
    uint32_t order_count;
    uint32_t *position; /* position of the instruction, by value number */
    uint32_t *block_begin, *block_end;
    uint32_t *calls, call_count;        /* positions that clobber, ascending */
    uint32_t *r0_taken, r0_taken_count; /* positions at which only r0 is clobbered */
    uint32_t *stamp;                    /* by block number: the value in hand is live there */
    uint32_t *stack;
    struct live_range *found; /* ranges of the value in hand */
    size_t found_count, found_room;
};

static bool is_made_at_block_start(const struct ir *ir)
{
    return ir->op == IR_PHI || ir->op == IR_CONTEXT || ir->op == IR_PARAMETER;
}

static void number_positions(struct scan *scan)
{
    uint32_t at = STEP;
    size_t call_room = 0, r0_room = 0, calls = 0, r0s = 0;
    scan->calls = scan->r0_taken = NULL;
    for (struct ir_block *block = scan->function->first; block; block = block->next) {
        scan->block_begin[block->number] = at;
        at += STEP;
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            scan->position[ir->number] = is_made_at_block_start(ir) ? scan->block_begin[block->number] : at;
            if (ir->op == IR_CALL || ir->op == IR_CALL_LOCAL)
                *arena_push(scan->arena, scan->calls, calls, call_room) = at + CLOBBER;
            if (ir->op == IR_ATOMIC_COMPARE)
                *arena_push(scan->arena, scan->r0_taken, r0s, r0_room) = at + CLOBBER;
            at += STEP;
        }
        scan->block_end[block->number] = at;
    }
    scan->call_count = (uint32_t)calls;
    scan->r0_taken_count = (uint32_t)r0s;
}

/* Whether an operand is still needed when the result is made. */
static bool held_past_result(const struct ir *ir, unsigned index)
{
    switch (ir->op) {
    case IR_ATOMIC_EXCHANGE: return index == 0;
    case IR_ATOMIC_COMPARE: return index != 1;
    default: break;
    }
    if (ir_is_compare(ir->op))
        return true;
    if (!ir_is_binary(ir->op) || index == 0)
        return false;
    return ir->a != ir->b && (!ir_is_commutative(ir->op) || !ir->a->block);
}

static float block_weight(const struct scan *scan, const struct ir_block *block)
{
    static const float by_depth[] = {1, 8, 64, 512};
    uint32_t position = scan->flow.position[block->number];
    uint32_t depth = position == BLOCK_NONE ? 0 : scan->flow.loop[position];
    float weight = by_depth[depth < 3 ? depth : 3];
    return block->unlikely ? weight / 16 : weight;
}

static void collect_uses(struct scan *scan)
{
    for (struct ir_block *block = scan->function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                struct ir *operand = *ir_operand(ir, k);
                if (operand->block)
                    scan->values[operand->number].use_count++;
            }
        }
    for (struct ir_block *block = scan->function->first; block; block = block->next) {
        float weight = block_weight(scan, block);
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            struct value *value = &scan->values[ir->number];
            value->ir = ir;
            value->reg = REGISTER_NONE;
            value->weight += weight;
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                struct ir *operand = *ir_operand(ir, k);
                if (!operand->block)
                    continue;
                struct value *used = &scan->values[operand->number];
                if (!used->uses) {
                    used->uses = arena_array(scan->arena, used->use_count, sizeof *used->uses);
                    used->use_count = 0;
                }
                used->uses[used->use_count++] = (struct use){ir, k};
                const struct ir_block *where = ir->op == IR_PHI ? block->predecessors[k] : block;
                used->weight += block_weight(scan, where);
                /* On older kernels the verifier loses the bounds of a value that is stored in memory. */
                if (ir->op == IR_CALL && operand->op != IR_CALL)
                    used->weight += block_weight(scan, where);
            }
        }
    }
}

/* Live ranges */

static void found_add(struct scan *scan, uint32_t begin, uint32_t end)
{
    struct live_range *range = arena_push(scan->arena, scan->found, scan->found_count, scan->found_room);
    range->begin = begin;
    range->end = end;
}

static void live_out_of(struct scan *scan, const struct value *value, const struct ir_block *block)
{
    size_t depth = 0;
    uint32_t mark = value->ir->number + 1;
    const struct ir_block *at = block;
    for (;;) {
        if (scan->stamp[at->number] != mark) {
            scan->stamp[at->number] = mark;
            if (at == value->ir->block) {
                found_add(scan, value->begin, scan->block_end[at->number]);
            } else {
                found_add(scan, scan->block_begin[at->number], scan->block_end[at->number]);
                for (size_t i = 0; i < at->predecessor_count; i++)
                    if (scan->stamp[at->predecessors[i]->number] != mark)
                        scan->stack[depth++] = at->predecessors[i]->number;
            }
        }
        if (!depth)
            return;
        at = scan->flow.order[scan->flow.position[scan->stack[--depth]]];
    }
}

static int compare_ranges(const void *x, const void *y)
{
    const struct live_range *a = x, *b = y;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Sorts the ranges that were found. They are few and nearly in order, for which insertion is faster than a general
 * sort. */
static void sort_found(struct scan *scan)
{
    if (scan->found_count > 64) {
        qsort(scan->found, scan->found_count, sizeof *scan->found, compare_ranges);
        return;
    }
    for (size_t i = 1; i < scan->found_count; i++) {
        struct live_range range = scan->found[i];
        size_t k = i;
        for (; k && scan->found[k - 1].begin > range.begin; k--)
            scan->found[k] = scan->found[k - 1];
        scan->found[k] = range;
    }
}

static bool any_between(const uint32_t *positions, uint32_t count, const struct live_range *range)
{
    const size_t first = partition_point(count, i, positions[i] < range->begin);
    return first < count && positions[first] < range->end;
}

static void find_ranges(struct scan *scan, struct value *value)
{
    const struct ir *ir = value->ir;
    scan->found_count = 0;
    uint32_t position = scan->position[ir->number];
    value->begin = is_made_at_block_start(ir) ? position : position + RESULT;
    found_add(scan, value->begin, value->begin + 1);
    for (uint32_t i = 0; i < value->use_count; i++) {
        const struct ir *user = value->uses[i].user;
        if (user->op == IR_PHI) {
            live_out_of(scan, value, user->block->predecessors[value->uses[i].index]);
            continue;
        }
        uint32_t end =
            scan->position[user->number] + (held_past_result(user, value->uses[i].index) ? HELD : READ + 1);
        if (user->block == ir->block) {
            found_add(scan, value->begin, end);
            continue;
        }
        found_add(scan, scan->block_begin[user->block->number], end);
        for (size_t p = 0; p < user->block->predecessor_count; p++)
            live_out_of(scan, value, user->block->predecessors[p]);
    }
    sort_found(scan);
    size_t kept = 0;
    for (size_t i = 1; i < scan->found_count; i++) {
        struct live_range *last = &scan->found[kept];
        if (scan->found[i].begin <= last->end) {
            if (scan->found[i].end > last->end)
                last->end = scan->found[i].end;
        } else {
            scan->found[++kept] = scan->found[i];
        }
    }
    value->range_count = (uint32_t)kept + 1;
    value->ranges = arena_array(scan->arena, value->range_count, sizeof *value->ranges);
    memcpy(value->ranges, scan->found, value->range_count * sizeof *value->ranges);
    for (uint32_t i = 0; i < value->range_count; i++) {
        value->length += value->ranges[i].end - value->ranges[i].begin;
        value->crosses_call |= any_between(scan->calls, scan->call_count, &value->ranges[i]);
        value->avoid_r0 |= any_between(scan->r0_taken, scan->r0_taken_count, &value->ranges[i]);
    }
}

/* A value and a constant, such as an address in scratch memory. */
static bool is_sum(const struct ir *ir)
{
    return ir->op == IR_ADD && !ir->b->block && ir->b->op == IR_CONSTANT;
}

/* Whether a spill has already made a value as short as it can be. */
static bool is_short(const struct scan *scan, const struct value *value)
{
    const struct ir *ir = value->ir;
    if (is_sum(ir) && ir->immediate)
        return true;
    if (ir_is_leaf(ir))
        return value->use_count <= 1 && ir->next && value->use_count &&
               value->uses[0].user->block == ir->block &&
               scan->position[value->uses[0].user->number] <= scan->position[ir->number] + 4 * STEP;
    return value->use_count == 1 && ir->next == value->uses[0].user && ir->next->op == IR_STORE &&
           ir->next->a->op == IR_FRAME && value->uses[0].index == 1;
}

/* Registers */

static size_t first_after(const struct occupation *occupation, uint32_t position)
{
    return partition_point(occupation->count, i, occupation->ranges[i].end <= position);
}

/* Returns the first value that is in the register at any position of this value, from *from on; NULL: there is
 * none. */
static struct ir *next_conflict(const struct occupation *occupation, const struct value *value,
                                uint32_t *range, size_t *at)
{
    for (; *range < value->range_count; ++*range, *at = SIZE_MAX) {
        const struct live_range *mine = &value->ranges[*range];
        if (*at == SIZE_MAX)
            *at = first_after(occupation, mine->begin);
        if (*at < occupation->count && occupation->ranges[*at].begin < mine->end)
            return occupation->ranges[(*at)++].value;
    }
    return NULL;
}

static bool is_free(const struct occupation *occupation, const struct value *value)
{
    uint32_t range = 0;
    size_t at = SIZE_MAX;
    return !next_conflict(occupation, value, &range, &at);
}

static void occupy(struct scan *scan, struct value *value, unsigned reg)
{
    struct occupation *occupation = &scan->out->occupied[reg];
    value->reg = (uint8_t)reg;
    for (uint32_t i = 0; i < value->range_count; i++) {
        arena_push(scan->arena, occupation->ranges, occupation->count, occupation->room);
        size_t k = occupation->count - 1;
        for (; k && occupation->ranges[k - 1].begin > value->ranges[i].begin; k--)
            occupation->ranges[k] = occupation->ranges[k - 1];
        occupation->ranges[k] = (struct live_range){value->ranges[i].begin, value->ranges[i].end, value->ir};
    }
}

static void vacate(struct scan *scan, struct value *value)
{
    struct occupation *occupation = &scan->out->occupied[value->reg];
    size_t kept = 0;
    for (size_t i = 0; i < occupation->count; i++)
        if (occupation->ranges[i].value != value->ir)
            occupation->ranges[kept++] = occupation->ranges[i];
    occupation->count = kept;
    value->reg = REGISTER_NONE;
}

static bool may_use(const struct scan *scan, const struct value *value, unsigned reg)
{
    return scan->usable >> reg & 1 && !(value->crosses_call && reg < 6) && !(value->avoid_r0 && reg == 0);
}

static bool try_register(struct scan *scan, struct value *value, unsigned reg)
{
    if (reg >= REGISTER_COUNT || !may_use(scan, value, reg) || !is_free(&scan->out->occupied[reg], value))
        return false;
    occupy(scan, value, reg);
    return true;
}

static unsigned register_of(const struct scan *scan, const struct ir *ir)
{
    return ir->block ? scan->values[ir->number].reg : (unsigned)REGISTER_NONE;
}

static bool is_call(const struct ir *ir)
{
    return ir->op == IR_CALL || ir->op == IR_CALL_LOCAL;
}

/* Returns the register in which a call takes the value, or in which another operation that is made of it does;
 * REGISTER_NONE: there is none. */
static unsigned argument_register(const struct scan *scan, const struct value *value)
{
    if (value->crosses_call)
        return REGISTER_NONE;
    for (uint32_t i = 0; i < value->use_count && i < HINTS_MAX; i++) {
        const struct ir *user = value->uses[i].user;
        if (is_call(user))
            return 1 + value->uses[i].index;
        if (value->uses[i].index != 0 ||
            (!ir_is_binary(user->op) && user->op != IR_EXTEND && user->op != IR_NEG && user->op != IR_BSWAP))
            continue;
        const struct value *made = &scan->values[user->number];
        for (uint32_t k = 0; k < made->use_count && k < HINTS_MAX; k++)
            if (is_call(made->uses[k].user))
                return 1 + made->uses[k].index;
    }
    return REGISTER_NONE;
}

/* Tries a register that both this value and its phi, which has none yet, can have. */
static bool wish_with_phi(struct scan *scan, struct value *value, const struct value *phi)
{
    unsigned wanted = argument_register(scan, phi);
    if (wanted < REGISTER_COUNT && may_use(scan, phi, wanted) && is_free(&scan->out->occupied[wanted], phi) &&
        try_register(scan, value, wanted))
        return true;
    for (uint32_t i = 0; i < phi->ir->argument_count && i < HINTS_MAX; i++) {
        unsigned other = register_of(scan, phi->ir->arguments[i]);
        if (other < REGISTER_COUNT && may_use(scan, phi, other) &&
            is_free(&scan->out->occupied[other], phi) && try_register(scan, value, other))
            return true;
    }
    for (unsigned i = 0; i < REGISTER_COUNT; i++)
        if (may_use(scan, phi, short_order[i]) && is_free(&scan->out->occupied[short_order[i]], phi) &&
            try_register(scan, value, short_order[i]))
            return true;
    return false;
}

/* Tries a register that this phi can have and also its argument from a later block, which has none yet and must
 * survive a call. */
static bool wish_with_later(struct scan *scan, struct value *phi, const struct ir *argument)
{
    const struct value *later = argument->block ? &scan->values[argument->number] : NULL;
    if (!later || !later->crosses_call || later->reg != REGISTER_NONE || later->spilled)
        return false;
    for (unsigned i = 0; i < REGISTER_COUNT; i++)
        if (may_use(scan, later, short_order[i]) && is_free(&scan->out->occupied[short_order[i]], later) &&
            try_register(scan, phi, short_order[i]))
            return true;
    return false;
}

/* Tries registers that save a move, the best first: where users need the value, where it comes from. */
static bool try_wishes(struct scan *scan, struct value *value)
{
    const struct ir *ir = value->ir;
    if (ir->op == IR_PHI) {
        for (uint32_t i = 0; i < ir->argument_count && i < HINTS_MAX; i++)
            if (try_register(scan, value, register_of(scan, ir->arguments[i])))
                return true;
        for (uint32_t i = 0; i < ir->argument_count && i < HINTS_MAX; i++)
            if (wish_with_later(scan, value, ir->arguments[i]))
                return true;
    }
    for (uint32_t i = 0; i < value->use_count && i < HINTS_MAX; i++) {
        const struct ir *user = value->uses[i].user;
        unsigned hint = REGISTER_NONE;
        if (user->op == IR_PHI)
            hint = register_of(scan, user);
        else if (is_call(user) && !value->crosses_call)
            hint = 1 + value->uses[i].index;
        else if (user->op == IR_RETURN || (user->op == IR_ATOMIC_COMPARE && value->uses[i].index == 1))
            hint = 0;
        if (try_register(scan, value, hint))
            return true;
        if (user->op == IR_PHI && hint == REGISTER_NONE &&
            wish_with_phi(scan, value, &scan->values[user->number]))
            return true;
    }
    if (try_register(scan, value, argument_register(scan, value)))
        return true;
    switch (ir->op) {
    case IR_CALL:
    case IR_CALL_LOCAL:
    case IR_ATOMIC_COMPARE: return try_register(scan, value, 0);
    case IR_CONTEXT:
    case IR_PARAMETER: return try_register(scan, value, 1 + (unsigned)ir->immediate);
    case IR_ATOMIC_EXCHANGE: return try_register(scan, value, register_of(scan, ir->b));
    case IR_NEG:
    case IR_BSWAP:
    case IR_EXTEND: return try_register(scan, value, register_of(scan, ir->a));
    default: break;
    }
    if (!ir_is_binary(ir->op))
        return false;
    return try_register(scan, value, register_of(scan, ir->a)) ||
           (ir_is_commutative(ir->op) && try_register(scan, value, register_of(scan, ir->b)));
}

static bool read_by_phi(const struct value *value, const struct ir_block *in)
{
    for (uint32_t i = 0; i < value->use_count; i++)
        if (value->uses[i].user->op == IR_PHI && (!in || value->uses[i].user->block == in))
            return true;
    return false;
}

/* Whether a spilled value is made again at each use. An address that takes two words and has many uses is kept in
 * memory, as other values are, and a sum, while there is stack. Phis read at the end of another block, where a sum
 * would have to last. */
static bool is_made_again(const struct scan *scan, const struct value *value)
{
    enum { MANY = 5 };
    if (is_sum(value->ir))
        return scan->saves_stack && !read_by_phi(value, NULL);
    return ir_is_leaf(value->ir) &&
           (value->ir->op != IR_MAP_VALUE || value->use_count <= MANY || scan->saves_stack);
}

static float cost(const struct scan *scan, const struct value *value)
{
    const bool is_cheap = ir_is_leaf(value->ir) || (is_sum(value->ir) && is_made_again(scan, value));
    return (is_cheap ? value->weight / 4 : value->weight) / (float)(value->length + 1);
}

/* Frees a register, when none is free: the one whose holders cost least to spill, unless this value costs less. */
static int evict(struct scan *scan, struct value *value)
{
    unsigned best = REGISTER_NONE;
    float best_cost = 0;
    for (unsigned reg = 0; reg < REGISTER_COUNT; reg++) {
        if (!may_use(scan, value, reg))
            continue;
        uint32_t range = 0;
        size_t at = SIZE_MAX;
        float sum = 0;
        bool possible = true;
        for (const struct ir *holder;
             possible && (holder = next_conflict(&scan->out->occupied[reg], value, &range, &at));) {
            possible = !scan->values[holder->number].unspillable;
            sum += cost(scan, &scan->values[holder->number]);
        }
        if (possible && (best == REGISTER_NONE || sum < best_cost)) {
            best = reg;
            best_cost = sum;
        }
    }
    if (!value->unspillable && (best == REGISTER_NONE || cost(scan, value) <= best_cost)) {
        value->spilled = true;
        return 0;
    }
    if (best == REGISTER_NONE)
        return -E2BIG;
    for (;;) {
        uint32_t range = 0;
        size_t at = SIZE_MAX;
        const struct ir *holder = next_conflict(&scan->out->occupied[best], value, &range, &at);
        if (!holder)
            break;
        scan->values[holder->number].spilled = true;
        vacate(scan, &scan->values[holder->number]);
    }
    occupy(scan, value, best);
    return 0;
}

static int assign(struct scan *scan, struct value *value)
{
    if (try_wishes(scan, value))
        return 0;
    for (unsigned i = 0; i < REGISTER_COUNT; i++)
        if (try_register(scan, value, short_order[i]))
            return 0;
    return evict(scan, value);
}

/* Spilling */

static struct ir *slot_new(struct scan *scan)
{
    struct ir *slot = ir_new(scan->function, IR_FRAME, (struct span){0});
    slot->immediate = 8;
    slot->mark = slot;
    slot->comment = "spill";
    *arena_push(scan->arena, scan->out->objects, scan->out->object_count, scan->out->object_room) = slot;
    return slot;
}

static struct ir *store_new(struct scan *scan, struct ir *slot, struct ir *value)
{
    struct ir *store = ir_new(scan->function, IR_STORE, value->span);
    store->a = ir_frame_leaf(scan->function, slot, 0, value->span);
    store->b = value;
    store->size = 8;
    return store;
}

static struct ir *reload_new(struct scan *scan, struct ir *slot, struct span span)
{
    struct ir *load = ir_new(scan->function, IR_LOAD, span);
    load->a = ir_frame_leaf(scan->function, slot, 0, span);
    load->size = 8;
    load->immediate = 1;
    return load;
}

/* Spills a phi: each predecessor stores its argument. If another phi of the block reads this one, on the very edge
 * that would overwrite it, they are stored to a second slot, which is copied at the block's beginning. */
static void spill_phi(struct scan *scan, struct ir *phi, struct ir *slot, bool twice)
{
    struct ir *incoming = twice ? slot_new(scan) : slot;
    for (uint32_t i = 0; i < phi->argument_count; i++) {
        struct ir *jump = phi->block->predecessors[i]->last;
        struct ir *store = ir_new(scan->function, IR_STORE, jump->span);
        store->size = 8;
        store->a = ir_frame_leaf(scan->function, incoming, 0, jump->span);
        store->b = phi->arguments[i];
        ir_insert_before(jump, store);
        if (!store->b->block && !ir_holds_directly(store, 1, store->b))
            ir_set_leaf(store, 1, store->b);
    }
    if (twice) {
        struct ir *copy = reload_new(scan, incoming, phi->span);
        ir_insert_first(phi->block, copy);
        ir_insert_before(copy->next, store_new(scan, slot, copy));
    }
}

/* Makes a sum once more in front of a user, which is its only one; `immediate` says so. */
static void set_sum(struct ir_function *function, const struct use *use, const struct ir *sum)
{
    struct ir *copy = ir_leaf_copy(function, sum, use->user->span);
    copy->immediate = 1;
    *ir_operand(use->user, use->index) = copy;
    ir_insert_before(use->user, copy);
    ir_set_leaf(copy, 1, sum->b);
    if (ir_is_leaf(sum->a))
        ir_set_leaf(copy, 0, sum->a);
}

/* Makes users of a spilled value read leaves. This is done for all users of all values before any definition is
 * touched, because a phi that is spilled, too, must still be there to take its arguments. */
static void spill_uses(struct scan *scan, struct value *value)
{
    const struct ir *leaf = value->ir;
    scan->out->spills++;
    const bool again = is_made_again(scan, value);
    if (!again) {
        value->slot = slot_new(scan);
        leaf = reload_new(scan, value->slot, value->ir->span);
    }
    for (uint32_t i = 0; i < value->use_count; i++)
        if (again && is_sum(leaf))
            set_sum(scan->function, &value->uses[i], leaf);
        else
            ir_set_leaf(value->uses[i].user, value->uses[i].index, leaf);
}

static void spill_definition(struct scan *scan, struct value *value)
{
    struct ir *ir = value->ir;
    if (!value->slot) {
        ir_remove(ir);
    } else if (ir->op == IR_PHI) {
        spill_phi(scan, ir, value->slot, read_by_phi(value, ir->block));
        ir_remove(ir);
    } else if (ir->op == IR_CONTEXT || ir->op == IR_PARAMETER) {
        /* It is stored from where the caller passed it. */
        struct ir_block *entry = ir->block;
        ir_remove(ir);
        ir_insert_before(entry->first, store_new(scan, value->slot, ir));
    } else {
        ir_insert_before(ir->next, store_new(scan, value->slot, ir));
    }
}

/* Whether a sum that is to be made again is made of a value that is spilled in this round: that is done first, and the
 * sum is in the next round what it is then. */
static bool waits_for_base(const struct scan *scan, struct value *value)
{
    const struct ir *ir = value->ir;
    if (is_sum(ir) && is_made_again(scan, value) && ir->a->block && scan->values[ir->a->number].spilled)
        value->spilled = false;
    return !value->spilled;
}

static int scan_once(struct scan *scan, bool *again)
{
    struct ir_function *function = scan->function;
    struct allocation *out = scan->out;
    scan->value_count = function->value_count;
    scan->values = arena_array(scan->arena, scan->value_count, sizeof *scan->values);
    scan->order = arena_array(scan->arena, scan->value_count, sizeof *scan->order);
    scan->position = arena_array(scan->arena, scan->value_count, sizeof *scan->position);
    memset(scan->stamp, 0, function->block_count * sizeof *scan->stamp);
    for (unsigned reg = 0; reg < REGISTER_COUNT; reg++)
        out->occupied[reg].count = 0;
    number_positions(scan);
    collect_uses(scan);
    scan->order_count = 0;
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            struct value *value = &scan->values[ir->number];
            /* A result that is not read still overwrites a register, except where no code is made. */
            if (!ir_has_value(ir) || (!value->use_count && (is_made_at_block_start(ir) || ir->op == IR_CALL ||
                                                            ir->op == IR_CALL_LOCAL)))
                continue;
            find_ranges(scan, value);
            value->unspillable = is_short(scan, value);
            scan->order[scan->order_count++] = value;
        }
    *again = false;
    for (uint32_t i = 0; i < scan->order_count; i++) {
        int status = assign(scan, scan->order[i]);
        if (status)
            return status;
    }
    for (uint32_t i = 0; i < scan->order_count; i++)
        if (scan->order[i]->spilled && !waits_for_base(scan, scan->order[i])) {
            spill_uses(scan, scan->order[i]);
            *again = true;
        }
    for (uint32_t i = 0; i < scan->order_count && *again; i++)
        if (scan->order[i]->spilled)
            spill_definition(scan, scan->order[i]);
    return 0;
}

int allocate_registers(struct ir_function *function, unsigned limit, struct allocation *out)
{
    struct scan scan = {.function = function, .arena = function->program->arena, .out = out};
    *out = (struct allocation){.function = function};
    limit = !limit || limit > REGISTER_COUNT ? REGISTER_COUNT : limit;
    /* A call may have five such sums at once as its arguments. */
    scan.saves_stack = function->program->saves_stack && limit == REGISTER_COUNT;
    for (unsigned i = 0; i < limit; i++)
        scan.usable |= (uint16_t)(1u << limit_order[i]);
    flow_compute(scan.arena, function, &scan.flow);
    scan.block_begin = arena_array(scan.arena, function->block_count, sizeof *scan.block_begin);
    scan.block_end = arena_array(scan.arena, function->block_count, sizeof *scan.block_end);
    scan.stamp = arena_array(scan.arena, function->block_count, sizeof *scan.stamp);
    scan.stack = arena_array(scan.arena, 2 * (size_t)function->block_count + 2, sizeof *scan.stack);
    for (bool again = true; again;) {
        out->rounds++;
        int status = scan_once(&scan, &again);
        if (status)
            return status;
    }
    out->value_count = scan.value_count;
    out->registers = arena_array(scan.arena, scan.value_count, sizeof *out->registers);
    for (uint32_t i = 0; i < scan.value_count; i++)
        out->registers[i] = scan.values[i].ir ? scan.values[i].reg : (uint8_t)REGISTER_NONE;
    out->block_begin = scan.block_begin;
    out->block_end = scan.block_end;
    return 0;
}

static bool is_occupied(const struct occupation *occupation, uint32_t position)
{
    size_t at = first_after(occupation, position);
    return at < occupation->count && occupation->ranges[at].begin <= position;
}

bool allocation_is_free_at(const struct allocation *allocation, unsigned reg, const struct ir_block *block)
{
    return !is_occupied(&allocation->occupied[reg], allocation->block_begin[block->number]);
}

unsigned allocation_free_on_edge(const struct allocation *allocation, const struct ir_block *from,
                                 const struct ir_block *to)
{
    for (unsigned i = 0; i < 6; i++) {
        const struct occupation *occupation = &allocation->occupied[short_order[i]];
        if (!is_occupied(occupation, allocation->block_end[from->number] - 1) &&
            !is_occupied(occupation, allocation->block_begin[to->number]))
            return short_order[i];
    }
    return REGISTER_NONE;
}
