/* SPDX-License-Identifier: BSD-3-Clause */
/* What the maps of one name and type have in common, whichever hosts print them and how often: their types, and how elements are laid
 * out. Shapes live as long as the trace, because whoever draws maps keeps their types. */
#ifndef SPOOR_REMOTE_SHAPE_H
#define SPOOR_REMOTE_SHAPE_H

#include "base/arena.h"
#include "remote/portable.h"

struct shape {
    struct shape *next;
    const char *name;
    const char *title; /* for whoever draws maps: the name, and of other types of that name "@x (type 2)" */
    const void *type_bytes; /* the types as hosts send them */
    size_t type_size;
    const struct type *key, *value; /* as they are printed */
    bool apart;                     /* the first key is the host, or the only one */
    bool has_row;                   /* the key of an element has a row of a histogram behind it */
    bool spreads;                   /* rows of a histogram without a key become elements */
    size_t key_bytes, value_bytes;
};

struct shapes {
    struct arena arena; /* of all of them; its `total` is what they take */
    struct shape *first;
};

/* Returns the shape of such maps, or NULL. */
const struct shape *shape_find(const struct shapes *shapes, const struct portable_map *map);
/* Adds the shape of such maps, which is not there yet. apart: what hosts have stays apart. Returns NULL if there is no memory. */
const struct shape *shape_add(struct shapes *shapes, const struct builtin_table *builtins,
                              const struct portable_map *map, bool apart);

#endif
