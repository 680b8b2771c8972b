/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "metrics/maps.h"
#include "metrics/own.h"
#include "metrics/serve.h"
#include "metrics/textfile.h"

enum { WAIT_MIN_MS = 1, WAIT_MAX_MS = 20 };

struct metrics {
    struct metrics_options options;
    struct map_watcher watcher;
    struct metric_address address;
    struct textfile file;         /* if the address is none, or */
    struct metric_server *server; /* NULL: there is none */
    struct metric_maps *maps;     /* NULL before the trace begins */
    struct metric_own *own;
    struct table names; /* of families */
    uint64_t due;       /* when the file is written next, monotonic clock */
    bool is_running;    /* the trace has begun and has not ended */
    int failed;         /* the error that was reported last; 0: the file is up to date */
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

static int write_families(void *state, struct metric_writer *writer)
{
    const struct metrics *metrics = state;
    const int error = metric_maps_write(metrics->maps, writer);
    return error ? error : metric_own_write(metrics->own, writer);
}

static int open_file(struct metrics *metrics, struct text *why)
{
    const int error = textfile_open(&metrics->file, metrics->address.path);
    if (error)
        text_printf(why, "the file '%s' cannot be made: %s", metrics->address.path, strerror(-error));
    return error;
}

int metrics_open(const struct metrics_options *options, struct metrics **out, struct text *why,
                 struct text *hint)
{
    struct metrics *metrics = *out = calloc(1, sizeof *metrics);
    if (!metrics)
        return -ENOMEM;
    metrics->options = *options;
    metrics->watcher = (struct map_watcher){.state = metrics, .emptied = emptied, .next = options->next};
    if (options->outlet)
        return 0;
    const int error = metric_address_read(options->place, &metrics->address, why);
    if (error)
        return error;
    if (!metrics->address.size)
        return open_file(metrics, why);
    if (options->period_ns) {
        text_printf(why, "'%s' is read when a scraper wants it: only a file has a period", options->place);
        return -EINVAL;
    }
    return metric_server_open(&metrics->address, options->place, write_families, metrics, &metrics->server,
                              why, hint);
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics)
        return;
    metric_server_close(metrics->server);
    metric_maps_free(metrics->maps);
    metric_own_free(metrics->own);
    table_free(&metrics->names);
    textfile_close(&metrics->file);
    free(metrics);
}

/* ---- publishing ---- */

/* An error is reported once, until it is another one or all is well again: the trace goes on. */
static void note(struct metrics *metrics, int error)
{
    if (error && error != metrics->failed)
        report(metrics, "WARNING: the metrics at '%s' are not up to date: %s\n", metrics->options.place,
               strerror(-error));
    if (!error && metrics->failed)
        report(metrics, "NOTE: the metrics at '%s' are up to date again\n", metrics->options.place);
    metrics->failed = error;
}

static int replace_file(struct metrics *metrics)
{
    struct text body = {0};
    struct metric_writer writer = {.format = &metric_text, .out = &body};
    int error = write_families(metrics, &writer);
    metric_finish(&writer);
    if (!error)
        error = body.failed ? -ENOMEM : textfile_replace(&metrics->file, &body);
    text_free(&body);
    return error;
}

static void publish(struct metrics *metrics)
{
    const struct metric_outlet *outlet = metrics->options.outlet;
    note(metrics, outlet ? outlet->publish(outlet->state, write_families, metrics) : replace_file(metrics));
}

/* Returns whether somebody asked. */
static bool serve(struct metrics *metrics)
{
    const int asked = metric_server_run(metrics->server);
    if (asked)
        note(metrics, asked < 0 ? asked : 0);
    return asked;
}

static void publish_when_due(struct metrics *metrics)
{
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (now < metrics->due)
        return;
    /* An outlet does not wait for a disk; a process that stood still meanwhile did not work. */
    const clockid_t clock = metrics->options.outlet ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    const uint64_t before = clock_ns(clock);
    publish(metrics);
    const uint64_t period =
        metrics->options.period_ns ? metrics->options.period_ns : METRICS_PERIOD_S * (uint64_t)NSEC_PER_SEC;
    const uint64_t cost = (clock_ns(clock) - before) * METRIC_COST_SHARE;
    metrics->due = now + (cost > period ? cost : period);
}

/* Returns whether somebody asked. */
static bool publish_or_serve(struct metrics *metrics)
{
    if (metrics->server)
        return serve(metrics);
    publish_when_due(metrics);
    if (metrics->options.outlet)
        metrics->options.outlet->run(metrics->options.outlet->state);
    return false;
}

void metrics_meanwhile(struct metrics *metrics)
{
    if (metrics->is_running)
        publish_or_serve(metrics);
}

/* ---- the trace ---- */

static int loop(struct metrics *metrics, struct session *session)
{
    int wait_ms = WAIT_MIN_MS;
    while (!session_is_over(session)) {
        const int got = session_iterate(session, wait_ms);
        if (got < 0)
            return got;
        const bool is_busy = publish_or_serve(metrics) || got > 0;
        wait_ms = is_busy ? WAIT_MIN_MS : wait_ms * 2 < WAIT_MAX_MS ? wait_ms * 2 : WAIT_MAX_MS;
    }
    return 0;
}

int metrics_run(struct metrics *metrics, struct session *session, int *status)
{
    const struct metric_outlet *outlet = metrics->options.outlet;
    int error = metric_own_make(session, outlet ? outlet->script : NULL, &metrics->names, &metrics->own);
    if (!error)
        error = metric_maps_make(session, metrics->options.script, metrics->options.series_max,
                                 &metrics->names, &metrics->maps);
    if (error)
        return error;
    if ((error = session_begin(session)))
        return error;
    metrics->is_running = true;
    error = loop(metrics, session);
    metrics->is_running = false;
    const int ended = session_end(session, status);
    if (!error && !ended && !metrics->server) {
        publish(metrics);
        if (metrics->failed && !*status)
            *status = 1;
    }
    return error ? error : ended;
}
