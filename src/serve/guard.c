/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/guard.h"

#include "base/clock.h"
#include "session/session.h"

#define SECOND ((uint64_t)NSEC_PER_SEC)

static void add(void *state, const struct session_program *program)
{
    *(uint64_t *)state += program->runs.ns;
}

static void pause_script(struct guard *guard, struct session *session, double share, uint64_t now)
{
    /* Soon: within the time that the last pause took. */
    const bool is_soon = guard->pause && now < guard->resume_at + guard->pause;
    guard->pause = is_soon ? guard->pause * 2 : GUARD_PAUSE_S * SECOND;
    if (guard->pause > GUARD_PAUSE_MAX_S * SECOND)
        guard->pause = GUARD_PAUSE_MAX_S * SECOND;
    guard->resume_at = now + guard->pause;
    guard->is_paused = true;
    session_pause(session, true);
    guard->paused(guard->state, session, true, share, (unsigned)(guard->pause / SECOND));
}

void guard_look(struct guard *guard, struct session *session)
{
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t ran = 0;
    if (guard->share <= 0 || now < guard->looked + SECOND)
        return;
    session_each_program(session, add, &ran);
    const double share = (double)(ran - guard->ran) / (double)(now - guard->looked);
    const bool is_first = !guard->looked;
    guard->looked = now;
    guard->ran = ran;
    if (is_first)
        return;
    if (share > guard->share && guard->is_paused)
        guard->gave_up(guard->state, session, share);
    else if (share > guard->share)
        pause_script(guard, session, share, now);
    else if (guard->is_paused && now >= guard->resume_at) {
        guard->is_paused = false;
        session_pause(session, false);
        guard->paused(guard->state, session, false, share, 0);
    }
}
