/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/text.h"
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_reserve(struct text *text, size_t more)
{
    if (text->failed)
        return false;
    if (more < text->room - text->length)
        return true;
    if (more > SIZE_MAX / 4 || text->length > SIZE_MAX / 4) {
        text->failed = true;
        return false;
    }
    size_t room = text->room ? text->room : 128;
    while (room <= text->length + more)
        room *= 2;
    char *bytes = realloc(text->bytes, room);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->room = room;
    return true;
}

void text_append(struct text *text, const char *bytes, size_t length)
{
    if (!text_reserve(text, length))
        return;
    if (length)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
}

void text_add(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void text_char(struct text *text, char c)
{
    text_append(text, &c, 1);
}

void text_fill(struct text *text, char c, size_t count)
{
    if (!text_reserve(text, count))
        return;
    memset(text->bytes + text->length, c, count);
    text->length += count;
    text->bytes[text->length] = 0;
}

void text_vprintf(struct text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0 && text_reserve(text, (size_t)length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(text, format, arguments);
    va_end(arguments);
}

const char *text_string(const struct text *text)
{
    return text->bytes ? text->bytes : "";
}

void text_truncate(struct text *text, size_t length)
{
    if (text->failed || length >= text->length)
        return;
    text->length = length;
    text->bytes[length] = 0;
}

void text_clear(struct text *text)
{
    text->length = 0;
    text->failed = false;
    if (text->bytes)
        text->bytes[0] = 0;
}

void text_free(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

char *text_keep(struct text *text, struct arena *arena)
{
    if (text->failed) {
        text_free(text);
        arena_give_up(arena);
    }
    char *kept = arena_copy(arena, text_string(text), text->length);
    text_free(text);
    return kept;
}
