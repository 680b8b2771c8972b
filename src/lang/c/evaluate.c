/* SPDX-License-Identifier: BSD-3-Clause */
/* Constant expressions: those of #if, in which all values have 64 bits and names are 0, and those of declarations,
 * in which int has 32 bits, names are enumerators, and casts and sizeof are allowed. */
#include <ctype.h>
#include <string.h>

#include "base/number.h"
#include "lang/c/state.h"

static const struct c_token *cursor_peek(struct c_cursor *cursor)
{
    static const struct c_token end = {.kind = C_END, .text = ""};
    if (!cursor->tokens)
        return c_peek(cursor->c);
    return cursor->next < cursor->tokens->count ? &cursor->tokens->items[cursor->next] : &end;
}

static struct c_token cursor_take(struct c_cursor *cursor)
{
    struct c_token token = *cursor_peek(cursor);
    if (!cursor->tokens)
        c_take(cursor->c);
    else if (cursor->next < cursor->tokens->count)
        cursor->next++;
    return token;
}

static bool cursor_accept(struct c_cursor *cursor, const char *mark)
{
    if (!c_is(cursor_peek(cursor), mark))
        return false;
    cursor_take(cursor);
    return true;
}

static bool fail(struct c_cursor *cursor, const char *error)
{
    if (!cursor->error)
        cursor->error = error;
    return false;
}

/* Returns a value as far as it fits in its type. */
static struct c_value fitted(struct c_value value)
{
    if (value.size == 4)
        value.bits = value.is_unsigned ? (uint32_t)value.bits : (uint64_t)(int64_t)(int32_t)value.bits;
    return value;
}

static bool conditional(struct c_cursor *cursor, struct c_value *value);

/* digits and suffixes: u l ul ll ull; 0x, 0b, 0 */
static bool number(struct c_cursor *cursor, const struct c_token *token, struct c_value *value)
{
    const char *text = token->text;
    uint32_t length = token->length, at = 0;
    unsigned base = 10;
    if (length > 1 && text[0] == '0') {
        base = text[1] == 'x' || text[1] == 'X' ? 16 : text[1] == 'b' || text[1] == 'B' ? 2 : 8;
        at = base == 8 ? 1 : 2;
    }
    uint64_t bits;
    const char *behind = text + at;
    number_take(&behind, text + length, base, &bits);
    at = (uint32_t)(behind - text);
    bool is_unsigned = false, is_long = cursor->is_condition;
    for (; at < length; at++) {
        if (text[at] == 'u' || text[at] == 'U')
            is_unsigned = true;
        else if (text[at] == 'l' || text[at] == 'L')
            is_long = true;
        else
            return fail(cursor, "it is no integer");
    }
    bool fits_int = bits <= INT32_MAX, fits_unsigned = bits <= UINT32_MAX;
    if (!is_long && !(is_unsigned ? fits_unsigned : fits_int || (base != 10 && fits_unsigned)))
        is_long = true;
    if (!is_unsigned && base != 10 && !is_long && !fits_int)
        is_unsigned = true;
    is_unsigned |= bits > INT64_MAX;
    *value = fitted((struct c_value){bits, is_unsigned, is_long ? 8 : 4});
    return true;
}

/* Sets a value to the size or the alignment of a type. */
static void set_size(struct c_value *value, uint64_t size)
{
    *value = (struct c_value){size, true, 8};
}

/* offsetof: '(' type ',' name ('.' name | '[' expression ']')* ')' */
static bool offset_of(struct c_cursor *cursor, struct c_value *value)
{
    struct c_definitions *c = cursor->c;
    struct c_typed typed;
    if (!cursor_accept(cursor, "(") || !c_type_name(c, &typed) || !cursor_accept(cursor, ","))
        return fail(cursor, "offsetof expects a type and a member");
    uint64_t offset = 0;
    const struct type *type = typed.type;
    for (bool is_first = true; is_first || cursor_accept(cursor, "."); is_first = false) {
        struct c_token name = cursor_take(cursor);
        struct field field;
        if (!type || name.kind != C_NAME || !type_find_field(type, name.symbol->name, &field))
            return fail(cursor, "offsetof names a member that is not there");
        offset += field.offset;
        type = field.type;
        while (cursor_accept(cursor, "[")) {
            struct c_value index;
            if (!conditional(cursor, &index) || !cursor_accept(cursor, "]") || type->kind != TYPE_ARRAY)
                return fail(cursor, "offsetof expects an element of an array");
            offset += index.bits * type->target->size;
            type = type->target;
        }
    }
    if (!cursor_accept(cursor, ")"))
        return fail(cursor, "')' is missing");
    set_size(value, offset);
    return true;
}

/* Returns how many bytes a string has with its NUL; an escape is one. */
static uint32_t string_bytes(const struct c_token *token)
{
    const char *at = memchr(token->text, '"', token->length), *end = token->text + token->length - 1;
    uint32_t bytes = 1;
    for (at = at ? at + 1 : end; at < end; bytes++) {
        if (*at++ != '\\' || at == end)
            continue;
        if (*at == 'x')
            for (at++; at < end && isxdigit((unsigned char)*at);)
                at++;
        else if (*at >= '0' && *at <= '7')
            for (unsigned digits = 0; digits < 3 && at < end && *at >= '0' && *at <= '7'; digits++)
                at++;
        else
            at++;
    }
    return bytes;
}

/* Finds the type of the operand of sizeof, if that is no type: a string, or '(' … ')' around a cast null pointer
 * and members of it:
 * ((struct x *)0)->a.b[1]. */
static bool operand_type(struct c_cursor *cursor, const struct type **type)
{
    struct c_definitions *c = cursor->c;
    if (c->depth >= C_DEPTH)
        return fail(cursor, "it is nested too deeply");
    c->depth++;
    bool is_good = true;
    if (cursor_accept(cursor, "*")) {
        is_good = operand_type(cursor, type) && (*type)->target;
        if (is_good)
            *type = (*type)->target;
    } else if (cursor_accept(cursor, "&")) {
        is_good = operand_type(cursor, type);
        if (is_good)
            *type = type_pointer(c->arena, *type, SPACE_NONE);
    } else if (cursor_accept(cursor, "(")) {
        struct c_typed typed;
        struct c_value ignored;
        if (c_begins_type(c)) {
            is_good = c_type_name(c, &typed) && cursor_accept(cursor, ")") && typed.type;
            if (is_good && (c_is(cursor_peek(cursor), "(") || cursor_peek(cursor)->kind != C_MARK)) {
                struct c_cursor inner = *cursor;
                is_good = c_is(cursor_peek(cursor), "(")
                              ? cursor_accept(cursor, "(") && conditional(&inner, &ignored) &&
                                    cursor_accept(cursor, ")")
                              : cursor_take(cursor).kind != C_END;
            }
            *type = typed.type;
        } else
            is_good = operand_type(cursor, type) && cursor_accept(cursor, ")");
    } else if (cursor_peek(cursor)->kind == C_STRING) {
        struct c_token string = cursor_take(cursor);
        *type = type_array(c->arena, &type_i8, string_bytes(&string));
    } else {
        struct c_value value;
        is_good = conditional(cursor, &value);
        *type = is_good ? type_integer(value.size, !value.is_unsigned) : NULL;
    }
    while (is_good && *type) {
        bool is_arrow = c_is(cursor_peek(cursor), "->");
        struct field field;
        if (is_arrow || c_is(cursor_peek(cursor), ".")) {
            cursor_take(cursor);
            struct c_token name = cursor_take(cursor);
            const struct type *of = is_arrow ? (*type)->target : *type;
            is_good = of && name.kind == C_NAME && type_find_field(of, name.symbol->name, &field);
            if (is_good)
                *type = field.type;
        } else if (cursor_accept(cursor, "[")) {
            struct c_value ignored;
            is_good = conditional(cursor, &ignored) && cursor_accept(cursor, "]") && (*type)->target;
            if (is_good)
                *type = (*type)->target;
        } else
            break;
    }
    c->depth--;
    return is_good && *type ? true : fail(cursor, "the size of this cannot be told");
}

/* sizeof: '(' type ')' | operand;  _Alignof: '(' type ')' */
static bool measure(struct c_cursor *cursor, bool wants_align, struct c_value *value)
{
    struct c_definitions *c = cursor->c;
    struct c_typed typed = {0};
    if (!cursor_accept(cursor, "("))
        return fail(cursor, "sizeof expects parentheses");
    if (c_begins_type(c)) {
        if (!c_type_name(c, &typed) || !typed.type)
            return fail(cursor, "its type is not known");
    } else if (!operand_type(cursor, &typed.type))
        return false;
    if (!cursor_accept(cursor, ")"))
        return fail(cursor, "')' is missing");
    type_complete(typed.type);
    if (typed.type->kind == TYPE_STRUCT && !typed.type->size && !typed.type->count && !wants_align &&
        typed.type->complete)
        return fail(cursor, "the size of a type is not known");
    set_size(value, wants_align ? (typed.align ? typed.align : c_align_of(typed.type)) : typed.type->size);
    return true;
}

static bool unary(struct c_cursor *cursor, struct c_value *value);

static bool cast(struct c_cursor *cursor, struct c_value *value)
{
    struct c_typed typed;
    if (!c_type_name(cursor->c, &typed) || !typed.type || !cursor_accept(cursor, ")"))
        return fail(cursor, "a cast to a type that is not known");
    if (!unary(cursor, value))
        return false;
    const struct type *type = typed.type;
    uint32_t size = type->kind == TYPE_POINTER ? 8 : type->size;
    bool is_signed = type->kind != TYPE_POINTER && type->is_signed;
    if (type->kind == TYPE_BOOL)
        value->bits = value->bits != 0;
    else if (!type_is_scalar(type) || !size)
        return fail(cursor, "a cast to a type that is no number");
    else if (size < 8) {
        unsigned shift = 64 - size * 8;
        value->bits =
            is_signed ? (uint64_t)((int64_t)(value->bits << shift) >> shift) : value->bits << shift >> shift;
    }
    value->size = size == 8 ? 8 : 4;
    value->is_unsigned = !is_signed && size >= 4;
    return true;
}

static bool primary(struct c_cursor *cursor, struct c_value *value)
{
    const struct c_token token = *cursor_peek(cursor);
    struct c_definitions *c = cursor->c;
    if (token.kind == C_NUMBER) {
        cursor_take(cursor);
        return number(cursor, &token, value);
    }
    if (token.kind == C_CHARACTER) {
        cursor_take(cursor);
        *value = (struct c_value){(uint64_t)c_character(&token), false, cursor->is_condition ? 8 : 4};
        return true;
    }
    if (token.kind == C_NAME) {
        cursor_take(cursor);
        if (cursor->is_condition) {
            *value = (struct c_value){0, false, 8};
            return true;
        }
        if (token.symbol->word == C_WORD_SIZEOF || token.symbol->word == C_WORD_ALIGNOF)
            return measure(cursor, token.symbol->word == C_WORD_ALIGNOF, value);
        if (token.symbol->word == C_WORD_OFFSETOF)
            return offset_of(cursor, value);
        int64_t found;
        const struct type *type = c_enumerator(c, token.symbol->name, &found);
        if (!type)
            return fail(cursor, arena_printf(c->arena, "'%s' is not known", token.symbol->name));
        bool fits = found >= INT32_MIN && found <= INT32_MAX;
        *value = (struct c_value){(uint64_t)found, !fits && !type->is_signed,
                                  fits || (type->size == 4 && found >= 0 && found <= UINT32_MAX) ? 4 : 8};
        return true;
    }
    if (cursor_accept(cursor, "(")) {
        if (!cursor->is_condition && c_begins_type(c))
            return cast(cursor, value);
        if (!conditional(cursor, value))
            return false;
        return cursor_accept(cursor, ")") ? true : fail(cursor, "')' is missing");
    }
    return fail(cursor, token.kind == C_END ? "it ends too early" : "it is no constant expression");
}

static bool unary(struct c_cursor *cursor, struct c_value *value)
{
    static const char marks[] = "-+!~";
    struct c_definitions *c = cursor->c;
    const struct c_token *token = cursor_peek(cursor);
    const char *mark = token->kind == C_MARK && token->length == 1 ? strchr(marks, token->text[0]) : NULL;
    if (c->depth >= C_DEPTH)
        return fail(cursor, "it is nested too deeply");
    c->depth++;
    bool is_good;
    if (!mark)
        is_good = primary(cursor, value);
    else {
        cursor_take(cursor);
        is_good = unary(cursor, value);
        if (*mark == '!')
            *value = (struct c_value){!value->bits, false, cursor->is_condition ? 8 : 4};
        else
            value->bits = *mark == '-' ? -value->bits : *mark == '~' ? ~value->bits : value->bits;
        *value = fitted(*value);
    }
    c->depth--;
    return is_good;
}

static const struct {
    const char *mark;
    uint8_t level;
} binary_marks[] = {
    {"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5}, {"==", 6}, {"!=", 6}, {"<", 7},  {"<=", 7},
    {">", 7},  {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9}, {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

/* The bits of an arithmetic operation on two values of the same type; a divisor is not 0. */
static uint64_t calculate(char operation, struct c_value a, struct c_value b)
{
    bool divides = operation == '/' || operation == '%';
    /* a division by -1 as a negation, because the quotient of the smallest number would not fit */
    if (divides && !a.is_unsigned && b.bits == UINT64_MAX)
        return operation == '/' ? -a.bits : 0;
    switch (operation) {
    case '|': return a.bits | b.bits;
    case '^': return a.bits ^ b.bits;
    case '&': return a.bits & b.bits;
    case '+': return a.bits + b.bits;
    case '-': return a.bits - b.bits;
    case '*': return a.bits * b.bits;
    case '/': return a.is_unsigned ? a.bits / b.bits : (uint64_t)((int64_t)a.bits / (int64_t)b.bits);
    default: return a.is_unsigned ? a.bits % b.bits : (uint64_t)((int64_t)a.bits % (int64_t)b.bits);
    }
}

static bool apply(struct c_cursor *cursor, const char *mark, struct c_value *left, struct c_value right,
                  bool is_used)
{
    char first = mark[0], second = mark[1];
    bool is_shift = (first == '<' || first == '>') && second == first;
    struct c_value result = {.size = left->size, .is_unsigned = left->is_unsigned};
    if (!is_shift && right.size >= left->size) {
        result.is_unsigned =
            right.size > left->size ? right.is_unsigned : left->is_unsigned || right.is_unsigned;
        result.size = right.size;
    }
    struct c_value a = *left, b = right;
    a.size = result.size, a.is_unsigned = result.is_unsigned;
    a = fitted(a);
    if (!is_shift) {
        b.size = result.size, b.is_unsigned = result.is_unsigned;
        b = fitted(b);
    }
    bool is_unsigned = result.is_unsigned;
    bool less = is_unsigned ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
    bool equal = a.bits == b.bits, is_truth = true, truth = false;
    unsigned shift = b.bits & (result.size * 8u - 1);
    if (is_shift) {
        is_truth = false;
        result.bits = first == '<'  ? a.bits << shift
                      : is_unsigned ? a.bits >> shift
                                    : (uint64_t)((int64_t)a.bits >> shift);
    } else if (first == '|' && second)
        truth = a.bits || b.bits;
    else if (first == '&' && second)
        truth = a.bits && b.bits;
    else if (first == '=' || first == '!')
        truth = equal == (first == '=');
    else if (first == '<')
        truth = less || (second && equal);
    else if (first == '>')
        truth = (!less && !equal) || (second && equal);
    else {
        is_truth = false;
        if ((first == '/' || first == '%') && !b.bits) {
            if (is_used)
                return fail(cursor, "a division by zero");
            b.bits = 1;
        }
        result.bits = calculate(first, a, b);
    }
    *left = is_truth ? (struct c_value){truth, false, cursor->is_condition ? 8 : 4} : fitted(result);
    return true;
}

static bool binary(struct c_cursor *cursor, unsigned lowest, struct c_value *value, bool is_used)
{
    if (!unary(cursor, value))
        return false;
    for (;;) {
        const struct c_token *token = cursor_peek(cursor);
        const char *mark = NULL;
        unsigned level = 0;
        for (size_t i = 0; token->kind == C_MARK && i < sizeof binary_marks / sizeof *binary_marks && !mark;
             i++)
            if (c_is(token, binary_marks[i].mark)) {
                mark = binary_marks[i].mark;
                level = binary_marks[i].level;
            }
        if (!mark || level < lowest)
            return true;
        cursor_take(cursor);
        /* An operand that && or || does not evaluate may divide by zero. */
        bool right_is_used = is_used && !(level == 1 && value->bits) && !(level == 2 && !value->bits);
        struct c_value right;
        if (!binary(cursor, level + 1, &right, right_is_used) || !apply(cursor, mark, value, right, is_used))
            return false;
    }
}

static bool conditional_used(struct c_cursor *cursor, struct c_value *value, bool is_used)
{
    struct c_definitions *c = cursor->c;
    if (c->depth >= C_DEPTH)
        return fail(cursor, "it is nested too deeply");
    c->depth++;
    bool is_good = binary(cursor, 1, value, is_used);
    if (is_good && cursor_accept(cursor, "?")) {
        struct c_value yes = *value, no;
        bool condition = value->bits != 0;
        is_good = c_is(cursor_peek(cursor), ":") || conditional_used(cursor, &yes, is_used && condition);
        if (is_good && !cursor_accept(cursor, ":"))
            is_good = fail(cursor, "':' is missing");
        is_good = is_good && conditional_used(cursor, &no, is_used && !condition);
        if (is_good) {
            struct c_value chosen = condition ? yes : no;
            const struct c_value *wide = yes.size >= no.size ? &yes : &no;
            chosen.is_unsigned = yes.size == no.size ? yes.is_unsigned || no.is_unsigned : wide->is_unsigned;
            chosen.size = wide->size;
            *value = fitted(chosen);
        }
    }
    c->depth--;
    return is_good;
}

static bool conditional(struct c_cursor *cursor, struct c_value *value)
{
    return conditional_used(cursor, value, true);
}

bool c_evaluate(struct c_cursor *cursor, struct c_value *value)
{
    *value = (struct c_value){0, false, 8};
    return conditional(cursor, value);
}
