/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that no event of the kernel runs: this process does, for begin, end, self and iter probes, and by timers for
 * those of interval. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/kernel_error.h"
#include "base/thread.h"
#include "session/state.h"

enum { LOOK_NS = 1000000 /* between looks at what the programs print */ };

struct special {
    pthread_t thread; /* runs the blocks of begin, end and such probes */
    bool has_thread;
    enum probe_time time;
    int error;        /* of the first block that could not be run; 0: none */
    size_t unit;      /* the unit of that block */
    bool walk_failed; /* the kernel ended an iterator early */
};

void special_open(struct session *session)
{
    session->special = arena_new(&session->arena, struct special);
}

static void *special_thread(void *state)
{
    struct session *session = state;
    enum probe_time time = session->special->time;
    if (time == PROBE_ITERATE && kernel_walk(session->kernel))
        session->special->walk_failed = true;
    for (size_t i = 0; i < session->units.count; i++)
        if (session->units.items[i].variant->kind->time == time && time != PROBE_ITERATE) {
            int error = session->host->operations->run(session->host, session->units.items[i].program);
            if (error && !session->special->error) {
                session->special->error = error;
                session->special->unit = i;
            }
        }
    return NULL;
}

static void report_refusal(struct session *session, size_t unit, int error)
{
    const struct probe_site *site = &session->units.items[unit].variant->sites[0];
    diagnose_error(&session->diagnostics, site->span, "The kernel could not run this block: %s",
                   kernel_error(error));
}

/* Reports what the thread could not do: the diagnostics belong to this one. */
static void report_special(struct session *session)
{
    if (session->special->error)
        report_refusal(session, session->special->unit, session->special->error);
    session->special->error = 0;
    if (session->special->walk_failed)
        session_report(session, "WARNING: the walk over the kernel's objects ended early\n");
    session->special->walk_failed = false;
}

void special_stop(struct session *session)
{
    session_pause(session, true);
}

void session_pause(struct session *session, bool pauses)
{
    struct image_control *control = session->host->operations->control(session->host);
    if (control)
        __atomic_store_n(&control->stop, pauses, __ATOMIC_SEQ_CST);
}

void special_join(struct session *session)
{
    if (!session->special->has_thread)
        return;
    special_stop(session);
    pthread_join(session->special->thread, NULL);
    session->special->has_thread = false;
}

int special_start_timers(struct session *session)
{
    return session->kernel ? kernel_timers_start(session->kernel) : 0;
}

void special_stop_timers(struct session *session)
{
    if (session->kernel)
        kernel_timers_stop(session->kernel);
}

void special_look_at_timers(struct session *session)
{
    size_t program;
    int error = session->kernel ? kernel_timers_failed(session->kernel, &program) : 0;
    for (size_t i = 0; error && i < session->units.count; i++)
        if (session->units.items[i].program == program && !session->is_over) {
            report_refusal(session, i, error);
            session->is_over = true;
        }
}

/* A thread runs the programs, so that what they print is read while they run: a loop that prints much would fill the
 * ring. Without a thread they run all the same. */
void special_run(struct session *session, enum probe_time time)
{
    if (replay_runs_programs(session)) {
        replay_run_special(session, time);
        return;
    }
    session->special->time = time;
    bool any = false;
    for (size_t i = 0; i < session->units.count; i++)
        any |= session->units.items[i].variant->kind->time == time;
    if (!any)
        return;
    if (thread_start(&session->special->thread, special_thread, session)) {
        special_thread(session);
        report_special(session);
        return;
    }
    session->special->has_thread = true;
    for (;;) {
        /* The time of day may be set, also backwards. */
        const struct timespec until = timespec_of(clock_ns(CLOCK_MONOTONIC) + LOOK_NS);
        if (pthread_clockjoin_np(session->special->thread, NULL, CLOCK_MONOTONIC, &until) != ETIMEDOUT) {
            session->special->has_thread = false;
            report_special(session);
            return;
        }
        session_consume(session, false);
        if (time == PROBE_ITERATE &&
            (session_interrupted(session) || session->handler.exit_requested || output_is_broken(session)))
            special_stop(session);
    }
}
