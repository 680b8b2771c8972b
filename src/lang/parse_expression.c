/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions, from the ternary down to primaries, and the names of types in them.
 *
 * A place of a node covers its whole text, also the parentheses around it. */
#include "lang/parser.h"

#include <stdio.h>
#include <string.h>

#include "lang/type_word.h"

/* Binary operators: a higher level binds tighter; 0 is none. All of them are left-associative. */
static const struct {
    uint8_t level, op;
} binary_operators[TOKEN_KINDS] = {
    [TOKEN_OR_OR] = {1, OPERATOR_LOGICAL_OR},
    [TOKEN_AND_AND] = {2, OPERATOR_LOGICAL_AND},
    [TOKEN_OR] = {3, OPERATOR_OR},
    [TOKEN_XOR] = {4, OPERATOR_XOR},
    [TOKEN_AND] = {5, OPERATOR_AND},
    [TOKEN_EQ] = {6, OPERATOR_EQ},
    [TOKEN_NE] = {6, OPERATOR_NE},
    [TOKEN_LT] = {7, OPERATOR_LT},
    [TOKEN_LE] = {7, OPERATOR_LE},
    [TOKEN_GT] = {7, OPERATOR_GT},
    [TOKEN_GE] = {7, OPERATOR_GE},
    [TOKEN_SHL] = {8, OPERATOR_SHL},
    [TOKEN_SHR] = {8, OPERATOR_SHR},
    [TOKEN_ADD] = {9, OPERATOR_ADD},
    [TOKEN_SUB] = {9, OPERATOR_SUB},
    [TOKEN_MUL] = {10, OPERATOR_MUL},
    [TOKEN_DIV] = {10, OPERATOR_DIV},
    [TOKEN_MOD] = {10, OPERATOR_MOD},
};

static const uint8_t unary_operators[TOKEN_KINDS] = {
    [TOKEN_NOT] = OPERATOR_NOT,     [TOKEN_COMPLEMENT] = OPERATOR_COMPLEMENT,
    [TOKEN_SUB] = OPERATOR_NEGATE,  [TOKEN_MUL] = OPERATOR_DEREFERENCE,
    [TOKEN_AND] = OPERATOR_ADDRESS,
};

static const uint8_t step_operators[TOKEN_KINDS] = {
    [TOKEN_INCREMENT] = OPERATOR_ADD,
    [TOKEN_DECREMENT] = OPERATOR_SUB,
};

static const uint8_t assignment_operators[TOKEN_KINDS] = {
    [TOKEN_ADD_ASSIGN] = OPERATOR_ADD, [TOKEN_SUB_ASSIGN] = OPERATOR_SUB, [TOKEN_MUL_ASSIGN] = OPERATOR_MUL,
    [TOKEN_DIV_ASSIGN] = OPERATOR_DIV, [TOKEN_MOD_ASSIGN] = OPERATOR_MOD, [TOKEN_AND_ASSIGN] = OPERATOR_AND,
    [TOKEN_OR_ASSIGN] = OPERATOR_OR,   [TOKEN_XOR_ASSIGN] = OPERATOR_XOR, [TOKEN_SHL_ASSIGN] = OPERATOR_SHL,
    [TOKEN_SHR_ASSIGN] = OPERATOR_SHR,
};

/* What an expression may begin with in the language, but not in this compiler yet. */
static const char *const later_expressions[TOKEN_KINDS] = {
    [TOKEN_BRACE_OPEN] = "A block as a value is",
    [TOKEN_IF] = "if as a value is",
    [TOKEN_COMPTIME] = "comptime is",
    [TOKEN_OFFSETOF] = "offsetof is",
    [TOKEN_TYPEOF] = "typeof is",
    [TOKEN_TYPEINFO] = "typeinfo is",
};

enum { MOST_POINTERS = 16, LONGEST_TYPE_WORD = 24 };

/* Whether a word, alone or behind the words of a type before it, can only name a type; any other name may
 * name one too. */
static bool token_is_type_word(const struct token *token, const char *before)
{
    char words[2 * LONGEST_TYPE_WORD + 2];
    size_t length = token->place.end - token->place.begin;
    if (token->kind != TOKEN_NAME || length > LONGEST_TYPE_WORD || strlen(before) > LONGEST_TYPE_WORD)
        return false;
    snprintf(words, sizeof words, "%s%s%.*s", before, *before ? " " : "", (int)length,
             token->place.source->text + token->place.begin);
    return type_word_find(words) != NULL;
}

static struct node *parser_node(struct parser *parser, enum node_kind kind, struct place first)
{
    return node_new(parser->arena, kind, parser_since(parser, first));
}

/* A node for a place where none could be parsed; parsing has failed, nobody looks at it. */
static struct node *parser_no_node(struct parser *parser)
{
    return node_new(parser->arena, NODE_INTEGER, parser->previous);
}

enum operator parse_assignment_operator(enum token_kind kind, bool *is_assignment)
{
    *is_assignment = kind == TOKEN_ASSIGN || assignment_operators[kind] != OPERATOR_NONE;
    return (enum operator)assignment_operators[kind];
}

/* integer without prefix, suffix or leading zeros: a tuple's element, an array's length */
static bool parse_plain_number(struct parser *parser, uint32_t *number)
{
    const struct token *token = &parser->token;
    const char *text = parser->source->text + token->place.begin;
    size_t length = token->place.end - token->place.begin;
    if (token->kind != TOKEN_INTEGER || token->value >= UINT32_MAX || (length > 1 && *text == '0'))
        return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    *number = (uint32_t)token->value;
    parser_advance(parser);
    return true;
}

/* type: ('struct' | 'union' | 'enum') name stars | type_word+ stars | name stars
 * stars: '*'* ('[' number? ']')? */
bool parse_type_name(struct parser *parser, struct type_name *name)
{
    struct place first = parser->token.place;
    *name = (struct type_name){.name = "", .place = first};
    enum token_kind kind = parser->token.kind;
    if (kind == TOKEN_STRUCT || kind == TOKEN_UNION || kind == TOKEN_ENUM) {
        const char *keyword = token_kind_text(kind);
        parser_advance(parser);
        const struct place tag = parser->token.place;
        if (parser->token.kind != TOKEN_NAME)
            return parser_fail_expected(parser, "a name of a type"), false;
        name->name = arena_printf(parser->arena, "%s %s", keyword, parser_word(parser, tag));
        parser_advance(parser);
    } else if (kind == TOKEN_NAME) {
        name->name = parser_word(parser, first);
        parser_advance(parser);
        while (token_is_type_word(&parser->token, name->name)) { /* unsigned long */
            name->name =
                arena_printf(parser->arena, "%s %s", name->name, parser_word(parser, parser->token.place));
            parser_advance(parser);
        }
    } else
        return parser_fail_expected(parser, "a type"), false;
    while (parser_accept(parser, TOKEN_MUL))
        if (++name->pointers > MOST_POINTERS)
            return parser_fail(parser, parser_since(parser, first), "Too many * in a type"), false;
    if (parser_accept(parser, TOKEN_BRACKET_OPEN)) {
        struct place length = parser->token.place;
        name->array = UINT32_MAX;
        if (parser->token.kind != TOKEN_BRACKET_CLOSE) {
            if (!parse_plain_number(parser, &name->array))
                return parser_fail_expected(parser, "the number of elements"), false;
            if (!name->array)
                parser_report(parser, DIAGNOSTIC_ERROR, length, "An array needs at least one element");
        }
        parser_expect(parser, TOKEN_BRACKET_CLOSE);
        if (parser->token.kind == TOKEN_BRACKET_OPEN || parser->token.kind == TOKEN_MUL)
            parser_unsupported(parser, parser->token.place, "A type that goes on behind its [ ] is");
    }
    name->place = parser_since(parser, first);
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
    case TOKEN_PAREN_OPEN:
    case TOKEN_NOT:
    case TOKEN_COMPLEMENT: return true;
    default: return false; /* also * & -: behind `(word)` they are binary */
    }
}

/* Whether a type in parentheses begins at the current parenthesis. Sure: it can be nothing else. */
enum type_guess { TYPE_NO, TYPE_SURE, TYPE_IF_OPERAND_FOLLOWS };

static enum type_guess parser_guess_type(const struct parser *parser)
{
    struct lexer ahead = parser->lexer;
    struct token token = lexer_next(&ahead);
    if (token.kind == TOKEN_STRUCT || token.kind == TOKEN_UNION || token.kind == TOKEN_ENUM)
        return TYPE_SURE;
    if (token.kind != TOKEN_NAME)
        return TYPE_NO;
    if (token_is_type_word(&token, ""))
        return TYPE_SURE;
    token = lexer_next(&ahead);
    bool has_star = token.kind == TOKEN_MUL;
    while (token.kind == TOKEN_MUL)
        token = lexer_next(&ahead);
    if (token.kind == TOKEN_BRACKET_OPEN) {
        token = lexer_next(&ahead);
        if (token.kind == TOKEN_INTEGER)
            token = lexer_next(&ahead);
        if (token.kind != TOKEN_BRACKET_CLOSE)
            return TYPE_NO;
        token = lexer_next(&ahead);
    }
    if (token.kind != TOKEN_PAREN_CLOSE)
        return TYPE_NO;
    if (has_star)
        return TYPE_SURE;
    token = lexer_next(&ahead);
    return token_begins_operand(&token) ? TYPE_IF_OPERAND_FOLLOWS : TYPE_NO;
}

static struct node *parse_unary(struct parser *parser);

/* cast: '(' type ')' unary */
static struct node *parse_cast(struct parser *parser)
{
    struct place first = parser->token.place;
    struct type_name name;
    parser_advance(parser);
    if (!parse_type_name(parser, &name) || !parser_expect(parser, TOKEN_PAREN_CLOSE))
        return parser_no_node(parser);
    struct node *operand = parse_unary(parser);
    struct node *node = parser_node(parser, NODE_CAST, first);
    node->cast.name = name;
    node->cast.operand = operand;
    return node;
}

/* sizeof: 'sizeof' '(' (type | expression) ')' */
static struct node *parse_sizeof(struct parser *parser)
{
    struct place first = parser->token.place;
    struct type_name name = {0};
    struct node *operand = NULL;
    parser_advance(parser);
    if (parser->token.kind != TOKEN_PAREN_OPEN)
        return parser_fail_expected(parser, "'(' after sizeof"), parser_no_node(parser);
    enum type_guess guess = parser_guess_type(parser);
    parser_advance(parser);
    if (guess == TYPE_SURE)
        parse_type_name(parser, &name);
    else
        operand = parse_expression(parser);
    parser_expect(parser, TOKEN_PAREN_CLOSE);
    if (operand && operand->kind == NODE_NAME)
        name = (struct type_name){.name = operand->name.name, .place = operand->place};
    struct node *node = parser_node(parser, NODE_SIZEOF, first);
    node->cast.name = name;
    node->cast.operand = operand;
    return node;
}

/* list: (expression (',' expression)* ','?)? up to the closing token, which is accepted */
static void parse_list(struct parser *parser, struct node_list *list, enum token_kind close)
{
    while (!parser_failed(parser) && parser->token.kind != close) {
        node_append(list, parse_expression(parser));
        if (parser->token.kind != close && !parser_accept(parser, TOKEN_COMMA)) {
            char wanted[] = "',' or '_'";
            wanted[sizeof wanted - 3] = token_kind_text(close)[0];
            parser_fail_expected(parser, wanted);
        }
    }
    parser_accept(parser, close);
}

/* parenthesised: '(' expression ')' | '(' ')' | '(' expression ',' list ')' */
static struct node *parse_parenthesised(struct parser *parser)
{
    struct place first = parser->token.place;
    struct lexer ahead = parser->lexer;
    struct token word = lexer_next(&ahead), next = lexer_next(&ahead);
    if (word.kind == TOKEN_NAME && next.kind == TOKEN_ASSIGN) {
        parser_unsupported(parser, place_between(first, next.place), "Records are");
        return parser_no_node(parser);
    }
    parser_advance(parser);
    struct node_list list = {0};
    if (!parser_accept(parser, TOKEN_PAREN_CLOSE)) {
        struct node *inner = parse_expression(parser);
        if (parser_accept(parser, TOKEN_PAREN_CLOSE)) {
            inner->place = parser_since(parser, first);
            return inner;
        }
        if (!parser_accept(parser, TOKEN_COMMA))
            return parser_fail_expected(parser, "')'"), inner;
        node_append(&list, inner);
        parse_list(parser, &list, TOKEN_PAREN_CLOSE);
    }
    struct node *tuple = parser_node(parser, NODE_TUPLE, first);
    tuple->list = list;
    return tuple;
}

/* map: '@' name? ('[' expression (',' expression)* ','? ']')? */
static struct node *parse_map(struct parser *parser)
{
    struct place first = parser->token.place;
    struct node *key = NULL;
    const char *name = parser_word(parser, first);
    parser_advance(parser);
    struct place bracket = parser->token.place;
    if (parser_accept(parser, TOKEN_BRACKET_OPEN)) {
        struct place keys = parser->token.place;
        struct node_list list = {0};
        parse_list(parser, &list, TOKEN_BRACKET_CLOSE);
        key = list.first;
        if (list.count > 1) {
            key = node_new(parser->arena, NODE_TUPLE, place_between(keys, list.last->place));
            key->list = list;
        } else if (!list.count) {
            parser_report(parser, DIAGNOSTIC_ERROR, parser_since(parser, bracket), "A key is missing");
            parser_hint(parser, "a map without keys is written without brackets");
        }
    }
    struct node *node = parser_node(parser, NODE_MAP, first);
    node->map.name = name;
    node->map.key = key;
    return node;
}

/* name: word | word '(' list ')' */
static struct node *parse_name(struct parser *parser)
{
    struct place first = parser->token.place;
    const char *name = parser_word(parser, first);
    parser_advance(parser);
    if (!parser_accept(parser, TOKEN_PAREN_OPEN)) {
        struct node *node = parser_node(parser, NODE_NAME, first);
        node->name.name = name;
        return node;
    }
    struct node_list arguments = {0};
    parse_list(parser, &arguments, TOKEN_PAREN_CLOSE);
    struct node *node = parser_node(parser, NODE_CALL, first);
    node->call.name = name;
    node->call.arguments = arguments;
    return node;
}

/* integer | 'true' | 'false' | parameter */
static struct node *parse_constant(struct parser *parser, enum node_kind kind, uint64_t value)
{
    struct place first = parser->token.place;
    parser_advance(parser);
    struct node *node = parser_node(parser, kind, first);
    node->integer.value = value;
    node->integer.is_unsigned = kind == NODE_INTEGER && value > INT64_MAX;
    return node;
}

/* primary: integer | string | 'true' | 'false' | parameter | variable | map | name | parenthesised | sizeof
 */
static struct node *parse_primary(struct parser *parser)
{
    struct token token = parser->token;
    struct node *node;
    switch (token.kind) {
    case TOKEN_INTEGER: return parse_constant(parser, NODE_INTEGER, token.value);
    case TOKEN_PARAMETER: return parse_constant(parser, NODE_PARAMETER, token.value);
    case TOKEN_TRUE: return parse_constant(parser, NODE_BOOL, 1);
    case TOKEN_FALSE: return parse_constant(parser, NODE_BOOL, 0);
    case TOKEN_NAME: return parse_name(parser);
    case TOKEN_MAP: return parse_map(parser);
    case TOKEN_PAREN_OPEN: return parse_parenthesised(parser);
    case TOKEN_SIZEOF: return parse_sizeof(parser);
    case TOKEN_STRING:
        parser_advance(parser);
        node = parser_node(parser, NODE_STRING, token.place);
        node->string.text = lexer_string(parser->arena, &token, &node->string.length);
        return node;
    case TOKEN_VARIABLE:
        parser_advance(parser);
        node = parser_node(parser, NODE_VARIABLE, token.place);
        node->variable.name = parser_word(parser, token.place);
        return node;
    default:
        if (later_expressions[token.kind])
            parser_unsupported(parser, token.place, later_expressions[token.kind]);
        else
            parser_fail_expected(parser, "an expression");
        return parser_no_node(parser);
    }
}

/* field: ('.' | '->') (word | number) */
static struct node *parse_field(struct parser *parser, struct node *object)
{
    const char *name = NULL;
    uint32_t element = 0;
    parser_advance(parser);
    if (token_is_word(&parser->token)) {
        name = parser_word(parser, parser->token.place);
        parser_advance(parser);
    } else if (object->kind == NODE_INTEGER && parser->token.kind == TOKEN_INTEGER) {
        parser_fail(parser, place_between(object->place, parser->token.place),
                    "Floating-point numbers are not part of the language");
    } else if (parser->token.kind != TOKEN_INTEGER || !parse_plain_number(parser, &element))
        parser_fail_expected(parser, "a field");
    struct node *node = parser_node(parser, NODE_FIELD, object->place);
    node->field.object = object;
    node->field.name = name;
    node->field.element = element;
    return node;
}

static struct node *parser_step(struct parser *parser, struct node *target, enum token_kind kind,
                                struct place first, bool is_prefix)
{
    if (target->kind != NODE_VARIABLE && target->kind != NODE_MAP)
        parser_report(parser, DIAGNOSTIC_ERROR, target->place, "'%s' changes scratch variables and maps only",
                      token_kind_text(kind));
    struct node *node = parser_node(parser, NODE_STEP, first);
    node->step.op = (enum operator)step_operators[kind];
    node->step.is_prefix = is_prefix;
    node->step.target = target;
    return node;
}

/* postfix: primary (field | '[' expression ']' | '++' | '--')* */
static struct node *parse_postfix(struct parser *parser)
{
    struct node *node = parse_primary(parser);
    for (;;) {
        enum token_kind kind = parser->token.kind;
        bool is_field = kind == TOKEN_DOT || kind == TOKEN_ARROW;
        if (!is_field && kind != TOKEN_BRACKET_OPEN && !step_operators[kind])
            return node;
        if (!parser_link(parser))
            return node;
        if (is_field) {
            node = parse_field(parser, node);
            continue;
        }
        parser_advance(parser);
        if (kind != TOKEN_BRACKET_OPEN) {
            node = parser_step(parser, node, kind, node->place, false);
            continue;
        }
        struct node *index = parse_expression(parser);
        parser_expect(parser, TOKEN_BRACKET_CLOSE);
        struct node *array = node;
        node = parser_node(parser, NODE_INDEX, array->place);
        node->binary.left = array;
        node->binary.right = index;
    }
}

/* unary: ('!' | '~' | '-' | '*' | '&') unary | ('++' | '--') unary | cast | postfix */
static struct node *parse_unary(struct parser *parser)
{
    struct token token = parser->token;
    enum type_guess guess = token.kind == TOKEN_PAREN_OPEN ? parser_guess_type(parser) : TYPE_NO;
    bool is_cast = guess == TYPE_SURE || guess == TYPE_IF_OPERAND_FOLLOWS;
    if (!is_cast && !unary_operators[token.kind] && !step_operators[token.kind])
        return parse_postfix(parser);

    struct node *node;
    if (!parser_enter(parser))
        node = parser_no_node(parser);
    else if (is_cast)
        node = parse_cast(parser);
    else {
        parser_advance(parser);
        struct node *operand = parse_unary(parser);
        if (step_operators[token.kind])
            node = parser_step(parser, operand, token.kind, token.place, true);
        else {
            node = parser_node(parser, NODE_UNARY, token.place);
            node->unary.op = (enum operator)unary_operators[token.kind];
            node->unary.operand = operand;
        }
    }
    parser->nesting--;
    return node;
}

/* binary(level): unary (operator of at least this level, binary(its level + 1))* */
static struct node *parse_binary(struct parser *parser, unsigned lowest)
{
    struct node *left = parse_unary(parser);
    for (;;) {
        enum token_kind kind = parser->token.kind;
        unsigned level = binary_operators[kind].level;
        if (!level || level < lowest || !parser_link(parser))
            return left;
        parser_advance(parser);
        struct node *right = parse_binary(parser, level + 1);
        struct node *node = parser_node(parser, NODE_BINARY, left->place);
        node->binary.op = (enum operator)binary_operators[kind].op;
        node->binary.left = left;
        node->binary.right = right;
        left = node;
    }
}

/* expression: binary ('?' expression ':' expression | '?' ':' expression)? */
struct node *parse_expression(struct parser *parser)
{
    if (!parser_enter(parser))
        return parser->nesting--, parser_no_node(parser);
    struct node *condition = parse_binary(parser, 1);
    if (parser_accept(parser, TOKEN_QUESTION)) {
        struct node *yes = condition;
        if (parser->token.kind != TOKEN_COLON)
            yes = parse_expression(parser);
        parser_expect(parser, TOKEN_COLON);
        struct node *no = parse_expression(parser);
        struct node *node = parser_node(parser, NODE_TERNARY, condition->place);
        node->ternary.condition = condition;
        node->ternary.yes = yes;
        node->ternary.no = no;
        condition = node;
    }
    parser->nesting--;
    return condition;
}
