/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor --on HOST,HOST … SCRIPT`: runs a script on several machines, and shows one answer.
 *
 *   remote.c    the loop: starts all hosts together, and ends them
 *   host.c      one host, from the login to its end
 *   ssh.c       runs the system's ssh, with a script for the shell of the host
 *   binary.c    the programs that are copied to hosts
 *   protocol.c  the messages between both ends
 *   portable.c  maps as messages
 *   signature.c name and types of a map, which its messages have in common
 *   round.c     makes one map of those of several hosts
 *   merge.c     puts lines and maps of all hosts in order of time
 *   notes.c     makes one message of those that several hosts report
 *   end.c       the other end: a session whose output is sent
 *
 * A host is not trusted: whatever it sends is checked, bounded, and escaped where it reaches a terminal. It can send wrong numbers
 * about itself, and do no more harm than that. */
#ifndef SPOOR_REMOTE_REMOTE_H
#define SPOOR_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "lang/registry.h"
#include "remote/protocol.h"

enum { REMOTE_HOSTS_MAX = 1024 };

struct remote_options {
    const char *const *hosts; /* as ssh understands them */
    size_t host_count;
    const char *ssh;             /* the command, words with spaces between them; NULL: ssh */
    const char *const *binaries; /* files that are copied to hosts, see remote_binaries_open() */
    bool sudo, per_host;
    bool is_quiet, json, is_terminal, bcc_histograms;
    const struct builtin_table *builtins;
    struct remote_request request;
    /* How often the user asked for the end; the second time no host is waited for. */
    const volatile int *is_asked;
    const struct map_watcher *watcher; /* is called for maps that are printed, not for their text; or NULL */
    const struct session_observer *observer; /* is called without a session; or NULL */
    /* Called when all is printed, while types that the watcher got still live, if a trace has begun on any host. Returns the
     * exit status, which counts if no host has failed. NULL: nothing more is done. */
    int (*finish)(void *state);
    void *finish_state;
    void (*print)(void *state, const char *bytes, size_t length); /* gets the output */
    void (*say)(void *state, const char *text); /* gets messages in whole lines, in which names are escaped */
    bool (*is_broken)(void *state);             /* whether nobody reads the output any more */
    void *state;                                /* of the three functions above */
};

/* Returns the exit status: 1 if a host failed, else the highest of the hosts'. */
int remote_run(const struct remote_options *options);

#endif
