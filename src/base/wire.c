/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/wire.h"

#include <string.h>

enum { WORD = 8 };
#define NO_TEXT UINT64_MAX

static size_t padding(size_t size)
{
    return (WORD - size % WORD) % WORD;
}

void wire_put(struct text *out, uint64_t value)
{
    text_append(out, (const char *)&value, sizeof value);
}

void wire_put_bytes(struct text *out, const void *bytes, size_t size)
{
    wire_put(out, size);
    text_append(out, bytes, size);
    text_fill(out, '\0', padding(size));
}

void wire_put_text(struct text *out, const char *text)
{
    if (text)
        wire_put_bytes(out, text, strlen(text) + 1);
    else
        wire_put(out, NO_TEXT);
}

uint64_t wire_take(struct cursor *message)
{
    return cursor_take(message, WORD);
}

uint64_t wire_take_within(struct cursor *message, uint64_t most)
{
    uint64_t value = wire_take(message);
    message->is_bad |= value > most;
    return message->is_bad ? 0 : value;
}

size_t wire_take_count(struct cursor *message, size_t least)
{
    return (size_t)wire_take_within(message, cursor_left(message) / least);
}

static const void *take(struct cursor *message, uint64_t size)
{
    const void *bytes = cursor_take_bytes(message, size);
    cursor_skip(message, padding((size_t)size));
    return message->is_bad ? NULL : bytes;
}

const void *wire_take_bytes(struct cursor *message, size_t *size)
{
    uint64_t length = wire_take(message);
    const void *bytes = take(message, length);
    *size = bytes ? (size_t)length : 0;
    return bytes;
}

const void *wire_take_array(struct cursor *message, size_t item, size_t *count)
{
    size_t size;
    const void *bytes = wire_take_bytes(message, &size);
    message->is_bad |= size % item != 0;
    *count = message->is_bad ? 0 : size / item;
    return message->is_bad ? NULL : bytes;
}

const char *wire_take_text(struct cursor *message)
{
    uint64_t length = wire_take(message);
    if (length == NO_TEXT)
        return NULL;
    const char *text = take(message, length);
    if (text && (!length || memchr(text, '\0', (size_t)length) != text + length - 1))
        message->is_bad = true;
    return message->is_bad ? NULL : text;
}
