/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/encode.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/proto.h"
#include "print/json.h"

/* Begins a member or an item of JSON: it is the first one if it stands behind a bracket, or behind nothing. */
static void begin_member(struct encoder *encoder, const char *name)
{
    struct text *out = encoder->out;
    const char last = out->length ? out->bytes[out->length - 1] : '[';
    if (last != '{' && last != '[' && last != '\n')
        text_char(out, ',');
    if (name)
        text_printf(out, "\"%s\":", name);
}

/* ---- messages ---- */

void encode_open(struct encoder *encoder, struct encoded_field field)
{
    assert(encoder->depth < ENCODED_DEPTH_MAX);
    if (encoder->is_json) {
        begin_member(encoder, field.name);
        text_char(encoder->out, '{');
    } else if (field.number)
        encoder->opened[encoder->depth] = proto_open(encoder->out, field.number);
    else
        encoder->opened[encoder->depth] = 0; /* a whole request has no length before it */
    encoder->depth++;
}

void encode_close(struct encoder *encoder)
{
    const size_t opened = encoder->opened[--encoder->depth];
    if (encoder->is_json)
        text_char(encoder->out, '}');
    else if (opened)
        proto_close(encoder->out, opened);
}

void encode_list(struct encoder *encoder, const char *name)
{
    if (!encoder->is_json)
        return;
    begin_member(encoder, name);
    text_char(encoder->out, '[');
}

void encode_list_end(struct encoder *encoder)
{
    if (encoder->is_json)
        text_char(encoder->out, ']');
}

void encode_items(struct encoder *encoder, const struct text *items)
{
    encoder->out->failed |= items->failed;
    if (!items->length)
        return;
    if (encoder->is_json)
        begin_member(encoder, NULL);
    text_append(encoder->out, items->bytes, items->length);
}

/* ---- values ---- */

void encode_string(struct encoder *encoder, struct encoded_field field, const char *bytes, size_t length)
{
    if (!encoder->is_json) {
        proto_string(encoder->out, field.number, bytes, length);
        return;
    }
    begin_member(encoder, field.name);
    text_char(encoder->out, '"');
    json_escape(encoder->out, bytes, length);
    text_char(encoder->out, '"');
}

void encode_text(struct encoder *encoder, struct encoded_field field, const char *string)
{
    encode_string(encoder, field, string, strlen(string));
}

void encode_id(struct encoder *encoder, struct encoded_field field, const void *id, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *bytes = id;
    if (!encoder->is_json) {
        proto_bytes(encoder->out, field.number, id, length);
        return;
    }
    begin_member(encoder, field.name);
    text_char(encoder->out, '"');
    for (size_t i = 0; i < length; i++) {
        text_char(encoder->out, digits[bytes[i] >> 4]);
        text_char(encoder->out, digits[bytes[i] & 15]);
    }
    text_char(encoder->out, '"');
}

void encode_span(struct encoder *encoder, struct encoded_field field, uint64_t id)
{
    uint8_t bytes[sizeof id];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(id >> (56 - 8 * i));
    encode_id(encoder, field, bytes, sizeof bytes);
}

void encode_small(struct encoder *encoder, struct encoded_field field, uint32_t value)
{
    if (!encoder->is_json) {
        proto_number(encoder->out, field.number, value);
        return;
    }
    begin_member(encoder, field.name);
    number_unsigned(encoder->out, value);
}

void encode_signed_small(struct encoder *encoder, struct encoded_field field, int32_t value)
{
    if (!encoder->is_json) {
        proto_zigzag(encoder->out, field.number, value);
        return;
    }
    begin_member(encoder, field.name);
    number_signed(encoder->out, value);
}

void encode_integer(struct encoder *encoder, struct encoded_field field, int64_t value)
{
    if (!encoder->is_json) {
        proto_signed(encoder->out, field.number, value);
        return;
    }
    begin_member(encoder, field.name);
    text_char(encoder->out, '"');
    number_signed(encoder->out, value);
    text_char(encoder->out, '"');
}

void encode_fixed(struct encoder *encoder, struct encoded_field field, uint64_t value)
{
    if (!encoder->is_json) {
        proto_fixed(encoder->out, field.number, value);
        return;
    }
    begin_member(encoder, field.name);
    text_char(encoder->out, '"');
    number_unsigned(encoder->out, value);
    text_char(encoder->out, '"');
}

static void put_real(struct text *out, double value)
{
    if (isfinite(value))
        text_printf(out, "%.17g", value);
    else
        text_add(out, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

void encode_real(struct encoder *encoder, struct encoded_field field, double value)
{
    if (!encoder->is_json) {
        proto_double(encoder->out, field.number, value);
        return;
    }
    begin_member(encoder, field.name);
    put_real(encoder->out, value);
}

void encode_bool(struct encoder *encoder, struct encoded_field field, bool value)
{
    if (!encoder->is_json) {
        proto_number(encoder->out, field.number, value);
        return;
    }
    begin_member(encoder, field.name);
    text_add(encoder->out, value ? "true" : "false");
}

/* ---- lists of numbers: in protocol buffers one field, with the numbers behind each other ---- */

void encode_numbers(struct encoder *encoder, struct encoded_field field)
{
    assert(encoder->depth < ENCODED_DEPTH_MAX);
    if (encoder->is_json)
        encode_list(encoder, field.name);
    else
        encoder->opened[encoder->depth] = proto_open(encoder->out, field.number);
    encoder->depth++;
}

static void put_quoted(struct encoder *encoder, uint64_t value)
{
    begin_member(encoder, NULL);
    text_char(encoder->out, '"');
    number_unsigned(encoder->out, value);
    text_char(encoder->out, '"');
}

void encode_number_item(struct encoder *encoder, uint64_t value)
{
    if (encoder->is_json)
        put_quoted(encoder, value);
    else
        proto_number_item(encoder->out, value);
}

void encode_fixed_item(struct encoder *encoder, uint64_t value)
{
    if (encoder->is_json)
        put_quoted(encoder, value);
    else
        proto_fixed_item(encoder->out, value);
}

void encode_real_item(struct encoder *encoder, double value)
{
    uint64_t bits;
    if (encoder->is_json) {
        begin_member(encoder, NULL);
        put_real(encoder->out, value);
        return;
    }
    memcpy(&bits, &value, sizeof bits);
    proto_fixed_item(encoder->out, bits);
}

void encode_numbers_end(struct encoder *encoder)
{
    encoder->depth--;
    if (encoder->is_json)
        encode_list_end(encoder);
    else
        proto_close(encoder->out, encoder->opened[encoder->depth]);
}
