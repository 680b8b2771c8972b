/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    struct arena_chunk *next;
    max_align_t memory[];
};

enum { ARENA_ALIGN = 16, ARENA_FIRST = 16 << 10, ARENA_LARGEST = 1 << 20 };

void arena_give_up(struct arena *arena)
{
    if (arena->out_of_memory)
        longjmp(*arena->out_of_memory, 1);
    abort();
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        arena_give_up(arena);
    size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (arena->room - arena->used < size || !arena->chunks) {
        size_t room = arena->room ? arena->room * 2 : ARENA_FIRST;
        if (room > ARENA_LARGEST)
            room = ARENA_LARGEST;
        if (room < size)
            room = size;
        struct arena_chunk *chunk = malloc(sizeof *chunk + room);
        if (!chunk)
            arena_give_up(arena);
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->room = room;
        arena->used = 0;
    }
    void *memory = (char *)arena->chunks->memory + arena->used;
    arena->used += size;
    arena->total += size;
    return memset(memory, 0, size);
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / 2 / size)
        arena_give_up(arena);
    return arena_alloc(arena, count * size);
}

void *arena_grow(struct arena *arena, void *items, size_t count, size_t *room, size_t size)
{
    size_t wanted = count ? count * 2 : 8;
    void *grown = arena_array(arena, wanted, size);
    if (count)
        memcpy(grown, items, count * size);
    *room = wanted;
    return grown;
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        length = 0;
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

static void free_down_to(struct arena *arena, const struct arena_chunk *last)
{
    while (arena->chunks != last) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
}

void arena_free(struct arena *arena)
{
    free_down_to(arena, NULL);
    *arena = (struct arena){.out_of_memory = arena->out_of_memory};
}

struct arena_mark arena_mark(const struct arena *arena)
{
    return (struct arena_mark){arena->chunks, arena->used, arena->room, arena->total};
}

void arena_rewind(struct arena *arena, const struct arena_mark *mark)
{
    free_down_to(arena, mark->chunk);
    arena->used = mark->used;
    arena->room = mark->room;
    arena->total = mark->total;
}
