/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rights.h"

enum { GRACE_S = 10 };

static int run_in_child(int (*run)(void *state, struct frames *supervisor), void *state,
                        struct frames *supervisor, pid_t parent)
{
    int kept[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, supervisor->fd};
    sigset_t none;
    rights_close_others(kept, sizeof kept / sizeof *kept);
    setpgid(0, 0); /* Ctrl-C reaches the supervisor alone, which ends all in order */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        return 1;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    const int status = run(state, supervisor);
    fflush(NULL);
    return status;
}

int child_process_start(struct child_process *child, int (*run)(void *state, struct frames *supervisor),
                        void *state)
{
    struct frames theirs;
    const pid_t parent = getpid();
    *child = (struct child_process){.frames.fd = -1};
    int error = frames_pair(&child->frames, &theirs);
    if (error)
        return error;
    fflush(NULL); /* what is buffered would be written twice */
    child->begun = clock_ns(CLOCK_MONOTONIC);
    child->pid = fork();
    if (!child->pid)
        _exit(run_in_child(run, state, &theirs, parent));
    error = child->pid < 0 ? -errno : 0;
    frames_close(&theirs);
    if (error)
        child_process_forget(child);
    return error;
}

void child_process_end(struct child_process *child, uint64_t now)
{
    if (!child->pid || child->kill_at)
        return;
    kill(child->pid, SIGTERM);
    child->kill_at = now + GRACE_S * (uint64_t)NSEC_PER_SEC + child->patience_ns;
}

void child_process_hurry(const struct child_process *child, uint64_t now)
{
    if (child->pid && child->kill_at && now >= child->kill_at)
        kill(child->pid, SIGKILL);
}

void child_process_forget(struct child_process *child)
{
    frames_close(&child->frames);
    *child = (struct child_process){.frames.fd = -1};
}
