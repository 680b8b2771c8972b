/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two processes of spoor: numbers, texts and arrays, one after another, each aligned to 8 bytes.
 * The receiver trusts nothing: it reads with a cursor, which becomes bad where the message does not fit. */
#ifndef SPOOR_BASE_WIRE_H
#define SPOOR_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/text.h"

/* Append to a message. When memory runs out, out->failed is set. */
void wire_put(struct text *out, uint64_t value);
void wire_put_bytes(struct text *out, const void *bytes, size_t size);
void wire_put_text(struct text *out, const char *text); /* NULL arrives as NULL */

/* The next number. */
uint64_t wire_take(struct cursor *message);
/* The next number; one above `most` makes the message bad. */
uint64_t wire_take_within(struct cursor *message, uint64_t most);
/* The next number, as the count of items that follow and take at least `least` bytes each. */
size_t wire_take_count(struct cursor *message, size_t least);
/* The next bytes, which stay in the message; NULL if it is bad. */
const void *wire_take_bytes(struct cursor *message, size_t *size);
/* The next array of items of that size, which stays in the message; NULL if it is bad. */
const void *wire_take_array(struct cursor *message, size_t item, size_t *count);
/* The next text, NUL-terminated, which stays in the message; NULL if NULL was put or the message is bad. */
const char *wire_take_text(struct cursor *message);
#endif
