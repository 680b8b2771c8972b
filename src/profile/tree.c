/* SPDX-License-Identifier: BSD-3-Clause */
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

struct node_key {
    uint32_t parent, function, is_inlined;
};

static int add_node(struct profile_tree *tree, struct table *known, uint32_t parent,
                    const struct profile_frame *frame, uint32_t *out)
{
    const struct node_key key = {parent, frame->function, frame->is_inlined};
    const void *found = table_get(known, &key, sizeof key);
    if (found) {
        *out = (uint32_t)(uintptr_t)found;
        return 0;
    }
    const uint32_t node = (uint32_t)tree->count;
    if (!vector_make_room(tree->nodes, tree->count, tree->room) || tree->count >= TREE_NONE ||
        table_set(known, &key, sizeof key, (void *)(uintptr_t)node)) // NOLINT(performance-no-int-to-ptr)
        return -ENOMEM;
    const uint32_t depth = tree->nodes[parent].depth + 1;
    tree->nodes[tree->count++] = (struct tree_node){.function = frame->function,
                                                    .parent = parent,
                                                    .child = TREE_NONE,
                                                    .next = tree->nodes[parent].child,
                                                    .depth = depth,
                                                    .is_inlined = frame->is_inlined};
    tree->nodes[parent].child = node;
    tree->depth = depth > tree->depth ? depth : tree->depth;
    *out = node;
    return 0;
}

static int add_stack(struct profile_tree *tree, struct table *known, const struct profile_stack *stack)
{
    const struct profile *profile = tree->profile;
    uint32_t node = TREE_ROOT;
    for (uint32_t i = 0;; i++) {
        tree->nodes[node].total += stack->weight;
        tree->nodes[node].old += stack->old;
        if (i == stack->count)
            break;
        const int error =
            add_node(tree, known, node, &profile->frames[profile->path[stack->first + i]], &node);
        if (error)
            return error;
    }
    tree->nodes[node].self += stack->weight;
    return 0;
}

const char *tree_name(const struct profile_tree *tree, uint32_t node)
{
    const uint32_t function = tree->nodes[node].function;
    return function == TREE_NONE ? "all" : tree->profile->functions[function].name;
}

static int compare_nodes(const void *a, const void *b, void *state)
{
    const struct profile_tree *tree = state;
    const uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    const int order = strcmp(tree_name(tree, one), tree_name(tree, other));
    return order ? order : (one > other) - (one < other);
}

/* Puts the children of a node in order. `among` has room for all nodes. */
static void sort_children(struct profile_tree *tree, uint32_t parent, uint32_t *among)
{
    size_t count = 0;
    for (uint32_t node = tree->nodes[parent].child; node != TREE_NONE; node = tree->nodes[node].next)
        among[count++] = node;
    qsort_r(among, count, sizeof *among, compare_nodes, tree);
    for (size_t i = 0; i < count; i++)
        tree->nodes[among[i]].next = i + 1 < count ? among[i + 1] : TREE_NONE;
    if (count)
        tree->nodes[parent].child = among[0];
}

int tree_build(struct profile_tree *tree, const struct profile *profile)
{
    struct table known = {0};
    *tree = (struct profile_tree){.profile = profile};
    int error = 0;
    if (!vector_make_room(tree->nodes, tree->count, tree->room))
        error = -ENOMEM;
    else
        tree->nodes[tree->count++] = (struct tree_node){
            .function = TREE_NONE, .parent = TREE_NONE, .child = TREE_NONE, .next = TREE_NONE};
    for (size_t i = 0; !error && i < profile->stack_count; i++)
        error = add_stack(tree, &known, &profile->stacks[i]);
    table_free(&known);
    uint32_t *among = error ? NULL : calloc(tree->count, sizeof *among);
    for (uint32_t node = 0; among && node < tree->count; node++)
        sort_children(tree, node, among);
    error = error || among ? error : -ENOMEM;
    free(among);
    return error;
}

void tree_free(struct profile_tree *tree)
{
    free(tree->nodes);
    *tree = (struct profile_tree){0};
}

uint32_t tree_next(const struct profile_tree *tree, uint32_t node)
{
    if (tree->nodes[node].child != TREE_NONE)
        return tree->nodes[node].child;
    while (node != TREE_NONE && tree->nodes[node].next == TREE_NONE)
        node = tree->nodes[node].parent;
    return node == TREE_NONE ? TREE_NONE : tree->nodes[node].next;
}
