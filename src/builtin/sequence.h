/* SPDX-License-Identifier: BSD-3-Clause */
/* printf in a pinned iterator: the kernel itself makes the text for the reader of the pinned file, because spoor
 * has ended by then. The kernel's printf can do less than spoor's: integers, characters, pointers and strings. */
#ifndef SPOOR_BUILTIN_SEQUENCE_H
#define SPOOR_BUILTIN_SEQUENCE_H

#include "bpf/lower/lower.h"
#include "print/format.h"

/* False after a diagnostic: something in the format is beyond the kernel. */
bool sequence_check(struct checker *checker, struct node *call, const struct format *format);
void sequence_lower(struct lowering *l, struct node *call, const struct format *format);

#endif
