/* SPDX-License-Identifier: BSD-3-Clause */
#include "sym/elf/note.h"

#include <elf.h>

static uint64_t padding(uint32_t size)
{
    return -(uint64_t)size & 3;
}

bool elf_note_take(struct cursor *notes, struct elf_note *out)
{
    if (cursor_left(notes) < sizeof(Elf64_Nhdr))
        return false;
    out->owner_size = (uint32_t)cursor_take(notes, 4);
    out->size = (uint32_t)cursor_take(notes, 4);
    out->type = (uint32_t)cursor_take(notes, 4);
    out->owner = cursor_take_bytes(notes, out->owner_size);
    cursor_skip(notes, padding(out->owner_size));
    out->content = cursor_take_bytes(notes, out->size);
    const uint64_t left = cursor_left(notes), rest = padding(out->size);
    cursor_skip(notes, rest < left ? rest : left);
    return !notes->is_bad;
}

bool elf_note_is_of(const struct elf_note *note, const char *owner)
{
    return note->owner_size == strlen(owner) + 1 && !memcmp(note->owner, owner, note->owner_size);
}
