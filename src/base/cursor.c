/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/cursor.h"

struct cursor cursor_take_part(struct cursor *cursor, uint64_t size)
{
    struct cursor part = *cursor;
    cursor_skip(cursor, size);
    part.end = cursor->at;
    part.is_bad = cursor->is_bad;
    return part;
}

struct cursor cursor_ahead(const struct cursor *cursor, uint64_t offset)
{
    struct cursor ahead = *cursor;
    cursor_skip(&ahead, offset);
    return ahead;
}

/* Reads groups of seven bits. *bits: how many bits there were; *last: the byte that ended them. */
static uint64_t take_groups(struct cursor *cursor, unsigned *bits, uint8_t *last)
{
    uint64_t value = 0;
    *bits = 0;
    do {
        *last = (uint8_t)cursor_take(cursor, 1);
        if (*bits < 64) {
            value |= (uint64_t)(*last & 0x7f) << *bits;
            *bits += 7;
        }
    } while (*last & 0x80);
    return cursor->is_bad ? 0 : value;
}

uint64_t cursor_take_uleb(struct cursor *cursor)
{
    unsigned bits;
    uint8_t last;
    return take_groups(cursor, &bits, &last);
}

int64_t cursor_take_sleb(struct cursor *cursor)
{
    unsigned bits;
    uint8_t last;
    uint64_t value = take_groups(cursor, &bits, &last);
    if (bits < 64 && last & 0x40)
        value |= ~(uint64_t)0 << bits;
    return (int64_t)value;
}

const char *cursor_take_text(struct cursor *cursor, size_t most)
{
    const size_t left = cursor_left(cursor), longest = left < most ? left : most;
    const uint8_t *nul = cursor->is_bad || !longest ? NULL : memchr(cursor->at, '\0', longest);
    if (!nul) {
        cursor->is_bad = true;
        return NULL;
    }
    return cursor_take_bytes(cursor, (uint64_t)(nul - cursor->at) + 1);
}
