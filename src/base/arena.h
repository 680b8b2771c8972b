/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that lives and dies together: trees, types, IR.
 *
 * An arena hands out zeroed, 16-byte aligned memory and gives all of it back at once, or all since a mark.
 * Nothing in it is freed alone. When memory runs out, arena_alloc does not return: it jumps to the place that its owner
 * named with arena_guard, so that code which builds trees needs no error path of its own. An arena
 * without a guard calls abort(): set one before the first allocation. Not for threads.
 */
#ifndef SPOOR_BASE_ARENA_H
#define SPOOR_BASE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *chunks;
    size_t used, room;      /* bytes in the newest chunk */
    size_t total;           /* bytes handed out */
    jmp_buf *out_of_memory; /* where arena_alloc goes when there is none */
};

/* In the owner:   jmp_buf nowhere; if (arena_guard(&arena, nowhere)) return -ENOMEM;
 * The macro is an expression that is 0 at first, and 1 when memory ran out later. */
#define arena_guard(arena, buffer) ((arena)->out_of_memory = &(buffer), setjmp(buffer))

/* `size` zeroed bytes, aligned to 16. Does not return when there is no memory. */
void *arena_alloc(struct arena *arena, size_t size);
/* count * size bytes, zeroed; a product that overflows counts as no memory. */
void *arena_array(struct arena *arena, size_t count, size_t size);
char *arena_copy(struct arena *arena, const char *text, size_t length); /* adds a NUL */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *arena);
/* arena_rewind() frees what was handed out since arena_mark() was called. Nothing that stays may point there. */
struct arena_mark {
    struct arena_chunk *chunk;
    size_t used, room, total;
};
struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, const struct arena_mark *mark);
/* Acts as arena_alloc() does when there is no memory, for callers that have no other way to report a failure. */
void arena_give_up(struct arena *arena) __attribute__((noreturn));

#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))

/* Room for one more element of an array kept in the arena; the array doubles. A statement expression
 * whose value is the address of the new, zeroed element:
 *     *arena_push(arena, list->items, list->count, list->room) = item;   (count and room are size_t) */
#define arena_push(arena, items, count, room)                                                                \
    ({                                                                                                       \
        if ((count) == (room))                                                                               \
            (items) = arena_grow((arena), (items), (count), &(room), sizeof *(items));                       \
        &(items)[(count)++];                                                                                 \
    })
void *arena_grow(struct arena *arena, void *items, size_t count, size_t *room, size_t size);

#endif
