/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes: items of a list, each a key and a value that keeps its type. */
#ifndef SPOOR_OTLP_ATTRIBUTE_H
#define SPOOR_OTLP_ATTRIBUTE_H

#include "otlp/encode.h"
#include "reader/reader.h"

/* Writes the text of a value into the message AnyValue that was opened. */
void attribute_value(struct encoder *encoder, const char *bytes, size_t length);
/* list: the number of the field of the list in which the attribute stands. */
void attribute_string(struct encoder *encoder, unsigned list, const char *key, const char *bytes,
                      size_t length);
void attribute_text(struct encoder *encoder, unsigned list, const char *key, const char *string);
void attribute_integer(struct encoder *encoder, unsigned list, const char *key, int64_t value);
/* A number above INT64_MAX, which OTLP cannot hold, becomes a text. */
void attribute_unsigned(struct encoder *encoder, unsigned list, const char *key, uint64_t value);
void attribute_bool(struct encoder *encoder, unsigned list, const char *key, bool value);
/* Writes an address as text: 0x7f00. */
void attribute_pointer(struct encoder *encoder, unsigned list, const char *key, uint64_t value);
/* Writes an argument of an event: a value of an enum by its name, a null pointer not at all. */
void attribute_argument(struct encoder *encoder, unsigned list, const struct recording_event *event,
                        unsigned index);

#endif
