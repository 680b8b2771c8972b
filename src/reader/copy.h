/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of recordings. A plain copy of a recording, also of one that is being written, is a recording. */
#ifndef SPOOR_READER_COPY_H
#define SPOOR_READER_COPY_H

#include <stdint.h>

/* Copies everything in `from` to the empty file `to`, with its holes. Returns 0 or -errno. */
int copy_file(int from, int to);
/* Returns a copy in memory that goes away when it is closed, or -errno. */
int copy_to_memory(int from);
/* Copies `bytes` at `offset`, as far as the file has them, to the same offset, where there is nothing yet or an
 * older copy of them. Holes are left out. Returns 0 or -errno. */
int copy_range(int from, int to, uint64_t offset, uint64_t bytes);

#endif
