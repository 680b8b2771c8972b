/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing all of something: calls that were interrupted, or did a part, go on. */
#ifndef SPOOR_BASE_WHOLE_H
#define SPOOR_BASE_WHOLE_H

#include <stddef.h>
#include <stdint.h>

/* 0 or -errno. A descriptor that does not wait is waited for, up to so many milliseconds at a time (-1: for ever),
 * else -EAGAIN. */
int whole_write(int fd, const void *bytes, size_t size, int patience_ms);
/* The same at a place of a file. */
int whole_write_at(int fd, const void *bytes, size_t size, uint64_t offset);
/* So many bytes from where the descriptor is: 0, -ENODATA when it ends before, or -errno. */
int whole_read(int fd, void *bytes, size_t size);

#endif
