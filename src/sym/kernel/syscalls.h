/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls by number, with the names that the kernel's tracepoints use (sys_enter_NAME): newfstatat, newuname,
 * sendfile64, umount, and not fstatat, uname, sendfile, umount2. */
#ifndef SPOOR_SYM_KERNEL_SYSCALLS_H
#define SPOOR_SYM_KERNEL_SYSCALLS_H

/* Returns the number of a system call; -1: this machine has none of that name. The name of <asm/unistd.h> is
 * accepted, too. */
int syscall_number(const char *name);
/* Returns the name of a system call; NULL: there is none with that number. */
const char *syscall_name(int number);
/* As syscall_name(), with the name of <asm/unistd.h>: fstat, uname, sendfile, umount2. */
const char *syscall_own_name(int number);
/* Returns the largest number plus one. */
int syscall_limit(void);

#endif
