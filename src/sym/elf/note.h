/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes of an ELF file, one after another: the lengths of owner and content, a type, and both, each padded to 4 bytes. */
#ifndef SPOOR_SYM_ELF_NOTE_H
#define SPOOR_SYM_ELF_NOTE_H

#include "base/cursor.h"

struct elf_note {
    uint32_t type; /* its meaning depends on the owner */
    uint32_t owner_size, size;
    const char *owner; /* with the NUL that must end it */
    const void *content;
};

/* Reads the next note, whose content stays in the cursor's bytes. Returns false at the end; the cursor is bad then
 * if a note was cut off. The padding of the last note may be missing. */
bool elf_note_take(struct cursor *notes, struct elf_note *out);
bool elf_note_is_of(const struct elf_note *note, const char *owner);

#endif
