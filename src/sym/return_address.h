/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether an address can be one to which a call returns. This distinguishes frames from what a walk over a stack
 * takes for frames when a function has used the frame pointer for something else. */
#ifndef SPOOR_SYM_RETURN_ADDRESS_H
#define SPOOR_SYM_RETURN_ADDRESS_H

#include <stdint.h>

#include "sym/elf/elf.h"

enum call_kind {
    CALL_UNKNOWN, /* the code cannot be read, or is another machine's */
    CALL_NONE,    /* there is no call before it */
    CALL_FOUND,
    CALL_SIGNAL, /* signal handlers return to it, and no call does */
};

/* offset: that of the address in the file */
enum call_kind call_before(const struct elf_file *file, uint64_t offset);
/* As call_before(), for bytes: `before` of them end at the address, `after` of them begin there. */
enum call_kind call_before_x86(const uint8_t *at, size_t before, size_t after);
enum call_kind call_before_arm(const uint8_t *at, size_t before, size_t after);

#endif
