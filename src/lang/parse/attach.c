/* SPDX-License-Identifier: BSD-3-Clause */
/* Attach points: kind:piece:piece… The probe kind decides what the pieces mean.
 *
 * They are read as text because paths, wildcards and symbols are no tokens: in /usr/lib/x*:f a wildcard follows a
 * slash, and elsewhere a comment begins so. The one hard question is whether a slash belongs to a piece or begins
 * the predicate; attach_slash_is_text() answers it. */
#include "lang/parse/parser.h"

#include <string.h>

/* Whether a character ends a piece, and with it the search for a colon. */
static bool ends_piece(char c)
{
    return !c || lexer_is_blank(c) || c == ',' || c == '{' || c == '}' || c == ';';
}

/* Whether a slash inside a piece is a part of its text: it is if a colon follows with nothing between them that
 * only an expression has. In `uprobe:bin/x:f` the path goes on, in `uprobe:x:f/arg0 == 1/ {` it does not. */
static bool attach_slash_is_text(struct parser *parser, uint32_t slash)
{
    if (slash < parser->colon_searched)
        return parser->colon_found;
    uint32_t at = slash + 1;
    for (char c = parser_at(parser, at); !ends_piece(c) && !strchr(":=<>!&|()\"", c);
         c = parser_at(parser, at))
        at++;
    parser->colon_searched = at;
    parser->colon_found = parser_at(parser, at) == ':';
    return parser->colon_found;
}

/* '$' digits: the value of a positional parameter */
static void attach_parameter(struct parser *parser, struct text *text)
{
    const uint32_t begin = parser->lexer.position++;
    const uint64_t number = lexer_decimal(&parser->lexer);
    const struct parameters *parameters = parser->parameters;
    parser->takes_parameters = true;
    struct span span = {parser->source, begin, parser->lexer.position};
    if (!number) {
        parser_report(parser, DIAGNOSTIC_ERROR, span, "There is no such parameter: '$0'");
        parser_hint(parser, "the parameters of a script are $1, $2 and so on");
    } else if (!parameters || number > parameters->count) {
        parser_report(parser, DIAGNOSTIC_WARNING, span, "Parameter $%llu is not given: it is empty here",
                      (unsigned long long)number);
        parser_hint(parser, "parameters of a script follow it on the command line, behind --");
    } else
        text_add(text, parameters->values[number - 1]);
}

/* Appends one character, or one escape, of a quoted text. */
static void attach_quoted_character(struct parser *parser, struct text *text)
{
    const char *at = parser->source->text + parser->lexer.position;
    size_t left = parser->source->length - parser->lexer.position, used = 0;
    char value = *at;
    if (*at == '\\' && left > 1 && at[1] == '$')
        used = 2, value = '$';
    else if (*at == '\\')
        used = lexer_escape(at, left, &value);
    if (value) /* a NUL is in no name */
        text_char(text, value);
    parser->lexer.position += (uint32_t)(used ? used : 1);
}

/* quoted: '"' (character | escape | parameter)* '"' */
static bool attach_quoted(struct parser *parser, struct text *text)
{
    uint32_t begin = parser->lexer.position++;
    for (;;) {
        char c = parser_at(parser, parser->lexer.position);
        if (!c || c == '\n') {
            struct span span = {parser->source, begin, parser->lexer.position};
            parser_fail(parser, span, "Unterminated string in a probe");
            parser_hint(parser, "it ends with \" on the line where it began");
            return false;
        }
        if (c == '"')
            return parser->lexer.position++, true;
        if (c == '$' && lexer_is_digit(parser_at(parser, parser->lexer.position + 1)))
            attach_parameter(parser, text);
        else
            attach_quoted_character(parser, text);
    }
}

/* piece: (quoted | parameter | character)*    up to a colon, a blank, a comma, a brace, or a predicate */
static bool attach_piece(struct parser *parser, struct attach_piece *piece, bool is_first, bool is_pattern)
{
    struct text text = {0};
    uint32_t begin = parser->lexer.position;
    char c = parser_at(parser, begin);
    bool is_path = is_pattern || (!is_first && (c == '/' || c == '.'));
    bool good = true;
    for (; good && !ends_piece(c) && c != ':'; c = parser_at(parser, parser->lexer.position)) {
        if (c == '"') {
            good = attach_quoted(parser, &text);
            piece->quoted = true;
            piece->quoted_end = (uint32_t)text.length;
        } else if (c == '$' && lexer_is_digit(parser_at(parser, parser->lexer.position + 1)))
            attach_parameter(parser, &text);
        else if (c == '/' && !is_path && !attach_slash_is_text(parser, parser->lexer.position))
            break;
        else {
            text_char(&text, c);
            parser->lexer.position++;
        }
    }
    piece->text = text_keep(&text, parser->arena);
    piece->span = (struct span){parser->source, begin, parser->lexer.position};
    return good;
}

/* Splits a piece that is a whole attach point, because it came as a parameter: $1 { … } with i:ms:1. */
static void attach_split(struct parser *parser, struct attach_point *point)
{
    struct attach_piece *piece = &point->pieces[point->piece_count - 1];
    const char *text = piece->text;
    const struct span span = piece->span;
    for (const char *colon; (colon = strchr(text, ':')); text = colon + 1) {
        piece->text = arena_copy(parser->arena, text, (size_t)(colon - text));
        piece = arena_push(parser->arena, point->pieces, point->piece_count, point->piece_room);
        *piece = (struct attach_piece){.span = span, .text = arena_strdup(parser->arena, colon + 1)};
    }
}

/* attach_point: piece (':' piece)*            blanks may stand around the colons */
struct attach_point *parse_attach_point(struct parser *parser, bool is_pattern)
{
    struct attach_point *point = arena_new(parser->arena, struct attach_point);
    uint32_t begin = parser->lexer.position, end;
    for (bool is_first = true;; is_first = false) {
        struct attach_piece *piece =
            arena_push(parser->arena, point->pieces, point->piece_count, point->piece_room);
        bool good = attach_piece(parser, piece, is_first, is_pattern);
        end = parser->lexer.position;
        if (!good)
            return NULL;
        if (is_first && !piece->quoted && parser_at(parser, begin) == '$')
            attach_split(parser, point);
        struct lexer ahead = parser->lexer;
        if (!lexer_skip_blanks(&ahead) || parser_at(parser, ahead.position) != ':')
            break;
        ahead.position++;
        end = ahead.position;
        parser->lexer = ahead;
        /* Blanks may follow the colon, but no comments: a path may begin with two slashes. */
        while (lexer_is_blank(parser_at(parser, ahead.position)))
            ahead.position++;
        if (!ends_piece(parser_at(parser, ahead.position)))
            parser->lexer = ahead;
    }
    point->span = (struct span){parser->source, begin, end};
    point->text = parser_word(parser, point->span);
    if (end > begin)
        return point;
    /* There is nothing that a probe can begin with. The caller's message would be about the character after it. */
    point->span.end++;
    parser_fail(parser, point->span, "syntax: expected a probe, found '%s'",
                parser_word(parser, point->span));
    return NULL;
}
