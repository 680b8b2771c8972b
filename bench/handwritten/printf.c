/* SPDX-License-Identifier: BSD-3-Clause */
/* printf("%d %s\n", arg0, str(arg1)) */
#define IS_PREEMPTIBLE
#define EVENT_FIELDS u64 number;
#include "record.h"

SEC("uprobe")
int BPF_KPROBE(at_call, u64 number, const char *text)
{
    LEAVE_IF_STOPPED();
    struct event *event = record_begin();
    if (event) {
        event->number = number;
        record_end(event, text);
    }
    return 0;
}
