/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of recordings. A plain copy of a recording, also of one that is being written, is a recording. */
#ifndef SPOOR_READER_COPY_H
#define SPOOR_READER_COPY_H

#include <stdint.h>

/* Everything in `from`, holes as holes, to `to`, an empty file. 0 or -errno. */
int copy_file(int from, int to);
/* A copy in memory that goes away when it is closed; -errno. */
int copy_to_memory(int from);
/* `bytes` at `offset`, as far as they are there, to where there was nothing yet or an older copy of them;
 * holes are left out. 0 or -errno. */
int copy_range(int from, int to, uint64_t offset, uint64_t bytes);

#endif
