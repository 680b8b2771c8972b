/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops whose number of iterations is not known: the body becomes a function that the kernel calls back.
 *
 *     while          bpf_loop; the callback tests the condition first
 *     for a..b       bpf_loop; the callback computes the variable from its index
 *     for @map       bpf_for_each_map_elem
 *
 * A callback returns 1 to stop the loop. To leave the whole program it also sets the flag `return_slot`, which is
 * tested after the call. Before Linux 5.17, which has no bpf_loop, the first two go over the elements of an array
 * that exists only to be counted; before 5.13 they are loops that call the same function, with a bound that the
 * verifier can walk. */
#include "bpf/lower/state.h"

#include <assert.h>

/* Whether the kernel has bpf_loop(). Callbacks need function information. */
static bool has_loop(const struct lowering *l)
{
    return l->options->features->loop && l->options->features->program_btf;
}

static bool has_for_each(const struct lowering *l)
{
    return l->options->features->for_each_map && l->options->features->program_btf;
}

bool lower_kernel_loops(const struct lowering *l)
{
    return has_loop(l) || has_for_each(l);
}

struct lower_function *lower_callback_begin(struct lowering *l, struct lower_statement *statement,
                                            const char *name, uint8_t parameters)
{
    struct lower_function *callback = arena_new(l->state->temporary, struct lower_function);
    lower_is_too_deep(l); /* it is made even after an error, because nothing is loaded then */
    lower_enter_function(l, callback, name, parameters);
    /* What cannot go on in a condition stops the loop. */
    *statement = (struct lower_statement){0};
    l->state->statement = statement;
    return callback;
}

void lower_callback_end(struct lowering *l, struct lower_function *callback,
                        struct lower_statement *statement, struct lower_statement *outer)
{
    struct ir_builder *b = &l->b;
    if (!ir_ended(b))
        ir_return(b, ir_constant(b, 0));
    if (statement->end) {
        ir_place(b, statement->end);
        ir_return(b, ir_constant(b, 1));
    }
    lower_finish_function(l, callback);
    l->state->statement = outer;
}

/* Goes behind the call of a loop's body: `return` inside of it ends the code around it, too. */
void lower_pass_on_return(struct lowering *l, const struct lower_function *callee)
{
    struct lower_state *s = l->state;
    struct ir_builder *b = &l->b;
    if (!callee->may_return)
        return;
    struct ir *flag = ir_load(b, lower_area(l, s->main), s->return_slot, 8, false);
    struct ir_block *stay = ir_label(b);
    flag->is_volatile = true;
    ir_jump_unless(b, flag, stay);
    lower_leave(l);
    ir_place(b, stay);
}

static void after_loop(struct lowering *l, const struct lower_function *callback)
{
    lower_pass_on_return(l, callback);
    lower_pass_on_result(l, callback);
}

static struct ir *area_argument(struct lowering *l)
{
    struct ir *area = l->state->current->area;
    return area ? area : ir_constant(&l->b, 0);
}

/* Begins the callback of call_loop(), which is called `iterations` times (NULL: until it stops itself). *index:
 * which iteration it is. */
static struct lower_function *iteration_begin(struct lowering *l, struct lower_statement *statement,
                                              const char *name, struct ir *iterations, struct ir **index)
{
    struct ir_builder *b = &l->b;
    struct lower_function *around = l->state->current;
    bool is_over_array = !has_loop(l) && has_for_each(l);
    int32_t slot = -1;
    if (is_over_array && iterations && iterations->op != IR_CONSTANT) {
        slot = lower_area_slot(l, around);
        ir_store(b, around->area, slot, 8, lower_unknown(l, iterations));
    }
    struct lower_function *callback = lower_callback_begin(l, statement, name, is_over_array ? 4 : 2);
    *index = is_over_array ? ir_load(b, ir_parameter(b, 1), 0, 4, false) : ir_parameter(b, 0);
    if (!is_over_array || !iterations)
        return callback;
    struct ir *most =
        slot < 0 ? ir_constant(b, iterations->immediate) : ir_load(b, lower_area(l, around), slot, 8, false);
    struct ir_block *inside = ir_label(b);
    ir_jump_if(b, ir_binary(b, IR_ULT, *index, most), inside);
    ir_return(b, ir_constant(b, 1));
    ir_place(b, inside);
    return callback;
}

/* Makes a loop over the elements of an array, whose keys are the numbers of the iterations. Returns how often the
 * callback was called. */
static struct ir *loop_over_array(struct lowering *l, const struct lower_function *callback)
{
    static const char name[] = "turns";
    struct ir_builder *b = &l->b;
    uint32_t map = lower_internal_map(l, &(struct image_map){.name = name,
                                                             .type = BPF_MAP_TYPE_ARRAY,
                                                             .key_size = 4,
                                                             .value_size = 8,
                                                             .max_entries = LOOP_ARRAY_MAX});
    return ir_call(b, BPF_FUNC_for_each_map_elem, 4, ir_map(b, map),
                   ir_function_address(b, callback->function), area_argument(l), ir_constant(b, 0));
}

/* Makes the loop itself, where the kernel has none: index = 0 … iterations - 1, or until the callback does not
 * return 0. Returns how often the callback was called. */
static struct ir *loop_plainly(struct lowering *l, struct ir *iterations, uint32_t most,
                               const struct lower_function *callback)
{
    struct ir_builder *b = &l->b;
    uint32_t index = ir_variable(b);
    struct ir_block *end = ir_label(b);
    ir_write(b, index, ir_constant(b, 0));
    struct ir_block *loop = ir_loop(b);
    struct ir *at = ir_read(b, index);
    ir_jump_unless(b, ir_binary_constant(b, IR_ULT, at, most), end);
    ir_jump_unless(b, ir_binary(b, IR_ULT, at, iterations), end);
    struct ir *stop = ir_call_local(b, callback->function, 2, at, area_argument(l));
    ir_write(b, index, ir_binary_constant(b, IR_ADD, at, 1));
    ir_branch(b, stop, end, loop);
    ir_loop_end(b, loop);
    ir_place(b, end);
    return ir_read(b, index);
}

/* Whether the current function is inside of a loop. */
static bool is_inside_loop(const struct lowering *l)
{
    for (const struct lower_function *at = l->state->current; at->parent; at = at->parent)
        if (!at->subprogram)
            return true;
    return false;
}

/* Calls the callback `iterations` times (unsigned; NULL: until it stops itself). If that is more than is possible,
 * a runtime error is counted. */
static void call_loop(struct lowering *l, struct ir *iterations, const struct lower_function *callback,
                      struct span span)
{
    struct ir_builder *b = &l->b;
    bool is_endless = !iterations;
    uint32_t most = has_loop(l)         ? LOOP_MAX
                    : has_for_each(l)   ? LOOP_ARRAY_MAX
                    : is_inside_loop(l) ? LOOP_PLAIN_INNER_MAX
                                        : LOOP_PLAIN_MAX;
    if (is_endless)
        iterations = ir_constant(b, most);
    struct ir *done;
    uint32_t bounded = ir_variable(b);
    ir_write(b, bounded, iterations);
    struct ir_if large = ir_if(b, ir_binary_constant(b, IR_UGT, iterations, most));
    ir_write(b, bounded, ir_constant(b, most));
    ir_end_if(b, &large);
    struct ir *wanted = ir_read(b, bounded);
    if (has_loop(l))
        done = ir_call(b, BPF_FUNC_loop, 4, wanted, ir_function_address(b, callback->function),
                       area_argument(l), ir_constant(b, 0));
    else if (has_for_each(l))
        done = loop_over_array(l, callback);
    else
        /* The number is made unknown, or the verifier would walk what follows once for each number of iterations. */
        done = lower_unknown(l, loop_plainly(l, wanted, most, callback));
    if (!is_endless && iterations->op == IR_CONSTANT && (uint64_t)iterations->immediate <= most)
        return;
    struct ir_block *end = ir_label(b);
    struct ir *reached = ir_binary_constant(b, IR_UGE, done, most);
    if (!is_endless)
        reached = ir_binary(b, IR_AND, reached, ir_binary_constant(b, IR_UGT, iterations, most));
    struct ir_block *bound = lower_unlikely(l, reached);
    ir_jump(b, end);
    ir_place(b, bound);
    lower_runtime_error(l, RUNTIME_ERROR_LOOP, span, -1, NULL);
    ir_place(b, end);
}

static void lower_while(struct lowering *l, struct node *node)
{
    struct ir_builder *b = &l->b;
    struct lower_statement statement, *outer = l->state->statement;
    struct ir *index;
    struct lower_function *callback = iteration_begin(l, &statement, "while_body", NULL, &index);
    struct temporary_mark mark = lower_mark(l);
    struct ir_block *yes = ir_label(b), *no = ir_label(b);
    lower_branch(l, node->loop.condition, yes, no);
    ir_place(b, no);
    ir_return(b, ir_constant(b, 1));
    ir_place(b, yes);
    lower_statement(l, node->loop.body);
    lower_release(l, mark);
    lower_callback_end(l, callback, &statement, outer);
    call_loop(l, NULL, callback, node->span);
    after_loop(l, callback);
}

static void lower_for_range(struct lowering *l, struct node *node)
{
    struct ir_builder *b = &l->b;
    struct variable *variable = node->loop.variable->variable.symbol;
    struct lower_function *around = l->state->current;
    struct lower_statement statement, *outer = l->state->statement;
    struct ir *from = lower_scalar(l, node->loop.from), *to = lower_scalar(l, node->loop.to);
    bool is_constant = from->op == IR_CONSTANT;
    int32_t slot = 0;
    if (!is_constant) {
        slot = lower_take_slot(l);
        ir_store(b, around->area, slot, 8, from);
    }
    struct ir *index, *iterations = ir_binary(b, IR_SUB, to, from);
    struct lower_function *callback = iteration_begin(l, &statement, "for_body", iterations, &index);
    struct ir *first =
        is_constant ? ir_constant(b, from->immediate) : ir_load(b, lower_area(l, around), slot, 8, false);
    lower_variable_write(l, variable, ir_binary(b, IR_ADD, first, index));
    lower_statement(l, node->loop.body);
    lower_callback_end(l, callback, &statement, outer);
    /* from..to with to <= from is common enough to be tested. */
    struct ir_if some = ir_if(b, ir_binary(b, IR_SLT, from, to));
    call_loop(l, iterations, callback, node->span);
    after_loop(l, callback);
    if (!is_constant)
        lower_give_slot(l, slot);
    ir_end_if(b, &some);
}

/* Assigns $kv = (key, value) in the callback, whose arguments are (map, key, value, area). */
static void bind_element(struct lowering *l, struct variable *variable, struct map_symbol *map,
                         struct span span)
{
    struct ir_builder *b = &l->b;
    const struct type *tuple = variable->type;
    if (!tuple || tuple->kind != TYPE_TUPLE || tuple->count != 2)
        return; /* it is never read */
    struct memory key = {.base = ir_parameter(b, 1)}, value = {.base = ir_parameter(b, 2)};
    struct memory to = lower_variable_memory(l, variable);
    const struct field *key_field = &tuple->fields[0], *value_field = &tuple->fields[1];
    lower_convert_memory(l, key, map->key, (struct memory){to.base, to.offset + (int32_t)key_field->offset},
                         key_field->type);
    struct memory value_to = {to.base, to.offset + (int32_t)value_field->offset};
    if (!type_is_aggregation(map->value)) {
        lower_convert_memory(l, value, map->value, value_to, value_field->type);
        return;
    }
    struct ir *sum = lower_map_sum(l, map, key.base, span);
    ir_store(b, value_to.base, value_to.offset, 8, sum);
}

static void lower_for_map(struct lowering *l, struct node *node)
{
    struct ir_builder *b = &l->b;
    struct map_symbol *map = node->loop.map->map.symbol;
    struct lower_statement statement, *outer = l->state->statement;
    if (!has_for_each(l)) {
        diagnose_error(l->diagnostics, node->span, "for over a map needs Linux 5.13 or newer");
        diagnose_hint(l->diagnostics, "print(%s) in an interval probe shows the same elements", map->name);
        return;
    }
    if (map->index < 0)
        return;
    struct lower_function *callback = lower_callback_begin(l, &statement, "for_body", 4);
    bind_element(l, node->loop.variable->variable.symbol, map, node->loop.map->span);
    lower_statement(l, node->loop.body);
    lower_callback_end(l, callback, &statement, outer);
    ir_call(b, BPF_FUNC_for_each_map_elem, 4, lower_map_itself(l, map),
            ir_function_address(b, callback->function), area_argument(l), ir_constant(b, 0));
    after_loop(l, callback);
}

/* ---- for builtins ---- */

struct ir *lower_find(struct lowering *l, uint32_t iterations, struct ir *const *carried, unsigned count,
                      lower_test *test, void *state, struct span span)
{
    struct ir_builder *b = &l->b;
    struct lower_function *around = l->state->current;
    struct lower_statement statement, *outer = l->state->statement;
    struct ir *values[LOWER_CARRIED];
    int32_t slots[LOWER_CARRIED], result = lower_take_slot(l);
    assert(count <= LOWER_CARRIED);
    for (unsigned i = 0; i < count; i++) {
        slots[i] = lower_take_slot(l);
        ir_store(b, around->area, slots[i], 8, carried[i]);
    }
    ir_store_constant(b, around->area, result, 8, -1);
    struct ir *index;
    struct lower_function *callback = iteration_begin(l, &statement, "find", NULL, &index);
    struct ir *area = lower_area(l, around);
    for (unsigned i = 0; i < count; i++)
        values[i] = ir_load(b, area, slots[i], 8, false);
    struct ir_block *inside = ir_label(b);
    /* The kernel keeps the index below `iterations`, but its verifier does not know that. */
    ir_jump_if(b, ir_binary_constant(b, IR_ULT, index, iterations), inside);
    ir_return(b, ir_constant(b, 1));
    ir_place(b, inside);
    struct ir *answer = test(l, index, values, state);
    struct ir_if found = ir_if(b, ir_binary_constant(b, IR_EQ, answer, LOWER_FOUND));
    ir_store(b, area, result, 8, index);
    ir_return(b, ir_constant(b, 1));
    ir_end_if(b, &found);
    ir_return(b, ir_binary_constant(b, IR_NE, answer, LOWER_GO_ON));
    lower_callback_end(l, callback, &statement, outer);
    call_loop(l, ir_constant(b, iterations), callback, span);
    struct ir *at = ir_load(b, around->area, result, 8, false);
    at->is_volatile = true;
    for (unsigned i = 0; i < count; i++)
        lower_give_slot(l, slots[i]);
    lower_give_slot(l, result);
    return at;
}

struct ir *lower_map_length(struct lowering *l, struct map_symbol *map, struct span span)
{
    struct ir_builder *b = &l->b;
    struct lower_function *around = l->state->current;
    struct lower_statement statement, *outer = l->state->statement;
    if (!has_for_each(l)) {
        diagnose_error(l->diagnostics, span, "len() of a map needs Linux 5.13 or newer");
        return ir_constant(b, 0);
    }
    int32_t slot = lower_take_slot(l);
    ir_store(b, around->area, slot, 8, lower_unknown(l, ir_constant(b, 0)));
    struct lower_function *callback = lower_callback_begin(l, &statement, "len", 4);
    struct ir *area = lower_area(l, around), *length = ir_load(b, area, slot, 8, false);
    ir_store(b, area, slot, 8, ir_binary_constant(b, IR_ADD, length, 1));
    lower_callback_end(l, callback, &statement, outer);
    ir_call(b, BPF_FUNC_for_each_map_elem, 4, lower_map_itself(l, map),
            ir_function_address(b, callback->function), around->area, ir_constant(b, 0));
    struct ir *counted = ir_load(b, around->area, slot, 8, false);
    counted->is_volatile = true;
    lower_give_slot(l, slot);
    return counted;
}

void lower_loop_statement(struct lowering *l, struct node *node)
{
    if (node->kind == NODE_WHILE)
        lower_while(l, node);
    else if (node->kind == NODE_FOR_RANGE)
        lower_for_range(l, node);
    else
        lower_for_map(l, node);
}
