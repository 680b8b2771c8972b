/* SPDX-License-Identifier: BSD-3-Clause */
/* Between lines.c and its service; no other file includes it. */
#ifndef SPOOR_SYM_DWARF_LINES_CHILD_H
#define SPOOR_SYM_DWARF_LINES_CHILD_H

#include "sym/apart.h"

enum { LINES_PLACES = 16 };
#define LINES_MEMORY ((uint64_t)8 << 30) /* of address space: files are mapped */

/* Answers a question, which is the number of a slot and an address. A file that comes with it takes the slot. The
 * answer is, for each frame, its line, function and file; -ENOENT: the file has nothing for the address. */
int lines_serve(void *state, struct apart_question *question, struct text *answer);

#endif
