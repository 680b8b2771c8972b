/* SPDX-License-Identifier: BSD-3-Clause */
#include "export/living.h"

#include <errno.h>
#include <stdlib.h>

enum { LIVING_BUCKETS = 1 << 16 };

static struct living **bucket(const struct living_table *table, int16_t type, uint64_t id)
{
    const uint64_t hash = (id ^ (uint64_t)type << 56) * 0x9e3779b97f4a7c15u;
    return &table->buckets[hash >> 48 & (LIVING_BUCKETS - 1)];
}

struct living *living_find(const struct living_table *table, int16_t type, uint64_t id)
{
    struct living *at = table->buckets ? *bucket(table, type, id) : NULL;
    while (at && (at->id != id || at->type != type))
        at = at->chain;
    return at;
}

static void leave_order(struct living_table *table, struct living *living)
{
    *(living->newer ? &living->newer->older : &table->newest) = living->older;
    *(living->older ? &living->older->newer : &table->oldest) = living->newer;
}

static void join_order(struct living_table *table, struct living *living)
{
    living->newer = NULL;
    living->older = table->newest;
    *(table->newest ? &table->newest->newer : &table->oldest) = living;
    table->newest = living;
}

void living_touch(struct living_table *table, struct living *living)
{
    leave_order(table, living);
    join_order(table, living);
}

struct living *living_surplus(const struct living_table *table)
{
    return table->count >= LIVING_MAX ? table->oldest : NULL;
}

int living_add(struct living_table *table, struct living *living, int16_t type, uint64_t id)
{
    if (!table->buckets && !(table->buckets = calloc(LIVING_BUCKETS, sizeof *table->buckets)))
        return -ENOMEM;
    struct living **first = bucket(table, type, id);
    living->id = id;
    living->type = type;
    living->chain = *first;
    *first = living;
    join_order(table, living);
    table->count++;
    return 0;
}

void living_remove(struct living_table *table, struct living *living)
{
    struct living **at = bucket(table, living->type, living->id);
    while (*at != living)
        at = &(*at)->chain;
    *at = living->chain;
    leave_order(table, living);
    table->count--;
    free(living);
}

void living_free(struct living_table *table)
{
    while (table->oldest)
        living_remove(table, table->oldest);
    free(table->buckets);
    *table = (struct living_table){0};
}
