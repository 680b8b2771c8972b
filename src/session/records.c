/* SPDX-License-Identifier: BSD-3-Clause */
/* Records that programs send: taken out of the rings, and given to the handlers of the builtins that sent them, in the
 * order of time. After exit() those that follow are dropped until the end probes run. */
#include <string.h>

#include "base/terminal.h"
#include "session/state.h"

enum { FLUSH_BYTES = 64 << 10 };

struct records {
    struct printer printer;
    uint64_t handled;       /* for --max-events */
    size_t reported_errors; /* that handlers reported */
    bool test_has_failed;   /* with --test */
};

void records_open(struct session *session)
{
    session->records = arena_new(&session->arena, struct records);
}

void records_close(struct session *session)
{
    printer_free(&session->records->printer);
    event_handler_close_files(&session->handler);
}

struct printer *session_printer(struct session *session)
{
    return &session->records->printer;
}

size_t session_reported_errors(const struct session *session)
{
    return session->records->reported_errors;
}

void session_fail_test(struct session *session)
{
    session->records->test_has_failed = true;
}

bool session_test_has_failed(const struct session *session)
{
    return session->records->test_has_failed;
}

/* ---- what handlers of events ask of the session ---- */

static struct session *session_of(struct event_handler *handler)
{
    return (struct session *)((char *)handler - offsetof(struct session, handler));
}

static void handler_flush(struct event_handler *handler)
{
    output_hold(session_of(handler), false); /* a command is about to write there */
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
    session_report_text(session, severity == DIAGNOSTIC_ERROR ? REPORT_ERROR : REPORT_WARNING, &text);
    session->records->reported_errors += severity == DIAGNOSTIC_ERROR;
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

int records_begin(struct session *session)
{
    const struct session_options *options = &session->options;
    session->records->printer = (struct printer){
        .out = &session->out,
        .names = names_of_printer(session),
        .json = options->is_json,
        .json_enum_names = options->settings.json_enums,
        .watcher = observe_watcher(session),
        .json_stack_text = options->json_stack_text || options->settings.json_stacks,
        .is_terminal = options->is_terminal,
        .trunc_trailer = options->settings.str_trunc_trailer,
        .bcc_histograms = options->bcc_histograms || options->settings.histogram,
        .orders_by_key = options->settings.map_order,
    };
    session->handler = (struct event_handler){
        .zeroed = arena_array(&session->arena, session->image.map_count + 1, sizeof(bool)),
        .out = &session->out,
        .printer = &session->records->printer,
        .host = session->host,
        .image = &session->image,
        .is_json = options->is_json,
        .no_warnings = options->no_warnings,
        .max_cat_bytes = options->settings.max_cat_bytes,
        .flush = handler_flush,
        .warn = handler_warn,
        .report = handler_report,
        .output_descriptor = options->output,
        .signals = interrupt_descriptor(session),
        .look = handler_look,
        .hurries = handler_hurries,
    };
    return 0;
}

/* ---- records ---- */

uint64_t session_events(const struct session *session)
{
    return session->records->handled;
}

static int handle_event(void *state, const uint8_t *record, size_t length)
{
    struct session *session = state;
    struct image_record header;
    if (length < sizeof header)
        return 0;
    memcpy(&header, record, sizeof header);
    if (header.action >= session->actions.count ||
        (session->handler.exit_requested && !interrupt_is_at_end(session)))
        return 0;
    const struct action *action = &session->actions.items[header.action];
    if (interrupt_drops(session, action))
        return 0;
    if (length < action->size)
        return 0;
    struct printer *printer = &session->records->printer;
    session->handler.record_length = length;
    action_count_runtime_errors(action, record, length, session->host->operations->control(session->host));
    printer->time = session->options.shows_times ? header.time : 0;
    printer->moment = header.time;
    if (session->options.watch &&
        session->options.watch(session->options.state, &session->handler, action, record))
        return 0;
    bool was_broken = output_is_broken(session);
    session->handler.is_broken = was_broken;
    action->builtin->handle(&session->handler, action, record);
    observe_text(session);
    output_event(session, was_broken);
    printer->time = printer->moment = 0;
    if (++session->records->handled == session->options.max_events)
        session->handler.exit_requested = true;
    if (session->out.length >= FLUSH_BYTES || session->options.unbuffered)
        session_flush(session);
    return 0;
}

int session_consume(struct session *session, bool drain)
{
    int count = session->pump
                    ? pump_consume(session, drain ? PUMP_DRAIN : PUMP_FILL, live_replay_horizon(session),
                                   handle_event, session)
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
