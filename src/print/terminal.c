/* SPDX-License-Identifier: BSD-3-Clause */
#include "print/terminal.h"

#include <stdint.h>

/* The length of the character that begins here, if it is one that can be shown; else 0. */
static size_t shown(const uint8_t *at, size_t left)
{
    if (*at < 0x80)
        return (*at >= ' ' && *at != 0x7f) || *at == '\n' || *at == '\t';
    size_t length = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
    static const uint32_t least[] = {0, 0, 0xa0 /* below are controls */, 0x800, 0x10000};
    if (*at < 0xc2 || *at > 0xf4 || length > left)
        return 0;
    uint32_t point = *at & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3f);
    }
    bool is_direction = (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
    bool is_character = point >= least[length] && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    return is_character && !is_direction ? length : 0;
}

/* ESC [ digits and semicolons m; else 0. */
static size_t colour(const char *at, size_t left)
{
    size_t i = 2;
    if (left < 3 || at[0] != '\033' || at[1] != '[')
        return 0;
    while (i < left && ((at[i] >= '0' && at[i] <= '9') || at[i] == ';'))
        i++;
    return i < left && at[i] == 'm' ? i + 1 : 0;
}

void terminal_escape(struct text *out, const char *text, size_t length, bool colours)
{
    static const char digits[] = "0123456789abcdef";
    size_t begin = 0;
    for (size_t i = 0, step; i < length; i += step) {
        step = shown((const uint8_t *)text + i, length - i);
        if (!step && colours)
            step = colour(text + i, length - i);
        if (step)
            continue;
        uint8_t byte = (uint8_t)text[i];
        text_append(out, text + begin, i - begin);
        text_append(out, (char[]){'\\', 'x', digits[byte >> 4], digits[byte & 15]}, 4);
        begin = i + (step = 1);
    }
    text_append(out, text + begin, length - begin);
}
