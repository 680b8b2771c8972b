/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what each pass removes, and of what it must leave alone. That the passes keep a program's meaning is
 * tested with random programs in ir_test and emit_test. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "ir_testing.h"

static struct ir *input(struct ir_builder *b, int32_t offset)
{
    return ir_load(b, ir_context(b), offset, 8, false);
}

/* Returns `value` from the function, optimises it, and gives the value that the single remaining block returns. */
static struct ir *optimised_result(struct ir_builder *b, struct ir *value)
{
    ir_return(b, value);
    assert_null(ir_check(b->program->arena, b->program));
    ir_optimise(b->program);
    assert_null(ir_check(b->program->arena, b->program));
    assert_int_equal(b->function->block_count, 1);
    return ir_resolve(b->function->first->last->a);
}

struct diamond {
    struct ir_block *yes, *no;
};

static struct diamond diamond(struct ir_builder *b, struct ir *condition)
{
    struct diamond d = {ir_block_new(b), ir_block_new(b)};
    ir_branch(b, condition, d.yes, d.no);
    ir_seal(b, d.yes);
    ir_seal(b, d.no);
    return d;
}

static void optimise(struct ir_builder *b)
{
    const char *wrong = ir_check(b->program->arena, b->program);
    if (wrong)
        fail_msg("%s", wrong);
    ir_optimise(b->program);
    wrong = ir_check(b->program->arena, b->program);
    if (wrong)
        fail_msg("%s", wrong);
}

static void identities(void **state)
{
    static const struct {
        enum ir_op op;
        int64_t constant;
    } unchanged[] = {{IR_ADD, 0}, {IR_SUB, 0}, {IR_MUL, 1}, {IR_UDIV, 1}, {IR_SDIV, 1}, {IR_AND, -1},
                     {IR_OR, 0},  {IR_XOR, 0}, {IR_SHL, 0}, {IR_LSHR, 0}, {IR_ASHR, 0}, {IR_UMOD, 0}};
    for (size_t i = 0; i < sizeof unchanged / sizeof *unchanged; i++) {
        struct ir_builder b = builder_new(*state, &features_all);
        struct ir *x = input(&b, 0);
        assert_ptr_equal(
            optimised_result(&b, ir_binary_constant(&b, unchanged[i].op, x, unchanged[i].constant)), x);
    }
    static const enum ir_op zero[] = {IR_SUB, IR_XOR, IR_NE, IR_ULT, IR_SGT};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) {
        struct ir_builder b = builder_new(*state, &features_all);
        struct ir *x = input(&b, 0);
        struct ir *result = optimised_result(&b, ir_binary(&b, zero[i], x, x));
        assert_true(ir_is_constant(result, 0));
    }
}

static void strength_reduction(void **state)
{
    static const struct {
        enum ir_op op;
        int64_t constant;
        enum ir_op becomes;
        int64_t with;
    } cases[] = {{IR_MUL, 8, IR_SHL, 3},  {IR_UDIV, 1024, IR_LSHR, 10}, {IR_UMOD, 64, IR_AND, 63},
                 {IR_SUB, 5, IR_ADD, -5}, {IR_SDIV, 8, IR_SDIV, 8},     {IR_MUL, 6, IR_MUL, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ir_builder b = builder_new(*state, &features_all);
        struct ir *result =
            optimised_result(&b, ir_binary_constant(&b, cases[i].op, input(&b, 0), cases[i].constant));
        assert_int_equal(result->op, cases[i].becomes);
        assert_true(ir_is_constant(result->b, cases[i].with));
    }
}

static void constants_combine(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *x = ir_binary_constant(&b, IR_ADD, ir_binary_constant(&b, IR_ADD, input(&b, 0), 5), 7);
    struct ir *result = optimised_result(&b, x);
    assert_int_equal(result->op, IR_ADD);
    assert_true(ir_is_constant(result->b, 12));
    b = builder_new(*state, &features_all);
    x = ir_binary_constant(&b, IR_LSHR, ir_binary_constant(&b, IR_SHL, input(&b, 0), 32), 32);
    result = optimised_result(&b, x);
    assert_int_equal(result->op, IR_EXTEND);
    assert_int_equal(result->size, 4);
}

static void double_negations_and_extensions(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *less = ir_binary(&b, IR_ULT, input(&b, 0), input(&b, 8));
    struct ir *result = optimised_result(&b, ir_binary_constant(&b, IR_NE, less, 0));
    assert_ptr_equal(result, less);
    b = builder_new(*state, &features_all);
    less = ir_binary(&b, IR_ULT, input(&b, 0), input(&b, 8));
    result = optimised_result(&b, ir_binary_constant(&b, IR_EQ, less, 0));
    assert_int_equal(result->op, IR_UGE);
    b = builder_new(*state, &features_all);
    struct ir *byte = ir_load(&b, ir_context(&b), 3, 1, false);
    assert_ptr_equal(optimised_result(&b, ir_extend(&b, byte, 4, true)), byte);
    b = builder_new(*state, &features_all);
    struct ir *narrow = ir_extend(&b, ir_extend(&b, input(&b, 0), 4, true), 2, false);
    result = optimised_result(&b, narrow);
    assert_int_equal(result->op, IR_EXTEND);
    assert_int_equal(result->a->op, IR_LOAD);
}

static void common_values_are_made_once(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *pid = ir_binary_constant(&b, IR_LSHR, ir_call(&b, BPF_FUNC_get_current_pid_tgid, 0), 32);
    struct ir *tid = ir_extend(&b, ir_call(&b, BPF_FUNC_get_current_pid_tgid, 0), 4, false);
    struct ir *again = ir_binary_constant(&b, IR_LSHR, ir_call(&b, BPF_FUNC_get_current_pid_tgid, 0), 32);
    struct ir *time =
        ir_binary(&b, IR_SUB, ir_call(&b, BPF_FUNC_ktime_get_ns, 0), ir_call(&b, BPF_FUNC_ktime_get_ns, 0));
    struct ir *sum =
        ir_binary(&b, IR_ADD, ir_binary(&b, IR_MUL, pid, again), ir_binary(&b, IR_MUL, tid, time));
    optimised_result(&b, sum);
    assert_int_equal(count_helper(b.function, BPF_FUNC_get_current_pid_tgid), 1);
    assert_int_equal(count_helper(b.function, BPF_FUNC_ktime_get_ns), 2); /* the time differs */
    assert_int_equal(count_op(b.function, IR_LSHR), 1);
}

static void common_values_are_not_taken_from_the_side(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct diamond d = diamond(&b, input(&b, 0));
    ir_enter(&b, d.yes);
    ir_return(&b, ir_call(&b, BPF_FUNC_get_current_uid_gid, 0));
    ir_enter(&b, d.no);
    ir_return(&b, ir_binary_constant(&b, IR_ADD, ir_call(&b, BPF_FUNC_get_current_uid_gid, 0), 1));
    optimise(&b);
    assert_int_equal(count_helper(b.function, BPF_FUNC_get_current_uid_gid), 2);
}

static void loads_are_forwarded(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *frame = ir_frame(&b, 16), *x = input(&b, 0);
    ir_store(&b, frame, 0, 8, x);
    ir_store_constant(&b, frame, 8, 8, 3);
    struct ir *sum = ir_binary(&b, IR_ADD, ir_load(&b, frame, 0, 8, false),
                               ir_load(&b, ir_offset(&b, frame, 8), 0, 4, true));
    struct ir *result = optimised_result(&b, sum);
    assert_int_equal(result->op, IR_ADD);
    assert_ptr_equal(ir_resolve(result->a), x);
    assert_true(ir_is_constant(result->b, 3));
    assert_int_equal(count_op(b.function, IR_STORE), 0); /* the frame is not read any more */
    assert_int_equal(count_op(b.function, IR_FRAME), 0);
}

static void loads_are_not_forwarded_past_writes(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *frame = ir_frame(&b, 8), *other = ir_frame(&b, 8);
    ir_store_constant(&b, frame, 0, 8, 1);
    ir_store_constant(&b, other, 0, 8, 2);
    ir_call(&b, BPF_FUNC_probe_read_user, 3, frame, ir_constant(&b, 8), input(&b, 0));
    struct ir *sum = ir_binary(&b, IR_ADD, ir_load(&b, frame, 0, 8, false), ir_load(&b, other, 0, 8, false));
    optimised_result(&b, sum);
    assert_int_equal(count_op(b.function, IR_STORE), 0); /* the helper fills it, with zeros if it fails */
    assert_int_equal(count_op(b.function, IR_LOAD), 2);  /* one load of the frame, one of the input */

    /* A narrower store changes part of the word. */
    b = builder_new(*state, &features_all);
    frame = ir_frame(&b, 8);
    ir_store(&b, frame, 0, 8, input(&b, 0));
    ir_store_constant(&b, frame, 2, 1, 9);
    optimised_result(&b, ir_load(&b, frame, 0, 8, false));
    assert_int_equal(count_op(b.function, IR_STORE), 2);
    assert_int_equal(count_op(b.function, IR_LOAD), 2);

    /* A store through a pointer that might point to the frame: the frame's address was stored where it can be
     * loaded again. */
    b = builder_new(*state, &features_all);
    frame = ir_frame(&b, 8);
    struct ir *holder = ir_frame(&b, 8);
    ir_store(&b, holder, 0, 8, frame);
    ir_store_constant(&b, frame, 0, 8, 1);
    ir_store_constant(&b, ir_load(&b, input(&b, 0), 0, 8, false), 0, 8, 2);
    ir_call(&b, BPF_FUNC_loop, 4, ir_constant(&b, 1), ir_function_address(&b, b.function), holder,
            ir_constant(&b, 0));
    struct ir *result = optimised_result(&b, ir_load(&b, frame, 0, 8, false));
    assert_int_equal(result->op, IR_LOAD);
}

static void volatile_loads_are_not_merged(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *flag = ir_map_value(&b, 0, 0), *sum = ir_constant(&b, 0);
    for (unsigned i = 0; i < 4; i++) {
        struct ir *load = ir_load(&b, flag, 0, 4, false);
        load->is_volatile = true;
        if (i) /* the first load's value is not used */
            sum = ir_binary(&b, IR_ADD, sum, load);
    }
    optimised_result(&b, sum);
    assert_int_equal(count_op(b.function, IR_LOAD), 3);
}

static struct ir *look_up(struct ir_builder *b, uint32_t map, struct ir *key)
{
    struct ir *frame = ir_frame(b, 16);
    ir_store(b, frame, 0, 8, key);
    ir_store_constant(b, frame, 8, 8, 0);
    return ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, map), frame);
}

/* Returns how many of two look-ups remain when the chosen instruction stands between them. */
static unsigned look_ups_with(struct arena *arena, unsigned between)
{
    struct ir_builder b = builder_new(arena, &features_all);
    struct ir *pid = ir_call(&b, BPF_FUNC_get_current_pid_tgid, 0);
    struct ir *first = look_up(&b, 1, pid), *zero = ir_constant(&b, 0), *value = ir_frame(&b, 8);
    ir_store(&b, value, 0, 8, zero);
    struct ir *key = ir_frame(&b, 16);
    ir_zero(&b, key, 0, 16);
    switch (between) {
    case 1: ir_call(&b, BPF_FUNC_map_update_elem, 4, ir_map(&b, 1), key, value, zero); break;
    case 2: ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 1), key); break;
    case 3: ir_call(&b, BPF_FUNC_map_update_elem, 4, ir_map(&b, 2), key, value, zero); break;
    case 4: ir_call(&b, BPF_FUNC_probe_read_user, 3, value, ir_constant(&b, 8), pid); break;
    case 5: ir_call(&b, BPF_FUNC_loop, 4, zero, ir_function_address(&b, b.function), value, zero); break;
    case 6: pid = input(&b, 0); break; /* another key */
    default: break;
    }
    struct ir *second = look_up(&b, 1, pid);
    ir_return(&b, ir_binary(&b, IR_ADD, first, second));
    optimise(&b);
    return count_helper(b.function, BPF_FUNC_map_lookup_elem);
}

static void look_ups_of_one_key_are_one(void **state)
{
    static const unsigned expected[] = {1, 2, 2, 1, 1, 2, 2};
    for (unsigned i = 0; i < sizeof expected / sizeof *expected; i++)
        if (look_ups_with(*state, i) != expected[i])
            fail_msg("case %u", i);
}

static void key_changed_in_place_is_another_key(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *key = ir_frame(&b, 8);
    ir_call(&b, BPF_FUNC_get_current_comm, 2, key, ir_constant(&b, 8)); /* the key's content is not known */
    struct ir *x = ir_call(&b, BPF_FUNC_map_lookup_elem, 2, ir_map(&b, 1), key);
    struct ir *y = ir_call(&b, BPF_FUNC_map_lookup_elem, 2, ir_map(&b, 1), key);
    ir_store(&b, key, 0, 1, input(&b, 0));
    struct ir *z = ir_call(&b, BPF_FUNC_map_lookup_elem, 2, ir_map(&b, 1), key);
    ir_return(&b, ir_binary(&b, IR_ADD, ir_binary(&b, IR_ADD, x, y), z));
    optimise(&b);
    assert_int_equal(count_helper(b.function, BPF_FUNC_map_lookup_elem), 2);
}

static void null_checks_below_a_null_check_fold(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *found = look_up(&b, 1, input(&b, 0));
    struct diamond outer = diamond(&b, ir_binary_constant(&b, IR_NE, found, 0));
    ir_enter(&b, outer.yes);
    struct diamond inner = diamond(&b, ir_binary_constant(&b, IR_EQ, found, 0));
    ir_enter(&b, inner.yes);
    ir_return(&b, ir_constant(&b, 111));
    ir_enter(&b, inner.no);
    ir_return(&b, ir_load(&b, found, 0, 8, false));
    ir_enter(&b, outer.no);
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_BRANCH), 1);
    assert_int_equal(count_op(b.function, IR_RETURN), 2);
}

static void known_comparisons_fold_negated_too(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *x = input(&b, 0), *y = input(&b, 8);
    struct ir *greater = ir_binary(&b, IR_UGE, x, y);
    struct diamond outer = diamond(&b, ir_binary(&b, IR_ULT, x, y));
    ir_enter(&b, outer.yes);
    struct diamond inner = diamond(&b, greater);
    ir_enter(&b, inner.yes);
    ir_return(&b, ir_constant(&b, 111));
    ir_enter(&b, inner.no);
    ir_return(&b, ir_constant(&b, 1));
    ir_enter(&b, outer.no);
    ir_return(&b, ir_constant(&b, 2));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_BRANCH), 1);
}

static void conditions_of_and_and_or_are_threaded(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t both = ir_variable(&b);
    struct diamond first = diamond(&b, ir_binary_constant(&b, IR_UGT, input(&b, 0), 5));
    struct ir_block *after = ir_block_new(&b);
    ir_enter(&b, first.yes);
    ir_write(&b, both, ir_binary_constant(&b, IR_NE, ir_binary_constant(&b, IR_EQ, input(&b, 8), 7), 0));
    ir_jump(&b, after);
    ir_enter(&b, first.no);
    ir_write(&b, both, ir_constant(&b, 0));
    ir_jump(&b, after);
    ir_seal(&b, after);
    ir_enter(&b, after);
    struct diamond whole = diamond(&b, ir_read(&b, both));
    ir_enter(&b, whole.yes);
    ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 9));
    ir_return(&b, ir_constant(&b, 1));
    ir_enter(&b, whole.no);
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_PHI), 0);
    assert_int_equal(count_op(b.function, IR_BRANCH), 2);
    assert_int_equal(b.function->block_count, 4);
}

static void branches_on_constants_go(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct diamond d =
        diamond(&b, ir_binary_constant(&b, IR_ULT, ir_binary_constant(&b, IR_MUL, input(&b, 0), 0), 1));
    ir_enter(&b, d.yes);
    ir_return(&b, ir_constant(&b, 4));
    ir_enter(&b, d.no);
    ir_return(&b, ir_load(&b, ir_constant(&b, 0), 0, 8, false));
    optimise(&b);
    assert_int_equal(b.function->block_count, 1);
    assert_int_equal(count_op(b.function, IR_LOAD), 0);
}

static void ranges_remove_masks(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *sum = ir_binary(&b, IR_ADD, ir_load(&b, ir_context(&b), 0, 1, false),
                               ir_load(&b, ir_context(&b), 1, 1, false));
    assert_ptr_equal(optimised_result(&b, ir_binary_constant(&b, IR_AND, sum, 1023)), sum);
    b = builder_new(*state, &features_all);
    struct ir *half = ir_binary_constant(&b, IR_LSHR, input(&b, 0), 33);
    assert_ptr_equal(optimised_result(&b, ir_extend(&b, half, 4, true)), half);
    b = builder_new(*state, &features_all);
    struct ir *decided = ir_binary_constant(&b, IR_SLT, ir_load(&b, ir_context(&b), 0, 2, false), 70000);
    assert_true(ir_is_constant(optimised_result(&b, decided), 1));
    b = builder_new(*state, &features_all);
    struct ir *mask = ir_binary_constant(&b, IR_AND, input(&b, 0), 255);
    assert_ptr_equal(optimised_result(&b, mask), mask);
}

/* The verifier does not know the range of a division's result: the mask is there for the verifier and stays. */
static void bounds_for_the_kernel_stay(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *size = ir_binary_constant(&b, IR_UDIV, ir_load(&b, ir_context(&b), 0, 1, false), 3);
    struct ir *masked = ir_binary_constant(&b, IR_AND, size, 127);
    ir_call(&b, BPF_FUNC_probe_read_user, 3, ir_frame(&b, 128), masked, input(&b, 8));
    optimised_result(&b, ir_constant(&b, 0));
    assert_int_equal(count_op(b.function, IR_AND), 1);

    /* So does a comparison that bounds an offset into a map's value. */
    b = builder_new(*state, &features_all);
    struct ir *offset = ir_binary_constant(&b, IR_UDIV, ir_load(&b, ir_context(&b), 0, 1, false), 3);
    struct diamond d = diamond(&b, ir_binary_constant(&b, IR_ULT, offset, 128));
    ir_enter(&b, d.yes);
    ir_return(&b, ir_load(&b, ir_binary(&b, IR_ADD, ir_map_value(&b, 0, 0), offset), 0, 1, false));
    ir_enter(&b, d.no);
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_BRANCH), 1);
}

static void dead_code_goes(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    ir_binary(&b, IR_ADD, input(&b, 0), ir_call(&b, BPF_FUNC_ktime_get_boot_ns, 0));
    look_up(&b, 1, input(&b, 8)); /* the look-up is removable, and then its key is */
    ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 2), ir_frame(&b, 8));
    optimised_result(&b, ir_constant(&b, 0));
    assert_int_equal(count_op(b.function, IR_CALL), 1);
    assert_int_equal(count_op(b.function, IR_LOAD), 0);
    assert_int_equal(count_op(b.function, IR_STORE), 0);
    assert_int_equal(count_op(b.function, IR_FRAME), 1);
    assert_int_equal(count_op(b.function, IR_CONTEXT), 0);
}

static void loop_that_counts_for_nobody_keeps_its_end(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t i = ir_variable(&b), unused = ir_variable(&b);
    ir_write(&b, i, ir_constant(&b, 0));
    ir_write(&b, unused, ir_constant(&b, 0));
    struct ir_block *head = ir_block_new(&b), *body = ir_block_new(&b), *after = ir_block_new(&b);
    ir_jump(&b, head);
    ir_enter(&b, head);
    ir_branch(&b, ir_binary_constant(&b, IR_ULT, ir_read(&b, i), 5), body, after);
    ir_seal(&b, body);
    ir_seal(&b, after);
    ir_enter(&b, body);
    ir_write(&b, i, ir_binary_constant(&b, IR_ADD, ir_read(&b, i), 1));
    ir_write(&b, unused, ir_binary_constant(&b, IR_ADD, ir_read(&b, unused), 3));
    ir_jump(&b, head);
    ir_seal(&b, head);
    ir_enter(&b, after);
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_PHI), 1); /* the one of i; the other variable fed only itself */
    assert_int_equal(count_op(b.function, IR_BRANCH), 1);
}

static void blocks_that_do_the_same_are_one(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *x = input(&b, 0), *counter = ir_map_value(&b, 0, 16);
    struct diamond first = diamond(&b, x);
    struct ir_block *end = ir_block_new(&b);
    ir_enter(&b, first.yes);
    ir_atomic_add(&b, counter, 0, 8, ir_constant(&b, 1));
    ir_jump(&b, end);
    ir_enter(&b, first.no);
    struct diamond second = diamond(&b, ir_binary_constant(&b, IR_UGT, input(&b, 8), 3));
    ir_enter(&b, second.yes);
    ir_atomic_add(&b, ir_map_value(&b, 0, 16), 0, 8,
                  ir_constant(&b, 1)); /* computed by instructions of its own */
    ir_jump(&b, end);
    ir_enter(&b, second.no);
    ir_atomic_add(&b, ir_map_value(&b, 0, 24), 0, 8, ir_constant(&b, 1)); /* a different counter */
    ir_jump(&b, end);
    ir_seal(&b, end);
    ir_enter(&b, end);
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_ATOMIC_ADD), 2);
    assert_int_equal(count_op(b.function, IR_BRANCH), 2);
    assert_int_equal(count_op(b.function, IR_RETURN), 1);
}

/* The blocks do the same, but the block where they meet takes a different value from each. */
static void blocks_that_give_something_else_stay(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t result = ir_variable(&b);
    struct diamond d = diamond(&b, input(&b, 0));
    struct ir_block *end = ir_block_new(&b);
    for (unsigned i = 0; i < 2; i++) {
        ir_enter(&b, i ? d.no : d.yes);
        ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 9));
        ir_write(&b, result, ir_constant(&b, i));
        ir_jump(&b, end);
    }
    ir_seal(&b, end);
    ir_enter(&b, end);
    ir_return(&b, ir_read(&b, result));
    optimise(&b);
    assert_int_equal(count_helper(b.function, BPF_FUNC_send_signal), 2);
}

static void ends_are_shared(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct diamond d = diamond(&b, input(&b, 0));
    ir_enter(&b, d.yes);
    ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 9));
    ir_return(&b, ir_constant(&b, 0));
    ir_enter(&b, d.no);
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_RETURN), 1);
}

/* $x = @m[k]; if ($x) { … $x … }: where the key is absent, $x is known to be 0 and is not tested again. */
static void absent_is_not_asked_again(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    uint32_t value = ir_variable(&b);
    struct ir *found = look_up(&b, 1, input(&b, 0));
    struct diamond present = diamond(&b, found);
    struct ir_block *after = ir_block_new(&b);
    ir_enter(&b, present.yes);
    ir_write(&b, value, ir_load(&b, found, 0, 8, false));
    ir_jump(&b, after);
    ir_enter(&b, present.no);
    ir_write(&b, value, ir_constant(&b, 0));
    ir_jump(&b, after);
    ir_seal(&b, after);
    ir_enter(&b, after);
    struct ir *x = ir_read(&b, value);
    struct diamond d = diamond(&b, x);
    ir_enter(&b, d.yes);
    ir_call(&b, BPF_FUNC_send_signal, 1, x);
    ir_return(&b, ir_constant(&b, 1));
    ir_enter(&b, d.no);
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_PHI), 0);
    assert_int_equal(count_op(b.function, IR_BRANCH), 2);
}

static unsigned loads_behind_a_meeting(void *arena, bool overwritten)
{
    struct ir_builder b = builder_new(arena, &features_all);
    struct ir *frame = ir_frame(&b, 8), *x = input(&b, 0);
    ir_call(&b, BPF_FUNC_probe_read_kernel, 3, frame, ir_constant(&b, 8), x);
    struct ir *before = ir_load(&b, frame, 0, 8, false);
    struct diamond d = diamond(&b, x);
    struct ir_block *after = ir_block_new(&b);
    ir_enter(&b, d.yes);
    ir_call(&b, BPF_FUNC_send_signal, 1, before);
    if (overwritten)
        ir_store_constant(&b, frame, 0, 4, 7);
    ir_jump(&b, after);
    ir_enter(&b, d.no);
    ir_jump(&b, after);
    ir_seal(&b, after);
    ir_enter(&b, after);
    ir_return(&b, ir_binary(&b, IR_ADD, ir_load(&b, frame, 0, 8, false), input(&b, 0)));
    optimise(&b);
    return count_op(b.function, IR_LOAD);
}

static void what_was_known_holds_where_ways_meet(void **state)
{
    assert_int_equal(loads_behind_a_meeting(*state, false), 2); /* one load of the input, one of the frame */
    assert_int_equal(loads_behind_a_meeting(*state, true), 3);
}

static void stores_that_nobody_sees_go(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *frame = ir_frame(&b, 16), *x = input(&b, 0);
    ir_zero(&b, frame, 0, 16);
    ir_call(&b, BPF_FUNC_probe_read_kernel, 3, frame, ir_constant(&b, 16), x);
    ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 1), frame);
    ir_store(&b, frame, 8, 8, x); /* after the last read of the frame */
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_STORE), 0);

    /* Older kernels do not clear the bytes after the name. */
    struct features old = features_all;
    old.signed_division = false;
    for (int is_old = 0; is_old < 2; is_old++) {
        b = builder_new(*state, is_old ? &old : &features_all);
        frame = ir_frame(&b, 16);
        ir_zero(&b, frame, 0, 16);
        ir_call(&b, BPF_FUNC_get_current_comm, 2, frame, ir_constant(&b, 16));
        ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 1), frame);
        ir_return(&b, ir_constant(&b, 0));
        optimise(&b);
        assert_int_equal(count_op(b.function, IR_STORE), is_old ? 2 : 0);
    }

    /* The first helper fills only a part of the frame, and reading a string may leave the bytes after it
     * unchanged. */
    b = builder_new(*state, &features_all);
    frame = ir_frame(&b, 16), x = input(&b, 0);
    ir_zero(&b, frame, 0, 16);
    ir_call(&b, BPF_FUNC_probe_read_kernel, 3, frame, ir_constant(&b, 8), x);
    ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 1), frame);
    ir_zero(&b, frame, 0, 16);
    ir_call(&b, BPF_FUNC_probe_read_kernel_str, 3, frame, ir_constant(&b, 16), x);
    ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 1), frame);
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_STORE), 3);

    /* One branch reads what was stored before the branches parted. */
    b = builder_new(*state, &features_all);
    frame = ir_frame(&b, 8);
    ir_store_constant(&b, frame, 0, 8, 1);
    struct diamond d = diamond(&b, input(&b, 0));
    ir_enter(&b, d.yes);
    ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 1), frame);
    ir_return(&b, ir_constant(&b, 1));
    ir_enter(&b, d.no);
    ir_store_constant(&b, frame, 0, 8, 2);
    ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 2), frame);
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_STORE), 2);
}

static void part_of_a_zero_word_is_known_whole(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *frame = ir_frame(&b, 8), *x = input(&b, 0);
    ir_store_constant(&b, frame, 0, 8, 0);
    ir_store(&b, frame, 0, 4, x);
    struct ir *result = optimised_result(&b, ir_load(&b, frame, 0, 8, false));
    assert_int_equal(result->op, IR_EXTEND);
    assert_int_equal(result->size, 4);
    assert_int_equal(count_op(b.function, IR_STORE), 0);
}

/* Two branches that differ only in their first store: the rest is emitted once. */
static void ends_of_blocks_are_shared(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *frame = ir_frame(&b, 32), *x = input(&b, 0);
    struct ir_block *end = ir_block_new(&b);
    struct diamond d = diamond(&b, input(&b, 8));
    for (unsigned i = 0; i < 2; i++) {
        ir_enter(&b, i ? d.yes : d.no);
        ir_store_constant(&b, frame, 0, 8, i);
        ir_store(&b, frame, 8, 8, x);
        ir_store(&b, frame, 16, 8, ir_binary_constant(&b, IR_ADD, x, 7));
        ir_store_constant(&b, frame, 24, 8, 9);
        ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 1), frame);
        ir_jump(&b, end);
    }
    ir_seal(&b, end);
    ir_enter(&b, end);
    ir_return(&b, ir_constant(&b, 0));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_CALL), 1);
    assert_int_equal(count_op(b.function, IR_STORE), 5);
}

/* A store of a value that the branch itself computed is not moved out of the branch, and a value that depends on
 * the branch stays a choice. */
static void ends_that_differ_are_not_shared(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *frame = ir_frame(&b, 24), *x = input(&b, 0), *made[2];
    struct ir_block *end = ir_block_new(&b);
    uint32_t variable = ir_variable(&b);
    struct diamond d = diamond(&b, input(&b, 8));
    for (unsigned i = 0; i < 2; i++) {
        ir_enter(&b, i ? d.yes : d.no);
        made[i] = ir_binary_constant(&b, i ? IR_MUL : IR_XOR, x, 77);
        ir_store(&b, frame, 0, 8, made[i]);
        ir_store(&b, frame, 8, 8, x);
        ir_store(&b, frame, 16, 8, x);
        ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 1), frame);
        ir_write(&b, variable, made[i]);
        ir_jump(&b, end);
    }
    ir_seal(&b, end);
    ir_enter(&b, end);
    ir_return(&b, ir_read(&b, variable));
    optimise(&b);
    assert_int_equal(count_op(b.function, IR_CALL), 2);
}

/* After a loop that does not write a word, the word's value is still known; after one that may write it, it is
 * not. */
static void facts_hold_through_loops_that_keep_them(void **state)
{
    for (unsigned writes = 0; writes < 2; writes++) {
        struct ir_builder b = builder_new(*state, &features_all);
        struct ir *frame = ir_frame(&b, 8), *other = ir_frame(&b, 8), *x = input(&b, 0);
        uint32_t turn = ir_variable(&b);
        struct ir_block *loop = ir_block_new(&b), *end = ir_block_new(&b);
        ir_store(&b, frame, 0, 8, x);
        ir_store(&b, other, 0, 8, x);
        ir_write(&b, turn, ir_constant(&b, 0));
        ir_jump(&b, loop);
        ir_enter(&b, loop);
        ir_call(&b, BPF_FUNC_map_delete_elem, 2, ir_map(&b, 1), other);
        if (writes)
            ir_call(&b, BPF_FUNC_probe_read_kernel, 3, frame, ir_constant(&b, 8), x);
        struct ir *next = ir_binary_constant(&b, IR_ADD, ir_read(&b, turn), 1);
        ir_write(&b, turn, next);
        ir_branch(&b, ir_binary_constant(&b, IR_ULT, next, 3), loop, end);
        ir_seal(&b, loop);
        ir_seal(&b, end);
        ir_enter(&b, end);
        ir_return(&b, ir_load(&b, frame, 0, 8, false));
        optimise(&b);
        assert_int_equal(count_op(b.function, IR_LOAD), 1 + writes);
    }
}

static void time_is_linear(void **state)
{
    double seconds[2];
    for (unsigned pass = 0; pass < 2; pass++) {
        struct ir_builder b = builder_new(*state, &features_all);
        for (unsigned i = 0; i < (pass ? 8000u : 2000u); i++) {
            struct ir *found = look_up(&b, 1, ir_binary_constant(&b, IR_ADD, input(&b, 0), i));
            struct ir_block *yes = ir_block_new(&b), *after = ir_block_new(&b);
            ir_branch(&b, found, yes, after);
            ir_seal(&b, yes);
            ir_enter(&b, yes);
            ir_atomic_add(&b, found, 0, 8, ir_constant(&b, 1));
            ir_jump(&b, after);
            ir_seal(&b, after);
            ir_enter(&b, after);
        }
        ir_return(&b, ir_constant(&b, 0));
        struct timespec begin, end;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        ir_optimise(b.program);
        struct image_program image = {0};
        struct diagnostics diagnostics = {.arena = *state};
        ir_emit(b.program, &image, 0, &diagnostics);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        seconds[pass] = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    }
    printf("2000 actions: %.3f s, 8000: %.3f s\n", seconds[0], seconds[1]);
    assert_true(seconds[1] < 12 * seconds[0] + 0.2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(identities),
        TEST(strength_reduction),
        TEST(constants_combine),
        TEST(double_negations_and_extensions),
        TEST(common_values_are_made_once),
        TEST(common_values_are_not_taken_from_the_side),
        TEST(loads_are_forwarded),
        TEST(loads_are_not_forwarded_past_writes),
        TEST(volatile_loads_are_not_merged),
        TEST(look_ups_of_one_key_are_one),
        TEST(key_changed_in_place_is_another_key),
        TEST(null_checks_below_a_null_check_fold),
        TEST(known_comparisons_fold_negated_too),
        TEST(conditions_of_and_and_or_are_threaded),
        TEST(branches_on_constants_go),
        TEST(ranges_remove_masks),
        TEST(bounds_for_the_kernel_stay),
        TEST(dead_code_goes),
        TEST(loop_that_counts_for_nobody_keeps_its_end),
        TEST(blocks_that_do_the_same_are_one),
        TEST(blocks_that_give_something_else_stay),
        TEST(ends_are_shared),
        TEST(absent_is_not_asked_again),
        TEST(what_was_known_holds_where_ways_meet),
        TEST(stores_that_nobody_sees_go),
        TEST(part_of_a_zero_word_is_known_whole),
        TEST(ends_of_blocks_are_shared),
        TEST(ends_that_differ_are_not_shared),
        TEST(facts_hold_through_loops_that_keep_them),
        TEST(time_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
