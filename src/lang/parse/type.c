/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of types, and the expressions that are about types: casts, sizeof, offsetof, typeof, typeinfo and
 * container_of.
 *
 * Only the checker knows which names are types. Here a word is taken for a type where nothing else can stand. */
#include "lang/parse/parser.h"

#include <stdio.h>
#include <string.h>

#include "lang/c/definitions.h"
#include "lang/parse/type_word.h"

enum { SUFFIXES_MAX = 16, TYPE_WORD_MAX = 24, ELEMENTS_MAX = TYPE_NAME_OPEN - 1 };

/* Whether a word, alone or behind the words of a type before it, can only name a type. Any other name may be one,
 * too. */
static bool token_is_type_word(const struct token *token, const char *before)
{
    char words[2 * TYPE_WORD_MAX + 2];
    size_t length = token->length;
    if (token->kind != TOKEN_NAME || length > TYPE_WORD_MAX || strlen(before) > TYPE_WORD_MAX)
        return false;
    snprintf(words, sizeof words, "%s%s%.*s", before, *before ? " " : "", (int)length, token->text);
    return type_word_find(words) != NULL;
}

bool parser_plain_number(struct parser *parser, uint32_t *number)
{
    const struct token *token = &parser->token;
    const char *text = token->text;
    size_t length = token->length;
    if (token->kind != TOKEN_INTEGER || token->value >= UINT32_MAX || (length > 1 && *text == '0'))
        return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    *number = (uint32_t)token->value;
    parser_advance(parser);
    return true;
}

/* ---- names of types ---- */

/* length: number? ']' behind the bracket */
static bool parse_length(struct parser *parser, uint32_t *count)
{
    struct span length = parser->token.span;
    *count = TYPE_NAME_OPEN;
    if (parser->token.kind != TOKEN_BRACKET_CLOSE) {
        if (!parser_plain_number(parser, count))
            return parser_fail_expected(parser, "the number of elements"), false;
        if (!*count || *count > ELEMENTS_MAX)
            parser_report(parser, DIAGNOSTIC_ERROR, length,
                          *count ? "An array cannot be that large" : "An array needs at least one element");
        if (!*count)
            *count = 1;
    }
    return parser_expect(parser, TOKEN_BRACKET_CLOSE);
}

/* suffixes: ('*' | '[' number? ']')* */
static bool parse_suffixes(struct parser *parser, struct type_name *name)
{
    uint32_t suffixes[SUFFIXES_MAX] = {0}, count = 0;
    while (parser->token.kind == TOKEN_MUL || parser->token.kind == TOKEN_BRACKET_OPEN) {
        if (count == SUFFIXES_MAX)
            return parser_fail(parser, parser_since(parser, name->span), "Too many * or [ ] in a type"),
                   false;
        suffixes[count] = 0;
        bool is_array = parser->token.kind == TOKEN_BRACKET_OPEN;
        parser_advance(parser);
        if (is_array && !parse_length(parser, &suffixes[count]))
            return false;
        count++;
    }
    uint32_t *copy = arena_array(parser->arena, count + 1, sizeof *copy);
    memcpy(copy, suffixes, count * sizeof *copy);
    name->suffixes = copy;
    name->suffix_count = count;
    return true;
}

/* type: (('struct' | 'union' | 'enum') name | type_word+ | name | typeof) suffixes */
bool parse_type_name(struct parser *parser, struct type_name *name)
{
    struct span first = parser->token.span;
    *name = (struct type_name){.name = "", .span = first};
    enum token_kind kind = parser->token.kind;
    if (kind == TOKEN_STRUCT || kind == TOKEN_UNION || kind == TOKEN_ENUM) {
        const char *keyword = token_kind_text(kind);
        parser_advance(parser);
        const struct span tag = parser->token.span;
        if (parser->token.kind != TOKEN_NAME)
            return parser_fail_expected(parser, "a name of a type"), false;
        name->name = arena_printf(parser->arena, "%s %s", keyword, parser_word(parser, tag));
        parser_advance(parser);
    } else if (kind == TOKEN_TYPEOF) {
        name->name = NULL;
        name->of = parse_type_question(parser);
    } else if (kind == TOKEN_NAME) {
        name->name = parser_word(parser, first);
        parser_advance(parser);
        while (token_is_type_word(&parser->token, name->name)) { /* unsigned long */
            name->name =
                arena_printf(parser->arena, "%s %s", name->name, parser_word(parser, parser->token.span));
            parser_advance(parser);
        }
    } else
        return parser_fail_expected(parser, "a type"), false;
    if (!parse_suffixes(parser, name))
        return false;
    name->span = parser_since(parser, first);
    return !parser_failed(parser);
}

static bool token_begins_operand(const struct token *token)
{
    switch (token->kind) {
    case TOKEN_NAME:
    case TOKEN_VARIABLE:
    case TOKEN_MAP:
    case TOKEN_PARAMETER:
    case TOKEN_INTEGER:
    case TOKEN_STRING:
    case TOKEN_TRUE:
    case TOKEN_FALSE:
    case TOKEN_SIZEOF:
    case TOKEN_OFFSETOF:
    case TOKEN_TYPEINFO:
    case TOKEN_PAREN_OPEN:
    case TOKEN_NOT:
    case TOKEN_COMPLEMENT: return true;
    default: return false; /* also * & -, which are binary operators behind `(word)` */
    }
}

/* Whether a name was defined as a type, so that `(x)-1` is a cast. */
static bool parser_names_type(const struct parser *parser, const struct token *token)
{
    struct c_definitions *definitions = parser->lexer.definitions;
    return definitions && c_names_type(definitions, token->text, token->length);
}

enum type_guess parser_guess_type(const struct parser *parser)
{
    struct lexer ahead = parser->lexer;
    struct token token = lexer_next(&ahead);
    if (token.kind == TOKEN_STRUCT || token.kind == TOKEN_UNION || token.kind == TOKEN_ENUM ||
        token.kind == TOKEN_TYPEOF)
        return TYPE_SURE;
    if (token.kind != TOKEN_NAME)
        return TYPE_NO;
    if (token_is_type_word(&token, "") || parser_names_type(parser, &token))
        return TYPE_SURE;
    bool is_buffer = token.length == 6 && !memcmp(token.text, "buffer", 6);
    token = lexer_next(&ahead);
    if (is_buffer && token.kind == TOKEN_BRACKET_OPEN)
        return TYPE_SURE;
    bool has_star = false;
    while (token.kind == TOKEN_MUL || token.kind == TOKEN_BRACKET_OPEN) {
        has_star |= token.kind == TOKEN_MUL;
        if (token.kind == TOKEN_BRACKET_OPEN) {
            token = lexer_next(&ahead);
            if (token.kind == TOKEN_INTEGER)
                token = lexer_next(&ahead);
            if (token.kind != TOKEN_BRACKET_CLOSE)
                return TYPE_NO;
        }
        token = lexer_next(&ahead);
    }
    if (token.kind != TOKEN_PAREN_CLOSE)
        return TYPE_NO;
    if (has_star)
        return TYPE_SURE;
    token = lexer_next(&ahead);
    return token_begins_operand(&token) ? TYPE_IF_OPERAND_FOLLOWS : TYPE_NO;
}

/* ---- expressions about types ---- */

/* cast: '(' type ')' unary */
struct node *parse_cast(struct parser *parser)
{
    struct span first = parser->token.span;
    struct type_name name;
    parser_advance(parser);
    if (!parse_type_name(parser, &name) || !parser_expect(parser, TOKEN_PAREN_CLOSE))
        return parser_no_node(parser);
    /* the span has the parentheses, because messages about a cast show them */
    name.span = parser_since(parser, first);
    struct node *operand = parse_unary(parser);
    struct node *node = parser_node(parser, NODE_CAST, first);
    node->cast.name = name;
    node->cast.operand = operand;
    return node;
}

/* members: member (('.' | '->') member | '[' number ']')*
 * Gives the list; NULL after a failure. */
static const struct member_path *parse_members(struct parser *parser)
{
    struct member_path *first = NULL, **end = &first;
    do {
        struct member_path *member = arena_new(parser->arena, struct member_path);
        if (parser_accept(parser, TOKEN_BRACKET_OPEN)) {
            if (!parser_plain_number(parser, &member->element))
                parser_fail_expected(parser, "the number of an element");
            parser_expect(parser, TOKEN_BRACKET_CLOSE);
        } else {
            if (!token_is_word(&parser->token)) {
                parser_fail_expected(parser, "a field");
                return NULL;
            }
            member->name = parser_word(parser, parser->token.span);
            parser_advance(parser);
        }
        *end = member;
        end = &member->next;
        if (!parser_link(parser))
            return NULL;
    } while (parser->token.kind == TOKEN_BRACKET_OPEN || parser_accept(parser, TOKEN_DOT) ||
             parser_accept(parser, TOKEN_ARROW));
    return first;
}

/* of: type | expression behind the parenthesis, which is current. A lone word is kept as a type and as an
 * expression. */
static void parse_of(struct parser *parser, struct node *node)
{
    bool is_type = parser_guess_type(parser) == TYPE_SURE;
    parser_advance(parser);
    if (is_type) {
        parse_type_name(parser, &node->cast.name);
        return;
    }
    struct node *operand = parse_expression(parser);
    node->cast.operand = operand;
    if (operand->kind == NODE_NAME)
        node->cast.name = (struct type_name){.name = operand->name.name, .span = operand->span};
}

/* type_question: ('sizeof' | 'typeof' | 'typeinfo') '(' of ')' | 'offsetof' '(' of ',' members ')' */
struct node *parse_type_question(struct parser *parser)
{
    static const uint8_t kinds[TOKEN_KINDS] = {[TOKEN_SIZEOF] = NODE_SIZEOF,
                                               [TOKEN_OFFSETOF] = NODE_OFFSETOF,
                                               [TOKEN_TYPEOF] = NODE_TYPEOF,
                                               [TOKEN_TYPEINFO] = NODE_TYPEINFO};
    struct token word = parser->token;
    struct node *node = node_new(parser->arena, (enum node_kind)kinds[word.kind], word.span);
    parser_advance(parser);
    if (parser->token.kind != TOKEN_PAREN_OPEN) {
        parser_fail_expected(parser, arena_printf(parser->arena, "'(' after %s", token_kind_text(word.kind)));
        return parser_no_node(parser);
    }
    if (parser_enter(parser)) {
        parse_of(parser, node);
        if (word.kind == TOKEN_OFFSETOF && parser_expect(parser, TOKEN_COMMA))
            node->cast.members = parse_members(parser);
        parser_expect(parser, TOKEN_PAREN_CLOSE);
    }
    parser->nesting--;
    node->span = parser_since(parser, word.span);
    return parser_failed(parser) ? parser_no_node(parser) : node;
}

/* container_of: 'container_of' '(' expression ',' type ',' members ')'
 * The pointer stays one, to bytes, while the offset is subtracted: so it is known in which address space it points. */
struct node *parse_container_of(struct parser *parser, struct span first)
{
    static const uint32_t pointer[1] = {0};
    struct type_name name = {0};
    const struct member_path *members = NULL;
    parser_advance(parser);
    struct node *inner = parse_expression(parser);
    if (parser_expect(parser, TOKEN_COMMA) && parse_type_name(parser, &name) &&
        parser_expect(parser, TOKEN_COMMA))
        members = parse_members(parser);
    parser_expect(parser, TOKEN_PAREN_CLOSE);
    if (parser_failed(parser))
        return parser_no_node(parser);
    struct node *bytes = parser_node(parser, NODE_CAST, first);
    bytes->cast.name =
        (struct type_name){.name = "int8", .suffixes = pointer, .suffix_count = 1, .span = inner->span};
    bytes->cast.operand = inner;
    struct node *offset = parser_node(parser, NODE_OFFSETOF, first);
    offset->cast.name = name;
    offset->cast.members = members;
    struct node *moved = parser_node(parser, NODE_BINARY, first);
    moved->binary.op = OPERATOR_SUB;
    moved->binary.left = bytes;
    moved->binary.right = offset;
    uint32_t *suffixes = arena_array(parser->arena, name.suffix_count + 1, sizeof *suffixes);
    for (uint32_t i = 0; i < name.suffix_count; i++)
        suffixes[i] = name.suffixes[i];
    suffixes[name.suffix_count] = 0;
    struct node *node = parser_node(parser, NODE_CAST, first);
    node->cast.name = (struct type_name){.name = name.name,
                                         .of = node_clone(parser->arena, name.of),
                                         .suffixes = suffixes,
                                         .suffix_count = name.suffix_count + 1,
                                         .span = name.span};
    node->cast.operand = moved;
    return node;
}
