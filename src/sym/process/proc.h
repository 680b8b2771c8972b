/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc: what a process has mapped, runs and is called. Answers are snapshots. Paths are as the process sees
 * them; proc_path gives the same file through /proc/PID/root, which also works for containers. */
#ifndef SPOOR_SYM_PROCESS_PROC_H
#define SPOOR_SYM_PROCESS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct proc_mapping {
    uint64_t start, end; /* [start, end) at run time */
    uint64_t offset;     /* of start, in the file */
    uint64_t device;     /* (major << 32 | minor) */
    uint64_t inode;      /* 0: no file */
    const char *path;    /* "" when anonymous; "[vdso]", "[heap]"; without " (deleted)" */
    bool readable, writable, executable, is_private;
    bool is_deleted;
};

struct proc_maps {
    struct proc_mapping *items; /* by start address */
    size_t count;
    char *names;
};

/* -ESRCH: no such process (or gone). */
int proc_maps_read(pid_t pid, struct proc_maps *out);
/* The text of a maps file: takes over nothing, for tests. */
int proc_maps_parse(const char *text, struct proc_maps *out);
void proc_maps_free(struct proc_maps *maps);
const struct proc_mapping *proc_maps_find(const struct proc_maps *maps, uint64_t address);

bool proc_exists(pid_t pid);
int proc_executable(pid_t pid, struct text *out); /* as the process sees it, without " (deleted)" */
int proc_comm(pid_t pid, struct text *out);
int proc_user(pid_t pid, uid_t *user);           /* who it acts as */
int proc_inner_pid(pid_t pid, pid_t *inner);     /* what it calls itself, in its own namespace of ids */
int proc_start_time(pid_t pid, uint64_t *ticks); /* tells a process from a later one with the same id */
/* A path of the process, opened from outside: "/proc/PID/root" + path, or path itself when that is the same
 * file or when pid is 0. */
int proc_path(pid_t pid, const char *path, struct text *out);
/* The file that a process runs, opened from outside, also when it was deleted or another one has its name
 * now.
 */
int proc_program(pid_t pid, struct text *out);
/* The parent's number; 0 for a process that has ended and is not waited for, or has no parent here. */
int proc_parent(pid_t pid, pid_t *parent);
/* Every process that there is, by its number. Non-zero stops. */
typedef int proc_visitor(void *context, pid_t pid);
int proc_each(proc_visitor *visit, void *context);

/* What tells a file from all others, however it was come by: files of overlay file systems that share a file
 * below count as one, because probes in them are in that one. */
struct proc_identity {
    uint64_t words[4];
};
int proc_identify(const char *path, struct proc_identity *out);

/* ELF files that a process has mapped executable, each once, the executable first. path: usable from here;
 * seen: as the process sees it, also when it has no name any more. pid -1: of all processes. Non-zero stops.
 */
typedef int proc_file_visitor(void *context, pid_t pid, const char *path, const char *seen);
int proc_each_file(pid_t pid, proc_file_visitor *visit, void *context);

#endif
