/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors inside programs: the programs raise counters, which are read here. A counter is reported as soon as it first changes,
 * then at most once a second, or as often as the caller wants, and for the last time at the end, with the line of the script and
 * how often it happened since the last report. Events for which the kernel did not run a program at all are counted by the kernel, and reported at
 * the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "print/record.h"
#include "session/state.h"

enum { ALWAYS, WHEN_WARNING }; /* WHEN_WARNING: only with -k */
enum { TELL_INTERVAL_NS = NSEC_PER_SEC };

static const struct {
    const char *message;
    int when;
    const char *helper; /* for lost events: one word for the reason */
    int retcode;
    const char *word; /* in metrics */
} texts[] = {
    [RUNTIME_ERROR_LOST] = {"the reader could not keep up", ALWAYS, "ring", 0, "ring"},
    [RUNTIME_ERROR_SCRATCH] = {"no scratch memory was free", ALWAYS, "scratch", 0, "scratch"},
    [RUNTIME_ERROR_MAP_FULL] =
        {"Map full; can't update element. Try increasing max_map_keys config or manually setting "
         "the max entries in a map declaration e.g. `let @a = hash(5000)`",
         ALWAYS, "map_update_elem", -7, "map_full"},
    [RUNTIME_ERROR_MAP_DELETE] = {"Can't delete map element because it does not exist.", ALWAYS,
                                  "map_delete_elem", -2, "map_delete"},
    [RUNTIME_ERROR_LOOKUP] = {"Can't lookup map element because it does not exist.", WHEN_WARNING,
                              "map_lookup_elem", 0, "lookup"},
    [RUNTIME_ERROR_FAULT] = {"Memory could not be read", ALWAYS, "probe_read", -14, "fault"},
    [RUNTIME_ERROR_UNKNOWN] =
        {"The beginning of the object, or its event before, is not in the recording: the statement "
         "was left out",
         WHEN_WARNING, NULL, 0, "unknown"},
    [RUNTIME_ERROR_TRUNCATED] = {"A string was cut: it is longer than max_strlen allows", WHEN_WARNING, NULL,
                                 0, "truncated"},
    [RUNTIME_ERROR_DIVIDE] =
        {"Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as "
         "the result.",
         ALWAYS, NULL, 0, "division"},
    [RUNTIME_ERROR_LOOP] =
        {"A loop was ended: it reached the largest number of rounds that the kernel allows", ALWAYS, NULL, 0,
         "loop"},
    [RUNTIME_ERROR_STACK] =
        {"Stacks were not recorded: the stack table is full, or there was no memory for it at that moment",
         ALWAYS, NULL, 0, "stack"},
    [RUNTIME_ERROR_NO_CHILD] = {"cpid is 0: there is no command, run with -c", ALWAYS, NULL, 0, "no_child"},
    [RUNTIME_ERROR_SIGNAL] = {"The signal could not be sent", ALWAYS, NULL, 0, "signal"},
    [RUNTIME_ERROR_PROCESSES] = {"Processes are not followed: there are more than max_map_keys of them",
                                 ALWAYS, NULL, 0, "processes"},
    [RUNTIME_ERROR_WRITE] = {"Memory could not be written", ALWAYS, "probe_write_user", -14, "write"},
};

struct runtime_errors {
    uint64_t *
        reported; /* how much of each counter of the control page was reported; NULL: the trace has not begun */
    uint64_t time; /* when counters were reported last */
};

size_t runtime_errors_room(const struct session *session)
{
    const struct image *image = &session->image;
    if (image->control < 0)
        return image->runtime_error_count;
    return (image->maps[image->control].value_size - sizeof(struct image_control)) / sizeof(uint64_t);
}

void runtime_errors_open(struct session *session)
{
    session->runtime_errors = arena_new(&session->arena, struct runtime_errors);
}

int runtime_errors_begin(struct session *session)
{
    size_t room = runtime_errors_room(session) + 1;
    session->runtime_errors->reported = arena_array(&session->arena, room, sizeof(uint64_t));
    return 0;
}

/* Whether errors are JSON objects in the output, which must be writable for that. */
static bool is_json(const struct session *session)
{
    return session->options.is_json && !output_is_broken(session);
}

static void report_lost(struct session *session, uint64_t count, const char *probe, const char *message,
                        const char *reason)
{
    if (!is_json(session)) {
        session_report(session, "Lost %llu events of %s: %s\n", (unsigned long long)count, probe, message);
        return;
    }
    record_lost_events(&session->out, count, probe, reason);
    session_flush(session);
}

static void report(struct session *session, const struct runtime_error *runtime_error, uint64_t count)
{
    const char *message = texts[runtime_error->kind].message;
    const char *helper = runtime_error->helper ? runtime_error->helper : texts[runtime_error->kind].helper;
    if (runtime_error->kind == RUNTIME_ERROR_LOST || runtime_error->kind == RUNTIME_ERROR_SCRATCH) {
        report_lost(session, count, runtime_error->probe, message, texts[runtime_error->kind].helper);
        return;
    }
    struct position at = {0, 0};
    if (runtime_error->span.source)
        at = source_position(runtime_error->span.source, runtime_error->span.begin);
    if (is_json(session)) {
        /* Programs that read the JSON recognise a fault by this text. */
        struct record_problem problem = {
            .kind = helper ? "helper_error" : "runtime_error",
            .message = runtime_error->kind == RUNTIME_ERROR_FAULT ? "Bad address" : message,
            .helper = helper,
            .return_code = texts[runtime_error->kind].retcode,
            .file = runtime_error->span.source ? runtime_error->span.source->name : "",
            .line = at.line,
            .column = at.column,
            .count = count,
            .probe = runtime_error->probe};
        record_problem(&session->out, &problem);
        session_flush(session);
        return;
    }
    struct text text = {0};
    struct diagnostic diagnostic = {
        .severity = DIAGNOSTIC_WARNING, .span = runtime_error->span, .message = message};
    struct text more = {0};
    if (helper)
        text_printf(&more, "%s\nAdditional Info - helper: %s, retcode: %d", message, helper,
                    texts[runtime_error->kind].retcode);
    else
        text_add(&more, message);
    if (count > 1)
        terminal_print(&more, "%s%llu times in %s", helper ? ", " : " ", (unsigned long long)count,
                       runtime_error->probe);
    else
        terminal_print(&more, "%sin %s", helper ? ", " : " ", runtime_error->probe);
    diagnostic.message = text_string(&more);
    diagnostic_render(&text, &diagnostic, session->options.colour);
    diagnostics_render_origin(&text, &session->diagnostics, DIAGNOSTIC_WARNING, runtime_error->span,
                              session->options.colour);
    session_report_text(session, REPORT_WARNING, &text);
    text_free(&more);
    text_free(&text);
}

void runtime_errors_count_skipped(struct session *session)
{
    const struct host_operations *host = session->host->operations;
    for (size_t i = 0; i < session->units.count; i++) {
        const struct host_runs runs = host->runs(session->host, session->units.items[i].program);
        session->units.items[i].skipped = runs.skipped;
        session->units.items[i].missed = runs.missed;
    }
}

static void report_skipped(struct session *session)
{
    for (size_t i = 0; i < session->units.count && !session->options.no_warnings; i++) {
        const struct session_unit *unit = &session->units.items[i];
        const char *name = unit->variant->sites[0].name;
        if (unit->skipped)
            report_lost(session, unit->skipped, name, "the CPU was running a BPF program already", "nested");
        if (unit->missed)
            report_lost(session, unit->missed, name,
                        "the CPU was handling a probe already, or too many calls were under way", "missed");
    }
}

void session_each_error(const struct session *session, session_error_visitor *visit, void *state)
{
    const struct image_control *control = session->host->operations->control(session->host);
    for (size_t i = 0; control && i < session->image.runtime_error_count; i++) {
        const struct runtime_error *error = &session->image.runtime_errors[i];
        const struct session_error seen = {
            .error = texts[error->kind].word,
            .probe = error->probe,
            .span = error->span,
            .is_lost = error->kind == RUNTIME_ERROR_LOST || error->kind == RUNTIME_ERROR_SCRATCH,
            .count = __atomic_load_n(&control->runtime_errors[i], __ATOMIC_RELAXED),
        };
        if (texts[error->kind].when == ALWAYS || session->options.warns)
            visit(state, &seen);
    }
}

void runtime_errors_report(struct session *session, bool last)
{
    const struct image_control *control = session->host->operations->control(session->host);
    if (!control || !session->runtime_errors->reported)
        return;
    uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);
    const uint64_t wanted = session->options.tells_each_ns, interval = wanted ? wanted : TELL_INTERVAL_NS;
    bool due = last || now - session->runtime_errors->time >= interval;
    for (size_t i = 0; i < session->image.runtime_error_count; i++) {
        const struct runtime_error *runtime_error = &session->image.runtime_errors[i];
        uint64_t *reported = &session->runtime_errors->reported[i];
        uint64_t value = __atomic_load_n(&control->runtime_errors[i], __ATOMIC_RELAXED);
        if (value == *reported || (!due && *reported))
            continue;
        if (!session->options.no_warnings &&
            (texts[runtime_error->kind].when == ALWAYS || session->options.warns))
            report(session, runtime_error, value - *reported);
        *reported = value;
    }
    if (due)
        session->runtime_errors->time = now;
    if (last)
        report_skipped(session);
}
