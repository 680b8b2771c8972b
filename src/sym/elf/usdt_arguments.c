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

#include "base/number.h"

struct scanner {
    const char *start, *at;
    const char *end; /* end of this operand */
    enum machine machine;
};

static void skip_blanks(struct scanner *scanner)
{
    while (scanner->at < scanner->end && (*scanner->at == ' ' || *scanner->at == '\t'))
        scanner->at++;
}

static bool take(struct scanner *scanner, char c)
{
    skip_blanks(scanner);
    if (scanner->at >= scanner->end || *scanner->at != c)
        return false;
    scanner->at++;
    return true;
}

/* Reads a number: decimal, 0x hexadecimal or 0 octal, with a sign. Constants may need all 64 bits, signed or not. */
static bool take_number(struct scanner *scanner, int64_t *out)
{
    const char *at = scanner->at;
    bool negative = at < scanner->end && *at == '-';
    at += negative || (at < scanner->end && *at == '+');
    unsigned base = 10;
    if (scanner->end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        base = 16;
        at += 2;
    } else if (scanner->end - at > 1 && at[0] == '0' && isdigit((unsigned char)at[1])) {
        base = 8;
    }
    uint64_t value;
    if (!number_take(&at, scanner->end, base, &value))
        return false;
    *out = (int64_t)(negative ? 0 - value : value);
    scanner->at = at;
    return true;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '@';
}

static bool take_register(struct scanner *scanner, struct machine_register *out)
{
    const char *begin = scanner->at;
    while (scanner->at < scanner->end && isalnum((unsigned char)*scanner->at))
        scanner->at++;
    return machine_register_assembler(scanner->machine, begin, (size_t)(scanner->at - begin), out);
}

static bool at_end(struct scanner *scanner)
{
    skip_blanks(scanner);
    return scanner->at == scanner->end;
}

/* ---- x86-64 ---- */

static bool x86_offset(struct scanner *scanner, struct usdt_argument *out)
{
    bool first = true;
    while (scanner->at < scanner->end && *scanner->at != '(') {
        int64_t number;
        if (take_number(scanner, &number)) {
            out->displacement = (int64_t)((uint64_t)out->displacement + (uint64_t)number);
        } else {
            if (!first && !take(scanner, '+'))
                return false;
            const char *begin = scanner->at;
            while (scanner->at < scanner->end && is_name(*scanner->at))
                scanner->at++;
            if (scanner->at == begin || *begin == '@' || out->symbol_end)
                return false;
            out->symbol_begin = (uint16_t)(begin - scanner->start);
            out->symbol_end = (uint16_t)(scanner->at - scanner->start);
        }
        first = false;
    }
    return true;
}

static bool x86_memory(struct scanner *scanner, struct usdt_argument *out)
{
    enum { RIP = 128 };
    out->scale = 1;
    if (!x86_offset(scanner, out))
        return false;
    out->is_indirect_symbol = out->symbol_end != 0;
    out->is_pc_relative = out->is_indirect_symbol;
    if (scanner->at == scanner->end)
        /* a symbol alone is an absolute address, in code that is not position-independent */
        return out->is_indirect_symbol;
    if (!take(scanner, '('))
        return false;
    if (take(scanner, '%')) {
        if (!take_register(scanner, &out->base))
            return false;
        out->has_base = true;
    }
    if (take(scanner, ',') && take(scanner, '%')) {
        int64_t scale = 1;
        if (!take_register(scanner, &out->index))
            return false;
        out->has_index = true;
        if (take(scanner, ',')) {
            skip_blanks(scanner);
            if (!take_number(scanner, &scale) || (scale != 1 && scale != 2 && scale != 4 && scale != 8))
                return false;
        }
        out->scale = (uint8_t)scale;
    }
    if (!take(scanner, ')') || !at_end(scanner))
        return false;
    if (out->has_base && out->base.offset == RIP) {
        /* A number before (%rip) counts from the next instruction, which the operand of a nop does not have. It
         * means an address only together with a symbol. */
        out->has_base = false;
        return out->is_indirect_symbol && !out->has_index;
    }
    return out->has_base || out->has_index;
}

static bool x86_operand(struct scanner *scanner, struct usdt_argument *out)
{
    if (take(scanner, '$')) {
        out->kind = USDT_CONSTANT;
        return take_number(scanner, &out->constant) && at_end(scanner);
    }
    if (take(scanner, '%')) {
        out->kind = USDT_REGISTER;
        return take_register(scanner, &out->base) && at_end(scanner);
    }
    out->kind = USDT_MEMORY;
    return x86_memory(scanner, out);
}

/* ---- aarch64 ---- */

static bool arm_operand(struct scanner *scanner, struct usdt_argument *out)
{
    if (take(scanner, '[')) {
        out->kind = USDT_MEMORY;
        out->scale = 1;
        out->has_base = true;
        skip_blanks(scanner);
        if (!take_register(scanner, &out->base))
            return false;
        if (take(scanner, ',')) {
            skip_blanks(scanner);
            take(scanner, '#');
            if (!take_number(scanner, &out->displacement)) {
                out->has_index = true;
                if (!take_register(scanner, &out->index))
                    return false;
            }
        }
        return take(scanner, ']') && at_end(scanner);
    }
    take(scanner, '#');
    if (take_number(scanner, &out->constant)) {
        out->kind = USDT_CONSTANT;
        return at_end(scanner);
    }
    out->kind = USDT_REGISTER;
    return take_register(scanner, &out->base) && at_end(scanner);
}

/* ---- both ---- */

/* Reads a size, "-4@" or "8f@". False: there is none, and the argument is as wide as the register. */
static bool take_size(struct scanner *scanner, struct usdt_argument *out)
{
    const char *at = scanner->at;
    bool negative = at < scanner->end && *at == '-';
    at += negative;
    uint64_t size;
    const bool has_digits = number_take(&at, scanner->end, 10, &size);
    bool is_float = at < scanner->end && *at == 'f';
    at += is_float;
    if (!has_digits || at >= scanner->end || *at != '@')
        return false;
    scanner->at = at + 1;
    out->size = (uint8_t)(size > UINT8_MAX ? UINT8_MAX : size);
    out->is_signed = negative;
    out->is_float = is_float;
    return true;
}

/* Returns where an argument ends: at a blank outside of brackets. */
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

/* Returns a constant as the program would have passed it: cut to its size, extended by its sign. */
static int64_t constant_fit(int64_t value, unsigned size, bool is_signed)
{
    unsigned shift = 64 - 8 * size;
    uint64_t up = (uint64_t)value << shift;
    return is_signed ? (int64_t)up >> shift : (int64_t)(up >> shift);
}

static void parse_one(struct scanner *scanner, struct usdt_argument *out)
{
    bool sized = take_size(scanner, out);
    const struct usdt_argument head = *out;
    bool known = scanner->machine == MACHINE_X86_64    ? x86_operand(scanner, out)
                 : scanner->machine == MACHINE_AARCH64 ? arm_operand(scanner, out)
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
        struct scanner scanner = {.start = text, .at = at, .end = operand_end(at), .machine = machine};
        argument->text_begin = (uint16_t)(at - text);
        argument->text_end = (uint16_t)(scanner.end - text);
        parse_one(&scanner, argument);
        at = text + argument->text_end;
    }
}
