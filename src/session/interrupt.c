/* SPDX-License-Identifier: BSD-3-Clause */
/* The end that a signal asked for: it comes soon, whatever waits to be printed or handled.
 *
 * Signals are looked at between records. After the first one the records that wait have RECORDS_MS in all,
 * except that no command is begun any more; after the second one they have no time at all. What is passed
 * over is counted. Then the end probes run and maps are printed, with names that are looked up until that has
 * taken NAMES_MS. --duration is no haste: it ends the trace, and nothing is passed over. */
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "print/record.h"
#include "session/state.h"

enum { RECORDS_MS = 500, NAMES_MS = 1000 };

uint64_t session_clock(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* SIGUSR1 does not ask for the end: it is kept for the self probes. */
bool session_interrupted(struct session *session)
{
    struct signalfd_siginfo signal;
    if (session->until && session_clock() >= session->until)
        session->pauses = true;
    while (session->signals >= 0 && read(session->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGUSR1) {
            session->pending_sigusr1++;
            continue;
        }
        session->interrupted = true;
        if (signal.ssi_signo != SIGALRM && !session->handler.stop_signals++)
            session->asked_at = session_clock();
    }
    return session->interrupted || session->pauses;
}

/* Looks for signals once in each tick of the coarse clock: often enough for a user, and too seldom to cost anything. */
static void look_now_and_then(struct session *session)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);
    if (now == session->looked_at)
        return;
    session->looked_at = now;
    session_interrupted(session);
}

static bool has_had(const struct session *session, uint64_t milliseconds, uint64_t since)
{
    return session->handler.stop_signals && session_clock() >= since + milliseconds * 1000000;
}

/* What the end probes send waits for nobody else, and is passed over only when the end is asked for once more
 * meanwhile. */
static bool is_in_haste(const struct session *session)
{
    if (session->at_end)
        return session->handler.stop_signals > session->ends_before;
    return session->handler.stop_signals > 1 || has_had(session, RECORDS_MS, session->asked_at);
}

bool interrupt_drops(struct session *session, const struct action *action)
{
    bool is_command = action->builtin->flags & BUILTIN_RUNS_COMMAND;
    if (is_command)
        session_interrupted(session);
    else
        look_now_and_then(session);
    if (is_in_haste(session) || (is_command && session->handler.stop_signals && !session->at_end)) {
        session->unread++;
        return true;
    }
    bool is_unwritten = session->broken_output && !session->at_end;
    session->unwritten += is_unwritten && !session->reader_left;
    return is_unwritten;
}

bool interrupt_cuts(struct session *session)
{
    look_now_and_then(session);
    return is_in_haste(session);
}

bool interrupt_leaves_names(void *state)
{
    struct session *session = state;
    look_now_and_then(session);
    uint64_t since = session->maps_at > session->asked_at ? session->maps_at : session->asked_at;
    bool leaves = session->handler.stop_signals > 1 || has_had(session, NAMES_MS, since);
    session->unnamed += leaves;
    return leaves;
}

void interrupt_end_begins(struct session *session)
{
    session->at_end = true;
    session->ends_before = session->handler.stop_signals ? session->handler.stop_signals : 1;
}

void interrupt_maps_begin(struct session *session)
{
    session->maps_at = session_clock();
}

static void report_passed_over(struct session *session, uint64_t count, const char *probes, const char *what)
{
    if (count && session->options.is_json && !session->broken_output) {
        record_lost_events(&session->out, count, probes, "end");
        session_flush(session);
    } else if (count)
        session_report(session, "Lost %llu events %s when the trace was ended\n", (unsigned long long)count,
                       what);
}

void interrupt_report(struct session *session)
{
    if (session->options.no_warnings)
        return;
    if (session->unwritten)
        session_report(session, "Lost %llu events that could not be written\n",
                       (unsigned long long)session->unwritten);
    report_passed_over(session, session->unplayed, "trace probes, before the end",
                       "of recordings that were waiting to be read");
    report_passed_over(session, session->unread, "all probes, before the end",
                       "that were waiting to be printed or acted on");
    if (session->unnamed && !session->options.is_json)
        session_report(session,
                       "WARNING: %llu names were not looked up: that takes long, and the trace "
                       "was to end\nHINT: exit() and --duration leave all the time that names need\n",
                       (unsigned long long)session->unnamed);
}
