/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/publisher.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/privilege.h"
#include "base/rights.h"
#include "base/wire.h"
#include "metrics/place.h"
#include "metrics/relay.h"
#include "serve/directory.h"

enum { ANSWER_MS = 5000, IDLE_MS = 10000, PARTS_MAX = DIRECTORY_SCRIPTS_MAX + 1 };

struct publisher {
    struct frames *supervisor;
    struct metric_place place;
    struct text answer;
    unsigned owed;   /* answers that the supervisor has not given yet */
    size_t left_out; /* parts and families, of which that was told */
};

/* ---- what is published ---- */

/* Asks the supervisor. Returns 0 with the answer, or -errno. */
static int ask(struct publisher *publisher)
{
    const uint64_t deadline = clock_ms(CLOCK_MONOTONIC) + ANSWER_MS;
    enum frame_kind kind;
    frames_send(publisher->supervisor, FRAME_QUESTION, NULL);
    publisher->owed++;
    int error = frames_flush_all(publisher->supervisor, ANSWER_MS);
    while (!error && publisher->owed) { /* those to older questions came too late */
        const int got = frames_next(publisher->supervisor, &kind, &publisher->answer);
        const uint64_t now = clock_ms(CLOCK_MONOTONIC);
        if (got < 0)
            return got;
        if (got) {
            publisher->owed -= kind == FRAME_ANSWER;
        } else if (now >= deadline) {
            return -ETIMEDOUT;
        } else {
            poll(&(struct pollfd){publisher->supervisor->fd, POLLIN, 0}, 1, (int)(deadline - now));
            error = frames_receive(publisher->supervisor);
        }
    }
    return error;
}

static int write_families(void *state, struct metric_writer *writer)
{
    struct publisher *publisher = state;
    struct metric_part parts[PARTS_MAX];
    size_t count = 0, left_out = 0;
    int error = ask(publisher);
    if (error)
        return error;
    struct cursor in = cursor_over(publisher->answer.bytes, publisher->answer.length);
    for (; cursor_left(&in) && count < PARTS_MAX && !in.is_bad; count++) {
        parts[count].script = wire_take_text(&in);
        parts[count].bytes = wire_take_bytes(&in, &parts[count].size);
    }
    error = in.is_bad ? -EBADMSG : metric_relay_write(parts, count, writer, &left_out);
    if (left_out > publisher->left_out)
        metric_place_report(
            &publisher->place,
            "WARNING: %zu families of metrics are left out: they differ from others of the same name\n",
            left_out);
    publisher->left_out = left_out;
    text_free(&publisher->answer);
    return error;
}

/* ---- its life ---- */

static void report(void *state, const char *text)
{
    const struct serve_options *options = state;
    options->report(text);
}

static int open_place(struct publisher *publisher)
{
    const struct metric_place *place = &publisher->place;
    struct text why = {0}, hint = {0};
    const int error = metric_place_open(&publisher->place, &why, &hint);
    if (error)
        metric_place_report(place, "ERROR: --openmetrics: %s\n",
                            why.length ? text_string(&why) : strerror(-error));
    if (error && hint.length)
        metric_place_report(place, "HINT: %s\n", text_string(&hint));
    text_free(&why);
    text_free(&hint);
    return error;
}

static bool is_over(struct publisher *publisher)
{
    return frames_receive(publisher->supervisor) != 0;
}

static void serve_address(struct publisher *publisher)
{
    while (!is_over(publisher)) {
        metric_server_wait(publisher->place.server, publisher->supervisor->fd, IDLE_MS);
        metric_place_serve(&publisher->place);
    }
}

static void serve_file(struct publisher *publisher, uint64_t period_ns)
{
    const uint64_t period_ms = period_ns ? period_ns / NSEC_PER_MSEC + 1 : METRICS_PERIOD_S * 1000;
    while (!is_over(publisher)) {
        metric_place_write(&publisher->place);
        poll(&(struct pollfd){publisher->supervisor->fd, POLLIN, 0}, 1,
             period_ms < INT32_MAX ? (int)period_ms : INT32_MAX);
    }
}

int publisher_run(const struct serve_options *options, struct frames *supervisor)
{
    struct publisher publisher = {.supervisor = supervisor};
    publisher.place = (struct metric_place){.name = options->place,
                                            .source = write_families,
                                            .state = &publisher,
                                            .report = report,
                                            .report_state = (void *)options};
    const int error = open_place(&publisher);
    if (!error) {
        privilege_keep(publisher.place.server ? 0 : PRIVILEGE_OPEN_FILES | PRIVILEGE_REMOVE_FILES);
        if (publisher.place.server)
            rights_keep(0);
        frames_send(supervisor, FRAME_READY, NULL);
    }
    if (!error && !frames_flush(supervisor)) {
        if (publisher.place.server)
            serve_address(&publisher);
        else
            serve_file(&publisher, options->period_ns);
    }
    metric_place_close(&publisher.place);
    text_free(&publisher.answer);
    return error != 0;
}
