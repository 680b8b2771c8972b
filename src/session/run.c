/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a trace: it begins, goes round its loop, and ends. Beginning and ending are tables of steps. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "session/state.h"

enum {
    WAIT_SHORTEST_MS = 1, /* between looks at the rings: doubles while nothing comes */
    WAIT_MAX_MS = 20,
    GATHER_NS = 200000,
};

/* ---- the beginning ---- */

static int watch_names(struct session *session)
{
    names_watch(session);
    return 0;
}

static int start_command(struct session *session)
{
    bool runs = !session->options.command || session->target.child.pid;
    return runs ? 0 : child_start(session);
}

/* Sets what programs read of the trace. */
static int fill_control(struct session *session)
{
    struct image_control *control = session->host->operations->control(session->host);
    if (!control)
        return 0;
    control->start = session->host->operations->clock(session->host);
    if (session->options.command)
        control->child = (uint64_t)session->target.child.pid;
    return 0;
}

/* What they print is kept until the line that says how many probes are attached. */
static int run_begin_probes(struct session *session)
{
    output_hold(session, true);
    special_run(session, PROBE_AT_BEGIN);
    session_consume(session, true);
    return 0;
}

static void leave_kernel(struct session *session)
{
    if (session->kernel)
        kernel_leave(session->kernel);
}

static int release_command(struct session *session)
{
    return session->options.command ? child_release(session) : 0;
}

/* The steps of the beginning. The first one that fails is the last: nothing is undone there. However a trace ends - by
 * itself, by an error, or because memory ran out - cancel() undoes all steps in the opposite order, and undoing one that was
 * not reached does nothing. */
static const struct {
    /* Returns 0, or -errno with a diagnostic; -EINTR: the user asks for the end. */
    int (*run)(struct session *session);
    void (*undo)(struct session *session);
    bool unless_exit; /* left out when a begin probe has called exit() */
} beginning[] = {
    {interrupt_begin, NULL, false},
    {records_begin, NULL, false},
    {runtime_errors_begin, NULL, false},
    {limits_memory, NULL, false},
    {session_load, NULL, false},
    {watch_names, NULL, false},
    {start_command, child_end, false},
    {fill_control, NULL, false},
    {unwind_begin, NULL, false},
    {run_begin_probes, special_join, false},
    {target_begin, NULL, true},
    {session_attach, leave_kernel, true},
    {target_attached, NULL, true},
    {session_count_time, NULL, false},
    {grow_begin, NULL, true},
    {live_replay_begin, NULL, true},
    /* Before there are threads, which would keep theirs. */
    {rights_settle, NULL, false},
    {special_start_timers, special_stop_timers, false},
    {release_command, NULL, true},
};
enum { BEGINNING = sizeof beginning / sizeof *beginning };

static int cancel(void *session)
{
    for (size_t i = BEGINNING; i-- > 0;)
        if (beginning[i].undo)
            beginning[i].undo(session);
    return 0;
}

static bool has_events(const struct session *session)
{
    for (size_t i = 0; i < session->units.count; i++)
        if (session->units.items[i].variant->kind->time == PROBE_EVENT ||
            session->units.items[i].variant->kind->time == PROBE_AT_SIGNAL)
            return true;
    return grow_is_on(session);
}

static int begin(struct session *session)
{
    const size_t reported = session->diagnostics.count;
    int error = 0;
    for (size_t i = 0; i < BEGINNING && !error; i++)
        if (!beginning[i].unless_exit || !session->handler.exit_requested)
            error = beginning[i].run(session);
    if (error == -EINTR) {
        session->is_over = true;
        return 0;
    }
    if (error)
        return error;
    pump_run(session);
    replay_begin(session);
    session_report_left_out(session, reported);
    session_report_attached(session);
    limits_time(session, true);
    special_run(session, PROBE_ITERATE);
    bench_run(session);
    session->is_over |= !replay_runs_programs(session) && !has_events(session);
    return 0;
}

/* ---- the loop ---- */

/* Sleeps until something may have happened. True: the trace is over. */
static bool wait_for_events(struct session *session, int wait_ms)
{
    enum { SIGNALS, RINGS, MAPPINGS, PROCESS, CHILD, COUNT };
    struct pollfd descriptors[COUNT] = {
        [SIGNALS] = {interrupt_descriptor(session), POLLIN, 0},
        [RINGS] = {session->host->operations->descriptor(session->host), POLLIN, 0},
        [MAPPINGS] = {unwind_descriptor(session), POLLIN, 0},
        [PROCESS] = {-1, POLLIN, 0},
        [CHILD] = {-1, POLLIN, 0},
    };
    target_descriptors(session, &descriptors[PROCESS].fd, &descriptors[CHILD].fd);
    poll(descriptors, COUNT, wait_ms);
    if (descriptors[MAPPINGS].revents) /* a program that starts maps several files within this time */
        nanosleep(&(struct timespec){.tv_nsec = GATHER_NS}, NULL);
    if (descriptors[SIGNALS].revents && session_interrupted(session))
        return true;
    return descriptors[PROCESS].revents || descriptors[CHILD].revents || target_has_ended(session);
}

bool session_is_over(const struct session *session)
{
    return session->is_over || interrupt_is_asked(session) || session->handler.exit_requested ||
           output_is_broken(session);
}

static int iterate(struct session *session, int wait_ms)
{
    names_remember(session);
    session->is_over |= wait_for_events(session, wait_ms);
    while (interrupt_take_sigusr1(session))
        special_run(session, PROBE_AT_SIGNAL);
    if (session->live_replay)
        session->is_over |= live_replay_step(session, UINT64_MAX);
    int count = session_consume(session, false);
    observe_passing(session, false);
    grow_look(session);
    unwind_look(session);
    special_look_at_timers(session);
    return count;
}

static void loop(struct session *session)
{
    int wait_ms = WAIT_SHORTEST_MS;
    while (!session_is_over(session)) {
        int count = iterate(session, wait_ms);
        if (count > 0 || (session->live_replay && live_replay_is_busy(session)))
            wait_ms = WAIT_SHORTEST_MS;
        else if (wait_ms < WAIT_MAX_MS)
            wait_ms *= 2;
    }
}

/* ---- the end ---- */

static void release_output(struct session *session)
{
    output_hold(session, false);
}

static void stop_duration(struct session *session)
{
    limits_time(session, false);
}

static void await_programs(struct session *session)
{
    if (session->kernel)
        kernel_await_programs(session->kernel);
}

static void drain(struct session *session)
{
    session_consume(session, true);
}

static void observe_end(struct session *session)
{
    observe_passing(session, true);
}

static void run_end_probes(struct session *session)
{
    special_run(session, PROBE_AT_END);
}

static void report_last_errors(struct session *session)
{
    runtime_errors_report(session, true);
}

static void report_disorder(struct session *session)
{
    uint64_t disorder = session->host->operations->disorder(session->host);
    if (disorder && !session->options.no_warnings && !session->options.is_json)
        session_report(session, "WARNING: %llu records came too late to be printed in the order of time\n",
                       (unsigned long long)disorder);
}

/* With -v: how often programs ran, where the kernel counts that. */
static void report_runs(struct session *session)
{
    for (size_t i = 0; i < session->units.count && session->options.is_verbose; i++) {
        const struct session_unit *unit = &session->units.items[i];
        struct host_runs runs = session->host->operations->runs(session->host, unit->program);
        if (runs.count)
            session_report(session, "%s: %llu runs, %llu ns each\n", unit->variant->sites[0].name,
                           (unsigned long long)runs.count, (unsigned long long)(runs.ns / runs.count));
    }
}

/* The steps of an end that no error and no lack of memory has brought; then cancel(). Programs stop first, so that what
 * they have sent is all there is; end probes run when it has been handled, and then maps are printed. */
static void (*const ending[])(struct session *session) = {
    release_output,
    child_settle,
    stop_duration,
    special_stop_timers,
    special_stop,
    await_programs,
    interrupt_records_begin,
    runtime_errors_count_skipped,
    live_replay_finish,
    drain,
    observe_end,
    interrupt_end_begins,
    run_end_probes,
    drain,
    interrupt_maps_begin,
    maps_print,
    report_last_errors,
    interrupt_report,
    names_advise,
    report_disorder,
    report_runs,
};

static void end(struct session *session)
{
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        ending[i](session);
}

static int run(void *state)
{
    struct session *session = state;
    int error = begin(session);
    if (error)
        return error;
    if (replay_runs_programs(session) && !session_is_over(session))
        replay_loop(session);
    else
        loop(session);
    end(session);
    return 0;
}

static int clean_up(void *state)
{
    struct session *session = state;
    cancel(session);
    output_hold(session, false);
    session_flush(session);
    return 0;
}

static int leave(struct session *session, int error, int *status)
{
    int later = session_guarded(session, clean_up, session);
    *status = session->handler.exit_code ? session->handler.exit_code : session_test_has_failed(session);
    if (!error)
        error = later;
    return session->diagnostics.errors && !error ? -EIO : error;
}

int session_run(struct session *session, int *status)
{
    return leave(session, session_guarded(session, run, session), status);
}

/* ---- the same in steps ---- */

static int begin_guarded(void *session)
{
    return begin(session);
}

int session_begin(struct session *session)
{
    int error = session_guarded(session, begin_guarded, session);
    if (error)
        session_guarded(session, cancel, session);
    return session->diagnostics.errors && !error ? -EIO : error;
}

struct iteration {
    struct session *session;
    int wait_ms;
};

static int iterate_guarded(void *state)
{
    const struct iteration *iteration = state;
    struct session *session = iteration->session;
    if (!replay_runs_programs(session))
        return iterate(session, iteration->wait_ms);
    interrupt_pause_at(session, session_clock() + (uint64_t)iteration->wait_ms * 1000000);
    replay_loop(session);
    session->is_over |= !interrupt_end_pause(session);
    return 0;
}

int session_iterate(struct session *session, int wait_ms)
{
    struct iteration iteration = {session, wait_ms};
    int count = session_is_over(session) ? 0 : session_guarded(session, iterate_guarded, &iteration);
    session->is_over |= count == -ENOMEM;
    return count;
}

static int end_guarded(void *session)
{
    end(session);
    return 0;
}

int session_end(struct session *session, int *status)
{
    return leave(session, session_guarded(session, end_guarded, session), status);
}

void session_leave(struct session *session)
{
    if (!session->host)
        return;
    output_discard(session);
    special_stop(session);
    session_guarded(session, clean_up, session);
}
