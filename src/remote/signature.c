/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/signature.h"

#include <string.h>

/* The key with a host before it. */
static const struct type *with_host(struct arena *arena, const struct type *key)
{
    const struct type *host = type_probe_name(arena, 0);
    if (!key)
        return host;
    const bool is_flat = key->kind == TYPE_TUPLE && !type_is_record(key);
    const uint32_t count = is_flat ? key->count : 1;
    const struct type **elements = arena_array(arena, count + 1, sizeof *elements);
    elements[0] = host;
    for (uint32_t i = 0; i < count; i++)
        elements[1 + i] = is_flat ? key->fields[i].type : key;
    return type_tuple(arena, elements, count + 1);
}

static bool is_of(const struct map_signature *signature, const struct portable_map *map)
{
    return !strcmp(signature->name, map->name) && signature->type_size == map->types_size &&
           !memcmp(signature->type_bytes, map->types, map->types_size);
}

const struct map_signature *signature_find(const struct map_signatures *signatures,
                                           const struct portable_map *map)
{
    const struct map_signature *signature = signatures->first;
    while (signature && !is_of(signature, map))
        signature = signature->next;
    return signature;
}

/* Returns how many types maps of this name have. */
static unsigned count_types(const struct map_signatures *signatures, const char *name)
{
    unsigned count = 0;
    for (const struct map_signature *signature = signatures->first; signature; signature = signature->next)
        count += !strcmp(signature->name, name);
    return count;
}

static struct map_signature *make(struct map_signatures *signatures, const struct builtin_table *builtins,
                                  const struct portable_map *map, bool apart)
{
    struct arena *arena = &signatures->arena;
    const unsigned others = count_types(signatures, map->name);
    struct map_signature *signature = arena_new(arena, struct map_signature);
    struct portable_map anew = *map;
    if (!portable_make_types(arena, builtins, &anew))
        return NULL;
    signature->name = arena_strdup(arena, map->name);
    signature->title = others ? arena_printf(arena, "%s (type %u)", map->name, others + 1) : signature->name;
    signature->type_bytes = arena_copy(arena, map->types, map->types_size);
    signature->type_size = map->types_size;
    signature->apart = apart;
    signature->value = anew.value;
    signature->key = apart ? with_host(arena, anew.key) : anew.key;
    signature->spreads = apart && !anew.key && type_has_shape(anew.value, AGGREGATION_ROWS);
    signature->has_row = portable_has_row(signature->key, signature->value);
    signature->key_bytes =
        (signature->key ? type_storage(signature->key) : 0) + (signature->has_row ? sizeof(uint64_t) : 0);
    signature->value_bytes = signature->has_row ? sizeof(uint64_t) : type_storage(signature->value);
    return signature;
}

const struct map_signature *signature_add(struct map_signatures *signatures,
                                          const struct builtin_table *builtins,
                                          const struct portable_map *map, bool apart)
{
    jmp_buf out_of_memory;
    if (arena_guard(&signatures->arena, out_of_memory))
        return NULL;
    struct map_signature *signature = make(signatures, builtins, map, apart);
    signatures->arena.out_of_memory = NULL;
    if (signature) {
        signature->next = signatures->first;
        signatures->first = signature;
    }
    return signature;
}
