/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics are cumulative: when a receiver is slow only the newest ones are kept for it, and nothing else is missing than
 * how they were in between. */
#include "cmd/otlp_metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/stop.h"
#include "otlp/metrics.h"

#define PATIENCE_NS 5000000000ull

struct otlp_metrics {
    struct otlp_target target;
    struct metric_outlet outlet;
    struct text pending; /* a request that was not sent yet */
    uint64_t points;     /* in it */
    uint64_t lost;       /* points that were lost before the newest request was sent */
};

static volatile int stop_asked;

static void report(const char *text)
{
    enum { PATIENCE_MS = 100 };
    struct text line = {0};
    text_printf(&line, "%s\n", text);
    command_write_in_time(text_string(&line), PATIENCE_MS);
    text_free(&line);
}

static int send_pending(struct otlp_metrics *sending)
{
    if (!sending->points)
        return 0;
    if (sending->target.sender)
        sending->lost = sender_counts(sending->target.sender).lost;
    const int error = otlp_send(&sending->target, &sending->pending, sending->points);
    text_clear(&sending->pending);
    sending->points = 0;
    return error;
}

static void run(void *state)
{
    struct otlp_metrics *sending = state;
    struct sender *sender = sending->target.sender;
    if (!sender)
        return;
    sender_run(sender, 0);
    if (sender_has_room(sender))
        send_pending(sending);
}

static int publish(void *state, int (*source)(void *of, struct metric_writer *writer), void *of)
{
    struct otlp_metrics *sending = state;
    const bool is_json = !sending->target.sender;
    struct text body = {0}, request = {0};
    struct metric_encoder encoder = {{.out = &body, .is_json = is_json}, clock_ns(CLOCK_REALTIME), 0};
    struct metric_writer writer = {.format = &metric_otlp, .out = &body, .state = &encoder};
    struct encoder around = {.out = &request, .is_json = is_json};
    int error = source(of, &writer);
    metrics_request(&around, &body, "spoor");
    if (!error && request.failed)
        error = -ENOMEM;
    if (!error) {
        text_free(&sending->pending);
        sending->pending = request;
        sending->points = encoder.points;
        request = (struct text){0};
    }
    text_free(&body);
    text_free(&request);
    if (error || sending->target.sender)
        return error;
    return send_pending(sending);
}

int otlp_metrics_open(struct options *options, struct otlp_metrics **out)
{
    struct otlp_options wanted = options->otlp;
    struct otlp_metrics *sending = *out = NULL;
    if (!wanted.place)
        return 0;
    if (!(sending = calloc(1, sizeof *sending))) {
        command_print(stderr, "ERROR: --otlp: there is not enough memory\n");
        return 1;
    }
    if (!wanted.patience_ns)
        wanted.patience_ns = PATIENCE_NS;
    const struct otlp_use use = {"/v1/metrics", true, &stop_asked, report};
    if (otlp_open(&sending->target, &wanted, &use)) {
        free(sending);
        return 1;
    }
    sending->outlet = (struct metric_outlet){sending, publish, run};
    *out = sending;
    return 0;
}

const struct metric_outlet *otlp_metrics_outlet(const struct otlp_metrics *sending)
{
    return sending ? &sending->outlet : NULL;
}

static bool has_arrived(struct otlp_metrics *sending)
{
    struct sender *sender = sending->target.sender;
    stop_on_signals(&stop_asked); /* whoever asks for the end again does not want to wait */
    const int error = send_pending(sending);
    sender_finish(sender);
    const struct sender_counts counts = sender_counts(sender);
    const bool is_late = error || counts.lost > sending->lost;
    if (is_late || counts.lost || counts.rejected)
        command_print(stderr, "%s: %" PRIu64 " of %" PRIu64 " data points did not arrive at %s%s: %s\n",
                      is_late ? "ERROR" : "WARNING", counts.lost + counts.rejected,
                      counts.sent + counts.lost + counts.rejected, sending->target.place,
                      is_late ? ", the last ones among them" : "", sender_reason(sender));
    return !is_late;
}

int otlp_metrics_close(struct otlp_metrics *sending, int status)
{
    if (!sending)
        return status;
    bool is_right;
    if (sending->target.sender) {
        is_right = has_arrived(sending);
        sender_close(sending->target.sender);
    } else
        is_right = !output_close(&sending->target.file, sending->target.written > 0);
    text_free(&sending->pending);
    free(sending);
    return is_right || status ? status : 1;
}
