/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of source and inlined functions of an address, from DWARF, by elfutils.
 *
 * What DWARF says is foreign and can be huge, so it is read by a child: when that crashes, takes too long or
 * too much memory, the file has no lines, and nothing else happens. The child is made when the first file
 * with debug information is met. */
#ifndef SPOOR_SYM_DWARF_LINES_H
#define SPOOR_SYM_DWARF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "sym/elf/elf.h"

enum { LINES_FRAMES_MAX = 32 };

struct lines;

struct line_frame {
    const char *function; /* mangled; of the last one NULL: the function itself */
    const char *file;
    unsigned line;
};

struct lines *lines_open(void); /* NULL: no memory */
void lines_close(struct lines *lines);

/* Asked while an answer is waited for, now and then; true: it is given up. */
void lines_may_leave(struct lines *lines, bool (*leaves)(void *state), void *state);

/* Does the file have debug information that lines come from? */
bool lines_in(const struct elf_file *file);
/* Innermost first: functions that were inlined, then the place in the function itself. address: as the file's
 * symbols count. Returns how many; 0: nothing is known. They live until the next call. -EIO: do not ask again
 * about this file. key tells files apart, and is never used again for another one. */
int lines_find(struct lines *lines, const struct elf_file *file, uint64_t key, uint64_t address,
               const struct line_frame **out);

#endif
