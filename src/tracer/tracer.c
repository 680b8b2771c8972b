/* SPDX-License-Identifier: BSD-3-Clause */
/* A tracer's life, for include/spoor/tracer.h: a session inside another program.
 *
 * The parts of the script are put together as one text; the session is made when it is compiled. Every error ends
 * as text in tracer->error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "builtin/all.h"
#include "tracer/state.h"
#include "sym/apart.h"

enum { WAIT_SHORTEST_MS = 1, WAIT_MAX_MS = 20, SCRIPT_MAX = 2 << 20 };

static __thread char open_error[256];

int tracer_fail(struct spoor_tracer *tracer, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_clear(&tracer->error);
    text_add(&tracer->error, "ERROR: ");
    text_vprintf(&tracer->error, format, arguments);
    text_char(&tracer->error, '\n');
    va_end(arguments);
    return error;
}

/* ---- the session's callbacks ---- */

static void on_output(void *state, const char *bytes, size_t length)
{
    const struct spoor_tracer *tracer = state;
    if (tracer->options.output)
        tracer->options.output(tracer->options.state, bytes, length);
}

static void on_report(void *state, const char *text)
{
    const struct spoor_tracer *tracer = state;
    if (tracer->options.report)
        tracer->options.report(tracer->options.state, text);
}

static bool on_record(void *state, const struct event_handler *handler, const struct action *action,
                      const uint8_t *record)
{
    struct spoor_tracer *tracer = state;
    const char *name = action->builtin->name;
    struct spoor_tracer_event event = {tracer, handler, action, record};
    if (strcmp(name, "printf") != 0 && (strcmp(name, "print") != 0 || !action->field_count))
        return false;
    return tracer->options.event(tracer->options.state, &event);
}

/* What the session has said since it was asked last. */
static void gather(struct spoor_tracer *tracer)
{
    const struct diagnostics *diagnostics = session_diagnostics(tracer->session);
    for (; tracer->reported < diagnostics->count; tracer->reported++) {
        const struct diagnostic *item = &diagnostics->items[tracer->reported];
        diagnostic_render(item->severity == DIAGNOSTIC_ERROR ? &tracer->error : &tracer->warnings, item,
                          false);
    }
}

/* The end of a step of the session's. */
static int finish(struct spoor_tracer *tracer, int error, const char *doing)
{
    gather(tracer);
    if (error < 0 && !tracer->error.length)
        tracer_fail(tracer, error, "%s: %s", doing, strerror(-error));
    return error;
}

/* ---- opening ---- */

static const char *const *copy_list(struct arena *arena, const char *const *list, size_t count)
{
    const char **copy = arena_array(arena, count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(arena, list[i]);
    return copy;
}

static const char *const *copy_terminated(struct arena *arena, const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    return list ? copy_list(arena, list, count) : NULL;
}

static int copy_options(struct spoor_tracer *tracer)
{
    struct spoor_tracer_options *options = &tracer->options;
    struct arena *arena = &tracer->arena;
    jmp_buf out_of_memory;
    if (arena_guard(arena, out_of_memory))
        return -ENOMEM;
    pid_t *pids = arena_array(arena, options->pid_count + 1, sizeof *pids);
    if (options->pid_count)
        memcpy(pids, options->pids, options->pid_count * sizeof *pids);
    options->pids = pids;
    options->name = arena_strdup(arena, options->name ? options->name : "script");
    options->parameters = copy_list(arena, options->parameters, options->parameter_count);
    options->recordings = copy_terminated(arena, options->recordings);
    options->directories = copy_terminated(arena, options->directories);
    options->headers = copy_terminated(arena, options->headers);
    arena->out_of_memory = NULL;
    return 0;
}

static int refuse(int error, const char *why)
{
    snprintf(open_error, sizeof open_error, "ERROR: spoor_tracer_open: %s\n", why);
    return error;
}

/* What this version knows of the caller's struct; -E2BIG when it says something else besides. */
static int read_options(const struct spoor_tracer_options *given, struct spoor_tracer_options *options)
{
    const unsigned known = SPOOR_TRACER_UNSAFE | SPOOR_TRACER_JSON | SPOOR_TRACER_FOLLOW |
                           SPOOR_TRACER_PRINT_MAPS | SPOOR_TRACER_CHECK_ONLY;
    const size_t smallest = offsetof(struct spoor_tracer_options, pids);
    *options = (struct spoor_tracer_options){.size = sizeof *options};
    if (!given)
        return 0;
    if (given->size < smallest || given->size > 1 << 16)
        return refuse(-EINVAL, "options.size must be sizeof(struct spoor_tracer_options)");
    for (size_t i = sizeof *options; i < given->size; i++)
        if (((const unsigned char *)given)[i])
            return refuse(-E2BIG, "the program asks for an option that this version of the library does not "
                                  "know: install a newer libspoortracer");
    memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
    if (options->flags & ~known || options->reserved)
        return refuse(-EINVAL, "an unknown flag; a newer libspoortracer may know it");
    if ((options->pid_count && !options->pids) || (options->parameter_count && !options->parameters))
        return refuse(-EINVAL, "a count without its list");
    if (options->flags & SPOOR_TRACER_FOLLOW && !options->pid_count)
        return refuse(-EINVAL, "SPOOR_TRACER_FOLLOW needs pids");
    return 0;
}

int spoor_tracer_open(const struct spoor_tracer_options *options, struct spoor_tracer **out)
{
    apart_outlive_threads();
    struct spoor_tracer_options read;
    *out = NULL;
    open_error[0] = '\0';
    int error = read_options(options, &read);
    if (error)
        return error;
    struct spoor_tracer *tracer = calloc(1, sizeof *tracer);
    if (!tracer)
        return refuse(-ENOMEM, strerror(ENOMEM));
    tracer->options = read;
    if (copy_options(tracer)) {
        spoor_tracer_close(tracer);
        return refuse(-ENOMEM, strerror(ENOMEM));
    }
    *out = tracer;
    return 0;
}

void spoor_tracer_close(struct spoor_tracer *tracer)
{
    if (!tracer)
        return;
    if (tracer->session)
        session_leave(tracer->session);
    session_close(tracer->session);
    text_free(&tracer->script);
    text_free(&tracer->error);
    text_free(&tracer->warnings);
    arena_free(&tracer->arena);
    free(tracer);
}

const char *spoor_tracer_error(const struct spoor_tracer *tracer)
{
    return tracer ? text_string(&tracer->error) : open_error;
}

const char *spoor_tracer_warnings(struct spoor_tracer *tracer)
{
    return text_string(&tracer->warnings);
}

const char *spoor_tracer_version(void)
{
    return SPOOR_VERSION;
}

/* ---- the script ---- */

static int may_add(struct spoor_tracer *tracer, size_t length)
{
    if (tracer->stage != TRACER_OPEN)
        return tracer_fail(tracer, -EBUSY,
                           "the script is compiled already; open another tracer for what comes later");
    if (length > SCRIPT_MAX || tracer->script.length + length > SCRIPT_MAX)
        return tracer_fail(tracer, -E2BIG, "the script is longer than %d bytes", SCRIPT_MAX);
    return 0;
}

static int added(struct spoor_tracer *tracer)
{
    return tracer->script.failed ? tracer_fail(tracer, -ENOMEM, "%s", strerror(ENOMEM)) : 0;
}

int spoor_tracer_add(struct spoor_tracer *tracer, const char *script)
{
    int error = may_add(tracer, strlen(script));
    if (error)
        return error;
    text_printf(&tracer->script, "%s\n", script);
    return added(tracer);
}

int spoor_tracer_attach(struct spoor_tracer *tracer, const char *probe, const char *action)
{
    int error = may_add(tracer, strlen(probe) + strlen(action));
    if (error)
        return error;
    if (!probe[strspn(probe, " \t\n")])
        return tracer_fail(tracer, -EINVAL, "no probe is named: \"tracepoint:sched:sched_switch\", …");
    /* The line's end is that of a comment in the action. */
    text_printf(&tracer->script, "%s { %s\n}\n", probe, action);
    return added(tracer);
}

static struct session_options options_for_session(struct spoor_tracer *tracer)
{
    const struct spoor_tracer_options *options = &tracer->options;
    return (struct session_options){
        .source = &tracer->source,
        .parameters = {.values = options->parameters, .count = options->parameter_count},
        .kinds = probe_kinds,
        .builtins = &builtin_table,
        .directories = options->directories,
        .headers = options->headers,
        .pids = options->pids,
        .pid_count = options->pid_count,
        .follows = options->flags & SPOOR_TRACER_FOLLOW,
        .recordings = options->recordings,
        .from_start = true,
        .is_unsafe = options->flags & SPOOR_TRACER_UNSAFE,
        .is_json = options->flags & SPOOR_TRACER_JSON,
        .check_only = options->flags & SPOOR_TRACER_CHECK_ONLY,
        .keep_maps_quiet = !(options->flags & SPOOR_TRACER_PRINT_MAPS),
        .is_quiet = true,
        .is_embedded = true,
        .output = -1,
        .write = on_output,
        .report = on_report,
        .watch = options->event ? on_record : NULL,
        .state = tracer,
    };
}

int spoor_tracer_compile(struct spoor_tracer *tracer)
{
    if (tracer->stage != TRACER_OPEN)
        return tracer_fail(tracer, -EBUSY, "the script is compiled already");
    text_clear(&tracer->error);
    tracer->stage = TRACER_FAILED;
    tracer->source =
        (struct source){tracer->options.name, text_string(&tracer->script), tracer->script.length};
    struct session_options options = options_for_session(tracer);
    if (session_open(&options, &tracer->session))
        return tracer_fail(tracer, -ENOMEM, "%s", strerror(ENOMEM));
    int error = session_compile(tracer->session);
    if (!error && session_diagnostics(tracer->session)->errors)
        error = -EINVAL;
    if (!error)
        tracer->stage = TRACER_COMPILED;
    return finish(tracer, error, "the script cannot be compiled");
}

/* ---- running ---- */

int spoor_tracer_start(struct spoor_tracer *tracer)
{
    int error = tracer->stage == TRACER_OPEN ? spoor_tracer_compile(tracer) : 0;
    if (error)
        return error;
    if (tracer->stage != TRACER_COMPILED)
        return tracer_fail(tracer, -EBUSY, "a tracer is started once");
    if (tracer->options.flags & SPOOR_TRACER_CHECK_ONLY)
        return tracer_fail(tracer, -EINVAL, "SPOOR_TRACER_CHECK_ONLY was given: nothing is started");
    text_clear(&tracer->error);
    tracer->is_busy = true;
    error = session_begin(tracer->session);
    tracer->is_busy = false;
    tracer->stage = error ? TRACER_FAILED : TRACER_RUNS;
    return finish(tracer, error, "the trace cannot be started");
}

/* Returns 0 if the tracer runs and no other call for it is under way. */
static int may_go_on(struct spoor_tracer *tracer, const char *what)
{
    if (tracer->stage != TRACER_RUNS)
        return tracer_fail(tracer, -EINVAL, "%s: the tracer does not run", what);
    if (tracer->is_busy)
        return tracer_fail(tracer, -EBUSY, "%s was called from a callback of the tracer's", what);
    text_clear(&tracer->error);
    return 0;
}

int spoor_tracer_poll(struct spoor_tracer *tracer, int milliseconds)
{
    int count = may_go_on(tracer, "spoor_tracer_poll");
    if (count)
        return count;
    int64_t now = (int64_t)clock_ms(CLOCK_MONOTONIC), end = milliseconds < 0 ? INT64_MAX : now + milliseconds;
    tracer->is_busy = true;
    /* Buffers that are not full cause no wake-up: they are looked at, ever less often. */
    for (int wait = milliseconds ? WAIT_SHORTEST_MS : 0;;) {
        int64_t left = end - now;
        count = session_iterate(tracer->session, left < wait ? (int)left : wait);
        if (count || session_is_over(tracer->session) || (now = (int64_t)clock_ms(CLOCK_MONOTONIC)) >= end)
            break;
        wait = wait * 2 < WAIT_MAX_MS ? wait * 2 : WAIT_MAX_MS;
    }
    tracer->is_busy = false;
    return finish(tracer, session_diagnostics(tracer->session)->errors && count >= 0 ? -EIO : count,
                  "the trace cannot go on");
}

int spoor_tracer_descriptor(const struct spoor_tracer *tracer)
{
    return tracer->stage == TRACER_RUNS ? session_descriptor(tracer->session) : -1;
}

bool spoor_tracer_is_over(const struct spoor_tracer *tracer)
{
    return tracer->stage != TRACER_RUNS || session_is_over(tracer->session);
}

int spoor_tracer_stop(struct spoor_tracer *tracer)
{
    int status = 0, error = may_go_on(tracer, "spoor_tracer_stop");
    if (error)
        return error;
    tracer->is_busy = true;
    error = session_end(tracer->session, &status);
    tracer->is_busy = false;
    tracer->stage = TRACER_STOPPED;
    error = finish(tracer, error, "the trace did not end as it should");
    return error ? error : status;
}

int tracer_needs_maps(struct spoor_tracer *tracer)
{
    bool has_maps = tracer->stage == TRACER_RUNS || tracer->stage == TRACER_STOPPED ||
                    (tracer->stage == TRACER_COMPILED && tracer->is_busy); /* begin probes print */
    if (!has_maps)
        return tracer_fail(tracer, -EINVAL, "there are no maps before spoor_tracer_start");
    text_clear(&tracer->error);
    return 0;
}

/* ---- events ---- */

const char *spoor_tracer_event_function(const struct spoor_tracer_event *event)
{
    return event->action->builtin->name;
}

const char *spoor_tracer_event_probe(const struct spoor_tracer_event *event)
{
    return event->action->probe ? event->action->probe : "";
}

uint64_t spoor_tracer_event_time(const struct spoor_tracer_event *event)
{
    struct image_record header;
    memcpy(&header, event->record, sizeof header);
    return header.time;
}

size_t spoor_tracer_event_values(const struct spoor_tracer_event *event)
{
    return event->action->field_count;
}

int spoor_tracer_event_value(const struct spoor_tracer_event *event, size_t index,
                             struct spoor_tracer_value *value)
{
    *value = (struct spoor_tracer_value){0};
    if (index >= event->action->field_count)
        return -ERANGE;
    value_make(value, event->tracer, event->action->fields[index].type,
               event_handler_field(event->handler, event->action, (uint32_t)index, event->record));
    return 0;
}
