/* SPDX-License-Identifier: BSD-3-Clause */
/* What two processes of ours tell each other: numbers, texts and arrays, one after another, each at a multiple
 * of 8 bytes. Who takes believes nothing: what does not fit makes the message bad, and from then on every
 * number is 0 and every text NULL. Look at is_bad once, at the end. */
#ifndef SPOOR_BASE_WIRE_H
#define SPOOR_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* When memory runs out, out->failed is set. */
void wire_put(struct text *out, uint64_t value);
void wire_put_bytes(struct text *out, const void *bytes, size_t size);
void wire_put_text(struct text *out, const char *text); /* NULL arrives as NULL */

struct wire {
    const char *at, *end; /* at: aligned to 8 bytes when the message was */
    bool is_bad;
};

uint64_t wire_take(struct wire *wire);
/* A number up to `most`; a larger one is bad. */
uint64_t wire_take_within(struct wire *wire, uint64_t most);
/* How many things follow, each of which takes at least so many bytes. */
size_t wire_take_count(struct wire *wire, size_t least);
/* Bytes in the message itself. NULL: bad. */
const void *wire_take_bytes(struct wire *wire, size_t *size);
/* An array of things of that size; *count: how many. NULL: bad. */
const void *wire_take_array(struct wire *wire, size_t item, size_t *count);
/* Ends with a NUL and has no other one; in the message itself. NULL: bad, or NULL was put. */
const char *wire_take_text(struct wire *wire);
/* The message is whole and good. */
bool wire_is_done(const struct wire *wire);

#endif
