/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/syscount.bt: one program for all system calls, a per-CPU array by number and a per-CPU hash by process.
 * It does not tell calls by 32-bit numbers apart. */
#include "common.h"

enum { CALLS = 512 };

struct process {
    u32 id;
    char comm[16];
};
MAP(calls, BPF_MAP_TYPE_PERCPU_ARRAY, u32, u64, CALLS);
MAP(processes, BPF_MAP_TYPE_PERCPU_HASH, struct process, u64, KEYS);

SEC("tp_btf/sys_enter")
int BPF_PROG(at_enter, struct pt_regs *registers, long number)
{
    u32 call = number;
    u64 *count = bpf_map_lookup_elem(&calls, &call);
    if (count)
        __sync_fetch_and_add(count, 1);
    struct process process = {.id = bpf_get_current_pid_tgid() >> 32};
    bpf_get_current_comm(process.comm, sizeof process.comm);
    count = bpf_map_lookup_elem(&processes, &process);
    if (!count) {
        u64 zero = 0;
        bpf_map_update_elem(&processes, &process, &zero, BPF_NOEXIST);
        count = bpf_map_lookup_elem(&processes, &process);
    }
    if (count)
        __sync_fetch_and_add(count, 1);
    else
        count_lost();
    return 0;
}
