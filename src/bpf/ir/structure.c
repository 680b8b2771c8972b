/* SPDX-License-Identifier: BSD-3-Clause */
/* Control flow that is written in the order in which it runs: labels, if, loops; and the order of blocks that
 * follows from it. */
#include "bpf/ir/ir.h"

#include <assert.h>

struct ir_block *ir_label(struct ir_builder *b)
{
    return ir_block_new(b);
}

struct ir_block *ir_label_unlikely(struct ir_builder *b)
{
    struct ir_block *label = ir_block_new(b);
    label->unlikely = true;
    return label;
}

static void begin(struct ir_builder *b, struct ir_block *label)
{
    ir_seal(b, label);
    ir_enter(b, label);
}

void ir_place(struct ir_builder *b, struct ir_block *label)
{
    if (!ir_ended(b))
        ir_jump(b, label);
    begin(b, label);
}

void ir_jump_if(struct ir_builder *b, struct ir *condition, struct ir_block *label)
{
    struct ir_block *next = ir_block_new(b);
    ir_branch(b, condition, label, next);
    begin(b, next);
}

void ir_jump_unless(struct ir_builder *b, struct ir *condition, struct ir_block *label)
{
    struct ir_block *next = ir_block_new(b);
    ir_branch(b, condition, next, label);
    begin(b, next);
}

static struct ir_if if_begin(struct ir_builder *b, struct ir *condition, struct ir_block *then)
{
    struct ir_if branch = {.otherwise = ir_block_new(b), .end = ir_block_new(b)};
    ir_branch(b, condition, then, branch.otherwise);
    begin(b, then);
    return branch;
}

struct ir_if ir_if(struct ir_builder *b, struct ir *condition)
{
    return if_begin(b, condition, ir_label(b));
}

struct ir_if ir_if_unlikely(struct ir_builder *b, struct ir *condition)
{
    return if_begin(b, condition, ir_label_unlikely(b));
}

void ir_else(struct ir_builder *b, struct ir_if *branch)
{
    if (!ir_ended(b))
        ir_jump(b, branch->end);
    begin(b, branch->otherwise);
    branch->otherwise = NULL;
}

void ir_end_if(struct ir_builder *b, struct ir_if *branch)
{
    ir_place(b, branch->otherwise ? branch->otherwise : branch->end);
}

struct ir *ir_choose(struct ir_builder *b, struct ir *condition, struct ir *x, struct ir *y)
{
    uint32_t chosen = ir_variable(b);
    struct ir_block *end = ir_block_new(b);
    ir_write(b, chosen, x);
    ir_jump_if(b, condition, end);
    ir_write(b, chosen, y);
    ir_place(b, end);
    return ir_read(b, chosen);
}

struct ir_block *ir_loop(struct ir_builder *b)
{
    struct ir_block *loop = ir_block_new(b);
    ir_jump(b, loop);
    ir_enter(b, loop);
    return loop;
}

void ir_loop_end(struct ir_builder *b, struct ir_block *loop)
{
    ir_seal(b, loop);
}

void ir_repeat(struct ir_builder *b, struct ir_block *loop)
{
    ir_jump(b, loop);
    ir_loop_end(b, loop);
}

/* Puts the blocks of a function into the order in which they were entered. The end of an if that had an else, and
 * labels that were given up, were never entered, and nothing leads to them. */
static void order_function(struct arena *arena, struct ir_function *function)
{
    struct ir_block **order = arena_array(arena, function->entered_count, sizeof *order);
    for (struct ir_block *block = function->first; block; block = block->next)
        if (block->entered)
            order[block->entered - 1] = block;
        else
            assert(!block->predecessor_count && !block->first);
    for (uint32_t i = 0; i < function->entered_count; i++) {
        order[i]->number = i;
        order[i]->next = i + 1 < function->entered_count ? order[i + 1] : NULL;
    }
    function->last = order[function->entered_count - 1];
    function->block_count = function->entered_count;
}

void ir_order(struct ir_program *program)
{
    for (struct ir_function *function = program->functions; function; function = function->next)
        order_function(program->arena, function);
}
