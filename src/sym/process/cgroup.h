/* SPDX-License-Identifier: BSD-3-Clause */
/* Control groups: their numbers and their paths, as this machine's file systems have them. */
#ifndef SPOOR_SYM_PROCESS_CGROUP_H
#define SPOOR_SYM_PROCESS_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

/* Finds the number of the group at a path, which bpf_get_current_cgroup_id() returns. Returns 0 or -errno; -EINVAL:
 * the path is that of something else. */
int cgroup_number(const char *path, uint64_t *number);
/* Appends "unified:/a/b", or "memory:/a;unified:/b" if groups of several hierarchies have the number. Hierarchies
 * are named by the last part of the path where they are mounted, that of version 2 "unified". filter: only those
 * whose name matches, or NULL. mounts NULL: /proc/self/mounts. -ENOENT: there is no such group. */
int cgroup_paths(const char *mounts, uint64_t number, const char *filter, struct text *out);

/* A group that a user chose by a directory, by a path below the mounted hierarchy of version 2, or by the number of
 * a process that is in it. */
struct cgroup_choice {
    uint64_t number;
    /* How far it is below the root of all groups: `level`; or, where a namespace hides how deep its own root is,
     * one of `levels` numbers from there on. */
    uint32_t level, levels;
    struct text path; /* path of its directory; the caller frees it */
};
/* Finds the group that a user's word means. Returns 0; -ENOENT; -EINVAL: it is no group; -EXDEV: it is of version
 * 1; -ESRCH: there is no such process; -EDOM: the process is in the root group, which means every process; -ENODEV:
 * version 2 is not mounted; or another -errno. */
int cgroup_choose(const char *word, struct cgroup_choice *out);
/* Calls `visit` for the processes in a group and in those below it. An answer that is not 0 ends the walk. */
typedef int cgroup_process_visitor(void *state, pid_t pid);
int cgroup_each_process(const char *path, cgroup_process_visitor *visit, void *state);

#endif
