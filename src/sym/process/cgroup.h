/* SPDX-License-Identifier: BSD-3-Clause */
/* Control groups: their numbers and their paths, as this machine's file systems have them. */
#ifndef SPOOR_SYM_PROCESS_CGROUP_H
#define SPOOR_SYM_PROCESS_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

/* The number of the group at a path: what bpf_get_current_cgroup_id() gives. -errno; -EINVAL: there is
 * something at the path that is no control group. */
int cgroup_number(const char *path, uint64_t *number);
/* Adds "unified:/a/b", or "memory:/a;unified:/b" where the number is one in several hierarchies. Hierarchies
 * are named by the last part of the path where they are mounted, that of version 2 "unified". filter: only
 * those whose name matches, or NULL. -ENOENT: there is no such group. mounts NULL: /proc/self/mounts. */
int cgroup_paths(const char *mounts, uint64_t number, const char *filter, struct text *out);

/* What a user means by a group: a directory, a path below the mounted hierarchy of version 2, or the number
 * of a process that is in it. */
struct cgroup_choice {
    uint64_t number;
    uint32_t level, levels; /* how far below the root of all groups: level, or, where a namespace hides how
                               deep its own root is, one of so many from there on */
    struct text path;       /* of its directory; the caller's to free */
};
/* 0; -ENOENT; -EINVAL: it is no group; -EXDEV: of version 1; -ESRCH: no such process; -EDOM: the process is
 * in the root group, which means every process; -ENODEV: version 2 is not mounted; -errno. */
int cgroup_choose(const char *word, struct cgroup_choice *out);
/* The processes in a group and those below it. Non-zero stops. */
typedef int cgroup_process_visitor(void *state, pid_t pid);
int cgroup_each_process(const char *path, cgroup_process_visitor *visit, void *state);

#endif
