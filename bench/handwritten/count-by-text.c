/* SPDX-License-Identifier: BSD-3-Clause */
/* @[str(arg1)] = count() with texts of 1,024 bytes: the key is in a per-CPU array. */
#define KEY_BYTES 1024
#include "by_text.h"

MAP(keys, BPF_MAP_TYPE_PERCPU_ARRAY, u32, struct by_text, 1);

SEC("uprobe")
int BPF_KPROBE(at_call, u64 number, const char *text)
{
    u32 index = 0;
    struct by_text *key = bpf_map_lookup_elem(&keys, &index);
    if (key)
        count_text(key, text);
    return 0;
}
