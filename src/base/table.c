/* SPDX-License-Identifier: BSD-3-Clause */
/* Open addressing over an array of indices; the entries stand in one array in order of insertion. */
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t table_hash(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static uint32_t *table_slot(const struct table *table, const void *key, size_t length, uint64_t hash)
{
    size_t mask = table->slot_count - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        uint32_t index = table->slots[i];
        if (!index)
            return &table->slots[i];
        const struct table_entry *entry = &table->entries[index - 1];
        if (entry->hash == hash && entry->length == length && !memcmp(entry->key, key, length))
            return &table->slots[i];
    }
}

void *table_get(const struct table *table, const void *key, size_t length)
{
    if (!table->count)
        return NULL;
    uint32_t index = *table_slot(table, key, length, table_hash(key, length));
    return index ? table->entries[index - 1].value : NULL;
}

static int table_grow(struct table *table)
{
    size_t room = table->room ? table->room * 2 : 16;
    struct table_entry *entries = realloc(table->entries, room * sizeof *entries);
    if (!entries)
        return -ENOMEM;
    table->entries = entries;
    uint32_t *slots = calloc(room * 2, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    free(table->slots);
    table->slots = slots;
    table->slot_count = room * 2;
    table->room = room;
    for (size_t i = 0; i < table->count; i++)
        *table_slot(table, entries[i].key, entries[i].length, entries[i].hash) = (uint32_t)i + 1;
    return 0;
}

int table_set(struct table *table, const void *key, size_t length, void *value)
{
    if (table->count == table->room && table_grow(table))
        return -ENOMEM;
    uint64_t hash = table_hash(key, length);
    uint32_t *slot = table_slot(table, key, length, hash);
    if (*slot) {
        table->entries[*slot - 1].value = value;
        return 0;
    }
    char *copy = malloc(length + 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, key, length);
    copy[length] = 0;
    table->entries[table->count] = (struct table_entry){value, hash, length, copy};
    *slot = (uint32_t)++table->count;
    return 0;
}

void *table_find(const struct table *table, const char *name)
{
    return table_get(table, name, strlen(name));
}

int table_put(struct table *table, const char *name, void *value)
{
    return table_set(table, name, strlen(name), value);
}

void table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->entries[i].key);
    free(table->entries);
    free(table->slots);
    *table = (struct table){0};
}
