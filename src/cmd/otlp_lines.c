/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/otlp_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "otlp/address.h"

/* Recordings can wait for a receiver, as nothing else can that is traced. */
static void wait_for_room(const struct otlp_lines *lines)
{
    enum { WAIT_MS = 10 };
    struct sender *sender = lines->target->sender;
    while (sender && lines->replay && !session_is_over(lines->replay) && !sender_has_room(sender))
        sender_run(sender, WAIT_MS);
}

/* Returns the time of the wall. How far its clock is ahead is measured to some microseconds only, so it is kept until the
 * clock was set: lines stay in their order. */
static uint64_t wall_time(struct otlp_lines *lines, uint64_t time)
{
    const int64_t ahead = clock_ahead(CLOCK_REALTIME);
    if (llabs(ahead - lines->wall_ahead) > NSEC_PER_MSEC)
        lines->wall_ahead = ahead;
    return time + (uint64_t)lines->wall_ahead;
}

static void add(struct otlp_lines *lines, uint64_t time, enum log_severity severity, const char *line,
                size_t length)
{
    if (!length)
        return;
    lines->count++;
    if (!lines->target)
        return;
    if (log_queue_add(&lines->queue, wall_time(lines, time), severity, line, length)) {
        wait_for_room(lines);
        otlp_lines_send(lines);
    }
}

/* Of lines of JSON those about something that went wrong say so first. */
static enum log_severity severity_of(const char *line, size_t length)
{
    static const struct {
        const char *begin;
        enum log_severity severity;
    } kinds[] = {
        {"{\"type\": \"errorf\"", LOG_ERROR},      {"{\"type\": \"warnf\"", LOG_WARN},
        {"{\"type\": \"helper_error\"", LOG_WARN}, {"{\"type\": \"runtime_error\"", LOG_WARN},
        {"{\"type\": \"lost_events\"", LOG_WARN},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t size = strlen(kinds[i].begin);
        if (length >= size && !memcmp(line, kinds[i].begin, size))
            return kinds[i].severity;
    }
    return LOG_INFO;
}

static void add_line(void *state, uint64_t time, const char *line, size_t length)
{
    struct otlp_lines *lines = state;
    add(lines, time, lines->prints_json ? severity_of(line, length) : LOG_INFO, line, length);
}

void otlp_lines_add(struct otlp_lines *lines, uint64_t time, enum log_severity severity, const char *text)
{
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        length--;
    add(lines, time, severity, text, length < LINES_PENDING_MAX ? length : LINES_PENDING_MAX);
}

static void reported(void *state, uint64_t time, enum report_kind kind, const char *text)
{
    if (kind != REPORT_NOTE)
        otlp_lines_add(state, time, kind == REPORT_ERROR ? LOG_ERROR : LOG_WARN, text);
}

static void printed(void *state, uint64_t time, const char *bytes, size_t length)
{
    struct otlp_lines *lines = state;
    lines_add(&lines->splitter, time, bytes, length);
}

static void passed(void *state, struct session *session, uint64_t time, bool is_end)
{
    struct otlp_lines *lines = state;
    (void)time, (void)is_end;
    if (lines->replay || !lines->target || !lines->target->sender || !session_is_replay(session))
        return;
    lines->replay = session;
    sender_goes_no_further(lines->target->sender);
}

void otlp_lines_begin(struct otlp_lines *lines, const struct otlp_service *service,
                      struct otlp_target *target, bool is_json, bool prints_json)
{
    *lines = (struct otlp_lines){
        .observer = {.state = lines, .printed = printed, .reported = reported, .passed = passed},
        .splitter = {.visit = add_line, .state = lines},
        .target = target,
        .prints_json = prints_json,
    };
    log_queue_init(&lines->queue, service, is_json);
}

void otlp_lines_free(struct otlp_lines *lines)
{
    lines_free(&lines->splitter);
    log_queue_free(&lines->queue);
}

static struct sender_counts counts_of(const struct otlp_lines *lines)
{
    return lines->target && lines->target->sender ? sender_counts(lines->target->sender)
                                                  : (struct sender_counts){0};
}

void otlp_lines_send(struct otlp_lines *lines)
{
    struct otlp_target *target = lines->target;
    struct log_request request;
    while (target && (!target->sender || sender_has_room(target->sender)) &&
           log_queue_take(&lines->queue, lines->is_over, &request)) {
        if (otlp_send(target, &request.text, request.records) && !target->sender)
            lines->queue.lost += request.records; /* a sender counts them itself */
        text_free(&request.text);
    }
}

void otlp_lines_end(struct otlp_lines *lines)
{
    lines_end(&lines->splitter);
    lines->is_over = true;
    lines->lost_before = counts_of(lines).lost;
}

bool otlp_lines_wait(const struct otlp_lines *lines)
{
    return lines->queue.count > 0;
}

bool otlp_lines_report(const struct otlp_lines *lines, const struct otlp_target *metrics)
{
    const struct sender_counts counts = counts_of(lines);
    const uint64_t unsent = lines->target ? counts.refused : lines->count;
    const uint64_t missing = counts.lost + counts.rejected + lines->queue.lost;
    const bool is_late = counts.lost > lines->lost_before;
    if (unsent)
        otlp_say(metrics, "NOTE: %" PRIu64 " line%s not sent: %s %s", unsent, unsent == 1 ? " was" : "s were",
                 metrics->place,
                 lines->target ? "takes no log records"
                               : "does not end in " ADDRESS_METRICS ", and so says nothing of " ADDRESS_LOGS);
    if (missing)
        otlp_report_missing(lines->target, "lines", missing, lines->count, is_late);
    return !is_late;
}
