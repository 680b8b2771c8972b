/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that comes in pieces, as lines. A line has the time of its first piece; one of more than LINES_PENDING_MAX bytes is
 * divided. Zero-initialise all but `visit` and `state`. A line_splitter belongs to one thread. */
#ifndef SPOOR_BASE_LINES_H
#define SPOOR_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { LINES_PENDING_MAX = 1 << 16 };

struct line_splitter {
    /* Is given each line, without the newline at its end. */
    void (*visit)(void *state, uint64_t time, const char *line, size_t length);
    void *state;
    struct text pending;   /* a line without its end */
    uint64_t pending_time; /* when it began */
    bool failed;           /* memory ran out: something is missing in a line */
};

/* Visits the lines that end in this piece of text. time: of the piece, in the caller's unit. */
void lines_add(struct line_splitter *splitter, uint64_t time, const char *bytes, size_t length);
/* Visits the line that has begun, if there is one: nothing more comes. */
void lines_end(struct line_splitter *splitter);
void lines_free(struct line_splitter *splitter);

#endif
