/* SPDX-License-Identifier: BSD-3-Clause */
/* Macros: every call becomes a copy of the macro's body, in place. In the copy
 *
 *   a name that is a parameter becomes a copy of the argument, which was expanded where it stands;
 *   a parameter $p or @p becomes the variable or map that was given, and may be changed;
 *   any other variable gets a name that no other variable has, and any other map is refused;
 *   spans belong to a copy of the source that knows where it was expanded.
 *
 * A macro must not call itself. The result is bounded in number of nodes and in depth, so that later passes may
 * still recurse over the tree. */
#include <string.h>

#include "lang/parse/parse.h"
#include "lang/registry.h"

enum {
    ERRORS_MAX = 20,
    NODES_MAX = 200000,
    EXPANSIONS_MAX = 20000,
    DEEPEST = 4 * (TREE_NESTING + TREE_CHAIN),
    DEEPEST_CALLS = 64
};

struct expander {
    struct arena *arena;
    struct diagnostics *diagnostics;
    const struct script *script;
    const struct builtin_table *builtins; /* or NULL */
    unsigned nodes, expansions;
    bool gave_up;
};

struct expansion { /* state of the expansion of one call; the outermost has no macro */
    struct expander *expander;
    const struct expansion *around;
    const struct macro *macro;
    const struct node *arguments;
    const struct source *source;
    unsigned number, depth;
    bool is_first; /* first expansion of this macro */
};

static bool expand_visit(struct node *node, void *state);

static const char *parameter_name(const struct node *parameter)
{
    return parameter->kind == NODE_VARIABLE ? parameter->variable.name
           : parameter->kind == NODE_MAP    ? parameter->map.name
                                            : parameter->name.name;
}

/* Returns the argument for the parameter of this kind and name, or NULL if there is no such parameter. */
static const struct node *argument_of(const struct expansion *expansion, enum node_kind kind,
                                      const char *name)
{
    const struct node *argument = expansion->arguments;
    if (!expansion->macro)
        return NULL;
    for (const struct node *parameter = expansion->macro->parameters.first; parameter;
         parameter = parameter->next, argument = argument->next)
        if (parameter->kind == kind && !strcmp(parameter_name(parameter), name))
            return argument;
    return NULL;
}

/* ---- types ---- */

/* Returns the type that was given for a parameter, as typeof(…); NULL if the argument is a value, or the name is no
 * parameter. */
static const struct node *type_argument(const struct expansion *expansion, const char *name)
{
    const struct node *argument = name ? argument_of(expansion, NODE_NAME, name) : NULL;
    return argument && argument->kind == NODE_TYPEOF ? argument : NULL;
}

/* Puts the given type into "t *", where t is a parameter for which a type was given. */
static void bind_type(const struct expansion *expansion, struct type_name *name)
{
    const struct node *given = type_argument(expansion, name->name);
    if (!given)
        return;
    name->of = node_clone(expansion->expander->arena, given);
    name->name = NULL;
}

/* Turns the operand into a type in sizeof(t) and sizeof(t[2]), which the parser read as a value because it could
 * not know that t is a type. */
static void bind_type_question(const struct expansion *expansion, struct node *node)
{
    struct type_name *name = &node->cast.name;
    uint32_t counts[TREE_NESTING], depth = 0;
    struct node *at = node->cast.operand;
    while (at && at->kind == NODE_INDEX && at->binary.right->kind == NODE_INTEGER && depth < TREE_NESTING) {
        counts[depth++] = (uint32_t)at->binary.right->integer.value;
        at = at->binary.left;
    }
    const struct node *given = at && at->kind == NODE_NAME ? type_argument(expansion, at->name.name) : NULL;
    if (!given) {
        bind_type(expansion, name);
        return;
    }
    uint32_t *suffixes = arena_array(expansion->expander->arena, depth + 1, sizeof *suffixes);
    for (uint32_t i = 0; i < depth; i++)
        suffixes[i] = counts[depth - 1 - i];
    *name = (struct type_name){.of = node_clone(expansion->expander->arena, given),
                               .suffixes = suffixes,
                               .suffix_count = depth,
                               .span = name->span};
    node->cast.operand = NULL;
}

/* ---- which definition ---- */

static bool argument_fits(const struct node *parameter, const struct node *argument)
{
    switch (parameter->kind) {
    case NODE_VARIABLE: return argument->kind == NODE_VARIABLE;
    case NODE_MAP: return argument->kind == NODE_MAP && !argument->map.key;
    default: return true;
    }
}

static bool macro_fits(const struct macro *macro, const struct node_list *arguments)
{
    const struct node *argument = arguments->first;
    if (macro->parameters.count != arguments->count)
        return false;
    for (const struct node *parameter = macro->parameters.first; parameter;
         parameter = parameter->next, argument = argument->next)
        if (!argument_fits(parameter, argument))
            return false;
    return true;
}

/* Returns how many parameters take only variables or maps. Of several definitions the narrowest one is meant. */
static unsigned macro_narrowness(const struct macro *macro)
{
    unsigned narrow = 0;
    for (const struct node *parameter = macro->parameters.first; parameter; parameter = parameter->next)
        narrow += parameter->kind != NODE_NAME;
    return narrow;
}

/* Returns the definition that a call means, or NULL if none fits; then *closest is the one that the message is
 * about, if there is any of that name. */
static struct macro *macro_find(const struct script *script, const char *name,
                                const struct node_list *arguments, const struct macro **closest)
{
    struct macro *found = NULL;
    *closest = NULL;
    for (struct macro *macro = script->macros; macro; macro = macro->next) {
        if (strcmp(macro->name, name) != 0)
            continue;
        if (!*closest ||
            ((*closest)->parameters.count != arguments->count && macro->parameters.count == arguments->count))
            *closest = macro;
        if (macro_fits(macro, arguments) && (!found || macro_narrowness(macro) > macro_narrowness(found)))
            found = macro;
    }
    return found;
}

static void explain_mismatch(struct expander *expander, const struct node *call, const struct macro *closest,
                             const struct node_list *arguments)
{
    struct diagnostics *diagnostics = expander->diagnostics;
    diagnose_error(diagnostics, call->span, "Call to %s() has arguments that do not match any definition.",
                   closest->name);
    if (closest->parameters.count != arguments->count) {
        diagnose_context(
            diagnostics, closest->span,
            "The closest definition of %s() has a different number of arguments. Expected: %u but "
            "got %u",
            closest->name, closest->parameters.count, arguments->count);
        return;
    }
    const struct node *argument = arguments->first;
    for (const struct node *parameter = closest->parameters.first; parameter;
         parameter = parameter->next, argument = argument->next) {
        if (argument_fits(parameter, argument))
            continue;
        diagnose_error(diagnostics, argument->span,
                       "Mismatched arg. %s() expects a %s for arg %s but got %s.", closest->name,
                       parameter->kind == NODE_MAP ? "map" : "variable", parameter_name(parameter),
                       argument->kind == NODE_VARIABLE                    ? "a variable"
                       : argument->kind == NODE_MAP && !argument->map.key ? "a map"
                                                                          : "an expression");
        diagnose_context(diagnostics, parameter->span, "This is the argument in the closest definition.");
    }
}

static bool is_recursive(const struct expansion *expansion, const struct macro *macro, struct span span)
{
    const struct expansion *first = expansion;
    while (first && first->macro != macro)
        first = first->around;
    if (!first)
        return false;
    struct text chain = {0};
    const struct macro *names[DEEPEST_CALLS];
    unsigned count = 0;
    for (const struct expansion *at = expansion;; at = at->around) {
        names[count++] = at->macro;
        if (at == first)
            break;
    }
    while (count)
        text_printf(&chain, "%s > ", names[--count]->name);
    diagnose_error(expansion->expander->diagnostics, span, "Recursive macro call detected. Call chain: %s%s",
                   text_string(&chain), macro->name);
    text_free(&chain);
    return true;
}

/* ---- the copy ---- */

static bool give_up(struct expander *expander, struct span span)
{
    if (!expander->gave_up)
        diagnose_error(expander->diagnostics, span, "The macros of this script expand to too much");
    expander->gave_up = true;
    return false;
}

static void bind_span(const struct expansion *expansion, struct span *span)
{
    if (expansion->macro && span->source)
        span->source = expansion->source;
}

static void bind_variable(const struct expansion *expansion, struct node *node)
{
    const struct node *argument = argument_of(expansion, NODE_VARIABLE, node->variable.name);
    struct arena *arena = expansion->expander->arena;
    const char *macro = expansion->macro->name, *name = node->variable.name + 1;
    if (argument)
        node->variable.name = argument->variable.name;
    else if (expansion->is_first)
        node->variable.name = arena_printf(arena, "$$%s_%s", macro, name);
    else
        node->variable.name = arena_printf(arena, "$$%s_%u_%s", macro, expansion->number, name);
}

static void bind_map(const struct expansion *expansion, struct node *node)
{
    const struct node *argument = argument_of(expansion, NODE_MAP, node->map.name);
    if (argument)
        node->map.name = argument->map.name;
    else
        diagnose_error(expansion->expander->diagnostics, node->span,
                       "Unhygienic access to map: %s. Maps must be passed into the macro as arguments.",
                       node->map.name);
}

/* Reports a declaration inside of a macro that hides a parameter: let $p; for ($p : …). */
static void refuse_shadow(const struct expansion *expansion, const struct node *declared, struct span span)
{
    if (expansion->macro && declared && argument_of(expansion, NODE_VARIABLE, declared->variable.name))
        diagnose_error(expansion->expander->diagnostics, span, "Variable declaration shadows macro arg %s",
                       declared->variable.name);
}

/* Puts the copy of a macro's body in the call's place. */
static void expand_call(struct expansion *around, struct node *node, const char *name)
{
    static const struct node_list nothing;
    struct expander *expander = around->expander;
    const struct node_list *arguments = node->kind == NODE_CALL ? &node->call.arguments : &nothing;
    if (expander->diagnostics->errors > ERRORS_MAX)
        return;
    const struct macro *closest;
    struct macro *macro = macro_find(expander->script, name, arguments, &closest);
    if (!macro) {
        /* A macro for another number of arguments does not hide the builtin of its name. */
        if (closest &&
            (closest->parameters.count == arguments->count || !builtin_find(expander->builtins, name, NULL)))
            explain_mismatch(expander, node, closest, arguments);
        return;
    }
    if (is_recursive(around, macro, node->span))
        return;
    if (around->depth + 1 == DEEPEST_CALLS || expander->expansions == EXPANSIONS_MAX) {
        give_up(expander, node->span);
        return;
    }
    struct expansion expansion = {
        .expander = expander,
        .around = around,
        .macro = macro,
        .arguments = arguments->first,
        .source = source_copy(expander->diagnostics, macro->span.source, node->span),
        .number = ++expander->expansions,
        .depth = around->depth + 1,
        .is_first = !macro->was_expanded,
    };
    macro->was_expanded = true;
    struct node *next = node->next, *body = node_clone(expander->arena, macro->body);
    if (body->kind == NODE_BLOCK)
        body->kind = NODE_BLOCK_VALUE;
    if (body->list.count == 1 && node_is_expression(body->list.first))
        /* without the block around it a constant stays a literal, which some builtins need */
        body = body->list.first;
    node_walk(body, expand_visit, &expansion);
    *node = *body;
    node->next = next;
    if (node_is_deeper(node, DEEPEST))
        give_up(expander, node->span);
}

static bool count_visit(struct node *node, void *state)
{
    struct expander *expander = state;
    (void)node;
    return ++expander->nodes <= NODES_MAX;
}

/* A name that is a parameter becomes the argument; of others those that are macros are expanded. */
static bool expand_name(struct expansion *expansion, struct node *node)
{
    struct expander *expander = expansion->expander;
    const struct node *argument = argument_of(expansion, NODE_NAME, node->name.name);
    if (!argument) {
        expand_call(expansion, node, node->name.name);
        return false;
    }
    struct node *next = node->next;
    node_walk((struct node *)argument, count_visit, expander);
    if (expander->nodes > NODES_MAX)
        return give_up(expander, node->span);
    *node = *node_clone(expander->arena, argument);
    node->next = next;
    return false;
}

static bool expand_visit(struct node *node, void *state)
{
    struct expansion *expansion = state;
    struct expander *expander = expansion->expander;
    if (expander->gave_up || ++expander->nodes > NODES_MAX)
        return give_up(expander, node->span);
    bind_span(expansion, &node->span);
    switch (node->kind) {
    case NODE_LET:
        bind_span(expansion, &node->let.type_name.span);
        refuse_shadow(expansion, node->let.target, node->span);
        node_walk(node->let.type_name.of, expand_visit, expansion);
        bind_type(expansion, &node->let.type_name);
        node_walk(node->let.target, expand_visit, expansion);
        node_walk(node->let.value, expand_visit, expansion);
        return false;
    case NODE_FOR_RANGE:
    case NODE_FOR_MAP: refuse_shadow(expansion, node->loop.variable, node->span); return true;
    case NODE_VARIABLE:
        if (expansion->macro)
            bind_variable(expansion, node);
        return true;
    case NODE_MAP:
        if (expansion->macro)
            bind_map(expansion, node);
        return true;
    case NODE_CAST:
        bind_span(expansion, &node->cast.name.span);
        node_walk(node->cast.name.of, expand_visit, expansion);
        bind_type(expansion, &node->cast.name);
        node_walk(node->cast.operand, expand_visit, expansion);
        return false;
    case NODE_OFFSETOF:
    case NODE_TYPEOF:
    case NODE_TYPEINFO:
    case NODE_SIZEOF:
        bind_span(expansion, &node->cast.name.span);
        /* sizeof(x): x is the parameter, not a type of that name. */
        node_walk(node->cast.name.of, expand_visit, expansion);
        bind_type_question(expansion, node);
        if (node->cast.operand && node->cast.operand->kind == NODE_NAME &&
            argument_of(expansion, NODE_NAME, node->cast.operand->name.name))
            node->cast.name = (struct type_name){.span = node->cast.name.span};
        node_walk(node->cast.operand, expand_visit, expansion);
        return false;
    case NODE_NAME: return expand_name(expansion, node);
    case NODE_CALL:
        for (struct node *argument = node->call.arguments.first; argument; argument = argument->next)
            node_walk(argument, expand_visit, expansion);
        expand_call(expansion, node, node->call.name);
        return false;
    default: return true;
    }
}

/* Reports pairs of definitions that the same call would fit equally well. */
static void refuse_doubles(struct expander *expander)
{
    for (const struct macro *macro = expander->script->macros; macro; macro = macro->next)
        for (const struct macro *other = expander->script->macros; other != macro; other = other->next) {
            const struct node *x = macro->parameters.first, *y = other->parameters.first;
            if (strcmp(macro->name, other->name) != 0 || macro->parameters.count != other->parameters.count)
                continue;
            for (; x && x->kind == y->kind; x = x->next)
                y = y->next;
            if (!x)
                diagnose_error(expander->diagnostics, macro->span, "Redefinition of macro: %s", macro->name);
        }
}

void script_expand(struct arena *arena, struct diagnostics *diagnostics, struct script *script,
                   const struct builtin_table *builtins)
{
    struct expander expander = {
        .arena = arena, .diagnostics = diagnostics, .script = script, .builtins = builtins};
    struct expansion outermost = {.expander = &expander};
    for (struct action_block *block = script->blocks; block; block = block->next)
        block->subprograms = script->subprograms;
    if (!script->macros)
        return;
    refuse_doubles(&expander);
    for (struct action_block *block = script->blocks; block; block = block->next) {
        node_walk(block->predicate, expand_visit, &outermost);
        node_walk(block->body, expand_visit, &outermost);
    }
    for (struct subprogram *subprogram = script->subprograms; subprogram; subprogram = subprogram->next)
        node_walk(subprogram->body, expand_visit, &outermost);
}
