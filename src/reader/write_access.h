/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing into a recording, which is the memory of a program of any user.
 *
 * spoor writes with its own rights, at offsets that the file says. So it writes only where the program could have
 * written itself: into the very inode that was parsed, which the process has in its memory now, and which belongs
 * to the user as whom it acts or can be written to there, all of it; and only within the file. */
#ifndef SPOOR_READER_WRITE_ACCESS_H
#define SPOOR_READER_WRITE_ACCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "reader/reader.h"

/* Opens a recording for writing. Returns a descriptor, or -errno with the reason. pid: the process that must have
 * it; 0: the one that the recording names, or any other (in a container its number is another one). */
int write_access_open(const struct recording *recording, pid_t pid, struct text *why);
/* Locks a recording against other tools that steer it. Waits for 3 seconds, then says which process holds it. path:
 * for messages. */
int write_access_lock(int file, const char *path, struct text *why);
/* Writes into the file. Returns 0 or -errno; -ERANGE: not within the file. */
int write_access_put(int file, const void *bytes, size_t length, uint64_t offset);

#endif
