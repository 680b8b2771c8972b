/* SPDX-License-Identifier: BSD-3-Clause */
/* Between lines.c and its child; nobody else includes this. */
#ifndef SPOOR_SYM_LINES_CHILD_H
#define SPOOR_SYM_LINES_CHILD_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

enum { LINES_PLACES = 16, LINES_ANSWER = 32 << 10 };
#define LINES_MEMORY ((uint64_t)8 << 30) /* of addresses: files are mapped */

struct lines_question {
    uint32_t place;
    bool is_new; /* forget what is in the place; the message has the new file's descriptor */
    uint64_t address;
};

/* The first byte of an answer. */
enum { LINES_SOME = 'y', LINES_NONE = 'n' /* there is nothing in this file */ };

/* Answers until the socket is closed. */
void lines_child(int socket);

#endif
