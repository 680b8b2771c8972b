/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits until programs that passed the stop flag have returned.
 *
 * A program tests the flag at its first instruction. One that found it clear may still run when the flag is set, on
 * another CPU, and write its record or update its map after both were read: an event that is neither printed nor
 * counted as lost. The kernel runs programs inside of RCU read-side critical sections, and promises that
 * BPF_MAP_UPDATE_ELEM on a map of maps returns only after all of those that were running have ended. Therefore a map
 * of maps with one element is made, and that element replaced by itself. membarrier(2) would wait for the same, but
 * kernels refuse it where CPUs run without a timer tick (nohz_full), as those of storage targets do. */
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "kernel/kernel.h"
#include "kernel/syscalls.h"

static int quiesce_map(enum bpf_map_type type, int inner)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = type;
    attributes.key_size = attributes.value_size = 4;
    attributes.max_entries = 1;
    attributes.inner_map_fd = inner >= 0 ? (uint32_t)inner : 0;
    return syscall_bpf(BPF_MAP_CREATE, &attributes, sizeof attributes);
}

int kernel_await_programs(const struct kernel *kernel)
{
    const uint32_t first = 0;
    if (!kernel_attached(kernel))
        return 0;
    int inner = quiesce_map(BPF_MAP_TYPE_ARRAY, -1);
    if (inner < 0)
        return inner;
    int outer = quiesce_map(BPF_MAP_TYPE_ARRAY_OF_MAPS, inner);
    int error = outer < 0 ? outer : syscall_map_update(outer, &first, &inner, BPF_ANY);
    if (outer >= 0)
        close(outer);
    close(inner);
    return error;
}
