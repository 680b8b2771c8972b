/* SPDX-License-Identifier: BSD-3-Clause */
/* Scripts and action blocks, and what all productions need: tokens, errors, recovery.
 *
 * Between blocks the script is text (attach points have their own rules), in predicates and blocks it is tokens.
 * lexer.position is the border: no token may be read beyond the brace that ends a block. */
#include "lang/parse/parse.h"
#include "lang/parse/parser.h"

#include <errno.h>
#include <string.h>

#include "lang/c/definitions.h"

enum { LARGEST_SOURCE = 1 << 20, REPORTS_MAX = 20, QUOTE_MAX = 40 };

bool parser_failed(const struct parser *parser)
{
    return parser->token.kind == TOKEN_FAILED;
}

/* Whether one more error or warning may be reported. The bound keeps a hopeless text from flooding the user, and
 * the search for duplicate reports from taking long. */
static bool parser_may_report(struct parser *parser, enum severity severity, struct span span)
{
    if (parser->gave_up)
        return false;
    if (parser->reports < REPORTS_MAX)
        return parser->reports++, true;
    if (severity == DIAGNOSTIC_WARNING)
        return false;
    parser->gave_up = true;
    diagnose_error(parser->diagnostics, span, "Too many errors: the rest of the script was not looked at");
    return false;
}

static void parser_vreport(struct parser *parser, enum severity severity, struct span span,
                           const char *format, va_list arguments)
{
    parser->hint_wanted = parser_may_report(parser, severity, span);
    if (!parser->hint_wanted)
        return;
    struct text text = {0};
    text_vprintf(&text, format, arguments);
    (severity == DIAGNOSTIC_ERROR ? diagnose_error : diagnose_warning)(parser->diagnostics, span, "%s",
                                                                       text_string(&text));
    text_free(&text);
}

void parser_report(struct parser *parser, enum severity severity, struct span span, const char *format, ...)
{
    parser->hint_wanted = false;
    if (parser_failed(parser))
        return;
    va_list arguments;
    va_start(arguments, format);
    parser_vreport(parser, severity, span, format, arguments);
    va_end(arguments);
}

void parser_hint(struct parser *parser, const char *hint)
{
    if (hint && parser->hint_wanted)
        diagnose_hint(parser->diagnostics, "%s", hint);
}

static void parser_set_failed(struct parser *parser)
{
    parser->failed = parser->token;
    parser->token.kind = TOKEN_FAILED;
}

void parser_fail(struct parser *parser, struct span span, const char *format, ...)
{
    parser->hint_wanted = false;
    if (parser_failed(parser))
        return;
    va_list arguments;
    va_start(arguments, format);
    parser_vreport(parser, DIAGNOSTIC_ERROR, span, format, arguments);
    va_end(arguments);
    parser_set_failed(parser);
}

/* Returns the text of a span for a message: short, and only characters that a terminal can show. */
static const char *parser_quote(struct parser *parser, struct span span)
{
    const char *text = parser->source->text + span.begin;
    size_t length = span.end - span.begin;
    bool is_cut = length > QUOTE_MAX;
    if (is_cut)
        for (length = QUOTE_MAX; length && (text[length] & 0xc0) == 0x80;)
            length--;
    char *quote = arena_alloc(parser->arena, length + 4);
    for (size_t i = 0; i < length; i++)
        quote[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    if (is_cut)
        strcpy(quote + length, "...");
    return quote;
}

void parser_fail_expected(struct parser *parser, const char *wanted)
{
    parser->hint_wanted = false;
    if (parser_failed(parser))
        return;
    struct span span = parser->token.span;
    if (parser->token.kind == TOKEN_END)
        parser_fail(parser, span, "syntax: expected %s, found the end of the script", wanted);
    else
        parser_fail(parser, span, "syntax: expected %s, found '%s'", wanted, parser_quote(parser, span));
    if (!parser_hint_habit(parser, span, false))
        parser_hint_habit(parser, parser->previous, false);
}

void parser_fix_missing(struct parser *parser, struct span next, enum token_kind kind)
{
    const uint32_t place = parser->previous.end;
    if (parser->hint_wanted && place <= next.begin) /* or a macro has written both */
        diagnose_fix(parser->diagnostics, (struct span){next.source, place, place}, token_kind_text(kind));
}

void parser_advance(struct parser *parser)
{
    if (parser_failed(parser))
        return;
    parser->previous = parser->token.span;
    if (parser->gave_up)
        parser->lexer.position = (uint32_t)parser->source->length;
    parser->token = lexer_next(&parser->lexer);
    const struct token *token = &parser->token;
    if (!token->error)
        return;
    parser_report(parser, DIAGNOSTIC_ERROR, token->span, "%s: '%s'", token->error,
                  parser_quote(parser, token->span));
    parser_hint(parser, token->hint);
    parser_fix_character(parser, token);
    if (token->kind == TOKEN_ERROR)
        parser_set_failed(parser);
}

bool parser_accept(struct parser *parser, enum token_kind kind)
{
    if (parser->token.kind != kind)
        return false;
    parser_advance(parser);
    return true;
}

bool parser_expect(struct parser *parser, enum token_kind kind)
{
    if (parser_accept(parser, kind))
        return true;
    parser_fail_expected(parser, arena_printf(parser->arena, "'%s'", token_kind_text(kind)));
    return false;
}

struct span parser_since(const struct parser *parser, struct span first)
{
    return span_between(first, parser->previous);
}

const char *parser_word(struct parser *parser, struct span span)
{
    const struct token *token = &parser->token;
    if (token->text && token->span.begin == span.begin && token->span.end == span.end)
        return arena_copy(parser->arena, token->text, token->length);
    return arena_copy(parser->arena, parser->source->text + span.begin, span.end - span.begin);
}

bool parser_enter(struct parser *parser)
{
    if (++parser->nesting <= TREE_NESTING)
        return true;
    parser_fail(parser, parser->token.span, "Nested too deeply: more than %d levels", TREE_NESTING);
    return false;
}

bool parser_link(struct parser *parser)
{
    if (++parser->chain <= TREE_CHAIN)
        return true;
    parser_fail(parser, parser->token.span, "Statement is too long: more than %d operators or branches",
                TREE_CHAIN);
    parser_hint(parser, "keep a part of it in a scratch variable, or use a map as a table");
    return false;
}

char parser_at(const struct parser *parser, uint32_t position)
{
    return position < parser->source->length ? parser->source->text[position] : 0;
}

static bool parser_at_end(const struct parser *parser)
{
    return parser->gave_up || parser->lexer.position >= parser->source->length;
}

/* Skips blanks and comments between attach points. */
static void parser_skip_blanks(struct parser *parser)
{
    if (lexer_skip_blanks(&parser->lexer))
        return;
    /* this token has the text of the error, and moves to the end of the source */
    struct token token = lexer_next(&parser->lexer);
    parser_report(parser, DIAGNOSTIC_ERROR, token.span, "%s", token.error);
    parser_hint(parser, token.hint);
}

/* Recovers from an error before a block: moves to the next { that is not in quotes, or to the end. */
static void parser_find_block(struct parser *parser, uint32_t from)
{
    bool quoted = false;
    for (; parser_at(parser, from) && (quoted || parser_at(parser, from) != '{'); from++)
        if (parser_at(parser, from) == '"' || parser_at(parser, from) == '\n')
            quoted = parser_at(parser, from) == '"' && !quoted;
    parser->lexer.position = from;
}

/* predicate: '/' expression '/'       the second slash is the one that a '{' follows */
static struct node *parse_predicate(struct parser *parser)
{
    parser->lexer.position++;
    parser->lexer.in_predicate = true;
    parser_advance(parser);
    struct node *predicate = parse_expression(parser);
    if (parser->token.kind == TOKEN_PREDICATE_END)
        return parser->lexer.in_predicate = false, predicate;
    if (!parser_failed(parser)) {
        const struct token found = parser->token;
        parser_fail_expected(parser, "'/' at the end of the predicate");
        if (found.kind == TOKEN_ASSIGN)
            parser_hint_comparison(parser, found.span);
        parser_hint(parser, "a predicate stands between slashes before the block: /pid == 1/ { ... }");
    }
    parser->lexer.in_predicate = false;
    parser_find_block(parser, parser->failed.span.begin);
    return NULL;
}

/* Skips the name in name=probe. Names have no use yet, in any version of the language. */
static bool parser_skip_probe_name(struct parser *parser)
{
    struct lexer ahead = parser->lexer;
    struct token word = lexer_next(&ahead);
    if (!token_is_word(&word) || parser_at(parser, ahead.position) != '=')
        return false;
    parser->lexer.position = ahead.position + 1;
    return true;
}

/* Whether what stands before the next block, on the same line, looks like a condition. */
static bool is_condition(const struct parser *parser, uint32_t from)
{
    static const char *const signs[] = {"==", "!=", "<", ">", "&&", "||"};
    const char *text = parser->source->text + from;
    const size_t length = strcspn(text, "{\n");
    if (!strncmp(text, "if", 2) && !lexer_is_word(text[2]))
        return true;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (memmem(text, length, signs[i], strlen(signs[i])))
            return true;
    return false;
}

/* Says what may be missing between a probe and what follows it. */
static void hint_after_probe(struct parser *parser, const struct attach_point *point, uint32_t place)
{
    const char next = parser_at(parser, place);
    if (is_condition(parser, place)) {
        parser_hint(parser, "a predicate stands between slashes before the block: /pid == 1/ { ... }");
    } else if (point->piece_count == 1 && (next == ';' || next == '(' || next == '=')) {
        parser_hint(parser, "statements stand in the block of a probe: begin { ... }");
    } else if (point->piece_count == 1 && lexer_is_word(next)) {
        parser_hint(parser, "the parts of a probe are joined by colons: kprobe:vfs_read { ... }");
        if (parser->hint_wanted)
            diagnose_fix(parser->diagnostics, (struct span){parser->source, point->span.end, place}, ":");
    } else {
        const char *text = parser->source->text + place;
        parser_hint(parser, "a probe is followed by its block: interval:s:1 { ... }; several probes are "
                            "separated by commas");
        if (parser->hint_wanted && lexer_is_word(next) && memchr(text, ':', strcspn(text, " \t\n{")))
            diagnose_fix(parser->diagnostics, (struct span){parser->source, point->span.end, point->span.end},
                         ",");
    }
}

/* attach points: (word '=')? attach_point? (',' attach_point?)* */
static struct attach_point *parse_attach_points(struct parser *parser)
{
    struct attach_point *first = NULL, **last = &first;
    bool is_named = false;
    for (;;) {
        parser_skip_blanks(parser);
        char c = parser_at(parser, parser->lexer.position);
        if (c == ',') {
            parser->lexer.position++;
            continue;
        }
        if (parser_at_end(parser) || c == '{' || c == '/')
            return first;
        if (!first && !is_named && (is_named = parser_skip_probe_name(parser)))
            continue;
        struct attach_point *attach_point = parse_attach_point(parser, false);
        if (!attach_point)
            return first;
        *last = attach_point;
        last = &attach_point->next;
        parser_skip_blanks(parser);
        c = parser_at(parser, parser->lexer.position);
        if (c == ',' || c == '{' || c == '/' || parser_at_end(parser))
            continue;
        struct span span = {parser->source, parser->lexer.position, parser->lexer.position + 1};
        parser_fail(parser, span, "syntax: expected '{' after the probe");
        hint_after_probe(parser, attach_point, span.begin);
        return first;
    }
}

/* action block: attach_points predicate? body */
static struct action_block *parse_action_block(struct parser *parser)
{
    struct action_block *block = arena_new(parser->arena, struct action_block);
    parser->nesting = parser->chain = 0;
    parser->token = parser->failed = (struct token){.kind = TOKEN_END};
    if (parser->lexer.expansion && parser->lexer.expanded < parser->lexer.expansion->count)
        parser_report(parser, DIAGNOSTIC_ERROR, parser->lexer.expansion->span,
                      "A macro goes on behind the end of its block");
    parser->lexer.expansion = NULL;
    block->span = (struct span){parser->source, parser->lexer.position, parser->lexer.position};
    block->attach_points = parse_attach_points(parser);
    if (parser_failed(parser)) {
        parser_find_block(parser, parser->lexer.position);
        parser->token.kind = TOKEN_END;
    } else {
        if (!block->attach_points && !parser_at_end(parser)) {
            struct span span = {parser->source, parser->lexer.position, parser->lexer.position + 1};
            parser_report(parser, DIAGNOSTIC_ERROR, span, "A probe is missing before the block");
            parser_hint(parser, "for example interval:s:1 { ... }; spoor -l lists the probes");
        }
        if (parser_at(parser, parser->lexer.position) == '/')
            block->predicate = parse_predicate(parser);
        parser->token = (struct token){.kind = TOKEN_END};
        parser_skip_blanks(parser);
        if (block->attach_points && parser_at_end(parser) && !parser->failed.span.source) {
            uint32_t end = (uint32_t)parser->source->length;
            parser_report(parser, DIAGNOSTIC_ERROR, (struct span){parser->source, end, end},
                          "syntax: expected '{', found the end of the script");
            parser_hint(parser, "a probe is followed by its block: interval:s:1 { ... }");
        }
    }
    if (parser_at_end(parser))
        return NULL;
    parser_advance(parser); /* the { */
    block->body = parse_body(parser);
    block->span.end = block->body->span.end;
    return block;
}

/* Recovers from an error in a form: passes over tokens to a ; outside of braces, or to the } of the first block and
 * a ; behind it. */
static void parser_pass_over(struct parser *parser)
{
    unsigned depth = 0;
    for (;;) {
        struct token token = lexer_next(&parser->lexer);
        if (token.kind == TOKEN_END || (token.kind == TOKEN_SEMICOLON && !depth))
            return;
        depth += token.kind == TOKEN_BRACE_OPEN;
        if (token.kind != TOKEN_BRACE_CLOSE || (depth && --depth))
            continue;
        struct lexer ahead = parser->lexer;
        if (lexer_next(&ahead).kind == TOKEN_SEMICOLON)
            parser->lexer = ahead;
        return;
    }
}

/* Marks what the parser has just passed over as a text that is not in spoor's language. */
static void add_piece(struct parser *parser, struct script *script, uint32_t begin)
{
    if (parser->source == script->source)
        *arena_push(parser->arena, script->c_pieces, script->c_piece_count, script->c_piece_room) =
            (struct c_piece){begin, parser->lexer.position};
}

/* Reads a definition of C or a line of the preprocessor. False: there is none at the position. */
static bool parse_c_piece(struct parser *parser, struct script *script)
{
    uint32_t begin = parser->lexer.position;
    if (!parser->lexer.definitions || !c_begins(parser->source, begin))
        return false;
    parser->lexer.position = c_read(parser->lexer.definitions, parser->source, begin);
    add_piece(parser, script, begin);
    return true;
}

static bool source_check(struct diagnostics *diagnostics, const struct source *source)
{
    struct span span = {source, 0, 0};
    if (source->length > LARGEST_SOURCE) {
        span.source = NULL;
        diagnose_error(diagnostics, span, "%s: the script is larger than 1 MiB", source->name);
        return false;
    }
    const char *nul = memchr(source->text, 0, source->length);
    if (!nul)
        return true;
    span.source = NULL;
    diagnose_error(diagnostics, span, "%s: the script holds a NUL byte: it is not a text", source->name);
    return false;
}

static struct parser parser_begin(struct arena *arena, struct diagnostics *diagnostics,
                                  const struct source *source, const struct parameters *parameters)
{
    return (struct parser){
        .arena = arena,
        .diagnostics = diagnostics,
        .source = source,
        .parameters = parameters,
        .lexer = {.source = source},
        .token = {.kind = TOKEN_END, .span = {source, 0, 0}},
        .previous = {source, 0, 0},
    };
}

/* script: '#!' line? (action_block | form | C)* */
void script_parse_more(struct arena *arena, struct diagnostics *diagnostics, struct script *script,
                       const struct source *source, const struct parameters *parameters)
{
    struct action_block **last = &script->blocks;
    while (*last)
        last = &(*last)->next;
    if (!source_check(diagnostics, source))
        return;
    struct parser parser = parser_begin(arena, diagnostics, source, parameters);
    parser.lexer.definitions = script->definitions;
    if (source->length >= 2 && !memcmp(source->text, "#!", 2)) {
        while (!parser_at_end(&parser) && parser_at(&parser, parser.lexer.position) != '\n')
            parser.lexer.position++;
        add_piece(&parser, script, 0);
    }
    for (;;) {
        parser.token = (struct token){.kind = TOKEN_END};
        parser_skip_blanks(&parser);
        if (parser_at_end(&parser))
            break;
        char c = parser_at(&parser, parser.lexer.position);
        if (c == '}' || c == ';') {
            struct span span = {source, parser.lexer.position, parser.lexer.position + 1};
            if (c == '}')
                parser_report(&parser, DIAGNOSTIC_ERROR, span, "syntax: '}' without a '{' before it");
            parser.lexer.position++;
            continue;
        }
        if (parse_form(&parser, script)) {
            if (parser_failed(&parser)) {
                parser.lexer.position = parser.failed.span.begin;
                parser_pass_over(&parser);
            }
            continue;
        }
        if (parse_c_piece(&parser, script))
            continue;
        struct action_block *block = parse_action_block(&parser);
        if (!block)
            continue;
        *last = block;
        last = &block->next;
        script->block_count++;
    }
    script->takes_parameters |= parser.takes_parameters;
    if (script->definitions)
        c_finish(script->definitions, source);
}

bool script_has_probes(struct diagnostics *diagnostics, const struct script *script)
{
    if (script->block_count)
        return true;
    diagnose_error(diagnostics, (struct span){0}, "No probes in the script");
    diagnose_hint(diagnostics, "a script is made of probes with blocks: BEGIN { printf(\"hello\\n\"); }");
    return false;
}

struct script *script_parse_importing(struct arena *arena, struct diagnostics *diagnostics,
                                      const struct source *source, const struct parameters *parameters,
                                      struct c_definitions *definitions, const struct importer *importer)
{
    struct script *script = arena_new(arena, struct script);
    size_t errors_before = diagnostics->errors;
    script->source = source;
    script->definitions = definitions;
    script->importer = importer;
    script_parse_more(arena, diagnostics, script, source, parameters);
    if (diagnostics->errors == errors_before && !script->imports)
        script_has_probes(diagnostics, script);
    return script;
}

struct script *script_parse_with(struct arena *arena, struct diagnostics *diagnostics,
                                 const struct source *source, const struct parameters *parameters,
                                 struct c_definitions *definitions)
{
    return script_parse_importing(arena, diagnostics, source, parameters, definitions, NULL);
}

struct script *script_parse(struct arena *arena, struct diagnostics *diagnostics, const struct source *source,
                            const struct parameters *parameters)
{
    return script_parse_with(arena, diagnostics, source, parameters, NULL);
}

struct attach_point *attach_point_parse(struct arena *arena, struct diagnostics *diagnostics,
                                        const struct source *source, const struct parameters *parameters)
{
    if (!source_check(diagnostics, source))
        return NULL;
    struct parser parser = parser_begin(arena, diagnostics, source, parameters);
    size_t errors_before = diagnostics->errors;
    lexer_skip_blanks(&parser.lexer);
    if (parser_at_end(&parser)) {
        diagnose_error(diagnostics, (struct span){0}, "The name of a probe is missing");
        return NULL;
    }
    struct attach_point *attach_point = parse_attach_point(&parser, true);
    lexer_skip_blanks(&parser.lexer);
    if (attach_point && !parser_at_end(&parser)) {
        struct span span = {source, parser.lexer.position, (uint32_t)source->length};
        parser_report(&parser, DIAGNOSTIC_ERROR, span,
                      "One probe is expected here, and this does not belong to it");
        parser_hint(&parser, "a text with blanks, commas or braces is put between double quotes");
    }
    return diagnostics->errors == errors_before ? attach_point : NULL;
}
