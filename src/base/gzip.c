/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/gzip.h"

#include <errno.h>
#include <limits.h>
#include <zlib.h>

/* The largest window, and the header and trailer of gzip instead of zlib's. */
enum { WINDOW = 15 + 16, MEMORY = 8 };

int gzip_append(struct text *out, const char *bytes, size_t length, int level)
{
    z_stream stream = {0};
    if (length > UINT_MAX ||
        deflateInit2(&stream, level, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    const uLong bound = deflateBound(&stream, length);
    int error = bound <= UINT_MAX && text_reserve(out, bound) ? 0 : -ENOMEM;
    if (!error) {
        stream.next_in = (Bytef *)bytes;
        stream.avail_in = (uInt)length;
        stream.next_out = (Bytef *)out->bytes + out->length;
        stream.avail_out = (uInt)bound;
        error = deflate(&stream, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
        out->length += bound - stream.avail_out;
        out->bytes[out->length] = 0;
    }
    deflateEnd(&stream);
    return error;
}
