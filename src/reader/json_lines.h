/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of a script, as lines of JSON, in order of time: what a recording is merged with.
 *
 * A line's time is its member time_ns (CLOCK_BOOTTIME). One without stays behind the line before it. Lines
 * are nearly in order, since a script's output is: those that are a little late are put right in a window,
 * memory does not grow with their number. */
#ifndef SPOOR_READER_JSON_LINES_H
#define SPOOR_READER_JSON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct json_lines;

struct json_line {
    uint64_t time; /* or that of the line before it */
    bool has_time;
    const char *json; /* the whole line */
    size_t length;
    const char *text; /* if it is text that the script printed; else NULL */
    size_t text_length;
};

struct json_lines_counts {
    uint64_t lines, timed; /* timed: those that have a time */
    uint64_t late;         /* stand behind newer ones */
    uint64_t refused;      /* no JSON, or too long: left out */
};

/* "-": standard input. 0, or -errno with the reason in `why`. Nothing waits here, also not for who is to
 * write into a pipe. stop: becomes true when nothing more is wanted; or NULL. */
int json_lines_open(const char *path, const volatile int *stop, struct json_lines **result, struct text *why);
/* The next line that is older than this: 1, and it holds until the next call; 0: none (`before` UINT64_MAX:
 * no more); else -errno; -EINTR: stopped, also in the midst of a line without an end. */
int json_lines_next(struct json_lines *lines, uint64_t before, struct json_line *line);
struct json_lines_counts json_lines_counts(const struct json_lines *lines);
void json_lines_close(struct json_lines *lines);

#endif
