/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens files that other users own: traced programs, their libraries and debug information, recordings.
 *
 * The owner of a file or of its directory decides what its name means, and can change that at any moment: by a
 * rename, a link, or a mount in a namespace of their own. So a name is used only once, for a descriptor that does
 * nothing (O_PATH: no device is opened, no FIFO waits). The file behind it is checked there, and then opened
 * through /proc/self/fd: what was checked is what is used, whatever happens to the name. */
#ifndef SPOOR_BASE_OPEN_FOREIGN_H
#define SPOOR_BASE_OPEN_FOREIGN_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Finds a regular file by its name. Returns a descriptor (O_PATH), with which it can be examined but not read, or
 * -errno. A path /proc/PID/root/… is looked up as that process would: links in it count from its root, and none
 * leads out. */
int foreign_find(const char *path);
/* Finds a regular file like foreign_find(), with the directory `root` as the root for the whole path. */
int foreign_find_in_root(int root, const char *path);
/* Whether foreign_find() failed because the path leads to a directory, a FIFO or a device. */
static inline bool foreign_is_not_regular(int error)
{
    return error == -EISDIR || error == -EMEDIUMTYPE;
}
/* As foreign_find(), for a file of any type; and its stat(2). */
int foreign_find_any(const char *path);
int foreign_status(const char *path, struct stat *out);
/* Opens the very file that a descriptor leads to, O_RDONLY or O_RDWR; never waits. */
int foreign_reopen(int file, int access);
/* Opens a regular file for reading: foreign_find() and foreign_reopen(). */
int foreign_open(const char *path);
/* Opens a directory for reading its entries. Returns a descriptor or -errno. */
int foreign_open_directory(const char *path);

enum foreign_check {
    FOREIGN_OWNER = 1, /* it has the expected owner; else -EPERM */
    /* it has the expected inode and device; for this check and those below, else -ESTALE */
    FOREIGN_INODE = 2,
    FOREIGN_SIZE = 4,
    FOREIGN_CHANGE = 8,    /* the time of the last change, of its content or of its attributes */
    FOREIGN_ONE_NAME = 16, /* it has no second link; else -EPERM */
};
/* Checks that a file is regular and, as far as `what` (enum foreign_check) asks, as expected. Returns 0 or -errno. */
int foreign_check(int file, unsigned what, const struct stat *expected);

/* Returns the length of "/proc/PID/root" at the front of a path, and stores the process in *pid, which may be NULL.
 * Without such a beginning returns 0, and *pid stays as it is. */
size_t foreign_root_length(const char *path, pid_t *pid);

#endif
