/* SPDX-License-Identifier: BSD-3-Clause */
/* A terminal of its own for a command that another user runs: in ours it could type (TIOCSTI). */
#ifndef SPOOR_SESSION_COMMAND_TERMINAL_H
#define SPOOR_SESSION_COMMAND_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

/* Two processes of ours stand between. The monitor leads the session of the new terminal, and the command is
 * its child: so it can be stopped by Ctrl-Z, which a process without a parent in its session cannot. The relay
 * is in our session and carries what is typed and written. It is no thread, so that the terminal gets its mode
 * back even when we are killed. */
struct command_terminal {
    pid_t monitor, relay; /* 0: there is none */
    int life;             /* a pipe: its end ends the monitor */
    int shown;            /* a pipe that says when all is shown that the command wrote */
    int terminal;         /* ours */
    bool has_mode;
    struct termios mode;
};

/* Is there a terminal that a command of another user would share with us? */
bool command_terminal_is_shared(void);
/* As fork(), with errno; the child's terminal is a new one, also where its standard streams were ours. It
 * belongs to this user. */
pid_t command_terminal_fork(struct command_terminal *terminal, uid_t owner);
/* The command has ended: until all that it wrote is shown, or a second has passed. */
void command_terminal_settle(struct command_terminal *terminal);
/* The same, and nothing is left of it. */
void command_terminal_close(struct command_terminal *terminal);

#endif
