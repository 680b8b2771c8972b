/* SPDX-License-Identifier: BSD-3-Clause */
/* The two processes beside a command that has a terminal of its own: see command_terminal.h. They send each other
 * messages of one byte. */
#ifndef SPOOR_SESSION_COMMAND_MONITOR_H
#define SPOOR_SESSION_COMMAND_MONITOR_H

#include <stdbool.h>
#include <sys/types.h>

enum monitor_message {
    /* From the monitor. */
    MONITOR_GROUP = 'g',          /* the first message; the command's process group follows */
    MONITOR_ENDED = 'e',          /* the command has ended */
    MONITOR_STOPPED = 's',        /* the terminal stopped the command: the relay stops its own job, too */
    MONITOR_WANTS_TERMINAL = 'w', /* the command is in the background, and tries to read */
    /* From the relay. */
    MONITOR_FOREGROUND = 'f', /* the command gets what is typed, and goes on */
    MONITOR_BACKGROUND = 'b', /* the command gets nothing that is typed */
    MONITOR_GO_ON = 'c',
    MONITOR_INTERRUPT = 'i', /* as Ctrl-C does */
    MONITOR_QUIT = 'q',
    MONITOR_STOP = 't',
};

/* Runs the monitor; does not return. slave: the new terminal, which is its controlling one. number: gets the command's
 * process id as soon as the relay has said whether it is in the foreground. life: is closed by the tracer when it needs that
 * id no more; until then no other process can have it. */
void command_monitor(int slave, int relay, int number, int life, pid_t command) __attribute__((noreturn));

/* Runs the relay; does not return. shown: gets a byte when everything is on the terminal that the command wrote until its
 * end; processes that it leaves behind may write later. takes: the command gets what is typed from the start, if the relay
 * is in the foreground. */
void command_relay(int terminal, int master, int monitor, int shown, bool takes) __attribute__((noreturn));

#endif
