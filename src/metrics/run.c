/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "metrics/maps.h"
#include "metrics/names.h"
#include "metrics/own.h"
#include "metrics/place.h"

enum { WAIT_MIN_MS = 1, WAIT_MAX_MS = 20 };

struct metrics {
    struct metrics_options options;
    struct map_watcher watcher;
    struct metric_place place; /* not opened if there is an outlet */
    struct metric_maps *maps;  /* NULL before the trace begins */
    struct metric_own *own;
    struct table names; /* of families */
    uint64_t due;       /* when it is written next, monotonic clock */
    bool is_running;    /* the trace has begun and has not ended */
};

/* ---- what the script does with its maps ---- */

static void emptied(void *state, const char *map, uint64_t moment)
{
    struct metrics *metrics = state;
    (void)moment;
    const int error = metrics->maps ? metric_maps_emptied(metrics->maps, map) : 0;
    if (error)
        metric_place_report(
            &metrics->place,
            "WARNING: what %s has counted before it was cleared is missing in its metric: %s\n", map,
            strerror(-error));
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

int metrics_open(const struct metrics_options *options, struct metrics **out, struct text *why,
                 struct text *hint)
{
    struct metrics *metrics = *out = calloc(1, sizeof *metrics);
    if (!metrics)
        return -ENOMEM;
    metrics->options = *options;
    metrics->watcher = (struct map_watcher){.state = metrics, .emptied = emptied, .next = options->next};
    metrics->place = (struct metric_place){.name = options->place,
                                           .source = write_families,
                                           .state = metrics,
                                           .report = options->report,
                                           .report_state = options->state};
    if (options->outlet)
        return 0;
    const int error = metric_place_open(&metrics->place, why, hint);
    if (!error && metrics->place.server && options->period_ns) {
        text_printf(why, "'%s' is read when a scraper wants it: only a file has a period", options->place);
        return -EINVAL;
    }
    return error;
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics)
        return;
    metric_place_close(&metrics->place);
    metric_maps_free(metrics->maps);
    metric_own_free(metrics->own);
    table_free(&metrics->names);
    free(metrics);
}

/* ---- publishing ---- */

static void publish(struct metrics *metrics)
{
    const struct metric_outlet *outlet = metrics->options.outlet;
    if (outlet)
        metric_place_note(&metrics->place, outlet->publish(outlet->state, write_families, metrics));
    else
        metric_place_write(&metrics->place);
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
    if (metrics->place.server)
        return metric_place_serve(&metrics->place);
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

static void warn_of_missing(const struct metrics *metrics, const struct session *session)
{
    const char *named = session_settings(session)->metrics, *word;
    size_t length;
    for (size_t i = 0; (length = metric_named(named, i, &word)); i++)
        if (!metric_maps_has(metrics->maps, word, length))
            metric_place_report(&metrics->place,
                                "WARNING: the setting metrics names %.*s, which is no map of numbers\n",
                                (int)length, word);
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
    warn_of_missing(metrics, session);
    if ((error = session_begin(session)))
        return error;
    metrics->is_running = true;
    error = loop(metrics, session);
    metrics->is_running = false;
    const int ended = session_end(session, status);
    if (!error && !ended && !metrics->place.server) {
        publish(metrics);
        if (metrics->place.failed && !*status)
            *status = 1;
    }
    return error ? error : ended;
}
