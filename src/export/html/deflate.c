/* SPDX-License-Identifier: BSD-3-Clause */
#include "export/html/deflate.h"

#include <dlfcn.h>
#include <errno.h>

/* The function is declared by its type here, so that zlib's header is not needed: it has been the same since 1998. */
int deflater_open(struct deflater *deflater)
{
    deflater->library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!deflater->library)
        return -ENOPKG;
    *(void **)&deflater->compress = dlsym(deflater->library, "compress2");
    return deflater->compress ? 0 : -ENOPKG;
}

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

int deflater_write(struct deflater *deflater, struct text *out, const struct text *bytes)
{
    enum { LEVEL = 7, SPARE = 64 };
    /* what zlib's compressBound() says is less */
    unsigned long length = bytes->length + bytes->length / 256 + SPARE;
    text_clear(&deflater->buffer);
    if (bytes->failed || !text_reserve(&deflater->buffer, length))
        return -ENOMEM;
    const unsigned char *from = (const unsigned char *)text_string(bytes);
    if (deflater->compress((unsigned char *)deflater->buffer.bytes, &length, from, bytes->length, LEVEL))
        return -ENOMEM;
    put_base64(out, (const unsigned char *)deflater->buffer.bytes, length);
    return out->failed ? -ENOMEM : 0;
}

void deflater_close(struct deflater *deflater)
{
    text_free(&deflater->buffer);
    if (deflater->library)
        dlclose(deflater->library);
}
