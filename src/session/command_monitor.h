/* SPDX-License-Identifier: BSD-3-Clause */
/* The two processes beside a command that has a terminal of its own: see command_terminal.h. They tell each
 * other what happens, a byte each. */
#ifndef SPOOR_SESSION_COMMAND_MONITOR_H
#define SPOOR_SESSION_COMMAND_MONITOR_H

#include <stdbool.h>
#include <sys/types.h>

enum monitor_message {
    /* From the monitor. */
    MONITOR_GROUP = 'g',          /* first: the command's process group follows */
    MONITOR_ENDED = 'e',          /* the command has */
    MONITOR_STOPPED = 's',        /* by its terminal: so is to be what we belong to */
    MONITOR_WANTS_TERMINAL = 'w', /* it was in the background, and reads */
    /* From the relay. */
    MONITOR_FOREGROUND = 'f', /* what is typed is the command's, which goes on */
    MONITOR_BACKGROUND = 'b', /* nothing comes to it */
    MONITOR_GO_ON = 'c',
    MONITOR_INTERRUPT = 'i', /* as Ctrl-C does */
    MONITOR_QUIT = 'q',
    MONITOR_STOP = 't',
};

/* Does not return. slave: the new terminal, which is the controlling one. number: takes the command's process
 * id, when the relay has said whether it is in the foreground. life: ends when nobody needs that id any more,
 * which nobody else has before. */
void command_monitor(int slave, int relay, int number, int life, pid_t command) __attribute__((noreturn));

/* Does not return. shown: is told when all is shown that the command wrote until its end; what it leaves behind
 * may still write. takes: the command has our terminal from the start, if we have it. */
void command_relay(int terminal, int master, int monitor, int shown, bool takes) __attribute__((noreturn));

#endif
