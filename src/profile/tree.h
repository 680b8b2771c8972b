/* SPDX-License-Identifier: BSD-3-Clause */
/* The stacks of a profile by their beginnings: two that begin alike share nodes as far as they are alike. Which line of
 * a function it was makes no difference here. */
#ifndef SPOOR_PROFILE_TREE_H
#define SPOOR_PROFILE_TREE_H

#include "profile/profile.h"

enum { TREE_ROOT = 0, TREE_NONE = UINT32_MAX };

struct tree_node {
    uint32_t function;            /* of the profile; TREE_NONE: the root */
    uint32_t parent, child, next; /* numbers of nodes, or TREE_NONE; siblings are in order of their names */
    uint32_t depth;               /* 0: the root */
    bool is_inlined;
    uint64_t self, total; /* without and with what is below it */
    uint64_t old;         /* total of the profile that this one is compared with */
};

struct profile_tree {
    const struct profile *profile;
    struct tree_node *nodes;
    size_t count, room;
    uint32_t depth; /* of the deepest node */
};

/* Makes the tree. 0 or -ENOMEM; tree_free() is due either way. */
int tree_build(struct profile_tree *tree, const struct profile *profile);
void tree_free(struct profile_tree *tree);
/* Returns the node behind `node` on a walk that visits each node before those below it: TREE_NONE at its end. */
uint32_t tree_next(const struct profile_tree *tree, uint32_t node);
const char *tree_name(const struct profile_tree *tree, uint32_t node); /* "all" for the root */

#endif
