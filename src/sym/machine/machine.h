/* SPDX-License-Identifier: BSD-3-Clause */
/* Instruction sets: where registers are in the kernel's struct pt_regs (aarch64: user_pt_regs). */
#ifndef SPOOR_SYM_MACHINE_MACHINE_H
#define SPOOR_SYM_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum machine { MACHINE_OTHER, MACHINE_X86_64, MACHINE_AARCH64 };

struct machine_register {
    uint16_t offset; /* bytes into pt_regs */
    /* how many bytes of the register are meant: 1, 2, 4 or 8. ah is the byte at offset(ax) + 1. */
    uint8_t width;
};

enum machine machine_here(void);

/* Finds a register by the assembler's name, without '%': rax eax ax al ah, r8 r8d r8w r8b, x0 w0 sp. False: there
 * is no general register of that name (as for xmm0, st, v0). */
bool machine_register_assembler(enum machine machine, const char *name, size_t length,
                                struct machine_register *out);
/* Finds a register by the name in reg("…"): ax bx … r8 … ip (or pc) sp flags cs orig_ax; r0 … r30 sp pc pstate. The
 * assembler's 64-bit names (rax, x0) are accepted, too. It is always 8 bytes wide. */
bool machine_register_named(enum machine machine, const char *name, struct machine_register *out);

/* Finds the register of integer argument n, from 0 on, of a function call. False: it is on the stack. */
bool machine_register_argument(enum machine machine, unsigned n, struct machine_register *out);
struct machine_register machine_register_return(enum machine machine);
struct machine_register machine_register_stack(enum machine machine);
struct machine_register machine_register_instruction(enum machine machine);

#endif
