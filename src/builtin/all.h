/* SPDX-License-Identifier: BSD-3-Clause */
/* The shelf of builtins: one file per family, one line per family here and in all.c. */
#ifndef SPOOR_BUILTIN_ALL_H
#define SPOOR_BUILTIN_ALL_H

#include "lang/registry.h"

extern const struct builtin builtins_process[];     /* pid, comm, cpu … */
extern const struct builtin builtins_time[];        /* nsecs, elapsed, strftime, time */
extern const struct builtin builtins_context[];     /* argN, args, retval, ctx, probe, func, reg */
extern const struct builtin builtins_text[];        /* str, buf, strncmp … */
extern const struct builtin builtins_output[];      /* printf, print, cat, system, join */
extern const struct builtin builtins_map[];         /* clear, zero, delete, has_key, len */
extern const struct builtin builtins_aggregation[]; /* count, sum, hist … */
extern const struct builtin builtins_symbol[];      /* ksym, usym, kstack, ustack, kaddr, uaddr, ntop */
extern const struct builtin builtins_control[];     /* exit */

extern const struct builtin_table builtin_table;

#endif
