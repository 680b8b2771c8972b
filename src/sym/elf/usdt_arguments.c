/* SPDX-License-Identifier: BSD-3-Clause */
/* The argument string of a stapsdt note: operands as the assembler writes them, each with its size in front.
 *
 *   arguments := { argument }                        separated by blanks, or by nothing but the next "N@"
 *   argument  := [ ["-"] size ["f"] "@" ] operand
 *   x86-64:    operand := "$" number | "%" register | [offset] "(" ["%" base] ["," "%" index ["," scale]] ")"
 *              offset  := number | symbol | symbol ("+" | "-") number | number "+" symbol
 *   aarch64:   operand := number | register | "[" register ["," (number | register)] "]"
 *
 * Blanks may stand inside brackets. What fits none of these is one unsupported argument, up to the next blank
 * outside brackets, so the ones after it keep their numbers. */
#include "sym/elf/usdt.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct cursor {
    const char *start, *at;
    const char *end; /* of this operand */
    enum machine machine;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t'))
        cursor->at++;
}

static bool take(struct cursor *cursor, char c)
{
    skip_blanks(cursor);
    if (cursor->at >= cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

/* Decimal, 0x hexadecimal or 0 octal, with a sign. Constants may need all 64 bits, signed or not. */
static bool take_number(struct cursor *cursor, int64_t *out)
{
    const char *at = cursor->at;
    bool negative = at < cursor->end && *at == '-';
    at += negative || (at < cursor->end && *at == '+');
    unsigned base = 10;
    if (cursor->end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        base = 16;
        at += 2;
    } else if (cursor->end - at > 1 && at[0] == '0' && isdigit((unsigned char)at[1])) {
        base = 8;
    }
    uint64_t value = 0;
    const char *digits = at;
    for (; at < cursor->end && isxdigit((unsigned char)*at); at++) {
        unsigned digit =
            isdigit((unsigned char)*at) ? (unsigned)(*at - '0') : (unsigned)(tolower(*at) - 'a') + 10;
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    if (at == digits)
        return false;
    *out = (int64_t)(negative ? 0 - value : value);
    cursor->at = at;
    return true;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '@';
}

static bool take_register(struct cursor *cursor, struct machine_register *out)
{
    const char *begin = cursor->at;
    while (cursor->at < cursor->end && isalnum((unsigned char)*cursor->at))
        cursor->at++;
    return machine_register_assembler(cursor->machine, begin, (size_t)(cursor->at - begin), out);
}

static bool at_end(struct cursor *cursor)
{
    skip_blanks(cursor);
    return cursor->at == cursor->end;
}

/* ---- x86-64 ---- */

static bool x86_offset(struct cursor *cursor, struct usdt_argument *out)
{
    bool first = true;
    while (cursor->at < cursor->end && *cursor->at != '(') {
        int64_t number;
        if (take_number(cursor, &number)) {
            out->displacement = (int64_t)((uint64_t)out->displacement + (uint64_t)number);
        } else {
            if (!first && !take(cursor, '+'))
                return false;
            const char *begin = cursor->at;
            while (cursor->at < cursor->end && is_name(*cursor->at))
                cursor->at++;
            if (cursor->at == begin || *begin == '@' || out->symbol_end)
                return false;
            out->symbol_begin = (uint16_t)(begin - cursor->start);
            out->symbol_end = (uint16_t)(cursor->at - cursor->start);
        }
        first = false;
    }
    return true;
}

static bool x86_memory(struct cursor *cursor, struct usdt_argument *out)
{
    enum { RIP = 128 };
    out->scale = 1;
    if (!x86_offset(cursor, out))
        return false;
    out->is_indirect_symbol = out->symbol_end != 0;
    out->is_pc_relative = out->is_indirect_symbol;
    if (cursor->at == cursor->end)
        return out->is_indirect_symbol; /* a bare symbol: an absolute address in non-PIC code */
    if (!take(cursor, '('))
        return false;
    if (take(cursor, '%')) {
        if (!take_register(cursor, &out->base))
            return false;
        out->has_base = true;
    }
    if (take(cursor, ',') && take(cursor, '%')) {
        int64_t scale = 1;
        if (!take_register(cursor, &out->index))
            return false;
        out->has_index = true;
        if (take(cursor, ',')) {
            skip_blanks(cursor);
            if (!take_number(cursor, &scale) || (scale != 1 && scale != 2 && scale != 4 && scale != 8))
                return false;
        }
        out->scale = (uint8_t)scale;
    }
    if (!take(cursor, ')') || !at_end(cursor))
        return false;
    if (out->has_base && out->base.offset == RIP) {
        /* A number before (%rip) counts from the next instruction, which a nop's operand does not have: it
         * means the address only together with a symbol. */
        out->has_base = false;
        return out->is_indirect_symbol && !out->has_index;
    }
    return out->has_base || out->has_index;
}

static bool x86_operand(struct cursor *cursor, struct usdt_argument *out)
{
    if (take(cursor, '$')) {
        out->kind = USDT_CONSTANT;
        return take_number(cursor, &out->constant) && at_end(cursor);
    }
    if (take(cursor, '%')) {
        out->kind = USDT_REGISTER;
        return take_register(cursor, &out->base) && at_end(cursor);
    }
    out->kind = USDT_MEMORY;
    return x86_memory(cursor, out);
}

/* ---- aarch64 ---- */

static bool arm_operand(struct cursor *cursor, struct usdt_argument *out)
{
    if (take(cursor, '[')) {
        out->kind = USDT_MEMORY;
        out->scale = 1;
        out->has_base = true;
        skip_blanks(cursor);
        if (!take_register(cursor, &out->base))
            return false;
        if (take(cursor, ',')) {
            skip_blanks(cursor);
            take(cursor, '#');
            if (!take_number(cursor, &out->displacement)) {
                out->has_index = true;
                if (!take_register(cursor, &out->index))
                    return false;
            }
        }
        return take(cursor, ']') && at_end(cursor);
    }
    take(cursor, '#');
    if (take_number(cursor, &out->constant)) {
        out->kind = USDT_CONSTANT;
        return at_end(cursor);
    }
    out->kind = USDT_REGISTER;
    return take_register(cursor, &out->base) && at_end(cursor);
}

/* ---- both ---- */

/* "-4@", "8f@": true when there is one. A missing one means: as wide as the register. */
static bool take_size(struct cursor *cursor, struct usdt_argument *out)
{
    const char *at = cursor->at;
    bool negative = at < cursor->end && *at == '-';
    at += negative;
    unsigned size = 0, digits = 0;
    for (; at < cursor->end && isdigit((unsigned char)*at) && digits < 3; at++, digits++)
        size = size * 10 + (unsigned)(*at - '0');
    bool is_float = at < cursor->end && *at == 'f';
    at += is_float;
    if (!digits || at >= cursor->end || *at != '@')
        return false;
    cursor->at = at + 1;
    out->size = (uint8_t)(size > UINT8_MAX ? UINT8_MAX : size);
    out->is_signed = negative;
    out->is_float = is_float;
    return true;
}

/* Where this argument ends: at a blank outside of brackets. */
static const char *operand_end(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        if (*at == '(' || *at == '[')
            depth++;
        else if ((*at == ')' || *at == ']') && depth)
            depth--;
        else if ((*at == ' ' || *at == '\t') && !depth)
            break;
    }
    return at;
}

/* A constant is what the program would have passed: cut to its size, extended by its sign. */
static int64_t constant_fit(int64_t value, unsigned size, bool is_signed)
{
    unsigned shift = 64 - 8 * size;
    uint64_t up = (uint64_t)value << shift;
    return is_signed ? (int64_t)up >> shift : (int64_t)(up >> shift);
}

static void parse_one(struct cursor *cursor, struct usdt_argument *out)
{
    bool sized = take_size(cursor, out);
    const struct usdt_argument head = *out;
    bool known = cursor->machine == MACHINE_X86_64    ? x86_operand(cursor, out)
                 : cursor->machine == MACHINE_AARCH64 ? arm_operand(cursor, out)
                                                      : false;
    if (known && !sized)
        out->size = out->kind == USDT_REGISTER ? out->base.width : 8;
    if (known && !out->is_float && (out->size == 1 || out->size == 2 || out->size == 4 || out->size == 8)) {
        out->constant = constant_fit(out->constant, out->size, out->is_signed);
        return;
    }
    uint16_t begin = out->text_begin, end = out->text_end;
    *out = head;
    out->kind = USDT_UNSUPPORTED;
    out->text_begin = begin;
    out->text_end = end;
}

int usdt_parse_arguments(const char *text, enum machine machine, struct usdt_arguments *out)
{
    memset(out, 0, sizeof *out);
    if (strnlen(text, UINT16_MAX) >= UINT16_MAX)
        return -EBADMSG;
    for (const char *at = text;;) {
        at += strspn(at, " \t");
        if (!*at)
            return 0;
        if (!isprint((unsigned char)*at))
            return -EBADMSG;
        if (out->count == USDT_ARGUMENTS_MAX)
            return -E2BIG;
        struct usdt_argument *argument = &out->items[out->count++];
        struct cursor cursor = {.start = text, .at = at, .end = operand_end(at), .machine = machine};
        argument->text_begin = (uint16_t)(at - text);
        argument->text_end = (uint16_t)(cursor.end - text);
        parse_one(&cursor, argument);
        at = text + argument->text_end;
    }
}
