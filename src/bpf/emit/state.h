/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the emitter, and included by no others: code on its way from selected functions to eBPF. */
#ifndef SPOOR_BPF_EMIT_STATE_H
#define SPOOR_BPF_EMIT_STATE_H

#include <assert.h>

#include "bpf/emit/machine.h"

enum item_kind { ITEM_PLAIN, ITEM_MAP, ITEM_MAP_VALUE, ITEM_RING, ITEM_FUNCTION };

struct item { /* an instruction, and what must still be put into it */
    struct bpf_insn instruction;
    struct span span;
    enum item_kind kind;
    uint32_t map;
    struct ir_function *callee;
};

struct fixup { /* a jump to a block */
    size_t item;
    const struct ir_block *to;
    bool far; /* 32-bit distance */
};

struct body {
    size_t begin, end; /* in items */
    size_t start;      /* in the code; of this block or, if it is left out, of the one that it leads to */
    bool placed;
};

struct emitted { /* a function */
    struct ir_function *function;
    size_t start;
    uint32_t stack; /* stack bytes of its own frame */
    uint32_t chain; /* with what it calls */
    uint32_t depth; /* how many frames these are */
    unsigned state; /* state of the search for chains: 0 new, 1 open, 2 done */
};

struct emitter {
    struct arena *arena;
    struct ir_program *program;
    struct diagnostics *diagnostics;
    unsigned registers_for_tests;
    struct allocation allocation;
    uint32_t stack;
    int32_t swap_offset; /* a word of the frame for moves in a cycle; 0: none yet */
    bool far;
    struct span span;
    struct item *items;
    size_t item_count, item_room;
    struct body *bodies; /* by block number */
    struct item *code;
    size_t code_count, code_room;
    struct fixup *fixups;
    size_t fixup_count, fixup_room;
    struct emitted *functions;
    size_t function_count, function_room;
};

static inline unsigned register_of(const struct emitter *e, const struct ir *value)
{
    unsigned reg = allocation_register(&e->allocation, value);
    assert(reg < REGISTER_COUNT);
    return reg;
}

/* Instructions that may stand before a branch go there: see emit/early.c. */
void emit_early(struct emitter *e, const struct ir_function *function);

#endif
