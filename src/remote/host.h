/* SPDX-License-Identifier: BSD-3-Clause */
/* One host of `--on`, as a state machine: ssh logs in, spoor is copied if it is missing there, the clocks are compared, the script is
 * compiled, and runs until it ends. Nothing here waits: the caller polls the streams of all hosts. */
#ifndef SPOOR_REMOTE_HOST_H
#define SPOOR_REMOTE_HOST_H

#include <poll.h>

#include "remote/merge.h"
#include "remote/notes.h"
#include "remote/remote.h"
#include "remote/ssh.h"

enum host_state {
    HOST_LOGGING_IN, /* its shell has sent nothing yet */
    HOST_COPYING,    /* it gets the binary */
    HOST_STARTING,   /* spoor starts there */
    HOST_MEASURING,  /* its clock is compared with the one here */
    HOST_COMPILING,
    HOST_READY, /* it waits for the others */
    HOST_RUNNING,
    HOST_LEAVING, /* its last message has come; the rest of its error stream is awaited */
    HOST_OVER,
};

enum { HOST_STREAMS = 3 };

struct host_common;
struct remote_host {
    const struct host_common *common;
    const char *name;
    size_t index;
    enum host_state state;
    struct ssh ssh;
    struct text received, sending, errors;
    size_t read, sent;                  /* how many bytes of `received` were handled, and of `sending` sent */
    const struct remote_binary *binary; /* what it gets, once it has said that it has no spoor */
    size_t copied;                      /* bytes of the binary that were sent */
    size_t error_bytes;                 /* bytes that came on its error stream */
    struct text why;                    /* the last line on its error stream */
    uint64_t active_at;                 /* when it last sent or accepted something: monotonic clock, ms */
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

/* What all hosts share. */
struct host_common {
    const struct remote_options *options;
    struct merge *merge;
    struct notes *notes;
    struct remote_binaries binaries;
    struct text script, request;
    char **command;
};

/* Starts ssh. The caller has set common, name and index. */
void host_begin(struct remote_host *host);
/* Fills in what to poll: `streams` has HOST_STREAMS elements, which host_act() takes back with their results. */
void host_wait(const struct remote_host *host, struct pollfd *streams);
void host_act(struct remote_host *host, const struct pollfd *streams);
/* Fails the host if it has been silent for too long. now: monotonic clock, ms. */
void host_look(struct remote_host *host, uint64_t now);
/* Sends a message that has no payload. */
void host_send(struct remote_host *host, enum remote_message message);
/* Reports an error, whose text does not name the host, and closes the connection. */
void host_fail(struct remote_host *host, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Closes the connection; that is no error. */
void host_leave(struct remote_host *host);

#endif
