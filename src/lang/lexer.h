/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes tokens of the text of action blocks and predicates. Attach points are not made of tokens: see
 * parse/attach.c. A lexer is a position in a source: copy it to look ahead. It reports nothing itself; an error is
 * stored in the token, so that looking ahead never reports it twice. */
#ifndef SPOOR_LANG_LEXER_H
#define SPOOR_LANG_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diagnostic.h"

enum token_kind {
    TOKEN_END,           /* end of the source */
    TOKEN_ERROR,         /* nothing that a script may hold: .error says why */
    TOKEN_FAILED,        /* made by the parser alone: the current token between an error and its recovery */
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
    const char *text;  /* how it is written; for a token from a macro that is not the text at its span */
    uint32_t length;
    bool ends_line; /* TOKEN_ERROR: a string that is not closed on its line */
};

struct c_definitions;
struct lexer_expansion;

struct lexer {
    const struct source *source;
    uint32_t position;
    bool in_predicate;
    struct c_definitions *definitions; /* the definitions whose macros are expanded; NULL: none are */
    /* the expansion of a macro, which is read before the source goes on; or NULL */
    const struct lexer_expansion *expansion;
    size_t expanded; /* how many tokens of `expansion` have been read */
};

struct token lexer_next(struct lexer *lexer);

/* These do not use <ctype.h>, because the language does not depend on the locale. */
bool lexer_is_digit(char c);
/* Takes decimal digits. Returns their value: 0 if there are none, UINT64_MAX if it is too large. */
uint64_t lexer_decimal(struct lexer *lexer);
bool lexer_is_word(char c);  /* a letter, a digit or _ */
bool lexer_is_blank(char c); /* line ends too */

/* Moves behind blanks and comments. False: a comment has no end, and the position is where it begins. */
bool lexer_skip_blanks(struct lexer *lexer);

/* Returns the text of a TOKEN_STRING without quotes and escapes. It may contain NULs; one more NUL follows it. */
const char *lexer_string(struct arena *arena, const struct token *token, size_t *length);

/* Reads an escape of a string, also in quoted text that is no token; `text` begins at the backslash. Returns how
 * many bytes it takes; 0: there is no such escape. */
size_t lexer_escape(const char *text, size_t length, char *value);

/* Returns how tokens of a kind are written: "<<=", "while"; NULL for kinds with many texts. */
const char *token_kind_text(enum token_kind kind);
/* a name or a keyword, which can be the name of a field, too */
bool token_is_word(const struct token *token);

#endif
