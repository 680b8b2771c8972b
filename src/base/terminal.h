/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes text from outside harmless for a terminal. Such text must not be able to move the cursor, to hide text, to
 * forge lines, or to type for the user. All of it passes terminal_escape(), and no other function. */
#ifndef SPOOR_BASE_TERMINAL_H
#define SPOOR_BASE_TERMINAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum terminal_text {
    TERMINAL_NAME,    /* one name: line breaks in it are escaped */
    TERMINAL_LINES,   /* newlines stay, as for a file's content or a listing */
    TERMINAL_MESSAGE, /* newlines stay, and so do sequences that only change the colour */
};

/* Appends the text. Tabs and valid UTF-8 stay as they are. Control characters (C0 and C1), bytes that are no UTF-8,
 * invisible characters, and those that change the direction of text become \xNN. */
void terminal_escape(struct text *out, const char *text, size_t length, enum terminal_text kind);

/* As text_printf(), but what %s and %c insert is escaped as TERMINAL_NAME. */
void terminal_print(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void terminal_vprint(struct text *out, const char *format, va_list arguments);

/* The length of the UTF-8 character at `at`, whose code point is stored in *point; 0 if there is none. */
size_t utf8_character(const char *at, size_t left, uint32_t *point);
/* Whether a character beyond ASCII is invisible or changes how others are shown: controls, separators of lines and
 * paragraphs, marks of direction, joiners, fillers, variation selectors, tags, annotations. */
bool utf8_is_hidden(uint32_t point);

#endif
