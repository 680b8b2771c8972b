/* SPDX-License-Identifier: BSD-3-Clause */
/* printf("%d %s\n", arg0, str(arg1)): a record of constant size, reserved in one ring buffer for all CPUs and
 * submitted without waking the reader, who looks every few milliseconds. */
#include "common.h"

struct event {
    u64 number;
    char text[TEXT];
};
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, RING_BYTES);
} events SEC(".maps");

SEC("uprobe")
int BPF_KPROBE(at_call, u64 number, const char *text)
{
    struct event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
    if (!event) {
        count_lost();
        return 0;
    }
    event->number = number;
    if (bpf_probe_read_user_str(event->text, sizeof event->text, text) < 0)
        event->text[0] = 0;
    bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
    return 0;
}
