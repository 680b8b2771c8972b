/* SPDX-License-Identifier: BSD-3-Clause */
/* Random programs for the tests of src/bpf, and three ways to run them: as a tree in this process, as intermediate
 * representation in this process, and as eBPF in the kernel. The tree's result counts as the right one.
 *
 * A random program has a few variables and some input words. It assigns, branches, loops a constant number of
 * times, calls a helper and a function of its own, and at its end writes each variable to the output words. */
#ifndef SPOOR_TESTS_IR_TESTING_H
#define SPOOR_TESTS_IR_TESTING_H

#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/ir/ir.h"
#include "bpf/ir/edit.h"

enum { INPUTS = 8, VARIABLES = 14, OUTPUTS = VARIABLES, CONTEXT_WORDS = INPUTS + OUTPUTS };

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    uint64_t z = r->state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline unsigned random_below(struct random *r, unsigned limit)
{
    return (unsigned)(random_next(r) % limit);
}

/* Returns a value that is likely to find mistakes: near a power of two, of either sign. */
static inline int64_t random_value(struct random *r)
{
    switch (random_below(r, 5)) {
    case 0: return (int64_t)random_below(r, 9) - 4;
    case 1: return (int64_t)(((uint64_t)1 << random_below(r, 64)) + random_below(r, 3) - 1);
    case 2: return (int64_t)(0 - ((uint64_t)1 << random_below(r, 64)) - random_below(r, 2));
    case 3: return (int64_t)(random_next(r) >> random_below(r, 64));
    default: return (int64_t)random_next(r);
    }
}

enum tree_kind {
    TREE_CONSTANT,
    TREE_VARIABLE,
    TREE_INPUT,
    TREE_BINARY,
    TREE_UNARY,
    TREE_EXTEND,
    TREE_SWAP,
    TREE_ASSIGN,
    TREE_IF,
    TREE_LOOP,
    TREE_HELPER,
    TREE_CALL,
    TREE_BLOCK,
    TREE_MEMORY
};

struct tree {
    enum tree_kind kind;
    enum ir_op op;
    int64_t value;
    unsigned variable, size;
    bool is_signed;
    struct tree *a, *b, *c, *next;
};

static inline struct tree *tree_expression(struct arena *arena, struct random *r, unsigned depth)
{
    struct tree *tree = arena_new(arena, struct tree);
    unsigned choice = depth ? random_below(r, 16) : random_below(r, 4);
    tree->size = 1u << random_below(r, 3);
    tree->is_signed = random_below(r, 2);
    if (choice == 0) {
        tree->kind = TREE_CONSTANT;
        tree->value = random_value(r);
    } else if (choice == 1) {
        tree->kind = TREE_INPUT;
        tree->variable = random_below(r, INPUTS);
        tree->size = 1u << random_below(r, 4);
    } else if (choice < 4) {
        tree->kind = TREE_VARIABLE;
        tree->variable = random_below(r, VARIABLES);
    } else if (choice < 12) {
        tree->kind = TREE_BINARY;
        tree->op = random_below(r, 3) ? IR_ADD + random_below(r, IR_ASHR - IR_ADD + 1)
                                      : IR_EQ + random_below(r, IR_SGE - IR_EQ + 1);
        tree->a = tree_expression(arena, r, depth - 1);
        tree->b = tree_expression(arena, r, depth - 1);
    } else if (choice == 12) {
        tree->kind = TREE_UNARY;
        tree->op = random_below(r, 2) ? IR_NEG : IR_NOT;
        tree->a = tree_expression(arena, r, depth - 1);
    } else if (choice == 13) {
        tree->kind = TREE_SWAP;
        tree->size = 2u << random_below(r, 3);
        tree->a = tree_expression(arena, r, depth - 1);
    } else {
        tree->kind = TREE_EXTEND;
        tree->a = tree_expression(arena, r, depth - 1);
    }
    return tree;
}

static inline struct tree *tree_block(struct arena *arena, struct random *r, unsigned count, unsigned depth,
                                      unsigned *loops)
{
    struct tree *block = arena_new(arena, struct tree), **end = &block->a;
    block->kind = TREE_BLOCK;
    while (count--) {
        struct tree *tree = *end = arena_new(arena, struct tree);
        end = &tree->next;
        unsigned choice = random_below(r, 12);
        tree->variable = random_below(r, VARIABLES);
        if (choice == 0 && depth) {
            tree->kind = TREE_IF;
            tree->a = tree_expression(arena, r, 2);
            tree->b = tree_block(arena, r, 1 + random_below(r, 4), depth - 1, loops);
            tree->c = tree_block(arena, r, random_below(r, 3), depth - 1, loops);
        } else if (choice == 1 && depth && *loops) {
            --*loops;
            tree->kind = TREE_LOOP;
            tree->value = 1 + random_below(r, 3);
            tree->b = tree_block(arena, r, 1 + random_below(r, 4), depth - 1, loops);
        } else if (choice == 2) {
            tree->kind = TREE_HELPER;
        } else if (choice == 3) {
            tree->kind = TREE_CALL;
            tree->a = tree_expression(arena, r, 2);
            tree->b = tree_expression(arena, r, 2);
        } else if (choice == 4) {
            tree->kind = TREE_MEMORY;
            tree->size = 4u << random_below(r, 2);
            tree->value = random_below(r, 3);
            tree->a = tree_expression(arena, r, 2);
            tree->b = tree_expression(arena, r, 2);
        } else {
            tree->kind = TREE_ASSIGN;
            tree->a = tree_expression(arena, r, 3);
        }
    }
    return block;
}

/* ---- running the tree ---- */

static inline int64_t tree_evaluate(const struct tree *tree, const int64_t *variables, const int64_t *inputs)
{
    switch (tree->kind) {
    case TREE_CONSTANT: return tree->value;
    case TREE_VARIABLE: return variables[tree->variable];
    case TREE_INPUT: {
        int64_t word = inputs[tree->variable];
        return tree->size == 8 ? word : ir_fold_extend(word, tree->size, tree->is_signed);
    }
    case TREE_BINARY:
        return ir_fold_binary(tree->op, tree_evaluate(tree->a, variables, inputs),
                              tree_evaluate(tree->b, variables, inputs));
    case TREE_UNARY: {
        int64_t x = tree_evaluate(tree->a, variables, inputs);
        return tree->op == IR_NEG ? (int64_t)(0 - (uint64_t)x) : ~x;
    }
    case TREE_SWAP: return ir_fold_bswap(tree_evaluate(tree->a, variables, inputs), tree->size);
    default: return ir_fold_extend(tree_evaluate(tree->a, variables, inputs), tree->size, tree->is_signed);
    }
}

static inline int64_t function_value(int64_t x, int64_t y)
{
    return y ? (int64_t)((uint64_t)x * 3 - (uint64_t)y) : x ^ 5;
}

static inline void tree_run(const struct tree *block, int64_t *variables, const int64_t *inputs)
{
    for (const struct tree *tree = block->a; tree; tree = tree->next) {
        int64_t *variable = &variables[tree->variable];
        switch (tree->kind) {
        case TREE_ASSIGN: *variable = tree_evaluate(tree->a, variables, inputs); break;
        case TREE_IF:
            tree_run(tree_evaluate(tree->a, variables, inputs) ? tree->b : tree->c, variables, inputs);
            break;
        case TREE_LOOP:
            for (int64_t i = 0; i < tree->value; i++)
                tree_run(tree->b, variables, inputs);
            break;
        case TREE_CALL: {
            int64_t x = tree_evaluate(tree->a, variables, inputs),
                    y = tree_evaluate(tree->b, variables, inputs);
            *variable = function_value(x, y);
            break;
        }
        case TREE_MEMORY: {
            int64_t x = tree_evaluate(tree->a, variables, inputs),
                    y = tree_evaluate(tree->b, variables, inputs);
            int64_t old = tree->size == 4 ? (uint32_t)x : x;
            if (tree->value == 0) { /* add */
                int64_t sum = (int64_t)((uint64_t)x + (uint64_t)y);
                *variable =
                    tree->size == 4 ? (int64_t)(((uint64_t)x & ~(uint64_t)UINT32_MAX) | (uint32_t)sum) : sum;
            } else {
                *variable = old; /* exchange, compare */
            }
            break;
        }
        default: break;
        }
    }
}

/* ---- building intermediate representation from the tree ---- */

struct building {
    struct ir_builder b;
    uint32_t variables[VARIABLES];
    struct ir_function *function;
    struct ir *buffer;
};

static inline struct ir *build_expression(struct building *g, const struct tree *tree)
{
    struct ir_builder *b = &g->b;
    switch (tree->kind) {
    case TREE_CONSTANT: return ir_constant(b, tree->value);
    case TREE_VARIABLE: return ir_read(b, g->variables[tree->variable]);
    case TREE_INPUT:
        return ir_load(b, ir_context(b), (int32_t)tree->variable * 8, tree->size, tree->is_signed);
    case TREE_BINARY: {
        struct ir *x = build_expression(g, tree->a);
        return ir_binary(b, tree->op, x, build_expression(g, tree->b));
    }
    case TREE_UNARY: return ir_unary(b, tree->op, build_expression(g, tree->a));
    case TREE_SWAP: return ir_bswap(b, build_expression(g, tree->a), tree->size);
    default: return ir_extend(b, build_expression(g, tree->a), tree->size, tree->is_signed);
    }
}

static inline void build_block(struct building *g, const struct tree *block)
{
    struct ir_builder *b = &g->b;
    for (const struct tree *tree = block->a; tree; tree = tree->next) {
        switch (tree->kind) {
        case TREE_ASSIGN: ir_write(b, g->variables[tree->variable], build_expression(g, tree->a)); break;
        case TREE_IF: {
            struct ir_block *yes = ir_block_new(b), *no = ir_block_new(b), *after = ir_block_new(b);
            no->unlikely = tree->variable & 1;
            ir_branch(b, build_expression(g, tree->a), yes, no);
            ir_seal(b, yes);
            ir_seal(b, no);
            ir_enter(b, yes);
            build_block(g, tree->b);
            ir_jump(b, after);
            ir_enter(b, no);
            build_block(g, tree->c);
            ir_jump(b, after);
            ir_seal(b, after);
            ir_enter(b, after);
            break;
        }
        case TREE_LOOP: {
            uint32_t counter = ir_variable(b);
            ir_write(b, counter, ir_constant(b, 0));
            struct ir_block *head = ir_block_new(b), *body = ir_block_new(b), *after = ir_block_new(b);
            ir_jump(b, head);
            ir_enter(b, head);
            ir_branch(b, ir_binary_constant(b, IR_ULT, ir_read(b, counter), tree->value), body, after);
            ir_seal(b, body);
            ir_seal(b, after);
            ir_enter(b, body);
            build_block(g, tree->b);
            ir_write(b, counter, ir_binary_constant(b, IR_ADD, ir_read(b, counter), 1));
            ir_jump(b, head);
            ir_seal(b, head);
            ir_enter(b, after);
            break;
        }
        case TREE_HELPER: ir_call(b, BPF_FUNC_get_current_comm, 2, g->buffer, ir_constant(b, 16)); break;
        case TREE_CALL: {
            struct ir *x = build_expression(g, tree->a), *y = build_expression(g, tree->b);
            ir_write(b, g->variables[tree->variable], ir_call_local(b, g->function, 2, x, y));
            break;
        }
        case TREE_MEMORY: {
            /* The word lies in a map: the kernel's verifier (6.18) loses track of constants in atomics on the
             * stack. */
            struct ir *word = ir_map_value(b, 0, 8);
            struct ir *x = build_expression(g, tree->a), *y = build_expression(g, tree->b), *result;
            ir_store(b, word, 0, 8, x);
            if (tree->value == 0) {
                ir_atomic_add(b, word, 0, tree->size, y);
                result = ir_load(b, word, 0, 8, false);
            } else if (tree->value == 1) {
                result = ir_atomic_exchange(b, word, 0, tree->size, y);
            } else {
                result = ir_atomic_compare(b, word, 0, tree->size, y, x);
            }
            ir_write(b, g->variables[tree->variable], result);
            break;
        }
        default: break;
        }
    }
}

static inline struct ir_program *build_program(struct arena *arena, const struct features *features,
                                               const struct tree *block)
{
    struct ir_program *program = ir_program_new(arena, features);
    struct building g = {.b = {.program = program}};
    struct ir_function *main_function = ir_function_new(program, "main", 1);
    g.function = ir_function_new(program, "three_times", 2);

    g.b.function = g.function;
    ir_enter(&g.b, g.function->first);
    struct ir_block *yes = ir_block_new(&g.b), *no = ir_block_new(&g.b);
    ir_branch(&g.b, ir_parameter(&g.b, 1), yes, no);
    ir_seal(&g.b, yes);
    ir_seal(&g.b, no);
    ir_enter(&g.b, yes);
    struct ir *tripled = ir_binary_constant(&g.b, IR_MUL, ir_context(&g.b), 3);
    ir_return(&g.b, ir_binary(&g.b, IR_SUB, tripled, ir_parameter(&g.b, 1)));
    ir_enter(&g.b, no);
    ir_return(&g.b, ir_binary_constant(&g.b, IR_XOR, ir_context(&g.b), 5));

    g.b.function = main_function;
    ir_enter(&g.b, main_function->first);
    g.buffer = ir_frame(&g.b, 16);
    for (unsigned i = 0; i < VARIABLES; i++) {
        g.variables[i] = ir_variable(&g.b);
        if (i % 3) /* the others begin as zero */
            ir_write(&g.b, g.variables[i],
                     ir_load(&g.b, ir_context(&g.b), (int32_t)(i % INPUTS) * 8, 8, false));
    }
    build_block(&g, block);
    for (unsigned i = 0; i < VARIABLES; i++)
        ir_store(&g.b, ir_context(&g.b), (int32_t)(INPUTS + i) * 8, 8, ir_read(&g.b, g.variables[i]));
    ir_return(&g.b, ir_constant(&g.b, 0));
    return program;
}

static inline void tree_results(const struct tree *block, const int64_t *inputs, int64_t *outputs)
{
    for (unsigned i = 0; i < VARIABLES; i++)
        outputs[i] = i % 3 ? inputs[i % INPUTS] : 0;
    tree_run(block, outputs, inputs);
}

/* Runs the intermediate representation. Helpers return 0 and write nothing. Returns false if the function does not
 * end within the limit. */

static inline bool ir_run(const struct ir_function *function, int64_t *parameters, int64_t *result)
{
    int64_t *values = calloc(function->value_count, sizeof *values);
    char *frame = calloc(1, 4096), map[16] = {0};
    size_t frame_used = 0;
    const struct ir_block *block = function->first, *from = NULL;
    bool done = false;
    for (unsigned steps = 0; steps < 100000 && !done; steps++) {
        const struct ir *ir = block->first;
        size_t index = 0;
        while (from && index < block->predecessor_count && block->predecessors[index] != from)
            index++;
        int64_t phis[256];
        size_t count = 0;
        for (; ir->op == IR_PHI; ir = ir->next)
            phis[count++] = values[ir_resolve(ir->arguments[index])->number];
        count = 0;
        for (ir = block->first; ir->op == IR_PHI; ir = ir->next)
            values[ir->number] = phis[count++];
        for (; ir; ir = ir->next) {
            int64_t *v = &values[ir->number];
            int64_t a = ir->a ? values[ir_resolve(ir->a)->number] : 0,
                    b = ir->b ? values[ir_resolve(ir->b)->number] : 0;
            char *memory = (char *)(uintptr_t)a + ir->offset;
            if (ir_is_binary(ir->op) || ir_is_compare(ir->op)) {
                *v = ir_fold_binary(ir->op, a, b);
                continue;
            }
            switch (ir->op) {
            case IR_CONSTANT: *v = ir->immediate; break;
            case IR_CONTEXT: *v = parameters[0]; break;
            case IR_PARAMETER: *v = parameters[ir->immediate]; break;
            case IR_FRAME:
                *v = (int64_t)(uintptr_t)(frame + frame_used);
                frame_used += (size_t)ir->immediate;
                assert(frame_used <= 4096);
                break;
            case IR_MAP_VALUE: *v = (int64_t)(uintptr_t)(map + ir->offset); break;
            case IR_NEG: *v = (int64_t)(0 - (uint64_t)a); break;
            case IR_NOT: *v = ~a; break;
            case IR_BSWAP: *v = ir_fold_bswap(a, ir->size); break;
            case IR_EXTEND: *v = ir_fold_extend(a, ir->size, ir->is_signed); break;
            case IR_LOAD:
                *v = 0;
                memcpy(v, memory, ir->size);
                if (ir->size < 8)
                    *v = ir_fold_extend(*v, ir->size, ir->is_signed);
                break;
            case IR_STORE: memcpy(memory, &b, ir->size); break;
            case IR_ATOMIC_ADD: {
                int64_t old = 0;
                memcpy(&old, memory, ir->size);
                old = (int64_t)((uint64_t)old + (uint64_t)b);
                memcpy(memory, &old, ir->size);
                break;
            }
            case IR_ATOMIC_EXCHANGE:
            case IR_ATOMIC_COMPARE: {
                int64_t old = 0;
                memcpy(&old, memory, ir->size);
                if (ir->op == IR_ATOMIC_EXCHANGE)
                    memcpy(memory, &b, ir->size);
                else if (!memcmp(&old, &b, ir->size))
                    memcpy(memory, &values[ir_resolve(ir->c)->number], ir->size);
                *v = old;
                break;
            }
            case IR_CALL_LOCAL: {
                int64_t arguments[5];
                for (uint32_t i = 0; i < ir->argument_count; i++)
                    arguments[i] = values[ir_resolve(ir->arguments[i])->number];
                if (!ir_run(ir->callee, arguments, v))
                    steps = 100000;
                break;
            }
            case IR_RETURN:
                *result = a;
                done = true;
                break;
            default: break;
            }
        }
        from = block;
        if (block->last->op == IR_JUMP)
            block = block->last->to[0];
        else if (block->last->op == IR_BRANCH)
            block = block->last->to[!values[ir_resolve(block->last->a)->number]];
    }
    free(values);
    free(frame);
    return done;
}

/* ---- running eBPF in the kernel ---- */

/* Creates an array map with one value of 16 bytes and returns its descriptor. */
static inline int kernel_map(void)
{
    union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 16, .max_entries = 1};
    int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr);
    return fd < 0 ? -errno : fd;
}

static inline int kernel_load(const struct image_program *program, enum bpf_prog_type type, int map,
                              char *log, size_t size)
{
    for (uint32_t i = 0; i < program->relocation_count; i++) {
        struct bpf_insn *insn = &program->instructions[program->relocations[i].instruction];
        insn->src_reg =
            program->relocations[i].kind == RELOCATION_MAP ? BPF_PSEUDO_MAP_FD : BPF_PSEUDO_MAP_VALUE;
        insn->imm = map;
    }
    union bpf_attr attr = {.prog_type = type,
                           .insns = (uintptr_t)program->instructions,
                           .insn_cnt = program->count,
                           .license = (uintptr_t) "GPL",
                           .log_buf = (uintptr_t)log,
                           .log_size = (uint32_t)size,
                           .log_level = log ? 1 : 0,
                           .prog_flags = type == BPF_PROG_TYPE_SYSCALL ? BPF_F_SLEEPABLE : 0};
    int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
    return fd < 0 ? -errno : fd;
}

/* Returns whether this process may load and run programs at all. */
static inline bool kernel_available(void)
{
    struct bpf_insn insns[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
    struct image_program program = {.instructions = insns, .count = 2};
    int fd = kernel_load(&program, BPF_PROG_TYPE_SYSCALL, -1, NULL, 0);
    if (fd < 0) {
        printf("skipped: the kernel refuses an empty program (%s); needs root\n", strerror(-fd));
        return false;
    }
    close(fd);
    return true;
}

static inline int kernel_run(int fd, void *context, uint32_t size)
{
    union bpf_attr attr = {
        .test = {.prog_fd = (uint32_t)fd, .ctx_in = (uintptr_t)context, .ctx_size_in = size}};
    return syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof attr) < 0 ? -errno : (int)attr.test.retval;
}

/* ---- fixtures ---- */

static inline int arena_setup(void **state)
{
    static jmp_buf nowhere;
    struct arena *arena = calloc(1, sizeof *arena);
    if (!arena || arena_guard(arena, nowhere))
        abort();
    *state = arena;
    return 0;
}

static inline int arena_teardown(void **state)
{
    arena_free(*state);
    free(*state);
    return 0;
}

/* Starts a program of one function; the builder is in its entry block. */
static inline struct ir_builder builder_new(struct arena *arena, const struct features *features)
{
    struct ir_builder b = {.program = ir_program_new(arena, features)};
    b.function = ir_function_new(b.program, "main", 1);
    b.block = b.function->first;
    return b;
}

static inline unsigned count_op(const struct ir_function *function, enum ir_op op)
{
    unsigned count = 0;
    for (const struct ir_block *block = function->first; block; block = block->next)
        for (const struct ir *ir = block->first; ir; ir = ir->next)
            count += ir->op == op;
    return count;
}

static inline unsigned count_helper(const struct ir_function *function, int64_t helper)
{
    unsigned count = 0;
    for (const struct ir_block *block = function->first; block; block = block->next)
        for (const struct ir *ir = block->first; ir; ir = ir->next)
            count += ir->op == IR_CALL && ir->immediate == helper;
    return count;
}

static const struct features features_all = {
    .alu32_jmp32 = true, .atomic_fetch = true, .signed_division = true};
static const struct features features_v1 = {.atomic_fetch = true};

#endif
