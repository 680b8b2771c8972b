/* SPDX-License-Identifier: BSD-3-Clause */
/* See json.h. */
#include "print/json.h"

#include <stdbool.h>
#include <string.h>

#include "base/number.h"
#include "base/terminal.h"

size_t utf8_length(const char *string, size_t left)
{
    uint32_t point;
    return utf8_character(string, left, &point);
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static void escape_unit(struct text *out, uint32_t unit)
{
    static const char digits[] = "0123456789abcdef";
    char code[6] = {
        '\\', 'u', digits[unit >> 12], digits[unit >> 8 & 15], digits[unit >> 4 & 15], digits[unit & 15]};
    text_append(out, code, sizeof code);
}

static void escape_point(struct text *out, uint32_t point)
{
    switch (point) {
    case '"': text_append(out, "\\\"", 2); return;
    case '\\': text_append(out, "\\\\", 2); return;
    case '\n': text_append(out, "\\n", 2); return;
    case '\r': text_append(out, "\\r", 2); return;
    case '\t': text_append(out, "\\t", 2); return;
    default:
        if (point >= 0x10000)
            escape_unit(out, 0xd800 + ((point - 0x10000) >> 10));
        escape_unit(out, point >= 0x10000 ? 0xdc00 + (point & 0x3ff) : point);
    }
}

/* What is not plain and not a character that is seen is escaped. */
static void escape(struct text *out, const char *string, size_t length, bool (*is_kept)(unsigned char byte))
{
    size_t done = 0;
    for (size_t i = 0, step; i < length; i += step) {
        uint32_t point = (unsigned char)string[i];
        step = 1;
        if (is_kept((unsigned char)point))
            continue;
        if (point >= 0x80 && (step = utf8_character(string + i, length - i, &point)) &&
            !utf8_is_hidden(point))
            continue;
        text_append(out, string + done, i - done);
        escape_point(out, step ? point : (unsigned char)string[i]);
        step = step ? step : 1;
        done = i + step;
    }
    text_append(out, string + done, length - done);
}

void json_escape(struct text *out, const char *string, size_t length)
{
    escape(out, string, length, is_plain);
}

static bool is_of_json(unsigned char byte)
{
    return byte < 0x7f;
}

void json_escape_again(struct text *out, const char *json, size_t length)
{
    escape(out, json, length, is_of_json);
}

void json_escape_tail(struct text *out, size_t begin, struct text *scratch)
{
    size_t i = begin;
    while (i < out->length && is_plain((unsigned char)out->bytes[i]))
        i++;
    if (i >= out->length)
        return;
    text_clear(scratch);
    text_append(scratch, out->bytes + i, out->length - i);
    out->length = i;
    if (scratch->failed)
        out->failed = true;
    else
        json_escape(out, text_string(scratch), scratch->length);
}

void json_string(struct text *out, const char *string)
{
    text_char(out, '"');
    json_escape(out, string, strlen(string));
    text_char(out, '"');
}

/* A double has 53 bits, and zeros below them cost nothing. */
static bool fits_double(uint64_t magnitude)
{
    return !magnitude || magnitude >> __builtin_ctzll(magnitude) < UINT64_C(1) << 53;
}

static uint64_t magnitude_of(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void json_signed(struct text *out, int64_t value)
{
    bool quote = !fits_double(magnitude_of(value));
    if (quote)
        text_char(out, '"');
    number_signed(out, value);
    if (quote)
        text_char(out, '"');
}

void json_unsigned(struct text *out, uint64_t value)
{
    bool quote = !fits_double(value);
    if (quote)
        text_char(out, '"');
    number_unsigned(out, value);
    if (quote)
        text_char(out, '"');
}

void number_unsigned(struct text *out, uint64_t value)
{
    char digits[20];
    text_append(out, digits, (size_t)(number_write(digits, value) - digits));
}

void number_signed(struct text *out, int64_t value)
{
    char digits[21] = "-";
    const bool is_negative = value < 0;
    text_append(out, digits, (size_t)(number_write(digits + is_negative, magnitude_of(value)) - digits));
}

void number_hex(struct text *out, uint64_t value)
{
    char buffer[16];
    char *begin = buffer + sizeof buffer;
    do
        *--begin = "0123456789abcdef"[value & 15];
    while (value >>= 4);
    text_append(out, begin, (size_t)(buffer + sizeof buffer - begin));
}
