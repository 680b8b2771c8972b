/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and changes the maps of a loaded image while programs write to them.
 *
 * Walks take many elements with one call where the kernel can (it walks bucket by bucket, so that a deletion
 * next to it does no harm). Else key by key, which starts from the beginning when the current key was deleted
 * meanwhile: keys seen before are left out, and the number of steps is bounded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel_error.h"
#include "base/table.h"
#include "kernel/state.h"
#include "kernel/syscalls.h"

enum { BATCH = 512, BATCH_MAX = 1 << 20 };

static struct kernel_map *map_get(struct host *host, size_t index)
{
    struct kernel *kernel = kernel_of(host);
    return index < kernel->map_count ? &kernel->maps[index] : NULL;
}

static bool map_is_array(const struct kernel_map *map)
{
    return map->type == BPF_MAP_TYPE_ARRAY || map->type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool map_is_hash(const struct kernel_map *map)
{
    return map->type == BPF_MAP_TYPE_HASH || map->type == BPF_MAP_TYPE_PERCPU_HASH ||
           map->type == BPF_MAP_TYPE_LRU_HASH || map->type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static size_t map_value_bytes(const struct kernel_map *map)
{
    return (size_t)map->stride * map->values;
}

static int map_each_in_array(const struct kernel_map *map, host_element *element, void *state)
{
    uint8_t *values = calloc(map->values, map->stride);
    if (!values)
        return -ENOMEM;
    int answer = 0;
    for (uint32_t key = 0; key < map->max_entries && !answer; key++) {
        answer = syscall_map_lookup(map->fd, &key, values);
        if (!answer)
            answer = element(state, map->max_entries == 1 ? NULL : (const uint8_t *)&key, values);
    }
    free(values);
    return answer;
}

/* One batched call. 0: more may follow; -ENOENT: that was the end; both may have given elements. */
static int map_batch(const struct kernel_map *map, enum bpf_cmd command, const void *in, void *out,
                     void *keys, void *values, uint32_t *count)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.batch.in_batch = (uintptr_t)in;
    attributes.batch.out_batch = (uintptr_t)out;
    attributes.batch.keys = (uintptr_t)keys;
    attributes.batch.values = (uintptr_t)values;
    attributes.batch.count = *count;
    attributes.batch.map_fd = (uint32_t)map->fd;
    int error = syscall_bpf(command, &attributes, sizeof attributes);
    *count = error && error != -ENOENT ? 0 : attributes.batch.count;
    return error;
}

/* -EOPNOTSUPP: this kernel cannot, and nothing was delivered. */
static int map_each_batched(const struct kernel_map *map, enum bpf_cmd command, host_element *element,
                            void *state)
{
    uint32_t room = map->max_entries && map->max_entries < BATCH ? map->max_entries : BATCH;
    uint32_t cursor[2] = {0}; /* for hash maps this is the number of a bucket */
    bool started = false;
    uint8_t *keys = NULL, *values = NULL;
    int error = 0;
    size_t value_bytes = map_value_bytes(map);
    while (!error) {
        if (!keys) {
            keys = calloc(room, map->key_size);
            values = calloc(room, value_bytes);
            if (!keys || !values) {
                error = -ENOMEM;
                break;
            }
        }
        uint32_t count = room, next[2] = {0};
        error = map_batch(map, command, started ? cursor : NULL, next, keys, values, &count);
        if (error == -ENOSPC && room < BATCH_MAX) { /* a bucket holds more than the batch: again, larger */
            room *= 2;
            free(keys);
            free(values);
            keys = values = NULL;
            error = 0;
            continue;
        }
        if (error && error != -ENOENT) {
            if (!started && (error == -EINVAL || error == -EOPNOTSUPP || error == -ENOTSUPP))
                error = -EOPNOTSUPP;
            break;
        }
        int answer = 0;
        for (uint32_t i = 0; i < count && i < room && element && !answer; i++)
            answer = element(state, keys + (size_t)i * map->key_size, values + i * value_bytes);
        if (answer) {
            error = answer;
            break;
        }
        memcpy(cursor, next, sizeof cursor);
        started = true;
    }
    free(keys);
    free(values);
    return error == -ENOENT ? 0 : error;
}

static int map_each_by_key(const struct kernel_map *map, host_element *element, void *state)
{
    size_t value_bytes = map_value_bytes(map);
    uint8_t *keys = calloc(2, map->key_size ? map->key_size : 1),
            *values = calloc(1, value_bytes ? value_bytes : 1);
    struct table seen = {0};
    /* How many steps a walk may take, beginnings from the start included. */
    uint64_t steps = 4 * (uint64_t)map->max_entries + 1024;
    int error = keys && values ? 0 : -ENOMEM;
    uint8_t *key = NULL;
    while (!error && steps--) {
        uint8_t *next = key == keys ? keys + map->key_size : keys;
        error = syscall_map_next_key(map->fd, key, next);
        if (error)
            break;
        key = next;
        if (table_get(&seen, key, map->key_size))
            continue;
        error = table_set(&seen, key, map->key_size, values);
        if (error)
            break;
        int found = syscall_map_lookup(map->fd, key, values);
        if (found && found != -ENOENT)
            error = found;
        else if (!found)
            error = element(state, key, values);
    }
    table_free(&seen);
    free(keys);
    free(values);
    return error == -ENOENT ? 0 : error;
}

int map_each(struct host *host, size_t index, host_element *element, void *state)
{
    struct kernel_map *map = map_get(host, index);
    if (!map || (!map_is_array(map) && !map_is_hash(map)))
        return -EINVAL;
    if (map_is_array(map))
        return map_each_in_array(map, element, state);
    int error = map_each_batched(map, BPF_MAP_LOOKUP_BATCH, element, state);
    return error == -EOPNOTSUPP ? map_each_by_key(map, element, state) : error;
}

int map_lookup(struct host *host, size_t index, const void *key, void *values)
{
    struct kernel_map *map = map_get(host, index);
    uint32_t zero = 0;
    if (!map || (!map_is_array(map) && !map_is_hash(map)))
        return -EINVAL;
    return syscall_map_lookup(map->fd, key ? key : &zero, values);
}

int map_update(struct host *host, size_t index, const void *key, const void *value)
{
    struct kernel_map *map = map_get(host, index);
    uint32_t zero = 0;
    if (!map || map->values != 1 || (!map_is_array(map) && !map_is_hash(map)))
        return -EINVAL;
    return syscall_map_update(map->fd, key ? key : &zero, value, BPF_ANY);
}

/* A slot of an array cannot be removed: it becomes zero. */
static int map_zero_key(const struct kernel_map *map, const void *key)
{
    uint8_t *zeros = calloc(map->values, map->stride ? map->stride : 1);
    if (!zeros)
        return -ENOMEM;
    int error = syscall_map_update(map->fd, key, zeros, BPF_EXIST);
    free(zeros);
    return error;
}

int map_delete(struct host *host, size_t index, const void *key)
{
    struct kernel_map *map = map_get(host, index);
    uint32_t zero = 0;
    if (!map || (!map_is_array(map) && !map_is_hash(map)))
        return -EINVAL;
    return map_is_array(map) ? map_zero_key(map, key ? key : &zero) : syscall_map_delete(map->fd, key);
}

struct map_change {
    const struct kernel_map *map;
    const uint8_t *zeros;
};

static int map_zero_element(void *state, const uint8_t *key, const uint8_t *values)
{
    struct map_change *change = state;
    uint32_t zero = 0;
    (void)values;
    int error =
        syscall_map_update(change->map->fd, key ? (const void *)key : &zero, change->zeros, BPF_EXIST);
    return error == -ENOENT ? 0 : error; /* the element was deleted meanwhile */
}

int map_zero(struct host *host, size_t index)
{
    struct kernel_map *map = map_get(host, index);
    if (!map)
        return -EINVAL;
    uint8_t *zeros = calloc(map->values, map->stride ? map->stride : 1);
    if (!zeros)
        return -ENOMEM;
    int error = map_each(host, index, map_zero_element, &(struct map_change){map, zeros});
    free(zeros);
    return error;
}

static int map_delete_element(void *state, const uint8_t *key, const uint8_t *values)
{
    struct map_change *change = state;
    (void)values;
    int error = syscall_map_delete(change->map->fd, key);
    return error == -ENOENT ? 0 : error;
}

int map_clear(struct host *host, size_t index)
{
    struct kernel_map *map = map_get(host, index);
    if (!map || (!map_is_array(map) && !map_is_hash(map)))
        return -EINVAL;
    if (map_is_array(map))
        return map_zero(host, index);
    int error = map_each_batched(map, BPF_MAP_LOOKUP_AND_DELETE_BATCH, NULL, NULL);
    return error == -EOPNOTSUPP ? map_each_by_key(map, map_delete_element, &(struct map_change){map, NULL})
                                : error;
}
