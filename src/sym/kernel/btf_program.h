/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program says about its types in a section .BTF, which compilers of BPF-aware programs, and pahole, write.
 * A service without privileges reads it (sym/apart.h). */
#ifndef SPOOR_SYM_KERNEL_BTF_PROGRAM_H
#define SPOOR_SYM_KERNEL_BTF_PROGRAM_H

#include "base/arena.h"
#include "sym/elf/elf.h"
#include "type/type.h"

struct btf_program;

/* Opens the BTF of a program. -ENOENT: the file has no such section; -EBADMSG: it is damaged. Types are made in the
 * arena, which must live as long as they do and be guarded; their pointers lead to user memory. */
int btf_program_open(const struct elf_file *file, struct arena *arena, struct btf_program **out);
/* nothing is done for NULL; structs whose fields were not needed yet stay without them */
void btf_program_close(struct btf_program *program);
/* As btf_file_type() and btf_file_enumerator_type(). */
const struct type *btf_program_type(struct btf_program *program, const char *name);
const struct type *btf_program_enumerator(struct btf_program *program, const char *name, int64_t *value);
/* As dwarf_file_each_enum(). */
int btf_program_each_enum(struct btf_program *program, const char *pattern,
                          int (*visit)(void *state, const char *name), void *state);

#endif
