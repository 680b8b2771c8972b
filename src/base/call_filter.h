/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of the system calls that a process of spoor may still make, as a filter of seccomp(2). A call in the
 * convention of another architecture ends the process. */
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
/* Allows the call if its argument with that number, counted from 0, has none of these bits; otherwise it fails with
 * EACCES. */
void call_filter_allow_without(struct call_filter *filter, uint32_t number, unsigned argument, uint32_t bits);
/* Installs the filter for this thread and for all that it starts; it cannot be taken off. Calls that the filter does
 * not name are allowed if `error` is 0, and fail with `error` otherwise. Also sets no_new_privs. Returns 0, also on
 * a kernel without seccomp, or -errno. */
int call_filter_install(struct call_filter *filter, int error);

#endif
