/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

bool rights_are_privileged(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    return geteuid() == 0 || syscall(SYS_capget, &header, data) || data[0].permitted || data[1].permitted;
}

int rights_keep(uint64_t capabilities)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    /* Linux before 4.3 has no ambient capabilities. */
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
        return -errno;
    if (syscall(SYS_capget, &header, data))
        return -errno;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        data[i].permitted &= (uint32_t)(capabilities >> 32 * i);
        data[i].effective &= (uint32_t)(capabilities >> 32 * i);
        data[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, data) ? -errno : 0;
}

int rights_bound(uint64_t capabilities)
{
    for (unsigned capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (!(capabilities >> capability & 1) && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
            return errno == EPERM ? 0 : -errno;
    return 0;
}

int rights_fix(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

/* Closes or marks a range of descriptors: by one call of the kernel, else one by one (before Linux 5.9 or 5.11, or
 * where a sandbox forbids the call). */
static void close_range_of(unsigned first, unsigned last, unsigned flags)
{
    if (first > last || !syscall(SYS_close_range, first, last, flags))
        return;
    long limit = sysconf(_SC_OPEN_MAX);
    unsigned end = limit > 0 && limit < INT32_MAX ? (unsigned)limit : 1024;
    for (unsigned fd = first; fd < end && fd <= last; fd++)
        if (flags)
            fcntl((int)fd, F_SETFD, FD_CLOEXEC);
        else
            close((int)fd);
}

void rights_close_from(int first)
{
    close_range_of((unsigned)first, ~0u, CLOSE_RANGE_CLOEXEC);
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void rights_close_others(int *kept, size_t count)
{
    unsigned next = 0;
    qsort(kept, count, sizeof *kept, compare);
    for (size_t i = 0; i < count; i++) {
        if ((unsigned)kept[i] > next)
            close_range_of(next, (unsigned)kept[i] - 1, 0);
        next = (unsigned)kept[i] + 1;
    }
    close_range_of(next, ~0u, 0);
}
