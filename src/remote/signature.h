/* SPDX-License-Identifier: BSD-3-Clause */
/* The signature of a map: its name and the types of its keys and values, with what follows from them. Maps of one signature have
 * the same layout, whichever hosts send them. Signatures live as long as the trace, because watchers of maps keep their types. */
#ifndef SPOOR_REMOTE_SIGNATURE_H
#define SPOOR_REMOTE_SIGNATURE_H

#include "base/arena.h"
#include "remote/portable.h"

struct map_signature {
    struct map_signature *next;
    const char *name;
    const char *title; /* the name for watchers of maps: of the second signature of a name "@x (type 2)" */
    const void *type_bytes; /* the types as hosts send them: equal bytes are equal types */
    size_t type_size;
    const struct type *key, *value; /* as they are printed */
    bool apart;                     /* the first key is the host, or the only one */
    bool has_row;                   /* the key of an element has a row of a histogram behind it */
    bool spreads;                   /* rows of a histogram without a key become elements */
    size_t key_bytes, value_bytes;
};

struct map_signatures {
    struct arena arena; /* of all of them; its `total` is what they take */
    struct map_signature *first;
};

/* Returns the signature of a map, or NULL if it has not been added. */
const struct map_signature *signature_find(const struct map_signatures *signatures,
                                           const struct portable_map *map);
/* Adds the signature of a map, which signature_find() does not know. apart: the host becomes the first key. Returns NULL if there is
 * no memory. */
const struct map_signature *signature_add(struct map_signatures *signatures,
                                          const struct builtin_table *builtins,
                                          const struct portable_map *map, bool apart);

#endif
