/* SPDX-License-Identifier: BSD-3-Clause */
/* The last lines that a script has printed. */
#ifndef SPOOR_TOP_LINES_H
#define SPOOR_TOP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOP_LINES = 256, TOP_LINE_BYTES = 1024 };

struct top_lines {
    char *lines[TOP_LINES]; /* line number n is at n % TOP_LINES */
    uint64_t count;         /* how many there were, with the one that is not ended */
    bool is_open;           /* the last one goes on with what comes next */
};

/* Adds text; a line's end is its newline, and what is longer than TOP_LINE_BYTES is cut. */
void top_lines_add(struct top_lines *lines, const char *bytes, size_t length);
/* Returns a line, 0 being the newest of the first `count`; NULL: there is none. Empty lines are not kept. */
const char *top_lines_last(const struct top_lines *lines, uint64_t count, size_t back);
void top_lines_free(struct top_lines *lines);

#endif
