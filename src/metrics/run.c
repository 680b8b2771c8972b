/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "metrics/maps.h"
#include "metrics/textfile.h"

enum {
    WAIT_MIN_MS = 1,
    WAIT_MAX_MS = 20,
    COST_SHARE = 10, /* at most one part in so many of the time goes into reading maps */
};

struct metrics {
    struct metrics_options options;
    struct map_watcher watcher;
    struct textfile file;
    struct metric_maps *maps; /* NULL before the trace begins */
    struct table names;       /* of families */
    struct text body;
    uint64_t due; /* when the file is written next, monotonic clock */
    int failed;   /* the error that was reported last; 0: the file is up to date */
};

/* ---- messages ---- */

static void report(const struct metrics *metrics, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void report(const struct metrics *metrics, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&text, format, arguments);
    va_end(arguments);
    metrics->options.report(metrics->options.state, text.failed
                                                        ? "WARNING: there is not enough memory for metrics\n"
                                                        : text_string(&text));
    text_free(&text);
}

/* ---- what the script does with its maps ---- */

static void emptied(void *state, const char *map, uint64_t moment)
{
    struct metrics *metrics = state;
    (void)moment;
    const int error = metrics->maps ? metric_maps_emptied(metrics->maps, map) : 0;
    if (error)
        report(metrics, "WARNING: what %s has counted before it was cleared is missing in its metric: %s\n",
               map, strerror(-error));
}

const struct map_watcher *metrics_watcher(const struct metrics *metrics)
{
    return &metrics->watcher;
}

/* ---- opening ---- */

int metrics_open(const struct metrics_options *options, struct metrics **out, struct text *why,
                 struct text *hint)
{
    struct metrics *metrics = *out = calloc(1, sizeof *metrics);
    (void)hint;
    int error = metrics ? 0 : -ENOMEM;
    if (metrics) {
        metrics->options = *options;
        metrics->watcher = (struct map_watcher){.state = metrics, .emptied = emptied, .next = options->next};
        error = textfile_open(&metrics->file, options->place);
    }
    if (error)
        text_printf(why, "the file '%s' cannot be made: %s", options->place, strerror(-error));
    return error;
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics)
        return;
    metric_maps_free(metrics->maps);
    table_free(&metrics->names);
    textfile_close(&metrics->file);
    text_free(&metrics->body);
    free(metrics);
}

/* ---- publishing ---- */

static int write_body(struct metrics *metrics, const struct metric_format *format)
{
    struct metric_writer writer = {.format = format, .out = &metrics->body};
    text_free(&metrics->body);
    metrics->body = (struct text){0};
    const int error = metric_maps_write(metrics->maps, &writer);
    metric_finish(&writer);
    return error ? error : metrics->body.failed ? -ENOMEM : 0;
}

/* Writes the file. An error is reported once, until it is another one or writing succeeds: the trace goes on. */
static void publish(struct metrics *metrics)
{
    int error = write_body(metrics, &metric_text);
    if (!error)
        error = textfile_replace(&metrics->file, &metrics->body);
    if (error && error != metrics->failed)
        report(metrics, "WARNING: the metrics in '%s' are not up to date: %s\n", metrics->options.place,
               strerror(-error));
    if (!error && metrics->failed)
        report(metrics, "NOTE: the metrics in '%s' are up to date again\n", metrics->options.place);
    metrics->failed = error;
}

static void publish_when_due(struct metrics *metrics)
{
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (now < metrics->due)
        return;
    publish(metrics);
    const uint64_t cost = (clock_ns(CLOCK_MONOTONIC) - now) * COST_SHARE;
    metrics->due = now + (cost > metrics->options.period_ns ? cost : metrics->options.period_ns);
}

/* ---- the trace ---- */

static int loop(struct metrics *metrics, struct session *session)
{
    int wait_ms = WAIT_MIN_MS;
    while (!session_is_over(session)) {
        const int got = session_iterate(session, wait_ms);
        if (got < 0)
            return got;
        wait_ms = got > 0 ? WAIT_MIN_MS : wait_ms < WAIT_MAX_MS ? wait_ms * 2 : WAIT_MAX_MS;
        publish_when_due(metrics);
    }
    return 0;
}

int metrics_run(struct metrics *metrics, struct session *session, int *status)
{
    int error = metric_maps_make(session, metrics->options.script, metrics->options.series_max,
                                 &metrics->names, &metrics->maps);
    if (error)
        return error;
    if ((error = session_begin(session)))
        return error;
    error = loop(metrics, session);
    const int ended = session_end(session, status);
    if (!error && !ended) {
        publish(metrics);
        if (metrics->failed && !*status)
            *status = 1;
    }
    return error ? error : ended;
}
