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

uint64_t wire_take(struct wire *wire)
{
    uint64_t value;
    if (wire->is_bad || (size_t)(wire->end - wire->at) < sizeof value) {
        wire->is_bad = true;
        return 0;
    }
    memcpy(&value, wire->at, sizeof value);
    wire->at += sizeof value;
    return value;
}

uint64_t wire_take_within(struct wire *wire, uint64_t most)
{
    uint64_t value = wire_take(wire);
    wire->is_bad |= value > most;
    return wire->is_bad ? 0 : value;
}

size_t wire_take_count(struct wire *wire, size_t least)
{
    return (size_t)wire_take_within(wire, (uint64_t)(wire->end - wire->at) / least);
}

static const void *take(struct wire *wire, uint64_t size)
{
    uint64_t left = (uint64_t)(wire->end - wire->at);
    const char *bytes = wire->at;
    wire->is_bad |= size > left || padding((size_t)size) > left - size;
    if (wire->is_bad)
        return NULL;
    wire->at += size + padding((size_t)size);
    return bytes;
}

const void *wire_take_bytes(struct wire *wire, size_t *size)
{
    uint64_t length = wire_take(wire);
    const void *bytes = take(wire, length);
    *size = bytes ? (size_t)length : 0;
    return bytes;
}

const void *wire_take_array(struct wire *wire, size_t item, size_t *count)
{
    size_t size;
    const void *bytes = wire_take_bytes(wire, &size);
    wire->is_bad |= size % item != 0;
    *count = wire->is_bad ? 0 : size / item;
    return wire->is_bad ? NULL : bytes;
}

const char *wire_take_text(struct wire *wire)
{
    uint64_t length = wire_take(wire);
    if (length == NO_TEXT)
        return NULL;
    const char *text = take(wire, length);
    if (text && (!length || memchr(text, '\0', (size_t)length) != text + length - 1))
        wire->is_bad = true;
    return wire->is_bad ? NULL : text;
}

bool wire_is_done(const struct wire *wire)
{
    return !wire->is_bad && wire->at == wire->end;
}
