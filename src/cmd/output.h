/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a command's result goes: standard output, a new file, or a new directory. Existing files are never
 * overwritten, and no symbolic link is followed; a result that could not be finished is removed. */
#ifndef SPOOR_CMD_OUTPUT_H
#define SPOOR_CMD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
    const char *path; /* NULL: standard output */
    int file;         /* a descriptor of the file or the directory */
    bool is_terminal; /* text must be escaped so that it cannot steer the terminal */
    bool is_directory;
    bool is_compressed; /* what is written to the file is compressed with gzip, in members */
    char *beside_path;  /* a second file beside it; NULL: there is none */
    int beside;
    int error; /* the first error of writing, -errno; nothing is written after it */
};

/* Opens an output. path NULL or "-": standard output. Returns 0, or 1 after a message. */
int output_open(struct output *output, const char *path, bool is_directory);
/* Opens a second file, whose name ends with `end` behind that of the first, which is removed if it fails. Returns as
 * output_open(). */
int output_open_beside(struct output *output, const char *end);
/* Appends bytes. name: that of the file in a directory; or any, for the second file. Returns 0 or -errno. */
int output_write(struct output *output, const char *name, const void *bytes, size_t length);
/* Closes an output, which is kept if is_whole and removed if not. Returns 0, or 1 after a message. It is no error
 * if standard output has no reader any more. */
int output_close(struct output *output, bool is_whole);

#endif
