/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a command's result goes: standard output, a new file, or a new directory. What exists is never
 * overwritten and no symbolic link is followed; what could not be finished is removed. */
#ifndef SPOOR_CMD_OUTPUT_H
#define SPOOR_CMD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
    const char *path; /* NULL: standard output */
    int file;         /* or the directory */
    bool is_terminal; /* it cannot be commanded by what is written */
    bool is_directory;
    int error; /* the first of writing, -errno; nothing is written after it */
};

/* path NULL or "-": standard output. 0, or 1 after a message. */
int output_open(struct output *output, const char *path, bool is_directory);
/* Appends; name: of the file in a directory. 0 or -errno. */
int output_write(struct output *output, const char *name, const void *bytes, size_t length);
/* Everything was written: true is kept, false removed. 0, or 1 after a message. That nobody reads standard
 * output any more is no error. */
int output_close(struct output *output, bool is_whole);

#endif
