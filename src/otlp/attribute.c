/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/attribute.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Fields of the messages KeyValue and AnyValue. */
#define KEY FIELD(1, "key")
#define VALUE FIELD(2, "value")
#define VALUE_STRING FIELD(1, "stringValue")
#define VALUE_BOOL FIELD(2, "boolValue")
#define VALUE_INTEGER FIELD(3, "intValue")
#define VALUE_REAL FIELD(4, "doubleValue")

static void open_value(struct encoder *encoder, unsigned list, const char *key)
{
    encode_open(encoder, ITEM(list));
    encode_text(encoder, KEY, key);
    encode_open(encoder, VALUE);
}

static void close_value(struct encoder *encoder)
{
    encode_close(encoder);
    encode_close(encoder);
}

void attribute_value(struct encoder *encoder, const char *bytes, size_t length)
{
    encode_string(encoder, VALUE_STRING, bytes, length);
}

void attribute_string(struct encoder *encoder, unsigned list, const char *key, const char *bytes,
                      size_t length)
{
    open_value(encoder, list, key);
    attribute_value(encoder, bytes, length);
    close_value(encoder);
}

void attribute_text(struct encoder *encoder, unsigned list, const char *key, const char *string)
{
    attribute_string(encoder, list, key, string, strlen(string));
}

void attribute_integer(struct encoder *encoder, unsigned list, const char *key, int64_t value)
{
    open_value(encoder, list, key);
    encode_integer(encoder, VALUE_INTEGER, value);
    close_value(encoder);
}

void attribute_unsigned(struct encoder *encoder, unsigned list, const char *key, uint64_t value)
{
    char digits[24];
    if (value <= INT64_MAX) {
        attribute_integer(encoder, list, key, (int64_t)value);
        return;
    }
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    attribute_text(encoder, list, key, digits);
}

void attribute_bool(struct encoder *encoder, unsigned list, const char *key, bool value)
{
    open_value(encoder, list, key);
    encode_bool(encoder, VALUE_BOOL, value);
    close_value(encoder);
}

static void put_real(struct encoder *encoder, unsigned list, const char *key, uint64_t word)
{
    double value;
    memcpy(&value, &word, sizeof value);
    open_value(encoder, list, key);
    encode_real(encoder, VALUE_REAL, value);
    close_value(encoder);
}

void attribute_pointer(struct encoder *encoder, unsigned list, const char *key, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "0x%" PRIx64, value);
    attribute_text(encoder, list, key, digits);
}

void attribute_argument(struct encoder *encoder, unsigned list, const struct recording_event *event,
                        unsigned index)
{
    const struct recording_argument *argument = &event->tracepoint->arguments[index];
    const uint64_t word = event->words[index];
    const char *name = argument->enumeration ? recording_enumerator(argument->enumeration, word) : NULL;
    if (name) {
        attribute_text(encoder, list, argument->name, name);
        return;
    }
    switch (argument->kind) {
    case RECORDING_SIGNED: attribute_integer(encoder, list, argument->name, (int64_t)word); break;
    case RECORDING_POINTER: attribute_pointer(encoder, list, argument->name, word); break;
    case RECORDING_REAL: put_real(encoder, list, argument->name, word); break;
    case RECORDING_BOOL: attribute_bool(encoder, list, argument->name, word != 0); break;
    case RECORDING_STRING: {
        const struct recording_text text = recording_string(event, index);
        if (!text.is_null)
            attribute_string(encoder, list, argument->name, text.bytes, text.length);
        break;
    }
    default: attribute_unsigned(encoder, list, argument->name, word);
    }
}
