/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides what is due for a script or its process at a given time. The caller passes the time, so that tests need not wait for
 * minutes to pass. Times are those of the monotonic clock, ns. */
#ifndef SPOOR_SERVE_DUE_H
#define SPOOR_SERVE_DUE_H

#include "base/clock.h"
#include "serve/script.h"

enum { DUE_START_MAX_S = 300 }; /* how long attaching may take */

/* Returns how long to wait before the next start, ns. back_off: how long it was waited before the last one, 0 if it was not. */
uint64_t due_back_off(uint64_t back_off);
/* Sets when a script that has failed is started again. ran: how long it ran, ns; 0: it had not begun. */
void due_again(struct served *script, uint64_t ran, uint64_t now);
/* Whether a process has not become ready within DUE_START_MAX_S. */
bool due_is_stuck(const struct child_process *child, uint64_t now);
/* Whether a running script is due for a FRAME_PING, and whether it has been silent for so long that it counts as stuck. */
bool due_is_asked(const struct served *script, uint64_t now);
bool due_is_silent(const struct served *script, uint64_t now);

#endif
