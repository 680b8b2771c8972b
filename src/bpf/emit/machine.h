/* SPDX-License-Identifier: BSD-3-Clause */
/* What selection, the allocator and the emitter agree on. Private to src/bpf.
 *
 * Selection turns a function into a form in which each instruction is one to three eBPF instructions:
 *   - A leaf (constant, frame address, map, function, value reloaded from its spill slot) can be made
 *     anywhere. Where an instruction's encoding can hold it, the operand is a leaf that is in no block's list
 * and has no register ("direct"). Elsewhere it is an instruction in front of its user, in the list, with a
 *     register.
 *   - A frame leaf names its object by `mark` and has an `offset` into it.
 *   - A branch holds its comparison: `immediate` is the operation (IR_AND: any common bit), a and b.
 *   - Binary operations, comparisons held by branches: `size` 4 means the 32-bit form.
 *   - An edge into a block with phis comes from a block with one successor. */
#ifndef SPOOR_BPF_EMIT_MACHINE_H
#define SPOOR_BPF_EMIT_MACHINE_H

#include "bpf/ir/edit.h"

enum {
    REGISTER_COUNT = 10, /* r0 to r9 */
    REGISTER_FRAME = 10,
    REGISTER_NONE = 0xff,
    STACK_LIMIT = 512,
};

static inline bool fits_immediate(int64_t value)
{
    return value == (int32_t)value;
}

/* A load of a spilled value from its slot; `immediate` tells it from a load of the script. */
static inline bool ir_is_reload(const struct ir *ir)
{
    return ir->op == IR_LOAD && ir->immediate;
}

static inline bool ir_is_leaf(const struct ir *ir)
{
    return ir->op == IR_CONSTANT || ir->op == IR_FRAME || ir->op == IR_MAP || ir->op == IR_MAP_VALUE ||
           ir->op == IR_FUNCTION || ir_is_reload(ir);
}

static inline struct ir *frame_object(const struct ir *leaf)
{
    return leaf->mark;
}

/* The instruction can hold this leaf as its operand number `index`. */
bool ir_holds_directly(const struct ir *ir, unsigned index, const struct ir *leaf);
/* A copy of a leaf, in no list. */
struct ir *ir_leaf_copy(struct ir_function *function, const struct ir *leaf, struct span span);
struct ir *ir_frame_leaf(struct ir_function *function, struct ir *object, int32_t offset, struct span span);
/* Makes operand `index` of `user` this leaf: direct, or by a copy in front of the user. */
void ir_set_leaf(struct ir *user, unsigned index, const struct ir *leaf);

void ir_select(struct ir_function *function);

/* Registers. */
struct allocation {
    struct ir_function *function;
    uint8_t *registers; /* by value number; REGISTER_NONE: has none */
    size_t value_count;
    struct ir **objects; /* frame objects of the function, spill slots included */
    size_t object_count, object_room;
    unsigned rounds, spills; /* for tests and -v */
    /* Which registers hold something: by register, ranges in order. */
    struct occupation {
        struct live_range {
            uint32_t begin, end;
            struct ir *value;
        } * ranges;
        size_t count, room;
    } occupied[REGISTER_COUNT];
    uint32_t *block_begin, *block_end; /* positions, by block number */
};

/* 0, or -E2BIG: no way to allocate with so few registers (never with 3 or more). */
int allocate_registers(struct ir_function *function, unsigned limit, struct allocation *out);
/* A register that holds nothing on the edge between two blocks, or REGISTER_NONE. */
unsigned allocation_free_on_edge(const struct allocation *allocation, const struct ir_block *from,
                                 const struct ir_block *to);
bool allocation_is_free_at(const struct allocation *allocation, unsigned reg, const struct ir_block *block);
static inline unsigned allocation_register(const struct allocation *allocation, const struct ir *value)
{
    return value->block && value->number < allocation->value_count ? allocation->registers[value->number]
                                                                   : (unsigned)REGISTER_NONE;
}

/* Gives each object its offset from the frame pointer (object->offset, negative); objects that are never
 * needed at the same time share bytes. Returns the bytes used. */
uint32_t frame_layout(struct allocation *allocation);

#endif
