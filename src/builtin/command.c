/* SPDX-License-Identifier: BSD-3-Clause */
/* system(): runs a command of the shell. The reader waits until it has ended; when the user asks for the end
 * meanwhile, the command gets a moment, then SIGTERM, then SIGKILL, with all that it started. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rights.h"
#include "bpf/lower/lower.h"
#include "builtin/event_handler.h"
#include "builtin/all.h"
#include "builtin/formatted.h"
#include "print/record.h"

enum { GRACE_MS = 200 }; /* how long the command is given before each step towards its end */

struct command {
    pid_t pid;
    pid_t group; /* as kill() wants it */
    int ended;   /* a pidfd, which is readable when the command has ended */
    int output; /* the pipe from which its output is read; -1: the command writes to the script's output itself */
};

static void run(const char *text, int output, bool has_group)
{
    sigset_t none;
    if (has_group)
        setpgid(0, 0);
    if (rights_keep(RIGHTS_ALL))
        _exit(126);
    rights_close_from(STDERR_FILENO + 1);
    signal(SIGPIPE, SIG_DFL); /* spoor ignores it, and commands such as `yes | head` need it */
    signal(SIGXFSZ, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(output, STDOUT_FILENO) < 0)
        _exit(126);
    execl("/bin/sh", "sh", "-c", text, (char *)NULL);
    _exit(127);
}

/* A group of its own makes it possible to end what it started, too. At a terminal it stays in ours: only that
 * one may read from there, and Ctrl-C reaches all of it. */
static int start(struct event_handler *handler, const char *text, struct command *command)
{
    bool has_group = isatty(STDIN_FILENO) != 1;
    int ends[2] = {-1, -1};
    if ((handler->is_json || handler->output_descriptor < 0) && pipe2(ends, O_CLOEXEC))
        return -errno;
    command->output = ends[0];
    command->pid = fork();
    if (command->pid == 0)
        run(text, ends[1] >= 0 ? ends[1] : handler->output_descriptor, has_group);
    int error = command->pid < 0 ? -errno : 0;
    if (ends[1] >= 0)
        close(ends[1]);
    if (error) {
        if (ends[0] >= 0)
            close(ends[0]);
        return error;
    }
    if (has_group)
        setpgid(command->pid, command->pid); /* both processes do this, because either may be first */
    command->group = has_group ? -command->pid : command->pid;
    command->ended = (int)syscall(SYS_pidfd_open, command->pid, 0);
    return 0;
}

static void take_output(struct command *command, struct text *output)
{
    char part[4096];
    ssize_t got = read(command->output, part, sizeof part);
    if (got > 0)
        text_append(output, part, (size_t)got);
    if (got > 0 || (got < 0 && errno == EINTR))
        return;
    close(command->output);
    command->output = -1;
}

/* Waits until the command has ended and its output is closed. False: it could not even be killed. */
static bool wait_for_end(struct event_handler *handler, struct command *command, struct text *output)
{
    enum { ENDED, OUTPUT, SIGNALS, COUNT };
    static const int steps[] = {SIGTERM, SIGKILL};
    size_t step = 0, step_count = sizeof steps / sizeof *steps;
    unsigned asked = handler->stop_signals;
    int64_t due = -1; /* when the next step towards its end is due; -1: the end was not asked for */
    while (command->ended >= 0 || command->output >= 0) {
        struct pollfd ready[COUNT] = {[ENDED] = {command->ended, POLLIN, 0},
                                      [OUTPUT] = {command->output, POLLIN, 0},
                                      [SIGNALS] = {handler->signals, POLLIN, 0}};
        int64_t left = due < 0 ? -1 : due - (int64_t)clock_ms(CLOCK_MONOTONIC);
        if (due >= 0 && left <= 0) {
            if (step == step_count)
                return command->ended < 0;
            kill(command->group, steps[step++]);
            kill(command->group, SIGCONT); /* it may be stopped */
            due = (int64_t)clock_ms(CLOCK_MONOTONIC) + GRACE_MS;
            continue;
        }
        if (poll(ready, COUNT, (int)left) < 0)
            continue;
        if (ready[SIGNALS].revents)
            handler->look(handler);
        if (due < 0 && handler->stop_signals > asked)
            due = (int64_t)clock_ms(CLOCK_MONOTONIC) + GRACE_MS;
        if (ready[OUTPUT].revents)
            take_output(command, output);
        if (ready[ENDED].revents) {
            close(command->ended);
            command->ended = -1;
        }
    }
    return true;
}

static void handle_system(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    struct span span = action->call->span;
    struct text text = {0}, output = {0};
    struct command command = {.ended = -1, .output = -1};
    formatted_text(handler, action, record, FORMATTED_BYTES, &text);
    handler->flush(handler);
    int status = 0;
    int error = -ENOMEM;
    if (!text.failed) /* out of memory: a part of the command would be another command */
        error = start(handler, text_string(&text), &command);
    if (error) {
        handler->warn(handler, span, "cannot start a command: %s", strerror(-error));
        text_free(&text);
        return;
    }
    bool reads = command.output >= 0, has_ended = wait_for_end(handler, &command, &output);
    if (reads)
        record_text(handler->printer, "syscall", &output);
    while (has_ended && waitpid(command.pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (command.ended >= 0)
        close(command.ended);
    if (command.output >= 0)
        close(command.output);
    if (!has_ended)
        handler->warn(handler, span, "command cannot be ended (%s)", text_string(&text));
    else if (WIFEXITED(status) && WEXITSTATUS(status))
        handler->warn(handler, span, "command exited with code %d (%s)", WEXITSTATUS(status),
                      text_string(&text));
    else if (WIFSIGNALED(status))
        handler->warn(handler, span, "command was ended by signal %d (%s)", WTERMSIG(status),
                      text_string(&text));
    text_free(&text);
    text_free(&output);
}

const struct builtin builtins_command[] = {
    {"system",
     "system(format, ...)",
     BUILTIN_CALL | BUILTIN_VARIADIC | BUILTIN_UNSAFE | BUILTIN_RUNS_COMMAND,
     1,
     0,
     {PARAMETER_LITERAL_STRING, PARAMETER_ANY},
     .check = formatted_check,
     .lower = formatted_lower,
     .handle = handle_system},
    {0},
};
