/* SPDX-License-Identifier: BSD-3-Clause */
/* Is a file that is open here one that a process has mapped? By device and inode, never by name. */
#ifndef SPOOR_SYM_PROCESS_MAPPED_FILE_H
#define SPOOR_SYM_PROCESS_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Is it the file of these numbers, as /proc/PID/maps writes them? */
bool mapped_file_is(int file, uint64_t device, uint64_t inode);
enum mapped_file { MAPPED_NOT, MAPPED_SHARED, MAPPED_WRITABLE }; /* WRITABLE: all of it */
/* How does the process share its memory with it now? Or -errno: the process is gone (-ESRCH), or may not be
 * looked at. */
int mapped_file_shared(int file, pid_t pid);
/* The same of the process that wrote a recording, by the id that it has in its own namespace: what the recording or its
 * name tells. path: of the file; *writer: who that is, 0: not known yet. */
int mapped_file_written(int file, const char *path, pid_t named, pid_t *writer);

#endif
