/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor report --otlp`: the objects of a recording as spans, all of them, or only the traces of the slowest and of those
 * with errors, for which the recording is read twice. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/report.h"
#include "otlp/address.h"
#include "otlp/batch.h"
#include "otlp/choice.h"
#include "otlp/spans.h"

struct sending {
    struct report *report;
    struct filter filter;
    struct otlp_target target;
    struct batch batch;
    struct choice choice;
    struct spans_counts counts;
    bool is_choosing; /* spans are seen and not sent */
};

static int send_batch(struct sending *sending)
{
    struct batch *batch = &sending->batch;
    if (!batch->count)
        return 0;
    int error = batch_finish(batch);
    if (!error)
        error = otlp_send(&sending->target, &batch->out, batch->count);
    batch_reset(batch);
    return error;
}

static int take_span(void *state, const struct otlp_span *span)
{
    struct sending *sending = state;
    if (sending->is_choosing)
        return choice_see(&sending->choice, span);
    if (sending->report->options->slowest && !choice_has(&sending->choice, span))
        return 0;
    batch_add(&sending->batch, span);
    return batch_is_full(&sending->batch) ? send_batch(sending) : 0;
}

/* With --follow, sends what has ended before it waits for more. */
static int wait_for_more(struct sending *sending)
{
    int error = send_batch(sending);
    if (!error && sending->target.sender)
        sender_run(sending->target.sender, 0);
    return error ? error : report_wait(sending->report);
}

static int follow(struct sending *sending, struct otlp_spans *spans)
{
    struct report *report = sending->report;
    struct recording_event event;
    struct object_step step;
    int got = 0;
    while (!report_stop) {
        got = report_next(report, &event, &step);
        if (!got && (got = wait_for_more(sending)) == 1)
            continue;
        if (got != 1)
            break;
        const bool is_shown = filter_passes(&sending->filter, report->recording, &event, &step);
        if (!is_shown && filter_is_over(&sending->filter, report->recording, &event))
            break;
        report->shown += is_shown && !sending->is_choosing;
        if ((got = spans_event(spans, &event, &step, is_shown)))
            break;
    }
    return got < 0 ? got : spans_end(spans);
}

/* Reads the recording once. */
static int read_once(struct sending *sending)
{
    struct report *report = sending->report;
    const enum spans_form form = sending->is_choosing     ? SPANS_BARE
                                 : sending->target.sender ? SPANS_PROTOBUF
                                                          : SPANS_JSON;
    struct otlp_spans *spans = spans_make(report->recording, form, take_span, sending);
    if (!spans)
        return -ENOMEM;
    const int got = follow(sending, spans);
    sending->counts = spans_counts(spans);
    spans_free(spans);
    return got;
}

static int choose(struct sending *sending, int16_t type)
{
    struct report *report = sending->report;
    int got = choice_make(&sending->choice, (size_t)report->options->slowest, type);
    sending->is_choosing = true;
    if (!got)
        got = read_once(sending);
    sending->is_choosing = false;
    if (!got)
        got = choice_end(&sending->choice);
    if (!got && !report_stop)
        got = report_again(report);
    return got;
}

static int send_all(struct sending *sending, int16_t type)
{
    int got = batch_init(&sending->batch, sending->report->recording, !sending->target.sender);
    if (!got && sending->report->options->slowest)
        got = choose(sending, type);
    if (!got)
        got = read_once(sending);
    if (!got)
        got = send_batch(sending);
    return got;
}

static void explain(const struct sending *sending)
{
    if (sending->counts.alone)
        command_print(stderr, "NOTE: %" PRIu64 " events are about no object and are in no span\n",
                      sending->counts.alone);
    if (sending->counts.dropped)
        command_print(stderr, "NOTE: %" PRIu64 " events are in no span: theirs has too many, or had ended\n",
                      sending->counts.dropped);
    if (sending->choice.errors_left_out)
        command_print(stderr,
                      "NOTE: %" PRIu64 " spans with errors are left out: more than %d traces have some\n",
                      sending->choice.errors_left_out, CHOICE_ERRORS_MAX);
}

/* Checks that the times are those of a calendar. Returns 0, or 1 after a message. */
static int check_time(const struct recording *recording)
{
    if (recording_realtime(recording))
        return 0;
    const char *why = recording_unrelated(recording);
    command_print(stderr, "ERROR: %s does not say when it was, and spans have absolute times%s%s\n",
                  recording_path(recording), why ? ": " : "", why ? why : "");
    return 1;
}

int report_otlp(struct report *report)
{
    const struct report_options *options = report->options;
    struct sending sending = {.report = report, .filter = options->filter};
    const struct otlp_use use = {.path = ADDRESS_TRACES, .stop = &report_stop};
    int16_t type = -1;
    if (check_time(report->recording) || (options->type && report_type(report, &type)) ||
        otlp_open(&sending.target, &options->otlp, &use))
        return 1;
    const int got = send_all(&sending, type);
    report_progress_end(report);
    if (got < 0 && !sending.target.file.error)
        command_print(stderr, "ERROR: cannot send %s: %s\n", recording_path(report->recording),
                      got == -ESTALE ? "somebody writes over it" : strerror(-got));
    const bool is_stopped = report_stop && !options->follow;
    const int closed = otlp_close(&sending.target, "spans", got >= 0 && !is_stopped);
    explain(&sending);
    batch_free(&sending.batch);
    choice_free(&sending.choice);
    free(sending.filter.tracepoints != options->filter.tracepoints ? sending.filter.tracepoints : NULL);
    return got < 0 || closed || is_stopped;
}
