/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a privileged tracer writes for its user, in directories that others may write, too. */
#ifndef SPOOR_BASE_CREATE_H
#define SPOOR_BASE_CREATE_H

/* Opens a file for writing, made or emptied; a descriptor or -errno. A new one is readable by its owner only,
 * who under sudo is the user that called it: what is traced may be anybody's secret. In a directory
 * where others may put something (as /tmp, or theirs), a link is not followed, and a file that is neither
 * ours nor the directory's owner's, or has other names, is refused: -EPERM; so are pipes and devices that are
 * not ours. Elsewhere pipes and devices are opened as they are. */
int create_file(const char *path);

/* The same where a file that exists, whoever's, is none of ours to touch: -EEXIST. `at`: a directory, or
 * AT_FDCWD. */
int create_new_file(int at, const char *name);
/* A directory that did not exist, as open as such a file; its descriptor or -errno. */
int create_new_directory(const char *path);

/* Who called sudo: 1 and the ids, or 0. Only root is told. */
int create_invoker(unsigned *uid, unsigned *gid);

#endif
