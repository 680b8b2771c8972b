/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/shape.h"

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

static bool is_of(const struct shape *shape, const struct portable_map *map)
{
    return !strcmp(shape->name, map->name) && shape->type_size == map->types_size &&
           !memcmp(shape->type_bytes, map->types, map->types_size);
}

const struct shape *shape_find(const struct shapes *shapes, const struct portable_map *map)
{
    const struct shape *shape = shapes->first;
    while (shape && !is_of(shape, map))
        shape = shape->next;
    return shape;
}

/* Returns how many types maps of this name have. */
static unsigned count_types(const struct shapes *shapes, const char *name)
{
    unsigned count = 0;
    for (const struct shape *shape = shapes->first; shape; shape = shape->next)
        count += !strcmp(shape->name, name);
    return count;
}

static struct shape *make(struct shapes *shapes, const struct builtin_table *builtins,
                          const struct portable_map *map, bool apart)
{
    struct arena *arena = &shapes->arena;
    const unsigned others = count_types(shapes, map->name);
    struct shape *shape = arena_new(arena, struct shape);
    struct portable_map anew = *map;
    if (!portable_make_types(arena, builtins, &anew))
        return NULL;
    shape->name = arena_strdup(arena, map->name);
    shape->title = others ? arena_printf(arena, "%s (type %u)", map->name, others + 1) : shape->name;
    shape->type_bytes = arena_copy(arena, map->types, map->types_size);
    shape->type_size = map->types_size;
    shape->apart = apart;
    shape->value = anew.value;
    shape->key = apart ? with_host(arena, anew.key) : anew.key;
    shape->spreads = apart && !anew.key && type_has_shape(anew.value, AGGREGATION_ROWS);
    shape->has_row = portable_has_row(shape->key, shape->value);
    shape->key_bytes = (shape->key ? type_storage(shape->key) : 0) + (shape->has_row ? sizeof(uint64_t) : 0);
    shape->value_bytes = shape->has_row ? sizeof(uint64_t) : type_storage(shape->value);
    return shape;
}

const struct shape *shape_add(struct shapes *shapes, const struct builtin_table *builtins,
                              const struct portable_map *map, bool apart)
{
    jmp_buf out_of_memory;
    if (arena_guard(&shapes->arena, out_of_memory))
        return NULL;
    struct shape *shape = make(shapes, builtins, map, apart);
    shapes->arena.out_of_memory = NULL;
    if (shape) {
        shape->next = shapes->first;
        shapes->first = shape;
    }
    return shape;
}
