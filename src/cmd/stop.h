/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a command that finishes what it has begun before it ends: report, record, convert. */
#ifndef SPOOR_CMD_STOP_H
#define SPOOR_CMD_STOP_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP do not end the process but set *asked to 1. After the first of them every system
 * call that waits is interrupted again and again, so that nobody who does not read can hold up the end. */
void stop_on_signals(volatile int *asked);
/* Whether one of them came. */
bool stop_is_asked(void);

#endif
