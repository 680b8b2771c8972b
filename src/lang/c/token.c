/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes tokens of the preprocessor of C text. A backslash before the end of a line is a blank. Scripts' own words
 * ($x, @m) are tokens too, because macros may contain them. Reports nothing: what is no token is C_OTHER. */
#include <string.h>

#include "base/number.h"
#include "lang/c/state.h"

struct c_symbol *c_symbol(struct c_definitions *c, const char *text, size_t length)
{
    struct c_symbol *symbol = table_get(&c->symbols, text, length);
    if (symbol)
        return symbol;
    symbol = arena_new(c->arena, struct c_symbol);
    symbol->name = arena_copy(c->arena, text, length);
    if (table_set(&c->symbols, text, length, symbol))
        arena_give_up(c->arena);
    return symbol;
}

void c_skip_blanks(const char *text, size_t length, uint32_t *position, bool within_line, bool *line_ended)
{
    size_t at = *position;
    while (at < length) {
        char ch = text[at];
        if (ch == '\n') {
            if (within_line)
                break;
            *line_ended = true;
            at++;
        } else if (lexer_is_blank(ch))
            at++;
        else if (ch == '\\' && at + 1 < length && text[at + 1] == '\n')
            at += 2;
        else if (ch == '\\' && at + 2 < length && text[at + 1] == '\r' && text[at + 2] == '\n')
            at += 3;
        else if (ch == '/' && at + 1 < length && text[at + 1] == '/') {
            while (at < length && text[at] != '\n')
                at += text[at] == '\\' && at + 1 < length && text[at + 1] == '\n' ? 2 : 1;
        } else if (ch == '/' && at + 1 < length && text[at + 1] == '*') {
            const char *end = memmem(text + at + 2, length - at - 2, "*/", 2);
            at = end ? (size_t)(end - text) + 2 : length;
        } else
            break;
    }
    *position = (uint32_t)at;
}

/* Returns where a quoted text ends, '"' … '"' or '\'' … '\'': behind its closing quote, or behind its first
 * character if it is not closed on its line. */
static size_t quoted_end(const char *text, size_t length, size_t at)
{
    char quote = text[at];
    for (size_t end = at + 1; end < length && text[end] != '\n'; end++) {
        if (text[end] == quote)
            return end + 1;
        if (text[end] == '\\')
            end++;
    }
    return at + 1;
}

/* Returns where a number ends: [.0-9], then letters, digits and dots. */
static size_t number_end(const char *text, size_t length, size_t at)
{
    for (at++; at < length; at++) {
        bool is_sign = (text[at] == '+' || text[at] == '-') && strchr("eEpP", text[at - 1]);
        if (!lexer_is_word(text[at]) && text[at] != '.' && !is_sign)
            break;
        /* A sign behind an exponent's letter ends the number: in scripts 0x1e+2 is a sum, and C code has no such
         * numbers. */
        if (is_sign)
            break;
    }
    return at;
}

static size_t mark_length(const char *text, size_t left)
{
    static const char *const marks[] = {"...", "<<=", ">>=", "##", "->", "++", "--", "<<",
                                        ">>",  "<=",  ">=",  "==", "!=", "&&", "||", "*=",
                                        "/=",  "%=",  "+=",  "-=", "&=", "^=", "|="};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t length = strlen(marks[i]);
        if (length <= left && !memcmp(text, marks[i], length))
            return length;
    }
    return 1;
}

struct c_token c_lex(struct c_definitions *c, const char *text, size_t length, uint32_t *position,
                     bool within_line)
{
    struct c_token token = {.kind = C_END};
    uint32_t before = *position;
    bool line_ended = false;
    c_skip_blanks(text, length, position, within_line, &line_ended);
    token.has_blank = *position > before;
    token.begins_line = line_ended;
    token.text = text + *position;
    size_t at = *position, end = at;
    if (at >= length || text[at] == '\n')
        return token;
    char ch = text[at], next = at + 1 < length ? text[at + 1] : 0;
    if (lexer_is_digit(ch) || (ch == '.' && lexer_is_digit(next))) {
        token.kind = C_NUMBER;
        end = number_end(text, length, at);
    } else if (lexer_is_word(ch) || ((ch == '$' || ch == '@') && lexer_is_word(next))) {
        token.kind = ch == '$' || ch == '@' ? C_OTHER : C_NAME;
        for (end = at + 1; end < length && lexer_is_word(text[end]);)
            end++;
    } else if (ch == '"' || ch == '\'') {
        end = quoted_end(text, length, at);
        token.kind = end == at + 1 ? C_OTHER : ch == '"' ? C_STRING : C_CHARACTER;
    } else {
        token.kind = (unsigned char)ch < 0x80 && strchr("{}[]()<>;:,.?=+-*/%&|^!~#", ch) ? C_MARK : C_OTHER;
        end = at + (token.kind == C_MARK ? mark_length(text + at, length - at) : 1);
    }
    /* The prefix of L'x' or u"x" is ignored. */
    if (token.kind == C_NAME && end - at <= 2 && end < length && (text[end] == '"' || text[end] == '\'') &&
        strchr("LuU", ch) && (end - at == 1 || (ch == 'u' && next == '8')) &&
        quoted_end(text, length, end) > end + 1) {
        at = end;
        end = quoted_end(text, length, at);
        token.kind = text[at] == '"' ? C_STRING : C_CHARACTER;
        token.text = text + at;
    }
    token.length = (uint32_t)(end - at);
    if (token.kind == C_NAME)
        token.symbol = c_symbol(c, text + at, end - at);
    *position = (uint32_t)end;
    return token;
}

bool c_is(const struct c_token *token, const char *mark)
{
    return token->kind == C_MARK && strlen(mark) == token->length &&
           !memcmp(token->text, mark, token->length);
}

int64_t c_character(const struct c_token *token)
{
    static const char plain[] = "a\ab\bf\fn\nr\rt\tv\v\\\\''\"\"??e\033";
    const char *text = token->text + 1;
    size_t left = token->length - 2;
    int64_t value = 0;
    while (left) {
        unsigned char ch = (unsigned char)*text;
        size_t used = 1;
        if (ch == '\\' && left > 1) {
            used = 2;
            bool is_known = false;
            for (const char *pair = plain; *pair && !is_known; pair += 2)
                if (pair[0] == text[1])
                    ch = (unsigned char)pair[1], is_known = true;
            if (!is_known) {
                const bool is_hexadecimal = text[1] == 'x';
                const char *at = text + (is_hexadecimal ? 2 : 1);
                uint64_t number;
                number_take(&at, text + (is_hexadecimal || left < 4 ? left : 4), is_hexadecimal ? 16 : 8,
                            &number);
                ch = (unsigned char)number;
                used = at < text + 2 ? 2 : (size_t)(at - text);
            }
        }
        value = left == token->length - 2 ? (signed char)ch : (int64_t)(int32_t)((uint32_t)value << 8 | ch);
        text += used;
        left -= used > left ? left : used;
    }
    return value;
}

void c_tokens_add(struct c_definitions *c, struct c_tokens *tokens, struct c_token token)
{
    *arena_push(c->arena, tokens->items, tokens->count, tokens->room) = token;
}
