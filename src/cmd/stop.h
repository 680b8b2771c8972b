/* SPDX-License-Identifier: BSD-3-Clause */
/* Ending a command that finishes what it has begun: report, record, convert. */
#ifndef SPOOR_CMD_STOP_H
#define SPOOR_CMD_STOP_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP do not end the process but are counted in *asked. After the first of them every
 * system call that waits is interrupted again and again, so that a reader that does not read cannot delay the end. */
void stop_on_signals(volatile int *asked);
/* Whether one of these signals came. */
bool stop_is_asked(void);

#endif
