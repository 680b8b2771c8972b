/* SPDX-License-Identifier: BSD-3-Clause */
/* All builtins: one file per family, one line per family here and in all.c. */
#ifndef SPOOR_BUILTIN_ALL_H
#define SPOOR_BUILTIN_ALL_H

#include "lang/registry.h"

extern const struct builtin builtins_process[];       /* uid, cpu, rand … */
extern const struct builtin builtins_task[];          /* pid, comm, ppid, leader_comm, cpid, usermode … */
extern const struct builtin builtins_time[];          /* nsecs, elapsed, strftime, time */
extern const struct builtin builtins_context[];       /* argN, args, retval, ctx, probe, func, reg */
extern const struct builtin builtins_text[];          /* str, buf */
extern const struct builtin builtins_string[];        /* strlen, strstr, strncmp, memcmp … */
extern const struct builtin builtins_name[];          /* strerror, signal_name, syscall_name */
extern const struct builtin builtins_output[];        /* printf, print, cat, join */
extern const struct builtin builtins_command[];       /* system */
extern const struct builtin builtins_rows[];          /* print_rows, print_log2_hist, printf_containing */
extern const struct builtin builtins_message[];       /* errorf, warnf, debugf, assert, fail */
extern const struct builtin builtins_map[];           /* clear, zero, delete, has_key, len */
extern const struct builtin builtins_aggregation[];   /* count, sum, hist … */
extern const struct builtin builtins_symbol[];        /* ksym, usym, kstack, ustack, uaddr, ntop */
extern const struct builtin builtins_kernel_symbol[]; /* kaddr, percpu_kaddr, kfunc_exist, kptr, uptr … */
extern const struct builtin builtins_network[];       /* pton, macaddr, bswap, socket_cookie … */
extern const struct builtin builtins_path[];          /* path */
extern const struct builtin builtins_unsafe[];        /* signal, override, write_user */
extern const struct builtin builtins_skb[];           /* skboutput */
extern const struct builtin builtins_cgroup[];        /* cgroupid, cgroup_path */
extern const struct builtin builtins_control[];       /* exit, unwatch */
extern const struct builtin builtins_series[];        /* tseries */
extern const struct builtin builtins_enumeration[];   /* enum_map */
extern const struct builtin builtins_recording[];     /* object, owner, lifetime, since … */
extern const struct builtin builtins_type[];          /* is_str, is_ptr … */

extern const struct builtin_table builtin_table;

#endif
