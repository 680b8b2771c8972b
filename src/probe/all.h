/* SPDX-License-Identifier: BSD-3-Clause */
/* The probe kinds, one by one, for the table in all.c. No other folder includes this. */
#ifndef SPOOR_PROBE_ALL_H
#define SPOOR_PROBE_ALL_H

#include <errno.h>

#include "probe/kind.h"

extern const struct probe_kind probe_kind_begin, probe_kind_end, probe_kind_self;
extern const struct probe_kind probe_kind_bench, probe_kind_test;
extern const struct probe_kind probe_kind_fentry, probe_kind_fexit;
extern const struct probe_kind probe_kind_iter, probe_kind_watchpoint;
extern const struct probe_kind probe_kind_hardware, probe_kind_software;
extern const struct probe_kind probe_kind_interval, probe_kind_profile;
extern const struct probe_kind probe_kind_kprobe, probe_kind_kretprobe;
extern const struct probe_kind probe_kind_rawtracepoint, probe_kind_tracepoint;
extern const struct probe_kind probe_kind_trace;
extern const struct probe_kind probe_kind_uprobe, probe_kind_uretprobe;
extern const struct probe_kind probe_kind_usdt;

#endif
