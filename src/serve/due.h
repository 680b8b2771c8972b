/* SPDX-License-Identifier: BSD-3-Clause */
/* What is due for a script or its process at a time that is given: who asks has the clock, so that nobody has to wait for five
 * minutes to see what happens then. Times are those of the monotonic clock, ns. */
#ifndef SPOOR_SERVE_DUE_H
#define SPOOR_SERVE_DUE_H

#include "base/clock.h"
#include "serve/script.h"

enum { DUE_START_MAX_S = 300 }; /* how long attaching may take */

/* Returns how long to wait before the next start, after having waited so long before the last one: 0, not at all. */
uint64_t due_back_off(uint64_t back_off);
/* A script has failed, and is to be started again. ran: how long, ns; 0: it had not begun. */
void due_again(struct served *script, uint64_t ran, uint64_t now);
/* Whether a process has not begun after all that time. */
bool due_is_stuck(const struct child_process *child, uint64_t now);
/* Of a script that runs: whether it is to be asked if it is alive, and whether it has not answered for too long. */
bool due_is_asked(const struct served *script, uint64_t now);
bool due_is_silent(const struct served *script, uint64_t now);

#endif
