/* SPDX-License-Identifier: BSD-3-Clause */
/* Surviving that a file is cut short while a library that maps it (elfutils') reads it: the kernel answers
 * with SIGBUS, whose default ends the tracer. Between begin and end, in the thread that called them, a page
 * that is gone reads as zeros, which such libraries take for nonsense. Faults of others go where they went
 * before. */
#ifndef SPOOR_SYM_ELF_SIGBUS_GUARD_H
#define SPOOR_SYM_ELF_SIGBUS_GUARD_H

#include <stdbool.h>

void sigbus_guard_begin(void); /* may be nested */
bool mapped_is_cut(void);      /* a page was missing since the outermost begin */
bool sigbus_guard_end(void);   /* the same */

#endif
