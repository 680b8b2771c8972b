/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of all probe kinds, sorted by name as listings are. A new kind is a file and a line here. */
#include "probe/all.h"

const struct probe_kind *const probe_kinds[] = {
    &probe_kind_begin,      &probe_kind_bench,
    &probe_kind_end,        &probe_kind_fentry,
    &probe_kind_fexit,      &probe_kind_hardware,
    &probe_kind_interval,   &probe_kind_iter,
    &probe_kind_kprobe,     &probe_kind_kretprobe,
    &probe_kind_profile,    &probe_kind_rawtracepoint,
    &probe_kind_self,       &probe_kind_software,
    &probe_kind_test,       &probe_kind_trace,
    &probe_kind_tracepoint, &probe_kind_uprobe,
    &probe_kind_uretprobe,  &probe_kind_usdt,
    &probe_kind_watchpoint, NULL,
};
