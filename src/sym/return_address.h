/* SPDX-License-Identifier: BSD-3-Clause */
/* Can an address be one that a call returns to? Tells frames from what a walk over a stack takes for frames
 * when a function has used the frame pointer for something else. */
#ifndef SPOOR_SYM_RETURN_ADDRESS_H
#define SPOOR_SYM_RETURN_ADDRESS_H

#include <stdint.h>

#include "sym/elf/elf.h"

enum call_kind {
    CALL_UNKNOWN, /* the code cannot be read, or is another machine's */
    CALL_NONE,    /* nothing that calls stands before it */
    CALL_FOUND,
    CALL_SIGNAL, /* it is where signal handlers return to, which nobody calls */
};

enum call_kind call_before(const struct elf_file *file, uint64_t offset); /* in the file */
/* The same of bytes: `before` of them end where the address is, `after` of them begin there. */
enum call_kind call_before_x86(const uint8_t *at, size_t before, size_t after);
enum call_kind call_before_arm(const uint8_t *at, size_t before, size_t after);

#endif
