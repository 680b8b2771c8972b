/* SPDX-License-Identifier: BSD-3-Clause */
/* See desugar.h. */
#include "builtin/desugar.h"

#include <string.h>

void desugar_call(struct node *node)
{
    if (node->kind != NODE_NAME)
        return;
    const char *name = node->name.name;
    const struct builtin *builtin = node->name.builtin;
    node->kind = NODE_CALL;
    memset(&node->call, 0, sizeof node->call);
    node->call.name = name;
    node->call.builtin = builtin;
}

struct node *desugar_name(struct checker *checker, const struct node *at, const char *name)
{
    struct node *node = node_new(checker->arena, NODE_NAME, at->span);
    node->name.name = name;
    return node;
}

struct node *desugar_path(struct checker *checker, struct node *object, const char *path)
{
    while (*path) {
        size_t length = strcspn(path, ".");
        struct node *field = node_new(checker->arena, NODE_FIELD, object->span);
        field->field.object = object;
        field->field.name = arena_printf(checker->arena, "%.*s", (int)length, path);
        object = field;
        path += length + (path[length] == '.');
    }
    return object;
}

struct node *desugar_cast(struct checker *checker, struct node *operand, const char *type)
{
    struct node *node = node_new(checker->arena, NODE_CAST, operand->span);
    node->cast.name = (struct type_name){.name = type, .span = operand->span};
    node->cast.operand = operand;
    return node;
}

struct node *desugar_call_of(struct checker *checker, const struct node *at, const char *name,
                             struct node *argument)
{
    struct node *node = node_new(checker->arena, NODE_CALL, at->span);
    node->call.name = name;
    /* The node itself is in another list. */
    node_append(&node->call.arguments, node_clone(checker->arena, argument));
    return node;
}

const struct type *desugar_bool(struct node *node, bool value)
{
    node->kind = NODE_BOOL;
    memset(&node->integer, 0, sizeof node->integer); /* the union still holds what the node was before */
    node->integer.value = value;
    return &type_bool;
}

struct ir *desugar_lower(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *made = node->call.data;
    if (type_is_scalar(node->type))
        return lower_scalar(l, made);
    if (destination_is_memory(into))
        lower_to(l, made, node->type, into);
    return NULL;
}
