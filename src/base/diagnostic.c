/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/diagnostic.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void diagnose(struct diagnostics *diagnostics, enum severity severity, struct place place,
                     const char *format, va_list arguments)
{
    struct text text = {0};
    text_vprintf(&text, format, arguments);
    const char *message = arena_strdup(diagnostics->arena, text_string(&text));
    text_free(&text);
    for (size_t i = 0; i < diagnostics->count; i++) {
        const struct diagnostic *old = &diagnostics->items[i];
        if (old->severity == severity && old->place.source == place.source &&
            old->place.begin == place.begin && old->place.end == place.end && !strcmp(old->message, message))
            return;
    }
    *arena_push(diagnostics->arena, diagnostics->items, diagnostics->count, diagnostics->room) =
        (struct diagnostic){.severity = severity, .place = place, .message = message};
    diagnostics->errors += severity == DIAGNOSTIC_ERROR;
}

void diagnose_error(struct diagnostics *diagnostics, struct place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    diagnose(diagnostics, DIAGNOSTIC_ERROR, place, format, arguments);
    va_end(arguments);
}

void diagnose_warning(struct diagnostics *diagnostics, struct place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    diagnose(diagnostics, DIAGNOSTIC_WARNING, place, format, arguments);
    va_end(arguments);
}

void diagnose_hint(struct diagnostics *diagnostics, const char *format, ...)
{
    if (!diagnostics->count)
        return;
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&text, format, arguments);
    va_end(arguments);
    diagnostics->items[diagnostics->count - 1].hint = arena_strdup(diagnostics->arena, text_string(&text));
    text_free(&text);
}

struct position source_position(const struct source *source, uint32_t offset)
{
    struct position position = {1, 1};
    if (offset > source->length)
        offset = (uint32_t)source->length;
    for (uint32_t i = 0; i < offset; i++) {
        position.column++;
        if (source->text[i] == '\n')
            position = (struct position){position.line + 1, 1};
    }
    return position;
}

struct place place_between(struct place first, struct place last)
{
    return (struct place){first.source, first.begin, last.end > first.begin ? last.end : first.end};
}

/* The line's text with tabs as four spaces; the marker below runs under the same columns. */
static void diagnostic_line(struct text *out, const struct source *source, struct place place)
{
    size_t begin = place.begin, end;
    while (begin > 0 && source->text[begin - 1] != '\n')
        begin--;
    for (end = begin; end < source->length && source->text[end] != '\n'; end++)
        ;
    struct text marker = {0};
    for (size_t i = begin; i <= end; i++) {
        bool tab = i < end && source->text[i] == '\t';
        bool inside = i >= place.begin && (i < place.end || (i == place.begin && place.begin == place.end));
        if (i < end)
            text_add(out, tab ? "    " : (char[]){source->text[i], 0});
        if (inside || i < place.begin)
            text_fill(&marker, inside ? '~' : ' ', tab ? 4 : 1);
    }
    text_printf(out, "\n%s\n", text_string(&marker));
    text_free(&marker);
}

void diagnostic_render(struct text *out, const struct diagnostic *diagnostic, bool colour)
{
    static const char *const words[] = {"ERROR", "WARNING"};
    static const char *const colours[] = {"\033[31m", "\033[33m"};
    const struct source *source = diagnostic->place.source;
    struct position first = {0, 0}, last = {0, 0};
    if (source) {
        first = source_position(source, diagnostic->place.begin);
        last = source_position(source, diagnostic->place.end);
        if (first.line == last.line)
            text_printf(out, "%s:%u:%u-%u: ", source->name, first.line, first.column, last.column);
        else
            text_printf(out, "%s:%u-%u: ", source->name, first.line, last.line);
    }
    text_printf(out, "%s%s:%s %s\n", colour ? colours[diagnostic->severity] : "", words[diagnostic->severity],
                colour ? "\033[0m" : "", diagnostic->message);
    if (source && first.line == last.line)
        diagnostic_line(out, source, diagnostic->place);
    if (diagnostic->hint)
        text_printf(out, "HINT: %s\n", diagnostic->hint);
}

void diagnostics_render(struct text *out, const struct diagnostics *diagnostics, enum severity severity,
                        bool colour)
{
    for (size_t i = 0; i < diagnostics->count; i++)
        if (diagnostics->items[i].severity == severity)
            diagnostic_render(out, &diagnostics->items[i], colour);
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    enum { LONGEST = 64 };
    size_t n = strlen(nearest->name), m = strlen(candidate);
    if (n == 0 || n > LONGEST || m > LONGEST)
        return;
    unsigned row[LONGEST + 1];
    for (size_t j = 0; j <= m; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned replace = diagonal + (nearest->name[i - 1] != candidate[j - 1]);
            diagonal = row[j];
            unsigned shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replace < shorter ? replace : shorter;
        }
    }
    unsigned limit = n < 4 ? 1 : (unsigned)n / 3;
    if (row[m] <= limit && (!nearest->best || row[m] < nearest->distance)) {
        nearest->best = candidate;
        nearest->distance = row[m];
    }
}
