/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics are cumulative: when a receiver is slow only the newest ones are kept for it, and nothing else is missing than
 * how they were in between. */
#include "cmd/otlp_metrics.h"

#include <errno.h>

#include "base/clock.h"
#include "otlp/metrics.h"

int otlp_metrics_send(struct otlp_metrics *metrics)
{
    struct sender *sender = metrics->target->sender;
    if (!metrics->points || (sender && !sender_has_room(sender)))
        return 0;
    if (sender)
        metrics->lost = sender_counts(sender).lost;
    const int error = otlp_send(metrics->target, &metrics->pending, metrics->points);
    text_clear(&metrics->pending);
    metrics->points = 0;
    return error;
}

int otlp_metrics_publish(struct otlp_metrics *metrics, int (*source)(void *of, struct metric_writer *writer),
                         void *of)
{
    const bool is_json = !metrics->target->sender;
    struct text body = {0}, request = {0};
    struct metric_encoder encoder = {{.out = &body, .is_json = is_json}, clock_ns(CLOCK_REALTIME), 0};
    struct metric_writer writer = {.format = &metric_otlp, .out = &body, .state = &encoder};
    struct encoder around = {.out = &request, .is_json = is_json};
    int error = source(of, &writer);
    metrics_request(&around, &body, &metrics->service);
    if (!error && request.failed)
        error = -ENOMEM;
    if (!error) {
        text_free(&metrics->pending);
        metrics->pending = request;
        metrics->points = encoder.points;
        request = (struct text){0};
    }
    text_free(&body);
    text_free(&request);
    return error || !is_json ? error : otlp_metrics_send(metrics);
}

bool otlp_metrics_end(const struct otlp_metrics *metrics)
{
    const struct sender_counts counts = sender_counts(metrics->target->sender);
    const uint64_t missing = counts.lost + counts.rejected;
    const bool is_late = counts.lost > metrics->lost;
    if (missing)
        otlp_report_missing(metrics->target, "data points", missing, counts.sent + missing, is_late);
    return !is_late;
}

void otlp_metrics_free(struct otlp_metrics *metrics)
{
    text_free(&metrics->pending);
}
