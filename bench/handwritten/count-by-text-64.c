/* SPDX-License-Identifier: BSD-3-Clause */
/* @[str(arg1, 64)] = count(): the key is on the stack. */
#define KEY_BYTES 64
#include "by_text.h"

SEC("uprobe")
int BPF_KPROBE(at_call, u64 number, const char *text)
{
    struct by_text key;
    count_text(&key, text);
    return 0;
}
