/* SPDX-License-Identifier: BSD-3-Clause */
/* Where instructions begin, for breakpoints: one that lies inside an instruction breaks the program.
 *
 * On aarch64 that is arithmetic. On x86-64 the code before the place is decoded by capstone, which is loaded when it
 * is asked first, in a service of its own (sym/apart.h): the bytes are those of a foreign file. */
#ifndef SPOOR_SYM_INSTRUCTION_H
#define SPOOR_SYM_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/machine/machine.h"

enum {
    INSTRUCTION_BYTES_MAX = 15,      /* of one instruction */
    INSTRUCTION_CODE_MAX = 16 << 20, /* bytes that are decoded at most */
};

/* The instruction that a byte belongs to, and the one behind it, as offsets in the code. Both are that byte's own if
 * the instruction begins there. */
struct instruction_bounds {
    uint64_t below, above;
};

/* Finds the instruction of a byte in code that begins with an instruction. `size` should be that of the code up to the
 * byte and INSTRUCTION_BYTES_MAX more, as far as there are so many. Returns 0 or
 *   -ENOTSUP: there is no capstone, or it is another machine's code;
 *   -EILSEQ: the code before the byte cannot be decoded, as where data lies in it;
 *   -EFBIG, -ENOMEM, -EBADMSG (the service died). */
int instruction_around(enum machine machine, const void *code, size_t size, uint64_t offset,
                       struct instruction_bounds *out);
/* Whether the library is there that a machine's code takes, if it takes one. */
bool instruction_has_decoder(enum machine machine);
/* Ends the service; the next question starts another. */
void instruction_end(void);

#endif
