/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds what a script costs the machine. Each second the guard asks the kernel how long the script's programs ran. When
 * that is more than their share of one CPU, the script pauses: for GUARD_PAUSE_S seconds, and each time twice as long if the
 * same happens soon after a pause, up to GUARD_PAUSE_MAX_S. Programs that take too much even while they pause end. */
#ifndef SPOOR_SERVE_GUARD_H
#define SPOOR_SERVE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct session;

enum { GUARD_PAUSE_S = 10, GUARD_PAUSE_MAX_S = 600 };

struct guard {
    double share; /* of one CPU; 0: any */
    /* Called when a pause begins, with the share that the programs took and the length of the pause, and when it ends. */
    void (*paused)(void *state, struct session *session, bool is_paused, double share, unsigned seconds);
    /* Called when the programs take too much even while they are paused: the script has to end. */
    void (*gave_up)(void *state, struct session *session, double share);
    void *state;

    uint64_t looked, ran; /* when guard_look() measured last, and how long the programs had run by then: ns */
    uint64_t pause, resume_at; /* the length of the last pause, 0: none; and its end */
    bool is_paused;
};

/* Measures once a second, and pauses or resumes the session. */
void guard_look(struct guard *guard, struct session *session);

#endif
