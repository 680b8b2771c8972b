/* SPDX-License-Identifier: BSD-3-Clause */
/* A process of ours that reads what others wrote, and may be taken over by it, has nothing that is worth it:
 * the descriptors that it was given, memory, and a way to answer. */
#ifndef SPOOR_BASE_SANDBOX_H
#define SPOOR_BASE_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sandbox {
    pid_t parent;    /* the process that made it */
    uint64_t memory; /* bytes, of addresses; 0: no limit */
    bool outlives;   /* the thread that made it, see below */
    bool may_open;   /* files, for reading, as far as this user and group may: */
    uid_t user;
    gid_t group;
};

/* For a process that was just forked and has one thread. It ends when the thread that made it does (unless it
 * outlives it: then who made it must be able to end it otherwise); no signal of the terminal ends it before. Then it gives up: all capabilities, root's identity (its user and group become a
 * number that nobody else has, or those that are given), the right to gain any, and all system calls but those that a reader of
 * descriptors needs: no file is opened or changed, no program run, no process or socket made, no memory made
 * executable. There is no way back. 0, or -errno when something could not be given up: end the process. */
int sandbox_enter(const struct sandbox *options);

#endif
