/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/runqlat.bt: the scheduler's hooks with their typed arguments, a hash by thread, a histogram in a
 * per-CPU array. The hooks run where nothing preempts them, so plain additions do. */
#include "common.h"

MAP(queued, BPF_MAP_TYPE_HASH, u32, u64, KEYS);
MAP(hists, BPF_MAP_TYPE_PERCPU_ARRAY, u32, struct hist, 1);

static __always_inline void enqueue(u32 thread)
{
    u64 now = bpf_ktime_get_ns();
    if (bpf_map_update_elem(&queued, &thread, &now, BPF_ANY))
        count_lost();
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(at_wakeup, struct task_struct *task)
{
    enqueue(task->pid);
    return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(at_wakeup_new, struct task_struct *task)
{
    enqueue(task->pid);
    return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(at_switch, bool preempt, struct task_struct *previous, struct task_struct *next,
             unsigned int state)
{
    u32 thread = next->pid, key = 0;
    if ((preempt || !state) && previous->pid)
        enqueue(previous->pid);
    u64 *since = bpf_map_lookup_elem(&queued, &thread);
    if (!since)
        return 0;
    struct hist *hist = bpf_map_lookup_elem(&hists, &key);
    u64 row = hist_row((bpf_ktime_get_ns() - *since) / 1000);
    if (hist && row < ROWS)
        hist->rows[row]++;
    bpf_map_delete_elem(&queued, &thread);
    return 0;
}
