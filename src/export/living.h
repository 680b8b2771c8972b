/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects that are alive in an export, each with what its format keeps about it. Bounded: when very many
 * are, the one that nothing was heard of for longest has to go. */
#ifndef SPOOR_EXPORT_LIVING_H
#define SPOOR_EXPORT_LIVING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIVING_MAX = 1 << 18 };

struct living { /* first member of a format's own struct */
    uint64_t id;
    int16_t type;
    struct living *chain;         /* in its bucket */
    struct living *newer, *older; /* in order of when it was last touched */
};

struct living_table {
    struct living **buckets; /* LIVING_BUCKETS of them, made with the first */
    struct living *newest, *oldest;
    size_t count;
};

/* NULL: not there. Does not touch it. */
struct living *living_find(const struct living_table *table, int16_t type, uint64_t id);
/* Was heard of now. */
void living_touch(struct living_table *table, struct living *living);
/* Who has to go before another one may be added; NULL: there is room. */
struct living *living_surplus(const struct living_table *table);
/* `living` from malloc; it belongs to the table then. 0 or -ENOMEM. There must be none with this id. */
int living_add(struct living_table *table, struct living *living, int16_t type, uint64_t id);
void living_remove(struct living_table *table, struct living *living); /* and frees it */
void living_free(struct living_table *table);

#endif
