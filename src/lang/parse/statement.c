/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements and blocks. After an error the rest of the statement is passed over, and parsing goes on with
 * the next one. */
#include "lang/parse/parser.h"

#include <string.h>

static struct node *parse_statement(struct parser *parser);

static struct node *statement_new(struct parser *parser, enum node_kind kind, struct span first)
{
    return node_new(parser->arena, kind, parser_since(parser, first));
}

static bool token_begins_statement(const struct token *token)
{
    switch (token->kind) {
    case TOKEN_END:
    case TOKEN_VARIABLE:
    case TOKEN_MAP:
    case TOKEN_NAME:
    case TOKEN_BREAK:
    case TOKEN_CONTINUE:
    case TOKEN_FOR:
    case TOKEN_IF:
    case TOKEN_LET:
    case TOKEN_RETURN:
    case TOKEN_UNROLL:
    case TOKEN_WHILE:
    case TOKEN_BRACE_OPEN:
    case TOKEN_BRACE_CLOSE: return true;
    default: return false;
    }
}

/* Recovers from an error: moves to the token behind the next ;, or behind the next balanced block that looks like
 * the end of the statement, or to the } of the block around. Errors in between are not reported. */
static void parser_recover(struct parser *parser)
{
    unsigned depth = 0;
    parser->token = parser->failed;
    if (parser->token.kind == TOKEN_ERROR && parser->token.ends_line) {
        parser->token.kind = TOKEN_SEMICOLON; /* the line is lost, and the statement with it */
        parser->token.span.end = parser->token.span.begin;
    }
    while (!parser->gave_up && parser->token.kind != TOKEN_END) {
        enum token_kind kind = parser->token.kind;
        if (kind == TOKEN_SEMICOLON && !depth)
            return parser_advance(parser);
        if (kind == TOKEN_BRACE_CLOSE && !depth)
            return;
        depth += kind == TOKEN_BRACE_OPEN;
        depth -= kind == TOKEN_BRACE_CLOSE;
        struct lexer before = parser->lexer;
        parser->token = lexer_next(&parser->lexer);
        if (kind == TOKEN_BRACE_CLOSE && !depth && token_begins_statement(&parser->token)) {
            /* parser_advance() reads the token again, and reports its error. */
            parser->lexer = before;
            return parser_advance(parser);
        }
    }
    if (parser->gave_up) {
        parser->token.kind = TOKEN_SEMICOLON;
        parser_advance(parser);
    }
}

/* Whether a probe begins at the current token, where a statement could: "interval:s:1 …", "end {". No statement begins so. */
static bool is_at_probe(const struct parser *parser)
{
    uint32_t at = parser->token.span.end;
    if (parser->token.kind != TOKEN_NAME || parser->token.span.source != parser->source)
        return false;
    if (parser_at(parser, at) == ':')
        return true;
    const char c = parser_at(parser, at + strspn(parser->source->text + at, " \t\n"));
    const char *word = parser->source->text + parser->token.span.begin;
    const size_t length = at - parser->token.span.begin;
    return c == '{' &&
           ((length == 3 && !strncasecmp(word, "end", 3)) || (length == 5 && !strncasecmp(word, "begin", 5)));
}

/* statements: (statement | ';')* up to the } of the block, or the end */
static struct node *parse_statements(struct parser *parser)
{
    struct span open = parser->token.span;
    struct node_list list = {0};
    parser_advance(parser);
    for (;;) {
        if (parser_failed(parser)) {
            parser_recover(parser);
            parser->gave_up |= parser->token.kind == TOKEN_END; /* the end of the text has been reported */
        }
        if (parser->token.kind == TOKEN_BRACE_CLOSE || parser->token.kind == TOKEN_END)
            break;
        if (parser_failed(parser) || parser_accept(parser, TOKEN_SEMICOLON))
            continue;
        if (is_at_probe(parser)) {
            struct position position = source_position(parser->source, open.begin);
            parser_report(
                parser, DIAGNOSTIC_ERROR, parser->token.span,
                "a probe begins here, and the block in front of it is not closed: a '}' is missing");
            if (parser->hint_wanted)
                diagnose_hint(parser->diagnostics,
                              "the innermost block that is open begins at line %u, column %u", position.line,
                              position.column);
            parser->gave_up = true;
        }
        node_append(&list, parse_statement(parser));
    }
    if (parser->token.kind == TOKEN_END && !parser->gave_up) {
        struct position position = source_position(parser->source, open.begin);
        parser_report(parser, DIAGNOSTIC_ERROR, parser->token.span,
                      "syntax: expected '}', found the end of the script");
        if (parser->hint_wanted) {
            diagnose_hint(parser->diagnostics, "the block that is not closed begins at line %u, column %u",
                          position.line, position.column);
            diagnose_fix(parser->diagnostics, parser->token.span, " }");
        }
        parser->gave_up = true; /* the blocks around it are not closed either: one message is enough */
    }
    struct node *block = node_new(parser->arena, NODE_BLOCK, span_between(open, parser->token.span));
    block->list = list;
    return block;
}

/* block: '{' statements '}' */
struct node *parse_block(struct parser *parser)
{
    struct node *block = NULL;
    if (parser->token.kind != TOKEN_BRACE_OPEN) {
        parser_fail_expected(parser, "'{'");
        parser_hint(parser, "what a condition or a loop governs stands in braces, also a single statement");
    } else if (parser_enter(parser)) {
        block = parse_statements(parser);
        parser_accept(parser, TOKEN_BRACE_CLOSE);
        parser->nesting--;
    } else
        parser->nesting--;
    return block ? block : node_new(parser->arena, NODE_BLOCK, parser->previous);
}

/* body: '{' statements '}' */
struct node *parse_body(struct parser *parser)
{
    struct node *block = parse_statements(parser);
    parser->token.kind = TOKEN_END; /* the } was the last token: what follows is text */
    return block;
}

/* if: 'if' expression block ('else' (block | if))? */
static struct node *parse_if(struct parser *parser)
{
    struct span first = parser->token.span;
    parser_advance(parser);
    struct node *condition = parse_expression(parser);
    struct node *yes = parse_block(parser), *no = NULL;
    if (parser_accept(parser, TOKEN_ELSE)) {
        if (parser->token.kind == TOKEN_IF) {
            struct span nested = parser->token.span;
            if (parser_link(parser)) {
                struct node *branch = parse_if(parser);
                no = statement_new(parser, NODE_BLOCK, nested);
                node_append(&no->list, branch);
            }
        } else
            no = parse_block(parser);
    }
    struct node *node = statement_new(parser, NODE_IF, first);
    node->ternary.condition = condition;
    node->ternary.yes = yes;
    node->ternary.no = no;
    return node;
}

/* ---- blocks and if as values ---- */

static bool block_has_value(const struct node *block)
{
    const struct node *last = block ? block->list.last : NULL;
    if (!last)
        return false;
    if (last->kind == NODE_IF)
        return block_has_value(last->ternary.yes) && block_has_value(last->ternary.no);
    if (last->kind == NODE_BLOCK)
        return block_has_value(last);
    return last->kind == NODE_EXPRESSION && last->unary.is_open && !last->unary.is_silent &&
           last->unary.operand->kind != NODE_ASSIGN;
}

bool block_to_value(struct node *block)
{
    if (block->kind == NODE_BLOCK_VALUE)
        return true;
    if (!block_has_value(block))
        return false;
    struct node *last = block->list.last;
    if (last->kind == NODE_IF) {
        block_to_value(last->ternary.yes);
        block_to_value(last->ternary.no);
        last->kind = NODE_TERNARY;
    } else if (last->kind == NODE_BLOCK) {
        block_to_value(last);
    } else {
        *last = *last->unary.operand; /* the last statement, which has no next one */
    }
    block->kind = NODE_BLOCK_VALUE;
    return true;
}

static struct node *wanted_value(struct parser *parser, struct node *block)
{
    if (!parser_failed(parser) && !block_to_value(block)) {
        parser_report(parser, DIAGNOSTIC_ERROR, block->span, "This block has no value");
        parser_hint(parser, "its last statement is the value, without a semicolon: { $x = 1; $x + 1 }");
    }
    block->kind = NODE_BLOCK_VALUE;
    return block;
}

/* block value: '{' statements expression '}' */
struct node *parse_block_value(struct parser *parser)
{
    return wanted_value(parser, parse_block(parser));
}

/* if value: 'if' expression block_value 'else' (block_value | if_value) */
struct node *parse_if_value(struct parser *parser)
{
    struct span first = parser->token.span;
    struct node *no = NULL;
    if (!parser_enter(parser))
        return parser->nesting--, node_new(parser->arena, NODE_INTEGER, parser->previous);
    parser_advance(parser);
    struct node *condition = parse_expression(parser);
    struct node *yes = parse_block_value(parser);
    if (!parser_accept(parser, TOKEN_ELSE)) {
        parser_fail_expected(parser, "'else'");
        parser_hint(parser, "an if that is a value has two branches: if (c) { a } else { b }");
    } else
        no = parser->token.kind == TOKEN_IF ? parse_if_value(parser) : parse_block_value(parser);
    parser->nesting--;
    struct node *node = statement_new(parser, NODE_TERNARY, first);
    node->ternary.condition = condition;
    node->ternary.yes = yes;
    node->ternary.no = no ? no : yes;
    return node;
}

/* while: 'while' expression block */
static struct node *parse_while(struct parser *parser)
{
    struct span first = parser->token.span;
    parser_advance(parser);
    struct node *condition = parse_expression(parser);
    struct node *body = parse_block(parser);
    struct node *node = statement_new(parser, NODE_WHILE, first);
    node->loop.condition = condition;
    node->loop.body = body;
    return node;
}

/* unroll: 'unroll' expression block */
static struct node *parse_unroll(struct parser *parser)
{
    struct span first = parser->token.span;
    parser_advance(parser);
    struct node *count = parse_expression(parser);
    struct node *body = parse_block(parser);
    struct node *node = statement_new(parser, NODE_UNROLL, first);
    node->loop.from = count;
    node->loop.body = body;
    return node;
}

static const char loops[] = "loops are written for ($i : 0..10) { ... } and for ($kv : @map) { ... }";

/* Passes over the rest of a head in which a mistake was reported, to its block: semicolons in it end no statement. */
static void pass_over_head(struct parser *parser)
{
    struct lexer ahead = parser->lexer;
    struct token token = parser->failed;
    while (token.kind != TOKEN_BRACE_OPEN && token.kind != TOKEN_BRACE_CLOSE && token.kind != TOKEN_END)
        token = lexer_next(&ahead);
    if (token.kind != TOKEN_BRACE_OPEN)
        return;
    parser->failed = token;
    parser->lexer = ahead;
}

/* for: 'for' '(' head ')' block | 'for' head block; head: variable ':' (map | expression '..' expression) */
static struct node *parse_for(struct parser *parser)
{
    struct span first = parser->token.span;
    parser_advance(parser);
    const bool has_parentheses = parser_accept(parser, TOKEN_PAREN_OPEN);
    struct node *variable = node_new(parser->arena, NODE_VARIABLE, parser->token.span);
    if (parser->token.kind == TOKEN_VARIABLE) {
        variable->variable.name = parser_word(parser, parser->token.span);
        parser_advance(parser);
    } else {
        parser_fail_expected(parser, "a scratch variable");
        parser_hint(parser, loops);
    }
    if (!parser_expect(parser, TOKEN_COLON))
        parser_hint(parser, loops);
    struct node *from = parse_expression(parser), *to = NULL;
    if (parser_accept(parser, TOKEN_RANGE))
        to = parse_expression(parser);
    else if (from->kind != NODE_MAP || from->map.key) {
        parser_report(parser, DIAGNOSTIC_ERROR, from->span, "A loop goes over a map or over a range");
        parser_hint(parser, loops);
    }
    if (has_parentheses)
        parser_expect(parser, TOKEN_PAREN_CLOSE);
    if (has_parentheses && parser_failed(parser))
        pass_over_head(parser);
    struct node *body = parse_block(parser);
    struct node *node = statement_new(parser, to ? NODE_FOR_RANGE : NODE_FOR_MAP, first);
    node->loop.variable = variable;
    node->loop.body = body;
    if (to) {
        node->loop.from = from;
        node->loop.to = to;
    } else
        node->loop.map = from;
    return node;
}

/* Says that a name becomes a variable by the $ before it. */
static void fix_sigil(struct parser *parser, struct span name)
{
    if (name.source == parser->source && name.begin < name.end)
        diagnose_fix(parser->diagnostics, (struct span){name.source, name.begin, name.begin}, "$");
}

/* let: 'let' variable (':' type)? ('=' expression)? */
static struct node *parse_let(struct parser *parser)
{
    struct span first = parser->token.span;
    struct type_name name = {0};
    bool has_type = false;
    parser_advance(parser);
    struct node *target = node_new(parser->arena, NODE_VARIABLE, parser->token.span), *value = NULL;
    if (parser->token.kind == TOKEN_VARIABLE) {
        target->variable.name = parser_word(parser, parser->token.span);
        parser_advance(parser);
    } else {
        const struct token found = parser->token;
        parser_fail_expected(parser, "a scratch variable");
        parser_hint(parser, "variables are declared with let $x, let $x = 1, or let $x : uint64 = 1");
        if (parser->hint_wanted && found.kind == TOKEN_NAME)
            fix_sigil(parser, found.span);
    }
    if (parser_accept(parser, TOKEN_COLON))
        has_type = parse_type_name(parser, &name);
    if (parser_accept(parser, TOKEN_ASSIGN))
        value = parse_expression(parser);
    struct node *node = statement_new(parser, NODE_LET, first);
    node->let.target = target;
    node->let.has_type = has_type;
    node->let.type_name = name;
    node->let.value = value;
    return node;
}

/* return: 'return' expression? */
static struct node *parse_return(struct parser *parser)
{
    struct span first = parser->token.span;
    struct node *value = NULL;
    parser_advance(parser);
    if (parser->token.kind != TOKEN_SEMICOLON && parser->token.kind != TOKEN_BRACE_CLOSE)
        value = parse_expression(parser);
    struct node *node = statement_new(parser, NODE_RETURN, first);
    node->unary.operand = value;
    return node;
}

static struct node *parse_break(struct parser *parser)
{
    struct span first = parser->token.span;
    parser_advance(parser);
    return statement_new(parser, NODE_BREAK, first);
}

static struct node *parse_continue(struct parser *parser)
{
    struct span first = parser->token.span;
    parser_advance(parser);
    return statement_new(parser, NODE_CONTINUE, first);
}

/* Whether the current tokens are `_ =`. */
static bool parser_is_discard(const struct parser *parser)
{
    struct span span = parser->token.span;
    if (parser->token.kind != TOKEN_NAME || span.end - span.begin != 1 ||
        parser->source->text[span.begin] != '_')
        return false;
    struct lexer ahead = parser->lexer;
    return lexer_next(&ahead).kind == TOKEN_ASSIGN;
}

/* expression statement: '_' '=' expression | expression | (variable | map) assignment_operator expression */
static struct node *parse_expression_statement(struct parser *parser)
{
    struct span first = parser->token.span;
    bool is_silent = parser_is_discard(parser), is_assignment;
    if (is_silent) {
        parser_advance(parser);
        parser_advance(parser);
    }
    struct node *operand = parse_expression(parser);
    enum operator op = parse_assignment_operator(parser->token.kind, &is_assignment);
    if (is_assignment && !is_silent) {
        struct node *target = operand;
        if (target->kind != NODE_VARIABLE && target->kind != NODE_MAP) {
            parser_report(parser, DIAGNOSTIC_ERROR, target->span,
                          "Only scratch variables and maps can be assigned to");
            parser_hint(parser, "a scratch variable is written $x, a map @x or @x[key]; a comparison is ==");
            if (parser->hint_wanted && target->kind == NODE_NAME)
                fix_sigil(parser, target->span);
        }
        parser_advance(parser);
        struct node *value = parse_expression(parser);
        operand = statement_new(parser, NODE_ASSIGN, target->span);
        operand->assign.op = op;
        operand->assign.target = target;
        operand->assign.value = value;
    }
    struct node *node = statement_new(parser, NODE_EXPRESSION, first);
    node->unary.operand = operand;
    node->unary.is_silent = is_silent;
    return node;
}

/* The keywords that begin statements. Statements that end with a block need no semicolon. */
static const struct statement_form {
    struct node *(*parse)(struct parser *parser);
    bool ends_with_block;
} statement_forms[TOKEN_KINDS] = {
    [TOKEN_IF] = {parse_if, true},
    [TOKEN_WHILE] = {parse_while, true},
    [TOKEN_UNROLL] = {parse_unroll, true},
    [TOKEN_FOR] = {parse_for, true},
    [TOKEN_BRACE_OPEN] = {parse_block, true},
    [TOKEN_LET] = {parse_let, false},
    [TOKEN_RETURN] = {parse_return, false},
    [TOKEN_BREAK] = {parse_break, false},
    [TOKEN_CONTINUE] = {parse_continue, false},
};

/* Fails because the statement goes on with something that is none of it. */
static void fail_at_end(struct parser *parser, const struct node *node, struct span first)
{
    const struct node *operand = node->kind == NODE_EXPRESSION ? node->unary.operand : NULL;
    const struct token next = parser->token;
    const bool is_argument = next.kind == TOKEN_STRING || next.kind == TOKEN_INTEGER ||
                             next.kind == TOKEN_VARIABLE || next.kind == TOKEN_MAP || next.kind == TOKEN_NAME;
    parser_fail_expected(parser, "';'");
    if (parser_hint_habit(parser, first, true))
        return;
    if (is_argument && operand && operand->kind == NODE_NAME)
        parser_hint_call(parser, operand->name.name);
    parser_fix_missing(parser, next.span, TOKEN_SEMICOLON);
}

/* statement: form (';' unless it ends with a block, or a } follows) */
static struct node *parse_statement(struct parser *parser)
{
    unsigned chain = parser->chain;
    const struct span first = parser->token.span;
    struct statement_form form = statement_forms[parser->token.kind];
    if (!form.parse)
        form.parse = parse_expression_statement;
    struct node *node = form.parse(parser);
    if (node->kind == NODE_EXPRESSION)
        node->unary.is_open = parser->token.kind == TOKEN_BRACE_CLOSE;
    if (!form.ends_with_block && parser->token.kind != TOKEN_BRACE_CLOSE &&
        parser->token.kind != TOKEN_SEMICOLON && parser->token.kind != TOKEN_END)
        fail_at_end(parser, node, first);
    parser->chain = chain;
    return node;
}
