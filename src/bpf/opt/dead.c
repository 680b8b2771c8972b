/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes what is not needed: values without users, phis that are used only by each other, stores into frame
 * objects that are never read. Also shapes blocks: merges them, threads jumps, leaves out empty ones. */
#include "bpf/opt/passes.h"

#include <string.h>

/* Dead code: everything that no effect needs. */

static bool has_effect(const struct ir *ir)
{
    return !ir_has_value(ir) || !ir_is_removable(ir);
}

struct needed {
    struct arena *arena;
    bool *is; /* by value number */
    struct ir **stack;
    size_t depth, room;
};

static void need(struct needed *needed, struct ir *ir)
{
    if (needed->is[ir->number])
        return;
    needed->is[ir->number] = true;
    *arena_push(needed->arena, needed->stack, needed->depth, needed->room) = ir;
}

static struct ir *frame_of(struct ir *address)
{
    while (address->op == IR_ADD && address->b->op == IR_CONSTANT)
        address = address->a;
    return address->op == IR_FRAME ? address : NULL;
}

/* Finds the frame objects that are read; the address of others is used only by stores. By value number. */
static void find_unread(struct ir_function *function, bool *is_read)
{
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                struct ir *frame = frame_of(*ir_operand(ir, k));
                bool stored_to = k == 0 && ir->op == IR_STORE;
                bool passed_on = ir->op == IR_ADD && k == 0 && ir->b->op == IR_CONSTANT;
                if (frame && !stored_to && !passed_on)
                    is_read[frame->number] = true;
            }
        }
}

bool pass_dead(struct ir_function *function)
{
    struct arena *arena = function->program->arena;
    struct needed needed = {.arena = arena};
    needed.is = arena_array(arena, function->value_count, sizeof *needed.is);
    bool *is_read = arena_array(arena, function->value_count, sizeof *is_read);
    find_unread(function, is_read);
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            struct ir *frame = ir->op == IR_STORE ? frame_of(ir->a) : NULL;
            if (has_effect(ir) && !(frame && !is_read[frame->number]))
                need(&needed, ir);
        }
    while (needed.depth) {
        struct ir *ir = needed.stack[--needed.depth];
        unsigned count = ir_operand_count(ir);
        for (unsigned k = 0; k < count; k++)
            need(&needed, *ir_operand(ir, k));
    }
    bool any = false;
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *next, *ir = block->first; ir; ir = next) {
            next = ir->next;
            if (needed.is[ir->number])
                continue;
            if (ir == function->context)
                function->context = NULL;
            ir_remove(ir);
            any = true;
        }
    return any;
}

/* Blocks */

static bool is_predecessor(const struct ir_block *block, const struct ir_block *from)
{
    for (size_t i = 0; i < block->predecessor_count; i++)
        if (block->predecessors[i] == from)
            return true;
    return false;
}

static void retarget(struct ir *terminator, const struct ir_block *old, struct ir_block *to)
{
    for (unsigned i = 0; i < 2; i++)
        if (terminator->to[i] == old)
            terminator->to[i] = to;
}

/* Adds an edge; phis get the argument that they have for `like`. */
static void edge_add_like(struct ir_block *from, struct ir_block *to, const struct ir_block *like)
{
    struct arena *arena = from->function->program->arena;
    size_t index = 0;
    while (to->predecessors[index] != like)
        index++;
    *arena_push(arena, to->predecessors, to->predecessor_count, to->predecessor_room) = from;
    for (struct ir *phi = to->first; phi && phi->op == IR_PHI; phi = phi->next) {
        if (phi->argument_count == phi->argument_room) {
            struct ir **grown = arena_array(arena, 2 * (size_t)phi->argument_count + 2, sizeof *grown);
            memcpy(grown, phi->arguments, phi->argument_count * sizeof *grown);
            phi->arguments = grown;
            phi->argument_room = 2 * phi->argument_count + 2;
        }
        phi->arguments[phi->argument_count++] = phi->arguments[index];
    }
}

static bool has_phis(const struct ir_block *block)
{
    return block->first && block->first->op == IR_PHI;
}

/* Replaces the path from `from` through `via` by an edge to `to`, a successor of `via`. False: it is not possible. */
static bool redirect(struct ir_block *from, struct ir_block *via, struct ir_block *to)
{
    if (to == via || from == via)
        return false;
    if (is_predecessor(to, from)) {
        /* Both sides of a branch lead to one block: without phis, that is a jump. */
        if (has_phis(to) || from->last->op != IR_BRANCH)
            return false;
        ir_edge_remove(from, via);
        from->last->op = IR_JUMP;
        from->last->a = NULL;
        from->last->to[0] = to;
        from->last->to[1] = NULL;
        return true;
    }
    edge_add_like(from, to, via);
    ir_edge_remove(from, via);
    retarget(from->last, via, to);
    return true;
}

static bool merge_with_successor(struct ir_block *block)
{
    struct ir_block *next = block->last->op == IR_JUMP ? block->last->to[0] : NULL;
    if (!next || next == block || next->predecessor_count != 1 || has_phis(next) ||
        next == block->function->first)
        return false;
    ir_remove(block->last);
    for (struct ir *following, *ir = next->first; ir; ir = following) {
        following = ir->next;
        ir_remove(ir);
        ir_append(block, ir);
    }
    struct ir_block *to[2];
    unsigned count = ir_successors(block, to);
    for (unsigned i = 0; i < count; i++)
        for (size_t k = 0; k < to[i]->predecessor_count; k++)
            if (to[i]->predecessors[k] == next)
                to[i]->predecessors[k] = block;
    /* Now the block is empty and cannot be reached, and ir_clean() removes it. */
    next->predecessor_count = 0;
    ir_append(next, ir_new(block->function, IR_UNREACHABLE, (struct span){0}));
    return true;
}

static bool leave_out_empty(struct ir_block *block)
{
    if (block->first->op != IR_JUMP || block == block->function->first)
        return false;
    /* An unlikely block that chooses a phi's value stays on its edge, which would only be split again, and then it
     * would not be known that it is rarely taken. */
    bool chooses = block->unlikely && has_phis(block->last->to[0]);
    bool any = false;
    for (size_t i = block->predecessor_count; i-- > 0;)
        if (!chooses || block->predecessors[i]->last->op != IR_BRANCH)
            any |= redirect(block->predecessors[i], block, block->last->to[0]);
    return any;
}

/* Whether all users of a value are below `to`, whose only predecessor is the value's block. The branch at the end
 * of that block does not count. */
static bool used_only_below(const struct flow *flow, const struct ir *value, const struct ir_block *to)
{
    if (to->predecessor_count != 1 || to == value->block)
        return false;
    uint32_t above = flow->position[to->number];
    for (uint32_t i = 0; i < flow->count; i++)
        for (struct ir *ir = flow->order[i]->first; ir; ir = ir->next) {
            unsigned count = ir == value->block->last ? 0 : ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                const struct ir_block *user = ir->op == IR_PHI ? ir->block->predecessors[k] : ir->block;
                if (ir_resolve(*ir_operand(ir, k)) == value &&
                    !flow_dominates(flow, above, flow->position[user->number]))
                    return false;
            }
        }
    return true;
}

/* Threads a block that only branches on a phi: predecessors that give a constant go directly where it leads. The
 * conditions of && and || are such blocks, and those on the result of a look-up. */
static bool thread_constants(struct ir_block *block, const struct flow *flow)
{
    struct ir *phi = block->first, *branch = block->last;
    if (phi->op != IR_PHI || phi->next != branch || branch->op != IR_BRANCH || branch->a != phi)
        return false;
    int below[2] = {-1, -1}; /* whether the phi is used only below that side; -1: not known yet */
    bool any = false;
    for (size_t i = block->predecessor_count; i-- > 0;) {
        if (phi->arguments[i]->op != IR_CONSTANT)
            continue;
        unsigned taken = phi->arguments[i]->immediate == 0;
        if (phi->uses != 1 && below[!taken] < 0)
            below[!taken] = flow && used_only_below(flow, phi, branch->to[!taken]);
        if (phi->uses == 1 || below[!taken] == 1)
            any |= redirect(block->predecessors[i], block, branch->to[taken]);
    }
    return any;
}

bool pass_blocks(struct ir_function *function)
{
    bool any = false;
    struct flow flow; /* valid as long as nothing has changed */
    flow_compute(function->program->arena, function, &flow);
    for (struct ir_block *block = function->first; block; block = block->next) {
        if (block != function->first && !block->predecessor_count)
            continue;
        bool changed = thread_constants(block, any ? NULL : &flow) || leave_out_empty(block);
        any |= changed;
        if (block != function->first && !block->predecessor_count)
            continue;
        while (merge_with_successor(block))
            any = true;
    }
    return any;
}
