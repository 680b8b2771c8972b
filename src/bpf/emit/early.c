/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves instructions behind a branch in front of it, where that makes the code shorter: those with which both sides
 * begin, and a constant that only one of them needs. This works on instructions with registers, one block at a
 * time, and moves nothing that reads or writes memory. */
#include "bpf/emit/state.h"

#include <string.h>

/* Whether the block on one side of a branch only puts a constant into a register that has no meaning on the other
 * side. */
static bool is_early(const struct emitter *e, const struct ir *branch, unsigned way)
{
    const struct ir_block *block = branch->to[way], *other = branch->to[!way];
    const struct body *body = &e->bodies[block->number];
    const struct bpf_insn *set = &e->items[body->begin].instruction;
    bool is_wide = set->code == (BPF_LD | BPF_IMM | BPF_DW),
         is_short = set->code == (BPF_ALU64 | BPF_MOV | BPF_K);
    if (body->end - body->begin != 1u + is_wide || (!is_wide && !is_short) || (is_wide && block->unlikely) ||
        block == other || block->predecessor_count != 1 || block->last->op != IR_JUMP)
        return false;
    bool is_read = register_of(e, branch->a) == set->dst_reg ||
                   (branch->b->block && register_of(e, branch->b) == set->dst_reg);
    return !is_read && allocation_is_free_at(&e->allocation, set->dst_reg, other);
}

static bool same_item(const struct item *x, const struct item *y)
{
    return !memcmp(&x->instruction, &y->instruction, sizeof x->instruction) && x->kind == y->kind &&
           x->map == y->map && x->callee == y->callee;
}

/* Whether an instruction is part of a constant or of an address in the frame. What is made of a value stays behind
 * the comparison that bounds it: not every verifier knows that a copy which was made before is bounded, too. */
static bool makes_leaf(const struct emitter *e, size_t begin, size_t at)
{
    const struct bpf_insn *insn = &e->items[at].instruction;
    static const uint8_t copy = BPF_ALU64 | BPF_MOV | BPF_X;
    switch (insn->code) {
    case BPF_LD | BPF_IMM | BPF_DW:
    case BPF_ALU64 | BPF_MOV | BPF_K: return true;
    case BPF_ALU64 | BPF_MOV | BPF_X: return insn->src_reg == REGISTER_FRAME;
    case BPF_ALU64 | BPF_ADD | BPF_K:
        return at > begin && insn->dst_reg == e->items[at - 1].instruction.dst_reg &&
               e->items[at - 1].instruction.code == copy;
    default: return false;
    }
}

/* Returns how many items both sides of a branch begin with. */
static size_t count_common(const struct emitter *e, const struct ir *branch)
{
    const struct body *yes = &e->bodies[branch->to[0]->number], *no = &e->bodies[branch->to[1]->number];
    size_t count = 0;
    if (branch->to[0] == branch->to[1] || branch->to[0]->predecessor_count != 1 ||
        branch->to[1]->predecessor_count != 1)
        return 0;
    while (yes->begin + count < yes->end && no->begin + count < no->end) {
        const struct item *item = &e->items[yes->begin + count];
        unsigned to = item->instruction.dst_reg;
        bool is_wide = item->instruction.code == (BPF_LD | BPF_IMM | BPF_DW);
        bool is_read =
            register_of(e, branch->a) == to || (branch->b->block && register_of(e, branch->b) == to);
        if (!makes_leaf(e, yes->begin, yes->begin + count) || is_read ||
            !same_item(item, &e->items[no->begin + count]) ||
            (is_wide && !same_item(item + 1, &e->items[no->begin + count + 1])))
            break;
        count += 1u + is_wide;
    }
    return count;
}

static void append_items(struct emitter *e, const struct ir_block *block, size_t begin, size_t count)
{
    struct body *body = &e->bodies[block->number];
    size_t start = e->item_count;
    for (size_t i = body->begin; i < body->end; i++) {
        struct item item = e->items[i];
        *arena_push(e->arena, e->items, e->item_count, e->item_room) = item;
    }
    for (size_t i = begin; i < begin + count; i++) {
        struct item item = e->items[i];
        *arena_push(e->arena, e->items, e->item_count, e->item_room) = item;
    }
    *body = (struct body){.begin = start, .end = e->item_count};
}

/* Moves what both sides do in front of the branch, and so a block that only sets a constant, which saves the jump
 * behind it. */
void emit_early(struct emitter *e, const struct ir_function *function)
{
    for (const struct ir_block *block = function->first; block; block = block->next) {
        const struct ir *branch = block->last;
        if (branch->op != IR_BRANCH)
            continue;
        size_t common = count_common(e, branch);
        if (common) {
            append_items(e, block, e->bodies[branch->to[0]->number].begin, common);
            e->bodies[branch->to[0]->number].begin += common;
            e->bodies[branch->to[1]->number].begin += common;
        }
        bool early[2] = {is_early(e, branch, 0), is_early(e, branch, 1)};
        if (!early[0] && !early[1])
            continue;
        bool rare = branch->to[0]->unlikely && !branch->to[1]->unlikely;
        struct body *body = &e->bodies[branch->to[early[0] && (!early[1] || rare) ? 0 : 1]->number];
        append_items(e, block, body->begin, body->end - body->begin);
        body->end = body->begin;
    }
}
