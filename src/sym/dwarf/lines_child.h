/* SPDX-License-Identifier: BSD-3-Clause */
/* Between lines.c and its child; nobody else includes this. */
#ifndef SPOOR_SYM_DWARF_LINES_CHILD_H
#define SPOOR_SYM_DWARF_LINES_CHILD_H

#include "sym/apart.h"

enum { LINES_PLACES = 16 };
#define LINES_MEMORY ((uint64_t)8 << 30) /* of addresses: files are mapped */

/* A question: the number of a place, an address. A file that comes with it takes the place. The answer: for each
 * frame its line, function and file; -ENOENT: there is nothing in this file. */
int lines_serve(void *state, struct apart_question *question, struct text *answer);

#endif
