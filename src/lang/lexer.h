/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of action blocks and predicates to tokens. Attach points are not made of tokens: see
 * parse/attach.c. A lexer is a position in a source: copy it to look ahead. It reports nothing itself; what
 * is wrong with a token stands in the token, so that looking ahead never reports twice. */
#ifndef SPOOR_LANG_LEXER_H
#define SPOOR_LANG_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diagnostic.h"

enum token_kind {
    TOKEN_END,           /* of the source */
    TOKEN_ERROR,         /* nothing that a script may hold: .error says why */
    TOKEN_FAILED,        /* never from the lexer: what the parser sees between an error and its recovery */
    TOKEN_VARIABLE,      /* $x */
    TOKEN_MAP,           /* @m or @ */
    TOKEN_PARAMETER,     /* $1: value; $#: value 0 */
    TOKEN_INTEGER,       /* value */
    TOKEN_STRING,        /* with its quotes: see lexer_string */
    TOKEN_PREDICATE_END, /* the / before the { of the block, or before the end; only while in_predicate */

    TOKEN_NAME, /* the first of the words */
    TOKEN_BREAK,
    TOKEN_COMPTIME,
    TOKEN_CONTINUE,
    TOKEN_ELSE,
    TOKEN_ENUM,
    TOKEN_FALSE,
    TOKEN_FOR,
    TOKEN_IF,
    TOKEN_LET,
    TOKEN_OFFSETOF,
    TOKEN_RETURN,
    TOKEN_SIZEOF,
    TOKEN_STRUCT,
    TOKEN_TRUE,
    TOKEN_TYPEINFO,
    TOKEN_TYPEOF,
    TOKEN_UNION,
    TOKEN_UNROLL,
    TOKEN_WHILE, /* the last of the words */

    TOKEN_BRACE_OPEN,
    TOKEN_BRACE_CLOSE,
    TOKEN_PAREN_OPEN,
    TOKEN_PAREN_CLOSE,
    TOKEN_BRACKET_OPEN,
    TOKEN_BRACKET_CLOSE,
    TOKEN_SEMICOLON,
    TOKEN_COMMA,
    TOKEN_COLON,
    TOKEN_QUESTION,
    TOKEN_DOT,
    TOKEN_RANGE,
    TOKEN_ARROW,
    TOKEN_ASSIGN,
    TOKEN_ADD_ASSIGN,
    TOKEN_SUB_ASSIGN,
    TOKEN_MUL_ASSIGN,
    TOKEN_DIV_ASSIGN,
    TOKEN_MOD_ASSIGN,
    TOKEN_AND_ASSIGN,
    TOKEN_OR_ASSIGN,
    TOKEN_XOR_ASSIGN,
    TOKEN_SHL_ASSIGN,
    TOKEN_SHR_ASSIGN,
    TOKEN_INCREMENT,
    TOKEN_DECREMENT,
    TOKEN_ADD,
    TOKEN_SUB,
    TOKEN_MUL,
    TOKEN_DIV,
    TOKEN_MOD,
    TOKEN_AND,
    TOKEN_OR,
    TOKEN_XOR,
    TOKEN_SHL,
    TOKEN_SHR,
    TOKEN_EQ,
    TOKEN_NE,
    TOKEN_LT,
    TOKEN_LE,
    TOKEN_GT,
    TOKEN_GE,
    TOKEN_AND_AND,
    TOKEN_OR_OR,
    TOKEN_NOT,
    TOKEN_COMPLEMENT,
    TOKEN_KINDS
};

struct token {
    enum token_kind kind;
    struct span span;
    uint64_t value;
    const char *error; /* not NULL: what is wrong; with TOKEN_INTEGER or TOKEN_STRING parsing can go on */
    const char *hint;  /* or NULL */
    const char *text;  /* how it is written; out of a macro that is not what stands at its place */
    uint32_t length;
    bool ends_line; /* TOKEN_ERROR: a string that ran into the end of its line */
};

struct c_definitions;
struct lexer_expansion;

struct lexer {
    const struct source *source;
    uint32_t position;
    bool in_predicate;
    struct c_definitions *definitions;       /* whose macros are expanded; NULL: none are */
    const struct lexer_expansion *expansion; /* what is being read instead of the source, */
    size_t expanded;                         /* from here on; NULL: nothing */
};

struct token lexer_next(struct lexer *lexer);

bool lexer_is_digit(char c); /* not <ctype.h>: the language does not depend on the locale */
bool lexer_is_word(char c);  /* a letter, a digit or _ */
bool lexer_is_blank(char c); /* line ends too */

/* Goes behind blanks and comments. False: a comment has no end; then the position is where it begins. */
bool lexer_skip_blanks(struct lexer *lexer);

/* The text of a TOKEN_STRING without quotes and escapes. It may hold NULs; one more NUL follows. */
const char *lexer_string(struct arena *arena, const struct token *token, size_t *length);

/* A value that an escape of a string may have, and how far it reaches; for quoted text outside of tokens
 * too. text is at the backslash. Returns bytes used; 0: no such escape. */
size_t lexer_escape(const char *text, size_t length, char *value);

/* How a kind is written: "<<=", "while"; NULL for kinds with many texts. */
const char *token_kind_text(enum token_kind kind);
bool token_is_word(const struct token *token); /* a name or a keyword: also a field's name */

#endif
