/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives up privileges of the tracer itself: after attaching it needs few, and to read recordings hardly any. */
#ifndef SPOOR_BASE_PRIVILEGE_H
#define SPOOR_BASE_PRIVILEGE_H

enum privilege_use {
    PRIVILEGE_TRACE = 1,      /* to attach to probes that appear later, and to begin and end readers */
    PRIVILEGE_OPEN_FILES = 2, /* to make files for other users, and to open theirs for writing */
    /* to remove files, also those of other users in directories where all may write */
    PRIVILEGE_REMOVE_FILES = 4,
    PRIVILEGE_COMMAND = 8, /* to stop and to end a command that has become another user */
};
/* To be called by a process that will run no further command. It keeps the capabilities to read files and to look at
 * other users' processes, and those that the uses (enum privilege_use) take. Its children can have no more. For it and
 * its children the system calls that run programs and change the machine (execve, ptrace, mount, kernel modules, clocks
 * and the like) fail with EPERM. None of this can be undone. A process may call it again when it needs less. Returns 0
 * or -errno; after an error everything else was given up all the same. */
int privilege_keep(unsigned uses);

#endif
