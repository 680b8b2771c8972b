/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the parser share: parse.c (scripts, blocks), attach.c (attach points), form.c (what stands
 * beside blocks), statement.c, expression.c, type.c. No other file includes this one.
 *
 * Errors: parser_fail() reports and puts TOKEN_FAILED in the place of the current token. No production accepts that
 * token, and nothing more is reported, so that all of them return, each with some node. The statement or block that
 * called them then recovers. A production never returns NULL. */
#ifndef SPOOR_LANG_PARSE_PARSER_H
#define SPOOR_LANG_PARSE_PARSER_H

#include "lang/lexer.h"
#include "lang/parse/parse.h"

struct parser {
    struct arena *arena;
    struct diagnostics *diagnostics;
    const struct source *source;
    const struct parameters *parameters; /* or NULL */
    struct lexer lexer;                  /* its position is behind `token` */
    struct token token;                  /* the current one */
    struct token failed;                 /* the current token when `token` became TOKEN_FAILED */
    struct span previous;                /* span of the token that was accepted last */
    unsigned nesting, chain;             /* compared with TREE_NESTING and TREE_CHAIN */
    unsigned reports;      /* number of errors and warnings that this parser reported, which is bounded */
    bool gave_up;          /* there were too many errors: the rest of the script is not read */
    bool hint_wanted;      /* the last report was not dropped, and may get a hint */
    bool takes_parameters; /* there was a positional parameter, or $# */

    /* How far the search for a colon behind a slash of an attach point got, and whether it found one. They are kept
     * so that a text full of slashes is not searched from each of them. */
    uint32_t colon_searched;
    bool colon_found;
};

/* habit.c: hints and fixes behind what was reported last, as long as it has none; no hint follows them */
/* for a word of another language at a place, where a statement or a call begins, or elsewhere; false: there is none */
bool parser_hint_habit(struct parser *parser, struct span span, bool is_first);
void parser_hint_comparison(struct parser *parser, struct span assignment); /* for = instead of == */
void parser_hint_call(struct parser *parser, const char *name); /* for a call without parentheses */
/* adds the fix of a character that begins no token */
void parser_fix_character(struct parser *parser, const struct token *token);

/* parse.c: tokens and errors */
/* the character of the source at a position; NUL behind its end */
char parser_at(const struct parser *parser, uint32_t position);
void parser_advance(struct parser *parser);
/* advances over a token of that kind if it is the current one */
bool parser_accept(struct parser *parser, enum token_kind kind);
/* as parser_accept(), or fails with "syntax: expected …" */
bool parser_expect(struct parser *parser, enum token_kind kind);
/* Fails at the current token because something else was expected: `wanted` goes behind "syntax: expected ". */
void parser_fail_expected(struct parser *parser, const char *wanted);
void parser_fail(struct parser *parser, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports something that is no reason to stop: parsing goes on. */
void parser_report(struct parser *parser, enum severity severity, struct span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void parser_hint(struct parser *parser, const char *hint); /* adds a hint to what was reported last */
/* Says that putting a token behind the previous one is the fix of what was reported last, at the token `next`. */
void parser_fix_missing(struct parser *parser, struct span next, enum token_kind kind);
bool parser_failed(const struct parser *parser);
/* the span from `first` to the last accepted token */
struct span parser_since(const struct parser *parser, struct span first);
const char *parser_word(struct parser *parser, struct span span); /* the text at a place; of the current
token at its place: how it is written, which a macro may have done */
/* Goes one level of nesting deeper, or fails when there are too many. The caller leaves the level with
 * parser->nesting--, also after a failure. */
bool parser_enter(struct parser *parser);
bool parser_link(struct parser *parser); /* counts one more element of a chain, or fails */

/* parse/expression.c */
struct node *parse_expression(struct parser *parser);
struct node *parse_unary(struct parser *parser);
/* span: from `first` to the last accepted token */
struct node *parser_node(struct parser *parser, enum node_kind kind, struct span first);
/* Returns a node where none could be parsed. Parsing has failed, so nothing reads it. */
struct node *parser_no_node(struct parser *parser);
enum operator parse_assignment_operator(enum token_kind kind, bool *is_assignment);

/* parse/type.c */
bool parse_type_name(struct parser *parser, struct type_name *name); /* current token: its first word */
/* Whether a type in parentheses begins at the current parenthesis. TYPE_SURE: it can be nothing else. */
enum type_guess { TYPE_NO, TYPE_SURE, TYPE_IF_OPERAND_FOLLOWS };
enum type_guess parser_guess_type(const struct parser *parser);
struct node *parse_cast(struct parser *parser);
struct node *parse_type_question(struct parser *parser); /* sizeof, offsetof, typeof, typeinfo */
struct node *parse_container_of(struct parser *parser,
                                struct span first); /* current token: the parenthesis */
/* Accepts an integer without prefix, suffix or leading zeros: the index of a tuple's element, the length of an
 * array. */
bool parser_plain_number(struct parser *parser, uint32_t *number);

/* parse/statement.c. The brace that ends a body stays the current token, because no tokens follow it. */
struct node *parse_block(struct parser *parser);
struct node *parse_body(struct parser *parser);

/* These begin at { and at if, where a value is wanted. */
struct node *parse_block_value(struct parser *parser);
struct node *parse_if_value(struct parser *parser);
/* Makes a block a BLOCK_VALUE if its last statement is a value: an expression without a semicolon, a block,
 * or an if with both branches. */
bool block_to_value(struct node *block);

/* parse/form.c: reads what stands beside action blocks, at lexer.position. False: it is something else, and nothing
 * was read. */
bool parse_form(struct parser *parser, struct script *script);

/* parse/attach.c: reads an attach point at lexer.position. NULL: there is none, or it was wrong. */
struct attach_point *parse_attach_point(struct parser *parser, bool is_pattern);

#endif
