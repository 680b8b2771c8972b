/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program sees at the entry or the return of a function, in the kernel or in a program: registers. */
#ifndef SPOOR_PROBE_CALL_H
#define SPOOR_PROBE_CALL_H

#include "probe/kind.h"

/* has_registers and ctx as struct pt_regs, where the block asks for it. */
void call_registers(struct probe_environment *environment, const struct context_uses *uses,
                    struct probe_context *context);
/* retval at a return; else arg0 … as many as the machine passes in registers. no_args says why `args` is not
 * there. */
void call_values(struct probe_environment *environment, struct probe_context *context, bool is_return,
                 const char *no_args);
/* probe_key of both: `func` must mean something in the whole variant. */
void call_key(struct probe_environment *environment, const struct context_uses *uses,
              const struct probe_site *site, struct text *key);

#endif
