/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of the functions that our programs call this kernel offers, found by calling them. Programs of
 * kprobes stand for all kinds that may read anything. Only --info asks: what the compiler has to know is
 * among the features. */
#include <errno.h>

#include "kernel/state.h"

/* What lockdown takes away: WRITES in both of its modes, READS of the kernel's memory in "confidentiality". */
enum helper_kind { PLAIN, SLEEPS, READS, WRITES };

static const struct helper_entry {
    const char *name;
    int number;
    enum helper_kind kind;
    const char *what;
} helper_table[] = {
#define HELPER(name, kind, what)                                                                             \
    {                                                                                                        \
#name, BPF_FUNC_##name, kind, what                                                                   \
    }
    HELPER(probe_read_kernel, READS, "memory of the kernel: fields, arguments of tracepoints"),
    HELPER(probe_read_kernel_str, READS, "text of the kernel"),
    HELPER(probe_read_user, PLAIN, "memory of programs"),
    HELPER(probe_read_user_str, PLAIN, "text of programs"),
    HELPER(copy_from_user, SLEEPS, "memory of programs that has to be paged in"),
    HELPER(probe_write_user, WRITES, "write_user(), with --unsafe"),
    HELPER(get_stack, PLAIN, "kstack, ustack"),
    HELPER(get_current_task, PLAIN, "curtask"),
    HELPER(get_current_task_btf, PLAIN, "storage of a task"),
    HELPER(get_ns_current_pid_tgid, PLAIN, "pid and tid as a container counts them"),
    HELPER(ktime_get_ns, PLAIN, "nsecs(monotonic)"),
    HELPER(get_numa_node_id, PLAIN, "numaid"),
    HELPER(get_prandom_u32, PLAIN, "rand"),
    HELPER(send_signal, PLAIN, "signal(), with --unsafe"),
    HELPER(send_signal_thread, PLAIN, "signal_thread(), with --unsafe"),
    HELPER(perf_event_output, PLAIN, "skboutput()"),
    HELPER(trace_printk, PLAIN, "debugf()"),
#undef HELPER
};

static void helper_reason(const struct helper_entry *entry, int error, struct text *out)
{
    bool is_confidential = permission_is_locked_down("confidentiality");
    bool is_locked = is_confidential || permission_is_locked_down("integrity");
    if (error == -EPERM || (entry->kind == READS && is_confidential) || (entry->kind == WRITES && is_locked))
        permission_reason(out);
    else if (entry->kind == READS || entry->kind == WRITES)
        text_add(out, "the kernel is locked down, or does not have it");
    else
        text_add(out, "the kernel does not have it, or not for these programs");
}

void helpers_describe(struct text *out)
{
    for (size_t i = 0; i < sizeof helper_table / sizeof *helper_table; i++) {
        const struct helper_entry *entry = &helper_table[i];
        int error = features_try_helper(entry->kind == SLEEPS, entry->number);
        text_printf(out, "  bpf_%-30s %-3s  %s", entry->name, error ? "no" : "yes", entry->what);
        if (error) {
            text_add(out, ": ");
            helper_reason(entry, error, out);
        }
        text_char(out, '\n');
    }
}
