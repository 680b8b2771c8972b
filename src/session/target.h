/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is traced: the processes of -p, the command of -c, what these start with --follow, the group of --cgroup.
 *
 * Only target.c and child.c write here and to the processes of the probe environment; all others ask. */
#ifndef SPOOR_SESSION_TARGET_H
#define SPOOR_SESSION_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/lower/processes.h"
#include "session/command_terminal.h"

struct session;

/* The command of -c. */
struct child {
    pid_t pid; /* 0: there is none, or it has not been started */
    int pidfd;
    bool is_stopped; /* by SIGSTOP, until everything is attached */
    struct command_terminal terminal;
    int go;     /* socket: a byte lets the command be executed. -1: none */
    int failed; /* pipe: brings the errno of a command that cannot be executed. -1: none */
    bool has_data_limit;
    uint64_t data_limit; /* RLIMIT_DATA as spoor was started with it, which the command gets back */
};

struct target {
    struct process_filter filter;                   /* what programs compare the process of an event with */
    struct pid_set_program programs[PID_SET_COUNT]; /* that keep the kernel's set of processes */
    struct child child;
    struct target_processes *processes; /* target.c */
};

/* ---- target.c ---- */

void target_open(struct session *session);
/* Finds out who is to be traced. To be called before probes are expanded. 0, or -errno with a diagnostic. */
int target_choose(struct session *session);
/* Fills the set of processes, which grows from now on. To be called before probes are attached, and when the command has
 * its process. 0, or -errno with a diagnostic. */
int target_begin(struct session *session);
/* Lets the set shrink, too. To be called after probes are attached. 0, or -errno with a diagnostic. */
int target_attached(struct session *session);
/* Whether the files that traced processes have mapped are searched for probes, and may become more. */
bool target_maps_files(const struct session *session);
/* Looks anew which processes are traced, for probes in files that they have mapped: with --follow they change. False: there
 * is none now. */
bool target_refresh(struct session *session);
/* Calls for the process of the command, if it runs, and for those of -p. */
void target_each(struct session *session, void (*visit)(struct session *session, pid_t pid));
/* Descriptors that can be read when the trace is over because its process has ended: of -p, and of -c. -1: there is none,
 * or the set of processes decides. */
void target_descriptors(const struct session *session, int *process, int *child);
/* Whether every process that was in the set has ended. */
bool target_has_ended(struct session *session);
void target_close(struct session *session);

/* A member of one of the kernel's structs, and where its offset is put. */
struct session_member {
    const char *type, *member;
    uint32_t *offset;
};
/* False: the kernel's BTF does not have all of them. */
bool session_member_offsets(struct session *session, const struct session_member *members, size_t count);

/* ---- child.c ---- */

/* The program that the command runs, its first word; NULL: it has none. */
const char *child_program(struct session *session);
/* Forks; the child waits before it executes the command. 0, or -errno with a diagnostic. */
int child_start(struct session *session);
/* Lets the command run. 0, or -errno with a diagnostic when it cannot be executed. */
int child_release(struct session *session);
/* Lets the command run, and stops it as soon as `open` returns anything but -ENOENT. Returns that, or -errno with a
 * diagnostic. */
int child_run_until(struct session *session, int (*open)(struct session *session));
/* Waits until everything that a command wrote that has ended is on the terminal, so that it stands before what is
 * printed next. */
void child_settle(struct session *session);
/* Sends SIGTERM to a command that still runs, and waits for it. */
void child_end(struct session *session);

#endif
