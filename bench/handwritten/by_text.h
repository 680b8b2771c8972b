/* SPDX-License-Identifier: BSD-3-Clause */
/* @[str(arg1)] = count(), in a per-CPU hash: one bpf_probe_read_user_str() into a key that was zero. The key
 * is on the stack where it fits there; otherwise in a per-CPU array, one for each depth of preemption would be
 * right and this has but one. */
#include "common.h"

struct by_text {
    char text[KEY_BYTES];
};
MAP(counts, BPF_MAP_TYPE_PERCPU_HASH, struct by_text, u64, KEYS);

static __always_inline void count_text(struct by_text *key, const char *text)
{
    __builtin_memset(key, 0, sizeof *key);
    bpf_probe_read_user_str(key->text, sizeof key->text, text);
    u64 *count = bpf_map_lookup_elem(&counts, key);
    if (!count) {
        u64 zero = 0;
        bpf_map_update_elem(&counts, key, &zero, BPF_NOEXIST);
        count = bpf_map_lookup_elem(&counts, key);
    }
    if (count)
        __sync_fetch_and_add(count, 1);
    else
        count_lost();
}
