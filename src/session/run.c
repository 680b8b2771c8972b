/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a trace: load, begin, attach, the loop, end.
 *
 * Everything that the script prints goes through session->out and is written whole; a reader that went away
 * (EPIPE) ends the trace. Records are acted on in time order; after exit() those that follow are dropped
 * until the end probes run. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/privilege.h"
#include "base/thread.h"
#include "base/terminal.h"
#include "print/record.h"
#include "print/snapshot.h"
#include "session/state.h"

enum {
    FLUSH_BYTES = 64 << 10,
    WAIT_SHORTEST_MS = 1, /* between looks at the rings: doubles while nothing comes */
    WAIT_MAX_MS = 20,
    PROGRESS_NS = 300000000, /* nothing is shown of what takes less */
};

/* ---- what handlers of events ask of the session ---- */

static struct session *session_of(struct event_handler *handler)
{
    return (struct session *)((char *)handler - offsetof(struct session, handler));
}

static void handler_flush(struct event_handler *handler)
{
    session_of(handler)->holds_output = false; /* somebody else is about to write there */
    session_flush(session_of(handler));
}

static void handler_look(struct event_handler *handler)
{
    session_interrupted(session_of(handler));
}

static bool handler_hurries(struct event_handler *handler)
{
    return interrupt_cuts(session_of(handler));
}

static void handler_report(struct event_handler *handler, enum severity severity, struct span span,
                           const char *message)
{
    struct session *session = session_of(handler);
    struct diagnostic diagnostic = {.severity = severity, .span = span, .message = message};
    struct text text = {0};
    diagnostic_render(&text, &diagnostic, session->options.colour);
    session_report_text(session, &text);
    session->reported_count += severity == DIAGNOSTIC_ERROR;
    text_free(&text);
}

static void handler_warn(struct event_handler *handler, struct span span, const char *format, ...)
{
    struct text message = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&message, format, arguments);
    va_end(arguments);
    handler_report(handler, DIAGNOSTIC_ERROR, span, text_string(&message));
    text_free(&message);
}

/* ---- records ---- */

static int handle_event(void *state, const uint8_t *record, size_t length)
{
    struct session *session = state;
    struct image_record header;
    if (length < sizeof header)
        return 0;
    memcpy(&header, record, sizeof header);
    if (header.action >= session->actions.count || (session->handler.exit_requested && !session->at_end))
        return 0;
    const struct action *action = &session->actions.items[header.action];
    if (interrupt_drops(session, action))
        return 0;
    if (length < action->size)
        return 0;
    session->handler.record_length = length;
    action_count_runtime_errors(action, record, length, session->host->operations->control(session->host));
    session->printer.time = session->options.shows_times ? header.time : 0;
    if (session->options.watch &&
        session->options.watch(session->options.state, &session->handler, action, record))
        return 0;
    bool was_broken = session->broken_output;
    session->handler.is_broken = was_broken;
    action->builtin->handle(&session->handler, action, record);
    output_event(session, was_broken);
    session->printer.time = 0;
    if (++session->events == session->options.max_events)
        session->handler.exit_requested = true;
    if (session->out.length >= FLUSH_BYTES || session->options.unbuffered)
        session_flush(session);
    return 0;
}

int session_consume(struct session *session, bool drain)
{
    int count =
        session->pump
            ? pump_consume(session, drain ? PUMP_DRAIN : PUMP_FILL, session->horizon, handle_event, session)
            : session->host->operations->consume(session->host, drain, handle_event, session);
    runtime_errors_report(session, false);
    session_flush(session);
    return count;
}

void session_deliver(struct session *session)
{
    session->host->operations->consume(session->host, true, handle_event, session);
}

void session_deliver_own(struct session *session)
{
    session->host->operations->consume_own(session->host, handle_event, session);
}

void session_release(struct session *session, uint64_t until)
{
    if (pump_is_due(session, until))
        pump_consume(session, PUMP_KEPT, until, handle_event, session);
}

void session_collect(struct session *session)
{
    pump_consume(session, PUMP_FILL, 0, handle_event, session);
}

/* ---- the beginning ---- */

static int load(struct session *session)
{
    const struct host_operations *host = session->host->operations;
    int error = host->create_maps(session->host, &session->image, &session->diagnostics);
    const size_t count = session->image.program_count; /* more may be added */
    for (size_t i = 0; !error && i < count; i++) {
        error = session_load_program(session, i);
        if (session->options.is_verbose && session->kernel && kernel_log(session->kernel, i)) {
            struct text log = {0};
            text_add(&log, kernel_log(session->kernel, i));
            text_char(&log, '\n');
            session_report_text(session, &log);
            text_free(&log);
        }
    }
    return error;
}

/* Shows the user how far attaching is. */
static int attach_progress(void *state, size_t done, size_t total)
{
    struct session *session = state;
    uint64_t now = session->host->operations->clock(session->host);
    if (!session->progress_time)
        session->progress_time = now;
    if (session->options.progress && now - session->progress_time > PROGRESS_NS) {
        session->options.progress(session->options.state, done, total);
        session->shows_progress = true;
        session->progress_time = now;
    }
    return session_interrupted(session);
}

static void end_progress(struct session *session)
{
    if (session->shows_progress)
        session->options.progress(session->options.state, 0, 0);
    session->shows_progress = false;
}

int session_attach_unit(struct session *session, const struct session_unit *unit)
{
    const struct probe_variant *variant = unit->variant;
    struct attach_request request = {
        .program = unit->program,
        .name = variant->sites[0].name,
        .span = variant->sites[0].span,
        .diagnostics = &session->diagnostics,
        .progress = attach_progress,
        .state = session,
    };
    /* Reported before the kernel is asked, whose answer would say less. */
    for (const char *const *need = variant->kind->needs; session->kernel && need && *need; need++) {
        struct text why = {0};
        bool is_missing = kernel_lacks(session->kernel, *need, &why);
        if (is_missing)
            diagnose_error(&session->diagnostics, request.span, "%s cannot be attached: %s", request.name,
                           text_string(&why));
        text_free(&why);
        if (is_missing)
            return -ENOTSUP;
    }
    return variant->kind->attach(&session->environment, session->kernel, variant, &request);
}

/* Blocks at one event run in the order of the script: where the kernel runs the newest first, the last goes
 * first. */
static int attach(struct session *session)
{
    if (session->child.pid && !session->options.pid_count)
        session->environment.pid = session->child.pid;
    for (size_t i = 0; i < 2 * session->unit_count; i++) {
        bool reversed = i >= session->unit_count;
        struct session_unit *unit = &session->units[reversed ? 2 * session->unit_count - 1 - i : i];
        const struct probe_variant *variant = unit->variant;
        if (!variant->kind->attach || variant->kind->newest_first != reversed)
            continue;
        const struct diagnostics before = session->diagnostics;
        const size_t attached = session->kernel ? kernel_attached(session->kernel) : 0;
        int error = session_attach_unit(session, unit);
        if (error == -EINTR || session_interrupted(session))
            return -EINTR;
        if (error && error != -EPERM && session->options.settings.missing_probes != MISSING_ERROR) {
            session_demote_missing_probe(session, &before);
            unit->is_left_out = true;
            if (session->kernel)
                kernel_detach_from(session->kernel, attached);
        } else if (error)
            return error;
    }
    return 0;
}

/* What was left out while all was attached, from the given diagnostic on: told before the trace, and so not
 * after it. A guest's program is told by its own. */
static void report_left_out(struct session *session, size_t from)
{
    struct diagnostics *said = &session->diagnostics;
    struct text text = {0};
    size_t kept = from;
    if (session->options.is_embedded)
        return;
    for (size_t i = from; i < said->count; i++)
        if (said->items[i].severity == DIAGNOSTIC_WARNING)
            diagnostic_render(&text, &said->items[i], session->options.colour);
        else
            said->items[kept++] = said->items[i];
    said->count = kept;
    if (text.length && !session->options.no_warnings)
        session_report_text(session, &text);
    text_free(&text);
}

/* How many probes are attached: sites, but those of one USDT probe count once for each block. */
static size_t attached_probes(struct session *session)
{
    struct table names = {0};
    size_t count = 0;
    for (size_t i = 0; i < session->unit_count; i++) {
        const struct session_unit *unit = &session->units[i];
        const struct probe_variant *variant = unit->variant;
        if (i && unit->block != session->units[i - 1].block) {
            table_free(&names);
            names = (struct table){0};
        }
        for (size_t k = 0; !unit->is_left_out && k < variant->count; k++) {
            const char *name = variant->sites[k].name;
            count += !variant->kind->shares_names ||
                     (!table_find(&names, name) && !table_put(&names, name, (void *)name));
        }
    }
    table_free(&names);
    return count;
}

static void report_attached(struct session *session)
{
    const size_t count = attached_probes(session);
    struct text held = session->out, ends = session->event_ends;
    session->out = session->event_ends = (struct text){0};
    session->holds_output = false;
    if (session->options.is_json && !session->options.is_quiet)
        record_attached_probes(&session->out, count);
    else if (!session->options.is_quiet && !session->options.is_json)
        session_report(session, "Attached %zu probe%s\n", count, count == 1 ? "" : "s");
    /* For test suites written for other tracers of this language. */
    if (!session->options.is_embedded && getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED"))
        text_add(&session->out, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
    session_flush(session);
    text_append(&session->out, text_string(&held), held.length);
    text_free(&held);
    text_free(&session->event_ends);
    session->event_ends = ends;
    session_flush(session);
    if (session->options.is_verbose && session->kernel) {
        struct text text = {0};
        kernel_describe_attachments(session->kernel, &text);
        session_report_text(session, &text);
        text_free(&text);
    }
}

static bool has_events(const struct session *session)
{
    for (size_t i = 0; i < session->unit_count; i++)
        if (session->units[i].variant->kind->time == PROBE_EVENT ||
            session->units[i].variant->kind->time == PROBE_AT_SIGNAL)
            return true;
    return session->grows;
}

/* ---- the loop ---- */

/* Sleeps until something may have happened. True: the trace is over. */
static bool wait_for_events(struct session *session, int wait_ms)
{
    enum { SIGNALS, RINGS, PROCESS, CHILD, COUNT };
    struct pollfd descriptors[COUNT] = {
        [SIGNALS] = {session->signals, POLLIN, 0},
        [RINGS] = {session->host->operations->descriptor(session->host), POLLIN, 0},
        [PROCESS] = {-1, POLLIN, 0},
        [CHILD] = {-1, POLLIN, 0},
    };
    if (!session->filter.has_set) { /* else the set says when its last one has ended */
        descriptors[PROCESS].fd = session->process_count ? session->process_fds[0] : -1;
        descriptors[CHILD].fd = session->child.pidfd;
    }
    poll(descriptors, COUNT, wait_ms);
    if (descriptors[SIGNALS].revents && session_interrupted(session))
        return true;
    return descriptors[PROCESS].revents || descriptors[CHILD].revents || processes_ended(session);
}

/* Stacks and symbols are named when they are printed, often after their process has ended: what -c and -p
 * mean is looked at while it lives, soon after the start and then ever less often. */
static void remember_process(struct session *session)
{
    enum { FIRST_PAUSE = 500000, PAUSE_MAX = 1000000000 };
    uint64_t now = session->host->operations->clock(session->host);
    if ((!session->child.pid && !session->options.pid_count) || now < session->remember_next)
        return;
    if (session->child.pid)
        names_remember(session, session->child.pid);
    for (size_t i = 0; i < session->options.pid_count; i++)
        names_remember(session, session->options.pids[i]);
    uint64_t pause = session->remember_pause ? session->remember_pause * 2 : FIRST_PAUSE * 2;
    session->remember_pause = pause < PAUSE_MAX ? pause : PAUSE_MAX;
    session->remember_next = now + session->remember_pause;
}

bool session_is_over(const struct session *session)
{
    return session->is_over || session->interrupted || session->handler.exit_requested ||
           session->broken_output;
}

static int iterate(struct session *session, int wait_ms)
{
    remember_process(session);
    session->is_over |= wait_for_events(session, wait_ms);
    for (; session->pending_sigusr1; session->pending_sigusr1--)
        special_run(session, PROBE_AT_SIGNAL);
    if (session->live_replay)
        session->is_over |= live_replay_step(session, UINT64_MAX);
    int count = session_consume(session, false);
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

static bool comes_before(const struct session *session, size_t map, size_t other)
{
    int order = strcmp(session->image.maps[map].name, session->image.maps[other].name);
    return order ? order < 0 : map < other;
}

static void print_maps(struct session *session)
{
    if (session->options.keep_maps_quiet) {
        session_flush(session);
        return;
    }
    if (!session->options.is_json)
        text_add(&session->out, "\n\n");
    size_t count = session->image.map_count, last = count;
    /* In order of their names, those of the first script before others; there are few, so the next one is
     * sought each time. */
    for (size_t k = 0; k < count && session->options.settings.print_maps_on_exit; k++) {
        size_t next = count;
        for (size_t i = 0; i < count; i++) {
            const struct image_map *map = &session->image.maps[i];
            if (map->name[0] == '@' && map->value && (last == count || comes_before(session, last, i)) &&
                (next == count || comes_before(session, i, next)))
                next = i;
        }
        if (next == count)
            break;
        last = next;
        if (snapshot_print(&session->printer, session->host, &session->image, next, 0, 0,
                           !session->handler.zeroed[next]))
            session_report(session, "WARNING: the map %s could not be read\n",
                           session->image.maps[next].name);
        if (session->out.length >= FLUSH_BYTES)
            session_flush(session);
    }
    session_flush(session);
}

static void end(struct session *session)
{
    session->holds_output = false;
    child_settle(session);
    limits_time(session, false);
    special_stop_timers(session);
    special_stop(session);
    if (session->kernel)
        kernel_await_programs(session->kernel);
    runtime_errors_count_skipped(session);
    if (session->live_replay)
        live_replay_finish(session);
    session_consume(session, true);
    interrupt_end_begins(session);
    special_run(session, PROBE_AT_END);
    session_consume(session, true);
    interrupt_maps_begin(session);
    if (!session->broken_output)
        print_maps(session);
    runtime_errors_report(session, true);
    interrupt_report(session);
    uint64_t disorder = session->host->operations->disorder(session->host);
    if (disorder && !session->options.no_warnings && !session->options.is_json)
        session_report(session, "WARNING: %llu records came too late to be printed in the order of time\n",
                       (unsigned long long)disorder);
    if (session->options.is_verbose)
        for (size_t i = 0; i < session->unit_count; i++) {
            struct host_runs runs = session->host->operations->runs(session->host, session->units[i].program);
            if (runs.count)
                session_report(session, "%s: %llu runs, %llu ns each\n",
                               session->units[i].variant->sites[0].name, (unsigned long long)runs.count,
                               (unsigned long long)(runs.ns / runs.count));
        }
    if (session->kernel)
        kernel_leave(session->kernel);
}

static int take_signals(struct session *session)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    if (session->options.duration_ns)
        sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    session->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return session->signals < 0 ? -errno : 0;
}

static int prepare(struct session *session)
{
    int error = session->options.is_embedded ? 0 : take_signals(session);
    if (error)
        return error;
    names_init(session);
    session->printer = (struct printer){
        .out = &session->out,
        .names = &session->print_names,
        .json = session->options.is_json,
        .json_enum_names = session->options.settings.json_enums,
        .is_terminal = session->options.is_terminal,
        .trunc_trailer = session->options.settings.str_trunc_trailer,
        .bcc_histograms = session->options.bcc_histograms || session->options.settings.histogram,
    };
    session->handler = (struct event_handler){
        .zeroed = arena_array(&session->arena, session->image.map_count + 1, sizeof(bool)),
        .out = &session->out,
        .printer = &session->printer,
        .host = session->host,
        .image = &session->image,
        .is_json = session->options.is_json,
        .no_warnings = session->options.no_warnings,
        .max_cat_bytes = session->options.settings.max_cat_bytes,
        .flush = handler_flush,
        .warn = handler_warn,
        .report = handler_report,
        .output_descriptor = session->options.output,
        .signals = session->signals,
        .look = handler_look,
        .hurries = handler_hurries,
    };
    return runtime_errors_init(session);
}

/* A guest's program goes on with other things, and a script that may run commands runs them as spoor. */
static void give_up_privileges(struct session *session)
{
    const struct action_table *actions = &session->actions;
    unsigned uses = (session->kernel ? PRIVILEGE_TRACE : 0) |
                    (session->options.rotate_bytes ? PRIVILEGE_OPEN_FILES : 0) |
                    (session->options.keep_files ? PRIVILEGE_REMOVE_FILES : 0);
    if (session->options.is_embedded || session->options.is_unsafe)
        return;
    for (size_t i = 0; i < actions->count; i++)
        if (actions->items[i].builtin && actions->items[i].builtin->flags & BUILTIN_MAKES_FILES)
            uses |= PRIVILEGE_OPEN_FILES;
    int error = privilege_keep(uses);
    if (error && !session->options.no_warnings)
        session_report(session, "WARNING: privileges that are not needed any more cannot be given up: %s\n",
                       strerror(-error));
}

static int begin(struct session *session)
{
    size_t reported = session->diagnostics.count;
    int error = prepare(session);
    if (!error)
        error = limits_memory(session);
    if (!error)
        error = load(session);
    names_watch(session);
    if (!error && session->options.command && !session->child.pid)
        error = child_start(session);
    if (error)
        return error;
    struct image_control *control = session->host->operations->control(session->host);
    if (control)
        control->start = session->host->operations->clock(session->host);
    if (control && session->options.command)
        control->child = (uint64_t)session->child.pid;
    if ((error = unwind_begin(session)))
        return error;
    session->holds_output = true;
    special_run(session, PROBE_AT_BEGIN);
    session_consume(session, true);
    if (!session->handler.exit_requested && !(error = processes_begin(session)) && !(error = attach(session)))
        error = processes_attached(session);
    end_progress(session);
    if (!error && !session->handler.exit_requested)
        error = grow_begin(session);
    if (!error && !session->handler.exit_requested && session->live_replay)
        error = live_replay_begin(session);
    if (!error) {
        give_up_privileges(session); /* before there are threads, which would keep theirs */
        error = special_start_timers(session);
    }
    if (!error && !session->handler.exit_requested && session->options.command)
        error = child_release(session);
    if (error && error != -EINTR) {
        if (session->kernel)
            kernel_leave(session->kernel);
        return error;
    }
    if (error) { /* interrupted while it attached */
        session->is_over = true;
        return 0;
    }
    pump_run(session);
    replay_begin(session);
    report_left_out(session, reported);
    report_attached(session);
    limits_time(session, true);
    special_run(session, PROBE_ITERATE);
    bench_run(session);
    if (session->walk_failed)
        session_report(session, "WARNING: the walk over the kernel's objects ended early\n");
    session->is_over |= !session->vm && !has_events(session);
    return 0;
}

static int run(void *state)
{
    struct session *session = state;
    int error = begin(session);
    if (error)
        return error;
    if (session->vm && !session_is_over(session))
        replay_loop(session);
    else
        loop(session);
    end(session);
    return 0;
}

/* Also called after memory ran out. */
static int clean_up(void *state)
{
    struct session *session = state;
    if (session->has_special_thread) {
        special_stop(session);
        pthread_join(session->special_thread, NULL);
        session->has_special_thread = false;
    }
    special_stop_timers(session);
    child_end(session);
    session->holds_output = false;
    session_flush(session);
    return 0;
}

int session_guarded(struct session *session, int (*call)(void *), void *state)
{
    jmp_buf out_of_memory, *before = session->arena.out_of_memory;
    int answer = arena_guard(&session->arena, out_of_memory) ? -ENOMEM : call(state);
    session->arena.out_of_memory = before;
    return answer;
}

static int leave(struct session *session, int error, int *status)
{
    int later = session_guarded(session, clean_up, session);
    *status = session->tests_failed && !session->handler.exit_code ? 1 : session->handler.exit_code;
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
    return session->diagnostics.errors && !error ? -EIO : error;
}

static int iterate_guarded(void *state)
{
    struct session *session = state;
    if (!session->vm)
        return iterate(session, session->wait_ms);
    session->until = session_clock() + (uint64_t)session->wait_ms * 1000000;
    replay_loop(session);
    session->is_over |= !session->pauses;
    session->pauses = false;
    session->until = 0;
    return 0;
}

int session_iterate(struct session *session, int wait_ms)
{
    session->wait_ms = wait_ms;
    int count = session_is_over(session) ? 0 : session_guarded(session, iterate_guarded, session);
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
    session->broken_output = true; /* the caller discards the output */
    special_stop(session);
    session_guarded(session, clean_up, session);
    if (session->kernel)
        kernel_leave(session->kernel);
}

int session_descriptor(const struct session *session)
{
    return session->host ? session->host->operations->descriptor(session->host) : -1;
}

struct host *session_host(const struct session *session)
{
    return session->host;
}

const struct image *session_image(const struct session *session)
{
    return &session->image;
}

struct printer *session_printer(struct session *session)
{
    return &session->printer;
}
