/* SPDX-License-Identifier: BSD-3-Clause */
/* Scratch variables and assignments.
 *
 * A scalar is an SSA variable, or 8 bytes of its function's area if a loop body captures it. Anything else is on
 * the frame if it is small and not captured, else in scratch memory as long as the program runs. A variable whose
 * address is taken is in scratch memory, too, because no pass removes stores there as unused. */
#include "bpf/lower/state.h"

#include <assert.h>

/* Whether a captured variable can be reached from a function. In another copy of the loop around it, as unroll
 * makes them, it is another variable. */
static bool is_around(const struct lower_function *home, const struct lower_function *function)
{
    while (function && function != home)
        function = function->parent;
    return function;
}

/* Whether a variable in scratch memory was made in a function that is open now, or in a section that such a
 * function called before. */
static bool is_in_sections(const struct lower_function *home, const struct lower_function *function)
{
    const struct lower_function *caller = home->caller ? home->caller : home;
    while (function && function != caller)
        function = function->parent ? function->parent : function->caller;
    return function;
}

static struct lowered_variable *find_home(struct lowering *l, struct variable *variable)
{
    struct lower_state *s = l->state;
    struct lowered_variable *lowered = variable->lowered;
    struct lower_function *home = s->current;
    if (lowered && lowered->program == s->program_index &&
        (lowered->home == home || (variable->captured && is_around(lowered->home, home)) ||
         (lowered->kind == VARIABLE_SCRATCH && is_in_sections(lowered->home, home))))
        return lowered;
    const struct type *type = variable->type;
    uint32_t bytes = type_storage(type);
    lowered = arena_new(l->arena, struct lowered_variable);
    lowered->program = s->program_index;
    lowered->home = home;
    /* A pointer may be the context, which the verifier must recognise. */
    bool is_crowded_out = s->section_size || (s->avoid_stack && type->kind != TYPE_POINTER);
    bool is_scalar = type_is_scalar(type) && !variable->address_taken && !is_crowded_out;
    if (is_scalar && !variable->captured) {
        lowered->kind = VARIABLE_VALUE;
        lowered->number = ir_variable(&l->b);
        ir_write(&l->b, lowered->number, ir_constant(&l->b, 0));
        if (!home->parent && type->kind != TYPE_POINTER)
            *arena_push(s->temporary, s->values, s->value_count, s->value_room) = lowered->number;
    } else if (is_scalar) {
        lowered->kind = VARIABLE_SLOT;
        lowered->offset = lower_area_slot(l, home);
    } else if (bytes <= FRAME_TEMPORARY_MAX && !variable->captured && !variable->address_taken &&
               !is_crowded_out && !home->parent && home->frame_bytes + bytes <= 128) {
        lowered->kind = VARIABLE_FRAME;
        lowered->frame = ir_frame(&l->b, bytes ? bytes : 8);
        home->frame_bytes += bytes;
    } else {
        lowered->kind = VARIABLE_SCRATCH;
        struct memory memory = lower_scratch(l, bytes ? bytes : 8, true);
        lowered->offset = memory.offset;
        if (is_crowded_out && type_is_scalar(type)) /* it is 0 at first, like others */
            ir_store_constant(&l->b, memory.base, memory.offset, 8, 0);
    }
    variable->lowered = lowered;
    return lowered;
}

struct scope {
    uint32_t program, bottom;
    bool is_kept, ends;
};

static bool visit_scope(struct node *node, void *state)
{
    struct scope *scope = state;
    struct variable *variable = node->kind == NODE_VARIABLE ? node->variable.symbol : NULL;
    const struct lowered_variable *lowered = variable ? variable->lowered : NULL;
    if (!lowered || lowered->program != scope->program || lowered->kind != VARIABLE_SCRATCH ||
        lowered->offset < (int32_t)scope->bottom)
        return true;
    scope->is_kept |= variable->address_taken;
    if (scope->ends)
        variable->lowered = NULL;
    return true;
}

bool lower_end_scope(struct lowering *l, struct node *first, const struct node *behind, uint32_t bottom)
{
    struct scope scope = {.program = l->state->program_index, .bottom = bottom};
    if (l->state->scratch_permanent <= bottom) /* nothing is to be freed */
        return false;
    for (struct node *node = first; node != behind; node = node->next)
        node_walk(node, visit_scope, &scope);
    scope.ends = !scope.is_kept;
    for (struct node *node = first; scope.ends && node != behind; node = node->next)
        node_walk(node, visit_scope, &scope);
    return scope.ends;
}

static bool visit_declared(struct node *node, void *state)
{
    if (node->kind == NODE_VARIABLE && node->variable.symbol)
        find_home(state, node->variable.symbol);
    return node->kind != NODE_BLOCK && node->kind != NODE_BLOCK_VALUE && node->kind != NODE_FOR_RANGE &&
           node->kind != NODE_FOR_MAP;
}

void lower_declare(struct lowering *l, struct node *statement)
{
    node_walk(statement, visit_declared, l);
}

struct ir *lower_variable_read(struct lowering *l, struct variable *variable)
{
    const struct lowered_variable *lowered = find_home(l, variable);
    if (lowered->kind == VARIABLE_VALUE)
        return ir_read(&l->b, lowered->number);
    if (lowered->kind == VARIABLE_SCRATCH)
        return ir_load(&l->b, lower_shared_value(l, SHARED_SCRATCH), lowered->offset, 8, false);
    assert(lowered->kind == VARIABLE_SLOT);
    return ir_load(&l->b, lower_area(l, lowered->home), lowered->offset, 8, false);
}

void lower_variable_write(struct lowering *l, struct variable *variable, struct ir *value)
{
    const struct lowered_variable *lowered = find_home(l, variable);
    if (lowered->kind == VARIABLE_VALUE) {
        ir_write(&l->b, lowered->number, value);
        return;
    }
    if (lowered->kind == VARIABLE_SCRATCH) {
        ir_store(&l->b, lower_shared_value(l, SHARED_SCRATCH), lowered->offset, 8, value);
        return;
    }
    /* `ctx` must stay a pointer that the verifier knows. Of others it knows nothing, or it would follow every way through a
     * loop that it walks, for each leaves the variable in another range. But what it knows may be what ends a loop. */
    if (variable->type->kind != TYPE_POINTER || value->op == IR_CONSTANT)
        value = l->state->variables_end_loops ? lower_captured(l, value) : lower_unknown(l, value);
    ir_store(&l->b, lower_area(l, lowered->home), lowered->offset, 8, value);
}

void lower_forget(struct lowering *l)
{
    const struct lower_state *s = l->state;
    l->b.part++;
    for (size_t i = 0; i < s->value_count; i++) {
        struct ir *value = ir_read(&l->b, s->values[i]);
        if (value->op != IR_CONSTANT)
            ir_write(&l->b, s->values[i], lower_unknown(l, value));
    }
}

struct memory lower_variable_memory(struct lowering *l, struct variable *variable)
{
    const struct lowered_variable *lowered = find_home(l, variable);
    if (lowered->kind == VARIABLE_FRAME)
        return (struct memory){.base = lowered->frame};
    if (lowered->kind == VARIABLE_SCRATCH)
        return (struct memory){.base = lower_shared_value(l, SHARED_SCRATCH), .offset = lowered->offset};
    struct memory memory = lower_temporary(l, 8, false);
    ir_store(&l->b, memory.base, memory.offset, 8, lower_variable_read(l, variable));
    return memory;
}

struct mention {
    const struct variable *variable;
    bool found;
};

static bool visit_mention(struct node *node, void *state)
{
    struct mention *mention = state;
    if (node->kind == NODE_VARIABLE && node->variable.symbol == mention->variable)
        mention->found = true;
    return !mention->found;
}

static void assign_memory(struct lowering *l, struct variable *variable, struct node *value)
{
    struct mention mention = {.variable = variable};
    node_walk(value, visit_mention, &mention);
    if (!mention.found) {
        lower_into_type(l, value, variable->type, lower_variable_memory(l, variable));
        return;
    }
    /* In $t = ($t.1, $t.0) the old value is read until the new one is complete. */
    struct memory memory = lower_temporary(l, type_storage(variable->type), false);
    lower_into_type(l, value, variable->type, memory);
    lower_copy(l, lower_variable_memory(l, variable), memory, type_storage(variable->type));
}

static struct ir *assign_variable(struct lowering *l, struct node *node)
{
    struct variable *variable = node->assign.target->variable.symbol;
    struct node *value = node->assign.value;
    if (!type_is_scalar(variable->type)) {
        assign_memory(l, variable, value);
        return NULL;
    }
    struct ir *result = lower_scalar(l, value);
    if (node->assign.op == OPERATOR_NONE)
        result = lower_convert(l, result, value->type, variable->type);
    else
        result =
            lower_operate(l, node->assign.op, variable->type->is_signed, lower_variable_read(l, variable),
                          variable->type, result, value->type, variable->type, node->span);
    lower_variable_write(l, variable, result);
    return result;
}

/* Returns the bytes by which a pointer is moved, or the integer itself if the target is none. */
static struct ir *scaled(struct lowering *l, const struct type *target, struct ir *value)
{
    if (target->kind != TYPE_POINTER || !target->target || target->target->size < 2)
        return value;
    return ir_binary_constant(&l->b, IR_MUL, value, target->target->size);
}

/* Returns where the value of a map's element is, which is made if it is missing. Key and value have been
 * evaluated. */
static struct memory element(struct lowering *l, struct node *map, struct span span)
{
    struct memory key = lower_map_key(l, map);
    return (struct memory){.base = lower_map_element(l, map->map.symbol, key, span)};
}

/* Lowers @m op= value. Other CPUs change the same element: sums are atomic, so that none is lost. */
static struct ir *update_map(struct lowering *l, struct node *map, enum operator op, struct ir *value,
                             const struct type *value_type, struct span span, bool wanted, bool want_old)
{
    struct ir_builder *b = &l->b;
    const struct type *type = map->map.symbol->value;
    struct memory at = element(l, map, span);
    if ((op == OPERATOR_ADD || op == OPERATOR_SUB) && type_storage(type) == 8 && type->size == 8) {
        struct ir *by = scaled(l, type, value);
        if (op == OPERATOR_SUB)
            by = ir_unary(b, IR_NEG, by);
        struct ir *old = wanted ? ir_load(b, at.base, at.offset, 8, false) : NULL;
        ir_atomic_add(b, at.base, at.offset, 8, by);
        return !wanted ? NULL : want_old ? old : ir_binary(b, IR_ADD, old, by);
    }
    struct ir *old = ir_load(b, at.base, at.offset, 8, false);
    struct ir *result = lower_operate(l, op, type->is_signed, old, type, value, value_type, type, span);
    ir_store(b, at.base, at.offset, 8, result);
    return want_old ? old : result;
}

static bool visit_call(struct node *node, void *state)
{
    bool *found = state;
    *found |= node->kind == NODE_CALL || node->kind == NODE_MAP;
    return !*found;
}

/* Whether a key has calls. One without can be made before a plain value, so that what it is made of need not be
 * kept across the value's call. */
static bool has_calls(struct node *key)
{
    bool found = false;
    node_walk(key, visit_call, &found);
    return found;
}

static struct ir *assign_map(struct lowering *l, struct node *node, bool wanted)
{
    struct node *map = node->assign.target, *value = node->assign.value;
    const struct type *type = map->map.symbol->value;
    const struct builtin *builtin = value->kind == NODE_CALL ? value->call.builtin : NULL;
    if (builtin && builtin->flags & BUILTIN_AGGREGATION) {
        builtin->update(l, map, value);
        return NULL;
    }
    if (!type_is_scalar(type)) {
        struct memory memory = {0};
        if (type_equal(value->type, type))
            memory = lower_memory(l, value);
        else
            lower_into_type(l, value, type, memory = lower_temporary(l, type_storage(type), false));
        lower_map_write(l, map, NULL, memory, NULL);
        return NULL;
    }
    struct memory key;
    bool key_first = node->assign.op == OPERATOR_NONE && lower_builtin(value) && value->kind != NODE_CALL &&
                     map->map.key && !has_calls(map->map.key);
    if (key_first)
        key = lower_map_key(l, map);
    struct ir *result = lower_scalar(l, value);
    if (node->assign.op != OPERATOR_NONE)
        return update_map(l, map, node->assign.op, result, value->type, node->span, wanted, false);
    result = lower_convert(l, result, value->type, type);
    lower_map_write(l, map, result, (struct memory){0}, key_first ? &key : NULL);
    return result;
}

struct ir *lower_assign(struct lowering *l, struct node *node, bool wanted)
{
    return node->assign.target->kind == NODE_MAP ? assign_map(l, node, wanted) : assign_variable(l, node);
}

struct ir *lower_step(struct lowering *l, struct node *node, bool wanted)
{
    struct node *target = node->step.target;
    struct ir *one = ir_constant(&l->b, 1);
    if (target->kind == NODE_MAP)
        return update_map(l, target, node->step.op, one, &type_i64, node->span, wanted,
                          !node->step.is_prefix);
    struct variable *variable = target->variable.symbol;
    struct ir *old = lower_variable_read(l, variable);
    struct ir *result = lower_operate(l, node->step.op, variable->type->is_signed, old, variable->type, one,
                                      &type_i64, variable->type, node->span);
    lower_variable_write(l, variable, result);
    return node->step.is_prefix ? result : old;
}
