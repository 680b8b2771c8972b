/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads untrusted bytes, from the first to the last: foreign files, messages, memory of programs.
 *
 * A cursor never leaves its bytes. A read beyond their end makes it bad; then and from then on every number is 0,
 * every pointer is NULL, and the cursor stays where it is. So it is enough to look at is_bad once, at the end.
 * Numbers are little-endian and need no alignment. A cursor is a plain value: a copy reads the same bytes once
 * more.
 *
 *     struct cursor cursor = cursor_over(bytes, size);
 *     uint64_t length = cursor_take(&cursor, 4);
 *     const char *name = cursor_take_text(&cursor, SIZE_MAX);
 *     if (cursor.is_bad)
 *         return -EBADMSG; */
#ifndef SPOOR_BASE_CURSOR_H
#define SPOOR_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end; /* the bytes that are left */
    bool is_bad;
};

static inline struct cursor cursor_over(const void *bytes, size_t size)
{
    return (struct cursor){.at = bytes, .end = size ? (const uint8_t *)bytes + size : bytes};
}

/* How many bytes are left. */
static inline size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* Whether everything was read and the cursor is not bad. */
static inline bool cursor_is_done(const struct cursor *cursor)
{
    return !cursor->is_bad && cursor->at == cursor->end;
}

/* The next `size` bytes, which stay where they are; NULL if there are not so many. */
static inline const void *cursor_take_bytes(struct cursor *cursor, uint64_t size)
{
    const uint8_t *bytes = cursor->at;
    if (cursor->is_bad || size > cursor_left(cursor)) {
        cursor->is_bad = true;
        return NULL;
    }
    cursor->at += size;
    return bytes;
}

static inline void cursor_skip(struct cursor *cursor, uint64_t size)
{
    (void)cursor_take_bytes(cursor, size);
}

/* The next number, which has `width` bytes: 1 to 8. */
static inline uint64_t cursor_take(struct cursor *cursor, size_t width)
{
    uint64_t value = 0;
    const void *bytes = cursor_take_bytes(cursor, width);
    if (bytes)
        memcpy(&value, bytes, width);
    return value;
}

/* The next number in two's complement. */
static inline int64_t cursor_take_signed(struct cursor *cursor, size_t width)
{
    const unsigned unused = 64 - 8 * (unsigned)width;
    return (int64_t)(cursor_take(cursor, width) << unused) >> unused;
}

/* The number that lies `offset` bytes ahead, 0 if it does not lie within the bytes. The cursor does not change. */
static inline uint64_t cursor_peek(const struct cursor *cursor, uint64_t offset, size_t width)
{
    uint64_t value = 0;
    if (!cursor->is_bad && offset <= cursor_left(cursor) && cursor_left(cursor) - offset >= width)
        memcpy(&value, cursor->at + offset, width);
    return value;
}

/* A cursor over the next `size` bytes; a bad one, without bytes, if there are not so many. This one moves behind them. */
struct cursor cursor_take_part(struct cursor *cursor, uint64_t size);
/* A cursor that begins `offset` bytes ahead and ends where this one does, which does not change. */
struct cursor cursor_ahead(const struct cursor *cursor, uint64_t offset);
/* The next number in groups of seven bits, the lowest first (LEB128). Bits above the 64th are ignored. */
uint64_t cursor_take_uleb(struct cursor *cursor);
int64_t cursor_take_sleb(struct cursor *cursor);
/* The next text of at most `most` bytes with the NUL that ends it, and stays where it is. NULL if none ends so soon. */
const char *cursor_take_text(struct cursor *cursor, size_t most);

#endif
