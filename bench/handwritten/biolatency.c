/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/biolatency.bt: the block layer's hooks with their typed arguments, a hash by request, histograms in a
 * hash by the request's flags, of which the reader makes blktrace's letters. */
#include "common.h"

MAP(issued, BPF_MAP_TYPE_HASH, u64, u64, KEYS);
MAP(hists, BPF_MAP_TYPE_PERCPU_HASH, u32, struct hist, 256);

static const struct hist zeros;

SEC("tp_btf/block_rq_issue")
int BPF_PROG(at_issue, struct request *request)
{
    u64 key = (u64)request, now = bpf_ktime_get_ns();
    if (bpf_map_update_elem(&issued, &key, &now, BPF_NOEXIST) == -7 /* E2BIG */)
        count_lost();
    return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(at_complete, struct request *request, int error, unsigned int bytes)
{
    u64 key = (u64)request, *since = bpf_map_lookup_elem(&issued, &key);
    if (!since)
        return 0;
    u32 flags = request->cmd_flags;
    u64 row = hist_row((bpf_ktime_get_ns() - *since) / 1000);
    struct hist *hist = bpf_map_lookup_elem(&hists, &flags);
    if (!hist) {
        bpf_map_update_elem(&hists, &flags, &zeros, BPF_NOEXIST);
        hist = bpf_map_lookup_elem(&hists, &flags);
    }
    if (!hist)
        count_lost();
    else if (row < ROWS)
        __sync_fetch_and_add(&hist->rows[row], 1);
    bpf_map_delete_elem(&issued, &key);
    return 0;
}
