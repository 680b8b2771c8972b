/* SPDX-License-Identifier: BSD-3-Clause */
/* What a host can do, as data: the compiler reads this table and knows no kernel. The kernel host fills it
 * by probing, tests fill it by hand to force a fallback, the VM says what it implements. */
#ifndef SPOOR_BPF_FEATURES_H
#define SPOOR_BPF_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#define BPF_FEATURES(X)                                                                                      \
    X(alu32_jmp32, "v3 instructions: 32-bit jumps")                                                          \
    X(atomic_fetch, "v3 atomics: fetch, exchange, compare-and-exchange")                                     \
    X(signed_division, "v4 instructions: signed division, sign-extending loads and moves, bswap, gotol")     \
    X(loop, "bpf_loop")                                                                                      \
    X(for_each_map, "bpf_for_each_map_elem")                                                                 \
    X(lookup_percpu, "bpf_map_lookup_percpu_elem")                                                           \
    X(ring_buffer, "BPF ring buffer")                                                                        \
    X(ring_array_sleepable, "array of ring buffers in sleepable programs")                                   \
    X(task_storage, "task local storage in tracing programs")                                                \
    X(attach_cookie, "bpf_get_attach_cookie")                                                                \
    X(func_ip, "bpf_get_func_ip")                                                                            \
    X(sleepable_uprobe, "sleepable uprobe programs and bpf_copy_from_user")                                  \
    X(uprobe_multi, "uprobe_multi links")                                                                    \
    X(kprobe, "kprobes")                                                                                     \
    X(kprobe_multi, "kprobe_multi links")                                                                    \
    X(perf_link, "perf event links (with cookies)")                                                          \
    X(probe_pmu, "single uprobes and kprobes as perf events")                                                \
    X(trace_events, "many uprobes or kprobes under one event of tracefs")                                    \
    X(tp_btf, "BTF-typed raw tracepoints")                                                                   \
    X(fentry, "fentry and fexit")                                                                            \
    X(btf, "kernel BTF")                                                                                     \
    X(program_btf, "program BTF: function and line information")                                             \
    X(boot_clock, "bpf_ktime_get_boot_ns")                                                                   \
    X(override_return, "bpf_override_return (CONFIG_BPF_KPROBE_OVERRIDE)")                                   \
    X(tai_clock, "bpf_ktime_get_tai_ns")                                                                     \
    X(growing_maps, "hash maps that take memory as they grow, in every program")                              \
    X(jiffies, "bpf_jiffies64")                                                                              \
    X(cgroup_id, "bpf_get_current_cgroup_id")                                                                \
    X(hardware_events, "a performance monitoring unit")

struct features {
#define X(name, what) bool name;
    BPF_FEATURES(X)
#undef X
    unsigned cpus; /* possible CPUs: the number of values of a per-CPU map */
};

#endif
