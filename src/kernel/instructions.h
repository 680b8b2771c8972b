/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions of the small programs that this folder writes itself. */
#ifndef SPOOR_KERNEL_INSTRUCTIONS_H
#define SPOOR_KERNEL_INSTRUCTIONS_H

#include <linux/bpf.h>

#define INSTRUCTION(op, dst, src, o, i)                                                                      \
    ((struct bpf_insn){.code = (op), .dst_reg = (dst), .src_reg = (src), .off = (o), .imm = (i)})
#define MOVE_IMMEDIATE(dst, i) INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, i)
#define CALL(helper) INSTRUCTION(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT() INSTRUCTION(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#endif
