/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/vector.h"

#include <stdlib.h>

enum { FIRST_ROOM = 8 };

void *vector_grow(void *items, size_t *room, size_t most, size_t size)
{
    size_t wanted = *room < FIRST_ROOM ? FIRST_ROOM : *room > most / 2 ? most : 2 * *room;
    if (wanted > most)
        wanted = most;
    if (wanted <= *room || !size)
        return NULL;
    void *grown = reallocarray(items, wanted, size);
    if (grown)
        *room = wanted;
    return grown;
}
