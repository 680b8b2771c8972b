/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the parser share: parse.c (scripts, blocks), parse/attach.c (attach points),
 * parse/statement.c, parse/expression.c, parse/type.c. Nobody else includes this.
 *
 * Errors: parser_fail reports and puts TOKEN_FAILED in the place of the current token. No production
 * accepts that token and nothing more is reported, so all of them come back by themselves, each with some
 * node; the statement (or block) that called them then recovers. A production never returns NULL. */
#ifndef SPOOR_LANG_PARSE_PARSER_H
#define SPOOR_LANG_PARSE_PARSER_H

#include "lang/lexer.h"
#include "lang/parse/parse.h"

struct parser {
    struct arena *arena;
    struct diagnostics *diagnostics;
    const struct source *source;
    const struct parameters *parameters; /* or NULL */
    struct lexer lexer;                  /* behind token */
    struct token token;                  /* the current one */
    struct token failed;                 /* what was current when token became TOKEN_FAILED */
    struct span previous;                /* of the token that was accepted last */
    unsigned nesting, chain;             /* against TREE_NESTING and TREE_CHAIN */
    unsigned reports;                    /* what was reported by this parser: bounded */
    bool gave_up;                        /* too many: from here on the script is at its end */
    bool hint_wanted;                    /* the last report was not dropped */

    /* Attach points: how far the search for a colon behind a slash got, and whether it found one. Kept so
     * that a text full of slashes is not searched from each of them. */
    uint32_t colon_searched;
    bool colon_found;
};

/* parse.c: tokens and errors */
char parser_at(const struct parser *parser, uint32_t position); /* of the text; NUL behind its end */
void parser_advance(struct parser *parser);
bool parser_accept(struct parser *parser, enum token_kind kind); /* advances over it if it is current */
bool parser_expect(struct parser *parser, enum token_kind kind); /* or fails: "syntax: expected …" */
/* Fails at the current token because something else was expected: wanted is put after "syntax: expected ". */
void parser_fail_expected(struct parser *parser, const char *wanted);
void parser_fail(struct parser *parser, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports, and parsing goes on as if nothing had been. */
void parser_report(struct parser *parser, enum severity severity, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void parser_hint(struct parser *parser, const char *hint); /* for what was reported last */
bool parser_failed(const struct parser *parser);
struct span parser_since(const struct parser *parser, struct span first); /* first … last accepted token */
const char *parser_word(struct parser *parser, struct span span); /* the text at a place; of the current
token at its place: how it is written, which a macro may have done */
/* One level deeper, or a failure; leave with parser->nesting-- also then. */
bool parser_enter(struct parser *parser);
bool parser_link(struct parser *parser); /* one more in a chain, or a failure */

/* parse/expression.c */
struct node *parse_expression(struct parser *parser);
struct node *parse_unary(struct parser *parser);
struct node *parser_node(struct parser *parser, enum node_kind kind, struct span first); /* … to here */
/* A node for a place where none could be parsed; parsing has failed, nobody looks at it. */
struct node *parser_no_node(struct parser *parser);
enum operator parse_assignment_operator(enum token_kind kind, bool *is_assignment);

/* parse/type.c */
bool parse_type_name(struct parser *parser, struct type_name *name); /* current token: its first word */
/* Whether a type in parentheses begins at the current parenthesis. Sure: it can be nothing else. */
enum type_guess { TYPE_NO, TYPE_SURE, TYPE_IF_OPERAND_FOLLOWS };
enum type_guess parser_guess_type(const struct parser *parser);
struct node *parse_cast(struct parser *parser);
struct node *parse_type_question(struct parser *parser); /* sizeof, offsetof, typeof, typeinfo */
struct node *parse_container_of(struct parser *parser,
                                struct span first); /* current token: the parenthesis */
/* An integer without prefix, suffix or leading zeros: a tuple's element, an array's length. */
bool parser_plain_number(struct parser *parser, uint32_t *number);

/* parse/statement.c. A body ends at its brace, which stays current: behind it there are no tokens. */
struct node *parse_block(struct parser *parser);
struct node *parse_body(struct parser *parser);

/* At { and at if, where a value is wanted. */
struct node *parse_block_value(struct parser *parser);
struct node *parse_if_value(struct parser *parser);
/* Makes a block a BLOCK_VALUE if its last statement is a value: an expression without a semicolon, a block,
 * or an if with both branches. */
bool block_to_value(struct node *block);

/* parse/form.c: what stands beside action blocks. At lexer.position; false: it is something else, and nothing
 * was read. */
bool parse_form(struct parser *parser, struct script *script);

/* parse/attach.c. At lexer.position; NULL: there is none, or it was wrong. */
struct attach_point *parse_attach_point(struct parser *parser, bool is_pattern);

#endif
