/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/terminal.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* ---- characters ---- */

size_t utf8_character(const char *at, size_t left, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *bytes = (const uint8_t *)at;
    *point = *bytes;
    if (*bytes < 0x80)
        return 1;
    size_t length = *bytes >= 0xf0 ? 4 : *bytes >= 0xe0 ? 3 : 2;
    if (*bytes < 0xc2 || *bytes > 0xf4 || length > left)
        return 0;
    *point = *bytes & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (bytes[i] & 0x3f);
    }
    return *point >= least[length] && *point <= 0x10ffff && (*point < 0xd800 || *point > 0xdfff) ? length : 0;
}

/* The characters for which Unicode says that nothing is shown (Default_Ignorable_Code_Point), and others of its
 * category of formats that are not visible themselves. */
bool utf8_is_hidden(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x80, 0x9f},       /* controls */
        {0xad, 0xad},       /* soft hyphen */
        {0x34f, 0x34f},     /* combining grapheme joiner */
        {0x61c, 0x61c},     /* Arabic letter mark */
        {0x115f, 0x1160},   /* Hangul fillers */
        {0x17b4, 0x17b5},   /* Khmer inherent vowels */
        {0x180b, 0x180f},   /* Mongolian selectors and vowel separator */
        {0x200b, 0x200f},   /* zero width; left-to-right, right-to-left mark */
        {0x2028, 0x202e},   /* line, paragraph; embeddings and overrides of direction */
        {0x2060, 0x206f},   /* word joiner, invisible operators, isolates of direction */
        {0x3164, 0x3164},   /* Hangul filler */
        {0xfe00, 0xfe0f},   /* selectors of variants */
        {0xfeff, 0xfeff},   /* zero width no-break space */
        {0xffa0, 0xffa0},   /* halfwidth Hangul filler */
        {0xfff0, 0xfffb},   /* reserved; interlinear annotation */
        {0xfffe, 0xffff},   /* no characters */
        {0x1bca0, 0x1bca3}, /* shorthand formats */
        {0x1d173, 0x1d17a}, /* musical formats */
        {0xe0000, 0xe0fff}, /* tags, more selectors of variants */
    };
    if (point < hidden[0].first)
        return false;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden && point >= hidden[i].first; i++)
        if (point <= hidden[i].last)
            return true;
    return false;
}

/* Returns the length of the character that begins here if it can be shown; else 0. */
static size_t shown(const char *at, size_t left, enum terminal_text kind)
{
    uint32_t point;
    size_t length = utf8_character(at, left, &point);
    if (point < 0x80)
        return (point >= ' ' && point != 0x7f) || point == '\t' || (point == '\n' && kind != TERMINAL_NAME);
    return length && !utf8_is_hidden(point) ? length : 0;
}

/* Returns the length of a colour sequence (ESC [ digits and semicolons m), or 0. */
static size_t colour(const char *at, size_t left)
{
    size_t i = 2;
    if (left < 3 || at[0] != '\033' || at[1] != '[')
        return 0;
    while (i < left && ((at[i] >= '0' && at[i] <= '9') || at[i] == ';'))
        i++;
    return i < left && at[i] == 'm' ? i + 1 : 0;
}

void terminal_escape(struct text *out, const char *text, size_t length, enum terminal_text kind)
{
    static const char digits[] = "0123456789abcdef";
    size_t begin = 0;
    for (size_t i = 0, step; i < length; i += step) {
        step = shown(text + i, length - i, kind);
        if (!step && kind == TERMINAL_MESSAGE)
            step = colour(text + i, length - i);
        if (step)
            continue;
        uint8_t byte = (uint8_t)text[i];
        text_append(out, text + begin, i - begin);
        text_append(out, (char[]){'\\', 'x', digits[byte >> 4], digits[byte & 15]}, 4);
        begin = i + (step = 1);
    }
    text_append(out, text + begin, length - begin);
}

/* ---- printf's formats ---- */

/* % flags width . precision length letter */
struct conversion {
    char flags[8];
    int width, precision; /* for a star, the value from the arguments; precision -1: none */
    bool is_long;         /* l ll j z t: all of them have 64 bits */
    char letter;
};
_Static_assert(sizeof(long) == 8 && sizeof(size_t) == 8, "what is long has 64 bits");

/* With a copy, a list of arguments can be handed on by its address on every machine. */
struct arguments {
    va_list list;
};

static int take_number(const char **at, struct arguments *arguments)
{
    enum { MOST = 1000000 }; /* of a width or a precision */
    uint64_t number;
    if (**at == '*') {
        ++*at;
        return va_arg(arguments->list, int);
    }
    number_take(at, NULL, 10, &number);
    return number < MOST ? (int)number : MOST;
}

static void take_conversion(struct conversion *conversion, const char **at, struct arguments *arguments)
{
    size_t flags = strspn(*at, "-+ #0");
    *conversion = (struct conversion){.precision = -1};
    memcpy(conversion->flags, *at, flags < 5 ? flags : 5);
    *at += flags;
    conversion->width = take_number(at, arguments);
    if (**at == '.') {
        ++*at;
        conversion->precision = take_number(at, arguments);
    }
    conversion->is_long = **at && strchr("ljzt", **at);
    *at += strspn(*at, "hljzt");
    conversion->letter = **at;
    *at += **at != 0;
}

static void print_name(struct text *out, const struct conversion *conversion, const char *name, size_t length)
{
    bool is_left = strchr(conversion->flags, '-') || conversion->width < 0;
    size_t width = (size_t)(conversion->width < 0 ? -conversion->width : conversion->width);
    struct text shows = {0};
    terminal_escape(&shows, name, length, TERMINAL_NAME);
    out->failed |= shows.failed;
    size_t padding = width > shows.length ? width - shows.length : 0;
    text_fill(out, ' ', is_left ? 0 : padding);
    text_append(out, text_string(&shows), shows.length);
    text_fill(out, ' ', is_left ? padding : 0);
    text_free(&shows);
}

/* Prints a number with the C library's conversion. */
static void print_number(struct text *out, const struct conversion *conversion, struct arguments *arguments)
{
    char format[24];
    snprintf(format, sizeof format, "%%%s*%s%s%c", conversion->flags, conversion->precision >= 0 ? ".*" : "",
             conversion->is_long ? "ll" : "", conversion->letter);
    bool is_integer = strchr("diuoxX", conversion->letter), is_precise = conversion->precision >= 0;
    int width = conversion->width, precision = conversion->precision;
#define PRINT(type)                                                                                          \
    do {                                                                                                     \
        type value = va_arg(arguments->list, type);                                                          \
        if (is_precise)                                                                                      \
            text_printf(out, format, width, precision, value);                                               \
        else                                                                                                 \
            text_printf(out, format, width, value);                                                          \
    } while (0)
    if (is_integer && conversion->is_long)
        PRINT(long long);
    else if (is_integer)
        PRINT(int); /* also shorter integers: their value is in the range of their type */
    else if (conversion->letter == 'p')
        PRINT(void *);
    else
        PRINT(double);
#undef PRINT
}

void terminal_vprint(struct text *out, const char *format, va_list list)
{
    struct arguments arguments;
    struct conversion conversion;
    va_copy(arguments.list, list);
    for (const char *percent; (percent = strchr(format, '%'));) {
        text_append(out, format, (size_t)(percent - format));
        format = percent + 1;
        take_conversion(&conversion, &format, &arguments);
        if (conversion.letter == '%') {
            text_char(out, '%');
        } else if (conversion.letter == 's') {
            const char *name = va_arg(arguments.list, const char *);
            size_t most = conversion.precision < 0 ? SIZE_MAX : (size_t)conversion.precision;
            name = name ? name : "(null)";
            print_name(out, &conversion, name, strnlen(name, most));
        } else if (conversion.letter == 'c') {
            char name = (char)va_arg(arguments.list, int);
            print_name(out, &conversion, &name, 1);
        } else if (conversion.letter && strchr("diuoxXpeEfFgGaA", conversion.letter)) {
            print_number(out, &conversion, &arguments);
        } else { /* the conversion is unknown, and so are the arguments that follow */
            text_add(out, percent);
            break;
        }
        if (out->failed)
            break;
    }
    if (!strchr(format, '%'))
        text_add(out, format);
    va_end(arguments.list);
}

void terminal_print(struct text *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(out, format, arguments);
    va_end(arguments);
}
