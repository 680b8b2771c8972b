/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls by number, under the names that the kernel's tracepoints use (sys_enter_NAME): so newfstatat,
 * newuname, sendfile64, umount, not fstatat, uname, sendfile, umount2. */
#ifndef SPOOR_SYM_KERNEL_SYSCALLS_H
#define SPOOR_SYM_KERNEL_SYSCALLS_H

/* -1: no such system call on this machine. The name of <asm/unistd.h> is accepted, too. */
int syscall_number(const char *name);
/* NULL: no such number. */
const char *syscall_name(int number);
/* The same under the name of <asm/unistd.h>: fstat, uname, sendfile, umount2. */
const char *syscall_own_name(int number);
/* One more than the largest number. */
int syscall_limit(void);

#endif
