/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports which code programs map, and which processes are forked, as it happens, from perf's records of every
 * process on every CPU. The reports are complete, so that a process that ended at once has names, too. */
#ifndef SPOOR_KERNEL_MAPPINGS_H
#define SPOOR_KERNEL_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mappings;

struct mapping_event {
    pid_t pid, parent; /* parent: of a new process; 0: code was mapped */
    uint64_t time;     /* boot clock, ns */
    uint64_t start, length, offset, device, inode;
    uint64_t generation; /* tells files apart that had the same inode one after another */
    const char *path;    /* as in /proc/PID/maps, also " (deleted)"; "" when anonymous */
};
typedef void mapping_visitor(void *state, const struct mapping_event *event);

/* -EACCES, -EPERM: not allowed; -ENOSYS and others: this kernel has no such events. */
/* bytes: how long the ring of each CPU is, a power of two of pages, where there are few CPUs; a record has some 100. wakes: mappings_descriptor() is
 * wanted. */
int mappings_open(struct mappings **out, size_t bytes, bool wakes);
/* A descriptor that becomes readable when anything has come. */
int mappings_descriptor(const struct mappings *mappings);
/* Everything that has come; what is forked comes after what was mapped. Returns how many were lost. */
uint64_t mappings_consume(struct mappings *mappings, mapping_visitor *visit, void *state);
void mappings_close(struct mappings *mappings);

#endif
