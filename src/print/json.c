/* SPDX-License-Identifier: BSD-3-Clause */
/* See json.h. */
#include "print/json.h"

#include <stdbool.h>
#include <string.h>

size_t utf8_length(const char *string, size_t left)
{
    const unsigned char *bytes = (const unsigned char *)string;
    unsigned char first = bytes[0];
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || left < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    if ((first == 0xe0 && bytes[1] < 0xa0) || (first == 0xed && bytes[1] > 0x9f) ||
        (first == 0xf0 && bytes[1] < 0x90) || (first == 0xf4 && bytes[1] > 0x8f))
        return 0;
    return length;
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static void escape_byte(struct text *out, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    switch (byte) {
    case '"': text_append(out, "\\\"", 2); return;
    case '\\': text_append(out, "\\\\", 2); return;
    case '\n': text_append(out, "\\n", 2); return;
    case '\r': text_append(out, "\\r", 2); return;
    case '\t': text_append(out, "\\t", 2); return;
    default: {
        char code[6] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
        text_append(out, code, sizeof code);
    }
    }
}

void json_escape(struct text *out, const char *string, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)string;
    size_t done = 0;
    for (size_t i = 0; i < length;) {
        size_t step = is_plain(bytes[i]) ? 1 : bytes[i] < 0x80 ? 0 : utf8_length(string + i, length - i);
        if (step) {
            i += step;
            continue;
        }
        text_append(out, string + done, i - done);
        escape_byte(out, bytes[i]);
        done = ++i;
    }
    text_append(out, string + done, length - done);
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

#define ROW(tens) tens "0" tens "1" tens "2" tens "3" tens "4" tens "5" tens "6" tens "7" tens "8" tens "9"
static const char pairs[] =
    ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7") ROW("8") ROW("9");
#undef ROW

/* Digits of value before `end`; their beginning. */
static char *digits_before(char *end, uint64_t value)
{
    while (value >= 100) {
        end -= 2;
        memcpy(end, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value < 10) {
        *--end = (char)('0' + value);
        return end;
    }
    end -= 2;
    memcpy(end, pairs + value * 2, 2);
    return end;
}

void number_unsigned(struct text *out, uint64_t value)
{
    char buffer[20];
    char *begin = digits_before(buffer + sizeof buffer, value);
    text_append(out, begin, (size_t)(buffer + sizeof buffer - begin));
}

void number_signed(struct text *out, int64_t value)
{
    char buffer[21];
    char *begin = digits_before(buffer + sizeof buffer, magnitude_of(value));
    if (value < 0)
        *--begin = '-';
    text_append(out, begin, (size_t)(buffer + sizeof buffer - begin));
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
