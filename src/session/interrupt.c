/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that ask for the end, which then comes soon, whatever waits to be printed or handled.
 *
 * Signals are read between records. After the first one, the records that wait are handled for RECORDS_MS, and for as long
 * again when the programs have stopped, which takes its time where CPUs are busy, except that no command is started any
 * more; after the second one, none is. Records that are left out are counted. Then the end
 * probes run and maps are printed, and names are looked up for NAMES_MS. The end of --duration leaves nothing out.
 *
 * A signal that comes within SAME_MS of one that counted is the same request: timeout(1) sends each of its signals twice, to
 * the process and to its group. */
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "print/record.h"
#include "session/state.h"

struct interrupt {
    int signals;    /* signalfd. -1: signals are the caller's */
    bool is_asked;  /* a signal asked for the end */
    bool is_at_end; /* the end probes run: exit() no longer drops records */
    /* When the first signal asked, when the last one that counted came, when signals were looked for last, and when printing
     * the maps began: ns. */
    uint64_t asked_at, counted_at, looked_at, maps_at;
    unsigned stop_signals_before; /* how many signals may have asked for the end before the end probes run */
    unsigned pending_sigusr1;     /* SIGUSR1 for which the blocks of self probes have not run yet */
    uint64_t pause_at;            /* an iteration over recordings pauses at this time; 0: never */
    bool pauses;                  /* it paused */
    /* Records, events of recordings and names that were passed over for want of time. */
    uint64_t unread, unplayed, unnamed;
    bool leaves_unplayed; /* perhaps more events of recordings than `unplayed` */
};

enum { RECORDS_MS = 500, NAMES_MS = 1000, SAME_MS = 100 };

uint64_t session_clock(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

void interrupt_open(struct session *session)
{
    session->interrupt = arena_new(&session->arena, struct interrupt);
    session->interrupt->signals = -1;
}

void interrupt_close(struct session *session)
{
    if (session->interrupt->signals >= 0)
        close(session->interrupt->signals);
}

int interrupt_begin(struct session *session)
{
    static const int asking[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    sigset_t set;
    if (session->options.is_embedded)
        return 0;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
        sigaddset(&set, asking[i]);
    if (session->options.duration_ns)
        sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    session->interrupt->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return session->interrupt->signals < 0 ? -errno : 0;
}

int interrupt_descriptor(const struct session *session)
{
    return session->interrupt->signals;
}

bool interrupt_is_asked(const struct session *session)
{
    return session->interrupt->is_asked;
}

bool interrupt_is_at_end(const struct session *session)
{
    return session->interrupt->is_at_end;
}

bool interrupt_take_sigusr1(struct session *session)
{
    bool is_pending = session->interrupt->pending_sigusr1;
    session->interrupt->pending_sigusr1 -= is_pending;
    return is_pending;
}

void interrupt_pause_at(struct session *session, uint64_t time)
{
    session->interrupt->pause_at = time;
}

bool interrupt_pauses(const struct session *session)
{
    return session->interrupt->pauses && !session->interrupt->is_asked;
}

bool interrupt_end_pause(struct session *session)
{
    bool paused = session->interrupt->pauses;
    session->interrupt->pauses = false;
    session->interrupt->pause_at = 0;
    return paused;
}

void interrupt_count_unplayed(struct session *session)
{
    session->interrupt->unplayed++;
}

void interrupt_leave_unplayed(struct session *session)
{
    session->interrupt->leaves_unplayed = true;
}

/* Counts a signal that asks for the end, unless it is one that was counted already. */
static void count_signal(struct session *session)
{
    const uint64_t now = session_clock();
    if (session->handler.stop_signals && now < session->interrupt->counted_at + SAME_MS * UINT64_C(1000000))
        return;
    if (!session->handler.stop_signals++)
        session->interrupt->asked_at = now;
    session->interrupt->counted_at = now;
}

/* SIGUSR1 does not ask for the end: it is counted for the self probes. */
bool session_interrupted(struct session *session)
{
    struct signalfd_siginfo signal;
    if (session->interrupt->pause_at && session_clock() >= session->interrupt->pause_at)
        session->interrupt->pauses = true;
    while (session->interrupt->signals >= 0 &&
           read(session->interrupt->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGUSR1) {
            session->interrupt->pending_sigusr1++;
            continue;
        }
        session->interrupt->is_asked = true;
        if (signal.ssi_signo != SIGALRM)
            count_signal(session);
    }
    return session->interrupt->is_asked || session->interrupt->pauses;
}

/* Looks for signals once in each tick of the coarse clock: often enough for a user, and too seldom to cost anything. */
static void look_now_and_then(struct session *session)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);
    if (now == session->interrupt->looked_at)
        return;
    session->interrupt->looked_at = now;
    session_interrupted(session);
}

static bool has_had(const struct session *session, uint64_t milliseconds, uint64_t since)
{
    return session->handler.stop_signals && session_clock() >= since + milliseconds * 1000000;
}

/* Whether records are left out for want of time. Those of the end probes are left out only if the end is asked for once
 * more meanwhile. */
static bool is_in_haste(const struct session *session)
{
    if (session->interrupt->is_at_end)
        return session->handler.stop_signals > session->interrupt->stop_signals_before;
    return session->handler.stop_signals > 1 || has_had(session, RECORDS_MS, session->interrupt->asked_at);
}

bool interrupt_drops(struct session *session, const struct action *action)
{
    bool is_command = action->builtin->flags & BUILTIN_RUNS_COMMAND;
    if (is_command)
        session_interrupted(session);
    else
        look_now_and_then(session);
    if (is_in_haste(session) ||
        (is_command && session->handler.stop_signals && !session->interrupt->is_at_end)) {
        session->interrupt->unread++;
        return true;
    }
    bool is_unwritten = output_is_broken(session) && !session->interrupt->is_at_end;
    if (is_unwritten)
        output_count_unwritten(session);
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
    uint64_t since = session->interrupt->maps_at > session->interrupt->asked_at
                         ? session->interrupt->maps_at
                         : session->interrupt->asked_at;
    bool leaves = session->handler.stop_signals > 1 || has_had(session, NAMES_MS, since);
    session->interrupt->unnamed += leaves;
    return leaves;
}

void interrupt_records_begin(struct session *session)
{
    if (!session->interrupt->unread)
        session->interrupt->asked_at = session_clock();
}

void interrupt_end_begins(struct session *session)
{
    session->interrupt->is_at_end = true;
    session->interrupt->stop_signals_before =
        session->handler.stop_signals ? session->handler.stop_signals : 1;
}

void interrupt_maps_begin(struct session *session)
{
    session->interrupt->maps_at = session_clock();
}

static void report_passed_over(struct session *session, uint64_t count, const char *probes, const char *what)
{
    if (count && session->options.is_json && !output_is_broken(session)) {
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
    output_report_unwritten(session);
    report_passed_over(session, session->interrupt->unplayed, "trace probes, before the end",
                       "of recordings that were waiting to be read");
    if (session->interrupt->leaves_unplayed)
        session_report(session,
                       "WARNING: recordings were not read up to the end of the trace: events of them may be "
                       "missing, and how many is not known\nHINT: --duration leaves all the time that "
                       "reading needs\n");
    report_passed_over(session, session->interrupt->unread, "all probes, before the end",
                       "that were waiting to be printed or acted on");
    if (session->interrupt->unnamed && !session->options.is_json)
        session_report(session,
                       "WARNING: %llu names were not looked up: that takes long, and the trace "
                       "was to end\nHINT: exit() and --duration leave all the time that names need\n",
                       (unsigned long long)session->interrupt->unnamed);
}
