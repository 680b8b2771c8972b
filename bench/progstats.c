/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's own account of BPF programs.
 *   progstats           the largest program id so far
 *   progstats ID        over all programs with a larger id: how many, run time in ns, runs
 * The run times count only while the sysctl kernel.bpf_stats_enabled is 1. */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long bpf(int command, union bpf_attr *attributes)
{
    return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

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
        memset(&attributes, 0, sizeof attributes);
        attributes.prog_id = id;
        int program = (int)bpf(BPF_PROG_GET_FD_BY_ID, &attributes);
        if (program < 0)
            continue; /* gone meanwhile */
        struct bpf_prog_info info;
        memset(&info, 0, sizeof info);
        memset(&attributes, 0, sizeof attributes);
        attributes.info.bpf_fd = (uint32_t)program;
        attributes.info.info_len = sizeof info;
        attributes.info.info = (uintptr_t)&info;
        if (!bpf(BPF_OBJ_GET_INFO_BY_FD, &attributes)) {
            programs++;
            time += info.run_time_ns;
            runs += info.run_cnt;
        }
        close(program);
    }
    if (argc > 1)
        printf("%u %llu %llu\n", programs, time, runs);
    else
        printf("%u\n", id);
    return 0;
}
