/* SPDX-License-Identifier: BSD-3-Clause */
/* @s[tid] = nsecs, and at the return @ = hist(nsecs - @s[tid]); delete(@s[tid]): a hash by thread. */
#include "common.h"

MAP(starts, BPF_MAP_TYPE_HASH, u32, u64, KEYS);
MAP(hists, BPF_MAP_TYPE_PERCPU_ARRAY, u32, struct hist, 1);

SEC("uprobe")
int at_call(struct pt_regs *ctx)
{
    u32 thread = bpf_get_current_pid_tgid();
    u64 now = bpf_ktime_get_ns();
    if (bpf_map_update_elem(&starts, &thread, &now, BPF_ANY))
        count_lost();
    return 0;
}

SEC("uretprobe")
int at_return(struct pt_regs *ctx)
{
    u32 thread = bpf_get_current_pid_tgid(), key = 0;
    u64 *start = bpf_map_lookup_elem(&starts, &thread);
    if (!start)
        return 0;
    u64 row = hist_row(bpf_ktime_get_ns() - *start);
    struct hist *hist = bpf_map_lookup_elem(&hists, &key);
    if (hist && row < ROWS)
        __sync_fetch_and_add(&hist->rows[row], 1);
    bpf_map_delete_elem(&starts, &thread);
    return 0;
}
