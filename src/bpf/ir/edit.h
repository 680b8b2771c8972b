/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at a finished function and changing it: control flow as side tables, replacement of values, folding. What
 * passes, the allocator and the emitter share, private to src/bpf.
 *
 * A value that was replaced keeps its place in other instructions' operands and points to its replacement
 * (`forward`); everybody reads operands through ir_resolve until ir_clean rewrites them. */
#ifndef SPOOR_BPF_IR_EDIT_H
#define SPOOR_BPF_IR_EDIT_H

#include "bpf/ir/ir.h"

enum { BLOCK_NONE = 0xffffffffu };

/* Reachable blocks in reverse postorder, and their dominators; all by position in that order. */
struct flow {
    struct ir_block **order;
    uint32_t count;
    uint32_t *position;       /* by block number; BLOCK_NONE: unreachable */
    uint32_t *dominator;      /* immediate, by position; the entry's is itself */
    uint32_t *number, *below; /* in the tree of dominators, by position: its number, how many it dominates */
    uint32_t *loop;           /* nesting depth, by position */
};

static inline struct ir *ir_resolve(const struct ir *value)
{
    while (value && value->forward)
        value = value->forward;
    return (struct ir *)value;
}

static inline bool ir_is_terminator(enum ir_op op)
{
    return op >= IR_JUMP;
}

static inline bool ir_is_compare(enum ir_op op)
{
    return op >= IR_EQ && op <= IR_SGE;
}

static inline bool ir_is_binary(enum ir_op op)
{
    return op >= IR_ADD && op <= IR_ASHR;
}

static inline bool ir_is_commutative(enum ir_op op)
{
    return op == IR_ADD || op == IR_MUL || op == IR_AND || op == IR_OR || op == IR_XOR || op == IR_EQ ||
           op == IR_NE;
}

static inline bool ir_is_constant(const struct ir *value, int64_t constant)
{
    return value->op == IR_CONSTANT && value->immediate == constant;
}

/* The operands: a, b, c and the arguments, as one sequence. */
unsigned ir_operand_count(const struct ir *ir);
struct ir **ir_operand(struct ir *ir,
                       unsigned index); /* never NULL for index < count; the slot may hold NULL */

/* Successors of a block: 0, 1 or 2. */
unsigned ir_successors(const struct ir_block *block, struct ir_block *to[2]);

/* Editing. None of these moves a builder. */
struct ir *ir_new(struct ir_function *function, enum ir_op op, struct span span);
void ir_insert_before(struct ir *at, struct ir *ir);
void ir_insert_first(struct ir_block *block, struct ir *ir); /* after phis, parameters and frames */
void ir_append(struct ir_block *block, struct ir *ir);
void ir_remove(struct ir *ir);                                   /* out of its block */
void ir_replace(struct ir *old, struct ir *value);               /* forwards and removes */
void ir_edge_remove(struct ir_block *from, struct ir_block *to); /* predecessor and phi arguments */
struct ir_block *ir_block_append(struct ir_function *function);
struct ir *ir_constant_before(struct ir *at, int64_t value);

/* Properties of instructions, from one table each (operations; helpers). */
const char *ir_op_name(enum ir_op op);
bool ir_has_value(const struct ir *ir);
bool ir_is_pure(const struct ir *ir);      /* the same operands always give the same value */
bool ir_is_removable(const struct ir *ir); /* it may go when its value is not used */

enum helper_effect {
    HELPER_ONCE = 1,       /* the same value throughout one run of a program */
    HELPER_REMOVABLE = 2,  /* no effect but its value */
    HELPER_READS_ONLY = 4, /* reads memory through its pointers, writes none of it */
    HELPER_NO_MAPS = 8,    /* leaves the content of maps alone */
};
unsigned helper_effects(int64_t helper);

/* x op y; false where the result is not a constant (never, for the binary operations). */
int64_t ir_fold_binary(enum ir_op op, int64_t x, int64_t y);
int64_t ir_fold_extend(int64_t x, unsigned size, bool is_signed);
int64_t ir_fold_bswap(int64_t x, unsigned size);
enum ir_op ir_compare_swapped(enum ir_op op); /* x op y  ==  y swapped(op) x */
enum ir_op ir_compare_negated(enum ir_op op);

void flow_compute(struct arena *arena, const struct ir_function *function, struct flow *flow);
bool flow_dominates(const struct flow *flow, uint32_t above, uint32_t below); /* positions */

/* Rewrites operands to their replacements, removes trivial phis and unreachable blocks, puts the blocks into
 * reverse postorder, counts uses. Every pass may assume it; true if it removed anything but names. */
bool ir_clean(struct ir_function *function);

#endif
