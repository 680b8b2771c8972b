/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the output of a script, as lines of JSON, in order of time, to merge it with a recording.
 *
 * The time of a line is its member time_ns (CLOCK_BOOTTIME). A line without one stays behind the line before it.
 * Since a script's output is nearly in order, lines that are a little late are put in order in a window, so that
 * memory does not grow with their number. */
#ifndef SPOOR_READER_JSON_LINES_H
#define SPOOR_READER_JSON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct json_lines;

struct json_line {
    uint64_t time; /* that of the line before it if has_time is false */
    bool has_time;
    const char *json; /* the whole line */
    size_t length;
    const char *text; /* the text that the script printed; NULL: the line is something else */
    size_t text_length;
};

struct json_lines_counts {
    uint64_t lines, timed; /* timed: those that have a time */
    uint64_t late;         /* lines that come after newer ones */
    uint64_t refused;      /* lines that were left out: they are no JSON, or too long */
};

/* Opens a file; "-" is standard input. Returns 0, or -errno with the reason in `why`. It does not wait, not even
 * for the writer of a pipe. stop: becomes true when nothing more is wanted; or NULL. */
int json_lines_open(const char *path, const volatile int *stop, struct json_lines **result, struct text *why);
/* Finds the next line that is older than `before`. Returns 1, and the line is valid until the next call; 0: there
 * is none (`before` UINT64_MAX: there are no more); else -errno. -EINTR: `stop` was set, even in the middle of a
 * line without an end. */
int json_lines_next(struct json_lines *lines, uint64_t before, struct json_line *line);
struct json_lines_counts json_lines_counts(const struct json_lines *lines);
void json_lines_close(struct json_lines *lines);

#endif
