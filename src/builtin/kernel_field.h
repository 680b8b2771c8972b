/* SPDX-License-Identifier: BSD-3-Clause */
/* Where members of the kernel's structs are, for builtins that walk them: from BTF, when the script is
 * checked. */
#ifndef SPOOR_BUILTIN_KERNEL_FIELD_H
#define SPOOR_BUILTIN_KERNEL_FIELD_H

#include "bpf/lower/lower.h"

struct kernel_field {
    const char *type, *path; /* "struct pid_namespace", "idr.idr_rt.xa_head" */
};

/* The offsets in order of the table, in the checker's arena. NULL after a diagnostic that names the builtin.
 */
const uint32_t *kernel_field_offsets(struct checker *checker, const struct node *node, const char *builtin,
                                     const struct kernel_field *fields, size_t count);

/* The word at address + offset, kernel memory. */
struct ir *kernel_field_word(struct lowering *l, struct ir *address, uint32_t offset, const struct type *type,
                             struct span span);

#endif
