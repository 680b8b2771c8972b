/* SPDX-License-Identifier: BSD-3-Clause */
/* Records that end with a text: struct event is EVENT_FIELDS, which are given before this is included, and the
 * text. They are made in scratch memory and written as long as they are to one ring buffer for all CPUs, without
 * waking the reader, who looks every few milliseconds. (Reserved at a constant size they take twice the time: each
 * event is on other pages of the ring.) Scratch memory is task storage if IS_PREEMPTIBLE, for another thread may
 * then run the program meanwhile, and otherwise a per-CPU array.
 *
 * WITH_CLOCK: they begin with the time. WITH_RESERVED: reserved at a constant size. */
#include "common.h"

struct event {
#ifdef WITH_CLOCK
    u64 time;
#endif
    EVENT_FIELDS
    char text[TEXT];
};
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, RING_BYTES);
} events SEC(".maps");

#if defined(IS_PREEMPTIBLE)
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct event);
} scratch SEC(".maps");
#else
MAP(scratch, BPF_MAP_TYPE_PERCPU_ARRAY, u32, struct event, 1);
#endif

/* NULL: it is lost, and counted. */
static __always_inline struct event *record_begin(void)
{
#if defined(WITH_RESERVED)
    struct event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
#elif defined(IS_PREEMPTIBLE)
    struct event *event =
        bpf_task_storage_get(&scratch, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
#else
    u32 index = 0;
    struct event *event = bpf_map_lookup_elem(&scratch, &index);
#endif
    if (!event)
        count_lost();
    return event;
}

static __always_inline void record_end(struct event *event, const char *text)
{
    long bytes = bpf_probe_read_user_str(event->text, sizeof event->text, text);
#ifdef WITH_CLOCK
    event->time = bpf_ktime_get_boot_ns();
#endif
#ifdef WITH_RESERVED
    if (bytes < 0)
        event->text[0] = 0;
    bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
#else
    if (bytes < 0 || bytes > TEXT)
        bytes = 0;
    if (bpf_ringbuf_output(&events, event, __builtin_offsetof(struct event, text) + bytes, BPF_RB_NO_WAKEUP))
        count_lost();
#endif
}
