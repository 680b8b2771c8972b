/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes files that a privileged tracer writes for its user, also in directories that other users may write. */
#ifndef SPOOR_BASE_CREATE_H
#define SPOOR_BASE_CREATE_H

/* Opens a file for writing, and makes it or empties it. Returns a descriptor or -errno. A new file can be read by its
 * owner only, since what is traced may be anybody's secret; under sudo its owner is the user who called sudo.
 *
 * In a directory where other users may put files, such as /tmp, links are not followed. There a file is refused with
 * -EPERM if it has a second name, or belongs neither to the caller nor to the directory's owner; so are pipes and
 * devices that do not belong to the caller. In other directories pipes and devices are opened as they are.
 *
 * This never waits: a FIFO that nobody reads is -EAGAIN, and writing to what is no regular file is -EAGAIN when its reader
 * does not read. */
int create_file(const char *path);
/* Returns what is wrong when create_file() has failed. */
const char *create_error(int error);

/* Makes a file as create_file() does, but fails with -EEXIST if it exists. `at` is a directory, or AT_FDCWD. */
int create_new_file(int at, const char *name);
/* Makes a directory that did not exist, with the owner and mode of a new file. Returns its descriptor or -errno. */
int create_new_directory(const char *path);

/* Stores the ids of the user who called sudo and returns 1; returns 0 if sudo was not used or the caller is not
 * root. */
int create_invoker(unsigned *uid, unsigned *gid);

#endif
