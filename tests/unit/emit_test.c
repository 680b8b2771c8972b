/* SPDX-License-Identifier: BSD-3-Clause */
/* The emitter: which instructions it writes, and what the kernel makes of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir_testing.h"

static int setup(void **state)
{
    static jmp_buf nowhere;
    struct arena *arena = calloc(1, sizeof *arena);
    if (arena_guard(arena, nowhere))
        abort();
    *state = arena;
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    free(*state);
    return 0;
}

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

static unsigned random_statements = 25;

static unsigned run_random_program(unsigned seed, unsigned mode)
{
    static char log[1 << 20];
    struct arena arena = {0};
    if (arena_guard(&arena, out_of_memory))
        abort();
    struct random r = {seed};
    unsigned loops = 2, compared = 0;
    struct tree *tree = tree_block(&arena, &r, random_statements, 3, &loops);
    struct ir_program *program = build_program(&arena, mode & 1 ? &features_v1 : &features_all, tree);
    assert_null(ir_check(&arena, program));
    if (mode & 2)
        ir_optimise(program);
    const char *wrong = ir_check(&arena, program);
    if (wrong)
        fail_msg("seed %u mode %u: %s", seed, mode, wrong);
    struct image_program image = {0};
    emit_into(program, &image, mode & 4 ? 3 + seed % 2 : 0);
    int fd = kernel_load(&image, BPF_PROG_TYPE_SYSCALL, NULL, 0);
    if (fd < 0) {
        kernel_load(&image, BPF_PROG_TYPE_SYSCALL, log, sizeof log);
        show_failure(&image, log + (strlen(log) > 4000 ? strlen(log) - 4000 : 0));
        struct text t = {0}; ir_print(&t, program); puts(text_string(&t));
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
                struct text t = {0}; ir_print(&t, program); puts(text_string(&t));
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
    if (getenv("STATEMENTS"))
        random_statements = (unsigned)atoi(getenv("STATEMENTS"));
    for (unsigned seed = 0; seed < 120; seed++)
        for (unsigned mode = 0; mode < 8; mode++)
            compared += run_random_program(seed, mode);
    printf("%u values compared\n", compared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_programs_agree_with_kernel, setup, teardown),
    };
    (void)count_code;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
