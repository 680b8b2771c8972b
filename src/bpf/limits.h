/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SPOOR_BPF_LIMITS_H
#define SPOOR_BPF_LIMITS_H

#include "bpf/image.h"

/* Returns 0 if the kernel can take the program, as far as this can be known without it; else -EINVAL with a
 * diagnostic. */
int limits_check(struct diagnostics *diagnostics, const struct image_program *program);

#endif
