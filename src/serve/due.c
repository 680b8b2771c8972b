/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/due.h"

#include "serve/guard.h"

#define SECOND ((uint64_t)NSEC_PER_SEC)
#define BACK_OFF_MIN SECOND
#define BACK_OFF_MAX (300 * SECOND)
#define RAN_WELL (60 * SECOND) /* who ran so long waits for the shortest time again */
#define PING_AFTER (10 * SECOND)
#define SILENT_AFTER (120 * SECOND) /* naming what a script prints may take long */

uint64_t due_back_off(uint64_t back_off)
{
    const uint64_t more = back_off ? back_off * 2 : BACK_OFF_MIN;
    return more < BACK_OFF_MAX ? more : BACK_OFF_MAX;
}

void due_again(struct served *script, uint64_t ran, uint64_t now)
{
    script->back_off = ran > RAN_WELL ? BACK_OFF_MIN : due_back_off(script->back_off);
    if (script->is_paused && script->back_off < GUARD_PAUSE_S * SECOND) /* it took too much even so */
        script->back_off = GUARD_PAUSE_S * SECOND;
    script->start_at = now + script->back_off;
}

bool due_is_stuck(const struct child_process *child, uint64_t now)
{
    return child->pid && !child->is_ready && !child->kill_at &&
           now >= child->begun + DUE_START_MAX_S * SECOND;
}

bool due_is_asked(const struct served *script, uint64_t now)
{
    return now >= script->pinged + PING_AFTER;
}

bool due_is_silent(const struct served *script, uint64_t now)
{
    return now >= script->active_at + SILENT_AFTER;
}
