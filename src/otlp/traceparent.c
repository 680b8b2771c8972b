/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/traceparent.h"

#include <ctype.h>
#include <string.h>

#include "base/number.h"

enum {
    SPAN_DIGITS = 16,
    TRACE_DIGITS = 32,
    TRACE_AT = 3,
    SPAN_AT = 36,
    FLAGS_AT = 53,
    LENGTH = 55,
    HEXADECIMAL = 16
};

/* Reads so many digits, all of them in lower case. */
static bool read_digits(const char *text, size_t count, uint64_t *value)
{
    for (size_t i = 0; i < count; i++)
        if (digit_value(text[i]) >= HEXADECIMAL || isupper((unsigned char)text[i]))
            return false;
    return number_take(&text, text + count, HEXADECIMAL, value);
}

/* Numbers of ids are written with the highest byte first. */
static bool use_ids(uint64_t high, uint64_t low, uint64_t span, struct traceparent *parent)
{
    for (int i = 0; i < 8; i++) {
        parent->trace[i] = (uint8_t)(high >> (56 - 8 * i));
        parent->trace[8 + i] = (uint8_t)(low >> (56 - 8 * i));
    }
    parent->span = span;
    return (high || low) && span;
}

bool traceparent_read(const char *text, size_t length, struct traceparent *parent)
{
    uint64_t version, high, low, span, flags;
    if (length < LENGTH || text[TRACE_AT - 1] != '-' || text[SPAN_AT - 1] != '-' ||
        text[FLAGS_AT - 1] != '-' || !read_digits(text, 2, &version) || version == 0xff ||
        (length > LENGTH && (!version || text[LENGTH] != '-')))
        return false;
    return read_digits(text + TRACE_AT, TRACE_DIGITS / 2, &high) &&
           read_digits(text + TRACE_AT + TRACE_DIGITS / 2, TRACE_DIGITS / 2, &low) &&
           read_digits(text + SPAN_AT, SPAN_DIGITS, &span) && read_digits(text + FLAGS_AT, 2, &flags) &&
           use_ids(high, low, span, parent);
}

bool traceparent_of(const struct recording_event *event, struct traceparent *parent)
{
    static const char *const names[] = {"trace_id_high", "trace_id_low", "parent_span_id"};
    uint64_t numbers[3] = {0};
    for (unsigned i = 0; i < event->tracepoint->argument_count; i++) {
        const struct recording_argument *argument = &event->tracepoint->arguments[i];
        if (argument->kind == RECORDING_STRING && !strcmp(argument->name, "traceparent")) {
            const struct recording_text text = recording_string(event, i);
            return !text.is_null && !text.is_cut && traceparent_read(text.bytes, text.length, parent);
        }
        for (size_t j = 0; j < sizeof names / sizeof *names; j++)
            if ((argument->kind == RECORDING_UNSIGNED || argument->kind == RECORDING_SIGNED) &&
                !strcmp(argument->name, names[j]))
                numbers[j] = event->words[i];
    }
    return use_ids(numbers[0], numbers[1], numbers[2], parent);
}
