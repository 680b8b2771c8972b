/* SPDX-License-Identifier: BSD-3-Clause */
#include "export/html/deflate.h"

#include <errno.h>
#include <zlib.h>

static void put_base64(struct text *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (!text_reserve(out, (length + 2) / 3 * 4))
        return;
    char *to = out->bytes + out->length;
    for (size_t i = 0; i < length; i += 3) {
        const size_t left = length - i;
        const unsigned three = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                               (left > 2 ? bytes[i + 2] : 0);
        *to++ = digits[three >> 18];
        *to++ = digits[three >> 12 & 63];
        *to++ = left > 1 ? digits[three >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[three & 63] : '=';
    }
    *to = 0;
    out->length = (size_t)(to - out->bytes);
}

int page_deflate(struct text *out, const struct text *bytes, struct text *buffer)
{
    enum { LEVEL = 7 };
    uLongf length = compressBound(bytes->length);
    text_clear(buffer);
    if (bytes->failed || !text_reserve(buffer, length))
        return -ENOMEM;
    if (compress2((Bytef *)buffer->bytes, &length, (const Bytef *)text_string(bytes), bytes->length, LEVEL) !=
        Z_OK)
        return -ENOMEM;
    put_base64(out, (const unsigned char *)buffer->bytes, length);
    return out->failed ? -ENOMEM : 0;
}
