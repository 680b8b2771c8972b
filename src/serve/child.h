/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that the supervisor has started, and with which it exchanges messages. */
#ifndef SPOOR_SERVE_CHILD_H
#define SPOOR_SERVE_CHILD_H

#include <stdint.h>
#include <sys/types.h>

#include "serve/frames.h"

struct child_process {
    pid_t pid; /* 0: there is none */
    struct frames frames;
    uint64_t begun;       /* monotonic clock, ns */
    uint64_t patience_ns; /* added to the time that a process has to end after SIGTERM */
    uint64_t
        kill_at; /* when it is killed if it has not ended: monotonic clock, ns; 0: it was not asked to end */
    bool is_ready; /* FRAME_READY has come from it */
};

/* Starts a process that runs `run` and ends with the status that it returns. It has the standard streams and its end of the
 * frames, no other descriptors; signals do there what they did before the supervisor took them over, except SIGPIPE, which is ignored; when the supervisor dies it
 * gets SIGTERM. Returns 0 or -errno. */
int child_process_start(struct child_process *child, int (*run)(void *state, struct frames *supervisor),
                        void *state);
/* Sends SIGTERM, and sets the time at which child_process_hurry() kills the process. A second call changes nothing. now:
 * monotonic clock, ns. */
void child_process_end(struct child_process *child, uint64_t now);
/* Kills a process that was asked to end and has not by the time that was set. */
void child_process_hurry(const struct child_process *child, uint64_t now);
/* Closes the frames of a process that waitpid() has returned. */
void child_process_forget(struct child_process *child);

#endif
