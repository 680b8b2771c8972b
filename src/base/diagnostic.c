/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/diagnostic.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/terminal.h"

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool source_has_name(const struct source *source, uint32_t offset, const char *name)
{
    const size_t length = strlen(name);
    const char *at = source->text + offset;
    return length && offset + length <= source->length && !strncasecmp(at, name, length) &&
           !(offset && is_of_name(at[-1]) && is_of_name(*name)) &&
           !(offset + length < source->length && is_of_name(at[length]));
}

static void context_add(struct diagnostics *diagnostics, struct span span, const char *message)
{
    struct diagnostic_context **last = &diagnostics->items[diagnostics->count - 1].contexts;
    while (*last)
        last = &(*last)->next;
    *last = arena_new(diagnostics->arena, struct diagnostic_context);
    (*last)->span = span;
    (*last)->message = message;
}

static const struct source_copy *copy_find(const struct diagnostics *diagnostics, const struct source *source)
{
    for (size_t i = diagnostics->copy_count; source && i > 0; i--)
        if (diagnostics->copies[i - 1].copy == source)
            return &diagnostics->copies[i - 1];
    return NULL;
}

static const char expanded_from[] = "expanded from";

const struct source *source_copy(struct diagnostics *diagnostics, const struct source *source,
                                 struct span from)
{
    struct source *copy = arena_new(diagnostics->arena, struct source);
    *copy = *source;
    *arena_push(diagnostics->arena, diagnostics->copies, diagnostics->copy_count, diagnostics->copy_room) =
        (struct source_copy){copy, from};
    return copy;
}

enum { REPORTS_MAX = 100 };

static void diagnose(struct diagnostics *diagnostics, enum severity severity, struct span span,
                     const char *format, va_list arguments)
{
    diagnostics->is_open = false;
    diagnostics->errors += severity == DIAGNOSTIC_ERROR;
    if (diagnostics->reports[severity] > REPORTS_MAX)
        return;
    struct text text = {0};
    terminal_vprint(&text, format, arguments);
    const char *message = text_keep(&text, diagnostics->arena);
    for (size_t i = 0; i < diagnostics->count; i++) {
        const struct diagnostic *old = &diagnostics->items[i];
        if (old->severity == severity && old->span.source == span.source && old->span.begin == span.begin &&
            old->span.end == span.end && !strcmp(old->message, message))
            return;
    }
    if (diagnostics->reports[severity]++ == REPORTS_MAX) {
        span = (struct span){0};
        message = severity == DIAGNOSTIC_ERROR ? "Too many errors: the others are not shown"
                                               : "Too many warnings: the others are not shown";
    } else
        diagnostics->is_open = true;
    *arena_push(diagnostics->arena, diagnostics->items, diagnostics->count, diagnostics->room) =
        (struct diagnostic){.severity = severity, .span = span, .message = message};
    if (!diagnostics->is_open)
        return;
    for (const struct source_copy *copy = copy_find(diagnostics, span.source); copy;
         copy = copy_find(diagnostics, copy->from.source))
        context_add(diagnostics, copy->from, expanded_from);
}

void diagnose_error(struct diagnostics *diagnostics, struct span span, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    diagnose(diagnostics, DIAGNOSTIC_ERROR, span, format, arguments);
    va_end(arguments);
}

void diagnose_warning(struct diagnostics *diagnostics, struct span span, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    diagnose(diagnostics, DIAGNOSTIC_WARNING, span, format, arguments);
    va_end(arguments);
}

void diagnose_hint(struct diagnostics *diagnostics, const char *format, ...)
{
    if (!diagnostics->is_open)
        return;
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&text, format, arguments);
    va_end(arguments);
    diagnostics->items[diagnostics->count - 1].hint = text_keep(&text, diagnostics->arena);
}

void diagnose_hint_lines(struct diagnostics *diagnostics, struct text *lines)
{
    if (diagnostics->is_open)
        diagnostics->items[diagnostics->count - 1].hint = text_keep(lines, diagnostics->arena);
    text_free(lines);
}

void diagnose_fix(struct diagnostics *diagnostics, struct span span, const char *text)
{
    if (!diagnostics->is_open)
        return;
    struct diagnostic_fix *fix = arena_new(diagnostics->arena, struct diagnostic_fix);
    *fix = (struct diagnostic_fix){span, arena_strdup(diagnostics->arena, text)};
    diagnostics->items[diagnostics->count - 1].fix = fix;
}

/* Whether a name can be written without quotes wherever names can be written. */
static bool is_plain(const char *name)
{
    for (; *name; name++)
        if (!is_of_name(*name) && !strchr("@$.", *name))
            return false;
    return true;
}

/* Finds the only place of a name in a span. False: there is none, because a macro wrote the name, or there are several. */
static bool find_name(struct span within, const char *name, struct span *found)
{
    const uint32_t length = (uint32_t)strlen(name);
    size_t count = 0;
    for (uint32_t at = within.begin; within.source && at < within.end; at++)
        if (source_has_name(within.source, at, name) && !count++)
            *found = (struct span){within.source, at, at + length};
    return count == 1 && found->end <= within.end;
}

void diagnose_nearest(struct diagnostics *diagnostics, const struct nearest *nearest, const char *behind)
{
    struct span place;
    diagnose_hint(diagnostics, "did you mean '%s%s'?", nearest->best, behind);
    if (diagnostics->is_open && is_plain(nearest->best) &&
        find_name(diagnostics->items[diagnostics->count - 1].span, nearest->name, &place))
        diagnose_fix(diagnostics, place, nearest->best);
}

void diagnose_context(struct diagnostics *diagnostics, struct span span, const char *format, ...)
{
    if (!diagnostics->is_open)
        return;
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&text, format, arguments);
    va_end(arguments);
    context_add(diagnostics, span, text_keep(&text, diagnostics->arena));
}

void diagnostics_repeat(struct diagnostics *diagnostics, const struct diagnostics *from, bool as_warnings)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct diagnostic *said = &from->items[i];
        (as_warnings || said->severity == DIAGNOSTIC_WARNING ? diagnose_warning : diagnose_error)(
            diagnostics, said->span, "%s", said->message);
        for (const struct diagnostic_context *context = said->contexts; context; context = context->next)
            diagnose_context(diagnostics, context->span, "%s", context->message);
        if (said->hint)
            diagnose_hint(diagnostics, "%s", said->hint);
        if (said->fix)
            diagnose_fix(diagnostics, said->fix->span, said->fix->text);
    }
}

bool diagnostics_are_open(const struct diagnostics *diagnostics)
{
    return diagnostics->is_open;
}

bool diagnostics_are_full(const struct diagnostics *diagnostics)
{
    return diagnostics->reports[DIAGNOSTIC_ERROR] > REPORTS_MAX;
}

struct position source_position_from(struct source_cursor *cursor, const struct source *source,
                                     uint32_t offset)
{
    const char *text = source->text, *newline;
    if (offset > source->length)
        offset = (uint32_t)source->length;
    if (cursor->text != text)
        *cursor = (struct source_cursor){.text = text, .line = 1};
    while (offset > cursor->offset &&
           (newline = memchr(text + cursor->offset, '\n', offset - cursor->offset))) {
        cursor->offset = cursor->line_begin = (uint32_t)(newline + 1 - text);
        cursor->line++;
    }
    while (offset < cursor->line_begin) {
        cursor->line--;
        cursor->line_begin--;
        while (cursor->line_begin && text[cursor->line_begin - 1] != '\n')
            cursor->line_begin--;
    }
    cursor->offset = offset;
    return (struct position){cursor->line, offset - cursor->line_begin + 1};
}

struct position source_position(const struct source *source, uint32_t offset)
{
    struct source_cursor cursor = {0};
    return source_position_from(&cursor, source, offset);
}

struct span span_between(struct span first, struct span last)
{
    return (struct span){first.source, first.begin, last.end > first.begin ? last.end : first.end};
}

enum { LINES_MAX = 20, LINE_BYTES_MAX = 1000, BEFORE_PLACE = 200 };

/* Returns how a byte of the text is shown: as it is, but for tabs and for bytes that would colour the rest. */
static const char *show(char c, char byte[2])
{
    byte[0] = c;
    byte[1] = 0;
    return c == '\t' ? "    " : c == '\033' ? "\\x1b" : byte;
}

/* Writes the line's text with tabs as four spaces, and below it the marker in the same columns. Of a very long
 * line, only the part around the place is shown. */
static void diagnostic_line(struct text *out, const struct source *source, struct span span)
{
    size_t begin = span.begin, end;
    while (begin > 0 && source->text[begin - 1] != '\n')
        begin--;
    for (end = begin; end < source->length && source->text[end] != '\n'; end++)
        ;
    bool is_cut = end - begin > LINE_BYTES_MAX;
    if (is_cut && span.begin - begin > BEFORE_PLACE) {
        begin = span.begin - BEFORE_PLACE;
        while (begin < span.begin && (source->text[begin] & 0xc0) == 0x80)
            begin++;
    }
    if (is_cut && end - begin > LINE_BYTES_MAX)
        for (end = begin + LINE_BYTES_MAX; (source->text[end] & 0xc0) == 0x80;)
            end--;
    struct text marker = {0};
    char byte[2];
    for (size_t i = begin; i <= end; i++) {
        const char *shows = i < end ? show(source->text[i], byte) : "";
        bool inside = i >= span.begin && (i < span.end || (i == span.begin && span.begin == span.end));
        text_add(out, shows);
        if (inside || i < span.begin)
            text_fill(&marker, inside ? '~' : ' ', i < end ? strlen(shows) : 1);
    }
    text_printf(out, "\n%s\n", text_string(&marker));
    text_free(&marker);
}

/* Writes the lines that the place is in, without a marker. */
static void diagnostic_lines(struct text *out, const struct source *source, struct span span)
{
    size_t at = span.begin, lines = 1;
    char byte[2];
    while (at > 0 && source->text[at - 1] != '\n')
        at--;
    for (; at < source->length && (at < span.end || source->text[at] != '\n'); at++) {
        text_add(out, show(source->text[at], byte));
        if (source->text[at] == '\n' && lines++ == LINES_MAX) {
            text_add(out, "...");
            break;
        }
    }
    text_char(out, '\n');
}

static void render_part(struct text *out, enum severity severity, struct span span, const char *message,
                        bool colour)
{
    static const char *const words[] = {"ERROR", "WARNING"};
    static const char *const colours[] = {"\033[31m", "\033[33m"};
    const struct source *source = span.source;
    struct position first = {0, 0}, last = {0, 0};
    if (source) {
        first = source_position(source, span.begin);
        last = source_position(source, span.end);
        if (first.line == last.line)
            terminal_print(out, "%s:%u:%u-%u: ", source->name, first.line, first.column, last.column);
        else
            terminal_print(out, "%s:%u-%u: ", source->name, first.line, last.line);
    }
    text_printf(out, "%s%s:%s %s\n", colour ? colours[severity] : "", words[severity],
                colour ? "\033[0m" : "", message);
    if (source && first.line == last.line)
        diagnostic_line(out, source, span);
    else if (source)
        diagnostic_lines(out, source, span);
}

void diagnostic_render(struct text *out, const struct diagnostic *diagnostic, bool colour)
{
    if (*diagnostic->message) /* without a message, only the hint is shown */
        render_part(out, diagnostic->severity, diagnostic->span, diagnostic->message, colour);
    for (const struct diagnostic_context *context = diagnostic->contexts; context; context = context->next)
        render_part(out, diagnostic->severity, context->span, context->message, colour);
    if (diagnostic->hint)
        text_printf(out, "HINT: %s\n", diagnostic->hint);
}

void diagnostics_render_origin(struct text *out, const struct diagnostics *diagnostics,
                               enum severity severity, struct span span, bool colour)
{
    for (const struct source_copy *copy = copy_find(diagnostics, span.source); copy;
         copy = copy_find(diagnostics, copy->from.source))
        render_part(out, severity, copy->from, expanded_from, colour);
}

void diagnostics_render(struct text *out, const struct diagnostics *diagnostics, enum severity severity,
                        bool colour)
{
    for (size_t i = 0; i < diagnostics->count; i++)
        if (diagnostics->items[i].severity == severity)
            diagnostic_render(out, &diagnostics->items[i], colour);
}

enum { COMPARED_MAX = 64 };

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Returns how many steps lead from one name to another, of n and m letters: a letter more, less or in the place of
 * another, or two neighbours exchanged, as long as nothing else happens to them. More than `limit`: any such number. */
static unsigned distance(const char *name, size_t n, const char *other, size_t m, unsigned limit)
{
    unsigned rows[3][COMPARED_MAX + 1]; /* the distances between beginnings: this row, and the two above it */
    unsigned least_above = 0;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], least = row[0] = (unsigned)i;
        const unsigned *above = rows[(i + 2) % 3], *exchanged = rows[(i + 1) % 3];
        for (size_t j = 1; j <= m; j++) {
            row[j] = smaller(above[j - 1] + (name[i - 1] != other[j - 1]), smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && name[i - 1] == other[j - 2] && name[i - 2] == other[j - 1])
                row[j] = smaller(row[j], exchanged[j - 2] + 1);
            least = smaller(least, row[j]);
        }
        if (least > limit && least_above > limit) /* the distance never gets smaller */
            return limit + 1;
        least_above = least;
    }
    return rows[n % 3][m];
}

/* Whether two names have the same letters, in whatever order. */
static bool have_same_letters(const char *a, const char *b)
{
    int counts[256] = {0};
    for (; *a && *b; a++, b++) {
        counts[(unsigned char)*a]++;
        counts[(unsigned char)*b]--;
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i])
            return false;
    return *a == *b;
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    const size_t n = strlen(nearest->name), m = strlen(candidate);
    /* Of equally near candidates the first stays, unless the letters of a later one are only in another order. */
    const bool yields = nearest->best && m == n && have_same_letters(nearest->name, candidate) &&
                        !have_same_letters(nearest->name, nearest->best);
    unsigned limit = n < 4 ? 1 : (unsigned)n / 3;
    if (nearest->best && !nearest->distance)
        return;
    if (nearest->best)
        limit = nearest->distance - !yields;
    if (n == 0 || n > COMPARED_MAX || m > COMPARED_MAX || (n > m ? n - m : m - n) > limit)
        return;
    const unsigned steps = strcasecmp(nearest->name, candidate)
                               ? distance(nearest->name, n, candidate, m, limit)
                           : strcmp(nearest->name, candidate) ? 1
                                                              : 0;
    if (steps > limit)
        return;
    nearest->best = candidate;
    nearest->distance = steps;
}
