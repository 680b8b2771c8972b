/* SPDX-License-Identifier: BSD-3-Clause */
/* Protocol buffers as bytes: a field is its number and kind, followed by a number of variable length, 8 bytes, or a
 * length and as many bytes. */
#ifndef SPOOR_BASE_PROTO_H
#define SPOOR_BASE_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

void proto_number(struct text *out, unsigned field, uint64_t value);
void proto_signed(struct text *out, unsigned field, int64_t value);
void proto_zigzag(struct text *out, unsigned field, int64_t value); /* of type sint32 or sint64 */
void proto_fixed(struct text *out, unsigned field, uint64_t value); /* 8 bytes */
void proto_double(struct text *out, unsigned field, double value);
/* Items of a packed list, which stands between proto_open() and proto_close(). */
void proto_number_item(struct text *out, uint64_t value);
void proto_fixed_item(struct text *out, uint64_t value);
void proto_bytes(struct text *out, unsigned field, const char *bytes, size_t length);
/* As proto_bytes(), with what is no UTF-8 replaced, because readers refuse such strings. */
void proto_string(struct text *out, unsigned field, const char *bytes, size_t length);
/* Begins a message inside of another one. It ends with proto_close(), which is given what proto_open() returned. */
size_t proto_open(struct text *out, unsigned field);
/* Begins a message that stands in no other, behind its length; it ends with proto_close(). */
size_t proto_begin(struct text *out);
void proto_close(struct text *out, size_t opened);

#endif
