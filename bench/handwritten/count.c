/* SPDX-License-Identifier: BSD-3-Clause */
/* @ = count(), in a per-CPU array. */
#include "common.h"

MAP(counts, BPF_MAP_TYPE_PERCPU_ARRAY, u32, u64, 1);

SEC("uprobe")
int at_call(struct pt_regs *ctx)
{
    LEAVE_IF_STOPPED();
    u32 key = 0;
    u64 *count = bpf_map_lookup_elem(&counts, &key);
    if (count)
        __sync_fetch_and_add(count, 1);
    return 0;
}
