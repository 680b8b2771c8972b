/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps with the kernel's semantics: arrays, hashes, hashes that forget what was not used for long. There is
 * one CPU, so a per-CPU map has one value.
 *
 * Elements lie in the memory of programs; what finds them does not. A removed element's place is used again
 * at once, as the kernel does: whoever still holds its address sees another element. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vm/state.h"

enum { USED = 1u << 31, SHORT_KEY = 32 };
#define MULTIPLIER 0x9e3779b97f4a7c15u

static uint32_t round8(uint32_t bytes)
{
    return (bytes + 7) & ~7u;
}

static bool type_is_hash(enum bpf_map_type type)
{
    return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_LRU_HASH ||
           type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static bool type_is_array(enum bpf_map_type type)
{
    return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool type_is_ring(const struct image_map *image)
{
    return image->is_ring_per_cpu || image->type == BPF_MAP_TYPE_RINGBUF;
}

uint64_t vm_map_bytes(const struct image_map *image)
{
    enum { MOST = 1 << 30 };
    if (type_is_ring(image))
        return 8;
    bool is_hash = type_is_hash(image->type), is_array = type_is_array(image->type);
    if ((!is_hash && !is_array) || !image->max_entries || !image->value_size || image->value_size > MOST ||
        !image->key_size || image->key_size > MOST || (is_array && image->key_size != 4))
        return 0;
    uint64_t element = (is_hash ? round8(image->key_size) : 0u) + (uint64_t)round8(image->value_size), bytes;
    return __builtin_mul_overflow(element, image->max_entries, &bytes) || bytes > (uint64_t)1 << 40 ? 0
                                                                                                    : bytes;
}

int vm_map_open(struct vm_map *map, const struct image_map *image, uint8_t *memory)
{
    *map = (struct vm_map){
        .type = image->type,
        .key_size = image->key_size,
        .value_size = image->value_size,
        .max_entries = image->max_entries,
        .elements = memory,
        .is_ring = type_is_ring(image),
        .is_lru = image->type == BPF_MAP_TYPE_LRU_HASH || image->type == BPF_MAP_TYPE_LRU_PERCPU_HASH,
    };
    map->is_hash = !map->is_ring && type_is_hash(image->type);
    map->is_array = !map->is_ring && type_is_array(image->type);
    map->key_room = map->is_hash ? round8(map->key_size) : 0;
    map->element = map->key_room + round8(map->value_size);
    if (image->initial && map->is_array)
        memcpy(memory, image->initial, map->value_size);
    if (!map->is_hash)
        return 0;
    uint32_t buckets = 16;
    while (buckets < map->max_entries && buckets < USED)
        buckets *= 2;
    map->bucket_mask = buckets - 1;
    map->buckets = calloc(buckets, sizeof *map->buckets);
    map->slots = calloc(map->max_entries, sizeof *map->slots);
    map->touched = map->is_lru ? calloc(map->max_entries, 1) : NULL;
    return map->buckets && map->slots && (!map->is_lru || map->touched) ? 0 : -ENOMEM;
}

void vm_map_close(struct vm_map *map)
{
    free(map->buckets);
    free(map->slots);
    free(map->touched);
}

/* ---- hashes ---- */

static uint32_t hash_key(const struct vm_map *map, const void *key)
{
    const uint8_t *at = key;
    uint64_t hash = 0, word;
    uint32_t left = map->key_size;
    for (; left >= sizeof word; left -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * MULTIPLIER;
        hash ^= hash >> 32;
    }
    if (left) {
        word = 0;
        memcpy(&word, at, left);
        hash = (hash ^ word) * MULTIPLIER;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash | USED;
}

static uint8_t *key_of(const struct vm_map *map, uint32_t slot)
{
    return map->elements + (uint64_t)slot * map->element;
}

static bool key_equal(const struct vm_map *map, uint32_t slot, const void *key)
{
    const uint8_t *mine = key_of(map, slot);
    if (map->key_size <= SHORT_KEY && map->key_size % sizeof(uint64_t) == 0) { /* nearly all keys */
        for (uint32_t i = 0; i < map->key_size; i += sizeof(uint64_t)) {
            uint64_t one, other;
            memcpy(&one, mine + i, sizeof one);
            memcpy(&other, (const uint8_t *)key + i, sizeof other);
            if (one != other)
                return false;
        }
        return true;
    }
    return !memcmp(mine, key, map->key_size);
}

/* The value at a key of the given number of words; most keys have one or two. */
static inline __attribute__((always_inline)) uint8_t *find_words(struct vm_map *map, const uint8_t *key,
                                                                 unsigned words)
{
    uint64_t word[2] = {0}, other[2] = {0}, mixed = 0;
    memcpy(word, key, words * sizeof *word);
    for (unsigned i = 0; i < words; i++) {
        mixed = (mixed ^ word[i]) * MULTIPLIER;
        mixed ^= mixed >> 32;
    }
    uint32_t hash = (uint32_t)mixed | USED; /* as hash_key() says */
    for (uint32_t number = map->buckets[hash & map->bucket_mask]; number;) {
        const struct vm_slot *slot = &map->slots[number - 1];
        uint8_t *mine = key_of(map, number - 1);
        memcpy(other, mine, words * sizeof *other);
        if (word[0] == other[0] && word[1] == other[1] && slot->hash == hash) {
            if (map->is_lru)
                map->touched[number - 1] = 1;
            return mine + map->key_room;
        }
        number = slot->next;
    }
    return NULL;
}

/* Where the number of the key's slot stands: 0 there, if the key is in no slot. */
static uint32_t *hash_find(const struct vm_map *map, const void *key, uint32_t hash)
{
    uint32_t *link = &map->buckets[hash & map->bucket_mask];
    while (*link && (map->slots[*link - 1].hash != hash || !key_equal(map, *link - 1, key)))
        link = &map->slots[*link - 1].next;
    return link;
}

static void hash_remove(struct vm_map *map, uint32_t *link)
{
    uint32_t number = *link;
    struct vm_slot *slot = &map->slots[number - 1];
    *link = slot->next;
    *slot = (struct vm_slot){0, map->free};
    map->free = number;
    map->count--;
}

/* Frees the first slot that was not used since the hand passed it last, going round (the clock algorithm). */
static void lru_evict(struct vm_map *map)
{
    for (uint64_t iterations = 0; iterations <= 2 * (uint64_t)map->max_entries; iterations++) {
        uint32_t slot = map->hand;
        map->hand = map->hand + 1 < map->max_entries ? map->hand + 1 : 0;
        if (!(map->slots[slot].hash & USED))
            continue;
        if (map->touched[slot]) {
            map->touched[slot] = 0;
            continue;
        }
        uint32_t *link = &map->buckets[map->slots[slot].hash & map->bucket_mask];
        while (*link != slot + 1)
            link = &map->slots[*link - 1].next;
        hash_remove(map, link);
        return;
    }
}

/* Takes a free slot. Returns index + 1; 0: the map is full. */
static uint32_t hash_take(struct vm_map *map)
{
    if (map->is_lru && map->count == map->max_entries)
        lru_evict(map);
    uint32_t number = map->free;
    if (number)
        map->free = map->slots[number - 1].next;
    else if (map->first_fresh < map->max_entries)
        number = ++map->first_fresh;
    return number;
}

static int hash_update(struct vm_map *map, const void *key, const void *value, uint64_t flags)
{
    uint32_t hash = hash_key(map, key), *link = hash_find(map, key, hash), number = *link;
    if (number && flags == BPF_NOEXIST)
        return -EEXIST;
    if (!number && flags == BPF_EXIST)
        return -ENOENT;
    if (!number) {
        number = hash_take(map);
        if (!number)
            return -E2BIG;
        uint32_t *bucket = &map->buckets[hash & map->bucket_mask];
        map->slots[number - 1] = (struct vm_slot){hash, *bucket};
        *bucket = number;
        map->count++;
        memcpy(key_of(map, number - 1), key, map->key_size);
        if (map->is_lru)
            map->touched[number - 1] = 0;
    } else if (map->is_lru) {
        map->touched[number - 1] = 1;
    }
    memmove(key_of(map, number - 1) + map->key_room, value, map->value_size);
    return 0;
}

/* ---- all maps ---- */

static uint8_t *array_at(const struct vm_map *map, const void *key)
{
    uint32_t index;
    memcpy(&index, key, sizeof index);
    return index < map->max_entries ? map->elements + (uint64_t)index * map->element : NULL;
}

uint8_t *vm_map_find(struct vm_map *map, const void *key)
{
    if (map->is_array)
        return array_at(map, key);
    if (!map->is_hash)
        return NULL;
    if (map->key_size == sizeof(uint64_t))
        return find_words(map, key, 1);
    if (map->key_size == 2 * sizeof(uint64_t))
        return find_words(map, key, 2);
    uint32_t number = *hash_find(map, key, hash_key(map, key));
    if (!number)
        return NULL;
    if (map->is_lru)
        map->touched[number - 1] = 1;
    return key_of(map, number - 1) + map->key_room;
}

int vm_map_update(struct vm_map *map, const void *key, const void *value, uint64_t flags)
{
    if (flags > BPF_EXIST || (!map->is_array && !map->is_hash))
        return -EINVAL;
    if (map->is_hash)
        return hash_update(map, key, value, flags);
    uint8_t *element = array_at(map, key);
    if (!element)
        return -E2BIG;
    if (flags == BPF_NOEXIST)
        return -EEXIST;
    memmove(element, value, map->value_size);
    return 0;
}

int vm_map_delete(struct vm_map *map, const void *key)
{
    if (!map->is_hash)
        return -EINVAL;
    uint32_t *link = hash_find(map, key, hash_key(map, key));
    if (!*link)
        return -ENOENT;
    hash_remove(map, link);
    return 0;
}

void vm_map_clear(struct vm_map *map)
{
    if (!map->is_hash) {
        vm_map_zero(map);
        return;
    }
    memset(map->buckets, 0, ((size_t)map->bucket_mask + 1) * sizeof *map->buckets);
    memset(map->slots, 0, (size_t)map->first_fresh * sizeof *map->slots);
    map->free = map->first_fresh = map->count = map->hand = 0;
}

void vm_map_zero(struct vm_map *map)
{
    uint32_t position = 0;
    uint8_t *key, *value;
    while (vm_map_next(map, &position, &key, &value))
        memset(value, 0, map->value_size);
}

bool vm_map_next(struct vm_map *map, uint32_t *position, uint8_t **key, uint8_t **value)
{
    uint32_t end = map->is_hash ? map->first_fresh : map->is_array ? map->max_entries : 0;
    for (uint32_t i = *position; i < end; i++) {
        if (map->is_hash && !(map->slots[i].hash & USED))
            continue;
        *key = key_of(map, i);
        *value = *key + map->key_room;
        *position = i + 1;
        return true;
    }
    return false;
}
