/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the register allocator and of the frame's layout: two values that are needed at the same time never
 * share a register or a slot, calls leave no value behind in r0 to r5, and a program runs out of registers only
 * when it must. The check computes the live values in the simplest way, so that it shares no mistake with the
 * allocator. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bpf/emit/machine.h"
#include "ir_testing.h"

struct live {
    const struct allocation *allocation;
    uint32_t values;
    bool *in, *out; /* by block number and value number */
};

static bool has_register(const struct live *live, const struct ir *value)
{
    return value->block && value->number < live->values &&
           allocation_register(live->allocation, value) < REGISTER_COUNT;
}

static void step_back(const struct live *live, struct ir *ir, bool *now)
{
    now[ir->number] = false;
    unsigned count = ir->op == IR_PHI ? 0 : ir_operand_count(ir);
    for (unsigned k = 0; k < count; k++)
        if (has_register(live, *ir_operand(ir, k)))
            now[(*ir_operand(ir, k))->number] = true;
}

static void find_out(const struct live *live, const struct ir_block *block, bool *out)
{
    struct ir_block *to[2];
    unsigned count = ir_successors(block, to);
    for (unsigned i = 0; i < count; i++) {
        const bool *in = &live->in[to[i]->number * live->values];
        for (uint32_t v = 0; v < live->values; v++)
            out[v] |= in[v];
        for (struct ir *phi = to[i]->first; phi && phi->op == IR_PHI; phi = phi->next)
            for (uint32_t k = 0; k < phi->argument_count; k++)
                if (to[i]->predecessors[k] == block && has_register(live, phi->arguments[k]) &&
                    has_register(live, phi))
                    out[phi->arguments[k]->number] = true;
    }
}

static void assert_distinct(const struct live *live, struct ir **by_number, const bool *now,
                            unsigned forbidden)
{
    struct ir *holder[REGISTER_COUNT] = {0};
    for (uint32_t v = 0; v < live->values; v++) {
        if (!now[v] || !by_number[v])
            continue;
        unsigned reg = allocation_register(live->allocation, by_number[v]);
        assert_true(reg < REGISTER_COUNT);
        if (reg < forbidden)
            fail_msg("v%u lives in r%u across a call", v, reg);
        if (holder[reg])
            fail_msg("v%u and v%u are both in r%u", v, holder[reg]->number, reg);
        holder[reg] = by_number[v];
    }
}

static void assert_allocation(const struct allocation *allocation)
{
    struct ir_function *function = allocation->function;
    struct live live = {.allocation = allocation, .values = function->value_count};
    size_t cells = (size_t)function->block_count * live.values;
    live.in = calloc(cells, 1);
    live.out = calloc(cells, 1);
    struct ir **by_number = calloc(live.values, sizeof *by_number);
    bool *now = calloc(live.values, 1);
    for (struct ir_block *block = function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next)
            by_number[ir->number] = ir;
    for (bool again = true; again;) {
        again = false;
        for (struct ir_block *block = function->first; block; block = block->next) {
            bool *out = &live.out[block->number * live.values], *in = &live.in[block->number * live.values];
            find_out(&live, block, out);
            memcpy(now, out, live.values);
            for (struct ir *ir = block->last; ir; ir = ir->previous)
                step_back(&live, ir, now);
            again |= memcmp(now, in, live.values) != 0;
            memcpy(in, now, live.values);
        }
    }
    for (struct ir_block *block = function->first; block; block = block->next) {
        memcpy(now, &live.out[block->number * live.values], live.values);
        for (struct ir *ir = block->last; ir; ir = ir->previous) {
            if (has_register(&live, ir) && ir->op != IR_PHI)
                now[ir->number] = true; /* even if the value is never used */
            assert_distinct(&live, by_number, now, 0);
            now[ir->number] = false;
            if (ir->op == IR_CALL || ir->op == IR_CALL_LOCAL)
                assert_distinct(&live, by_number, now, 6);
            step_back(&live, ir, now);
        }
    }
    free(live.in);
    free(live.out);
    free(by_number);
    free(now);
}

static jmp_buf out_of_memory;

static void check_random_program(unsigned seed, unsigned limit)
{
    struct arena arena = {0};
    if (arena_guard(&arena, out_of_memory))
        abort();
    struct random r = {seed};
    unsigned loops = 3;
    struct tree *tree = tree_block(&arena, &r, 20, 3, &loops);
    struct ir_program *program = build_program(&arena, &features_all, tree);
    if (seed & 1)
        ir_optimise(program);
    for (struct ir_function *function = program->functions; function; function = function->next) {
        ir_select(function);
        struct allocation allocation;
        assert_int_equal(allocate_registers(function, limit, &allocation), 0);
        assert_allocation(&allocation);
    }
    arena_free(&arena);
}

static void random_programs_are_allocated_soundly(void **state)
{
    (void)state;
    for (unsigned seed = 5000; seed < 5060; seed++)
        for (unsigned limit = 3; limit <= 10; limit += limit == 3 ? 1 : 3)
            check_random_program(seed, limit);
}

static struct ir_builder pressure(struct arena *arena, unsigned values, bool calls)
{
    struct ir_builder b = builder_new(arena, &features_all);
    struct ir *loaded[32], *sum;
    for (unsigned i = 0; i < values; i++)
        loaded[i] = ir_load(&b, ir_context(&b), (int32_t)i * 8, 8, false);
    if (calls)
        ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 9));
    sum = loaded[values - 1];
    for (unsigned i = values - 1; i-- > 0;)
        sum = ir_binary(&b, IR_XOR, ir_binary_constant(&b, IR_MUL, sum, 3), loaded[i]);
    ir_return(&b, sum);
    return b;
}

static unsigned spills(struct ir_builder *b, unsigned limit)
{
    ir_select(b->function);
    struct allocation allocation;
    assert_int_equal(allocate_registers(b->function, limit, &allocation), 0);
    assert_allocation(&allocation);
    return allocation.spills;
}

static void nothing_is_spilled_without_need(void **state)
{
    struct ir_builder b = pressure(*state, 9, false);
    assert_int_equal(spills(&b, 0), 0);
    b = pressure(*state, 4, true);
    assert_int_equal(spills(&b, 0), 0);
}

static void pressure_spills(void **state)
{
    struct ir_builder b = pressure(*state, 14, false);
    assert_in_range(spills(&b, 0), 4, 6);
    b = pressure(*state, 9, true);
    assert_in_range(spills(&b, 0), 5, 6);
    b = pressure(*state, 6, false);
    assert_true(spills(&b, 3) >= 3);
}

static void addresses_and_constants_are_made_again(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *addresses[8];
    for (unsigned i = 0; i < 8; i++)
        addresses[i] = ir_map_value(&b, 0, (int32_t)i * 8);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 8; i++)
            ir_store_constant(&b, addresses[i], 0, 8, round);
        ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 9));
    }
    ir_return(&b, ir_constant(&b, 0));
    ir_select(b.function);
    struct allocation allocation;
    assert_int_equal(allocate_registers(b.function, 0, &allocation), 0);
    assert_allocation(&allocation);
    assert_true(allocation.spills > 0);
    assert_int_equal(frame_layout(&allocation), 0); /* the spilled values take no slot */
}

static void parameters_can_all_be_spilled(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir_function *callback = ir_function_new(b.program, "callback", 5);
    b.function = callback;
    ir_enter(&b, callback->first);
    struct ir *parameters[5], *sum = NULL;
    for (unsigned i = 0; i < 5; i++)
        parameters[i] = ir_parameter(&b, i);
    ir_call(&b, BPF_FUNC_send_signal, 1, ir_constant(&b, 9));
    for (unsigned i = 0; i < 5; i++)
        sum = sum ? ir_binary(&b, IR_SUB, sum, parameters[i]) : parameters[i];
    ir_call(&b, BPF_FUNC_send_signal, 1, sum);
    ir_return(&b, sum);
    ir_select(callback);
    struct allocation allocation;
    assert_int_equal(allocate_registers(callback, 3, &allocation), 0);
    assert_allocation(&allocation);
    assert_in_range(frame_layout(&allocation), 32, 48);
}

/* The loop swaps two variables (x, y = y, x): the moves at its end form a cycle. */
static void phis_that_swap(void **state)
{
    for (unsigned limit = 3; limit <= 10; limit++) {
        struct ir_builder b = builder_new(*state, &features_all);
        uint32_t x = ir_variable(&b), y = ir_variable(&b), i = ir_variable(&b);
        ir_write(&b, x, ir_load(&b, ir_context(&b), 0, 8, false));
        ir_write(&b, y, ir_load(&b, ir_context(&b), 8, 8, false));
        ir_write(&b, i, ir_constant(&b, 0));
        struct ir_block *head = ir_block_new(&b), *body = ir_block_new(&b), *after = ir_block_new(&b);
        ir_jump(&b, head);
        ir_enter(&b, head);
        ir_branch(&b, ir_binary_constant(&b, IR_ULT, ir_read(&b, i), 3), body, after);
        ir_seal(&b, body);
        ir_enter(&b, body);
        struct ir *old = ir_read(&b, x);
        ir_write(&b, x, ir_read(&b, y));
        ir_write(&b, y, old);
        ir_write(&b, i, ir_binary_constant(&b, IR_ADD, ir_read(&b, i), 1));
        ir_jump(&b, head);
        ir_seal(&b, head);
        ir_seal(&b, after);
        ir_enter(&b, after);
        ir_store(&b, ir_context(&b), 0, 8, ir_read(&b, x));
        ir_store(&b, ir_context(&b), 8, 8, ir_read(&b, y));
        ir_return(&b, ir_constant(&b, 0));
        struct image_program image = {0};
        struct diagnostics diagnostics = {.arena = *state};
        assert_int_equal(ir_emit(b.program, &image, limit, &diagnostics), 0);
        if (geteuid() || !kernel_available())
            continue;
        int fd = kernel_load(&image, BPF_PROG_TYPE_SYSCALL, -1, NULL, 0);
        assert_true(fd >= 0);
        uint64_t context[2] = {11, 22};
        assert_int_equal(kernel_run(fd, context, sizeof context), 0);
        assert_int_equal(context[0], 22);
        assert_int_equal(context[1], 11);
        close(fd);
    }
}

static uint32_t frame_of_two(struct arena *arena, bool overlap, bool escape)
{
    struct ir_builder b = builder_new(arena, &features_all);
    struct ir *x = ir_frame(&b, 16), *y = ir_frame(&b, 16);
    if (escape)
        ir_store(&b, ir_context(&b), 0, 8, x);
    ir_call(&b, BPF_FUNC_get_current_comm, 2, x, ir_constant(&b, 16));
    if (!overlap)
        ir_call(&b, BPF_FUNC_trace_printk, 2, x, ir_constant(&b, 16));
    ir_call(&b, BPF_FUNC_get_current_comm, 2, y, ir_constant(&b, 16));
    if (overlap)
        ir_call(&b, BPF_FUNC_trace_printk, 2, x, ir_constant(&b, 16));
    ir_call(&b, BPF_FUNC_trace_printk, 2, y, ir_constant(&b, 16));
    ir_return(&b, ir_constant(&b, 0));
    ir_select(b.function);
    struct allocation allocation;
    assert_int_equal(allocate_registers(b.function, 0, &allocation), 0);
    return frame_layout(&allocation);
}

static void objects_share_bytes_when_they_can(void **state)
{
    assert_int_equal(frame_of_two(*state, false, false), 16);
    assert_int_equal(frame_of_two(*state, true, false), 32);
    assert_int_equal(frame_of_two(*state, false, true), 32);
}

static void object_used_round_a_loop_keeps_its_bytes(void **state)
{
    struct ir_builder b = builder_new(*state, &features_all);
    struct ir *kept = ir_frame(&b, 8), *inside = ir_frame(&b, 8);
    ir_store_constant(&b, kept, 0, 8, 1);
    struct ir_block *body = ir_block_new(&b), *after = ir_block_new(&b);
    ir_jump(&b, body);
    ir_enter(&b, body);
    /* the call only reads `kept`, whose slot is free afterwards */
    ir_call(&b, BPF_FUNC_trace_printk, 2, kept, ir_constant(&b, 8));
    ir_store_constant(&b, inside, 0, 8, 2);
    ir_call(&b, BPF_FUNC_trace_printk, 2, inside, ir_constant(&b, 8));
    ir_branch(&b, ir_load(&b, ir_context(&b), 0, 8, false), body, after);
    ir_seal(&b, body);
    ir_seal(&b, after);
    ir_enter(&b, after);
    ir_return(&b, ir_constant(&b, 0));
    ir_select(b.function);
    struct allocation allocation;
    assert_int_equal(allocate_registers(b.function, 0, &allocation), 0);
    assert_int_equal(frame_layout(&allocation), 16);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_programs_are_allocated_soundly),
        TEST(nothing_is_spilled_without_need),
        TEST(pressure_spills),
        TEST(addresses_and_constants_are_made_again),
        TEST(parameters_can_all_be_spilled),
        TEST(phis_that_swap),
        TEST(objects_share_bytes_when_they_can),
        TEST(object_used_round_a_loop_keeps_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
