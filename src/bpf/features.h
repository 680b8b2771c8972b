/* SPDX-License-Identifier: BSD-3-Clause */
/* What a host can do, as data: the compiler reads this table and knows no kernel. The kernel host fills it
 * by probing, tests fill it by hand to force a fallback, the VM says what it implements. */
#ifndef SPOOR_BPF_FEATURES_H
#define SPOOR_BPF_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, what it is, what a kernel without it lacks, what is done instead). What is lacked is for people to
 * read: nothing is ever concluded from it. */
/* clang-format off */
#define BPF_FEATURES(X) \
    X(alu32_jmp32, "v3 instructions: 32-bit jumps", "Linux 5.1", "instead, 64-bit jumps") \
    X(atomic_fetch, "v3 atomics: fetch, exchange, compare-and-exchange", "Linux 5.12", "instead, a per-CPU slot, which nothing can take away where programs are not preempted") \
    X(signed_division, "v4 instructions: signed division, sign-extending loads and moves, bswap, gotol", "Linux 6.6", "instead, several instructions for each") \
    X(loop, "bpf_loop", "Linux 5.17", "instead, loops over the elements of an array, or that the verifier walks, of fewer turns") \
    X(for_each_map, "bpf_for_each_map_elem", "Linux 5.13", "then for over a map and len() of one are errors, and loops without bpf_loop of 1024 turns") \
    X(lookup_percpu, "bpf_map_lookup_percpu_elem", "Linux 5.19", "instead, aggregations that a program reads are those of its CPU, with a warning; print() has all") \
    X(ring_buffer, "BPF ring buffer", "Linux 5.8", "then spoor does not run") \
    X(ring_array_sleepable, "array of ring buffers in sleepable programs", "Linux 6.12", "instead, one ring for the sleepable programs of all CPUs") \
    X(task_storage, "task local storage in tracing programs", "Linux 5.12", "instead, slots that are taken while a program runs") \
    X(long_keys, "keys of maps longer than 512 bytes", "Linux 5.11", "instead, strings of 240 bytes, unless max_strlen says otherwise") \
    X(attach_cookie, "bpf_get_attach_cookie", "Linux 5.15", "instead, the address tells which place it is, or a program for each place") \
    X(func_ip, "bpf_get_func_ip", "Linux 5.15", "instead, a program for each place") \
    X(sleepable_uprobe, "sleepable uprobe programs and bpf_copy_from_user", "Linux 6.0", "instead, text that is not in memory prints as <fault>, with a warning") \
    X(copy_text, "bpf_copy_from_user_str in sleepable uprobe programs", "Linux 6.12", "instead, text is read in several steps") \
    X(uprobe, "uprobes", "CONFIG_UPROBE_EVENTS", "then uprobe and usdt are errors") \
    X(uprobe_multi, "uprobe_multi links", "Linux 6.6", "instead, one event of tracefs for many places, which takes longer to close") \
    X(kprobe, "kprobes", "CONFIG_KPROBE_EVENTS", "then kprobe is an error; tracepoint and rawtracepoint work") \
    X(kprobe_multi, "kprobe_multi links", "Linux 5.18 and CONFIG_FPROBE", "instead, one event of tracefs for many functions, which takes longer to close") \
    X(perf_link, "perf event links (with cookies)", "Linux 5.15", "instead, the older way to attach, without cookies") \
    X(probe_pmu, "single uprobes and kprobes as perf events", "Linux 4.17 and CONFIG_PERF_EVENTS", "instead, events of tracefs") \
    X(trace_events, "many uprobes or kprobes under one event of tracefs", "CONFIG_FTRACE", "instead, a perf event for each place") \
    X(perf_events, "software events: clocks, page faults, switches", "CONFIG_PERF_EVENTS", "then profile, interval and software are errors") \
    X(watchpoint, "hardware breakpoints", "CONFIG_HAVE_HW_BREAKPOINT, and a CPU with them", "then watchpoint is an error") \
    X(hardware_events, "a performance monitoring unit", "a CPU that shows its own (most virtual machines hide it)", "then hardware is an error, and software:cpu-clock samples instead") \
    X(tracepoint, "events of tracefs", "CONFIG_FTRACE, or permission to show them", "then tracepoint is an error; rawtracepoint works") \
    X(read_kernel, "bpf_probe_read_kernel", "permission to have its memory read: it is locked down", "then kernel structs are an error; the memory of programs is read") \
    X(tp_btf, "BTF-typed raw tracepoints", "CONFIG_DEBUG_INFO_BTF", "instead, one perf event for each system call") \
    X(fentry, "fentry and fexit", "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS and CONFIG_DEBUG_INFO_BTF", "then fentry is an error; kprobe and kretprobe see the same functions") \
    X(iterator, "iterators over the kernel's objects", "CONFIG_DEBUG_INFO_BTF", "then iter is an error") \
    X(btf, "kernel BTF", "CONFIG_DEBUG_INFO_BTF", "instead, what scripts define themselves; tracepoints keep their fields") \
    X(program_btf, "program BTF: function and line information", "Linux 5.0", "instead, loops that the verifier walks; refusals without a line") \
    X(tagged_context, "functions that are verified on their own and take any context", "Linux 6.8", "instead, blocks of many statements on the arguments of tracepoints or kernel functions are verified as one") \
    X(boot_clock, "bpf_ktime_get_boot_ns", "Linux 5.8", "then spoor does not run") \
    X(override_return, "bpf_override_return", "CONFIG_BPF_KPROBE_OVERRIDE", "then override() is an error") \
    X(tai_clock, "bpf_ktime_get_tai_ns", "Linux 6.1", "then nsecs(tai) is an error, and nsecs(sw_tai) nearly the same") \
    X(growing_maps, "hash maps that take memory as they grow, in every program", "Linux 6.1", "instead, fewer entries, whose memory is taken at once") \
    X(jiffies, "bpf_jiffies64", "Linux 5.6", "then jiffies is an error") \
    X(cgroup_ancestor, "bpf_get_current_ancestor_cgroup_id", "a Linux newer than 5.10", "then --cgroup is an error") \
    X(cgroup_id, "bpf_get_current_cgroup_id", "CONFIG_CGROUPS", "then cgroup is an error")
/* clang-format on */

struct features {
#define X(name, what, lacks, instead) bool name;
    BPF_FEATURES(X)
#undef X
    unsigned cpus; /* possible CPUs: the number of values of a per-CPU map */
    unsigned
        rings; /* event rings: CPUs from 0 to the last that was online have one each, all others use the first */
};

/* Where there is no kernel to ask, the newest is assumed. */
static inline void features_assume(struct features *features)
{
#define X(name, what, lacks, instead) features->name = true;
    BPF_FEATURES(X)
#undef X
}

enum feature {
#define X(name, what, lacks, instead) FEATURE_##name,
    BPF_FEATURES(X)
#undef X
        FEATURES
};

#endif
