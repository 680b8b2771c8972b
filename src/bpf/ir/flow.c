/* SPDX-License-Identifier: BSD-3-Clause */
/* Control flow of a function: reverse postorder, dominators, loops; and the clean-up that puts a function into the
 * form that passes expect.
 *
 * Nothing here recurses, because a script may make a function as deep as it is long. */
#include "bpf/ir/edit.h"

#include <assert.h>

/* Puts blocks into reverse postorder. The second successor is visited first, so that the first one (the likely
 * path, the body of a loop) follows its predecessor. */
static void order_blocks(struct arena *arena, const struct ir_function *function, struct flow *flow)
{
    struct visit {
        struct ir_block *block;
        unsigned next;
    } *stack = arena_array(arena, function->block_count + 1, sizeof *stack);
    size_t depth = 0;
    uint32_t unfilled = function->block_count;
    struct ir_block **order = arena_array(arena, function->block_count, sizeof *order);
    bool *seen = arena_array(arena, function->block_count, sizeof *seen);

    stack[depth++].block = function->first;
    seen[function->first->number] = true;
    while (depth) {
        struct visit *top = &stack[depth - 1];
        struct ir_block *to[2];
        unsigned count = ir_successors(top->block, to);
        if (top->next == count) {
            order[--unfilled] = top->block;
            depth--;
            continue;
        }
        struct ir_block *next = to[count - 1 - top->next++];
        if (!seen[next->number]) {
            seen[next->number] = true;
            stack[depth++] = (struct visit){.block = next};
        }
    }
    flow->order = order + unfilled;
    flow->count = function->block_count - unfilled;
    flow->position = arena_array(arena, function->block_count, sizeof *flow->position);
    for (uint32_t i = 0; i < function->block_count; i++)
        flow->position[i] = BLOCK_NONE;
    for (uint32_t i = 0; i < flow->count; i++)
        flow->position[flow->order[i]->number] = i;
}

/* Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm". */
static void find_dominators(struct arena *arena, struct flow *flow)
{
    flow->dominator = arena_array(arena, flow->count, sizeof *flow->dominator);
    for (uint32_t i = 1; i < flow->count; i++)
        flow->dominator[i] = BLOCK_NONE;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < flow->count; i++) {
            uint32_t meet = BLOCK_NONE;
            const struct ir_block *block = flow->order[i];
            for (size_t p = 0; p < block->predecessor_count; p++) {
                uint32_t other = flow->position[block->predecessors[p]->number];
                if (other == BLOCK_NONE || flow->dominator[other] == BLOCK_NONE)
                    continue;
                if (meet == BLOCK_NONE) {
                    meet = other;
                    continue;
                }
                while (meet != other) {
                    while (meet > other)
                        meet = flow->dominator[meet];
                    while (other > meet)
                        other = flow->dominator[other];
                }
            }
            if (meet != BLOCK_NONE && flow->dominator[i] != meet) {
                flow->dominator[i] = meet;
                changed = true;
            }
        }
    }
}

/* Numbers the dominator tree so that the blocks below a block have the numbers behind its own. A dominator has a
 * smaller number than what it dominates. */
static void number_dominators(struct arena *arena, struct flow *flow)
{
    uint32_t *next = arena_array(arena, flow->count, sizeof *next);
    flow->number = arena_array(arena, flow->count, sizeof *flow->number);
    flow->below = arena_array(arena, flow->count, sizeof *flow->below);
    for (uint32_t i = flow->count; i-- > 1;)
        flow->below[flow->dominator[i]] += flow->below[i] + 1;
    for (uint32_t i = 0; i < flow->count; i++) {
        if (i) {
            uint32_t above = flow->dominator[i];
            flow->number[i] = next[above];
            next[above] += flow->below[i] + 1;
        }
        next[i] = flow->number[i] + 1;
    }
}

bool flow_dominates(const struct flow *flow, uint32_t above, uint32_t below)
{
    return flow->number[below] - flow->number[above] <= flow->below[above];
}

static void find_loops(struct arena *arena, struct flow *flow)
{
    flow->loop = arena_array(arena, flow->count, sizeof *flow->loop);
    uint32_t *stamp = arena_array(arena, flow->count, sizeof *stamp);
    uint32_t *stack = arena_array(arena, flow->count, sizeof *stack);
    for (uint32_t header = 0; header < flow->count; header++) {
        const struct ir_block *block = flow->order[header];
        uint32_t depth = 0;
        for (size_t p = 0; p < block->predecessor_count; p++) {
            uint32_t back = flow->position[block->predecessors[p]->number];
            if (back != BLOCK_NONE && back >= header && stamp[back] != header + 1 &&
                flow_dominates(flow, header, back)) {
                stamp[back] = header + 1;
                stack[depth++] = back;
            }
        }
        if (!depth)
            continue;
        if (stamp[header] != header + 1) {
            stamp[header] = header + 1;
            flow->loop[header]++;
        }
        while (depth) {
            uint32_t at = stack[--depth];
            flow->loop[at]++;
            if (at == header)
                continue;
            const struct ir_block *inside = flow->order[at];
            for (size_t p = 0; p < inside->predecessor_count; p++) {
                uint32_t next = flow->position[inside->predecessors[p]->number];
                if (next != BLOCK_NONE && stamp[next] != header + 1) {
                    stamp[next] = header + 1;
                    stack[depth++] = next;
                }
            }
        }
    }
}

void flow_compute(struct arena *arena, const struct ir_function *function, struct flow *flow)
{
    order_blocks(arena, function, flow);
    find_dominators(arena, flow);
    number_dominators(arena, flow);
    find_loops(arena, flow);
}

/* Returns the value that a phi always has, or NULL. */
static struct ir *phi_only_value(struct ir *phi)
{
    struct ir *same = NULL;
    for (uint32_t i = 0; i < phi->argument_count; i++) {
        struct ir *argument = ir_resolve(phi->arguments[i]);
        if (argument == phi || argument == same)
            continue;
        if (same)
            return NULL;
        same = argument;
    }
    return same;
}

static bool remove_trivial_phis(struct flow *flow)
{
    bool changed = false;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < flow->count; i++)
            for (struct ir *next, *phi = flow->order[i]->first; phi && phi->op == IR_PHI; phi = next) {
                next = phi->next;
                struct ir *value = phi_only_value(phi);
                if (value) {
                    ir_replace(phi, value);
                    again = changed = true;
                }
            }
    }
    return changed;
}

static void count_uses(struct flow *flow)
{
    for (uint32_t i = 0; i < flow->count; i++)
        for (struct ir *ir = flow->order[i]->first; ir; ir = ir->next)
            ir->uses = 0;
    for (uint32_t i = 0; i < flow->count; i++)
        for (struct ir *ir = flow->order[i]->first; ir; ir = ir->next) {
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                struct ir **operand = ir_operand(ir, k);
                *operand = ir_resolve(*operand);
                (*operand)->uses++;
            }
        }
}

bool ir_clean(struct ir_function *function)
{
    struct flow flow;
    order_blocks(function->program->arena, function, &flow);
    bool changed = false;
    for (struct ir_block *block = function->first; block; block = block->next) {
        if (flow.position[block->number] != BLOCK_NONE)
            continue;
        struct ir_block *to[2];
        unsigned count = ir_successors(block, to);
        for (unsigned i = 0; i < count; i++)
            if (flow.position[to[i]->number] != BLOCK_NONE)
                ir_edge_remove(block, to[i]);
        changed = true;
    }
    for (uint32_t i = 0; i < flow.count; i++) {
        flow.order[i]->number = i;
        flow.order[i]->next = i + 1 < flow.count ? flow.order[i + 1] : NULL;
    }
    function->first = flow.order[0];
    function->last = flow.order[flow.count - 1];
    function->block_count = flow.count;
    changed |= remove_trivial_phis(&flow);
    count_uses(&flow);
    return changed;
}
