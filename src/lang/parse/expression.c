/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions, from the ternary down to primaries. Expressions about types are in parse/type.c.
 *
 * The span of a node covers its whole text, with the parentheses around it. */
#include "base/table.h"
#include "lang/parse/parser.h"

#include <string.h>

/* Binary operators: a higher level binds tighter; 0: it is no binary operator. All are left-associative. */
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

struct node *parser_node(struct parser *parser, enum node_kind kind, struct span first)
{
    return node_new(parser->arena, kind, parser_since(parser, first));
}

/* Returns a node where none could be parsed. Parsing has failed, so nothing reads it. */
struct node *parser_no_node(struct parser *parser)
{
    return node_new(parser->arena, NODE_INTEGER, parser->previous);
}

enum operator parse_assignment_operator(enum token_kind kind, bool *is_assignment)
{
    *is_assignment = kind == TOKEN_ASSIGN || assignment_operators[kind] != OPERATOR_NONE;
    return (enum operator)assignment_operators[kind];
}

/* list: (expression (',' expression)* ','?)? up to the closing token, which is accepted */
static void parse_list(struct parser *parser, struct node_list *list, enum token_kind close)
{
    while (!parser_failed(parser) && parser->token.kind != close) {
        node_append(list, parse_expression(parser));
        if (parser->token.kind != close && !parser_accept(parser, TOKEN_COMMA)) {
            char wanted[] = "',' or '_'";
            wanted[sizeof wanted - 3] = token_kind_text(close)[0];
            const struct token found = parser->token;
            parser_fail_expected(parser, wanted);
            if (found.kind == TOKEN_SEMICOLON || found.kind == TOKEN_BRACE_CLOSE)
                parser_fix_missing(parser, found.span, close);
        }
    }
    parser_accept(parser, close);
}

/* record: '(' word '=' expression (',' word '=' expression)* ','? ')' behind the parenthesis */
static struct node *parse_record(struct parser *parser, struct span first)
{
    struct node_list list = {0};
    const char **names = NULL;
    size_t count = 0, room = 0;
    struct table seen = {0};
    while (!parser_failed(parser) && parser->token.kind != TOKEN_PAREN_CLOSE) {
        struct span span = parser->token.span;
        if (!token_is_word(&parser->token)) {
            parser_fail_expected(parser, "the name of a field");
            break;
        }
        const char *name = parser_word(parser, span);
        if (table_find(&seen, name))
            parser_report(parser, DIAGNOSTIC_ERROR, span, "The record has two fields named '%s'", name);
        else if (table_put(&seen, name, (void *)name))
            parser_fail(parser, span, "Out of memory");
        parser_advance(parser);
        parser_expect(parser, TOKEN_ASSIGN);
        *arena_push(parser->arena, names, count, room) = name;
        node_append(&list, parse_expression(parser));
        if (parser->token.kind != TOKEN_PAREN_CLOSE && !parser_accept(parser, TOKEN_COMMA))
            parser_fail_expected(parser, "',' or ')'");
    }
    table_free(&seen);
    parser_accept(parser, TOKEN_PAREN_CLOSE);
    struct node *record = parser_node(parser, NODE_TUPLE, first);
    record->list = list;
    record->names = names;
    return record;
}

/* parenthesised: '(' expression ')' | '(' ')' | '(' expression ',' list ')' | record */
static struct node *parse_parenthesised(struct parser *parser)
{
    struct span first = parser->token.span;
    struct lexer ahead = parser->lexer;
    struct token word = lexer_next(&ahead), next = lexer_next(&ahead);
    parser_advance(parser);
    if (token_is_word(&word) && next.kind == TOKEN_ASSIGN)
        return parse_record(parser, first);
    struct node_list list = {0};
    if (!parser_accept(parser, TOKEN_PAREN_CLOSE)) {
        struct node *inner = parse_expression(parser);
        if (parser_accept(parser, TOKEN_PAREN_CLOSE)) {
            inner->span = parser_since(parser, first);
            return inner;
        }
        const struct token found = parser->token;
        if (!parser_accept(parser, TOKEN_COMMA)) {
            parser_fail_expected(parser, "')'");
            if (found.kind == TOKEN_ASSIGN)
                parser_hint_comparison(parser, found.span);
            return inner;
        }
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
    struct span first = parser->token.span;
    struct node *key = NULL;
    const char *name = parser_word(parser, first);
    parser_advance(parser);
    struct span bracket = parser->token.span;
    if (parser_accept(parser, TOKEN_BRACKET_OPEN)) {
        struct span keys = parser->token.span;
        struct node_list list = {0};
        parse_list(parser, &list, TOKEN_BRACKET_CLOSE);
        key = list.first;
        if (list.count > 1) {
            key = node_new(parser->arena, NODE_TUPLE, span_between(keys, list.last->span));
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
    struct span first = parser->token.span;
    const char *name = parser_word(parser, first);
    parser_advance(parser);
    if (parser->token.kind == TOKEN_PAREN_OPEN && !strcmp(name, "container_of"))
        return parse_container_of(parser, first);
    if (!parser_accept(parser, TOKEN_PAREN_OPEN)) {
        struct node *node = parser_node(parser, NODE_NAME, first);
        node->name.name = name;
        return node;
    }
    struct node_list arguments = {0};
    parse_list(parser, &arguments, TOKEN_PAREN_CLOSE);
    if (parser_failed(parser))
        parser_hint_habit(parser, first, true);
    struct node *node = parser_node(parser, NODE_CALL, first);
    node->call.name = name;
    node->call.arguments = arguments;
    return node;
}

/* integer | 'true' | 'false' | parameter */
static struct node *parse_constant(struct parser *parser, enum node_kind kind, uint64_t value)
{
    struct span first = parser->token.span;
    parser_advance(parser);
    struct node *node = parser_node(parser, kind, first);
    node->integer.value = value;
    node->integer.is_unsigned = kind == NODE_INTEGER && value > INT64_MAX;
    return node;
}

/* primary: integer | string | 'true' | 'false' | parameter | variable | map | name | parenthesised |
 *          type_question */
static struct node *parse_primary(struct parser *parser)
{
    struct token token = parser->token;
    struct node *node;
    switch (token.kind) {
    case TOKEN_INTEGER: return parse_constant(parser, NODE_INTEGER, token.value);
    case TOKEN_PARAMETER:
        parser->takes_parameters = true;
        return parse_constant(parser, NODE_PARAMETER, token.value);
    case TOKEN_TRUE: return parse_constant(parser, NODE_BOOL, 1);
    case TOKEN_FALSE: return parse_constant(parser, NODE_BOOL, 0);
    case TOKEN_NAME: return parse_name(parser);
    case TOKEN_MAP: return parse_map(parser);
    case TOKEN_PAREN_OPEN: return parse_parenthesised(parser);
    case TOKEN_SIZEOF:
    case TOKEN_OFFSETOF:
    case TOKEN_TYPEOF:
    case TOKEN_TYPEINFO: return parse_type_question(parser);
    case TOKEN_BRACE_OPEN: return parse_block_value(parser);
    case TOKEN_IF: return parse_if_value(parser);
    case TOKEN_STRING:
        parser_advance(parser);
        node = parser_node(parser, NODE_STRING, token.span);
        node->string.text = lexer_string(parser->arena, &token, &node->string.length);
        return node;
    case TOKEN_VARIABLE:
        parser_advance(parser);
        node = parser_node(parser, NODE_VARIABLE, token.span);
        node->variable.name = arena_copy(parser->arena, token.text, token.length);
        return node;
    default: parser_fail_expected(parser, "an expression"); return parser_no_node(parser);
    }
}

/* field: ('.' | '->') (word | number) */
static struct node *parse_field(struct parser *parser, struct node *object)
{
    const char *name = NULL;
    uint32_t element = 0;
    parser_advance(parser);
    if (token_is_word(&parser->token)) {
        name = parser_word(parser, parser->token.span);
        parser_advance(parser);
    } else if (object->kind == NODE_INTEGER && parser->token.kind == TOKEN_INTEGER) {
        parser_fail(parser, span_between(object->span, parser->token.span),
                    "Floating-point numbers are not part of the language");
        parser_hint(parser, "integers in a smaller unit take their place: 1500 us for 1.5 ms");
    } else if (parser->token.kind != TOKEN_INTEGER || !parser_plain_number(parser, &element))
        parser_fail_expected(parser, "a field");
    struct node *node = parser_node(parser, NODE_FIELD, object->span);
    node->field.object = object;
    node->field.name = name;
    node->field.element = element;
    return node;
}

static struct node *parser_step(struct parser *parser, struct node *target, enum token_kind kind,
                                struct span first, bool is_prefix)
{
    if (target->kind != NODE_VARIABLE && target->kind != NODE_MAP)
        parser_report(parser, DIAGNOSTIC_ERROR, target->span, "'%s' changes scratch variables and maps only",
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
            node = parser_step(parser, node, kind, node->span, false);
            continue;
        }
        struct node *index = parse_expression(parser);
        parser_expect(parser, TOKEN_BRACKET_CLOSE);
        struct node *array = node;
        node = parser_node(parser, NODE_INDEX, array->span);
        node->binary.left = array;
        node->binary.right = index;
    }
}

/* unary: ('!' | '~' | '-' | '*' | '&' | 'comptime') unary | ('++' | '--') unary | cast | postfix */
struct node *parse_unary(struct parser *parser)
{
    struct token token = parser->token;
    bool is_cast = token.kind == TOKEN_PAREN_OPEN && parser_guess_type(parser) != TYPE_NO;
    bool is_prefix =
        unary_operators[token.kind] || step_operators[token.kind] || token.kind == TOKEN_COMPTIME;
    if (!is_cast && !is_prefix)
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
            node = parser_step(parser, operand, token.kind, token.span, true);
        else {
            node = parser_node(parser, token.kind == TOKEN_COMPTIME ? NODE_COMPTIME : NODE_UNARY, token.span);
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
        struct node *node = parser_node(parser, NODE_BINARY, left->span);
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
        struct node *node = parser_node(parser, NODE_TERNARY, condition->span);
        node->ternary.condition = condition;
        node->ternary.yes = yes;
        node->ternary.no = no;
        condition = node;
    }
    parser->nesting--;
    return condition;
}
