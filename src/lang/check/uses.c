/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds what a block reads of its context, by names alone, because there are no types yet. Where only types could
 * show it, the answer is the safe one: the block may read memory and needs all fields. */
#include <string.h>

#include "lang/check/check.h"

struct uses_scan {
    struct arena *arena;
    const struct builtin_table *builtins;
    struct context_uses uses;
    const char **fields;
    size_t field_count, field_room;
    struct table seen;
    const struct subprogram *subprograms; /* the script's functions */
    struct table called;
    /* functions that are called and whose bodies are walked after the body that calls them */
    const struct subprogram **waiting;
    size_t waiting_count, waiting_room;
};

/* Returns the builtin that a node is, or NULL. */
static const struct builtin *node_builtin(const struct uses_scan *scan, const struct node *node,
                                          uint32_t *number)
{
    if (node->kind == NODE_NAME)
        return builtin_find(scan->builtins, node->name.name, number);
    return node->kind == NODE_CALL ? builtin_find(scan->builtins, node->call.name, number) : NULL;
}

static bool is_asked_to_unwind(const struct node *node)
{
    const struct node *first = node->kind == NODE_CALL ? node->call.arguments.first : NULL;
    return first && first->kind == NODE_NAME && !strcmp(first->name.name, UNWINDING_WORD);
}

static void uses_builtin(struct uses_scan *scan, const struct node *node, const struct builtin *builtin,
                         uint32_t number)
{
    struct context_uses *uses = &scan->uses;
    unsigned flags = builtin->flags;
    if (flags & BUILTIN_USES_ARGS)
        uses->args = uses->all_fields = true;
    if (flags & BUILTIN_USES_ARGUMENT)
        uses->arguments |= 1u << (number < 31 ? number : 31);
    uses->retval |= (flags & BUILTIN_USES_RETVAL) != 0;
    uses->ctx |= (flags & BUILTIN_USES_CTX) != 0;
    uses->site |= (flags & BUILTIN_USES_SITE) != 0;
    uses->registers |= (flags & BUILTIN_USES_REGISTERS) != 0;
    uses->kstack |= (flags & BUILTIN_USES_KSTACK) != 0;
    uses->unwinds |= flags & BUILTIN_UNWINDS || (flags & BUILTIN_MAY_UNWIND && is_asked_to_unwind(node));
    uses->symbols |= (flags & BUILTIN_USES_SYMBOLS) != 0;
    uses->user_memory |= (flags & BUILTIN_READS_MEMORY) != 0;
}

/* Notes a field of args that is read: args.x. False: the object is something else. */
static bool uses_args_field(struct uses_scan *scan, const struct node *node)
{
    const struct builtin *builtin = node_builtin(scan, node->field.object, NULL);
    if (!builtin || !(builtin->flags & BUILTIN_USES_ARGS) || !node->field.name)
        return false;
    scan->uses.args = true;
    if (!table_find(&scan->seen, node->field.name) &&
        table_put(&scan->seen, node->field.name, (void *)node->field.name) == 0)
        *arena_push(scan->arena, scan->fields, scan->field_count, scan->field_room) = node->field.name;
    return true;
}

/* Puts a function that is called on the list of bodies to walk, once. */
static void uses_subprogram(struct uses_scan *scan, const char *name)
{
    const struct subprogram *subprogram = scan->subprograms;
    while (subprogram && strcmp(subprogram->name, name) != 0)
        subprogram = subprogram->next;
    if (subprogram && !table_find(&scan->called, name) &&
        table_put(&scan->called, subprogram->name, (void *)subprogram) == 0)
        *arena_push(scan->arena, scan->waiting, scan->waiting_count, scan->waiting_room) = subprogram;
}

static bool uses_visit(struct node *node, void *state)
{
    struct uses_scan *scan = state;
    uint32_t number = 0;
    if (node->kind == NODE_CALL)
        uses_subprogram(scan, node->call.name);
    const struct builtin *builtin = node_builtin(scan, node, &number);
    if (builtin)
        uses_builtin(scan, node, builtin, number);
    if (node->kind == NODE_FIELD && uses_args_field(scan, node))
        return false;
    scan->uses.user_memory |= (node->kind == NODE_FIELD && node->field.name) || node->kind == NODE_INDEX ||
                              (node->kind == NODE_UNARY && node->unary.op == OPERATOR_DEREFERENCE);
    return true;
}

struct context_uses check_uses(struct arena *arena, const struct builtin_table *builtins,
                               const struct action_block *block)
{
    struct uses_scan scan = {.arena = arena, .builtins = builtins, .subprograms = block->subprograms};
    if (block->predicate)
        node_walk(block->predicate, uses_visit, &scan);
    if (block->body)
        node_walk(block->body, uses_visit, &scan);
    while (scan.waiting_count)
        node_walk(scan.waiting[--scan.waiting_count]->body, uses_visit, &scan);
    *arena_push(arena, scan.fields, scan.field_count, scan.field_room) = NULL;
    scan.uses.fields = scan.fields;
    table_free(&scan.seen);
    table_free(&scan.called);
    return scan.uses;
}
