/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a file that is open here is one that a process has mapped: by device and inode, never by name. */
#ifndef SPOOR_SYM_PROCESS_MAPPED_FILE_H
#define SPOOR_SYM_PROCESS_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether it is the file with these numbers, as /proc/PID/maps writes them. */
bool mapped_file_is(int file, uint64_t device, uint64_t inode);
enum mapped_file { MAPPED_NOT, MAPPED_SHARED, MAPPED_WRITABLE }; /* WRITABLE: all of it is writable */
/* Returns how the process shares the memory of the file now, or -errno: the process is gone (-ESRCH), or must not
 * be examined. */
int mapped_file_shared(int file, pid_t pid);
/* As mapped_file_shared(), for the process that wrote a recording: `named` is the id that it has in its own
 * namespace, as the recording or its name says. path: that of the file; *writer: the process, 0 if it is not known
 * yet. */
int mapped_file_written(int file, const char *path, pid_t named, pid_t *writer);

#endif
