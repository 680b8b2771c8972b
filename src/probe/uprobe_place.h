/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a uprobe that is given as an offset in a function, or as an address, is at the beginning of an instruction:
 * a breakpoint inside of one breaks the program. */
#ifndef SPOOR_PROBE_UPROBE_PLACE_H
#define SPOOR_PROBE_UPROBE_PLACE_H

#include "probe/kind.h"
#include "sym/elf/elf.h"

struct uprobe_place {
    struct elf_file *file;
    struct span span;
    const char *name;                  /* the probe, for messages */
    const struct elf_symbol *function; /* the function that it is in; NULL: no symbol says */
    uint64_t offset;                   /* in the file */
};

/* Checks a place, with a diagnostic if it is refused: inside an instruction, or nothing tells. With --unsafe both pass,
 * and the first is warned of. Returns 0 or -errno. */
int uprobe_place_check(struct probe_environment *environment, const struct uprobe_place *place);

#endif
