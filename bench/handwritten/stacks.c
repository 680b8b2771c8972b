/* SPDX-License-Identifier: BSD-3-Clause */
/* @[ustack] = count(): bpf_get_stackid() into a map of stacks, counted in a per-CPU hash by process and stack. */
#include "common.h"

enum { FRAMES = 127 };

struct by_stack {
    u32 process;
    s32 stack;
};
struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(key_size, sizeof(u32));
    __uint(value_size, FRAMES * sizeof(u64));
    __uint(max_entries, 131072);
} stacks SEC(".maps");
MAP(counts, BPF_MAP_TYPE_PERCPU_HASH, struct by_stack, u64, KEYS);

SEC("uprobe")
int at_call(struct pt_regs *ctx)
{
    struct by_stack key = {.process = bpf_get_current_pid_tgid() >> 32};
    key.stack = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
    if (key.stack < 0) {
        count_lost();
        return 0;
    }
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
