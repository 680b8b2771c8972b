/* SPDX-License-Identifier: BSD-3-Clause */
/* Type information that goes to the kernel with a program: names of its functions (callbacks are refused
 * without) and the script's lines (a refusal by the verifier then names them). */
#ifndef SPOOR_BPF_EMIT_BTF_WRITE_H
#define SPOOR_BPF_EMIT_BTF_WRITE_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "bpf/features.h"
#include "bpf/image.h"

struct btf_blob {
    void *bytes; /* for BPF_BTF_LOAD */
    uint32_t size;
    struct bpf_func_info *functions; /* for BPF_PROG_LOAD, with the blob's descriptor */
    uint32_t function_count;
    struct bpf_line_info *lines; /* none: give 0 */
    uint32_t line_count;
};

/* Whether a function that is verified on its own can have the context of programs of that type. */
bool btf_can_pass_context(const struct features *features, uint32_t program_type,
                          uint32_t expected_attach_type);

/* Everything in the arena. 0, or -E2BIG: more text than a blob can name. */
int btf_write(struct arena *arena, const struct image_program *program, struct btf_blob *out);

#endif
