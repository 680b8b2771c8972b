/* SPDX-License-Identifier: BSD-3-Clause */
/* From the word that a user writes to files: a path, a pattern over paths, a command in PATH, or a library's
 * name. Does not open or judge the files that it finds. */
#ifndef SPOOR_SYM_PROCESS_LIBRARY_H
#define SPOOR_SYM_PROCESS_LIBRARY_H

#include <stddef.h>
#include <sys/types.h>

#include "base/text.h"

/* "c", "libc", "libc.so.6", "pthread": the path of the shared library, from /etc/ld.so.cache, else from the
 * standard directories; of that process, and as it sees them, when pid is not 0. -ENOENT. */
int library_find(pid_t pid, const char *name, struct text *out);
/* The same in the bytes of a cache file. Untrusted. */
int library_find_in_cache(const void *bytes, size_t size, const char *name, struct text *out);
/* "bash": the first in PATH that may be executed. A name with a '/' is checked as it is. -ENOENT. */
int executable_find(const char *name, struct text *out);

/* Every file that the word means, sorted, each once: a pattern with wildcards (through glob(3), only regular
 * files), a path, a command in PATH, a library. pid not 0: a library or path is first sought among the files
 * that the process has mapped, which may have lost their names, and paths are taken through its root. seen:
 * the path as that process sees it. -ENOENT: nothing. */
typedef int binary_visitor(void *context, const char *path, const char *seen);
int binary_each(const char *word, pid_t pid, binary_visitor *visit, void *context);

#endif
