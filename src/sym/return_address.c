/* SPDX-License-Identifier: BSD-3-Clause */
/* See return_address.h. In doubt the answer is that it was a call, because bytes are examined without knowing where
 * instructions begin. */
#include "sym/return_address.h"

#include <string.h>

enum { BEFORE = 7, AFTER = 9 };

/* Returns the length of the instruction `call *operand`, FF /2, with this ModRM byte; 0: it is no such call. */
static size_t indirect_length(uint8_t modrm, uint8_t sib)
{
    uint8_t mode = modrm >> 6, operation = modrm >> 3 & 7, base = modrm & 7;
    if (operation != 2)
        return 0;
    bool has_sib = mode != 3 && base == 4;
    size_t displacement = mode == 1 ? 1 : mode == 2 ? 4 : mode == 0 && base == 5 ? 4 : 0;
    if (mode == 0 && has_sib && (sib & 7) == 5)
        displacement = 4;
    return 2 + has_sib + displacement;
}

enum call_kind call_before_x86(const uint8_t *at, size_t before, size_t after)
{
    static const uint8_t restorer[][9] = {{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05},
                                          {0xb8, 15, 0, 0, 0, 0x0f, 0x05}};
    if (before < BEFORE)
        return CALL_UNKNOWN;
    if (at[-5] == 0xe8)
        return CALL_FOUND;
    for (size_t length = 2; length <= BEFORE; length++)
        if (at[-(ptrdiff_t)length] == 0xff &&
            indirect_length(at[1 - (ptrdiff_t)length], length > 2 ? at[2 - (ptrdiff_t)length] : 0) == length)
            return CALL_FOUND;
    if ((after >= 9 && !memcmp(at, restorer[0], 9)) || (after >= 7 && !memcmp(at, restorer[1], 7)))
        return CALL_SIGNAL;
    /* Go begins a goroutine one byte, a nop, behind the address to which its last function returns; others
     * (makecontext) where a function begins, which has padding before it. */
    return at[-1] == 0x90 ? CALL_FOUND : CALL_NONE;
}

enum call_kind call_before_arm(const uint8_t *at, size_t before, size_t after)
{
    uint32_t code, restorer[2];
    if (before < sizeof code)
        return CALL_UNKNOWN;
    memcpy(&code, at - sizeof code, sizeof code);
    if (code >> 26 == 0x25 || (code & 0xfffffc1f) == 0xd63f0000 || (code & 0xfefff800) == 0xd63f0800)
        return CALL_FOUND; /* bl, blr, and blr with authentication */
    if (after >= sizeof restorer) {
        memcpy(restorer, at, sizeof restorer);
        if (restorer[0] == 0xd2801168 && restorer[1] == 0xd4000001) /* mov x8, #139; svc #0 */
            return CALL_SIGNAL;
    }
    return CALL_NONE;
}

enum call_kind call_before(const struct elf_file *file, uint64_t offset)
{
    uint8_t bytes[BEFORE + AFTER];
    if (offset < BEFORE || elf_file_read(file, offset - BEFORE, bytes, sizeof bytes))
        return CALL_UNKNOWN;
    switch (elf_file_machine(file)) {
    case MACHINE_X86_64: return call_before_x86(bytes + BEFORE, BEFORE, AFTER);
    case MACHINE_AARCH64: return call_before_arm(bytes + BEFORE, BEFORE, AFTER);
    default: return CALL_UNKNOWN;
    }
}
