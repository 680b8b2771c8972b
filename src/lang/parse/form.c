/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms that stand beside action blocks: config, import, macro, fn, and declarations of maps. Definitions of C
 * are not here.
 *
 * The last token of a form stays the current one, because what follows it is text again. */
#include <inttypes.h>
#include <string.h>

#include "lang/parse/parser.h"

enum { FORMS_MAX = 1000 }; /* they are searched by name, one after the other */

/* Moves `last` to the end of a list: *last is where the next item goes. */
#define LIST_END(last)                                                                                       \
    while (*(last))                                                                                          \
    (last) = &(*(last))->next

static const char *parse_word(struct parser *parser, const char *what)
{
    const char *word = parser_word(parser, parser->token.span);
    if (!token_is_word(&parser->token))
        return parser_fail_expected(parser, what), "";
    parser_advance(parser);
    return word;
}

/* ---- config ---- */

/* setting: word '=' (integer | string | word) */
static struct setting *parse_setting(struct parser *parser)
{
    struct setting *setting = arena_new(parser->arena, struct setting);
    struct span first = parser->token.span;
    size_t length;
    setting->key = parse_word(parser, "the name of a setting, or '}'");
    parser_expect(parser, TOKEN_ASSIGN);
    const struct token value = parser->token;
    if (value.kind == TOKEN_STRING)
        setting->value = lexer_string(parser->arena, &value, &length);
    else if (value.kind == TOKEN_INTEGER) /* also 1e6 */
        setting->value = arena_printf(parser->arena, "%" PRIu64, value.value);
    else if (token_is_word(&value))
        setting->value = parser_word(parser, value.span);
    else
        parser_fail_expected(parser, "a number, a word or a string");
    parser_advance(parser);
    setting->span = parser_since(parser, first);
    return setting;
}

/* config: 'config' '=' '{' (setting (';' setting)* ';'?)? '}' */
static void parse_config(struct parser *parser, struct script *script)
{
    struct setting **last = &script->settings;
    LIST_END(last);
    parser_expect(parser, TOKEN_ASSIGN);
    parser_expect(parser, TOKEN_BRACE_OPEN);
    while (!parser_failed(parser) && parser->token.kind != TOKEN_BRACE_CLOSE) {
        if (parser_accept(parser, TOKEN_SEMICOLON))
            continue;
        *last = parse_setting(parser);
        last = &(*last)->next;
        if (parser->token.kind != TOKEN_BRACE_CLOSE && parser->token.kind != TOKEN_SEMICOLON)
            parser_fail_expected(parser, "';' or '}'");
    }
}

/* ---- import ---- */

/* import: 'import' string */
static void parse_import(struct parser *parser, struct script *script)
{
    struct import **last = &script->imports;
    size_t length;
    LIST_END(last);
    if (parser->token.kind != TOKEN_STRING) {
        parser_fail_expected(parser, "the name of a file, between double quotes");
        return;
    }
    *last = arena_new(parser->arena, struct import);
    (*last)->span = span_between(parser->previous, parser->token.span);
    (*last)->path = lexer_string(parser->arena, &parser->token, &length);
    if (script->importer)
        script->importer->import(script->importer, script, *last);
}

/* ---- macro ---- */

enum { PARAMETERS_MAX = 64 };

/* parameter: name | variable | map */
static void parse_macro_parameter(struct parser *parser, struct macro *macro)
{
    const struct token token = parser->token;
    enum node_kind kind = token.kind == TOKEN_VARIABLE ? NODE_VARIABLE
                          : token.kind == TOKEN_MAP    ? NODE_MAP
                                                       : NODE_NAME;
    if (kind == NODE_NAME && token.kind != TOKEN_NAME) {
        parser_fail_expected(parser, "a parameter");
        parser_hint(parser, "a parameter is a name for any value, $name for a variable, or @name for a map");
        return;
    }
    if (macro->parameters.count == PARAMETERS_MAX) {
        parser_fail(parser, token.span, "A macro has at most %d parameters", PARAMETERS_MAX);
        return;
    }
    struct node *node = node_new(parser->arena, kind, token.span);
    const char *name = parser_word(parser, token.span);
    if (kind == NODE_VARIABLE)
        node->variable.name = name;
    else if (kind == NODE_MAP)
        node->map.name = name;
    else
        node->name.name = name;
    for (const struct node *other = macro->parameters.first; other; other = other->next)
        if (other->kind == kind && !strcmp(name, kind == NODE_VARIABLE ? other->variable.name
                                                 : kind == NODE_MAP    ? other->map.name
                                                                       : other->name.name))
            parser_report(parser, DIAGNOSTIC_ERROR, token.span,
                          "%s for macro argument has already been used: %s",
                          kind == NODE_VARIABLE ? "Variable"
                          : kind == NODE_MAP    ? "Map"
                                                : "Name",
                          name);
    node_append(&macro->parameters, node);
    parser_advance(parser);
}

/* macro: 'macro' word '(' (parameter (',' parameter)*)? ')' body */
static void parse_macro(struct parser *parser, struct script *script)
{
    struct macro *macro = arena_new(parser->arena, struct macro), **last = &script->macros;
    struct span first = parser->previous;
    LIST_END(last);
    macro->name = parse_word(parser, "the name of the macro");
    parser_expect(parser, TOKEN_PAREN_OPEN);
    while (!parser_failed(parser) && parser->token.kind != TOKEN_PAREN_CLOSE) {
        parse_macro_parameter(parser, macro);
        if (parser->token.kind != TOKEN_PAREN_CLOSE && !parser_accept(parser, TOKEN_COMMA))
            parser_fail_expected(parser, "',' or ')'");
    }
    parser_expect(parser, TOKEN_PAREN_CLOSE);
    macro->span = parser_since(parser, first);
    if (parser->token.kind != TOKEN_BRACE_OPEN) {
        parser_fail_expected(parser, "'{'");
        return;
    }
    macro->body = parse_body(parser);
    block_to_value(macro->body);
    *last = macro;
}

/* ---- fn ---- */

/* parameter: variable ':' type */
static void parse_fn_parameter(struct parser *parser, struct subprogram *subprogram)
{
    struct span first = parser->token.span;
    struct node *target = node_new(parser->arena, NODE_VARIABLE, first);
    if (parser->token.kind != TOKEN_VARIABLE) {
        parser_fail_expected(parser, "a parameter");
        parser_hint(parser,
                    "parameters are variables with types: fn add($a : int64, $b : int64) : int64 { ... }");
        return;
    }
    target->variable.name = parser_word(parser, first);
    parser_advance(parser);
    parser_expect(parser, TOKEN_COLON);
    struct node *node = node_new(parser->arena, NODE_LET, first);
    node->let.target = target;
    node->let.has_type = parse_type_name(parser, &node->let.type_name);
    node->span = parser_since(parser, first);
    node_append(&subprogram->parameters, node);
}

/* fn: 'fn' word '(' (parameter (',' parameter)*)? ')' (':' type)? body */
static void parse_fn(struct parser *parser, struct script *script)
{
    struct subprogram *subprogram = arena_new(parser->arena, struct subprogram);
    struct subprogram **last = &script->subprograms;
    struct span first = parser->previous;
    LIST_END(last);
    subprogram->name = parse_word(parser, "the name of the function");
    parser_expect(parser, TOKEN_PAREN_OPEN);
    while (!parser_failed(parser) && parser->token.kind != TOKEN_PAREN_CLOSE) {
        parse_fn_parameter(parser, subprogram);
        if (parser->token.kind != TOKEN_PAREN_CLOSE && !parser_accept(parser, TOKEN_COMMA))
            parser_fail_expected(parser, "',' or ')'");
    }
    parser_expect(parser, TOKEN_PAREN_CLOSE);
    if (parser_accept(parser, TOKEN_COLON))
        parse_type_name(parser, &subprogram->result);
    subprogram->span = parser_since(parser, first);
    for (const struct subprogram *other = script->subprograms; other && !parser_failed(parser);
         other = other->next)
        if (!strcmp(other->name, subprogram->name))
            parser_report(parser, DIAGNOSTIC_ERROR, subprogram->span, "Redefinition of function: %s",
                          subprogram->name);
    if (parser->token.kind != TOKEN_BRACE_OPEN) {
        parser_fail_expected(parser, "'{'");
        return;
    }
    subprogram->body = parse_body(parser);
    *last = subprogram;
}

/* ---- maps ---- */

/* declaration: 'let' map '=' word '(' integer ')' */
static void parse_declaration(struct parser *parser, struct script *script)
{
    struct map_declaration *declaration = arena_new(parser->arena, struct map_declaration);
    struct map_declaration **last = &script->declarations;
    struct span first = parser->previous;
    LIST_END(last);
    declaration->name = parser_word(parser, parser->token.span);
    parser_advance(parser);
    parser_expect(parser, TOKEN_ASSIGN);
    declaration->kind = parse_word(parser, "a type of map");
    parser_expect(parser, TOKEN_PAREN_OPEN);
    declaration->entries = parser->token.value;
    if (parser->token.kind != TOKEN_INTEGER)
        parser_fail_expected(parser, "the number of entries");
    parser_advance(parser);
    if (parser->token.kind != TOKEN_PAREN_CLOSE) {
        parser_fail_expected(parser, "')'");
        return;
    }
    declaration->span = span_between(first, parser->token.span);
    for (const struct map_declaration *other = script->declarations; other; other = other->next)
        if (!strcmp(other->name, declaration->name))
            parser_report(parser, DIAGNOSTIC_ERROR, declaration->span, "Redeclaration of existing map: %s",
                          declaration->name);
    *last = declaration;
}

/* ---- all ---- */

static const struct form {
    const char *word;
    char follows; /* the next character must be this one; 0: the text must not go on as an attach point */
    /* called when the current token is the one behind `word` */
    void (*parse)(struct parser *parser, struct script *script);
} forms[] = {
    {"config", '=', parse_config}, {"import", '"', parse_import},   {"macro", 0, parse_macro},
    {"fn", 0, parse_fn},           {"let", '@', parse_declaration},
};

bool parse_form(struct parser *parser, struct script *script)
{
    struct lexer ahead = parser->lexer;
    struct token word = lexer_next(&ahead);
    if (!token_is_word(&word) || !lexer_skip_blanks(&ahead))
        return false;
    const char *text = parser->source->text + word.span.begin;
    size_t length = word.span.end - word.span.begin;
    char follows = ahead.position < parser->source->length ? parser->source->text[ahead.position] : 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strlen(forms[i].word) != length || memcmp(forms[i].word, text, length) != 0)
            continue;
        if (forms[i].follows ? follows != forms[i].follows : !follows || strchr(":,/{=", follows) != NULL)
            continue;
        parser->lexer.position = word.span.end;
        parser->token = word;
        parser->nesting = parser->chain = 0;
        parser_advance(parser);
        if (script->form_count++ < FORMS_MAX) {
            forms[i].parse(parser, script);
        } else {
            parser_fail(parser, word.span, "More than %d imports, macros, functions and declarations of maps",
                        FORMS_MAX);
            parser->gave_up = true;
        }
        return true;
    }
    return false;
}
