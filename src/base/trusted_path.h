/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds files that only root or the caller can have put where they are, because their content is executed with the
 * tracer's privileges.
 *
 * The caller is the effective user, the real user, and the user who called sudo. The file, and each directory and
 * link on the way from the root of the file system, must belong to root or the caller, and no one else may write to
 * it: by the mode, where a group counts as others unless it is the owner's own (named like the owner, without
 * another member). One exception: directories with the sticky bit (/tmp) may be written by all, because there users
 * cannot remove files of others; so a file or link in one must be root's or the caller's, and a file must have no
 * second name, which another user could have given to it. A file system in user space (FUSE) must be served by root
 * or the caller, because its server decides whose its files are.
 *
 * A volume of a container, such as a ConfigMap of Kubernetes, is mounted read-only and has a directory with a mode that
 * lets everybody write. trusted_allow_read_only() is for them. */
#ifndef SPOOR_BASE_TRUSTED_PATH_H
#define SPOOR_BASE_TRUSTED_PATH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/text.h"

/* Looks up a regular file or a directory. Returns a descriptor (O_PATH) for foreign_reopen(), or -errno. With
 * -EPERM another user could have put it there, and `why` says who. */
int trusted_find(const char *path, struct text *why);
/* From now on, in the whole process, the modes of directories that are mounted read-only do not count. The caller vouches
 * for it that nobody else writes to them through another mount. Their owners count as ever, and so do files' modes. */
void trusted_allow_read_only(void);
/* Whether other users may put files into this directory. */
bool trusted_is_shared(const struct stat *directory);

#endif
