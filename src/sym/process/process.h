/* SPDX-License-Identifier: BSD-3-Clause */
/* Which code processes have mapped, and had: told by the kernel as it happens (process_mapped,
 * process_forked) and read from /proc, where nothing was told or something is missing.
 *
 * What a process had mapped stays known when it unmaps it, executes another program, or ends, as long as
 * there is room: the newest mapping of an address wins. Only executable mappings are kept. Bounded; the
 * process that was not asked about for longest goes first. May be told things by one thread and asked by
 * another. */
#ifndef SPOOR_SYM_PROCESS_PROCESS_H
#define SPOOR_SYM_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sym/process/segment.h"

struct processes;

struct code_mapping {
    uint64_t start, end; /* [start, end) at run time */
    uint64_t offset;     /* of start, in the file */
    uint64_t since;      /* boot clock, ns */
    struct module *module;
};

struct processes *processes_make(void); /* NULL: no memory */
void processes_free(struct processes *processes);

/* ---- what the kernel tells ---- */
void processes_follow_events(struct processes *processes); /* from now on everything is */
void process_mapped(struct processes *processes, pid_t pid, const struct code_mapping *mapping,
                    const struct module *module, const char *path);
/* The child begins with what its parent has. */
void process_forked(struct processes *processes, pid_t pid, pid_t parent, uint64_t time);

/* ---- questions ---- */
/* Reads a process's mappings from /proc now. -ESRCH: it is gone. */
int process_read(struct processes *processes, pid_t pid);
/* The mapping that holds the address. The module lives until process_release(). -ENOENT: it is known
 * that the process has no code there; -ESRCH: nothing is known. */
int process_find(struct processes *processes, pid_t pid, uint64_t address, struct code_mapping *out);
void process_release(struct processes *processes, struct module *module);

/* Who forked it, if that was told; 0: nobody knows. */
pid_t process_parent(struct processes *processes, pid_t pid);

/* Whether something was asked of a process that had been forgotten, as others came after it; once. */
bool processes_miss_one(struct processes *processes);

/* Memory in use, for tests of the bound. */
size_t processes_bytes(struct processes *processes);

#endif
