/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow. Pointer, count and room are the owner's, members of a struct or variables; a zeroed vector is an
 * empty one, and free() gives its memory back. In an arena: arena_push().
 *
 *     if (!vector_make_room(list->items, list->count, list->room))
 *         return -ENOMEM;
 *     list->items[list->count++] = item;
 */
#ifndef SPOOR_BASE_VECTOR_H
#define SPOOR_BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for at least one element behind the first `count`. A statement expression: true, or false with everything
 * as it was when there is no memory, or when `room`, of any unsigned type, cannot count so many. What is new is not
 * initialised. The arguments are evaluated more than once. */
#define vector_make_room(items, count, room)                                                                 \
    ({                                                                                                       \
        bool has_room_ = (count) < (room);                                                                   \
        if (!has_room_) {                                                                                    \
            size_t wanted_ = (count);                                                                        \
            __typeof__(items) grown_ =                                                                       \
                vector_grow((void *)(items), &wanted_, (__typeof__(room))-1, sizeof *(items));               \
            has_room_ = grown_;                                                                              \
            if (has_room_) {                                                                                 \
                (items) = grown_;                                                                            \
                (room) = (__typeof__(room))wanted_;                                                          \
            }                                                                                                \
        }                                                                                                    \
        has_room_;                                                                                           \
    })

/* Returns a larger array with the same elements, of `size` bytes each. *room: how many there are; then how many
 * there can be, which is at most `most`. Returns NULL, with the array and *room as they were, if there is no memory
 * or no more are allowed. */
void *vector_grow(void *items, size_t *room, size_t most, size_t size);

#endif
