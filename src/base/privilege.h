/* SPDX-License-Identifier: BSD-3-Clause */
/* A tracer that is attached has done what needs most of its privileges, and who only reads recordings needs none. */
#ifndef SPOOR_BASE_PRIVILEGE_H
#define SPOOR_BASE_PRIVILEGE_H

#include <stdbool.h>

/* For a process that runs no command any more. Keeps of its capabilities those by which it attaches to what
 * appears later, reads what tells names, and ends what it started (makes_files: also those by which it makes files
 * of others, in their directories); nobody whom it starts can have more. Gives up, for itself and its children,
 * the system calls that run programs and change the machine: execve, ptrace, mount, kernel modules, clocks and the
 * like answer EPERM. There is no way back. 0 or -errno; what could be given up is given up all the same. */
int privilege_keep_tracing(bool makes_files);
/* The same for who reads recordings: no capability is kept but those to read files and to look at processes of
 * others. */
int privilege_keep_reading(bool makes_files);

#endif
