/* SPDX-License-Identifier: BSD-3-Clause */
/* What others chose to put into a string, on a terminal: it must not be able to command it (to move the
 * cursor, to hide text or lines, to forge lines, to type for the user). Whatever came from outside passes
 * terminal_escape(), and only that. */
#ifndef SPOOR_BASE_TERMINAL_H
#define SPOOR_BASE_TERMINAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum terminal_text {
    TERMINAL_NAME,    /* of others: what ends a line ends none here */
    TERMINAL_LINES,   /* newlines are meant: a file's content, a listing that we made */
    TERMINAL_MESSAGE, /* the same, and sequences that only change the colour: a message of ours */
};

/* Appends the text. Tabs and valid UTF-8 stay; control characters, those of the upper half too, bytes that are
 * no UTF-8, and characters that are not seen or that turn the direction of text become \xNN. */
void terminal_escape(struct text *out, const char *text, size_t length, enum terminal_text kind);

/* As text_printf() does, and what %s and %c bring is a name. */
void terminal_print(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void terminal_vprint(struct text *out, const char *format, va_list arguments);

/* The length of the UTF-8 character that begins here, and which it is; 0: it is none. */
size_t utf8_character(const char *at, size_t left, uint32_t *point);
/* Characters that nobody sees, and those that change how others are seen: controls, ends of lines and
 * paragraphs, marks of direction, joiners, fillers, selectors of variants, tags, annotations. Not ASCII's. */
bool utf8_is_hidden(uint32_t point);

#endif
