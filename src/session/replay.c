/* SPDX-License-Identifier: BSD-3-Clause */
/* A script over recordings: the same session, with the user-space host in the place of the kernel.
 *
 * Time is that of the recordings: `nsecs`, `elapsed` and intervals go by the time of the present event. What the blocks of
 * an event print, and exit(), takes effect before the next event. One thread does everything. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "reader/replay.h"
#include "session/compiler.h"
#include "session/state.h"
#include "vm/vm.h"

enum {
    LOOK_AROUND = 4096 /* how many short events, or work of the same amount, between two looks at signals */,
    SPENT = 256,
    PAUSE_NS = 20000000,
    /* Passing over ends when nothing has come for so long, on a machine that is very busy; and in any case, because a
     * program may record without end what has been. */
    PASS_OVER_MS = 2000,
    PASS_OVER_MOST_MS = 15000
};

struct replay_run {
    struct vm *vm;                       /* NULL where the kernel runs the programs */
    uint64_t monotonic_ahead, tai_ahead; /* how far these clocks are ahead of the boot clock: ns */
    uint64_t time;                       /* the time that was reached in the recordings: ns */
    /* Events before this time or, if the recording's clock is its own, this counter are passed over, but for lifetimes. Both are
     * 0 where all events count. */
    uint64_t since, since_stamp;
    bool has_few_rights;   /* what reading does not take was given up */
    uint64_t *overwritten; /* events that each recording had lost before the trace began; or NULL */
    /* Since there is no time left for events: since when, and when some came last, on session_clock(). */
    uint64_t passing, came;
};

void replay_run_open(struct session *session)
{
    session->replay = arena_new(&session->arena, struct replay_run);
}

bool replay_runs_programs(const struct session *session)
{
    return session->replay->vm != NULL;
}

bool session_is_replay(const struct session *session)
{
    return session->replay->vm && session->environment.replay;
}

/* ---- which host ---- */

static const struct attach_point *find_point(const struct session *session,
                                             bool (*is)(const struct probe_kind *))
{
    for (const struct action_block *block = session->compiler->script->blocks; block; block = block->next)
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

const struct attach_point *replay_kernel_point(const struct session *session)
{
    return find_point(session, needs_kernel);
}

bool live_replay_is_needed(const struct session *session)
{
    return !session->options.without_kernel && find_point(session, reads_recordings) &&
           replay_kernel_point(session);
}

static int refuse_mixture(struct session *session, const struct attach_point *reader)
{
    const struct attach_point *point = find_point(session, needs_kernel);
    if (!point)
        return 0;
    diagnose_error(&session->diagnostics, point->span, "%s needs the kernel, and this script runs without it",
                   point->text);
    if (reader && reader->span.source) {
        struct position at = source_position(reader->span.source, reader->span.begin);
        diagnose_hint(
            &session->diagnostics,
            "%s at %s:%d:%d reads recordings; a script over recordings may have begin, end, interval and "
            "profile besides",
            reader->text, reader->span.source->name, (int)at.line, (int)at.column);
    } else {
        diagnose_hint(&session->diagnostics, "without -f FILE and --host vm it runs in the kernel");
    }
    return -EINVAL;
}

/* Sets the event that the blocks of begin and end see: spoor's process, at the given time of the recordings. */
static void set_time(struct session *session, uint64_t time)
{
    struct vm_event event = {.time = time,
                             .pid = (uint32_t)getpid(),
                             .tid = (uint32_t)getpid(),
                             .comm = program_invocation_short_name};
    vm_event(session->replay->vm, &event);
}

/* ---- what was recorded before ---- */

/* Decides where the trace begins: now, if all recordings are of programs that live, unless --from start or -c asks for
 * all of it. Returns the time of the beginning. */
static uint64_t begin_history(struct session *session)
{
    struct replay *replay = session->environment.replay;
    const size_t count = replay_count(replay);
    bool all_live = !session->options.from_start && !session->options.command;
    for (size_t i = 0; i < count; i++)
        all_live = all_live && recording_is_live(replay_recording(replay, i));
    if (!all_live)
        return replay_start(replay);
    /* The rings are looked at: what of them was overwritten until now is not missed. */
    replay_horizon(replay);
    replay_forget_overwritten(session);
    if (!recording_unrelated(replay_recording(replay, 0)))
        return session->replay->since = clock_ns(CLOCK_BOOTTIME);
    session->replay->since_stamp = recording_counter_now();
    return replay_start(replay); /* it is the only one, and counts from its first event */
}

static bool begins_now(const struct session *session)
{
    return session->replay->since || session->replay->since_stamp;
}

static bool is_history(const struct session *session, const struct replay_event *event)
{
    return event->time < session->replay->since || event->event->stamp < session->replay->since_stamp;
}

static void report_history(struct session *session)
{
    const struct replay *replay = session->environment.replay;
    const struct session_options *options = &session->options;
    for (size_t i = 0; i < replay_count(replay); i++)
        if (begins_now(session) && !options->is_quiet && !options->is_json)
            session_report(session, "Reading %s from now on; --from start begins with what it holds\n",
                           recording_path(replay_recording(replay, i)));
}

int replay_open_host(struct session *session)
{
    const struct session_options *options = &session->options;
    const struct attach_point *reader = find_point(session, reads_recordings);
    int error = refuse_mixture(session, reader);
    if (error)
        return error;
    if ((error = vm_open(NULL, &session->replay->vm)))
        return error;
    session->host = vm_host(session->replay->vm);
    if (options->without &&
        (error = features_without(&session->host->features, options->without, &session->diagnostics)))
        return error;
    session->environment.features = session->host->features;
    if (!options->recordings && !reader)
        return 0;
    if (!(error = replay_open_recordings(session)))
        set_time(session, begin_history(session));
    return error;
}

static void close_recordings(struct session *session)
{
    replay_free(session->environment.replay);
    session->environment.replay = NULL;
}

/* Where the kernel takes part, processes of their own read the recordings. */
static void give_up_rights(struct session *session)
{
    if (session->environment.is_live_replay || session->replay->has_few_rights)
        return;
    session->replay->has_few_rights = true;
    rights_to_read(session);
}

/* Opens the recording of the command, once it has one that declares a tracepoint. */
static int open_of_command(struct session *session)
{
    struct replay **replay = &session->environment.replay;
    struct text why = {0};
    give_up_rights(session); /* the command runs already */
    int error =
        replay_open(NULL, &session->target.child.pid, 1, session->environment.is_live_replay, replay, &why);
    if (!error && !recording_model(replay_recording(*replay, 0))->tracepoint_room)
        close_recordings(session);
    text_free(&why);
    return session->environment.replay ? 0 : -ENOENT;
}

int replay_open_recordings(struct session *session)
{
    const struct session_options *options = &session->options;
    const struct attach_point *reader = find_point(session, reads_recordings);
    struct text why = {0};
    int error;
    session->replay->monotonic_ahead = (uint64_t)clock_ahead(CLOCK_MONOTONIC);
    session->replay->tai_ahead = (uint64_t)clock_ahead(CLOCK_TAI);
    if (options->command && options->recordings) {
        diagnose_error(&session->diagnostics, (struct span){0},
                       "-c and a recording are two answers to one question");
        diagnose_hint(&session->diagnostics, "with -c the command's own recording is read");
        return -EINVAL;
    }
    if (options->command)
        return child_run_until(session, open_of_command);
    give_up_rights(session);
    error = replay_open(options->recordings, options->pids, options->pid_count,
                        session->environment.is_live_replay, &session->environment.replay, &why);
    if (error) {
        diagnose_error(&session->diagnostics, reader ? reader->span : (struct span){0}, "%s",
                       why.length ? text_string(&why) : strerror(-error));
        if (!options->recordings)
            diagnose_hint(&session->diagnostics, "-f FILE names a recording; without it the newest is read");
    }
    text_free(&why);
    return error;
}

void replay_run_close(struct session *session)
{
    close_recordings(session);
}

void replay_forget_overwritten(struct session *session)
{
    struct replay *replay = session->environment.replay;
    size_t count = replay_count(replay);
    session->replay->overwritten = arena_array(&session->arena, count, sizeof(uint64_t));
    for (size_t i = 0; i < count; i++)
        session->replay->overwritten[i] = recording_counts(replay_recording(replay, i)).overwritten;
}

/* ---- running ---- */

static void run_program(struct session *session, size_t program)
{
    struct span span = {0};
    int error = vm_run(session->replay->vm, program, &span);
    if (!error)
        return;
    diagnose_error(&session->diagnostics, span, "A block was ended: %s", vm_error(error));
    session->handler.exit_requested = true; /* the next event would fail in the same way */
}

void replay_run_special(struct session *session, enum probe_time time)
{
    for (size_t i = 0; i < session->units.count; i++)
        if (session->units.items[i].variant->kind->time == time) {
            if (vm_context(session->replay->vm))
                memset(vm_context(session->replay->vm), 0, sizeof(struct image_event));
            run_program(session, session->units.items[i].program);
            session_consume(session, true);
        }
}

bool replay_text(const struct replay_event *at, unsigned which, struct vm_text *text)
{
    const struct recording_event *event = at->event;
    if (which < EVENT_WORDS) {
        const struct recording_tracepoint *tracepoint = event->tracepoint;
        if (which >= tracepoint->argument_count || tracepoint->arguments[which].kind != RECORDING_STRING)
            return false;
        struct recording_text found = recording_string(event, which); /* empty for a null pointer */
        *text = (struct vm_text){found.bytes, found.length};
        return true;
    }
    struct recording_owner owner;
    *text = (struct vm_text){"", 0};
    if (event->owner && recording_owner(at->recording, event, &owner))
        *text = (struct vm_text){owner.description, (uint32_t)owner.description_length};
    return true;
}

static bool event_text(void *state, unsigned which, struct vm_text *text)
{
    return replay_text(state, which, text);
}

static uint64_t real_to_integer(uint64_t word)
{
    double value;
    memcpy(&value, &word, sizeof value);
    if (!(value > -9223372036854775808.0))
        return (uint64_t)INT64_MIN;
    return value < 9223372036854775808.0 ? (uint64_t)(int64_t)value : (uint64_t)INT64_MAX;
}

void replay_fill(const struct session *session, struct image_event *to, const struct replay_event *at)
{
    const struct recording_event *event = at->event;
    to->time = at->time;
    to->monotonic = at->time + session->replay->monotonic_ahead;
    to->tai = at->time + session->replay->tai_ahead;
    to->object = event->object;
    to->owner = event->owner;
    to->thread = event->thread;
    to->lifetime = to->since = to->related = to->unknown = 0;
    const struct object_step *step = at->step;
    if (step && step->own->type >= 0) {
        if (step->own->number == OBJECT_UNNUMBERED)
            to->unknown |= EVENT_LIFETIME;
        else if (session->image.reads_lifetime)
            to->lifetime = at->time - recording_time(at->recording, step->own->begun);
        if (step->is_first && !step->begins)
            to->unknown |= EVENT_SINCE;
        if (session->image.reads_since && step->before)
            to->since = at->time - recording_time(at->recording, step->before);
        if (step->related_count)
            to->related = step->related[0].id;
    }
    unsigned count = event->tracepoint->argument_count;
    for (unsigned i = 0; i < count; i++)
        to->words[i] = event->words[i];
    for (unsigned reals = at->tracepoint->reals; reals; reals &= reals - 1) {
        unsigned i = (unsigned)__builtin_ctz(reals);
        to->words[i] = real_to_integer(event->words[i]);
    }
    to->pid_tid = (uint64_t)recording_model(at->recording)->pid << 32 | event->thread;
    to->cpu = recording_is_spdk(at->recording) ? event->thread : 0;
    _Static_assert(sizeof to->comm == RECORDING_NAME, "names of threads are as long as the kernel's");
    memcpy(to->comm, event->thread_name, sizeof to->comm);
}

static void run_timers(struct session *session, uint64_t time)
{
    const struct replay_timer *timer;
    uint64_t when;
    if (!replay_has_timers(session->environment.replay))
        return;
    while (!session->handler.exit_requested && !output_is_broken(session) &&
           (timer = replay_due(session->environment.replay, time, &when))) {
        set_time(session, when);
        run_program(session, timer->program);
        session_deliver(session);
    }
}

/* Runs the programs for an event. Returns what that took, counted in short events. */
static uint64_t run_event(struct session *session, const struct replay_event *at)
{
    uint64_t took = 1;
    struct image_event *context = vm_context(session->replay->vm);
    struct vm_event *event = vm_event_here(session->replay->vm);
    replay_fill(session, context, at);
    event->time = at->time ? at->time : 1; /* 0 would mean the present time */
    event->pid = (uint32_t)(context->pid_tid >> 32);
    event->tid = (uint32_t)context->pid_tid;
    event->cpu = (uint32_t)context->cpu;
    event->comm = at->event->thread_name;
    event->text = event_text;
    event->state = (void *)at;
    for (unsigned texts = at->tracepoint->texts; texts; texts &= texts - 1) {
        unsigned which = (unsigned)__builtin_ctz(texts);
        context->words[which] = vm_text_address(which);
    }
    context->owner_name = vm_text_address(VM_TEXT_OWNER);
    for (uint32_t i = 0; i < at->tracepoint->count; i++) {
        context->site = at->tracepoint->listeners[i].site;
        run_program(session, at->tracepoint->listeners[i].program);
        if (vm_has_records(session->replay->vm))
            session_deliver(session);
        took += vm_spent(session->replay->vm) / SPENT;
        if (session->handler.exit_requested)
            break;
    }
    return took;
}

/* Runs the programs for the events that are there, up to the time `until`; UINT64_MAX: until a signal asks for the
 * end. True: the trace is over. */
static bool run_events(struct session *session, uint64_t *time, uint64_t until)
{
    bool is_last = until != UINT64_MAX;
    struct replay_event event;
    uint64_t took = 0;
    int got;
    while ((got = replay_next(session->environment.replay, &event)) == 1) {
        if (event.time > until)
            return true;
        if (is_history(session, &event)) {
            if (++took >= LOOK_AROUND && session_interrupted(session))
                return true;
            took %= LOOK_AROUND;
            continue;
        }
        *time = event.time;
        run_timers(session, event.time);
        if (!session->handler.exit_requested)
            took += run_event(session, &event);
        if (session->options.observer)
            observe_passing(session, false);
        if (session->handler.exit_requested || output_is_broken(session) ||
            (interrupt_is_asked(session) && !is_last))
            return true;
        if (took >= LOOK_AROUND) {
            took = 0;
            runtime_errors_report(session, false);
            if (is_last ? interrupt_cuts(session) : session_interrupted(session))
                return true;
        }
    }
    if (got < 0)
        diagnose_error(&session->diagnostics, (struct span){0}, "A recording cannot be read: %s",
                       strerror(-got));
    return got < 0;
}

void replay_report_missing(struct session *session)
{
    const struct replay *replay = session->environment.replay;
    for (size_t i = 0; i < replay_count(replay); i++) {
        struct recording *recording = replay_recording(replay, i);
        struct recording_counts counts = recording_counts(recording);
        counts.overwritten -= session->replay->overwritten ? session->replay->overwritten[i] : counts.older;
        if (counts.read_error)
            diagnose_error(&session->diagnostics, (struct span){0},
                           "%s could not be read everywhere, and events are missing: %s",
                           recording_path(recording), strerror(counts.read_error));
        struct text older = {0};
        if (!session->replay->overwritten)
            recording_describe_older(recording, &older);
        if (older.length)
            session_report(session, "NOTE: %s: %s\n", recording_path(recording), text_string(&older));
        text_free(&older);
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

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

bool replay_leaves_rest(struct session *session)
{
    struct replay_run *run = session->replay;
    const uint64_t now = session_clock();
    session_interrupted(session);
    if (!run->passing)
        run->passing = run->came = now;
    return session->handler.stop_signals > 1 || now > run->came + PASS_OVER_MS * UINT64_C(1000000) ||
           now > run->passing + PASS_OVER_MOST_MS * UINT64_C(1000000);
}

/* Passes over events up to `until`. Returns whether that was all of them. */
static bool pass_over(struct session *session, uint64_t since, uint64_t until)
{
    struct replay *replay = session->environment.replay;
    struct replay_event event;
    for (int lives = 1;;) {
        int got;
        uint64_t count = 0;
        while ((got = replay_next(replay, &event)) == 1 && event.time <= until) {
            if (event.time >= since)
                interrupt_count_unplayed(session);
            if (++count % LOOK_AROUND == 0)
                session->replay->came = session_clock();
        }
        if (got < 0 || lives < 0)
            return false;
        if (got || !lives || replay_settled(replay) >= until)
            return !replay_take_lost(replay);
        if (count)
            session->replay->came = session_clock();
        if (replay_leaves_rest(session))
            return false;
        wait_a_little();
        lives = replay_refresh(replay);
    }
}

void replay_pass_over(struct session *session, uint64_t since, uint64_t until)
{
    session->replay->passing = 0;
    if (!pass_over(session, since, until))
        interrupt_leave_unplayed(session);
}

/* Called when the end was asked for while programs record: reads the events until now, as far as time permits. */
static void finish(struct session *session, uint64_t *time)
{
    struct replay *replay = session->environment.replay;
    const uint64_t end = clock_ns(CLOCK_BOOTTIME);
    bool over = !replay_is_live(replay);
    while (!over && !interrupt_cuts(session)) {
        over = run_events(session, time, end) || replay_settled(replay) >= end;
        session_consume(session, true);
        if (over)
            break;
        wait_a_little();
        over = replay_refresh(replay) < 0;
    }
    if (replay_is_live(replay) && !session->handler.exit_requested && !output_is_broken(session))
        replay_pass_over(session, session->replay->since, end);
}

void replay_begin(struct session *session)
{
    struct replay *replay = session->environment.replay;
    if (replay && replay_keep_up(replay)) /* then recordings are read only between events */
        session_report(session, "WARNING: no thread can be made that keeps up with recordings\n");
    if (replay && session->replay->vm)
        report_history(session);
}

void replay_loop(struct session *session)
{
    struct replay *replay = session->environment.replay;
    uint64_t time = session->replay->time;
    if (!replay || session->handler.exit_requested)
        return;
    if (session->image.follows_objects && replay_follow_objects(replay)) {
        diagnose_error(&session->diagnostics, (struct span){0}, "out of memory");
        return;
    }
    bool over = false;
    while (!over) {
        over = run_events(session, &time, UINT64_MAX);
        session_consume(session, true);
        if (over || session_interrupted(session))
            break;
        uint64_t settled = replay_settled(replay);
        if (settled != UINT64_MAX && settled > time) {
            time = settled; /* nothing was recorded until then */
            run_timers(session, time);
            session_consume(session, true);
        }
        if (session->handler.exit_requested || output_is_broken(session) || !replay_is_live(replay))
            break;
        wait_a_little();
        int lives = replay_refresh(replay);
        if (lives < 0)
            diagnose_error(&session->diagnostics, (struct span){0}, "A recording cannot be read: %s",
                           strerror(-lives));
        if (lives <= 0)
            break;
    }
    if (interrupt_is_asked(session) && !session->handler.exit_requested && !output_is_broken(session))
        finish(session, &time);
    session->replay->time = time;
    if (interrupt_pauses(session))
        return;
    replay_report_missing(session);
    if (time)
        set_time(session, time);
}
