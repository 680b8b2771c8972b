/* SPDX-License-Identifier: BSD-3-Clause */
/* All builtins: one file per family, and one line per family here. */
#ifndef SPOOR_BUILTIN_ALL_H
#define SPOOR_BUILTIN_ALL_H

#include "lang/registry.h"

/* clang-format off */
#define BUILTIN_FAMILIES(X) \
    X(process)       /* uid, cpu, rand … */ \
    X(task)          /* pid, comm, ppid, leader_comm, cpid, usermode … */ \
    X(time)          /* nsecs, elapsed, strftime, time */ \
    X(context)       /* argN, args, retval, ctx, probe, func, reg */ \
    X(text)          /* str, buf */ \
    X(string)        /* strlen, strstr, strncmp, memcmp … */ \
    X(name)          /* strerror, signal_name, syscall_name */ \
    X(output)        /* printf, print, cat, join */ \
    X(command)       /* system */ \
    X(rows)          /* print_rows, print_log2_hist, printf_containing */ \
    X(message)       /* errorf, warnf, debugf, assert, fail */ \
    X(map)           /* clear, zero, delete, has_key, len */ \
    X(count)         /* count, sum */ \
    X(extreme)       /* min, max */ \
    X(average)       /* avg, stats */ \
    X(hist)          /* hist */ \
    X(lhist)         /* lhist */ \
    X(llhist)        /* llhist, quantile */ \
    X(topk)          /* topk */ \
    X(symbol)        /* ksym, usym, kstack, ustack, uaddr, ntop */ \
    X(kernel_symbol) /* kaddr, percpu_kaddr, kfunc_exist, kptr, uptr … */ \
    X(network)       /* pton, macaddr, bswap, socket_cookie … */ \
    X(path)          /* path */ \
    X(unsafe)        /* signal, override, write_user */ \
    X(skb)           /* skboutput */ \
    X(cgroup)        /* cgroupid, cgroup_path */ \
    X(control)       /* exit, unwatch */ \
    X(series)        /* tseries */ \
    X(enumeration)   /* enum_map */ \
    X(recording)     /* object, owner, lifetime, since … */ \
    X(type)          /* is_str, is_ptr … */
/* clang-format on */

#define BUILTIN_FAMILY(name) extern const struct builtin builtins_##name[];
BUILTIN_FAMILIES(BUILTIN_FAMILY)
#undef BUILTIN_FAMILY

extern const struct builtin_synonym builtin_synonyms[];
extern const struct builtin_table builtin_table;

#endif
