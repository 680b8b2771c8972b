/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/lines.h"

#include <string.h>

void lines_end(struct line_splitter *splitter)
{
    struct text *pending = &splitter->pending;
    splitter->failed |= pending->failed;
    if (pending->length || pending->failed)
        splitter->visit(splitter->state, splitter->pending_time, text_string(pending), pending->length);
    pending->failed = false;
    text_clear(pending);
}

void lines_add(struct line_splitter *splitter, uint64_t time, const char *bytes, size_t length)
{
    struct text *pending = &splitter->pending;
    while (length) {
        const char *end = memchr(bytes, '\n', length);
        const size_t part = end ? (size_t)(end - bytes) : length;
        if (!pending->length)
            splitter->pending_time = time;
        if (end && !pending->length)
            splitter->visit(splitter->state, time, bytes, part);
        else
            text_append(pending, bytes, part);
        if (end || pending->length >= LINES_PENDING_MAX)
            lines_end(splitter);
        bytes += part + (end != NULL);
        length -= part + (end != NULL);
    }
}

void lines_free(struct line_splitter *splitter)
{
    text_free(&splitter->pending);
}
