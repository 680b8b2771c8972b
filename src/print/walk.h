/* SPDX-License-Identifier: BSD-3-Clause */
/* For the files that write values: the walk over one value, and what its writers share. */
#ifndef SPOOR_PRINT_WALK_H
#define SPOOR_PRINT_WALK_H

#include "print/value.h"

struct walk {
    struct printer *printer;
    struct text *out;
    uint64_t divisor;
    unsigned depth, nodes;
    bool json;
    bool compact; /* text of tuples and structs without spaces: JSON keys */
    bool raw;     /* bytes are laid out as in traced memory, not as in storage */
};

struct bytes {
    const uint8_t *at;
    size_t left;
};

/* In JSON the quotes around a string; in text nothing. */
void walk_quote(struct walk *walk);
/* What somebody else chose as a string: escaped for JSON or for a terminal. */
void walk_foreign_string(struct walk *walk, const char *string);
void walk_hex(struct walk *walk, uint64_t value);
/* The word at an offset, 0 where the bytes have ended. */
uint64_t walk_word(struct bytes bytes, size_t offset);
/* What an address of the kernel or of a process is. False: nothing is known. */
bool walk_symbol(struct walk *walk, bool user, uint32_t pid, uint64_t address, bool is_return,
                 struct print_symbol *out);
/* The writer of TYPE_KSTACK and TYPE_USTACK (stack.c). */
void walk_stack(struct walk *walk, const struct type *type, struct bytes bytes);

#endif
