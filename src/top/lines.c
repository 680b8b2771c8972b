/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/lines.h"

#include <stdlib.h>
#include <string.h>

static void append(struct top_lines *lines, const char *bytes, size_t length)
{
    char **line = &lines->lines[(lines->count - 1) % TOP_LINES];
    const size_t old = *line ? strlen(*line) : 0;
    if (old + length > TOP_LINE_BYTES)
        length = old < TOP_LINE_BYTES ? TOP_LINE_BYTES - old : 0;
    char *longer = realloc(*line, old + length + 1);
    if (!longer)
        return;
    memcpy(longer + old, bytes, length);
    longer[old + length] = '\0';
    *line = longer;
}

void top_lines_add(struct top_lines *lines, const char *bytes, size_t length)
{
    while (length) {
        const char *end = memchr(bytes, '\n', length);
        const size_t part = end ? (size_t)(end - bytes) : length;
        if (part && !lines->is_open) {
            char **line = &lines->lines[lines->count++ % TOP_LINES];
            free(*line);
            *line = NULL;
        }
        if (part)
            append(lines, bytes, strnlen(bytes, part));
        lines->is_open = !end && (part || lines->is_open);
        bytes += part + (end != NULL);
        length -= part + (end != NULL);
    }
}

const char *top_lines_last(const struct top_lines *lines, uint64_t count, size_t back)
{
    if (count > lines->count)
        count = lines->count;
    if (back >= count || lines->count - (count - back) >= TOP_LINES)
        return NULL;
    return lines->lines[(count - 1 - back) % TOP_LINES];
}

void top_lines_free(struct top_lines *lines)
{
    for (size_t i = 0; i < TOP_LINES; i++)
        free(lines->lines[i]);
    *lines = (struct top_lines){0};
}
