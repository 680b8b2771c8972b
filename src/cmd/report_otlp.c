/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor report --otlp`: the objects of a recording as spans, all of them, or only the traces of the slowest and of those
 * with errors, for which the recording is read twice. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/otlp_spans.h"
#include "cmd/recordings.h"
#include "cmd/report.h"
#include "otlp/choice.h"

struct sending {
    struct report *report;
    struct filter filter;
    struct otlp_spans_output output;
    struct choice choice;
    struct spans_counts counts;
    enum { SENDING, COUNTING, CHOOSING } phase;
    bool is_sample; /* only traces that were chosen are sent */
};

static int take_span(void *state, const struct otlp_span *span)
{
    struct sending *sending = state;
    if (sending->phase == COUNTING)
        choice_count(&sending->choice, span);
    if (sending->phase == CHOOSING)
        return choice_see(&sending->choice, span);
    if (sending->phase == COUNTING || (sending->is_sample && !choice_has(&sending->choice, span)))
        return 0;
    batch_add(&sending->output.batch, span);
    return batch_is_full(&sending->output.batch) ? otlp_spans_send(&sending->output) : 0;
}

/* With --follow, sends what has ended before it waits for more. */
static int wait_for_more(struct sending *sending)
{
    const int error = otlp_spans_send(&sending->output);
    if (!error && sending->output.target.sender)
        sender_run(sending->output.target.sender, 0);
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
        report->shown += is_shown && sending->phase == SENDING;
        if ((got = spans_event(spans, &event, &step, is_shown)))
            break;
    }
    return got < 0 ? got : spans_end(spans);
}

/* Reads the recording once. */
static int read_once(struct sending *sending)
{
    struct report *report = sending->report;
    const enum spans_form form = sending->phase != SENDING ? SPANS_BARE : otlp_spans_form(&sending->output);
    struct otlp_spans *spans = spans_make(report->recording, form, take_span, sending);
    if (!spans)
        return -ENOMEM;
    const int got = follow(sending, spans);
    sending->counts = spans_counts(spans);
    spans_free(spans);
    return got;
}

/* Reads the recording once in a phase before the sending, and begins to read it again. */
static int look(struct sending *sending, int phase)
{
    sending->phase = phase;
    const int got = read_once(sending);
    sending->phase = SENDING;
    return got || report_stop ? got : report_again(sending->report);
}

static int choose(struct sending *sending, int16_t type)
{
    const struct report_options *options = sending->report->options;
    struct choice *choice = &sending->choice;
    int got = 0;
    sending->is_sample = true;
    if (options->percentile) {
        choice_make_percentile(choice, options->percentile, type);
        got = look(sending, COUNTING);
        choice_counted(choice);
    } else
        choice_make(choice, (size_t)options->slowest, type);
    if (!got)
        got = look(sending, CHOOSING);
    return got ? got : choice_end(choice);
}

static int send_all(struct sending *sending, int16_t type)
{
    const struct report_options *options = sending->report->options;
    int got = options->slowest || options->percentile ? choose(sending, type) : 0;
    if (!got)
        got = read_once(sending);
    if (!got)
        got = otlp_spans_send(&sending->output);
    return got;
}

int report_otlp(struct report *report)
{
    const struct report_options *options = report->options;
    struct sending sending = {.report = report, .filter = options->filter};
    const struct otlp_use use = {.stop = &report_stop};
    int16_t type = -1;
    if ((options->type && recordings_type(report->recording, options->type, &type)) ||
        otlp_spans_open(&sending.output, report->recording, &options->otlp, &use))
        return 1;
    const int got = send_all(&sending, type);
    report_progress_end(report);
    const bool is_stopped = report_stop && !options->follow;
    const int closed =
        otlp_spans_close(&sending.output, report->recording, got, !is_stopped, &sending.counts);
    if (sending.choice.errors_left_out)
        command_print(stderr,
                      "NOTE: %" PRIu64 " spans with errors are left out: more than %d traces have some\n",
                      sending.choice.errors_left_out, CHOICE_ERRORS_MAX);
    if (sending.choice.objects_left_out)
        command_print(stderr,
                      "NOTE: %" PRIu64
                      " objects above the percentile are left out: of a type there are at most %d\n",
                      sending.choice.objects_left_out, CHOICE_OBJECTS_MAX);
    choice_free(&sending.choice);
    free(sending.filter.tracepoints != options->filter.tracepoints ? sending.filter.tracepoints : NULL);
    return closed || is_stopped;
}
