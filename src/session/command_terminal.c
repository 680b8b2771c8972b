/* SPDX-License-Identifier: BSD-3-Clause */
/* See command_terminal.h. */
#include "session/command_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/command_monitor.h"

enum { SETTLE_MS = 2000 };

/* Opens the user's terminal: the controlling one, or the first standard stream that is a terminal. It gets an open file
 * description of its own, so that O_NONBLOCK affects no other process. Returns a descriptor or -errno. */
static int open_terminal(void)
{
    int flags = O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, terminal = open("/dev/tty", flags);
    for (int fd = 0; terminal < 0 && fd < 3; fd++) {
        char name[32];
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        if (isatty(fd) == 1)
            terminal = open(name, flags);
    }
    return terminal < 0 ? -errno : terminal;
}

bool command_terminal_is_shared(void)
{
    int terminal = open_terminal();
    if (terminal >= 0)
        close(terminal);
    return terminal >= 0;
}

/* Makes the new terminal, with the mode and the size of the user's. Returns 0 or -errno. */
static int make_terminal(struct command_terminal *terminal, uid_t owner, int *master, int *slave)
{
    char name[64];
    struct winsize size;
    *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*master < 0)
        return -errno;
    *slave = -1;
    if (unlockpt(*master) || ptsname_r(*master, name, sizeof name) ||
        (*slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
        return -errno;
    if (fchown(*slave, owner, (gid_t)-1)) /* then programs cannot open it by its name, and have /dev/tty */
        errno = 0;
    terminal->has_mode = !tcgetattr(terminal->terminal, &terminal->mode);
    if (terminal->has_mode)
        tcsetattr(*slave, TCSANOW, &terminal->mode);
    if (!ioctl(terminal->terminal, TIOCGWINSZ, &size))
        ioctl(*master, TIOCSWINSZ, &size);
    return fcntl(*master, F_SETFL, O_RDWR | O_NONBLOCK) ? -errno : 0;
}

struct ends {
    int master, slave;
    int between[2]; /* a socket each: the relay's, the monitor's */
    int life[2];    /* read by the monitor */
    int number[2];  /* brings the command's process id, and a byte when all is shown that it wrote */
};

static void close_ends(struct ends *ends)
{
    int *all = (int *)ends;
    for (size_t i = 0; i < sizeof *ends / sizeof *all; i++)
        if (all[i] >= 0)
            close(all[i]);
}

static int open_ends(struct command_terminal *terminal, uid_t owner, struct ends *ends)
{
    *ends = (struct ends){-1, -1, {-1, -1}, {-1, -1}, {-1, -1}};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->between) || pipe2(ends->life, O_CLOEXEC) ||
        pipe2(ends->number, O_CLOEXEC))
        return -errno;
    return make_terminal(terminal, owner, &ends->master, &ends->slave);
}

/* Called in the command's process: makes the new terminal its standard streams. Its group is in the foreground there only
 * when the relay says so. */
static int join(int slave)
{
    for (int fd = 0; fd < 3; fd++)
        if (isatty(fd) == 1 && dup2(slave, fd) < 0)
            return -errno;
    return 0;
}

/* Runs the monitor, which forks the command. Returns 0 in the command's process, and nowhere else. */
static pid_t lead(const struct ends *ends)
{
    pid_t tracer = getppid();
    if (setsid() < 0 || ioctl(ends->slave, TIOCSCTTY, 0))
        _exit(126);
    pid_t command = fork();
    if (command == 0) {
        if (setpgid(0, 0) || join(ends->slave))
            _exit(126);
        return 0;
    }
    if (command < 0 || getppid() != tracer)
        _exit(126);
    setpgid(command, command); /* parent and child both do it, since either may be first */
    command_monitor(ends->slave, ends->between[1], ends->number[1], ends->life[0], command);
}

pid_t command_terminal_fork(struct command_terminal *terminal, uid_t owner)
{
    struct ends ends;
    pid_t tracer = getpid(), command = -1;
    *terminal = (struct command_terminal){.life = -1, .shown = -1};
    terminal->terminal = open_terminal();
    if (terminal->terminal < 0) {
        errno = -terminal->terminal;
        return -1;
    }
    int error = open_ends(terminal, owner, &ends);
    /* In a pipeline others may be those who read what is typed: then it is the command's when it asks. */
    bool takes = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    if (!error && (terminal->monitor = fork()) == 0)
        return lead(&ends);
    if (!error && terminal->monitor > 0 && (terminal->relay = fork()) == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGHUP) || getppid() != tracer)
            _exit(126);
        command_relay(terminal->terminal, ends.master, ends.between[0], ends.number[1], takes);
    }
    if (!error && (terminal->monitor < 0 || terminal->relay < 0))
        error = -errno;
    if (!error) {
        close(ends.number[1]);
        ends.number[1] = -1;
        if (read(ends.number[0], &command, sizeof command) != sizeof command || command < 0)
            error = -EAGAIN;
        terminal->life = ends.life[1];
        ends.life[1] = -1;
        terminal->shown = ends.number[0];
        ends.number[0] = -1;
    }
    close_ends(&ends);
    if (error) {
        command_terminal_close(terminal);
        errno = -error;
        return -1;
    }
    return command;
}

void command_terminal_settle(struct command_terminal *terminal)
{
    if (terminal->shown >= 0)
        poll(&(struct pollfd){terminal->shown, POLLIN, 0}, 1, SETTLE_MS);
}

static int wait_for(pid_t process)
{
    int status = 0;
    while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

void command_terminal_close(struct command_terminal *terminal)
{
    if (!terminal->monitor && !terminal->relay)
        return;
    command_terminal_settle(terminal);
    if (terminal->life >= 0)
        close(terminal->life);
    wait_for(terminal->monitor);
    if (terminal->relay > 0 && terminal->shown >= 0 &&
        !poll(&(struct pollfd){terminal->shown, 0, 0}, 1, SETTLE_MS)) /* until its end is closed */
        kill(terminal->relay, SIGKILL);                               /* it waits for the terminal */
    /* A signal has ended the relay before it could give the terminal its mode back. */
    if (WIFSIGNALED(wait_for(terminal->relay)) && terminal->has_mode &&
        tcgetpgrp(terminal->terminal) == getpgrp())
        tcsetattr(terminal->terminal, TCSANOW, &terminal->mode);
    if (terminal->shown >= 0)
        close(terminal->shown);
    if (terminal->terminal >= 0)
        close(terminal->terminal);
    *terminal = (struct command_terminal){.terminal = -1};
}
