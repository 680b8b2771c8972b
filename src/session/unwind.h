/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables for unwinding: what the files that fill them share.
 *
 *   unwind.c         the rows of files, and what programs have asked for
 *   unwind_follow.c  the files that processes map while the trace runs */
#ifndef SPOOR_SESSION_UNWIND_H
#define SPOOR_SESSION_UNWIND_H

#include "bpf/unwind.h"
#include "kernel/mappings.h"
#include "session/state.h"
#include "sym/process/proc.h"

struct unwind {
    void *chunks[UNWIND_CHUNKS];
    uint32_t chunk_count, filled; /* filled: rows in the last chunk */
    struct table files;           /* those whose rows were made, by key */
    uint64_t requests;            /* the count in the control page when it was read last */
    struct mappings *mappings;    /* NULL: the kernel does not report them, or nobody is followed */
    bool is_full;
};

/* The key of a file. device: as in struct proc_mapping. */
struct unwind_key unwind_key_of(uint64_t device, uint64_t inode);
/* Adds the rows of the file that a process has mapped, if they are not there. */
void unwind_add_mapping(struct session *session, pid_t pid, const struct proc_mapping *mapping,
                        struct unwind_key key);

/* Begins to follow processes; without it files are added when a program has asked. */
void unwind_follow(struct session *session);
/* Takes what was mapped since the last time. */
void unwind_follow_look(struct session *session);

#endif
