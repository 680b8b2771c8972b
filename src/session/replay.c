/* SPDX-License-Identifier: BSD-3-Clause */
/* A script over recordings: the same session, with the user-space host in the place of the kernel.
 *
 * Time is the recordings': `nsecs`, `elapsed` and intervals go by the time of the event that is at hand. What
 * an event's blocks print, and exit(), happens before the next event. Everything is in one thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reader/replay.h"
#include "session/state.h"

enum { LOOK_AROUND = 4096 /* events, or as long as they take */, SPENT = 256, PAUSE_NS = 20000000 };

struct replay_state { /* of the event at hand */
    struct recording *recording;
    const struct recording_event *event;
};

/* ---- which host ---- */

static const struct attach_point *find_point(const struct session *session,
                                             bool (*is)(const struct probe_kind *))
{
    for (const struct action_block *block = session->script->blocks; block; block = block->next)
        for (const struct attach_point *point = block->attach_points; point; point = point->next) {
            const char *name = point->piece_count ? point->pieces[0].text : NULL;
            const struct probe_kind *kind = name ? probe_kind_find(session->options.kinds, name) : NULL;
            if (kind && is(kind))
                return point;
        }
    return NULL;
}

static bool reads_recordings(const struct probe_kind *kind)
{
    return kind->reads_recordings;
}

static bool needs_kernel(const struct probe_kind *kind)
{
    return !kind->replays;
}

bool replay_is_wanted(const struct session *session)
{
    return session->options.without_kernel || session->options.recordings ||
           find_point(session, reads_recordings);
}

static int refuse_mixture(struct session *session, const struct attach_point *reader)
{
    const struct attach_point *point = find_point(session, needs_kernel);
    if (!point)
        return 0;
    diagnose_error(&session->diagnostics, point->place,
                   "%s needs the kernel, and this script runs without it", point->text);
    if (reader && reader->place.source) {
        struct position at = source_position(reader->place.source, reader->place.begin);
        diagnose_hint(
            &session->diagnostics,
            "%s at %s:%d:%d reads recordings; a script over recordings may have begin, end, interval and "
            "profile besides",
            reader->text, reader->place.source->name, (int)at.line, (int)at.column);
    } else {
        diagnose_hint(&session->diagnostics, "without -f FILE and --host vm it runs in the kernel");
    }
    return -EINVAL;
}

/* What begin and end see: this process, at the time that was reached. */
static void set_time(struct session *session, uint64_t time)
{
    struct vm_event event = {.time = time,
                             .pid = (uint32_t)getpid(),
                             .tid = (uint32_t)getpid(),
                             .comm = program_invocation_short_name};
    vm_event(session->vm, &event);
}

int replay_open_host(struct session *session)
{
    const struct session_options *options = &session->options;
    const struct attach_point *reader = find_point(session, reads_recordings);
    int error = refuse_mixture(session, reader);
    if (error)
        return error;
    if (options->command && (reader || options->recordings)) {
        diagnose_error(&session->diagnostics, reader ? reader->place : (struct place){0},
                       "-c does not go with recordings: they are opened before the command runs");
        diagnose_hint(&session->diagnostics, "start the command, then read what it records: -p PID");
        return -EINVAL;
    }
    if ((error = vm_open(NULL, &session->vm)))
        return error;
    session->host = vm_host(session->vm);
    if (options->without &&
        (error = features_without(&session->host->features, options->without, &session->diagnostics)))
        return error;
    session->features = session->host->features;
    if (!options->recordings && !reader)
        return 0;
    struct text why = {0};
    error = replay_open(options->recordings, options->pid_count ? (uint32_t)options->pids[0] : 0, &session->environment.replay, &why);
    if (error) {
        diagnose_error(&session->diagnostics, reader ? reader->place : (struct place){0}, "%s",
                       why.length ? text_string(&why) : strerror(-error));
        if (!options->recordings)
            diagnose_hint(&session->diagnostics, "-f FILE names a recording; without it the newest is read");
    } else {
        set_time(session, replay_start(session->environment.replay));
    }
    text_free(&why);
    return error;
}

void replay_close(struct session *session)
{
    replay_free(session->environment.replay);
    session->environment.replay = NULL;
}

/* ---- running ---- */

static void run_program(struct session *session, size_t program)
{
    struct place place = {0};
    int error = vm_run(session->vm, program, &place);
    if (!error)
        return;
    diagnose_error(&session->diagnostics, place, "A block was ended: %s", vm_error(error));
    session->actor.exit_requested = true; /* it would be so again, at the next event */
}

void replay_run_special(struct session *session, enum probe_time time)
{
    for (size_t i = 0; i < session->unit_count; i++)
        if (session->units[i].variant->kind->time == time) {
            if (vm_context(session->vm))
                memset(vm_context(session->vm), 0, sizeof(struct vm_context));
            run_program(session, session->units[i].program);
            session_consume_all(session);
        }
}

static bool event_text(void *opaque, unsigned which, struct vm_text *text)
{
    const struct replay_state *state = opaque;
    if (which < VM_WORDS) {
        const struct recording_tracepoint *tracepoint = state->event->tracepoint;
        if (which >= tracepoint->argument_count || tracepoint->arguments[which].kind != RECORDING_STRING)
            return false;
        struct recording_text found = recording_string(state->event, which); /* a null pointer: empty */
        *text = (struct vm_text){found.bytes, found.length};
        return true;
    }
    struct recording_owner owner;
    *text = (struct vm_text){"", 0};
    if (state->event->owner && recording_owner(state->recording, state->event, &owner))
        *text = (struct vm_text){owner.description, (uint32_t)owner.description_length};
    return true;
}

static uint64_t real_to_integer(uint64_t word)
{
    double value;
    memcpy(&value, &word, sizeof value);
    if (!(value > -9223372036854775808.0))
        return (uint64_t)INT64_MIN;
    return value < 9223372036854775808.0 ? (uint64_t)(int64_t)value : (uint64_t)INT64_MAX;
}

static void fill_context(struct vm_context *context, const struct replay_event *at)
{
    const struct recording_event *event = at->event;
    context->time = at->time;
    context->object = event->object;
    context->owner = event->owner;
    context->thread = event->thread;
    context->lifetime = context->since = context->related = 0;
    const struct object_step *step = at->step;
    if (step && step->own.type >= 0) {
        if (step->own.number != OBJECT_UNNUMBERED)
            context->lifetime = at->time - recording_time(at->recording, step->own.begun);
        if (step->before)
            context->since = at->time - recording_time(at->recording, step->before);
        if (step->related_count)
            context->related = step->related[0].id;
    }
    unsigned count = event->tracepoint->argument_count;
    for (unsigned i = 0; i < count; i++)
        context->words[i] = event->words[i];
    for (unsigned texts = at->tracepoint->texts; texts; texts &= texts - 1) {
        unsigned i = (unsigned)__builtin_ctz(texts);
        context->words[i] = vm_text_address(i);
    }
    for (unsigned reals = at->tracepoint->reals; reals; reals &= reals - 1) {
        unsigned i = (unsigned)__builtin_ctz(reals);
        context->words[i] = real_to_integer(event->words[i]);
    }
}

static void run_timers(struct session *session, uint64_t time)
{
    const struct replay_timer *timer;
    uint64_t when;
    while (!session->actor.exit_requested && !session->broken_output &&
           (timer = replay_due(session->environment.replay, time, &when))) {
        set_time(session, when);
        run_program(session, timer->program);
        session_deliver(session);
    }
}

/* What it took, in short events. */
static uint64_t run_event(struct session *session, const struct replay_event *at)
{
    uint64_t took = 1;
    struct replay_state state = {at->recording, at->event};
    struct vm_event *event = vm_event_here(session->vm);
    event->time = at->time ? at->time : 1; /* 0 would be now */
    event->pid = recording_model(at->recording)->pid;
    event->tid = at->event->thread;
    event->cpu = recording_is_spdk(at->recording) ? at->event->thread : 0;
    event->comm = at->event->thread_name;
    event->text = event_text;
    event->state = &state;
    fill_context(vm_context(session->vm), at);
    for (uint32_t i = 0; i < at->tracepoint->count; i++) {
        vm_context(session->vm)->site = at->tracepoint->listeners[i].site;
        run_program(session, at->tracepoint->listeners[i].program);
        if (vm_has_records(session->vm))
            session_deliver(session);
        took += vm_spent(session->vm) / SPENT;
        if (session->actor.exit_requested)
            break;
    }
    return took;
}

/* True: the trace is over. */
static bool run_events(struct session *session, uint64_t *time)
{
    struct replay_event event;
    uint64_t took = 0;
    int got;
    while ((got = replay_next(session->environment.replay, &event)) == 1) {
        *time = event.time;
        run_timers(session, event.time);
        if (!session->actor.exit_requested)
            took += run_event(session, &event);
        if (session->actor.exit_requested || session->broken_output)
            return true;
        if (took >= LOOK_AROUND) {
            took = 0;
            mishaps_tell(session, false);
            if (session_interrupted(session))
                return true;
        }
    }
    if (got < 0)
        diagnose_error(&session->diagnostics, (struct place){0}, "A recording cannot be read: %s",
                       strerror(-got));
    return got < 0;
}

static void tell_missing(struct session *session)
{
    const struct replay *replay = session->environment.replay;
    for (size_t i = 0; i < replay_count(replay) && !session->options.no_warnings; i++) {
        struct recording *recording = replay_recording(replay, i);
        struct recording_counts counts = recording_counts(recording);
        if (counts.overwritten)
            session_report(session, "WARNING: %s: %llu %s were overwritten before they were read\n",
                           recording_path(recording), (unsigned long long)counts.overwritten,
                           recording_is_spdk(recording) ? "entries" : "events");
        if (counts.lost)
            session_report(session, "WARNING: %s: %llu events could not be recorded by the program\n",
                           recording_path(recording), (unsigned long long)counts.lost);
        if (counts.damaged || counts.unknown)
            session_report(session,
                           "WARNING: %s: %llu damaged parts and %llu events of unknown tracepoints were "
                           "left out\n",
                           recording_path(recording), (unsigned long long)counts.damaged,
                           (unsigned long long)counts.unknown);
    }
}

void replay_loop(struct session *session)
{
    struct replay *replay = session->environment.replay;
    uint64_t time = session->replay_time;
    if (!replay || session->actor.exit_requested)
        return;
    if (session->image.follows_objects && replay_follow_objects(replay)) {
        diagnose_error(&session->diagnostics, (struct place){0}, "out of memory");
        return;
    }
    bool over = false;
    while (!over) {
        over = run_events(session, &time);
        session_consume_all(session);
        if (over || session_interrupted(session))
            break;
        uint64_t settled = replay_settled(replay);
        if (settled != UINT64_MAX && settled > time) {
            time = settled; /* nothing happened until then */
            run_timers(session, time);
            session_consume_all(session);
        }
        if (session->actor.exit_requested || session->broken_output || !replay_is_live(replay))
            break;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        int lives = replay_refresh(replay);
        if (lives < 0)
            diagnose_error(&session->diagnostics, (struct place){0}, "A recording cannot be read: %s",
                           strerror(-lives));
        if (lives <= 0)
            break;
    }
    session->replay_time = time;
    if (session->pauses)
        return;
    tell_missing(session);
    if (time)
        set_time(session, time);
}
