/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the builder of the intermediate representation, and of its checker. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir_testing.h"

static void variable_in_one_block_needs_no_phi(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t x = ir_variable(&b);
    struct ir *one = ir_load(&b, ir_context(&b), 0, 8, false);
    ir_write(&b, x, one);
    assert_ptr_equal(ir_read(&b, x), one);
    ir_return(&b, ir_read(&b, x));
    assert_null(ir_check(*state, b.program));
    assert_int_equal(count_op(b.function, IR_PHI), 0);
}

static void never_written_is_zero(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *x = ir_read(&b, ir_variable(&b));
    assert_int_equal(x->op, IR_CONSTANT);
    assert_int_equal(x->immediate, 0);
}

static void diamond_makes_a_phi_where_values_differ(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t changed = ir_variable(&b), same = ir_variable(&b);
    struct ir *condition = ir_load(&b, ir_context(&b), 0, 8, false);
    ir_write(&b, same, condition);
    struct ir_block *yes = ir_block_new(&b), *no = ir_block_new(&b), *after = ir_block_new(&b);
    ir_branch(&b, condition, yes, no);
    ir_seal(&b, yes);
    ir_seal(&b, no);
    ir_enter(&b, yes);
    ir_write(&b, changed, ir_constant(&b, 1));
    ir_jump(&b, after);
    ir_enter(&b, no);
    ir_write(&b, changed, ir_constant(&b, 2));
    ir_jump(&b, after);
    ir_seal(&b, after);
    ir_enter(&b, after);
    struct ir *phi = ir_read(&b, changed);
    assert_int_equal(phi->op, IR_PHI);
    assert_int_equal(phi->argument_count, 2);
    assert_int_equal(phi->arguments[0]->immediate, 1);
    assert_int_equal(phi->arguments[1]->immediate, 2);
    assert_ptr_equal(ir_read(&b, same), condition);
    ir_return(&b, phi);
    assert_null(ir_check(*state, b.program));
    assert_int_equal(count_op(b.function, IR_PHI), 1);
}

static void loop_makes_phis_only_for_what_changes(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t i = ir_variable(&b), constant = ir_variable(&b);
    struct ir *limit = ir_load(&b, ir_context(&b), 0, 8, false);
    ir_write(&b, i, ir_constant(&b, 0));
    ir_write(&b, constant, limit);
    struct ir_block *head = ir_block_new(&b), *body = ir_block_new(&b), *after = ir_block_new(&b);
    ir_jump(&b, head);
    ir_enter(&b, head);
    ir_branch(&b, ir_binary(&b, IR_ULT, ir_read(&b, i), ir_read(&b, constant)), body, after);
    ir_seal(&b, body);
    ir_enter(&b, body);
    ir_write(&b, i, ir_binary_constant(&b, IR_ADD, ir_read(&b, i), 1));
    ir_jump(&b, head);
    ir_seal(&b, head);
    ir_seal(&b, after);
    ir_enter(&b, after);
    ir_return(&b, ir_read(&b, i));
    assert_null(ir_check(*state, b.program));
    assert_int_equal(count_op(b.function, IR_PHI), 1);
    int64_t words[1] = {7}, parameters[1] = {(int64_t)(uintptr_t)words}, result = 0;
    assert_true(ir_run(b.function, parameters, &result));
    assert_int_equal(result, 7);
}

static void constants_fold_at_once(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *x = ir_constant(&b, INT64_MIN), *y = ir_constant(&b, -1), *zero = ir_constant(&b, 0);
    assert_int_equal(ir_binary(&b, IR_SDIV, x, y)->immediate, INT64_MIN);
    assert_int_equal(ir_binary(&b, IR_SMOD, x, y)->immediate, 0);
    assert_int_equal(ir_binary(&b, IR_UDIV, y, zero)->immediate, 0);
    assert_int_equal(ir_binary(&b, IR_UMOD, y, zero)->immediate, -1);
    assert_int_equal(ir_binary(&b, IR_SMOD, x, zero)->immediate, INT64_MIN);
    assert_int_equal(ir_binary_constant(&b, IR_SHL, y, 68)->immediate, -16);
    assert_int_equal(ir_binary(&b, IR_ULT, x, y)->immediate, 1);
    assert_int_equal(ir_extend(&b, ir_constant(&b, 0x1ff), 1, true)->immediate, -1);
    assert_int_equal(ir_extend(&b, ir_constant(&b, -1), 4, false)->immediate, UINT32_MAX);
    assert_int_equal(ir_bswap(&b, ir_constant(&b, 0x1234), 2)->immediate, 0x3412);
    assert_int_equal(ir_unary(&b, IR_NEG, x)->immediate, INT64_MIN);
    assert_int_equal(ir_unary(&b, IR_NOT, zero)->immediate, -1);
    assert_ptr_equal(ir_extend(&b, x, 8, true), x);
    assert_ptr_equal(ir_offset(&b, x, 0), x);
}

/* Ends the function with a return of x, checks the program, and returns x's value. */
static struct ir *x_after(struct ir_builder *b, uint32_t x)
{
    struct ir *value = ir_read(b, x);
    ir_return(b, value);
    assert_null(ir_check(b->program->arena, b->program));
    return value;
}

static void an_if_without_else_keeps_what_was(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t x = ir_variable(&b);
    ir_write(&b, x, ir_constant(&b, 1));
    struct ir_if branch = ir_if(&b, ir_load(&b, ir_context(&b), 0, 8, false));
    ir_write(&b, x, ir_constant(&b, 2));
    ir_end_if(&b, &branch);
    struct ir *phi = x_after(&b, x);
    assert_int_equal(phi->op, IR_PHI);
    assert_int_equal(phi->argument_count, 2);
    assert_int_equal(phi->arguments[0]->immediate, 1);
    assert_int_equal(phi->arguments[1]->immediate, 2);
}

static void an_else_runs_where_the_condition_is_0(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t x = ir_variable(&b);
    struct ir *condition = ir_load(&b, ir_context(&b), 0, 8, false);
    struct ir_if branch = ir_if_unlikely(&b, condition);
    ir_write(&b, x, ir_constant(&b, 1));
    ir_else(&b, &branch);
    ir_write(&b, x, ir_constant(&b, 2));
    ir_end_if(&b, &branch);
    struct ir *phi = x_after(&b, x), *decides = b.function->first->last;
    assert_int_equal(decides->op, IR_BRANCH);
    assert_ptr_equal(decides->a, condition);
    assert_true(decides->to[0]->unlikely);
    assert_false(decides->to[1]->unlikely);
    for (unsigned i = 0; i < 2; i++) /* the arguments stand in the order of the predecessors */
        assert_int_equal(phi->arguments[i]->immediate, phi->block->predecessors[i] == decides->to[0] ? 1 : 2);
}

static void an_end_that_nothing_reaches_is_no_block(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_if branch = ir_if(&b, ir_load(&b, ir_context(&b), 0, 8, false));
    ir_return(&b, ir_constant(&b, 1));
    ir_else(&b, &branch);
    ir_return(&b, ir_constant(&b, 2));
    ir_order(b.program);
    assert_null(ir_check(*state, b.program));
    assert_int_equal(b.function->block_count, 3);
}

static void labels_are_reached_by_jumps_and_from_above(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t x = ir_variable(&b);
    struct ir *condition = ir_load(&b, ir_context(&b), 0, 8, false);
    struct ir_block *end = ir_label(&b);
    ir_write(&b, x, ir_constant(&b, 1));
    ir_jump_if(&b, condition, end);
    ir_write(&b, x, ir_constant(&b, 2));
    ir_jump_unless(&b, ir_load(&b, condition, 8, 8, false), end);
    ir_write(&b, x, ir_constant(&b, 3));
    ir_place(&b, end);
    struct ir *phi = x_after(&b, x);
    assert_int_equal(phi->argument_count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(phi->arguments[i]->immediate, i + 1);
    assert_ptr_equal(b.function->first->last->to[0], end);
}

static void a_choice_is_one_of_two_values(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *one = ir_load(&b, ir_context(&b), 0, 8, false),
              *two = ir_load(&b, ir_context(&b), 8, 8, false);
    struct ir *chosen = ir_choose(&b, one, one, two);
    assert_int_equal(chosen->op, IR_PHI);
    assert_ptr_equal(chosen->arguments[0], one);
    assert_ptr_equal(chosen->arguments[1], two);
}

static void a_loop_goes_back_to_its_beginning(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t x = ir_variable(&b);
    struct ir_block *end = ir_label(&b);
    ir_write(&b, x, ir_constant(&b, 0));
    struct ir_block *loop = ir_loop(&b);
    struct ir *now = ir_read(&b, x);
    ir_jump_if(&b, ir_load(&b, now, 0, 8, false), end);
    ir_write(&b, x, ir_binary_constant(&b, IR_ADD, now, 1));
    ir_repeat(&b, loop);
    ir_place(&b, end);
    struct ir *value = x_after(&b, x);
    assert_int_equal(value->op, IR_PHI);
    assert_ptr_equal(value->block, loop);
    assert_int_equal(loop->predecessor_count, 2);
}

static void blocks_come_in_the_order_of_the_code(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_block *last = ir_label(&b), *first = ir_label(&b), *given_up = ir_label(&b);
    ir_branch(&b, ir_load(&b, ir_context(&b), 0, 8, false), last, first);
    ir_place(&b, first);
    ir_place(&b, last);
    ir_return(&b, ir_constant(&b, 0));
    (void)given_up;
    ir_order(b.program);
    assert_null(ir_check(*state, b.program));
    assert_int_equal(b.function->block_count, 3);
    assert_int_equal(first->number, 1);
    assert_int_equal(last->number, 2);
    assert_ptr_equal(b.function->last, last);
}

static void code_after_the_end_is_dropped(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_block *after = ir_block_new(&b);
    uint32_t x = ir_variable(&b);
    ir_write(&b, x, ir_context(&b));
    ir_jump(&b, after);
    assert_true(ir_ended(&b));
    ir_write(&b, x, ir_load(&b, ir_constant(&b, 0), 0, 8, false));
    ir_jump(&b, after);
    ir_seal(&b, after);
    ir_enter(&b, after);
    ir_return(&b, ir_read(&b, x));
    assert_null(ir_check(*state, b.program));
    ir_optimise(b.program);
    assert_null(ir_check(*state, b.program));
    assert_int_equal(b.function->block_count, 1);
    assert_int_equal(count_op(b.function, IR_LOAD), 0);
    assert_int_equal(count_op(b.function, IR_PHI), 0);
}

static void blocks_that_nothing_enters_are_harmless(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t x = ir_variable(&b);
    struct ir_block *one = ir_block_new(&b), *two = ir_block_new(&b);
    ir_return(&b, ir_constant(&b, 0));
    ir_enter(&b, one); /* a cycle: one -> two -> one */
    ir_jump(&b, two);
    ir_seal(&b, two);
    ir_enter(&b, two);
    ir_jump(&b, one);
    ir_seal(&b, one);
    ir_enter(&b, two);
    assert_int_equal(ir_read(&b, x)->op, IR_CONSTANT);
    assert_null(ir_check(*state, b.program));
    ir_optimise(b.program);
    assert_int_equal(b.function->block_count, 1);
}

static void long_chains_need_no_stack(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t never = ir_variable(&b), sum = ir_variable(&b);
    ir_write(&b, never, ir_context(&b));
    ir_write(&b, sum, ir_constant(&b, 0));
    for (unsigned i = 0; i < 20000; i++) {
        struct ir_block *yes = ir_block_new(&b), *after = ir_block_new(&b);
        ir_branch(&b, ir_load(&b, ir_context(&b), 8, 8, false), yes, after);
        ir_seal(&b, yes);
        ir_enter(&b, yes);
        ir_write(&b, sum, ir_binary_constant(&b, IR_ADD, ir_read(&b, sum), i));
        ir_jump(&b, after);
        ir_seal(&b, after);
        ir_enter(&b, after);
    }
    ir_return(&b, ir_binary(&b, IR_ADD, ir_read(&b, sum), ir_load(&b, ir_read(&b, never), 0, 8, false)));
    assert_null(ir_check(*state, b.program));
    assert_int_equal(count_op(b.function, IR_PHI), 20000);
    ir_optimise(b.program);
    assert_null(ir_check(*state, b.program));
}

static void memory_helpers_write_words(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *x = ir_frame(&b, 20), *y = ir_frame(&b, 24);
    assert_int_equal(x->immediate, 24); /* a multiple of 8 */
    ir_zero(&b, x, 0, 24);
    ir_store_constant(&b, x, 8, 8, 42);
    ir_copy(&b, y, 0, x, 0, 24);
    ir_return(&b, ir_load(&b, y, 8, 8, false));
    assert_null(ir_check(*state, b.program));
    int64_t parameters[1] = {0}, result = 0;
    assert_true(ir_run(b.function, parameters, &result));
    assert_int_equal(result, 42);
    ir_optimise(b.program);
    assert_int_equal(count_op(b.function, IR_FRAME), 0);
    assert_true(ir_run(b.function, parameters, &result));
    assert_int_equal(result, 42);
}

static void random_programs_mean_what_their_trees_mean(void **state)
{
    (void)state;
    static jmp_buf nowhere;
    for (unsigned seed = 1000; seed < 1300; seed++) {
        struct arena arena = {0};
        if (arena_guard(&arena, nowhere))
            abort();
        struct random r = {seed};
        unsigned loops = 4;
        struct tree *tree = tree_block(&arena, &r, 20, 3, &loops);
        for (unsigned optimise = 0; optimise < 2; optimise++) {
            struct ir_program *program = build_program(&arena, &features_all, tree);
            if (optimise)
                ir_optimise(program);
            const char *wrong = ir_check(&arena, program);
            if (wrong)
                fail_msg("seed %u: %s", seed, wrong);
            for (unsigned run = 0; run < 5; run++) {
                int64_t context[CONTEXT_WORDS] = {0}, expected[OUTPUTS], result;
                for (unsigned i = 0; i < INPUTS; i++)
                    context[i] = random_value(&r);
                tree_results(tree, context, expected);
                int64_t parameters[1] = {(int64_t)(uintptr_t)context};
                assert_true(ir_run(program->functions, parameters, &result));
                for (unsigned i = 0; i < OUTPUTS; i++)
                    if (context[INPUTS + i] != expected[i])
                        fail_msg("seed %u, optimised %u: variable %u is %llx, not %llx", seed, optimise, i,
                                 (unsigned long long)context[INPUTS + i], (unsigned long long)expected[i]);
            }
        }
        arena_free(&arena);
    }
}

static void print_shows_values_and_comments(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    b.comment = "pid";
    struct ir *pid = ir_binary_constant(&b, IR_LSHR, ir_call(&b, BPF_FUNC_get_current_pid_tgid, 0), 32);
    ir_return(&b, pid);
    struct text text = {0};
    ir_print(&text, b.program);
    assert_non_null(strstr(text_string(&text), "function main (1 parameter)"));
    assert_non_null(strstr(text_string(&text), "v0 = call get_current_pid_tgid"));
    assert_non_null(strstr(text_string(&text), "v2 = lshr v0, 32"));
    assert_non_null(strstr(text_string(&text), "; pid"));
    text_free(&text);
}

/* ---- what the checker finds ---- */

static void checker_wants_an_end(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    ir_constant(&b, 1);
    assert_non_null(strstr(ir_check(*state, b.program), "does not end"));
}

static void checker_wants_dominance(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_block *yes = ir_block_new(&b), *after = ir_block_new(&b);
    ir_branch(&b, ir_load(&b, ir_context(&b), 0, 8, false), yes, after);
    ir_seal(&b, yes);
    ir_enter(&b, yes);
    struct ir *inside = ir_load(&b, ir_context(&b), 8, 8, false);
    ir_jump(&b, after);
    ir_seal(&b, after);
    ir_enter(&b, after);
    ir_return(&b, inside);
    assert_non_null(strstr(ir_check(*state, b.program), "does not dominate"));
}

static void checker_wants_order(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *x = ir_load(&b, ir_context(&b), 0, 8, false);
    struct ir *y = ir_binary_constant(&b, IR_ADD, x, 1);
    ir_return(&b, y);
    ir_remove(x);
    ir_insert_before(y->next, x);
    assert_non_null(strstr(ir_check(*state, b.program), "before it is made"));
}

static void checker_wants_own_values(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_function *other = ir_function_new(b.program, "other", 1);
    struct ir_builder c = {.program = b.program, .function = other, .block = other->first};
    ir_return(&b, ir_context(&c));
    ir_return(&c, ir_constant(&c, 0));
    assert_non_null(strstr(ir_check(*state, b.program), "another function"));
}

static void checker_wants_a_phi_argument_per_predecessor(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t x = ir_variable(&b);
    struct ir_block *yes = ir_block_new(&b), *after = ir_block_new(&b);
    ir_write(&b, x, ir_constant(&b, 3));
    ir_branch(&b, ir_context(&b), yes, after);
    ir_seal(&b, yes);
    ir_enter(&b, yes);
    ir_write(&b, x, ir_constant(&b, 4));
    ir_jump(&b, after);
    ir_seal(&b, after);
    ir_enter(&b, after);
    struct ir *phi = ir_read(&b, x);
    ir_return(&b, phi);
    assert_null(ir_check(*state, b.program));
    phi->argument_count--;
    assert_non_null(strstr(ir_check(*state, b.program), "argument per predecessor"));
}

static void checker_wants_operands(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *store = NULL;
    ir_store(&b, ir_frame(&b, 8), 0, 8, ir_constant(&b, 1));
    store = b.block->last;
    ir_return(&b, ir_constant(&b, 0));
    store->b = NULL;
    assert_non_null(strstr(ir_check(*state, b.program), "number of operands"));
    store->b = ir_resolve(store->a);
    store->size = 3;
    assert_non_null(strstr(ir_check(*state, b.program), "size"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(variable_in_one_block_needs_no_phi),
        TEST(never_written_is_zero),
        TEST(diamond_makes_a_phi_where_values_differ),
        TEST(loop_makes_phis_only_for_what_changes),
        TEST(constants_fold_at_once),
        TEST(an_if_without_else_keeps_what_was),
        TEST(an_else_runs_where_the_condition_is_0),
        TEST(an_end_that_nothing_reaches_is_no_block),
        TEST(labels_are_reached_by_jumps_and_from_above),
        TEST(a_choice_is_one_of_two_values),
        TEST(a_loop_goes_back_to_its_beginning),
        TEST(blocks_come_in_the_order_of_the_code),
        TEST(code_after_the_end_is_dropped),
        TEST(blocks_that_nothing_enters_are_harmless),
        TEST(long_chains_need_no_stack),
        TEST(memory_helpers_write_words),
        TEST(random_programs_mean_what_their_trees_mean),
        TEST(print_shows_values_and_comments),
        TEST(checker_wants_an_end),
        TEST(checker_wants_dominance),
        TEST(checker_wants_order),
        TEST(checker_wants_own_values),
        TEST(checker_wants_a_phi_argument_per_predecessor),
        TEST(checker_wants_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
