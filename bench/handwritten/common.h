/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hand-written programs share: the kernel's types, libbpf's helpers, maps in one line, the row of a
 * histogram. Each program does what one script or tool of spoor does, as somebody would write it who knows BPF
 * and the kernel it is for: nothing is lost without being counted, and what is counted from programs that can
 * be preempted is counted by atomic additions. They have no stop flag, no clock in a record whose time nobody
 * asks for, and no counter for what cannot happen to them. WITH_STOP_FLAG and WITH_CLOCK add what spoor does besides,
 * to see what it costs.
 *
 * The license is what the kernel asks for before it lets a program call its helpers for tracing. */
#ifndef BENCH_HANDWRITTEN_COMMON_H
#define BENCH_HANDWRITTEN_COMMON_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define MAP(NAME, TYPE, KEY, VALUE, ENTRIES)                                                                 \
    struct {                                                                                                 \
        __uint(type, TYPE);                                                                                  \
        __type(key, KEY);                                                                                    \
        __type(value, VALUE);                                                                                \
        __uint(max_entries, ENTRIES);                                                                        \
    } NAME SEC(".maps")

enum { KEYS = 4096, RING_BYTES = 1 << 20, ROWS = 65, TEXT = 1024 };

struct hist {
    u64 rows[ROWS];
};

/* 0 for 0, otherwise one more than the highest bit. */
static __always_inline u64 hist_row(u64 value)
{
    u64 row = value != 0, shift;
    shift = (value > 0xffffffff) << 5, value >>= shift, row += shift;
    shift = (value > 0xffff) << 4, value >>= shift, row += shift;
    shift = (value > 0xff) << 3, value >>= shift, row += shift;
    shift = (value > 0xf) << 2, value >>= shift, row += shift;
    shift = (value > 0x3) << 1, value >>= shift, row += shift;
    return row + (value > 1);
}

/* What did not fit in the ring or in a map. */
u64 lost = 0;

static __always_inline void count_lost(void)
{
    __sync_fetch_and_add(&lost, 1);
}

#ifdef WITH_STOP_FLAG
volatile u32 stop = 0;
#define LEAVE_IF_STOPPED()                                                                                   \
    do                                                                                                       \
        if (stop)                                                                                            \
            return 0;                                                                                        \
    while (0)
#else
#define LEAVE_IF_STOPPED() ((void)0)
#endif

char LICENSE[] SEC("license") = "GPL";

#endif
