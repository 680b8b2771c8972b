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
    uint64_t patience_ns; /* how much longer than others it may take to end */
    uint64_t kill_at;     /* it was asked to end, and is killed then; 0: it was not */
    bool is_ready;        /* it has said so */
};

/* Starts a process that runs `run` and ends with the status that it returns. It has the standard streams and its end of the
 * frames, no other descriptors; signals do there what they did before the supervisor took them over, except SIGPIPE, which is ignored; when the supervisor dies it
 * gets SIGTERM. Returns 0 or -errno. */
int child_process_start(struct child_process *child, int (*run)(void *state, struct frames *supervisor),
                        void *state);
/* Asks it to end, and says until when it may take. A second call changes nothing. */
void child_process_end(struct child_process *child, uint64_t now);
/* Kills it if it is late. */
void child_process_hurry(const struct child_process *child, uint64_t now);
/* To be called when it was waited for. */
void child_process_forget(struct child_process *child);

#endif
