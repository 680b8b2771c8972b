/* SPDX-License-Identifier: BSD-3-Clause */
/* See copy.h. An instruction here is prefixes (66, REX), an opcode, and mostly a ModRM byte with what that calls
 * for: SIB, displacement. */
#include "sym/machine/copy.h"

#include "base/cursor.h"

static struct machine_register general(unsigned number)
{
    static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                        "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    struct machine_register found = {0};
    machine_register_named(MACHINE_X86_64, names[number & 15], &found);
    return found;
}

static struct machine_place in_register(unsigned number)
{
    return (struct machine_place){.is_known = true, .base = general(number)};
}

enum { REX = 0x40, REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1, NO_INDEX = 4, HAS_SIB = 4, NO_BASE = 5 };

/* Returns the operand that the mode and base of ModRM name; *is_relative: it is relative to the next instruction. */
static struct machine_place operand(struct cursor *cursor, unsigned modrm, unsigned rex, bool *is_relative)
{
    unsigned mode = modrm >> 6, low = modrm & 7, base = low | (rex & REX_B ? 8 : 0);
    *is_relative = false;
    if (mode == 3)
        return in_register(base);
    struct machine_place place = {.is_known = true, .in_memory = true};
    bool is_bare = mode == 0 && low == NO_BASE;
    *is_relative = is_bare;
    if (low == HAS_SIB) {
        unsigned sib = (unsigned)cursor_take(cursor, 1), index = (sib >> 3 & 7) | (rex & REX_X ? 8 : 0);
        base = (sib & 7) | (rex & REX_B ? 8 : 0);
        is_bare = mode == 0 && (sib & 7) == NO_BASE;
        place.is_known = index == NO_INDEX;
    }
    if (is_bare) {
        place.is_static = true;
        place.offset = cursor_take_signed(cursor, 4);
        return place;
    }
    place.base = general(base);
    place.offset = mode == 1 ? cursor_take_signed(cursor, 1) : mode == 2 ? cursor_take_signed(cursor, 4) : 0;
    return place;
}

enum { LOAD = 1, STORE, COMPUTE, IMMEDIATE }; /* COMPUTE writes the register and copies nothing */

size_t machine_copy_decode(const uint8_t *code, size_t room, uint64_t address, struct machine_copy *out)
{
    static const struct {
        uint8_t first, opcode, kind, size; /* size 0: as the prefixes say; first: 0x0f or 0 */
    } known[] = {
        {0, 0x88, STORE, 1},      {0, 0x89, STORE, 0},      {0, 0x8a, LOAD, 1},
        {0, 0x8b, LOAD, 0},       {0, 0x8d, COMPUTE, 0},    {0, 0x63, COMPUTE, 0},
        {0x0f, 0xb6, COMPUTE, 0}, {0x0f, 0xb7, COMPUTE, 0}, {0x0f, 0xbe, COMPUTE, 0},
        {0x0f, 0xbf, COMPUTE, 0}, {0, 0xc6, IMMEDIATE, 1},  {0, 0xc7, IMMEDIATE, 0},
    };
    struct cursor cursor = cursor_over(code, room);
    unsigned rex = 0, first = 0, kind = 0;
    bool is_narrow = false, is_relative;
    uint8_t size = 0, opcode = (uint8_t)cursor_take(&cursor, 1);
    *out = (struct machine_copy){0};
    if (opcode == 0x66) {
        is_narrow = true;
        opcode = (uint8_t)cursor_take(&cursor, 1);
    }
    if ((opcode & 0xf0) == REX) {
        rex = opcode;
        opcode = (uint8_t)cursor_take(&cursor, 1);
    }
    if (opcode == 0x90 && !rex)
        return cursor.is_bad ? 0 : (size_t)(cursor.at - code);
    if (opcode == 0x0f) {
        first = opcode;
        opcode = (uint8_t)cursor_take(&cursor, 1);
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].first == first && known[i].opcode == opcode) {
            kind = known[i].kind;
            size = known[i].size;
        }
    if (!kind)
        return 0;
    if (!size)
        size = rex & REX_W ? 8 : is_narrow ? 2 : 4;
    unsigned modrm = (unsigned)cursor_take(&cursor, 1), number = (modrm >> 3 & 7) | (rex & REX_R ? 8 : 0);
    struct machine_place other = operand(&cursor, modrm, rex, &is_relative), mine = in_register(number);
    if (size == 1 && !rex && ((number >= 4 && number < 8) || (modrm >> 6 == 3 && (modrm & 7) >= 4)))
        return 0; /* ah, ch, dh, bh */
    if (kind == IMMEDIATE) {
        if (modrm >> 3 & 7)
            return 0;
        cursor_skip(&cursor, size == 8 ? 4 : size);
    }
    if (is_relative)
        other.offset = (int64_t)(address + (uint64_t)(cursor.at - code) + (uint64_t)other.offset);
    out->size = size;
    out->to = kind == STORE || kind == IMMEDIATE ? other : mine;
    if (kind == STORE || kind == LOAD)
        out->from = kind == STORE ? mine : other;
    return cursor.is_bad ? 0 : (size_t)(cursor.at - code);
}
