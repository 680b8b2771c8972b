/* SPDX-License-Identifier: BSD-3-Clause */
/* See format.h. The grammar of a conversion:
 *     '%' flags* [width | '*'] ['.' digits*] [length] conversion
 *     flags = [-+ #0]   length = hh h ll l j z t L   conversion = [diuoxXcps] | 'r' ['x' | 'h'] | "gr"
 * The star and the precision are accepted and ignored: text is cut with str(p, n), and integers have no use
 * for one. */
#include "print/format.h"

#include <string.h>

#include "base/number.h"
#include "print/gfp.h"
#include "print/json.h"
#include "base/terminal.h"

enum { FORMAT_WIDTH_MAX = 1 << 16 };

static const struct length_modifier {
    const char *text; /* longer ones first */
    uint8_t bits;
} lengths[] = {{"hh", 8}, {"h", 16}, {"ll", 64}, {"l", 64}, {"j", 64}, {"z", 64}, {"t", 64}, {"L", 64}};

struct scanner {
    const char *text;
    size_t at, end;
};

static char peek(const struct scanner *scanner)
{
    return scanner->at < scanner->end ? scanner->text[scanner->at] : 0;
}

static uint32_t parse_digits(struct scanner *scanner)
{
    const char *at = scanner->text + scanner->at;
    uint64_t value;
    number_take(&at, scanner->text + scanner->end, 10, &value);
    scanner->at = (size_t)(at - scanner->text);
    return value < FORMAT_WIDTH_MAX ? (uint32_t)value : FORMAT_WIDTH_MAX;
}

static bool parse_flag(struct format_segment *segment, char c)
{
    switch (c) {
    case '-': return segment->left = true;
    case '+': return segment->plus = true;
    case ' ': return segment->space = true;
    case '#': return segment->alternate = true;
    case '0': return segment->zero = true;
    default: return false;
    }
}

/* A conversion after its %, or false: then it is text. */
static bool parse_conversion(struct scanner *scanner, struct format_segment *segment)
{
    while (parse_flag(segment, peek(scanner)))
        scanner->at++;
    if (peek(scanner) == '*')
        scanner->at++;
    else
        segment->width = parse_digits(scanner);
    if (peek(scanner) == '.') {
        scanner->at++;
        parse_digits(scanner);
    }
    segment->bits = 32;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t length = strlen(lengths[i].text);
        if (scanner->end - scanner->at >= length &&
            memcmp(scanner->text + scanner->at, lengths[i].text, length) == 0) {
            scanner->at += length;
            segment->bits = lengths[i].bits;
            break;
        }
    }
    segment->conversion = peek(scanner);
    if (!segment->conversion || !strchr("diuoxXcpsrg", segment->conversion))
        return false;
    scanner->at++;
    if (segment->conversion == 'g' && (peek(scanner) != 'r' || !++scanner->at))
        return false;
    if (segment->conversion == 'p')
        segment->bits = 64;
    if (segment->conversion == 'r' && (peek(scanner) == 'x' || peek(scanner) == 'h'))
        segment->variant = scanner->text[scanner->at++];
    return true;
}

const struct format *format_parse(struct arena *arena, const char *text, size_t length)
{
    struct format *format = arena_new(arena, struct format);
    struct format_segment *segments = NULL;
    size_t room = 0;
    struct scanner scanner = {text, 0, length};
    /* Literal text only shrinks, where %% becomes %. */
    char *literal = arena_alloc(arena, length + 1), *begin = literal;
    while (scanner.at < length) {
        if (peek(&scanner) != '%') {
            *literal++ = text[scanner.at++];
            continue;
        }
        size_t percent = scanner.at++;
        if (peek(&scanner) == '%') {
            *literal++ = text[scanner.at++];
            continue;
        }
        struct format_segment segment = {.literal = begin, .literal_length = (uint32_t)(literal - begin)};
        if (!parse_conversion(&scanner, &segment)) {
            scanner.at = percent + 1;
            *literal++ = '%';
            continue;
        }
        segment.begin = (uint32_t)percent;
        segment.end = (uint32_t)scanner.at;
        *arena_push(arena, segments, format->count, room) = segment;
        format->arguments++;
        begin = literal;
    }
    if (literal != begin) {
        struct format_segment *last = arena_push(arena, segments, format->count, room);
        last->literal = begin;
        last->literal_length = (uint32_t)(literal - begin);
        last->begin = last->end = (uint32_t)length;
    }
    format->segments = segments;
    return format;
}

const struct format_segment *format_conversion(const struct format *format, size_t n)
{
    /* Only the last segment can be without a conversion. */
    return n < format->arguments ? &format->segments[n] : NULL;
}

bool format_accepts(const struct format_segment *segment, const struct type *type)
{
    switch (segment->conversion) {
    case 's': return type->kind != TYPE_NONE;
    case 'r': return type->kind == TYPE_BUFFER;
    case 'g': return type_is_number(type);
    default: return type_is_scalar(type);
    }
}

const char *format_count_problem(struct arena *arena, const struct format *format, size_t supplied)
{
    if (supplied == format->arguments)
        return NULL;
    return arena_printf(arena, "%s arguments for format string (%zu supplied, %zu expected)",
                        supplied < format->arguments ? "not enough" : "too many", supplied,
                        format->arguments);
}

/* Digits of value in the conversion's base, before `end`; their beginning. */
static char *integer_digits(char *end, char conversion, uint64_t value)
{
    const char *digits = conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    unsigned shift = conversion == 'o' ? 3 : 4;
    do
        *--end = digits[value & ((1u << shift) - 1)];
    while (value >>= shift);
    return end;
}

/* Sign or base prefix, and digits, with the padding around or between them. */
static void emit_padded(struct text *out, const struct format_segment *segment, const char *prefix,
                        size_t prefix_length, const char *digits, size_t length)
{
    size_t total = prefix_length + length, padding = segment->width > total ? segment->width - total : 0;
    if (padding && !segment->left && !segment->zero)
        text_fill(out, ' ', padding);
    text_append(out, prefix, prefix_length);
    if (padding && !segment->left && segment->zero)
        text_fill(out, '0', padding);
    text_append(out, digits, length);
    if (padding && segment->left)
        text_fill(out, ' ', padding);
}

static void print_signed(struct text *out, const struct format_segment *segment, uint64_t word)
{
    unsigned shift = 64 - segment->bits;
    int64_t value = (int64_t)(word << shift) >> shift;
    if (!segment->width && !segment->plus && !segment->space) {
        number_signed(out, value);
        return;
    }
    char buffer[20], *end = buffer + sizeof buffer, *begin = end;
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        *--begin = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    char sign = value < 0 ? '-' : segment->plus ? '+' : ' ';
    bool has_sign = value < 0 || segment->plus || segment->space;
    emit_padded(out, segment, &sign, has_sign, begin, (size_t)(end - begin));
}

static void print_unsigned(struct text *out, const struct format_segment *segment, uint64_t word)
{
    char conversion = segment->conversion;
    uint64_t value = segment->bits == 64 ? word : word & ((UINT64_C(1) << segment->bits) - 1);
    char buffer[24], *end = buffer + sizeof buffer, *begin = end;
    if (conversion == 'u') {
        if (!segment->width) {
            number_unsigned(out, value);
            return;
        }
        do
            *--begin = (char)('0' + value % 10);
        while (value /= 10);
        emit_padded(out, segment, "", 0, begin, (size_t)(end - begin));
        return;
    }
    begin = integer_digits(end, conversion, value);
    const char *prefix = "";
    if (conversion == 'p' || (segment->alternate && value && conversion == 'x'))
        prefix = "0x";
    else if (segment->alternate && value)
        prefix = conversion == 'X' ? "0X" : "0";
    emit_padded(out, segment, prefix, strlen(prefix), begin, (size_t)(end - begin));
}

/* Pads what was appended from `begin` on. */
static void pad_tail(struct text *out, const struct format_segment *segment, size_t begin)
{
    size_t length = out->length - begin;
    if (segment->width <= length)
        return;
    size_t padding = segment->width - length;
    char fill = segment->zero && !segment->left ? '0' : ' ';
    text_fill(out, fill, padding);
    if (segment->left || out->failed)
        return;
    memmove(out->bytes + begin + padding, out->bytes + begin, length);
    memset(out->bytes + begin, fill, padding);
}

static void print_argument(struct printer *printer, const struct format_segment *segment,
                           const struct format_argument *argument)
{
    struct text *out = printer->out;
    size_t begin = out->length;
    char conversion = format_accepts(segment, argument->type) ? segment->conversion : 's';
    switch (conversion) {
    case 'd':
    case 'i': print_signed(out, segment, value_integer(argument->type, argument->bytes)); return;
    case 's':
        printer->keeps_lines = argument->is_own;
        print_text(printer, argument->type, argument->bytes);
        printer->keeps_lines = false;
        break;
    case 'g': print_gfp(out, value_integer(argument->type, argument->bytes)); break;
    case 'r':
        print_buffer(printer, argument->type, argument->bytes,
                     segment->variant == 'x'   ? BUFFER_ESCAPED
                     : segment->variant == 'h' ? BUFFER_HEX
                                               : BUFFER_ASCII);
        break;
    case 'c': {
        char character = (char)value_integer(argument->type, argument->bytes);
        if (printer->is_terminal && !printer->json)
            terminal_escape(out, &character, 1, argument->is_own ? TERMINAL_LINES : TERMINAL_NAME);
        else
            text_char(out, character);
        break;
    }
    default: print_unsigned(out, segment, value_integer(argument->type, argument->bytes)); return;
    }
    if (segment->width)
        pad_tail(out, segment, begin);
}

void format_print(struct printer *printer, const struct format *format,
                  const struct format_argument *arguments, size_t count)
{
    for (size_t i = 0; i < format->count; i++) {
        const struct format_segment *segment = &format->segments[i];
        if (segment->literal_length)
            text_append(printer->out, segment->literal, segment->literal_length);
        if (segment->conversion && i < count)
            print_argument(printer, segment, &arguments[i]);
    }
}
