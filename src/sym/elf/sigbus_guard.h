/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the process alive if a file is cut short while a library that maps it (elfutils') reads it: the kernel
 * answers with SIGBUS, which ends the process by default. Between begin and end, in the thread that called them, a
 * page that is gone reads as zeros, which such libraries reject. Faults of other code are handled as before. */
#ifndef SPOOR_SYM_ELF_SIGBUS_GUARD_H
#define SPOOR_SYM_ELF_SIGBUS_GUARD_H

#include <stdbool.h>

void sigbus_guard_begin(void); /* calls may be nested */
bool mapped_is_cut(void);      /* whether a page was missing since the outermost begin */
bool sigbus_guard_end(void);   /* ends what begin began, and returns what mapped_is_cut() does */

#endif
