/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel tells about a BPF program, for the programs of the bench. */
#ifndef BENCH_PROGRAM_INFO_H
#define BENCH_PROGRAM_INFO_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long bpf(int command, union bpf_attr *attributes)
{
    return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

/* False: it is gone meanwhile. */
static inline bool program_info(uint32_t id, struct bpf_prog_info *info)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_id = id;
    int program = (int)bpf(BPF_PROG_GET_FD_BY_ID, &attributes);
    if (program < 0)
        return false;
    memset(info, 0, sizeof *info);
    memset(&attributes, 0, sizeof attributes);
    attributes.info.bpf_fd = (uint32_t)program;
    attributes.info.info_len = sizeof *info;
    attributes.info.info = (uintptr_t)info;
    bool is_told = !bpf(BPF_OBJ_GET_INFO_BY_FD, &attributes);
    close(program);
    return is_told;
}

#endif
