/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects that live in an export, each with what its format keeps about it. Their number is bounded: when there
 * are very many, the one without events for the longest time is removed. */
#ifndef SPOOR_EXPORT_LIVING_H
#define SPOOR_EXPORT_LIVING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIVING_MAX = 1 << 18 };

struct living { /* first member of a format's own struct */
    uint64_t id;
    int16_t type;
    struct living *chain;         /* the next one in its bucket */
    struct living *newer, *older; /* the order in which they were last touched */
};

struct living_table {
    struct living **buckets; /* LIVING_BUCKETS of them, made with the first object */
    struct living *newest, *oldest;
    size_t count;
};

/* Finds an object; NULL: it is not there. Does not touch it. */
struct living *living_find(const struct living_table *table, int16_t type, uint64_t id);
/* Makes an object the one that had an event last. */
void living_touch(struct living_table *table, struct living *living);
/* Returns the object that must be removed before another one is added; NULL: there is room. */
struct living *living_surplus(const struct living_table *table);
/* Adds an object of that type and id, of which there must be none. `living` comes from malloc and belongs to the
 * table from then on. Returns 0 or -ENOMEM. */
int living_add(struct living_table *table, struct living *living, int16_t type, uint64_t id);
void living_remove(struct living_table *table, struct living *living); /* removes the object and frees it */
void living_free(struct living_table *table);

#endif
