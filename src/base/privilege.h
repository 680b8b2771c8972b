/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives up privileges of the tracer itself: after attaching it needs few, and to read recordings hardly any. */
#ifndef SPOOR_BASE_PRIVILEGE_H
#define SPOOR_BASE_PRIVILEGE_H

#include <stdbool.h>

/* To be called by a process that will run no further command. It keeps the capabilities that it takes to attach to
 * what appears later, to read files for names, and to end what it started; with makes_files also those that it takes
 * to make files for other users. Its children can have no more. For it and its children the system calls that run
 * programs and change the machine (execve, ptrace, mount, kernel modules, clocks and the like) fail with EPERM. None
 * of this can be undone. Returns 0 or -errno; after an error everything else was given up all the same. */
int privilege_keep_tracing(bool makes_files);
/* The same for a process that reads recordings: it keeps only the capabilities to read files and to look at other
 * users' processes. */
int privilege_keep_reading(bool makes_files);

#endif
