/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table from byte strings to pointers. Keys are copied; values are the caller's. Iteration is in
 * order of insertion. Not for threads. */
#ifndef SPOOR_BASE_TABLE_H
#define SPOOR_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table_entry {
    void *value;
    uint64_t hash;
    size_t length;
    char *key; /* NUL after its last byte */
};
struct table {
    struct table_entry *entries;
    size_t count, room;
    uint32_t *slots; /* index + 1 of an entry; a power of two of them */
    size_t slot_count;
};

/* Returns the value, or NULL. */
void *table_get(const struct table *table, const void *key, size_t length);
void *table_find(const struct table *table, const char *name);
/* Sets or replaces a value. Returns 0, or -ENOMEM with the table unchanged. */
int table_set(struct table *table, const void *key, size_t length, void *value);
int table_put(struct table *table, const char *name, void *value);
void table_free(struct table *table);

/* 64-bit hash of bytes, the same in every run. */
uint64_t table_hash(const void *bytes, size_t length);

#endif
