/* SPDX-License-Identifier: BSD-3-Clause */
/* A terminal of its own for a command that runs as another user: at the tracer's it could type (TIOCSTI). */
#ifndef SPOOR_SESSION_COMMAND_TERMINAL_H
#define SPOOR_SESSION_COMMAND_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

/* Two processes stand between the command and the user's terminal. The monitor leads the session of the new terminal, and
 * the command is its child: so Ctrl-Z can stop it, which needs a parent in the same session. The relay is in the tracer's
 * session and carries what is typed and written. It is a process and not a thread, so that the terminal gets its mode back
 * even when the tracer is killed. */
struct command_terminal {
    pid_t monitor, relay; /* 0: there is none */
    int life;             /* a pipe: its end ends the monitor */
    int shown;            /* a pipe that says when all is shown that the command wrote */
    int terminal;         /* the user's */
    bool has_mode;
    struct termios mode;
};

/* Whether a command of another user would share a terminal with the tracer. */
bool command_terminal_is_shared(void);
/* Forks like fork(), with errno. The child has a new terminal, which belongs to `owner`, as its controlling one and in the
 * place of each standard stream that was the tracer's terminal. */
pid_t command_terminal_fork(struct command_terminal *terminal, uid_t owner);
/* Waits, after the command has ended, until everything that it wrote is shown; two seconds at most. */
void command_terminal_settle(struct command_terminal *terminal);
/* Ends both processes, and closes what belongs to them. */
void command_terminal_close(struct command_terminal *terminal);

#endif
