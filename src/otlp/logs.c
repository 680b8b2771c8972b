/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/logs.h"

#include "base/clock.h"
#include "otlp/attribute.h"
#include "otlp/envelope.h"

/* Fields of the message LogRecord. */
#define TIME FIELD(1, "timeUnixNano")
#define SEVERITY_NUMBER FIELD(2, "severityNumber")
#define SEVERITY_TEXT FIELD(3, "severityText")
#define BODY FIELD(5, "body")
#define OBSERVED_TIME FIELD(11, "observedTimeUnixNano")

void log_queue_init(struct log_queue *queue, const struct otlp_service *service, bool is_json)
{
    *queue = (struct log_queue){.encoder = {.is_json = is_json}};
    struct encoder encoder = {.out = &queue->resource, .is_json = is_json};
    envelope_resource(&encoder, service);
}

void log_queue_free(struct log_queue *queue)
{
    for (size_t i = 0; i < LOGS_REQUESTS_MAX; i++)
        text_free(&queue->requests[i].text);
    text_free(&queue->resource);
}

static struct log_request *request_at(struct log_queue *queue, size_t index)
{
    return &queue->requests[(queue->first + index) % LOGS_REQUESTS_MAX];
}

static bool is_full(const struct log_request *request)
{
    return request->records >= LOGS_RECORDS_MAX || request->text.length >= LOGS_BYTES_MAX;
}

/* Returns the request that takes the next record; NULL: there is no room. */
static struct log_request *open_request(struct log_queue *queue)
{
    if (queue->count && !is_full(request_at(queue, queue->count - 1)))
        return request_at(queue, queue->count - 1);
    if (queue->count == LOGS_REQUESTS_MAX)
        return NULL;
    struct log_request *request = request_at(queue, queue->count++);
    queue->since = clock_ns(CLOCK_MONOTONIC);
    queue->encoder.out = &request->text;
    envelope_begin(&queue->encoder, &envelope_logs, &queue->resource);
    return request;
}

static const char *name_of(enum log_severity severity)
{
    return severity == LOG_ERROR ? "ERROR" : severity == LOG_WARN ? "WARN" : "INFO";
}

bool log_queue_add(struct log_queue *queue, uint64_t time, enum log_severity severity, const char *line,
                   size_t length)
{
    struct encoder *encoder = &queue->encoder;
    struct log_request *request = open_request(queue);
    if (!request) {
        queue->lost++;
        return true;
    }
    encode_open(encoder, ITEM(ENVELOPE_ITEMS));
    encode_fixed(encoder, TIME, time);
    encode_small(encoder, SEVERITY_NUMBER, severity);
    encode_text(encoder, SEVERITY_TEXT, name_of(severity));
    encode_fixed(encoder, OBSERVED_TIME, clock_ns(CLOCK_REALTIME));
    encode_open(encoder, BODY);
    attribute_value(encoder, line, length);
    encode_close(encoder);
    encode_close(encoder);
    request->records++;
    if (is_full(request))
        envelope_end(encoder);
    return is_full(request_at(queue, 0));
}

bool log_queue_take(struct log_queue *queue, bool is_last, struct log_request *request)
{
    while (queue->count) {
        struct log_request *oldest = request_at(queue, 0);
        if (!is_full(oldest)) {
            if (!is_last && clock_ns(CLOCK_MONOTONIC) - queue->since < LOGS_DELAY_NS)
                return false;
            envelope_end(&queue->encoder);
        }
        *request = *oldest;
        *oldest = (struct log_request){0};
        queue->first = (queue->first + 1) % LOGS_REQUESTS_MAX;
        queue->count--;
        if (!request->text.failed)
            return true;
        queue->lost += request->records;
        text_free(&request->text);
    }
    return false;
}
