/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SPOOR_BPF_OPT_PASSES_H
#define SPOOR_BPF_OPT_PASSES_H

#include "bpf/ir/edit.h"

/* The passes, one function each; true: changed something. */
bool pass_simplify(struct ir_function *function);
bool pass_common(struct ir_function *function);
bool pass_range(struct ir_function *function);
bool pass_stores(struct ir_function *function);
bool pass_dead(struct ir_function *function);
bool pass_blocks(struct ir_function *function);
bool pass_tails(struct ir_function *function);

#endif
