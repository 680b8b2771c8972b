/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/call_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "which architecture does seccomp call this one?"
#endif
#define X32 0x40000000u /* on x86-64: calls of programs with 32-bit pointers, from this number on */

static void add(struct call_filter *filter, uint16_t code, uint8_t yes, uint8_t no, uint32_t value)
{
    if (filter->count < CALL_FILTER_MAX) /* else install says so */
        filter->code[filter->count] = (struct sock_filter){code, yes, no, value};
    filter->count++;
}

static void answer(struct call_filter *filter, uint32_t value)
{
    add(filter, BPF_RET | BPF_K, 0, 0, value);
}

static uint32_t refusal(int error)
{
    return SECCOMP_RET_ERRNO | (uint32_t)error;
}

static void load(struct call_filter *filter, size_t offset)
{
    add(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

void call_filter_begin(struct call_filter *filter)
{
    filter->count = 0;
    load(filter, offsetof(struct seccomp_data, arch));
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    answer(filter, SECCOMP_RET_KILL_PROCESS);
    load(filter, offsetof(struct seccomp_data, nr));
    add(filter, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32);
    answer(filter, SECCOMP_RET_KILL_PROCESS);
}

void call_filter_allow(struct call_filter *filter, uint32_t number)
{
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number);
    answer(filter, SECCOMP_RET_ALLOW);
}

void call_filter_refuse(struct call_filter *filter, uint32_t number, int error)
{
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number);
    answer(filter, refusal(error));
}

void call_filter_allow_without(struct call_filter *filter, uint32_t number, unsigned argument, uint32_t bits)
{
    enum { REST = 4 }; /* instructions, to the next call */
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, REST, number);
    load(filter, offsetof(struct seccomp_data, args[argument])); /* the low half: flags are in it */
    add(filter, BPF_JMP | BPF_JSET | BPF_K, 1, 0, bits);
    answer(filter, SECCOMP_RET_ALLOW);
    answer(filter, refusal(EACCES));
}

int call_filter_install(struct call_filter *filter, int error)
{
    answer(filter, error ? refusal(error) : SECCOMP_RET_ALLOW);
    if (filter->count > CALL_FILTER_MAX)
        return -E2BIG;
    struct sock_fprog program = {filter->count, filter->code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) && errno != EINVAL)
        return -errno; /* EINVAL: a kernel without it */
    return 0;
}
