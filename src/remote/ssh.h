/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the system's ssh, one process and one login for each host. What the host's shell is given is a constant text; all else goes
 * through standard input, where no shell reads it. */
#ifndef SPOOR_REMOTE_SSH_H
#define SPOOR_REMOTE_SSH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"
#include "remote/binary.h"

struct ssh {
    pid_t pid;        /* 0: there is none */
    int in, out, err; /* its standard streams, none of which blocks; -1: closed */
};

/* Returns the command of which the words are separated by spaces as a NULL-terminated list, with ssh's own options of ours behind
 * them: ssh takes the first of each. There is a word at least. NULL: there is no memory. */
char **ssh_command(const char *words);
void ssh_command_free(char **command);
/* Runs the command for a host. Returns 0 or -errno. */
int ssh_start(struct ssh *ssh, char *const *command, const char *host, const char *script);
/* Writes the script for the host's shell: it looks for a spoor of this version, takes a copy of the binary for its architecture if
 * there is none, and runs it with --remote-end. It says how far it is in lines that begin with SSH_MARK:
 *
 *     have           it is there, and is run
 *     need MACHINE   as many bytes as the binary for that architecture has are awaited; without one the shell has ended
 *     copied         it is there now, and is run
 *     failed         the copy could not be stored; why is on the error stream
 */
#define SSH_MARK "spoor-on: "
void ssh_script(struct text *out, const struct remote_binaries *binaries, bool sudo);
/* Closes its streams and ends it. */
void ssh_end(struct ssh *ssh);

#endif
