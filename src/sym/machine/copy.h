/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions that copy a value between registers, or between a register and memory. Compilers put them in front
 * of a probe; following them backwards shows where its arguments came from. Only x86-64. */
#ifndef SPOOR_SYM_MACHINE_COPY_H
#define SPOOR_SYM_MACHINE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/machine/machine.h"

struct machine_place {
    bool is_known;  /* else it is a constant, or something that was computed */
    bool in_memory; /* at base plus offset, or at the address `offset` */
    bool is_static; /* it has no base */
    struct machine_register base;
    int64_t offset;
};
struct machine_copy {
    struct machine_place from, to; /* to.is_known is false: nothing is written */
    uint8_t size;
};
/* Decodes the instruction at an address. Returns its length; 0: it is no such instruction. */
size_t machine_copy_decode(const uint8_t *code, size_t room, uint64_t address, struct machine_copy *out);

#endif
