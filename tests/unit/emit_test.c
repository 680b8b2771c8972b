/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the emitter: which instructions it writes, and whether the kernel takes them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bpf/emit/btf_write.h"
#include "ir_testing.h"

static void show_failure(const struct image_program *image, const char *log)
{
    struct text text = {0};
    struct image whole = {0};
    image_print(&text, &whole, image);
    printf("%s\n%s\n", text_string(&text), log ? log : "");
    text_free(&text);
}

static unsigned count_code(const struct image_program *image, uint8_t code)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < image->count; i++)
        count += image->instructions[i].code == code;
    return count;
}

static void emit_into(struct ir_program *program, struct image_program *image, unsigned registers)
{
    struct diagnostics diagnostics = {.arena = program->arena};
    assert_null(ir_check(program->arena, program));
    assert_int_equal(ir_emit(program, image, registers, &diagnostics), 0);
    assert_int_equal(diagnostics.count, 0);
}

static jmp_buf out_of_memory;

static unsigned run_random_program(unsigned seed, unsigned mode, int map)
{
    static char log[1 << 20];
    struct arena arena = {0};
    if (arena_guard(&arena, out_of_memory))
        abort();
    struct random r = {seed};
    unsigned loops = 2, compared = 0;
    struct tree *tree = tree_block(&arena, &r, 25, 3, &loops);
    struct ir_program *program = build_program(&arena, mode & 1 ? &features_v1 : &features_all, tree);
    assert_null(ir_check(&arena, program));
    program->saves_stack = mode & 8;
    if (mode & 2)
        ir_optimise(program);
    const char *wrong = ir_check(&arena, program);
    if (wrong)
        fail_msg("seed %u mode %u: %s", seed, mode, wrong);
    struct image_program image = {0};
    emit_into(program, &image, mode & 4 ? 3 + seed % 2 : 0);
    int fd = kernel_load(&image, BPF_PROG_TYPE_SYSCALL, map, NULL, 0);
    if (fd < 0) {
        kernel_load(&image, BPF_PROG_TYPE_SYSCALL, map, log, sizeof log);
        show_failure(&image, log + (strlen(log) > 4000 ? strlen(log) - 4000 : 0));
        fail_msg("seed %u mode %u: refused: %s", seed, mode, strerror(-fd));
    }
    for (unsigned run = 0; run < 8; run++) {
        int64_t context[CONTEXT_WORDS] = {0}, expected[OUTPUTS];
        for (unsigned i = 0; i < INPUTS; i++)
            context[i] = random_value(&r);
        tree_results(tree, context, expected);
        assert_int_equal(kernel_run(fd, context, sizeof context), 0);
        for (unsigned i = 0; i < OUTPUTS; i++)
            if (context[INPUTS + i] != expected[i]) {
                show_failure(&image, NULL);
                fail_msg("seed %u mode %u run %u: variable %u is %llx, not %llx", seed, mode, run, i,
                         (unsigned long long)context[INPUTS + i], (unsigned long long)expected[i]);
            }
        compared += OUTPUTS;
    }
    close(fd);
    arena_free(&arena);
    return compared;
}

static void random_programs_agree_with_kernel(void **state)
{
    (void)state;
    if (!kernel_available())
        skip();
    unsigned compared = 0;
    int map = kernel_map();
    assert_true(map >= 0);
    for (unsigned seed = 0; seed < 120; seed++)
        for (unsigned mode = 0; mode < 12; mode++)
            compared += run_random_program(seed, mode, map);
    close(map);
    printf("%u values compared\n", compared);
}

/* Opcodes */

static bool has_instruction(const struct image_program *image, uint8_t code, int dst, int src, int off,
                            int64_t imm)
{
    for (uint32_t i = 0; i < image->count; i++) {
        const struct bpf_insn *insn = &image->instructions[i];
        if (insn->code == code && (dst < 0 || insn->dst_reg == dst) && (src < 0 || insn->src_reg == src) &&
            insn->off == off && insn->imm == imm)
            return true;
    }
    return false;
}

static struct image_program emit(struct ir_builder *b)
{
    struct image_program image = {0};
    emit_into(b->program, &image, 0);
    return image;
}

enum {
    LOAD_DW = BPF_LDX | BPF_MEM | BPF_DW,
    STORE_IMMEDIATE_DW = BPF_ST | BPF_MEM | BPF_DW,
    STORE_DW = BPF_STX | BPF_MEM | BPF_DW,
    MOVE = BPF_ALU64 | BPF_MOV | BPF_X,
    MOVE_IMMEDIATE = BPF_ALU64 | BPF_MOV | BPF_K,
    CALL = BPF_JMP | BPF_CALL,
    EXIT = BPF_JMP | BPF_EXIT,
    WIDE = BPF_LD | BPF_IMM | BPF_DW,
};

static void return_constant_is_two_instructions(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    ir_return(&b, ir_constant(&b, 7));
    struct image_program image = emit(&b);
    assert_int_equal(image.count, 2);
    assert_int_equal(image.instructions[0].code, MOVE_IMMEDIATE);
    assert_int_equal(image.instructions[0].imm, 7);
    assert_int_equal(image.instructions[1].code, EXIT);
    assert_int_equal(image.function_count, 1);
    assert_string_equal(image.functions[0].name, "main");
}

static void comparison_folds_into_branch(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_block *yes = ir_block_new(&b), *no = ir_block_new(&b);
    struct ir *x = ir_load(&b, ir_context(&b), 16, 8, false);
    ir_branch(&b, ir_binary_constant(&b, IR_ULT, x, 100), yes, no);
    ir_seal(&b, yes);
    ir_seal(&b, no);
    ir_enter(&b, yes);
    ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 9));
    ir_return(&b, ir_constant(&b, 1));
    ir_enter(&b, no);
    ir_return(&b, ir_constant(&b, 0));
    ir_optimise(b.program);
    struct image_program image = emit(&b);
    /* load; if >= 100 goto; r1 = 9; call; r0 = 1; exit; r0 = 0; exit */
    assert_int_equal(image.count, 8);
    assert_true(has_instruction(&image, LOAD_DW, -1, 1, 16, 0));
    assert_true(has_instruction(&image, BPF_JMP | BPF_JGE | BPF_K, -1, 0, 4, 100));
}

static void any_common_bit_is_one_jump(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_block *yes = ir_block_new(&b), *no = ir_block_new(&b);
    struct ir *x = ir_load(&b, ir_context(&b), 0, 8, false);
    ir_branch(&b, ir_binary_constant(&b, IR_NE, ir_binary_constant(&b, IR_AND, x, 6), 0), yes, no);
    ir_seal(&b, yes);
    ir_seal(&b, no);
    ir_enter(&b, yes);
    ir_return(&b, ir_constant(&b, 1));
    ir_enter(&b, no);
    ir_return(&b, ir_constant(&b, 0));
    ir_optimise(b.program);
    struct image_program image = emit(&b);
    assert_int_equal(count_code(&image, BPF_JMP | BPF_JSET | BPF_K), 1);
    assert_int_equal(count_code(&image, BPF_ALU64 | BPF_AND | BPF_K), 0);
}

static void narrow_comparison_needs_no_extension(void **state)
{
    for (unsigned mode = 0; mode < 2; mode++) {
        struct ir_builder b = builder_new(*state, mode ? &features_v1 : &features_all);
        struct ir_block *yes = ir_block_new(&b), *no = ir_block_new(&b);
        struct ir *x = ir_extend(&b, ir_load(&b, ir_context(&b), 0, 8, false), 4, false);
        ir_branch(&b, ir_binary_constant(&b, IR_EQ, x, 0xfffffff0), yes, no);
        ir_seal(&b, yes);
        ir_seal(&b, no);
        ir_enter(&b, yes);
        ir_return(&b, ir_constant(&b, 1));
        ir_enter(&b, no);
        ir_return(&b, ir_constant(&b, 0));
        ir_optimise(b.program);
        struct image_program image = emit(&b);
        unsigned narrow =
            count_code(&image, BPF_JMP32 | BPF_JEQ | BPF_K) + count_code(&image, BPF_JMP32 | BPF_JNE | BPF_K);
        assert_int_equal(narrow, !mode);
        assert_int_equal(count_code(&image, BPF_ALU | BPF_MOV | BPF_X), mode); /* the extension */
    }
}

static void pointer_check_is_64_bits_wide(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_block *yes = ir_block_new(&b), *no = ir_block_new(&b);
    struct ir *key = ir_frame(&b, 8);
    ir_store_constant(&b, key, 0, 8, 0);
    struct ir *found = ir_call(&b, BPF_FUNC_map_lookup_elem, 2, ir_map(&b, 3), key);
    no->unlikely = true;
    ir_branch(&b, found, yes, no);
    ir_seal(&b, yes);
    ir_seal(&b, no);
    ir_enter(&b, yes);
    ir_return(&b, ir_load(&b, found, 8, 8, false));
    ir_enter(&b, no);
    ir_return(&b, ir_constant(&b, 0));
    ir_optimise(b.program);
    struct image_program image = emit(&b);
    /* *(r10 -8) = 0; r1 = map (2); r2 = r10; r2 += -8; call; if r0 == 0 goto +2; r0 = *(r0 +8); exit; r0 = 0;
     * exit */
    assert_int_equal(image.count, 11);
    assert_true(has_instruction(&image, STORE_IMMEDIATE_DW, 10, 0, -8, 0));
    assert_true(has_instruction(&image, MOVE, 2, 10, 0, 0));
    assert_true(has_instruction(&image, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0));
    assert_true(has_instruction(&image, LOAD_DW, 0, 0, 8, 0));
    assert_int_equal(image.relocation_count, 1);
    assert_int_equal(image.relocations[0].kind, RELOCATION_MAP);
    assert_int_equal(image.relocations[0].map, 3);
    assert_int_equal(image.relocations[0].instruction, 1);
}

static void map_value_has_its_offset_in_the_second_half(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    ir_atomic_add(&b, ir_map_value(&b, 2, 48), 0, 8, ir_constant(&b, 1));
    ir_return(&b, ir_constant(&b, 0));
    struct image_program image = emit(&b);
    assert_int_equal(image.relocation_count, 1);
    assert_int_equal(image.relocations[0].kind, RELOCATION_VALUE);
    assert_int_equal(image.instructions[image.relocations[0].instruction].code, WIDE);
    assert_int_equal(image.instructions[image.relocations[0].instruction + 1].imm, 48);
    assert_true(has_instruction(&image, BPF_STX | BPF_ATOMIC | BPF_DW, -1, -1, 0, BPF_ADD));
}

static void sign_extension_follows_the_features(void **state)
{
    for (unsigned mode = 0; mode < 2; mode++) {
        struct ir_builder b = builder_new(*state, mode ? &features_v1 : &features_all);
        struct ir *x = ir_binary_constant(&b, IR_ADD, ir_load(&b, ir_context(&b), 0, 8, false), 1);
        struct ir *y = ir_load(&b, ir_context(&b), 8, 8, false);
        ir_return(&b, ir_binary(&b, IR_SDIV, ir_extend(&b, x, 2, true), y));
        struct image_program image = emit(&b);
        assert_int_equal(has_instruction(&image, MOVE, -1, -1, 16, 0), !mode);
        assert_int_equal(has_instruction(&image, BPF_ALU64 | BPF_LSH | BPF_K, -1, 0, 0, 48), mode);
        assert_int_equal(has_instruction(&image, BPF_ALU64 | BPF_DIV | BPF_X, -1, -1, 1, 0), !mode);
        assert_int_equal(has_instruction(&image, BPF_ALU64 | BPF_DIV | BPF_X, -1, -1, 0, 0), mode);
    }
}

/* The kernel rewrites loads from the context and knows no sign-extending loads there. */
static void context_is_loaded_without_sign(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    ir_return(&b, ir_load(&b, ir_context(&b), 8, 4, true));
    ir_optimise(b.program);
    struct image_program image = emit(&b);
    assert_true(has_instruction(&image, BPF_LDX | BPF_MEM | BPF_W, -1, 1, 8, 0));
}

static void arguments_are_computed_where_they_go(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *x = ir_load(&b, ir_context(&b), 0, 8, false), *y = ir_load(&b, ir_context(&b), 8, 8, false);
    struct ir *buffer = ir_frame(&b, 16);
    ir_call(&b, BPF_FUNC_probe_read_user, 3, buffer, ir_binary_constant(&b, IR_AND, y, 15), x);
    ir_return(&b, ir_constant(&b, 0));
    ir_optimise(b.program);
    struct image_program image = emit(&b);
    /* r3 = *(r1); r2 = *(r1 +8); r2 &= 15; r1 = r10; r1 += -16; call; r0 = 0; exit */
    assert_int_equal(image.count, 8);
    assert_true(has_instruction(&image, LOAD_DW, 3, 1, 0, 0));
    assert_true(has_instruction(&image, LOAD_DW, 2, 1, 8, 0));
}

static void calls_and_callbacks_are_relative(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_function *callback = ir_function_new(b.program, "callback", 2);
    struct ir_function *never = ir_function_new(b.program, "never", 1);
    struct ir_builder inner = {.program = b.program, .function = callback, .block = callback->first};
    ir_return(&inner, ir_constant(&inner, 0));
    inner.function = never;
    ir_enter(&inner, never->first);
    ir_return(&inner, ir_constant(&inner, 0));
    struct ir *context = ir_frame(&b, 8);
    ir_store_constant(&b, context, 0, 8, 0);
    ir_call(&b, BPF_FUNC_loop, 4, ir_constant(&b, 3), ir_function_address(&b, callback), context,
            ir_constant(&b, 0));
    ir_return(&b, ir_call_local(&b, callback, 2, ir_constant(&b, 1), ir_constant(&b, 2)));
    struct image_program image = emit(&b);
    assert_int_equal(image.function_count, 2); /* a function that is never called is left out */
    uint32_t start = image.functions[1].instruction, found = 0;
    assert_string_equal(image.functions[1].name, "callback");
    assert_int_equal(image.functions[1].parameters, 2);
    for (uint32_t i = 0; i < image.count; i++) {
        const struct bpf_insn *insn = &image.instructions[i];
        if ((insn->code == WIDE && insn->src_reg == BPF_PSEUDO_FUNC) ||
            (insn->code == CALL && insn->src_reg == BPF_PSEUDO_CALL)) {
            assert_int_equal(i + (uint32_t)insn->imm + 1, start);
            found++;
        }
    }
    assert_int_equal(found, 2);
}

static void empty_blocks_are_left_out(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_block *blocks[5];
    for (unsigned i = 0; i < 5; i++)
        blocks[i] = ir_block_new(&b);
    for (unsigned i = 0; i < 5; i++) {
        ir_jump(&b, blocks[i]);
        ir_seal(&b, blocks[i]);
        ir_enter(&b, blocks[i]);
    }
    ir_return(&b, ir_constant(&b, 0));
    struct image_program image = emit(&b);
    assert_int_equal(image.count, 2);
}

static void endless_empty_loop_ends_compilation(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_block *one = ir_block_new(&b), *two = ir_block_new(&b);
    ir_jump(&b, one);
    ir_enter(&b, one);
    ir_jump(&b, two);
    ir_enter(&b, two);
    ir_jump(&b, one);
    ir_seal(&b, one);
    ir_seal(&b, two);
    struct image_program image = emit(&b);
    assert_true(image.count >= 1);
    struct ir_builder again = builder_new(*state, &features_all);
    one = ir_block_new(&again);
    ir_jump(&again, one);
    ir_enter(&again, one);
    ir_jump(&again, one);
    ir_seal(&again, one);
    ir_optimise(again.program);
    image = emit(&again);
    assert_true(image.count >= 1);
}

/* Limits */

static void too_large_a_frame_is_reported(void **state)
{
    for (unsigned bytes = 512; bytes <= 1u << 30; bytes = bytes == 512 ? 520 : bytes * 2) {
        struct ir_builder b = builder_new(*state, &features_all);
        struct ir *frame = ir_frame(&b, bytes);
        ir_call(&b, BPF_FUNC_get_current_comm, 2, frame, ir_constant(&b, 16));
        ir_return(&b, ir_constant(&b, 0));
        struct image_program image = {0};
        struct diagnostics diagnostics = {.arena = *state};
        assert_int_equal(ir_emit(b.program, &image, 0, &diagnostics), bytes == 512 ? 0 : -E2BIG);
        assert_int_equal(diagnostics.errors, bytes != 512);
    }
}

static void frames_of_a_chain_of_calls_are_added(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_function *inner = ir_function_new(b.program, "inner", 1);
    struct ir_builder c = {.program = b.program, .function = inner, .block = inner->first};
    ir_call(&c, BPF_FUNC_get_current_comm, 2, ir_frame(&c, 256), ir_constant(&c, 16));
    ir_return(&c, ir_constant(&c, 0));
    struct ir *frame = ir_frame(&b, 264);
    ir_call(&b, BPF_FUNC_get_current_comm, 2, frame, ir_constant(&b, 16));
    ir_return(&b, ir_call_local(&b, inner, 1, ir_load(&b, frame, 0, 8, false)));
    struct image_program image = {0};
    struct diagnostics diagnostics = {.arena = *state};
    assert_int_equal(ir_emit(b.program, &image, 0, &diagnostics), -E2BIG);
    assert_int_equal(diagnostics.errors, 1);
}

static void recursion_is_reported(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    ir_return(&b, ir_call_local(&b, b.function, 1, ir_context(&b)));
    struct image_program image = {0};
    struct diagnostics diagnostics = {.arena = *state};
    assert_int_equal(ir_emit(b.program, &image, 0, &diagnostics), -E2BIG);
    assert_int_equal(diagnostics.errors, 1);
}

static struct ir_builder long_program(struct arena *arena, const struct features *features)
{
    struct ir_builder b = builder_new(arena, features);
    struct ir_block *far = ir_block_new(&b), *near = ir_block_new(&b);
    ir_branch(&b, ir_load(&b, ir_context(&b), 0, 8, false), near, far);
    ir_seal(&b, near);
    ir_enter(&b, near);
    for (unsigned i = 0; i < 20000; i++)
        ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, i));
    ir_jump(&b, far);
    ir_seal(&b, far);
    ir_enter(&b, far);
    ir_return(&b, ir_constant(&b, 0));
    return b;
}

static void far_jumps(void **state)
{
    struct ir_builder b = long_program(*state, &features_v1);
    struct image_program image = {0};
    struct diagnostics diagnostics = {.arena = *state};
    assert_int_equal(ir_emit(b.program, &image, 0, &diagnostics), -E2BIG);
    assert_int_equal(diagnostics.errors, 1);
    b = long_program(*state, &features_all);
    image = emit(&b);
    bool found = false;
    for (uint32_t i = 0; i < image.count; i++)
        if (image.instructions[i].code == (BPF_JMP32 | BPF_JA) && image.instructions[i].imm > 32767)
            found = image.instructions[i + 1 + (uint32_t)image.instructions[i].imm].code == MOVE_IMMEDIATE;
    assert_true(found);
}

static void lines_name_the_places(void **state)
{
    static const struct source source = {"test.bt", "first\nsecond\n", 13};
    struct ir_builder b = builder_new(*state, &features_all);
    b.span = (struct span){&source, 0, 5};
    ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 9));
    ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 9));
    b.span = (struct span){&source, 6, 12};
    ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 10));
    ir_return(&b, ir_constant(&b, 0));
    struct image_program image = emit(&b);
    assert_int_equal(image.line_count, 2);
    assert_int_equal(image.lines[0].instruction, 0);
    assert_int_equal(image.lines[1].instruction, 4);
    assert_int_equal(image.lines[1].span.begin, 6);
    struct text text = {0};
    struct image whole = {0};
    image_print(&text, &whole, &image);
    assert_non_null(strstr(text_string(&text), "; test.bt:1: first\n"));
    assert_non_null(strstr(text_string(&text), "; test.bt:2: second\n"));
    assert_non_null(strstr(text_string(&text), "call send_signal#109\n"));
    text_free(&text);
}

static void disassembler_survives_anything(void **state)
{
    (void)state;
    struct random r = {1};
    struct bpf_insn insns[64];
    struct image whole = {0};
    for (unsigned round = 0; round < 500; round++) {
        for (unsigned i = 0; i < sizeof insns; i++)
            ((uint8_t *)insns)[i] = (uint8_t)random_next(&r);
        struct image_program image = {.instructions = insns, .count = 64};
        struct text text = {0};
        image_print(&text, &whole, &image);
        assert_false(text.failed);
        text_free(&text);
    }
}

/* The kernel takes the type information, and a callback with it. */
static void kernel_takes_callbacks_and_lines(void **state)
{
    if (!kernel_available())
        skip();
    static const struct source source = {"odd name-1.bt", "BEGIN { unroll }\n\tfor ($i : 0..3) { }\n", 37};
    struct ir_builder b = builder_new(*state, &features_all);
    b.function->name = "uprobe:/bin/x:f";
    struct ir_function *callback = ir_function_new(b.program, "9 loop body", 2);
    struct ir_builder c = {.program = b.program, .function = callback, .block = callback->first};
    struct ir *captured = ir_parameter(&c, 1);
    ir_store(&c, captured, 0, 8, ir_binary(&c, IR_ADD, ir_load(&c, captured, 0, 8, false), ir_context(&c)));
    c.span = (struct span){&source, 20, 25};
    ir_return(&c, ir_constant(&c, 0));
    b.span = (struct span){&source, 8, 14};
    struct ir *frame = ir_frame(&b, 8);
    ir_store_constant(&b, frame, 0, 8, 0);
    b.span = (struct span){&source, 18, 21};
    ir_call(&b, BPF_FUNC_loop, 4, ir_constant(&b, 5), ir_function_address(&b, callback), frame,
            ir_constant(&b, 0));
    ir_store(&b, ir_context(&b), 0, 8, ir_load(&b, frame, 0, 8, false));
    ir_return(&b, ir_constant(&b, 0));
    ir_optimise(b.program);
    struct image_program image = emit(&b);
    struct btf_blob blob;
    assert_int_equal(btf_write(*state, &image, &blob), 0);
    assert_int_equal(blob.function_count, 2);
    static char log[65536];
    union bpf_attr attr = {.btf = (uintptr_t)blob.bytes,
                           .btf_size = blob.size,
                           .btf_log_buf = (uintptr_t)log,
                           .btf_log_size = sizeof log,
                           .btf_log_level = 1};
    int btf = (int)syscall(SYS_bpf, BPF_BTF_LOAD, &attr, 32);
    if (btf < 0)
        fail_msg("type information refused: %s\n%s", strerror(errno), log);
    attr = (union bpf_attr){.prog_type = BPF_PROG_TYPE_SYSCALL,
                            .insns = (uintptr_t)image.instructions,
                            .insn_cnt = image.count,
                            .license = (uintptr_t) "GPL",
                            .log_buf = (uintptr_t)log,
                            .log_size = sizeof log,
                            .log_level = 1,
                            .prog_flags = BPF_F_SLEEPABLE,
                            .prog_btf_fd = (uint32_t)btf,
                            .func_info_rec_size = sizeof *blob.functions,
                            .func_info = (uintptr_t)blob.functions,
                            .func_info_cnt = blob.function_count,
                            .line_info_rec_size = sizeof *blob.lines,
                            .line_info = (uintptr_t)blob.lines,
                            .line_info_cnt = blob.line_count};
    int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
    if (fd < 0) {
        show_failure(&image, log);
        fail_msg("program refused: %s", strerror(errno));
    }
    uint64_t context[1] = {77};
    assert_int_equal(kernel_run(fd, context, sizeof context), 0);
    assert_int_equal(context[0], 0 + 1 + 2 + 3 + 4);
    close(fd);
    close(btf);
}

/* Eight places in memory are needed before and after a call, more than there are registers: where the stack is short,
 * only the address of the memory has a slot. */
static void sums_are_made_again_where_the_stack_is_short(void **state)
{
    enum { PLACES = 8 };
    for (unsigned saves = 0; saves < 2; saves++) {
        struct ir_builder b = builder_new(*state, &features_all);
        struct ir *memory = ir_call(&b, BPF_FUNC_get_current_task, 0), *places[PLACES];
        b.program->saves_stack = saves;
        for (int i = 0; i < PLACES; i++) {
            places[i] = ir_binary_constant(&b, IR_ADD, memory, 64 + i);
            ir_store(&b, ir_context(&b), 8 * i, 8, places[i]);
        }
        ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 0));
        for (int i = 0; i < PLACES; i++)
            ir_store(&b, ir_context(&b), 8 * i, 8, places[PLACES - 1 - i]);
        ir_store(&b, ir_context(&b), 0, 8, memory);
        ir_return(&b, ir_constant(&b, 0));
        struct image_program image = emit(&b);
        assert_int_equal(image.stack_bytes, saves ? 32 : 64);
    }
}

/* The two branches begin with a call with the same map and key, which is made once. Then comes x ? 6 : 5, which
 * needs no jump over a constant. */
static void what_both_ways_begin_with_is_made_once(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *frame = ir_frame(&b, 8), *x = ir_load(&b, ir_context(&b), 0, 8, false);
    struct ir_block *yes = ir_block_new(&b), *no = ir_block_new(&b), *end = ir_block_new(&b);
    uint32_t variable = ir_variable(&b);
    ir_store(&b, frame, 0, 8, x);
    ir_branch(&b, x, yes, no);
    ir_seal(&b, yes);
    ir_seal(&b, no);
    ir_enter(&b, yes);
    ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 0), frame);
    ir_write(&b, variable, ir_constant(&b, 1));
    ir_jump(&b, end);
    ir_enter(&b, no);
    ir_call(&b, BPF_FUNC_map_lookup_elem, 2, ir_map(&b, 0), frame);
    ir_write(&b, variable, ir_constant(&b, 0));
    ir_jump(&b, end);
    ir_seal(&b, end);
    ir_enter(&b, end);
    ir_return(&b, ir_read(&b, variable));
    struct image_program image = {0};
    emit_into(b.program, &image, 0);
    assert_int_equal(count_code(&image, BPF_LD | BPF_IMM | BPF_DW), 1);

    b = builder_new(*state, &features_all);
    yes = ir_block_new(&b), no = ir_block_new(&b), end = ir_block_new(&b), variable = ir_variable(&b);
    x = ir_load(&b, ir_context(&b), 0, 8, false);
    ir_branch(&b, x, yes, no);
    for (int i = 0; i < 2; i++) {
        struct ir_block *way = i ? yes : no;
        ir_seal(&b, way);
        ir_enter(&b, way);
        ir_write(&b, variable, ir_constant(&b, i + 5));
        ir_jump(&b, end);
    }
    ir_seal(&b, end);
    ir_enter(&b, end);
    ir_return(&b, ir_binary(&b, IR_XOR, x, ir_read(&b, variable)));
    memset(&image, 0, sizeof image);
    emit_into(b.program, &image, 0);
    assert_int_equal(count_code(&image, BPF_JMP | BPF_JA), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(return_constant_is_two_instructions),
        TEST(comparison_folds_into_branch),
        TEST(any_common_bit_is_one_jump),
        TEST(narrow_comparison_needs_no_extension),
        TEST(pointer_check_is_64_bits_wide),
        TEST(map_value_has_its_offset_in_the_second_half),
        TEST(sign_extension_follows_the_features),
        TEST(context_is_loaded_without_sign),
        TEST(arguments_are_computed_where_they_go),
        TEST(calls_and_callbacks_are_relative),
        TEST(empty_blocks_are_left_out),
        TEST(what_both_ways_begin_with_is_made_once),
        TEST(sums_are_made_again_where_the_stack_is_short),
        TEST(endless_empty_loop_ends_compilation),
        TEST(too_large_a_frame_is_reported),
        TEST(frames_of_a_chain_of_calls_are_added),
        TEST(recursion_is_reported),
        TEST(far_jumps),
        TEST(lines_name_the_places),
        TEST(disassembler_survives_anything),
        TEST(kernel_takes_callbacks_and_lines),
        TEST(random_programs_agree_with_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
