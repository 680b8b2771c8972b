/* SPDX-License-Identifier: BSD-3-Clause */
/* Which system calls a process of ours has left, as a filter of seccomp(2). Calls of another architecture than
 * ours end the process. */
#ifndef SPOOR_BASE_CALL_FILTER_H
#define SPOOR_BASE_CALL_FILTER_H

#include <linux/filter.h>
#include <stdint.h>

enum { CALL_FILTER_MAX = 256 };
struct call_filter {
    struct sock_filter code[CALL_FILTER_MAX];
    unsigned short count;
};

void call_filter_begin(struct call_filter *filter);
void call_filter_allow(struct call_filter *filter, uint32_t number);
void call_filter_refuse(struct call_filter *filter, uint32_t number, int error);
/* Allows the call when none of these bits is set in the argument with that number (from 0); else EACCES. */
void call_filter_allow_without(struct call_filter *filter, uint32_t number, unsigned argument, uint32_t bits);
/* All others are allowed (error 0) or refused. From here on, for this thread and what it starts, for ever; it can
 * gain no privileges any more. 0, also on a kernel without seccomp, or -errno. */
int call_filter_install(struct call_filter *filter, int error);

#endif
