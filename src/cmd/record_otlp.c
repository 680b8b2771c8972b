/* SPDX-License-Identifier: BSD-3-Clause */
/* The recording is read beside the copying of `spoor record`, in the same loop, for a short time in each of its rounds. While
 * the receiver has no room nothing is read; what the program records meanwhile is kept by the reader's thread, as much as it
 * may keep (reader/follower.h). What it cannot keep is missing, and counted. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/otlp_spans.h"
#include "cmd/record.h"
#include "cmd/recordings.h"
#include "cmd/stop.h"
#include "otlp/sample.h"
#include "reader/objects.h"

enum { ROUND_NS = 2000000, LOOK_NS = 20000000, EVENTS_PER_LOOK_AT_CLOCK = 64, BATCH_NS = 1000000000 };

struct record_spans {
    struct recording *recording;
    struct objects *objects;
    struct otlp_spans *spans;
    struct otlp_spans_output output;
    struct sample sample;
    bool is_read;    /* all that was taken from the recording */
    uint64_t looked; /* for new events; monotonic clock, ns */
    uint64_t sent;   /* when the batch was sent last */
    uint64_t end;    /* stamp of an event; later ones are not sent; 0: all are */
    bool is_ending;  /* the receiver is waited for */
    int error;
};

static volatile int stop_asked;

static bool has_room(const struct record_spans *spans)
{
    const struct sender *sender = spans->output.target.sender;
    return spans->is_ending || !sender || sender_has_room(sender);
}

static int take_span(void *state, const struct otlp_span *span)
{
    struct record_spans *spans = state;
    const int is_wanted = sample_see(&spans->sample, span);
    if (is_wanted != 1)
        return is_wanted;
    batch_add(&spans->output.batch, span);
    return batch_is_full(&spans->output.batch) && has_room(spans) ? otlp_spans_send(&spans->output) : 0;
}

static void free_spans(struct record_spans *spans)
{
    spans_free(spans->spans);
    objects_free(spans->objects);
    sample_free(&spans->sample);
    recording_close(spans->recording);
    free(spans);
}

int record_spans_open(const char *path, const struct otlp_options *options, uint32_t percentile,
                      const char *type, struct record_spans **out, struct text *why)
{
    const struct recording_options reading = {.follow = true, .relate = true, .only_cpu = -1};
    const struct otlp_use use = {.goes_on = true, .stop = &stop_asked, .report = otlp_report_in_time};
    struct record_spans *spans = *out = calloc(1, sizeof *spans);
    if (!spans)
        return -ENOMEM;
    spans->sample.percentile = percentile;
    spans->sample.is_of_type = type;
    int error = recording_open(path, &reading, &spans->recording, why);
    if (!error && type)
        error = recordings_type(spans->recording, type, &spans->sample.type);
    if (!error)
        error = otlp_spans_open(&spans->output, spans->recording, options, &use);
    if (error) {
        free_spans(spans);
        *out = NULL;
        return error;
    }
    spans->objects = objects_make(spans->recording);
    spans->spans = spans_make(spans->recording, otlp_spans_form(&spans->output), take_span, spans);
    return spans->objects && spans->spans ? 0 : -ENOMEM;
}

int record_spans_start(struct record_spans *spans)
{
    return recording_keep_up(spans->recording);
}

bool record_spans_are_live(const struct record_spans *spans)
{
    return recording_is_live(spans->recording);
}

/* Reads one event. Returns 1, 0 if there is none now, or -errno. */
static int read_event(struct record_spans *spans)
{
    struct recording_event event;
    struct object_step step;
    const int got = recording_next(spans->recording, &event);
    if (got != 1)
        return got;
    if (spans->end && event.stamp > spans->end)
        return 0;
    int error = objects_follow(spans->objects, &event, &step);
    if (!error && !event.is_outside)
        error = spans_event(spans->spans, &event, &step, true);
    return error ? error : 1;
}

/* Reads what there is, until it is all, the time is over, or the receiver has no room. Returns 0 or -errno. */
static int read_events(struct record_spans *spans, uint64_t until)
{
    for (unsigned count = 1;; count++) {
        if (batch_is_full(&spans->output.batch) && !has_room(spans))
            return 0;
        const int got = stop_asked ? 0 : read_event(spans);
        spans->is_read = !got;
        if (got != 1)
            return got;
        if (count % EVENTS_PER_LOOK_AT_CLOCK == 0 && clock_ns(CLOCK_MONOTONIC) > until)
            return 0;
    }
}

int record_spans_run(struct record_spans *spans)
{
    struct sender *sender = spans->output.target.sender;
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (spans->error)
        return spans->error;
    if (sender)
        sender_run(sender, 0);
    int error = 0;
    /* The reader's thread keeps only so much if more is taken only when what was taken has been read. */
    if (spans->is_read && now - spans->looked > LOOK_NS) {
        error = recording_refresh(spans->recording);
        spans->looked = now;
    }
    if (error >= 0)
        error = read_events(spans, now + ROUND_NS);
    const bool is_due = batch_is_full(&spans->output.batch) || now - spans->sent > BATCH_NS;
    if (!error && is_due && has_room(spans)) {
        error = otlp_spans_send(&spans->output);
        spans->sent = now;
    }
    spans->error = error;
    return error ? error : !spans->is_read && has_room(spans);
}

/* Reads what was recorded until now: the newest events can be read a little later, and that the program has ended is noticed a
 * little later, too. Returns 0 or -errno. */
static int read_rest(struct record_spans *spans, bool has_ended)
{
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    bool is_covered = false;
    spans->end = recording_counter_now();
    int lives = 1, error = read_events(spans, UINT64_MAX);
    while (!error && lives == 1 && !is_covered && !stop_asked) {
        nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
        lives = recording_refresh(spans->recording);
        is_covered = !has_ended && recording_behind(spans->recording) <= clock_ns(CLOCK_MONOTONIC) - now;
        error = lives < 0 ? lives : read_events(spans, UINT64_MAX);
    }
    return error;
}

/* Sends the rest, and ends all spans. Returns 0 or -errno. */
static int finish(struct record_spans *spans, bool has_ended)
{
    int error = spans->error;
    spans->is_ending = true;
    stop_on_signals(&stop_asked); /* whoever asks for the end again does not want to wait */
    if (spans->output.target.sender)
        sender_goes_no_further(spans->output.target.sender);
    if (!error)
        error = read_rest(spans, has_ended);
    if (!error)
        error = spans_end(spans->spans);
    return error ? error : otlp_spans_send(&spans->output);
}

void record_spans_abandon(struct record_spans *spans)
{
    if (!spans)
        return;
    otlp_spans_abandon(&spans->output);
    free_spans(spans);
}

int record_spans_close(struct record_spans *spans, bool has_ended)
{
    if (!spans)
        return 0;
    const int error = finish(spans, has_ended);
    const struct spans_counts counts = spans_counts(spans->spans);
    const int failed = otlp_spans_close(&spans->output, spans->recording, error, true, &counts);
    if (spans->sample.left_out)
        command_print(stderr, "NOTE: %" PRIu64 " spans below the percentile were not sent\n",
                      spans->sample.left_out);
    const struct recording_counts read = recording_counts(spans->recording);
    if (read.overwritten > read.older)
        command_print(
            stderr, "NOTE: %" PRIu64 " %s are in no span: they were overwritten before they were read\n",
            read.overwritten - read.older, recording_is_spdk(spans->recording) ? "entries" : "events");
    free_spans(spans);
    return failed;
}
