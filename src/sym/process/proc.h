/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc: what a process has mapped, what it runs, and its name. Results are snapshots. Paths are as the process
 * sees them; proc_path() turns them into paths through /proc/PID/root, which also works for containers. */
#ifndef SPOOR_SYM_PROCESS_PROC_H
#define SPOOR_SYM_PROCESS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct proc_mapping {
    uint64_t start, end; /* [start, end) at run time */
    uint64_t offset;     /* offset of `start` in the file */
    uint64_t device;     /* (major << 32 | minor) */
    uint64_t inode;      /* 0: there is no file */
    const char *path;    /* "" if it is anonymous; "[vdso]", "[heap]"; without " (deleted)" */
    bool readable, writable, executable, is_private;
    bool is_deleted;
};

struct proc_maps {
    struct proc_mapping *items; /* sorted by start */
    size_t count;
    char *names;
};

/* Reads the mappings of a process. -ESRCH: there is no such process, or it has ended. */
int proc_maps_read(pid_t pid, struct proc_maps *out);
/* Parses the text of a maps file, which stays the caller's; for tests. */
int proc_maps_parse(const char *text, struct proc_maps *out);
void proc_maps_free(struct proc_maps *maps);
const struct proc_mapping *proc_maps_find(const struct proc_maps *maps, uint64_t address);

bool proc_exists(pid_t pid);
int proc_executable(pid_t pid, struct text *out); /* its path as the process sees it, without " (deleted)" */
int proc_comm(pid_t pid, struct text *out);
int proc_user(pid_t pid, uid_t *user);           /* the user as whom it acts */
int proc_inner_pid(pid_t pid, pid_t *inner);     /* its pid in its own namespace */
int proc_start_time(pid_t pid, uint64_t *ticks); /* different from that of a later process with the same id */
/* Appends the path by which this process opens a path of another one: "/proc/PID/root" + path, or the path itself
 * if that is the same file, or if pid is 0. */
int proc_path(pid_t pid, const char *path, struct text *out);
/* Appends a path to the file that a process runs, even if that was deleted or another one has its name now. */
int proc_program(pid_t pid, struct text *out);
/* Finds the pid of the parent; 0 for a process that has ended and is not waited for, or that has no parent here. */
int proc_parent(pid_t pid, pid_t *parent);
/* Calls `visit` for every process. An answer that is not 0 ends the walk. */
typedef int proc_visitor(void *context, pid_t pid);
int proc_each(proc_visitor *visit, void *context);

/* Distinguishes a file from all others, whatever path led to it. Files of overlay file systems that share a file
 * below count as one, because probes in them are in that file. */
struct proc_identity {
    uint64_t words[4];
};
int proc_identify(const char *path, struct proc_identity *out);

/* Calls `visit` for the ELF files that a process has mapped executable, each once, the executable first. path: how
 * this process opens the file; seen: its path as the process sees it, even if it was deleted. pid -1: those of all
 * processes. An answer that is not 0 ends the walk. */
typedef int proc_file_visitor(void *context, pid_t pid, const char *path, const char *seen);
int proc_each_file(pid_t pid, proc_file_visitor *visit, void *context);

#endif
