/* SPDX-License-Identifier: BSD-3-Clause */
/* @[comm] = count(), in a per-CPU hash. */
#include "common.h"

struct by_comm {
    char comm[16];
};
MAP(counts, BPF_MAP_TYPE_PERCPU_HASH, struct by_comm, u64, KEYS);

SEC("uprobe")
int at_call(struct pt_regs *ctx)
{
    struct by_comm key;
    bpf_get_current_comm(key.comm, sizeof key.comm);
    u64 *count = bpf_map_lookup_elem(&counts, &key);
    if (!count) {
        u64 zero = 0;
        bpf_map_update_elem(&counts, &key, &zero, BPF_NOEXIST);
        count = bpf_map_lookup_elem(&counts, &key);
    }
    if (count)
        __sync_fetch_and_add(count, 1);
    else
        count_lost();
    return 0;
}
