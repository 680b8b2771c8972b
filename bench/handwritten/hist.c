/* SPDX-License-Identifier: BSD-3-Clause */
/* @ = hist(arg0): all rows are one value of a per-CPU array. */
#include "common.h"

MAP(hists, BPF_MAP_TYPE_PERCPU_ARRAY, u32, struct hist, 1);

SEC("uprobe")
int BPF_KPROBE(at_call, s64 number)
{
    u32 key = 0;
    struct hist *hist = bpf_map_lookup_elem(&hists, &key);
    if (!hist)
        return 0;
    /* row 0 is for what is negative, so that all of hist()'s rows are there */
    u64 row = number < 0 ? 0 : 1 + hist_row(number);
    if (row < ROWS)
        __sync_fetch_and_add(&hist->rows[row], 1);
    return 0;
}
