/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks up a path part by part: where the kernel refuses openat2(2), and where each part must be checked. */
#ifndef SPOOR_BASE_PATH_WALK_H
#define SPOOR_BASE_PATH_WALK_H

#include <sys/stat.h>

struct path_guard {
    /* Called for each directory and link on the way and for the last part, but not for the root: `fd` (O_PATH) and
     * `found` are the part, `directory` is what it was found in. Returns 0, or the error that ends the walk. */
    int (*may)(void *state, const struct stat *directory, int fd, const struct stat *found);
    void *state;
};

/* Looks up the path with the directory `root` as its root: absolute links begin there, ".." does not lead above it,
 * and the magic links of /proc are not followed. Returns a descriptor (O_PATH) or -errno. `guard` may be NULL. */
int path_walk(int root, const char *path, const struct path_guard *guard);

#endif
