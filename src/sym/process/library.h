/* SPDX-License-Identifier: BSD-3-Clause */
/* From the word that a user writes to files: a path, a pattern of paths, a command in PATH, or a library's name.
 * The files that are found are not checked. */
#ifndef SPOOR_SYM_PROCESS_LIBRARY_H
#define SPOOR_SYM_PROCESS_LIBRARY_H

#include <stddef.h>
#include <sys/types.h>

#include "base/text.h"

/* Finds a shared library by "c", "libc", "libc.so.6" or "pthread": in /etc/ld.so.cache, else in the standard
 * directories; of the process pid, and as it sees them, if that is not 0. -ENOENT: there is none. */
int library_find(pid_t pid, const char *name, struct text *out);
/* As library_find(), in the bytes of a cache file, which are untrusted. */
int library_find_in_cache(const void *bytes, size_t size, const char *name, struct text *out);
/* Finds the first file in PATH that may be executed: "bash". A name with a '/' is only checked. -ENOENT: there is
 * none. */
int executable_find(const char *name, struct text *out);

/* Calls `visit` for every file that a word means, sorted, each once: a pattern with wildcards (by glob(3), only
 * regular files), a path, a command in PATH, a library. If pid is not 0, a library or path is first searched among
 * the files that the process has mapped, even if they have been deleted, and paths are relative to its root. seen:
 * the path as that process sees it. -ENOENT: there is none. */
typedef int binary_visitor(void *context, const char *path, const char *seen);
int binary_each(const char *word, pid_t pid, binary_visitor *visit, void *context);

#endif
