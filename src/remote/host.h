/* SPDX-License-Identifier: BSD-3-Clause */
/* One host of `--on`: it is logged in to, gets a spoor if it has none, is asked for its clock and the script, runs, ends. */
#ifndef SPOOR_REMOTE_HOST_H
#define SPOOR_REMOTE_HOST_H

#include <poll.h>

#include "remote/merge.h"
#include "remote/notes.h"
#include "remote/remote.h"
#include "remote/ssh.h"

enum host_state {
    HOST_LOGGING_IN, /* its shell has said nothing yet */
    HOST_COPYING,    /* it gets the binary */
    HOST_STARTING,   /* spoor starts there */
    HOST_MEASURING,  /* its clock is looked at */
    HOST_COMPILING,
    HOST_READY, /* it waits for the others */
    HOST_RUNNING,
    HOST_LEAVING, /* it has sent all; what is left on its error stream is waited for */
    HOST_OVER,
};

enum { HOST_STREAMS = 3 };

struct host_common; /* what all hosts share */
struct remote_host {
    const struct host_common *common;
    const char *name;
    size_t index;
    enum host_state state;
    struct ssh ssh;
    struct text received, sending, errors;
    size_t read, sent; /* bytes of `received` and `sending` that are done with */
    size_t copied;     /* bytes of the binary that were sent */
    size_t said;       /* bytes that came on its error stream */
    struct text why;   /* the last line on its error stream */
    uint64_t heard;    /* when it last did something, ms */
    unsigned pings;
    uint64_t pinged;
    uint64_t round_trip; /* the shortest, ns */
    int64_t behind;      /* what is to be added to its boot clock's time for ours */
    int64_t wall_ahead;  /* how far its wall clock is ahead of ours */
    int status;          /* of its script */
    bool has_failed;
    bool is_live;      /* its probes are attached */
    bool cannot_start; /* the script was not compiled there */
};

struct host_common {
    const struct remote_options *options;
    struct merge *merge;
    struct notes *notes;
    struct remote_binary binary;
    struct text no_binary; /* why there is none */
    struct text script, request;
    char **command;
};

/* Starts ssh for it. The caller has filled in common, name and index. */
void host_begin(struct remote_host *host);
/* What it waits for: `streams` has HOST_STREAMS elements, which host_act() wants back. */
void host_wait(const struct remote_host *host, struct pollfd *streams);
void host_act(struct remote_host *host, const struct pollfd *streams);
/* Gives it up if it has been silent for too long. */
void host_look(struct remote_host *host, uint64_t now);
/* Tells it something without content. */
void host_tell(struct remote_host *host, enum remote_message message);
/* Gives it up, with a reason that names no host. */
void host_fail(struct remote_host *host, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* It ends without having failed. */
void host_leave(struct remote_host *host);

#endif
