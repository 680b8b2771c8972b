/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing: what the kernel's own account of a run costs. */
#include "common.h"

SEC("uprobe")
int at_call(struct pt_regs *ctx)
{
    return 0;
}
