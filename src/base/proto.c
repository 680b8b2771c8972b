/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/proto.h"

#include <string.h>

#include "base/terminal.h"

enum wire { WIRE_NUMBER = 0, WIRE_FIXED = 1, WIRE_BYTES = 2 };
enum { NUMBER_MAX = 10 };

static size_t encode(char *to, uint64_t value)
{
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        to[length++] = (char)(value | 0x80);
    to[length++] = (char)value;
    return length;
}

void proto_number_item(struct text *out, uint64_t value)
{
    char bytes[NUMBER_MAX];
    text_append(out, bytes, encode(bytes, value));
}

static void put_key(struct text *out, unsigned field, enum wire wire)
{
    proto_number_item(out, (uint64_t)field << 3 | wire);
}

void proto_number(struct text *out, unsigned field, uint64_t value)
{
    put_key(out, field, WIRE_NUMBER);
    proto_number_item(out, value);
}

void proto_signed(struct text *out, unsigned field, int64_t value)
{
    proto_number(out, field, (uint64_t)value); /* an int64, and not the zigzag encoding of sint64 */
}

void proto_zigzag(struct text *out, unsigned field, int64_t value)
{
    proto_number(out, field, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void proto_fixed_item(struct text *out, uint64_t value)
{
    char bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(value >> 8 * i);
    text_append(out, bytes, sizeof bytes);
}

void proto_fixed(struct text *out, unsigned field, uint64_t value)
{
    put_key(out, field, WIRE_FIXED);
    proto_fixed_item(out, value);
}

void proto_double(struct text *out, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    proto_fixed(out, field, bits);
}

void proto_bytes(struct text *out, unsigned field, const char *bytes, size_t length)
{
    put_key(out, field, WIRE_BYTES);
    proto_number_item(out, length);
    text_append(out, bytes, length);
}

void proto_string(struct text *out, unsigned field, const char *bytes, size_t length)
{
    const size_t opened = proto_open(out, field);
    for (size_t done = 0, i = 0; i <= length;) {
        uint32_t point;
        const size_t step = i < length ? utf8_character(bytes + i, length - i, &point) : 0;
        if (step) {
            i += step;
            continue;
        }
        text_append(out, bytes + done, i - done);
        if (i < length)
            text_char(out, '?');
        done = ++i;
    }
    proto_close(out, opened);
}

/* Begins a message, with one byte for its length. Most messages are shorter than 128 bytes; a longer one is moved
 * when it is closed. */
size_t proto_open(struct text *out, unsigned field)
{
    put_key(out, field, WIRE_BYTES);
    return proto_begin(out);
}

size_t proto_begin(struct text *out)
{
    text_char(out, 0);
    return out->length;
}

void proto_close(struct text *out, size_t opened)
{
    if (out->failed)
        return;
    const size_t length = out->length - opened;
    char bytes[NUMBER_MAX];
    const size_t taken = encode(bytes, length);
    text_fill(out, 0, taken - 1);
    if (out->failed)
        return;
    memmove(out->bytes + opened + taken - 1, out->bytes + opened, length);
    memcpy(out->bytes + opened - 1, bytes, taken);
}
