/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor --on HOST,HOST … SCRIPT`: runs a script on several machines, and shows one answer.
 *
 *   remote.c    the loop: hosts begin together, signals and bounds end them
 *   host.c      one host: from the login to its end
 *   ssh.c       the system's ssh, and what the host's shell is told
 *   binary.c    the spoor that is copied
 *   protocol.c  what both ends say to each other
 *   portable.c  maps on their way
 *   round.c     a map of several hosts as one
 *   merge.c     lines and maps in order of time
 *   notes.c     what is said beside the output
 *   end.c       the other end: a session whose output is sent
 *
 * A host is untrusted here: whatever it sends is checked, bounded, and escaped where it reaches a terminal. It can say wrong things
 * of itself, and nothing else. */
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
    const char *ssh;    /* the command, words with spaces between them; NULL: ssh */
    const char *binary; /* what is copied; NULL: the program that runs */
    bool sudo, per_host;
    bool is_quiet, json, is_terminal, bcc_histograms;
    const struct builtin_table *builtins;
    struct remote_request request;
    const volatile int
        *is_asked; /* how often the user asked for the end; the second time no host is waited for */
    /* Gets the output, and what is said beside it: whole lines, of which names are escaped. */
    const struct map_watcher *watcher; /* is told of the maps that are printed; NULL: nobody is */
    const struct session_observer
        *observer; /* is told of what is printed and said, with no session; NULL: nobody is */
    /* Called when all is printed and types of maps still live. Returns what to exit with if the hosts have not failed. NULL: nothing is done. */
    int (*finish)(void *state);
    void *finish_state;
    void (*print)(void *state, const char *bytes, size_t length);
    void (*say)(void *state, const char *text);
    bool (*is_broken)(void *state); /* whether nobody reads the output any more */
    void *state;
};

/* Returns the exit status: 1 if a host failed, else the highest of the hosts'. */
int remote_run(const struct remote_options *options);

#endif
