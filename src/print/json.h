/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces that JSON is written with, and numbers as text.
 *
 * Everything that becomes JSON goes through here, so that every line is valid: strings are escaped whatever
 * bytes they hold, integers that a double cannot hold are quoted. Layout: ": " after keys, ", " between the
 * members of an object, "," between the items of an array. No state: the caller places commas. */
#ifndef SPOOR_PRINT_JSON_H
#define SPOOR_PRINT_JSON_H

#include <stdint.h>

#include "base/text.h"

/* The number of bytes of the UTF-8 sequence at `string` (of which `left`, at least 1, may be read); 0 when it
 * is not one: cut short, overlong, a surrogate, or beyond U+10FFFF. */
size_t utf8_length(const char *string, size_t left);

/* The bytes as the inside of a JSON string: \" \\ \n \r \t, other control characters and every byte that is
 * not part of valid UTF-8 as \u00xx, characters that are hidden (base/terminal.h) as \uxxxx. */
void json_escape(struct text *out, const char *bytes, size_t length);
/* Adds foreign JSON. Its strings may contain, unescaped, characters that json_escape() escapes: they are escaped. */
void json_escape_again(struct text *out, const char *json, size_t length);
/* Escapes, in place, what was appended to out from `begin` on. scratch is used when anything needs it. */
void json_escape_tail(struct text *out, size_t begin, struct text *scratch);

/* Writes the string like json_escape(), with quotes around it. */
void json_string(struct text *out, const char *string);

/* A number, quoted when a double cannot hold it exactly. */
void json_signed(struct text *out, int64_t value);
void json_unsigned(struct text *out, uint64_t value);

/* Numbers as plain text. Made for speed: they are most of what is printed. */
void number_signed(struct text *out, int64_t value);
void number_unsigned(struct text *out, uint64_t value);
void number_hex(struct text *out, uint64_t value); /* lower case, no 0x */

#endif
