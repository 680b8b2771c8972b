/* SPDX-License-Identifier: BSD-3-Clause */
/* A script over recordings of living programs and over the kernel at once.
 *
 * The kernel runs all programs of the script, so that they share its maps. Programs of trace probes are attached to nothing:
 * spoor reads the recordings and has the kernel run the programs (BPF_PROG_TEST_RUN) for one event after the other, with
 * the event in the control page. What they send comes through a ring of their own, and is handled before the next event.
 *
 * Everything happens in the order of time. Recordings are read about 25 ms late, because their program may be about to
 * write, and records of other probes wait in the pump for as long. Invariant: when an event runs, every record with an
 * earlier time was handled, and none with a later one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/kernel_error.h"
#include "reader/replay.h"
#include "session/state.h"
#include "vm/vm.h"

enum { TEXT_MAX = 1024, COLLECT_AFTER = 256 /* events */, PAUSE_NS = 2000000 };
static const uint64_t PATIENCE =
    1000000000; /* ns: how long the end waits for a program that has stopped in the middle of an event */

struct live_replay {
    bool is_busy;  /* the last step had events */
    bool has_lost; /* the reader of a recording was lost: whether its program lives is not known any more */
    uint64_t horizon; /* records of the kernel up to this time may be handled; UINT64_MAX: all */
    /* When everything was attached: what was recorded before only counts for lifetimes. 0: nothing is attached yet. */
    uint64_t since;
    char texts[EVENT_WORDS + 1][TEXT_MAX + 8];
};

static int refuse(struct session *session, const char *why, const char *hint)
{
    const struct attach_point *point = replay_kernel_point(session);
    diagnose_error(&session->diagnostics, point->span, "%s does not go with trace probes here: %s",
                   point->text, why);
    diagnose_hint(&session->diagnostics, "%s", hint);
    return -EINVAL;
}

/* Checks that every recording is of a living program, with a clock that relates to the kernel's. */
static int check_recordings(struct session *session)
{
    const struct replay *replay = session->environment.replay;
    for (size_t i = 0; i < replay_count(replay); i++) {
        struct recording *recording = replay_recording(replay, i);
        const char *path = recording_path(recording);
        if (!recording_is_live(recording))
            return refuse(
                session, arena_printf(&session->arena, "the program of %s has ended", path),
                "the kernel tells what happens now; a script over what has happened may have trace, begin, "
                "end, interval and profile probes");
        if (recording_unrelated(recording))
            return refuse(session,
                          arena_printf(&session->arena, "when the events of %s are is not known: %s", path,
                                       recording_unrelated(recording)),
                          "without probes of the kernel it can be read");
    }
    return 0;
}

int live_replay_open(struct session *session)
{
    if (session->options.cgroup)
        return refuse(session,
                      "--cgroup does not go with trace probes: recordings do not say who is in a group",
                      "-p chooses processes");
    if (session->options.from_start)
        return refuse(session, "--from start takes what was recorded before the kernel was asked",
                      "without probes of the kernel it can be read");
    session->live_replay = calloc(1, sizeof *session->live_replay);
    if (!session->live_replay)
        return -ENOMEM;
    session->live_replay->horizon = UINT64_MAX;
    session->environment.is_live_replay = true;
    int error = replay_open_recordings(session);
    return error ? error : check_recordings(session);
}

int live_replay_check(struct session *session)
{
    int error = 0;
    for (size_t i = 0; !error && i < session->units.count; i++)
        if (session->units.items[i].variant->kind->reads_recordings)
            error = vm_check_calls(&session->image.programs[session->units.items[i].program],
                                   "not the one that recorded is asked when the event is read",
                                   &session->diagnostics);
    return error;
}

void live_replay_close(struct session *session)
{
    free(session->live_replay);
    session->live_replay = NULL;
}

/* ---- events ---- */

static uint64_t copy_text(struct live_replay *live_replay, const struct replay_event *at, unsigned which)
{
    struct vm_text text = {"", 0};
    char *copy = live_replay->texts[which];
    replay_text(at, which, &text);
    size_t length = text.length < TEXT_MAX ? text.length : TEXT_MAX;
    memcpy(copy, text.bytes, length);
    memset(copy + length, 0, sizeof live_replay->texts[which] - length);
    return (uintptr_t)copy;
}

static void run_event(struct session *session, const struct replay_event *at)
{
    const struct host_operations *host = session->host->operations;
    struct image_event *event = &host->control(session->host)->event;
    replay_fill(session, event, at);
    for (unsigned texts = at->tracepoint->texts; texts; texts &= texts - 1) {
        unsigned which = (unsigned)__builtin_ctz(texts);
        event->words[which] = copy_text(session->live_replay, at, which);
    }
    event->owner_name = session->image.names_owners ? copy_text(session->live_replay, at, VM_TEXT_OWNER) : 0;
    for (uint32_t i = 0; i < at->tracepoint->count && !session->handler.exit_requested; i++) {
        event->site = at->tracepoint->listeners[i].site;
        int error = host->run(session->host, at->tracepoint->listeners[i].program);
        if (error) {
            diagnose_error(&session->diagnostics, (struct span){0},
                           "The kernel does not run a trace probe: %s", kernel_error(error));
            session->handler.exit_requested = true; /* the next event would fail in the same way */
        }
        session_deliver_own(session);
    }
}

/* Runs the programs for the events that are there, up to the time `until`. */
static void run_events(struct session *session, uint64_t until)
{
    struct replay *replay = session->environment.replay;
    struct replay_event event;
    int got = 0;
    for (unsigned count = 0; replay_horizon(replay) <= until && (got = replay_next(replay, &event)) == 1;) {
        if (event.time < session->live_replay->since || event.time > until)
            continue;
        session_release(session, event.time);
        if (session->handler.exit_requested || output_is_broken(session))
            return;
        run_event(session, &event);
        session->live_replay->is_busy = true;
        if (++count % COLLECT_AFTER)
            continue;
        session_collect(session);
        if (until == UINT64_MAX ? session_interrupted(session) : interrupt_cuts(session))
            return; /* live_replay_finish() reads the rest, or passes over it */
    }
    if (got < 0) {
        diagnose_error(&session->diagnostics, (struct span){0}, "A recording cannot be read: %s",
                       strerror(-got));
        session->handler.exit_requested = true;
    }
}

/* Reads what was recorded before the trace, from which lifetimes of objects are known. What of it was overwritten is not
 * reported. */
static int read_history(struct session *session)
{
    struct replay *replay = session->environment.replay;
    session->live_replay->since = session->host->operations->clock(session->host);
    int lives = replay_refresh(replay);
    run_events(session, session->live_replay->since);
    replay_forget_overwritten(session);
    return lives < 0 ? lives : 0;
}

uint64_t live_replay_horizon(const struct session *session)
{
    return session->live_replay ? session->live_replay->horizon : UINT64_MAX;
}

/* Whether the answer of a process that reads a recording is no longer waited for, after which nothing more comes of it. */
static bool leaves(void *session)
{
    return interrupt_cuts(session) && replay_leaves_rest(session);
}

int live_replay_begin(struct session *session)
{
    if (!session->live_replay)
        return 0;
    replay_may_leave(session->environment.replay, leaves, session);
    int error = pump_start(session, NULL);
    if (!error && session->image.follows_objects)
        error = replay_follow_objects(session->environment.replay);
    session->live_replay->horizon = 0;
    return error || session->options.command ? error : read_history(session);
}

/* Reports recordings whose readers have died, or were ended because they lied. The trace goes on without them. */
static void report_lost(struct session *session)
{
    const struct recording *recording;
    while ((recording = replay_take_lost(session->environment.replay))) {
        session->live_replay->has_lost = true;
        session_report(session,
                       "WARNING: %s: the process that read it was lost after %llu events; what else it has "
                       "recorded and will record is missing\n",
                       recording_path(recording), (unsigned long long)recording_counts(recording).events);
    }
}

bool live_replay_step(struct session *session, uint64_t until)
{
    struct replay *replay = session->environment.replay;
    int lives = replay_refresh(replay);
    if (lives < 0) {
        diagnose_error(&session->diagnostics, (struct span){0}, "A recording cannot be read: %s",
                       strerror(-lives));
        return true;
    }
    session->live_replay->is_busy = false;
    /* after the refresh: then all records that are older than its events are in the pump */
    session_collect(session);
    run_events(session, until);
    uint64_t horizon = replay_horizon(replay);
    session->live_replay->horizon = horizon < until ? horizon : until;
    session_release(session, session->live_replay->horizon);
    report_lost(session);
    return !lives && !session->live_replay->has_lost;
}

bool live_replay_is_busy(const struct session *session)
{
    return session->live_replay->is_busy;
}

/* Reports how exact the order between recorded events and those of the kernel is. */
static void report_relations(struct session *session)
{
    const struct replay *replay = session->environment.replay;
    for (size_t i = 0; i < replay_count(replay); i++) {
        const struct recording *recording = replay_recording(replay, i);
        struct text note = {0};
        if (!recording_is_spdk(recording))
            continue;
        recording_describe_relation(recording, &note);
        session_report(session, "NOTE: %s: %s\n", recording_path(recording), text_string(&note));
        text_free(&note);
    }
}

/* Programs that the kernel attaches have been stopped; events of recordings until now are still to be read. */
void live_replay_finish(struct session *session)
{
    const struct host_operations *host = session->host->operations;
    uint64_t end = host->clock(session->host);
    if (!session->live_replay || !session->pump)
        return; /* there is nothing to finish, or it was not begun */
    while (!session->handler.exit_requested && !output_is_broken(session) &&
           !live_replay_step(session, end) && session->live_replay->horizon < end &&
           !interrupt_cuts(session) &&
           (session->live_replay->is_busy || host->clock(session->host) < end + PATIENCE))
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    if (!session->handler.exit_requested && !output_is_broken(session))
        replay_pass_over(session, session->live_replay->since, end);
    session->live_replay->horizon = UINT64_MAX;
    replay_report_missing(session);
    report_relations(session);
}
