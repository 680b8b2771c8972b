/* SPDX-License-Identifier: BSD-3-Clause */
/* Which code processes have mapped, and had: as the kernel reports it when it happens (process_mapped(),
 * process_forked()), and as /proc says, if nothing was reported or something is missing.
 *
 * What a process had mapped stays known when it unmaps it, executes another program, or ends, as long as there is
 * room: the newest mapping of an address counts. Only executable mappings are kept. Memory is bounded; the process
 * that was not looked up for the longest time is dropped first. One thread may report events while another looks
 * up. */
#ifndef SPOOR_SYM_PROCESS_PROCESS_H
#define SPOOR_SYM_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sym/process/segment.h"

struct processes;

struct code_mapping {
    uint64_t start, end; /* [start, end) at run time */
    uint64_t offset;     /* offset of `start` in the file */
    uint64_t since;      /* boot clock, ns */
    struct module *module;
};

struct processes *processes_make(void); /* NULL: memory ran out */
void processes_free(struct processes *processes);

/* ---- what the kernel reports ---- */
/* From now on all events are reported. */
void processes_follow_events(struct processes *processes);
/* An event was not reported: what is not known may have happened all the same. */
void processes_miss_events(struct processes *processes);
void process_mapped(struct processes *processes, pid_t pid, const struct code_mapping *mapping,
                    const struct module *module, const char *path);
/* A process has forked: the child begins with what its parent has. */
void process_forked(struct processes *processes, pid_t pid, pid_t parent, uint64_t time);

/* ---- questions ---- */
/* Reads a process's mappings from /proc now. -ESRCH: it has ended. */
int process_read(struct processes *processes, pid_t pid);
/* Finds the mapping that has an address. Its module is valid until process_release(), or until this is called with the same `out`,
 * whose module, if not NULL, it releases first. -ENOENT: the process has no code there; -ESRCH: nothing is known about it. `out`
 * has no module then. */
int process_find(struct processes *processes, pid_t pid, uint64_t address, struct code_mapping *out);
void process_release(struct processes *processes, struct module *module);

/* Returns the process that forked it, if that was reported; 0: it is unknown. */
pid_t process_parent(struct processes *processes, pid_t pid);

/* Whether a process was looked up that had been dropped because others came after it. True only once. */
bool processes_miss_one(struct processes *processes);

/* Returns how much memory is in use, for tests of the bound. */
size_t processes_bytes(struct processes *processes);

#endif
