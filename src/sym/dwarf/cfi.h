/* SPDX-License-Identifier: BSD-3-Clause */
/* How to leave a function: the call frame information of a file as rows that a program in the kernel can follow.
 *
 * A row is valid from its place up to that of the next. It says where the caller's frame begins (the canonical
 * frame address, CFA, which is the caller's stack pointer) and where the caller's rbp is; the return address is in
 * front of the CFA. What cannot be expressed so is CFI_UNKNOWN. Only x86-64. */
#ifndef SPOOR_SYM_DWARF_CFI_H
#define SPOOR_SYM_DWARF_CFI_H

#include <stddef.h>
#include <stdint.h>

#include "sym/elf/elf.h"

enum cfi_kind {
    CFI_UNKNOWN,
    CFI_END,       /* it has no caller: where threads begin */
    CFI_SP,        /* CFA = rsp + offset */
    CFI_BP,        /* CFA = rbp + offset */
    CFI_PLT,       /* CFA = rsp + offset, plus 8 from byte `bp` of 16 on */
    CFI_SIGNAL,    /* the caller was interrupted by a signal: rsp is at a struct ucontext */
    CFI_SP_LOAD,   /* CFA = *(rsp + offset) */
    CFI_SP_LOAD_8, /* CFA = *(rsp + offset) + 8 */
    CFI_BP_LOAD,   /* CFA = *(rbp + offset) */
};

enum {
    CFI_KIND_BITS = 4,  /* the lowest bits of a rule; then */
    CFI_BP_BITS = 12,   /* the caller's rbp: */
    CFI_BP_SAME = 0,    /* it has not changed */
    CFI_BP_MAX = 0xffd, /* up to this value: it is so many words below the CFA */
    CFI_BP_LOST = 0xffe,
    CFI_BP_AT_BP = 0xfff,                           /* it is where rbp points to */
    CFI_OFFSET_SHIFT = CFI_KIND_BITS + CFI_BP_BITS, /* signed, in words */
    CFI_WORD = 8,
    /* In a struct ucontext. */
    CFI_SIGNAL_BP = 120,
    CFI_SIGNAL_SP = 160,
    CFI_SIGNAL_IP = 168,
};

struct cfi_row {
    uint32_t place; /* offset in the file */
    uint32_t rule;
};

struct cfi_rows {
    struct cfi_row *items; /* sorted by place; each differs from the one before */
    size_t count;
};

static inline uint32_t cfi_rule(enum cfi_kind kind, uint32_t bp, int64_t offset)
{
    return (uint32_t)kind | bp << CFI_KIND_BITS | (uint32_t)(offset / CFI_WORD) << CFI_OFFSET_SHIFT;
}

/* Reads rows from .eh_frame and .debug_frame: a function is in one of them, or both say the same. -ENOENT: the file
 * has neither; -ENOTSUP: it is for another machine; -EBADMSG, -ENOMEM. Damaged entries are left out. */
int cfi_read(struct elf_file *file, struct cfi_rows *out);
void cfi_free(struct cfi_rows *rows);
/* Finds the row for a place; NULL: there is none. */
const struct cfi_row *cfi_find(const struct cfi_rows *rows, uint32_t place);

#endif
