/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program sees at the entry or the return of a function, in the kernel or in a program: registers. */
#ifndef SPOOR_PROBE_CALL_H
#define SPOOR_PROBE_CALL_H

#include "probe/kind.h"

/* Gives the context registers, and `ctx` the type struct pt_regs if the block uses it. */
void call_registers(struct probe_environment *environment, const struct context_uses *uses,
                    struct probe_context *context);
/* Gives the context `retval` at a return, else arg0 and so on, as many as the machine passes in registers. no_args:
 * the message that says why there is no `args`. */
void call_values(struct probe_environment *environment, struct probe_context *context, bool is_return,
                 const char *no_args);
/* The probe_key of both kinds: sites with a function are kept apart from sites without, if the block uses `func`. */
void call_key(struct probe_environment *environment, const struct context_uses *uses,
              const struct probe_site *site, struct text *key);

#endif
