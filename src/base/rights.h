/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives up rights of this process. All functions here may be called between fork() and exec(). */
#ifndef SPOOR_BASE_RIGHTS_H
#define SPOOR_BASE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this process is root or has any capability, so that others could want its power. */
bool rights_are_privileged(void);

/* Keeps only the capabilities in the mask, in which bit N stands for capability N, and clears the ambient and
 * inheritable ones, so that executed programs get none. Returns 0 or -errno. */
#define RIGHTS_ALL UINT64_MAX
int rights_keep(uint64_t capabilities);
/* Reduces the bounding set, which limits what the process and its children can ever have. Without CAP_SETPCAP the
 * set stays as it is; then only rights_fix() keeps children from getting more. Returns 0 or -errno. */
int rights_bound(uint64_t capabilities);
/* Sets no_new_privs: no program that is executed gains rights by set-user-ID or by capabilities of its file.
 * Returns 0 or -errno. */
int rights_fix(void);
/* Marks all descriptors from `first` on to be closed by exec(). */
void rights_close_from(int first);
/* Closes all descriptors but these, which are sorted in place. */
void rights_close_others(int *kept, size_t count);

#endif
