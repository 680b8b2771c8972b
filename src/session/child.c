/* SPDX-License-Identifier: BSD-3-Clause */
/* The command of -c: forked first, so that its pid is known, and let go when everything is attached. A
 * socket holds the child back, a pipe brings the error when the command cannot be executed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/command_user.h"
#include "session/state.h"

enum { WORDS_MAX = 4096, RECORDING_MS = 10000 /* until a command must have begun to record */ };

/* Words as a shell would see them, without its expansions: blanks, '…', "…" and \c. */
static char **split(struct arena *arena, const char *command)
{
    char **words = NULL;
    size_t count = 0, room = 0;
    struct text word = {0};
    bool inside = false;
    char quote = 0;
    for (const char *at = command; count < WORDS_MAX; at++) {
        bool blank = strchr(" \t\n", *at) != NULL; /* also the NUL at the end */
        if (!*at || (!quote && blank)) {
            if (inside)
                *arena_push(arena, words, count, room) = text_keep(&word, arena);
            text_clear(&word);
            inside = false;
            if (!*at)
                break;
        } else if (*at == quote)
            quote = 0;
        else if (!quote && (*at == '\'' || *at == '"')) {
            quote = *at;
            inside = true;
        } else {
            if (*at == '\\' && quote != '\'' && at[1])
                at++;
            text_char(&word, *at);
            inside = true;
        }
    }
    *arena_push(arena, words, count, room) = NULL;
    text_free(&word);
    return words;
}

const char *child_program(struct session *session)
{
    return split(&session->arena, session->options.command)[0];
}

/* The command's own process, until it is the command: waits at `go` until it may begin; what keeps it from that goes to
 * `failed`. */
static _Noreturn void child_become(const struct session *session, const struct command_user *user,
                                   char **words, int go, int failed)
{
    char ready;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL); /* spoor ignores these, and a program that it runs must not */
    signal(SIGXFSZ, SIG_DFL);
    if (read(go, &ready, 1) != 1)
        _exit(127); /* the tracer is gone */
    limits_of_command(session);
    int error = command_user_become(user);
    /* If spoor dies while the command is stopped (child_run_until), the command continues. */
    if (!error && prctl(PR_SET_PDEATHSIG, SIGCONT))
        error = errno;
    if (!error) {
        execvp(words[0], words);
        error = errno;
    }
    if (write(failed, &error, sizeof error) < 0)
        _exit(126);
    _exit(127);
}

int child_start(struct session *session)
{
    char **words = split(&session->arena, session->options.command);
    int go[2], failed[2];
    struct command_user user;
    if (!words[0]) {
        diagnose_error(&session->diagnostics, (struct span){0}, "the command of -c is empty");
        return -EINVAL;
    }
    int error = command_user_choose(session, &user);
    if (error)
        return error;
    command_user_warn(session, &user, words[0]);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
                   go)) /* unlike a pipe, it can be written without SIGPIPE */
        return -errno;
    if (pipe2(failed, O_CLOEXEC)) {
        error = -errno;
        close(go[0]);
        close(go[1]);
        return error;
    }
    struct command_terminal terminal = {.terminal = -1};
    pid_t pid = user.is_other && !session->options.is_embedded && command_terminal_is_shared()
                    ? command_terminal_fork(&terminal, user.uid)
                    : fork();
    if (pid == 0) {
        close(go[1]);
        child_become(session, &user, words, go[0], failed[1]);
    }
    error = pid < 0 ? -errno : 0;
    close(go[0]);
    close(failed[1]);
    if (error) {
        close(go[1]);
        close(failed[0]);
        return error;
    }
    session->target.child.pid = pid;
    session->target.child.go = go[1];
    session->target.child.failed = failed[0];
    session->target.child.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    session->target.child.terminal = terminal;
    return 0;
}

int child_release(struct session *session)
{
    struct child *child = &session->target.child;
    int error = 0;
    if (child->is_stopped) {
        child->is_stopped = false;
        kill(child->pid, SIGCONT);
        return 0;
    }
    if (child->go < 0)
        return 0; /* it was released before */
    if (send(child->go, "", 1, MSG_NOSIGNAL) != 1)
        error = errno == EPIPE ? ECHILD : errno; /* ECHILD: its process has ended already */
    else if (read(child->failed, &error, sizeof error) != sizeof error)
        error = 0; /* closed by exec */
    close(child->go);
    close(child->failed);
    child->go = child->failed = -1;
    if (error)
        diagnose_error(&session->diagnostics, (struct span){0}, "cannot execute the command '%s': %s",
                       session->options.command,
                       error == ECHILD ? "its process was ended before it began" : strerror(error));
    return -error;
}

/* A recording of the command exists only once it records: it runs until then, and is stopped until all is attached. `open`
 * decides whether the recording is complete enough. */
int child_run_until(struct session *session, int (*open)(struct session *session))
{
    struct child *child = &session->target.child;
    int error = child_start(session);
    if (error || (error = child_release(session)))
        return error;
    bool is_last = false;
    for (int waited = 0; waited < RECORDING_MS && !is_last; waited++) {
        struct pollfd ended = {child->pidfd, POLLIN, 0};
        is_last = poll(&ended, 1, 1) > 0;
        if (!is_last)
            kill(child->pid, SIGSTOP);
        child->is_stopped = !is_last;
        error = open(session);
        if (error != -ENOENT)
            return error;
        if (!is_last)
            child_release(session);
    }
    diagnose_error(&session->diagnostics, (struct span){0}, "the command '%s' %s", session->options.command,
                   is_last ? "has ended and recorded nothing" : "does not record");
    diagnose_hint(&session->diagnostics,
                  "it must be linked with libspoor and open its recording itself; what it "
                  "starts is not looked at");
    return -ENOENT;
}

void child_settle(struct session *session)
{
    struct child *child = &session->target.child;
    if (child->terminal.monitor > 0 && poll(&(struct pollfd){child->pidfd, POLLIN, 0}, 1, 0) > 0)
        command_terminal_settle(&child->terminal);
}

void child_end(struct session *session)
{
    struct child *child = &session->target.child;
    if (child->go >= 0) { /* it was never released, and ends by itself when the socket closes */
        close(child->go);
        close(child->failed);
    } else if (child->pid > 0) {
        kill(child->pid, SIGTERM);
        if (child->is_stopped)
            kill(child->pid, SIGCONT);
    }
    if (child->terminal.monitor > 0) /* the command is the monitor's child, so it cannot be waited for here */
        while (poll(&(struct pollfd){child->pidfd, POLLIN, 0}, 1, -1) < 0 && errno == EINTR)
            ;
    else if (child->pid > 0)
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    command_terminal_close(&child->terminal);
    if (child->pidfd >= 0)
        close(child->pidfd);
    *child = (struct child){.pidfd = -1, .go = -1, .failed = -1};
}
