/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of `--on` that is on a host: `spoor --remote-end` reads on standard input what to run, and writes messages
 * (remote/protocol.h) to standard output. What the script prints and the maps that it prints are sent; nothing else
 * gets to that stream, since the output of commands goes to the error stream, which ssh shows. When the connection is lost the trace
 * ends. */
#ifndef SPOOR_REMOTE_END_H
#define SPOOR_REMOTE_END_H

#include <pthread.h>

#include "base/table.h"
#include "print/value.h"
#include "remote/protocol.h"
#include "session/session.h"

struct remote_end {
    int in, out;
    struct text received, sending;
    size_t read;
    bool is_end;          /* no more events come */
    _Atomic bool is_lost; /* nobody is at the other end */
    bool listens;         /* a thread listens to the other end */
    pthread_mutex_t lock; /* held while something is sent */
    uint64_t marked;
    struct table emptied; /* maps that were emptied since they were printed: the time, in a pointer */
    struct session_observer observer;
    struct map_watcher watcher;
};

/* Greets, and reads what to run, which lives as long as the end. Returns 0, or 1 after a message. */
int remote_end_open(struct remote_end *end, struct remote_request *request);
/* Sets what the session is to tell it. */
void remote_end_watch(struct remote_end *end, struct session_options *options);
/* Sends what is said beside the output. */
void remote_end_report(struct remote_end *end, const char *text);
/* The script was compiled, or not. Returns whether it is to be started, after having waited for the other hosts. */
bool remote_end_compiled(struct remote_end *end, bool is_sound);
/* Sends the exit status. */
void remote_end_close(struct remote_end *end, int status);

#endif
