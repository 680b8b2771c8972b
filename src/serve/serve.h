/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor serve DIR`: all scripts of a directory, each in a process of its own with limits of its own, and one place where
 * their metrics can be read.
 *
 *   supervisor.c  the process that starts, replaces and ends all others; it reads nothing from a network
 *   script.c      the supervisor's state of a script
 *   due.c         decides what is due for a script at a given time
 *   directory.c   reads and watches the scripts' files
 *   child.c       starts and ends the processes
 *   worker.c      the process of a script: answers the supervisor while the script runs
 *   guard.c       pauses a script whose programs take too much of a CPU
 *   publisher.c   the process that scrapers talk to, without privileges
 *   frames.c      messages between these processes
 *   notify.c      reports to the service manager */
#ifndef SPOOR_SERVE_SERVE_H
#define SPOOR_SERVE_SERVE_H

#include "metrics/metrics.h"

/* A script that is to run in this process. */
struct serve_script {
    const char *path;
    const struct text *text;
    /* For the members of session_options and metrics_options that have these names. */
    const struct metric_outlet *outlet;
    const struct session_observer *observer;
    void (*write)(void *state, const char *bytes, size_t length);
    void (*report)(void *state, const char *text);
};

struct serve_options {
    const char *directory;
    const char *place;    /* where metrics go, as --openmetrics names it */
    uint64_t period_ns;   /* between two writings of a file; 0: METRICS_PERIOD_S */
    double share;         /* of a CPU that the programs of one script may take; 0: any */
    uint64_t patience_ns; /* how long a script may take at its end to send the rest to its receiver */
    /* Runs a script until it ends. Called in its process. Returns the exit status. */
    int (*run)(void *state, const struct serve_script *script);
    void (*report)(const char *text); /* prints messages, in whole lines */
    void *state;
};

/* Serves until SIGTERM or SIGINT. Returns the exit status. */
int serve(const struct serve_options *options);

#endif
