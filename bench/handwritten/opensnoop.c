/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/opensnoop.bt: tracepoints of the three calls; the pointer to the path waits in a hash by thread. */
#define EVENT_FIELDS                                                                                         \
    u32 process;                                                                                             \
    s32 result;                                                                                              \
    char comm[16];
#include "record.h"

MAP(paths, BPF_MAP_TYPE_HASH, u32, const char *, KEYS);

static __always_inline int enter(const char *path)
{
    LEAVE_IF_STOPPED();
    u32 thread = bpf_get_current_pid_tgid();
    if (bpf_map_update_elem(&paths, &thread, &path, BPF_ANY))
        count_lost();
    return 0;
}

static __always_inline int leave(long result)
{
    LEAVE_IF_STOPPED();
    u64 task = bpf_get_current_pid_tgid();
    u32 thread = task;
    const char **path = bpf_map_lookup_elem(&paths, &thread);
    if (!path)
        return 0;
    struct event *event = record_begin();
    if (event) {
        event->process = task >> 32;
        event->result = result;
        bpf_get_current_comm(event->comm, sizeof event->comm);
        record_end(event, *path);
    }
    bpf_map_delete_elem(&paths, &thread);
    return 0;
}

SEC("tracepoint/syscalls/sys_enter_open")
int enter_open(struct trace_event_raw_sys_enter *ctx)
{
    return enter((const char *)ctx->args[0]);
}

SEC("tracepoint/syscalls/sys_enter_openat")
int enter_openat(struct trace_event_raw_sys_enter *ctx)
{
    return enter((const char *)ctx->args[1]);
}

SEC("tracepoint/syscalls/sys_enter_openat2")
int enter_openat2(struct trace_event_raw_sys_enter *ctx)
{
    return enter((const char *)ctx->args[1]);
}

SEC("tracepoint/syscalls/sys_exit_open")
int exit_open(struct trace_event_raw_sys_exit *ctx)
{
    return leave(ctx->ret);
}

SEC("tracepoint/syscalls/sys_exit_openat")
int exit_openat(struct trace_event_raw_sys_exit *ctx)
{
    return leave(ctx->ret);
}

SEC("tracepoint/syscalls/sys_exit_openat2")
int exit_openat2(struct trace_event_raw_sys_exit *ctx)
{
    return leave(ctx->ret);
}
