/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds recordings: in /dev/shm and $SPOOR_TRACE_DIR, spoor's (NAME.PID.spoor) and SPDK's (NAME_trace.pidPID,
 * NAME_trace.ID), and for a given process what it has mapped. Only names are read, no contents. */
#ifndef SPOOR_READER_FIND_H
#define SPOOR_READER_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/text.h"

struct find_entry {
    char *path;
    char name[65]; /* name of the program, as the file's name has it */
    char id[33];   /* SPDK's shared memory id, "" if there is none */
    uint32_t pid;  /* 0: the file's name has none */
    bool is_spdk;
    uid_t owner;
    struct timespec changed;
    uint64_t bytes, allocated;
};

struct find_list {
    struct find_entry *items; /* the newest first */
    size_t count, room;
};

/* Lists all recordings. Returns 0 or -errno. */
int find_recordings(struct find_list *list);
void find_free(struct find_list *list);

struct find_choice { /* members that are NULL or 0 are ignored */
    const char *name, *id;
    uint32_t pid;
};
/* Returns the path of the newest recording that fits, which the caller frees; NULL: there is none, and why. Without a
 * choice only the caller's own ones fit: what others leave in a directory for all is read only when it is named. */
char *find_recording(const struct find_choice *choice, struct text *why);

#endif
