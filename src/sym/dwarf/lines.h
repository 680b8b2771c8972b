/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of source and inlined functions of an address, from DWARF, by elfutils.
 *
 * DWARF is untrusted and can be huge, so it is read by a service: if that crashes, takes too long or needs too much
 * memory, the file has no lines, and nothing else happens. The service is started for the first file with debug
 * information. */
#ifndef SPOOR_SYM_DWARF_LINES_H
#define SPOOR_SYM_DWARF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "sym/elf/elf.h"

enum { LINES_FRAMES_MAX = 32 };

struct lines;

struct line_frame {
    const char *function; /* mangled; NULL in the last frame, which is the function itself */
    const char *file;
    unsigned line;
};

struct lines *lines_open(void); /* NULL: memory ran out */
void lines_close(struct lines *lines);

/* Sets a function that is called now and then while an answer is waited for; true: the question is given up. */
void lines_may_leave(struct lines *lines, bool (*leaves)(void *state), void *state);

/* Whether a file has debug information that lines come from. */
bool lines_in(const struct elf_file *file);
/* Finds the frames of an address, the innermost first: functions that were inlined, then the place in the function
 * itself. address: as the file's symbols count. Returns how many there are, 0 if nothing is known. They are valid
 * until the next call. -EIO: the file must not be asked about again. key: identifies the file, and is never used
 * for another one. */
int lines_find(struct lines *lines, const struct elf_file *file, uint64_t key, uint64_t address,
               const struct line_frame **out);

#endif
