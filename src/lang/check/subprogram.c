/* SPDX-License-Identifier: BSD-3-Clause */
/* fn: functions of the script. Each unit gets a copy of every function that it calls, because what a body means
 * depends on the probe. Arguments and results are passed in registers: numbers and pointers, at most five
 * arguments. */
#include <string.h>

#include "lang/check/state.h"

enum { PARAMETERS_MAX = 5 };

/* Returns the function of a list that a call names, of the script in which the call stands; NULL: there is none. */
static struct subprogram *find(const struct checker *checker, struct subprogram *list,
                               const struct node *call)
{
    while (list && (strcmp(list->name, call->call.name) != 0 ||
                    check_script_of(checker, list->span) != check_script_of(checker, call->span)))
        list = list->next;
    return list;
}

struct subprogram *check_find_subprogram(struct checker *checker, const struct node *call)
{
    struct subprogram *known = find(checker, checker->subprograms, call), *copy;
    if (!known || !checker->unit)
        return NULL;
    if ((copy = find(checker, checker->unit->subprograms, call)))
        return copy;
    copy = arena_new(checker->arena, struct subprogram);
    *copy = *known;
    copy->next = NULL;
    copy->result.of = node_clone(checker->arena, known->result.of);
    copy->body = node_clone(checker->arena, known->body);
    copy->parameters = (struct node_list){0};
    for (const struct node *parameter = known->parameters.first; parameter; parameter = parameter->next)
        node_append(&copy->parameters, node_clone(checker->arena, parameter));
    fold(checker, copy->body);
    struct subprogram **last = &checker->unit->subprograms;
    while (*last)
        last = &(*last)->next;
    *last = copy;
    return copy;
}

/* ---- the body ---- */

static const struct type *result_type(struct checker *checker, struct subprogram *subprogram)
{
    if (!type_name_is_given(&subprogram->result))
        return &type_none;
    const struct type *type = check_type_name(checker, &subprogram->result);
    if (!type || type->kind == TYPE_NONE || type_is_scalar(type))
        return type;
    check_error(checker, subprogram->result.span, "A function gives back a number or a pointer, found '%s'",
                type_text(checker->arena, type));
    check_hint(checker, "a macro can have a value of any type");
    return NULL;
}

void check_subprogram(struct checker *checker, struct subprogram *subprogram)
{
    struct check_state *state = checker->state;
    size_t outer = check_scope_enter(checker);
    state->subprogram = subprogram;
    state->callbacks = 0;
    checker->loop_depth = 0;
    for (struct node *parameter = subprogram->parameters.first; parameter; parameter = parameter->next) {
        check_let(checker, parameter);
        const struct type *type = parameter->let.target->type;
        if (!type || type_is_scalar(type))
            continue;
        check_error(checker, parameter->span,
                    "A parameter of a function is a number or a pointer, found '%s'",
                    type_text(checker->arena, type));
        check_hint(checker, "a parameter of a macro can be a value of any type");
    }
    /* typeof() in the result may depend on the type of a parameter, and callers may be waiting for the result's
     * type. */
    const struct type *result = result_type(checker, subprogram);
    checker->changed |= result && (!subprogram->type || !type_equal(result, subprogram->type));
    subprogram->type = result;
    check_block(checker, subprogram->body);
    check_scope_leave(checker, outer);
    state->subprogram = NULL;
}

static bool is_convertible(const struct type *from, const struct type *to)
{
    return type_is_scalar(from) && type_is_scalar(to) &&
           (from->kind == TYPE_POINTER || to->kind == TYPE_POINTER ||
            (type_is_number(from) && type_is_number(to)));
}

/* Checks a `return` of a function. */
void check_result(struct checker *checker, struct node *node)
{
    const struct subprogram *subprogram = checker->state->subprogram;
    const struct type *wanted = subprogram->type;
    const struct type *type = node->unary.operand ? check_value(checker, node->unary.operand) : &type_none;
    if (!wanted || !type)
        return;
    if (wanted->kind == TYPE_NONE ? type->kind == TYPE_NONE : is_convertible(type, wanted))
        return;
    struct span span = node->unary.operand ? node->unary.operand->span : node->span;
    check_error(checker, span, "Function '%s' returns '%s', and not '%s'", subprogram->name,
                type_text(checker->arena, wanted), type_text(checker->arena, type));
    if (wanted->kind == TYPE_NONE)
        check_hint(checker, "the type of its value stands behind its parameters: fn %s() : int64 { ... }",
                   subprogram->name);
}

/* ---- calls ---- */

const struct type *check_subprogram_call(struct checker *checker, struct node *node,
                                         struct subprogram *subprogram)
{
    struct node *argument = node->call.arguments.first;
    unsigned wanted = subprogram->parameters.count, found = node->call.arguments.count;
    node->call.subprogram = subprogram;
    if (wanted != found) {
        check_error(checker, node->span, "%s() requires %u argument%s, found %u", subprogram->name, wanted,
                    wanted == 1 ? "" : "s", found);
        return NULL;
    }
    /* The function's body has not been checked yet: its declaration says the type of the result. */
    if (!subprogram->type && !subprogram->result.of)
        subprogram->type = result_type(checker, subprogram);
    for (struct node *parameter = subprogram->parameters.first; parameter;
         parameter = parameter->next, argument = argument->next) {
        const struct type *type = check_value(checker, argument);
        const struct type *expected = parameter->let.target->type; /* NULL: not looked at yet */
        if (type && expected && type_is_scalar(expected) && !is_convertible(type, expected))
            check_error(checker, argument->span, "%s() expects '%s' for %s, found '%s'", subprogram->name,
                        type_text(checker->arena, expected), parameter->let.target->variable.name,
                        type_text(checker->arena, type));
    }
    return subprogram->type;
}

/* ---- mistakes that do not depend on the caller ---- */

/* Which function calls which. Each body is walked once, and what it calls is not walked from within it, so that the
 * depth of the recursion is that of one tree. */
struct call_graph {
    struct checker *checker;
    struct table names;
    struct function {
        struct subprogram *subprogram;
        struct call {
            const struct node *node;
            struct function *callee;
            struct call *next;
        } * calls, **last_call;
        bool is_open, is_done;
    } * functions, *walked;
};

static bool visit_call(struct node *node, void *state)
{
    struct call_graph *graph = state;
    struct function *callee = NULL;
    if (node->kind == NODE_CALL)
        callee = table_find(&graph->names, check_identity(graph->checker, node->call.name, node->span));
    if (callee) {
        struct call *call = arena_new(graph->checker->arena, struct call);
        *call = (struct call){.node = node, .callee = callee};
        *graph->walked->last_call = call;
        graph->walked->last_call = &call->next;
    }
    return true;
}

static void refuse_recursion(struct checker *checker, struct function *function)
{
    function->is_open = true;
    for (const struct call *call = function->calls; call; call = call->next) {
        if (call->callee->is_open) {
            check_error(checker, call->node->span, "Function '%s' calls itself",
                        call->callee->subprogram->name);
            check_hint(checker, "programs in the kernel have no recursion: use a loop");
        } else if (!call->callee->is_done)
            refuse_recursion(checker, call->callee);
    }
    function->is_open = false;
    function->is_done = true;
}

/* Reports what is wrong with a function as it is declared. */
static void refuse_declaration(struct checker *checker, const struct subprogram *subprogram)
{
    if (builtin_find(checker->builtins, subprogram->name, NULL))
        check_error(checker, subprogram->span, "'%s' is the name of a builtin", subprogram->name);
    if (subprogram->parameters.count > PARAMETERS_MAX) {
        check_error(checker, subprogram->span, "A function has at most %d parameters, found %u",
                    PARAMETERS_MAX, subprogram->parameters.count);
        check_hint(checker, "a macro can have more");
    }
}

void check_subprograms(struct checker *checker)
{
    struct call_graph graph = {.checker = checker};
    size_t count = 0;
    for (struct subprogram *subprogram = checker->subprograms; subprogram; subprogram = subprogram->next)
        count++;
    graph.functions = arena_array(checker->arena, count + 1, sizeof *graph.functions);
    struct function *function = graph.functions;
    for (struct subprogram *subprogram = checker->subprograms; subprogram;
         subprogram = subprogram->next, function++) {
        function->subprogram = subprogram;
        function->last_call = &function->calls;
        check_put(checker, &graph.names, check_identity(checker, subprogram->name, subprogram->span),
                  function);
    }
    for (graph.walked = graph.functions; graph.walked < graph.functions + count; graph.walked++)
        node_walk(graph.walked->subprogram->body, visit_call, &graph);
    for (size_t i = 0; i < count; i++) {
        if (!graph.functions[i].is_done)
            refuse_recursion(checker, &graph.functions[i]);
        refuse_declaration(checker, graph.functions[i].subprogram);
    }
    table_free(&graph.names);
}
