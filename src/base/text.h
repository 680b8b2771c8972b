/* SPDX-License-Identifier: BSD-3-Clause */
/* A text that grows. Zero-initialise it, append, read .bytes (NUL-terminated once anything was
 * appended, and NULL-safe through text_string), text_free it. When memory runs out the text keeps what
 * it has, sets .failed and ignores what follows: check it once, at the end. Not for threads. */
#ifndef SPOOR_BASE_TEXT_H
#define SPOOR_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct text {
    char *bytes;
    size_t length, room;
    bool failed;
};

/* Makes room for so many more bytes and a NUL. Returns whether there is. */
bool text_reserve(struct text *text, size_t more);
void text_append(struct text *text, const char *bytes, size_t length);
void text_add(struct text *text, const char *string);
void text_char(struct text *text, char c);
void text_fill(struct text *text, char c, size_t count);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *text, const char *format, va_list arguments);
const char *text_string(const struct text *text);     /* never NULL */
void text_clear(struct text *text);                   /* keeps the memory */
void text_truncate(struct text *text, size_t length); /* to at most so many bytes */
void text_free(struct text *text);

/* Moves the text into an arena and frees it here. If memory had run out for the text, arena_give_up() is called,
 * since a name that is silently shorter would be another name. */
struct arena;
char *text_keep(struct text *text, struct arena *arena);

#endif
