/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process gives up: before it runs or reads what others wrote, and when it needs it no more. May be called
 * between fork() and exec(). */
#ifndef SPOOR_BASE_RIGHTS_H
#define SPOOR_BASE_RIGHTS_H

#include <stddef.h>
#include <stdint.h>

/* Of its capabilities the process keeps those in the mask (bit N: capability N), and hands none on to what it
 * executes: no ambient and no inheritable ones. 0 or -errno. */
#define RIGHTS_ALL UINT64_MAX
int rights_keep(uint64_t capabilities);
/* What it and its children can ever have: the bounding set. Without the right to change that one (CAP_SETPCAP) it
 * stays as it is, and rights_fix() is what counts. 0 or -errno. */
int rights_bound(uint64_t capabilities);
/* Nothing that is executed gives more rights than there are: no set-user-ID, no capabilities of files. 0 or -errno. */
int rights_fix(void);
/* exec() closes all descriptors from this one on. */
void rights_close_from(int first);
/* Closes all but these at once; they are sorted. */
void rights_close_others(int *kept, size_t count);

#endif
