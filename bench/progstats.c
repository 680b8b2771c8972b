/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's own account of BPF programs.
 *   progstats           the largest program id so far
 *   progstats ID        over all programs with a larger id: how many, run time in ns, runs
 * The run times count only while the sysctl kernel.bpf_stats_enabled is 1. */
#include "program_info.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    unsigned long long time = 0, runs = 0;
    uint32_t id = argc > 1 ? (uint32_t)atol(argv[1]) : 0, programs = 0;
    for (;;) {
        union bpf_attr attributes;
        memset(&attributes, 0, sizeof attributes);
        attributes.start_id = id;
        if (bpf(BPF_PROG_GET_NEXT_ID, &attributes))
            break;
        id = attributes.next_id;
        struct bpf_prog_info info;
        if (!program_info(id, &info))
            continue;
        programs++;
        time += info.run_time_ns;
        runs += info.run_cnt;
    }
    if (argc > 1)
        printf("%u %llu %llu\n", programs, time, runs);
    else
        printf("%u\n", id);
    return 0;
}
