/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics and lines have a receiver each, which may fail alone, or one file. A script that is served is a service of its
 * own there, and its messages go where those of its session go. */
#include "cmd/otlp_script.h"

#include <stdlib.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/otlp_lines.h"
#include "cmd/otlp_metrics.h"
#include "cmd/stop.h"
#include "otlp/address.h"
#include "otlp/header.h"

#define SERVICE "spoor"

struct otlp_script {
    struct otlp_target target;       /* of metrics; if it is a file, of lines, too */
    struct otlp_target lines_target; /* of lines, if that is a receiver */
    struct otlp_metrics metrics;
    struct otlp_lines lines;
    struct metric_outlet outlet;
    void (*report)(void *state, const char *text); /* of the session's options */
    void *report_state;
};

static volatile int stop_asked;

/* ---- while the trace runs ---- */

static int publish(void *state, int (*source)(void *of, struct metric_writer *writer), void *of)
{
    struct otlp_script *script = state;
    return otlp_metrics_publish(&script->metrics, source, of);
}

static void run_sender(struct otlp_target *target, int wait_ms)
{
    if (target->sender)
        sender_run(target->sender, wait_ms);
}

static void run(void *state)
{
    struct otlp_script *script = state;
    run_sender(&script->target, 0);
    run_sender(&script->lines_target, 0);
    otlp_metrics_send(&script->metrics);
    otlp_lines_send(&script->lines);
}

/* ---- its beginning and end ---- */

/* Says something as the session says what it has to say. */
static void report_to_session(void *state, const char *text)
{
    const struct otlp_script *script = state;
    struct text line = {0};
    text_printf(&line, "%s\n", text);
    script->report(script->report_state, text_string(&line));
    text_free(&line);
}

static struct otlp_use use_of(struct otlp_script *script)
{
    return (struct otlp_use){.path = ADDRESS_METRICS,
                             .goes_on = true,
                             .stop = &stop_asked,
                             .report = script->report ? report_to_session : otlp_report_in_time,
                             .report_state = script};
}

/* Opens the receiver of lines, if the address of the metrics says where it is. Returns 0, or 1 after a message. */
static int open_lines(struct otlp_script *script, const struct otlp_options *options)
{
    struct otlp_use use = use_of(script);
    struct otlp_options beside = *options;
    struct text url = {0};
    int error = 0;
    if (address_of_logs(sender_url(script->target.sender), &url)) {
        beside.place = text_string(&url);
        use.refusable = "log records";
        error = otlp_open(&script->lines_target, &beside, &use);
        script->lines_target.place = options->place;
    }
    text_free(&url);
    return error;
}

static int open_targets(struct otlp_script *script, const struct otlp_options *options)
{
    const struct otlp_use use = use_of(script);
    int error = otlp_open(&script->target, options, &use);
    if (!error && script->target.sender && (error = open_lines(script, options)))
        sender_close(script->target.sender);
    unsetenv(OWN_HEADERS_VARIABLE); /* the command that is traced has its own receiver, and keeps OTEL_… */
    return error;
}

int otlp_script_open(struct options *options, struct otlp_script **out)
{
    struct otlp_options wanted = options->otlp;
    struct otlp_script *script = *out = NULL;
    if (!wanted.place)
        return 0;
    if (!(script = calloc(1, sizeof *script))) {
        command_print(stderr, "ERROR: --otlp: there is not enough memory\n");
        return 1;
    }
    if (!wanted.patience_ns)
        wanted.patience_ns = OTLP_SCRIPT_PATIENCE_NS;
    script->report = options->session.report;
    script->report_state = options->session.state;
    if (open_targets(script, &wanted)) {
        free(script);
        return 1;
    }
    const bool is_file = !script->target.sender;
    const struct metric_outlet *beside = options->outlet;
    const struct otlp_service service = {.name = beside ? beside->script : SERVICE,
                                         .group = beside ? SERVICE : NULL};
    script->metrics.target = &script->target;
    script->metrics.service = service;
    otlp_lines_begin(&script->lines, &service,
                     is_file                       ? &script->target
                     : script->lines_target.sender ? &script->lines_target
                                                   : NULL,
                     is_file, options->session.is_json);
    script->lines.observer.next = options->session.observer;
    options->session.observer = &script->lines.observer;
    /* What a served script replaces sends its last metrics when this one begins: those of both are not to be mixed. */
    script->outlet = (struct metric_outlet){.state = script,
                                            .next = beside,
                                            .place = wanted.place,
                                            .period_ns = options->metrics_period,
                                            .waits_first = beside != NULL,
                                            .publish = publish,
                                            .run = run};
    options->outlet = &script->outlet;
    *out = script;
    return 0;
}

void otlp_script_diagnose(struct otlp_script *script, const struct options *options,
                          const struct diagnostics *diagnostics, bool has_begun)
{
    struct text text = {0};
    /* A file is not made for a script that does not run. */
    for (size_t i = 0; script && i < diagnostics->count && (has_begun || script->target.sender); i++) {
        const struct diagnostic *item = &diagnostics->items[i];
        const bool is_error = item->severity == DIAGNOSTIC_ERROR;
        if (!is_error && options->session.no_warnings)
            continue;
        text_clear(&text);
        diagnostic_render(&text, item, false);
        otlp_lines_add(&script->lines, clock_ns(CLOCK_BOOTTIME), is_error ? LOG_ERROR : LOG_WARN,
                       text.failed ? item->message : text_string(&text));
    }
    text_free(&text);
}

int otlp_script_check(const struct otlp_options *options)
{
    const struct otlp_use use = {.path = ADDRESS_METRICS};
    struct otlp_target target;
    if (!address_is_url(options->place)) {
        command_print(stderr, "ERROR: --otlp: '%s' is no address: http://HOST:PORT or https://…\n",
                      options->place);
        return 1;
    }
    const int error = otlp_open(&target, options, &use);
    if (!error)
        otlp_abandon(&target);
    return error;
}

static bool is_busy(const struct otlp_script *script)
{
    return script->metrics.points || otlp_lines_wait(&script->lines) ||
           sender_is_busy(script->target.sender) ||
           (script->lines_target.sender && sender_is_busy(script->lines_target.sender));
}

/* Sends all that is left. Returns whether it arrived. */
static bool finish(struct otlp_script *script)
{
    enum { WAIT_MS = 10 };
    struct sender *lines = script->lines_target.sender;
    stop_on_signals(&stop_asked); /* whoever asks for the end again does not want to wait */
    sender_goes_no_further(script->target.sender);
    if (lines)
        sender_goes_no_further(lines);
    while (is_busy(script)) {
        run(script);
        run_sender(&script->target, WAIT_MS);
        run_sender(&script->lines_target, WAIT_MS);
    }
    const bool is_right = otlp_metrics_end(&script->metrics);
    return otlp_lines_report(&script->lines, &script->target) && is_right;
}

int otlp_script_close(struct otlp_script *script, int status)
{
    bool is_right;
    if (!script)
        return status;
    otlp_lines_end(&script->lines);
    if (script->target.sender) {
        is_right = finish(script);
        sender_close(script->target.sender);
        sender_close(script->lines_target.sender);
    } else {
        otlp_lines_send(&script->lines);
        is_right = !output_close(&script->target.file, script->target.written > 0) &&
                   otlp_lines_report(&script->lines, &script->target);
    }
    otlp_metrics_free(&script->metrics);
    otlp_lines_free(&script->lines);
    /* Of a script that is served its own end counts: a receiver that is down is no reason to start it again. */
    if (!is_right && !status && !script->outlet.next)
        status = 1;
    free(script);
    return status;
}
