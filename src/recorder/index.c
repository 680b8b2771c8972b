/* SPDX-License-Identifier: BSD-3-Clause */
/* Ids of the registry's items by a hash of what they are sought by: a table of slots, of which at most half are taken, each
 * item in the first free one from the place on that its hash says. Nothing is ever taken out. */
#include "recorder/state.h"

#include <errno.h>
#include <stdlib.h>

enum { ROOM_FIRST = 64 }; /* a power of two, as every room */

uint32_t index_hash(uint32_t hash, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) /* FNV-1a */
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 16777619u;
    return hash;
}

static void put(struct registry_index *index, struct registry_slot slot)
{
    unsigned at = slot.hash & (index->room - 1);
    while (index->slots[at].id != 0)
        at = (at + 1) & (index->room - 1);
    index->slots[at] = slot;
}

static int grow(struct registry_index *index)
{
    const struct registry_index before = *index;
    const unsigned room = before.room != 0 ? 2 * before.room : ROOM_FIRST;
    struct registry_slot *slots = calloc(room, sizeof *slots);
    if (slots == NULL)
        return recorder_fail(-ENOMEM, "no memory for the table of tracepoints");
    index->slots = slots;
    index->room = room;
    for (unsigned i = 0; i < before.room; i++)
        if (before.slots[i].id != 0)
            put(index, before.slots[i]);
    free(before.slots);
    return 0;
}

int index_add(struct registry_index *index, uint32_t hash, unsigned id)
{
    const int error = 2 * index->count >= index->room ? grow(index) : 0;
    if (error != 0)
        return error;
    put(index, (struct registry_slot){hash, id});
    index->count++;
    return 0;
}

unsigned index_find(const struct registry_index *index, uint32_t hash, index_matcher *matches,
                    const struct registry *registry, const void *key)
{
    for (unsigned at = hash; index->room != 0; at++) {
        const struct registry_slot slot = index->slots[at & (index->room - 1)];
        if (slot.id == 0 || (slot.hash == hash && matches(registry, slot.id, key)))
            return slot.id;
    }
    return 0;
}
