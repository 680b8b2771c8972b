/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports what is wrong with a program that breaks the rules of the representation, for tests and for debugging the
 * compiler; changes nothing. Of blocks that cannot be reached only the form is checked. */
#include "bpf/ir/edit.h"

#include <inttypes.h>

/* For each operation how many operands it must have, and whether it has a size. */
static const struct shape {
    uint8_t operands;
    bool sized;
} shapes[] = {
    [IR_ADD... IR_ASHR] = {2, false},
    [IR_NEG] = {1, false},
    [IR_NOT] = {1, false},
    [IR_BSWAP] = {1, true},
    [IR_EXTEND] = {1, true},
    [IR_EQ... IR_SGE] = {2, false},
    [IR_LOAD] = {1, true},
    [IR_STORE] = {2, true},
    [IR_ATOMIC_ADD] = {2, true},
    [IR_ATOMIC_EXCHANGE] = {2, true},
    [IR_ATOMIC_COMPARE] = {3, true},
    [IR_BRANCH] = {1, false},
    [IR_RETURN] = {1, false},
    [IR_UNREACHABLE] = {0, false},
};

struct check {
    struct arena *arena;
    const struct ir_function *function;
    struct flow flow;
    uint32_t *at; /* by value number: place of the instruction in its block, from 1 on */
};

static const char *violation(struct check *check, const struct ir *ir, const char *what)
{
    return arena_printf(check->arena, "%s: v%" PRIu32 " (%s) in b%" PRIu32 ": %s", check->function->name,
                        ir->number, ir_op_name(ir->op), ir->block ? ir->block->number : 0, what);
}

static bool has_predecessor(const struct ir_block *block, const struct ir_block *from)
{
    size_t found = 0;
    for (size_t i = 0; i < block->predecessor_count; i++)
        found += block->predecessors[i] == from;
    return found == 1;
}

static const char *check_form(struct check *check, struct ir *ir)
{
    const struct shape shape =
        (size_t)ir->op < sizeof shapes / sizeof *shapes ? shapes[ir->op] : (struct shape){0};
    const bool listed = ir->op == IR_PHI || ir->op == IR_CALL || ir->op == IR_CALL_LOCAL;
    const struct ir_block *block = ir->block;
    if (ir->number >= check->function->value_count)
        return violation(check, ir, "number out of range");
    if (!listed && ir_operand_count(ir) != shape.operands)
        return violation(check, ir, "wrong number of operands");
    if (shape.sized && ir->size != 1 && ir->size != 2 && ir->size != 4 && ir->size != 8)
        return violation(check, ir, "size is not 1, 2, 4 or 8");
    if (ir->op == IR_BSWAP && ir->size == 1)
        return violation(check, ir, "swap of one byte");
    if (ir->op == IR_ATOMIC_ADD || ir->op == IR_ATOMIC_EXCHANGE || ir->op == IR_ATOMIC_COMPARE)
        if (ir->size < 4)
            return violation(check, ir, "atomic of less than 4 bytes");
    if ((ir->op == IR_CALL || ir->op == IR_CALL_LOCAL) && ir->argument_count > 5)
        return violation(check, ir, "more than five arguments");
    if (ir->op == IR_CALL_LOCAL && ir->callee && ir->argument_count != ir->callee->parameters)
        return violation(check, ir, "not as many arguments as the function has parameters");
    if ((ir->op == IR_CALL_LOCAL || ir->op == IR_FUNCTION) && !ir->callee)
        return violation(check, ir, "no function");
    if (ir->op == IR_PHI && ir->argument_count != block->predecessor_count)
        return violation(check, ir, "not one argument per predecessor");
    if (ir->op == IR_PHI && ir->previous && ir->previous->op != IR_PHI)
        return violation(check, ir, "phi after other instructions");
    if ((ir->op == IR_FRAME || ir->op == IR_CONTEXT || ir->op == IR_PARAMETER) &&
        block != check->function->first)
        return violation(check, ir, "belongs in the entry block");
    if (ir->op == IR_FRAME && (ir->immediate <= 0 || ir->immediate % 8))
        return violation(check, ir, "frame size is not a positive multiple of 8");
    if (ir_is_terminator(ir->op) != !ir->next)
        return violation(check, ir, ir->next ? "code after the end of the block" : "block does not end");
    return NULL;
}

static const char *check_operand(struct check *check, struct ir *ir, unsigned index)
{
    const struct ir *value = ir_resolve(*ir_operand(ir, index));
    if (!value)
        return violation(check, ir, "operand missing");
    if (!value->block)
        return violation(check, ir, "operand is in no block");
    if (value->block->function != check->function)
        return violation(check, ir, "operand belongs to another function");
    if (!ir_has_value(value))
        return violation(check, ir, "operand has no value");
    uint32_t user = check->flow.position[ir->block->number];
    if (ir->op == IR_PHI)
        user = check->flow.position[ir->block->predecessors[index]->number];
    uint32_t maker = check->flow.position[value->block->number];
    if (user == BLOCK_NONE)
        return NULL;
    if (maker == BLOCK_NONE || !flow_dominates(&check->flow, maker, user))
        return violation(check, ir,
                         arena_printf(check->arena, "v%" PRIu32 " does not dominate its use", value->number));
    if (maker == user && ir->op != IR_PHI && check->at[value->number] >= check->at[ir->number])
        return violation(check, ir,
                         arena_printf(check->arena, "v%" PRIu32 " is used before it is made", value->number));
    return NULL;
}

static const char *check_edges(struct check *check, const struct ir_block *block)
{
    struct ir_block *to[2];
    unsigned count = ir_successors(block, to);
    for (unsigned i = 0; i < count; i++) {
        if (to[i]->function != check->function)
            return violation(check, block->last, "jumps into another function");
        if (!has_predecessor(to[i], block))
            return violation(check, block->last, "successor does not know this predecessor, or twice");
    }
    if (count == 2 && to[0] == to[1])
        return violation(check, block->last, "both ways lead to the same block");
    for (size_t i = 0; i < block->predecessor_count; i++) {
        count = ir_successors(block->predecessors[i], to);
        if (!(count > 0 && to[0] == block) && !(count > 1 && to[1] == block))
            return arena_printf(check->arena, "%s: b%" PRIu32 " is no predecessor of b%" PRIu32,
                                check->function->name, block->predecessors[i]->number, block->number);
    }
    if (block == check->function->first && block->predecessor_count)
        return arena_printf(check->arena, "%s: something jumps to the entry block", check->function->name);
    return NULL;
}

static const char *check_function(struct check *check)
{
    const char *wrong = NULL;
    for (const struct ir_block *block = check->function->first; block; block = block->next) {
        /* A block that cannot be reached may be unfinished, because the builder leaves such blocks behind. */
        if (!block->last || !ir_is_terminator(block->last->op)) {
            if (block->predecessor_count || block == check->function->first)
                return arena_printf(check->arena, "%s: b%" PRIu32 " does not end", check->function->name,
                                    block->number);
            continue;
        }
        uint32_t ordinal = 0;
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            if (ir->block != block)
                return violation(check, ir, "is in the list of another block");
            if ((wrong = check_form(check, ir)))
                return wrong;
            check->at[ir->number] = ++ordinal;
        }
        if ((wrong = check_edges(check, block)))
            return wrong;
    }
    flow_compute(check->arena, check->function, &check->flow);
    for (uint32_t i = 0; i < check->flow.count; i++)
        for (struct ir *ir = check->flow.order[i]->first; ir; ir = ir->next) {
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++)
                if ((wrong = check_operand(check, ir, k)))
                    return wrong;
        }
    return NULL;
}

const char *ir_check(struct arena *arena, const struct ir_program *program)
{
    for (const struct ir_function *function = program->functions; function; function = function->next) {
        struct check check = {.arena = arena, .function = function};
        check.at = arena_array(arena, function->value_count, sizeof *check.at);
        const char *wrong = check_function(&check);
        if (wrong)
            return wrong;
    }
    return NULL;
}
