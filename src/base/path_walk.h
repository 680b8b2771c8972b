/* SPDX-License-Identifier: BSD-3-Clause */
/* A path, part by part: where openat2 is refused, and where somebody must look at each part. */
#ifndef SPOOR_BASE_PATH_WALK_H
#define SPOOR_BASE_PATH_WALK_H

#include <sys/stat.h>

struct path_guard {
    /* Asked for each directory, each link and the last part; not for the root. 0, or the error to end with.
     * directory: what it was found in; fd: it (O_PATH). */
    int (*may)(void *state, const struct stat *directory, int fd, const struct stat *found);
    void *state;
};

/* Whatever the path leads to below a directory that is the root for all of it: links count from there, ".."
 * leads nowhere above, and what /proc calls a link is none. A descriptor (O_PATH), or -errno. guard: NULL:
 * nobody asks. */
int path_walk(int root, const char *path, const struct path_guard *guard);

#endif
