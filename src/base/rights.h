/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process gives up before it runs what others wrote. For a child between fork() and exec(). */
#ifndef SPOOR_BASE_RIGHTS_H
#define SPOOR_BASE_RIGHTS_H

#include <stddef.h>

/* Capabilities that a program would have only because its caller has them: ambient and inheritable ones. 0 or -errno. */
int rights_clear_inherited(void);
/* All that are left, and that a program could ever have: the bounding set. Without the right to change that one
 * (CAP_SETPCAP) it stays as it is, and rights_fix() is what counts. 0 or -errno. */
int rights_clear_bounding(void);
/* Nothing that is executed gives more rights than there are: no set-user-ID, no capabilities of files. 0 or -errno. */
int rights_fix(void);
/* exec() closes all descriptors from this one on. */
void rights_close_from(int first);
/* Closes all but these at once; they are sorted. */
void rights_close_others(int *kept, size_t count);

#endif
