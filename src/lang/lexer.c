/* SPDX-License-Identifier: BSD-3-Clause */
/* The lexer: one token at a time, the longest that fits. It never reads beyond source->length, and every call moves
 * forward, except at the end. */
#include "lang/lexer.h"

#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "lang/c/definitions.h"

static const char *const kind_texts[TOKEN_KINDS] = {
    [TOKEN_PREDICATE_END] = "/",
    [TOKEN_BREAK] = "break",
    [TOKEN_COMPTIME] = "comptime",
    [TOKEN_CONTINUE] = "continue",
    [TOKEN_ELSE] = "else",
    [TOKEN_ENUM] = "enum",
    [TOKEN_FALSE] = "false",
    [TOKEN_FOR] = "for",
    [TOKEN_IF] = "if",
    [TOKEN_LET] = "let",
    [TOKEN_OFFSETOF] = "offsetof",
    [TOKEN_RETURN] = "return",
    [TOKEN_SIZEOF] = "sizeof",
    [TOKEN_STRUCT] = "struct",
    [TOKEN_TRUE] = "true",
    [TOKEN_TYPEINFO] = "typeinfo",
    [TOKEN_TYPEOF] = "typeof",
    [TOKEN_UNION] = "union",
    [TOKEN_UNROLL] = "unroll",
    [TOKEN_WHILE] = "while",
    [TOKEN_BRACE_OPEN] = "{",
    [TOKEN_BRACE_CLOSE] = "}",
    [TOKEN_PAREN_OPEN] = "(",
    [TOKEN_PAREN_CLOSE] = ")",
    [TOKEN_BRACKET_OPEN] = "[",
    [TOKEN_BRACKET_CLOSE] = "]",
    [TOKEN_SEMICOLON] = ";",
    [TOKEN_COMMA] = ",",
    [TOKEN_COLON] = ":",
    [TOKEN_QUESTION] = "?",
    [TOKEN_DOT] = ".",
    [TOKEN_RANGE] = "..",
    [TOKEN_ARROW] = "->",
    [TOKEN_ASSIGN] = "=",
    [TOKEN_ADD_ASSIGN] = "+=",
    [TOKEN_SUB_ASSIGN] = "-=",
    [TOKEN_MUL_ASSIGN] = "*=",
    [TOKEN_DIV_ASSIGN] = "/=",
    [TOKEN_MOD_ASSIGN] = "%=",
    [TOKEN_AND_ASSIGN] = "&=",
    [TOKEN_OR_ASSIGN] = "|=",
    [TOKEN_XOR_ASSIGN] = "^=",
    [TOKEN_SHL_ASSIGN] = "<<=",
    [TOKEN_SHR_ASSIGN] = ">>=",
    [TOKEN_INCREMENT] = "++",
    [TOKEN_DECREMENT] = "--",
    [TOKEN_ADD] = "+",
    [TOKEN_SUB] = "-",
    [TOKEN_MUL] = "*",
    [TOKEN_DIV] = "/",
    [TOKEN_MOD] = "%",
    [TOKEN_AND] = "&",
    [TOKEN_OR] = "|",
    [TOKEN_XOR] = "^",
    [TOKEN_SHL] = "<<",
    [TOKEN_SHR] = ">>",
    [TOKEN_EQ] = "==",
    [TOKEN_NE] = "!=",
    [TOKEN_LT] = "<",
    [TOKEN_LE] = "<=",
    [TOKEN_GT] = ">",
    [TOKEN_GE] = ">=",
    [TOKEN_AND_AND] = "&&",
    [TOKEN_OR_OR] = "||",
    [TOKEN_NOT] = "!",
    [TOKEN_COMPLEMENT] = "~",
};

bool lexer_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool lexer_is_word(char c)
{
    return is_word_start(c) || lexer_is_digit(c);
}

bool lexer_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns the character at an offset from the position; NUL behind the end of the source. */
static char lexer_peek(const struct lexer *lexer, uint32_t offset)
{
    size_t at = (size_t)lexer->position + offset;
    return at < lexer->source->length ? lexer->source->text[at] : 0;
}

static bool lexer_skip_comment(struct lexer *lexer)
{
    const char *text = lexer->source->text + lexer->position;
    size_t left = lexer->source->length - lexer->position;
    if (text[1] == '/') {
        const char *end = memchr(text, '\n', left);
        lexer->position = end ? (uint32_t)(end - lexer->source->text) : (uint32_t)lexer->source->length;
        return true;
    }
    const char *end = memmem(text + 2, left - 2, "*/", 2);
    if (end)
        lexer->position = (uint32_t)(end + 2 - lexer->source->text);
    return end != NULL;
}

bool lexer_skip_blanks(struct lexer *lexer)
{
    for (;;) {
        char c = lexer_peek(lexer, 0), next = lexer_peek(lexer, 1);
        if (c && lexer_is_blank(c))
            lexer->position++;
        else if (c == '/' && (next == '/' || next == '*')) {
            if (!lexer_skip_comment(lexer))
                return false;
        } else
            return true;
    }
}

/* A number reaches as far as characters of words do. */
static void lex_number(struct lexer *lexer, struct token *token)
{
    const char *text = lexer->source->text + lexer->position;
    size_t length = 0;
    while (lexer_is_word(lexer_peek(lexer, (uint32_t)length)))
        length++;
    lexer->position += (uint32_t)length;
    token->kind = TOKEN_INTEGER;
    switch (literal_parse(text, length, LITERAL_TIME | LITERAL_C, &token->value)) {
    case LITERAL_FITS: break;
    case LITERAL_NOT_OCTAL:
        token->error = "Invalid digit in an octal number";
        token->hint = "a number that starts with 0 is octal: leave the 0 out for a decimal one";
        break;
    case LITERAL_INVALID:
        token->error = "Invalid number";
        token->hint =
            "numbers are written 10, 0x1f, 017, 1e6, 1_000_000, or with a unit: 10ns 10us 10ms 10s 10m "
            "10h 10d";
        break;
    case LITERAL_TOO_LARGE:
        token->error = "Integer is too large";
        token->hint = "the largest is 18446744073709551615";
        break;
    }
}

size_t lexer_escape(const char *text, size_t length, char *value)
{
    static const char plain[] = "n\nt\tr\r\\\\\"\"";
    if (length < 2)
        return 0;
    for (const char *pair = plain; *pair; pair += 2)
        if (text[1] == pair[0]) {
            *value = pair[1];
            return 2;
        }
    bool is_hex = text[1] == 'x';
    const size_t first = is_hex ? 2 : 1, most = first + (is_hex ? 2 : 3);
    const char *at = text + first;
    uint64_t number;
    if (!number_take(&at, text + (length < most ? length : most), is_hex ? 16 : 8, &number))
        return 0;
    *value = (char)(number & 0xff);
    return (size_t)(at - text);
}

/* '"' (character | escape)* '"', on one line */
static void lex_string(struct lexer *lexer, struct token *token)
{
    const char *text = lexer->source->text;
    size_t at = lexer->position + 1, length = lexer->source->length;
    token->kind = TOKEN_STRING;
    while (at < length && text[at] != '"' && text[at] != '\n') {
        if (text[at] != '\\') {
            at++;
            continue;
        }
        char value;
        size_t used = lexer_escape(text + at, length - at, &value);
        if (!used) {
            token->error = "Invalid escape in a string";
            token->hint = "the escapes are \\n \\t \\r \\\\ \\\" \\0nn and \\xnn";
        }
        at += used ? used : 1;
    }
    if (at < length && text[at] == '"') {
        lexer->position = (uint32_t)at + 1;
        return;
    }
    lexer->position = (uint32_t)at;
    token->kind = TOKEN_ERROR;
    token->ends_line = true;
    token->error = "Unterminated string";
    token->hint = "a string ends with \" on the line where it began; a line break inside is written \\n";
}

const char *lexer_string(struct arena *arena, const struct token *token, size_t *length)
{
    assert(token->kind == TOKEN_STRING);
    const char *text = token->text + 1;
    size_t raw = token->length - 2, used = 0;
    char *string = arena_alloc(arena, raw + 1);
    for (size_t at = 0; at < raw;) {
        size_t escape = text[at] == '\\' ? lexer_escape(text + at, raw - at, &string[used]) : 0;
        if (!escape)
            string[used] = text[at];
        at += escape ? escape : 1;
        used++;
    }
    string[used] = 0;
    *length = used;
    return string;
}

uint64_t lexer_decimal(struct lexer *lexer)
{
    const char *text = lexer->source->text, *at = text + lexer->position;
    uint64_t value;
    number_take(&at, text + lexer->source->length, 10, &value);
    lexer->position = (uint32_t)(at - text);
    return value;
}

/* $ followed by a word, by digits, or by # */
static void lex_dollar(struct lexer *lexer, struct token *token)
{
    lexer->position++;
    char c = lexer_peek(lexer, 0);
    if (is_word_start(c)) {
        token->kind = TOKEN_VARIABLE;
        while (lexer_is_word(lexer_peek(lexer, 0)))
            lexer->position++;
        return;
    }
    if (c == '#') {
        token->kind = TOKEN_PARAMETER;
        lexer->position++;
        return;
    }
    if (!lexer_is_digit(c)) {
        token->kind = TOKEN_ERROR;
        token->error = "A name, a number or # is missing after $";
        return;
    }
    token->kind = TOKEN_PARAMETER;
    token->value = lexer_decimal(lexer);
    if (token->value == 0 || token->value > UINT16_MAX) {
        token->error = "There is no such parameter";
        token->hint = "the parameters of a script are $1, $2 and so on; $# is their number";
    }
    if (token->value > UINT16_MAX)
        token->value = UINT16_MAX;
}

static void lex_word(struct lexer *lexer, struct token *token)
{
    const char *text = lexer->source->text + lexer->position;
    size_t length = 0;
    while (lexer_is_word(lexer_peek(lexer, (uint32_t)length)))
        length++;
    lexer->position += (uint32_t)length;
    token->kind = TOKEN_NAME;
    for (int kind = TOKEN_NAME + 1; kind <= TOKEN_WHILE; kind++)
        if (strlen(kind_texts[kind]) == length && !memcmp(kind_texts[kind], text, length))
            token->kind = (enum token_kind)kind;
}

static void lex_punctuation(struct lexer *lexer, struct token *token)
{
    const char *text = lexer->source->text + lexer->position;
    size_t left = lexer->source->length - lexer->position, best = 0;
    for (int kind = TOKEN_BRACE_OPEN; kind < TOKEN_KINDS; kind++) {
        size_t length = strlen(kind_texts[kind]);
        if (length > best && length <= left && !memcmp(kind_texts[kind], text, length)) {
            best = length;
            token->kind = (enum token_kind)kind;
        }
    }
    lexer->position += (uint32_t)best;
    if (best)
        return;
    /* The token takes all bytes of a character that is not ASCII, so that the message shows it whole. */
    lexer->position++;
    while ((lexer_peek(lexer, 0) & 0xc0) == 0x80)
        lexer->position++;
    token->kind = TOKEN_ERROR;
    token->error = "Unexpected character";
    if (text[0] == '\'')
        token->hint = "strings are written with \", and there are no character constants";
    else if (text[0] == '\\')
        token->hint = "a text stands between double quotes";
    else if (text[0] == '#')
        token->hint = "comments are // to the end of the line, and /* ... */";
}

static bool lexer_is_predicate_end(const struct lexer *lexer)
{
    if (!lexer->in_predicate || lexer_peek(lexer, 0) != '/')
        return false;
    struct lexer ahead = *lexer;
    ahead.position++;
    if (!lexer_skip_blanks(&ahead))
        return false;
    return lexer_peek(&ahead, 0) == '{' || ahead.position >= ahead.source->length;
}

static struct token lexer_next_written(struct lexer *lexer)
{
    uint32_t length = (uint32_t)lexer->source->length;
    struct token token = {.kind = TOKEN_END, .span = {lexer->source, lexer->position, length}};
    if (!lexer_skip_blanks(lexer)) {
        /* The marker goes under the comment's first characters, not under the rest of the script. */
        token.span.begin = lexer->position;
        token.span.end = lexer->position + 2;
        lexer->position = length;
        token.kind = TOKEN_ERROR;
        token.text = lexer->source->text + token.span.begin;
        token.length = 2;
        token.error = "Unterminated comment";
        token.hint = "a comment that begins with /* ends with */";
        return token;
    }
    token.span.begin = lexer->position;
    char c = lexer_peek(lexer, 0);
    if (lexer->position >= length)
        ;
    else if (lexer_is_digit(c))
        lex_number(lexer, &token);
    else if (is_word_start(c))
        lex_word(lexer, &token);
    else if (c == '"')
        lex_string(lexer, &token);
    else if (c == '$')
        lex_dollar(lexer, &token);
    else if (c == '@') {
        token.kind = TOKEN_MAP;
        lexer->position++;
        if (is_word_start(lexer_peek(lexer, 0)))
            while (lexer_is_word(lexer_peek(lexer, 0)))
                lexer->position++;
    } else if (lexer_is_predicate_end(lexer)) {
        token.kind = TOKEN_PREDICATE_END;
        lexer->position++;
    } else
        lex_punctuation(lexer, &token);
    token.span.end = lexer->position;
    token.text = lexer->source->text + token.span.begin;
    token.length = token.span.end - token.span.begin;
    return token;
}

struct token lexer_next(struct lexer *lexer)
{
    for (;;) {
        if (lexer->expansion && lexer->expanded < lexer->expansion->count)
            return lexer->expansion->tokens[lexer->expanded++];
        lexer->expansion = NULL;
        struct token token = lexer_next_written(lexer);
        if (token.kind != TOKEN_NAME || !lexer->definitions)
            return token;
        uint32_t behind = lexer->position;
        lexer->position = token.span.begin;
        lexer->expanded = 0;
        if (!c_expand(lexer->definitions, lexer, &lexer->expansion)) {
            lexer->position = behind;
            return token;
        }
    }
}

const char *token_kind_text(enum token_kind kind)
{
    return kind < TOKEN_KINDS ? kind_texts[kind] : NULL;
}

bool token_is_word(const struct token *token)
{
    return token->kind >= TOKEN_NAME && token->kind <= TOKEN_WHILE;
}
