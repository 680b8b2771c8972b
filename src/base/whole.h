/* SPDX-License-Identifier: BSD-3-Clause */
/* Read and write everything that is asked for: a call that was interrupted, or did a part, is continued. */
#ifndef SPOOR_BASE_WHOLE_H
#define SPOOR_BASE_WHOLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct text;

/* Writes all bytes. Returns 0 or -errno. On a non-blocking descriptor it waits until it can go on, at most
 * patience_ms milliseconds at a time (-1: without limit), and fails with -EAGAIN after that. */
int whole_write(int fd, const void *bytes, size_t size, int patience_ms);
/* Writes like whole_write(), at an offset of a file. */
int whole_write_at(int fd, const void *bytes, size_t size, uint64_t offset);
/* Reads `size` bytes from the descriptor's position on. Returns 0, -ENODATA if the file ends before, or -errno. */
int whole_read(int fd, void *bytes, size_t size);
/* Appends to a text what is left to read of a file. Returns 0, -EFBIG if that is more than `most` bytes (the text then has
 * more than so many), -ENOMEM or -errno. */
int whole_read_text(int fd, size_t most, struct text *out);
/* Reads a short file, whose name must be the kernel's, such as one of /sys: its text with a NUL behind it, cut off where the
 * buffer ends. Returns its length, or -errno with an empty text. */
ssize_t whole_read_short(const char *path, char *buffer, size_t size);

#endif
