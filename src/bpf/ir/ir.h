/* SPDX-License-Identifier: BSD-3-Clause */
/* The intermediate representation: functions of basic blocks of instructions in SSA form.
 *
 * A value is the instruction that makes it: 64 bits, in a register or spilled. Aggregates are never values; they are
 * addresses of memory (frame, scratch, map values, the event record). Every instruction carries the span of the script
 * that it comes from. Lowering (lower.h) builds it, with ir.c and, for control flow, ir/structure.c; passes.c improves
 * it, allocate.c assigns registers, emit.c writes eBPF.
 *
 * Variables become SSA while code is built: ir_write() and ir_read() take the number of a variable, and phis are placed
 * where blocks meet. A block is sealed once all its predecessors are known; ir_place(), ir_end_if() and ir_loop_end()
 * do that.
 *
 * Narrow integers: a value is always kept extended to 64 bits as its type says. Loads extend. Arithmetic is of 64 bits;
 * code that needs a narrower result asks for it with ir_extend().
 */
#ifndef SPOOR_BPF_IR_IR_H
#define SPOOR_BPF_IR_IR_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diagnostic.h"
#include "base/text.h"
#include "bpf/features.h"
#include "bpf/image.h"

enum ir_op {
    IR_CONSTANT,  /* immediate */
    IR_CONTEXT,   /* the function's first parameter */
    IR_PARAMETER, /* the function's parameter number `immediate`, 0-based (callbacks) */
    IR_FRAME,     /* address of `immediate` bytes (a multiple of 8) in the function's stack frame */
    IR_MAP, /* map number `immediate` of the image, as an argument of a helper; `offset` not 0: one of its
               rings, that of CPU offset - 1 */
    IR_MAP_VALUE, /* address of byte `offset` of the only value of array map `immediate` */
    IR_FUNCTION,  /* address of function `callee`, as an argument of a helper */
    IR_ADD,
    IR_SUB,
    IR_MUL,
    IR_UDIV,
    IR_SDIV,
    IR_UMOD,
    IR_SMOD, /* division by zero: guarded by the builder */
    IR_AND,
    IR_OR,
    IR_XOR,
    IR_SHL,
    IR_LSHR,
    IR_ASHR, /* shift counts are taken modulo 64 */
    IR_NEG,
    IR_NOT,    /* -x, ~x */
    IR_BSWAP,  /* byte swap of the low `size` bytes (2, 4, 8), zero-extended */
    IR_EXTEND, /* low `size` bytes (1, 2, 4), extended as `is_signed` says */
    IR_EQ,
    IR_NE,
    IR_ULT,
    IR_ULE,
    IR_UGT,
    IR_UGE,
    IR_SLT,
    IR_SLE,
    IR_SGT,
    IR_SGE,             /* 0 or 1 */
    IR_LOAD,            /* `size` bytes at a[offset], extended as `is_signed` says */
    IR_STORE,           /* low `size` bytes of b to a[offset] */
    IR_ATOMIC_ADD,      /* a[offset] += b, size 4 or 8, no result */
    IR_ATOMIC_EXCHANGE, /* old value of a[offset], which becomes b */
    IR_ATOMIC_COMPARE,  /* old value of a[offset]; becomes c if the old value equals b */
    IR_CALL,            /* helper or kfunc number `immediate` with `argument_count` arguments */
    IR_CALL_LOCAL,      /* function `callee` with `argument_count` arguments */
    IR_PHI,             /* one argument per predecessor of its block, in the predecessors' order */
    /* The last instruction of a block, and only there: */
    IR_JUMP,   /* to[0] */
    IR_BRANCH, /* a != 0 ? to[0] : to[1]; a comparison used only here is folded in */
    IR_RETURN, /* a */
    IR_UNREACHABLE,
};

struct ir_block;
struct ir_function;

struct ir { /* an instruction, and the value it makes */
    enum ir_op op;
    uint8_t size;
    bool is_signed;
    bool is_volatile; /* load: never merged */
    /* part of the program: an address or value of one part is never merged with that of another */
    uint16_t part;
    uint32_t number; /* within the function, for dumps and side tables */
    int32_t offset;
    int64_t immediate;
    struct ir *a, *b, *c;
    struct ir **arguments; /* call, phi */
    uint32_t argument_count, argument_room;
    struct ir_function *callee;
    struct ir_block *to[2];
    struct ir_block *block;
    struct ir *previous, *next; /* in the block */
    struct span span;
    const char *comment; /* which part of the tree made it, for -d ir; or NULL */
    struct ir *forward;  /* passes: this value was replaced by that one */
    uint32_t uses;       /* kept by passes */
    void *mark;          /* scratch for passes */
};

struct ir_block {
    uint32_t number;
    struct ir *first, *last;
    struct ir_block **predecessors;
    size_t predecessor_count, predecessor_room;
    bool sealed;
    bool unlikely;          /* placed out of the straight line */
    struct ir **incomplete; /* phis made before sealing; their `immediate` is the variable */
    size_t incomplete_count, incomplete_room;
    struct ir_block *next; /* in the function: while building in order of creation, then as ir_order() says */
    uint32_t entered;      /* which one of the function's blocks the builder entered: 1, 2 …; 0: not yet */
    struct ir_function *function;
    void *mark;
};

struct ir_function {
    const char *name;
    uint8_t parameters; /* the context counts: 1 for a program, 2 for a bpf_loop callback, 4 for for_each */
    /* The verifier looks at it on its own. Its first parameter is the context if that is used, others are numbers. */
    bool is_global;
    struct ir_block *first, *last;
    uint32_t block_count, value_count, variable_count, entered_count;
    struct ir_function *next;
    struct ir_program *program;
    struct ir *context;          /* the IR_CONTEXT instruction, once asked for */
    struct ir_binding *bindings; /* values of variables by block, while building: a hash table */
    size_t binding_count, binding_room;
    struct ir **pending; /* phis that wait for their arguments, while building */
    size_t pending_count, pending_room;
};

struct ir_program {
    struct arena *arena;
    const struct features *features;
    /* the only value of this map begins with so many zeros, which are never overwritten */
    uint32_t zeros_map, zeros;
    bool saves_stack;              /* the stack is short: values are made again where that takes less of it */
    struct ir_function *functions; /* the first is the program itself */
    struct ir_function *last_function;
};

/* Where new instructions go. */
struct ir_builder {
    struct ir_program *program;
    struct ir_function *function;
    struct ir_block *block;
    struct span span;
    const char *comment;
    uint16_t part;
};

struct ir_program *ir_program_new(struct arena *arena, const struct features *features);
/* Adds a function with an empty, sealed entry block. */
struct ir_function *ir_function_new(struct ir_program *program, const char *name, uint8_t parameters);
bool ir_ended(const struct ir_builder *b); /* the current block has its last instruction */
/* Blocks by hand, for what the functions below cannot say: code that is built out of its order. */
struct ir_block *ir_block_new(struct ir_builder *b); /* not sealed, no code; does not move the builder */
void ir_enter(struct ir_builder *b, struct ir_block *block); /* later instructions go there */
void ir_seal(struct ir_builder *b, struct ir_block *block);  /* all its predecessors are known */

/* Puts the blocks of all functions into the order in which the builder entered them, which is that of the code that
 * built them, and numbers them so. For the end of building, before the passes. */
void ir_order(struct ir_program *program);

/* Control flow that is written as it runs. These make blocks, end, seal and enter them by themselves.
 *
 * A label is a block that is not placed yet: code goes there from anywhere before. After ir_place() all that goes
 * there is known, and code that follows is reached from them and, unless it has ended, from the code above. */
struct ir_block *ir_label(struct ir_builder *b);
struct ir_block *ir_label_unlikely(struct ir_builder *b); /* a label of code that is seldom reached */
void ir_place(struct ir_builder *b, struct ir_block *label);
void ir_jump_if(struct ir_builder *b, struct ir *condition, struct ir_block *label);     /* not 0 */
void ir_jump_unless(struct ir_builder *b, struct ir *condition, struct ir_block *label); /* 0 */

/* Code after ir_if() runs where the condition is not 0, code after ir_else(), which may be left out, where it is. */
struct ir_if {
    struct ir_block *otherwise; /* NULL after ir_else() */
    struct ir_block *end;
};
struct ir_if ir_if(struct ir_builder *b, struct ir *condition);
struct ir_if ir_if_unlikely(struct ir_builder *b, struct ir *condition); /* seldom true */
void ir_else(struct ir_builder *b, struct ir_if *branch);
void ir_end_if(struct ir_builder *b, struct ir_if *branch);

/* x where the condition is not 0, else y. Both are computed before. */
struct ir *ir_choose(struct ir_builder *b, struct ir *condition, struct ir *x, struct ir *y);

/* A loop begins where ir_loop() stands. Code goes back there by a jump or a branch to what that returned, until
 * ir_loop_end(); ir_repeat() is a jump and the end in one. */
struct ir_block *ir_loop(struct ir_builder *b);
void ir_loop_end(struct ir_builder *b, struct ir_block *loop);
void ir_repeat(struct ir_builder *b, struct ir_block *loop);

/* Variables that become SSA. */
uint32_t ir_variable(struct ir_builder *b);
void ir_write(struct ir_builder *b, uint32_t variable, struct ir *value);
struct ir *ir_read(struct ir_builder *b, uint32_t variable); /* never written: constant 0 */

/* Instructions. Code after the end of a block is built into a fresh unreachable block and dropped. */
struct ir *ir_constant(struct ir_builder *b, int64_t value);
struct ir *ir_context(struct ir_builder *b);
struct ir *ir_parameter(struct ir_builder *b, unsigned number);
struct ir *ir_frame(struct ir_builder *b, uint32_t bytes); /* placed in the entry block; not initialised */
struct ir *ir_map(struct ir_builder *b, uint32_t map);
struct ir *ir_ring(struct ir_builder *b, uint32_t map, uint32_t cpu);
struct ir *ir_map_value(struct ir_builder *b, uint32_t map, int32_t offset);
struct ir *ir_function_address(struct ir_builder *b, struct ir_function *function);
struct ir *ir_binary(struct ir_builder *b, enum ir_op op, struct ir *x, struct ir *y); /* also comparisons */
struct ir *ir_binary_constant(struct ir_builder *b, enum ir_op op, struct ir *x, int64_t y);
struct ir *ir_unary(struct ir_builder *b, enum ir_op op, struct ir *x); /* IR_NEG, IR_NOT */
struct ir *ir_bswap(struct ir_builder *b, struct ir *x, unsigned size);
struct ir *ir_extend(struct ir_builder *b, struct ir *x, unsigned size, bool is_signed); /* size 8: x */
struct ir *ir_load(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size, bool is_signed);
void ir_store(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size, struct ir *value);
void ir_store_constant(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size, int64_t value);
void ir_atomic_add(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size, struct ir *value);
struct ir *ir_atomic_exchange(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size,
                              struct ir *value);
struct ir *ir_atomic_compare(struct ir_builder *b, struct ir *base, int32_t offset, unsigned size,
                             struct ir *expected, struct ir *value);
struct ir *ir_call(struct ir_builder *b, int64_t helper, unsigned count, ...); /* count × struct ir * */
struct ir *ir_call_local(struct ir_builder *b, struct ir_function *callee, unsigned count, ...);
void ir_jump(struct ir_builder *b, struct ir_block *to);
void ir_branch(struct ir_builder *b, struct ir *condition, struct ir_block *yes, struct ir_block *no);
void ir_return(struct ir_builder *b, struct ir *value);

/* Address arithmetic and block memory; all offsets and sizes in bytes, multiples of 8 where said. */
struct ir *ir_offset(struct ir_builder *b, struct ir *base, int32_t offset); /* base + offset; base when 0 */
void ir_zero(struct ir_builder *b, struct ir *base, int32_t offset, uint32_t bytes); /* multiple of 8 */
void ir_copy(struct ir_builder *b, struct ir *to, int32_t to_offset, struct ir *from, int32_t from_offset,
             uint32_t bytes); /* multiple of 8, both sides readable and writable directly */

/* The name of a helper or a kfunc, without "bpf_": "map_lookup_elem"; NULL if unknown. */
const char *ir_helper_name(int64_t helper);

/* Passes, in order: constants and copies, common look-ups and loads, ranges, dead code. Each keeps the
 * program valid; ir_check says what is wrong with an invalid one (for tests and -d), or NULL. */
void ir_optimise(struct ir_program *program);
const char *ir_check(struct arena *arena, const struct ir_program *program);
void ir_print(struct text *out, const struct ir_program *program);

/* Registers and eBPF. Registers available can be limited (registers_for_tests: 0 = all) to force spilling.
 * Fills instructions, relocations, functions, lines and stack_bytes of out, in the program's arena.
 * 0, or -E2BIG with a diagnostic: the frame does not fit in 512 bytes or a jump is too far. */
int ir_emit(struct ir_program *program, struct image_program *out, unsigned registers_for_tests,
            struct diagnostics *diagnostics);

#endif
