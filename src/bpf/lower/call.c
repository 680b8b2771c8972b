/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the script's functions. They are real calls, and each calling function gets a copy of its own, because
 * the copy uses the surroundings (the area) of its caller.
 *
 * Arguments are in registers, and the caller's area in the last of them; a fifth argument is in the area. The end
 * of the whole program inside of a function is reported as in loops: by the flag `return_slot`. A return inside of
 * a loop of the function leaves value and flag in the function's area. */
#include "bpf/lower/state.h"

enum { ARGUMENTS = 5 };

struct lowered_call {
    const struct subprogram *subprogram;
    struct lower_function *caller, *function;
    int32_t last_slot; /* slot of the fifth argument, in the caller's area */
    struct lowered_call *next;
};

struct lower_function *lower_enclosing(const struct lowering *l)
{
    struct lower_function *function = l->state->current;
    while (function && !function->subprogram)
        function = function->parent;
    return function;
}

bool lower_forget_variable(struct node *node, void *state)
{
    (void)state;
    if (node->kind == NODE_VARIABLE && node->variable.symbol)
        node->variable.symbol->lowered = NULL;
    return true;
}

static void bind_parameters(struct lowering *l, const struct lowered_call *call)
{
    unsigned number = 0;
    for (struct node *node = call->subprogram->parameters.first; node; node = node->next, number++) {
        struct variable *variable = node->let.target->variable.symbol;
        struct ir *value = number < ARGUMENTS - 1
                               ? ir_parameter(&l->b, number)
                               : ir_load(&l->b, lower_area(l, call->caller), call->last_slot, 8, false);
        variable->lowered = NULL;
        lower_variable_write(l, variable, value);
    }
}

static struct lowered_call *make_function(struct lowering *l, const struct subprogram *subprogram)
{
    struct lower_state *s = l->state;
    struct lowered_call *call = arena_new(s->temporary, struct lowered_call);
    struct lower_statement statement = {0}, *outer = s->statement;
    uint32_t count = subprogram->parameters.count;
    call->subprogram = subprogram;
    call->caller = s->current;
    uint32_t peak = s->scratch_peak, bottom = s->scratch_top;
    call->function = arena_new(s->temporary, struct lower_function);
    call->function->subprogram = subprogram;
    call->function->result_slot = call->function->returned_slot = -1;
    if (count == ARGUMENTS)
        call->last_slot = lower_area_slot(l, call->caller);
    if (lower_is_too_deep(l))
        return NULL;
    node_walk(subprogram->body, lower_forget_variable, NULL);
    lower_enter_function(l, call->function, subprogram->name,
                         (uint8_t)((count < ARGUMENTS ? count : ARGUMENTS - 1) + 1));
    s->statement = &statement;
    s->scratch_peak = bottom;
    bind_parameters(l, call);
    lower_statement(l, subprogram->body);
    if (!ir_ended(&l->b))
        ir_return(&l->b, ir_constant(&l->b, 0));
    lower_finish_function(l, call->function);
    s->statement = outer;
    /* From here on its scratch memory is not shared with other code, so that every call can use the same copy. */
    if (s->scratch_peak > bottom)
        s->scratch_top = s->scratch_permanent = s->scratch_peak;
    if (s->scratch_peak < peak)
        s->scratch_peak = peak;
    call->next = s->calls;
    return s->calls = call;
}

static struct lowered_call *find_function(struct lowering *l, const struct subprogram *subprogram)
{
    struct lower_state *s = l->state;
    for (struct lowered_call *call = s->calls; call; call = call->next)
        if (call->subprogram == subprogram && call->caller == s->current)
            return call;
    return make_function(l, subprogram);
}

struct ir *lower_call(struct lowering *l, struct node *node)
{
    struct ir_builder *b = &l->b;
    const struct subprogram *subprogram = node->call.subprogram;
    struct ir *values[ARGUMENTS] = {0};
    unsigned count = 0;
    const struct node *parameter = subprogram->parameters.first;
    for (struct node *argument = node->call.arguments.first; argument;
         argument = argument->next, parameter = parameter->next)
        values[count++] = lower_convert(l, lower_scalar(l, argument), argument->type,
                                        parameter->let.target->variable.symbol->type);
    const struct lowered_call *call = find_function(l, subprogram);
    if (!call)
        return ir_constant(b, 0);
    if (count == ARGUMENTS)
        ir_store(b, lower_area(l, call->caller), call->last_slot, 8, values[--count]);
    values[count++] = call->caller->area ? call->caller->area : ir_constant(b, 0);
    const char *comment = b->comment;
    b->comment = subprogram->name;
    struct ir *result = ir_call_local(b, call->function->function, count, values[0], values[1], values[2],
                                      values[3], values[4]);
    b->comment = comment;
    lower_pass_on_return(l, call->function);
    return result;
}

/* Lowers `return` in a function. False: the code is in none. */
bool lower_return_from_subprogram(struct lowering *l, struct node *value)
{
    struct lower_function *function = lower_enclosing(l);
    struct ir_builder *b = &l->b;
    if (!function)
        return false;
    struct ir *result = ir_constant(b, 0);
    if (value && type_is_scalar(function->subprogram->type))
        result = lower_convert(l, lower_scalar(l, value), value->type, function->subprogram->type);
    if (ir_ended(b))
        return true;
    lower_return_result(l, result);
    return true;
}

void lower_return_result(struct lowering *l, struct ir *result)
{
    struct lower_function *function = lower_enclosing(l);
    struct ir_builder *b = &l->b;
    if (l->state->current == function) {
        if (function->caller)
            lower_return_from_section(l, result);
        else
            ir_return(b, result);
        return;
    }
    if (function->returned_slot < 0) {
        function->returned_slot = lower_area_slot(l, function);
        function->result_slot = lower_area_slot(l, function);
    }
    struct ir *area = lower_area(l, function);
    ir_store(b, area, function->result_slot, 8, lower_captured(l, result));
    ir_store(b, area, function->returned_slot, 8, lower_captured(l, ir_constant(b, 1)));
    l->state->current->leaves_subprogram = true;
    ir_return(b, ir_constant(b, 1));
}

/* Goes behind a loop in which there was a `return` of the function: returns its result if it was reached. */
void lower_pass_on_result(struct lowering *l, const struct lower_function *callback)
{
    struct ir_builder *b = &l->b;
    struct lower_function *function = lower_enclosing(l);
    if (!callback->leaves_subprogram || !function)
        return;
    struct ir *flag = ir_load(b, lower_area(l, function), function->returned_slot, 8, false);
    struct ir_block *stay = ir_label(b);
    flag->is_volatile = true;
    ir_jump_unless(b, flag, stay);
    if (l->state->current == function) {
        struct ir *result = ir_load(b, lower_area(l, function), function->result_slot, 8, false);
        result->is_volatile = true;
        lower_return_result(l, result);
    } else {
        l->state->current->leaves_subprogram = true;
        ir_return(b, ir_constant(b, 1));
    }
    ir_place(b, stay);
}
