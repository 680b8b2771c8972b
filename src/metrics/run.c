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

/* Who gets metrics. */
struct receiver {
    const struct metric_outlet *outlet; /* NULL: the place that is opened here */
    struct metric_place place;          /* of an outlet: for messages alone */
    uint64_t period_ns;
    uint64_t due; /* when it gets the next ones, monotonic clock */
};

struct metrics {
    struct metrics_options options;
    struct map_watcher watcher;
    struct receiver receivers[METRICS_OUTLETS_MAX];
    size_t receiver_count;
    struct metric_maps *maps; /* NULL before the trace begins */
    struct metric_own *own;
    struct table names; /* of families */
    bool is_running;    /* the trace has begun and has not ended */
};

/* ---- what the script does with its maps ---- */

static void emptied(void *state, const char *map, uint64_t moment)
{
    struct metrics *metrics = state;
    (void)moment;
    const int error = metrics->maps ? metric_maps_emptied(metrics->maps, clock_ns(CLOCK_MONOTONIC), map) : 0;
    if (error)
        metric_place_report(
            &metrics->receivers->place,
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
    const int error = metric_maps_write(metrics->maps, clock_ns(CLOCK_MONOTONIC), writer);
    return error ? error : metric_own_write(metrics->own, writer);
}

static void add_receiver(struct metrics *metrics, const struct metric_outlet *outlet)
{
    const struct metrics_options *options = &metrics->options;
    const uint64_t period_ns = outlet ? outlet->period_ns : options->period_ns;
    metrics->receivers[metrics->receiver_count++] = (struct receiver){
        .outlet = outlet,
        .place = {.name = outlet ? outlet->place : options->place,
                  .source = write_families,
                  .state = metrics,
                  .report = options->report,
                  .report_state = options->state},
        .period_ns = period_ns ? period_ns : METRICS_PERIOD_S * (uint64_t)NSEC_PER_SEC,
    };
}

int metrics_open(const struct metrics_options *options, struct metrics **out, struct text *why,
                 struct text *hint)
{
    struct metrics *metrics = *out = calloc(1, sizeof *metrics);
    if (!metrics)
        return -ENOMEM;
    metrics->options = *options;
    metrics->watcher = (struct map_watcher){.state = metrics, .emptied = emptied, .next = options->next};
    for (const struct metric_outlet *outlet = options->outlet;
         outlet && metrics->receiver_count < METRICS_OUTLETS_MAX; outlet = outlet->next)
        add_receiver(metrics, outlet);
    if (options->outlet)
        return 0;
    add_receiver(metrics, NULL);
    struct metric_place *place = &metrics->receivers->place;
    const int error = metric_place_open(place, why, hint);
    if (!error && place->server && options->period_ns) {
        text_printf(why, "'%s' is read when a scraper wants it: only a file has a period", options->place);
        return -EINVAL;
    }
    return error;
}

void metrics_close(struct metrics *metrics)
{
    if (!metrics)
        return;
    if (!metrics->options.outlet)
        metric_place_close(&metrics->receivers->place);
    metric_maps_free(metrics->maps);
    metric_own_free(metrics->own);
    table_free(&metrics->names);
    free(metrics);
}

/* ---- publishing ---- */

static void publish(struct metrics *metrics, struct receiver *receiver)
{
    const struct metric_outlet *outlet = receiver->outlet;
    if (outlet)
        metric_place_note(&receiver->place, outlet->publish(outlet->state, write_families, metrics));
    else
        metric_place_write(&receiver->place);
}

static void publish_when_due(struct metrics *metrics, struct receiver *receiver)
{
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (now < receiver->due)
        return;
    /* An outlet does not wait for a disk; a process that stood still meanwhile did not work. */
    const clockid_t clock = receiver->outlet ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    const uint64_t before = clock_ns(clock);
    publish(metrics, receiver);
    const uint64_t cost = (clock_ns(clock) - before) * METRIC_COST_SHARE;
    receiver->due = now + (cost > receiver->period_ns ? cost : receiver->period_ns);
}

/* Returns whether somebody asked. */
static bool publish_or_serve(struct metrics *metrics)
{
    if (metrics->receivers->place.server)
        return metric_place_serve(&metrics->receivers->place);
    for (size_t i = 0; i < metrics->receiver_count; i++) {
        struct receiver *receiver = &metrics->receivers[i];
        publish_when_due(metrics, receiver);
        if (receiver->outlet)
            receiver->outlet->run(receiver->outlet->state);
    }
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
            metric_place_report(&metrics->receivers->place,
                                "WARNING: the setting metrics names %.*s, which is no map of numbers\n",
                                (int)length, word);
}

/* Returns what the script is called where its metrics go; NULL: as its file. */
static const char *name_of_script(const struct metrics *metrics)
{
    const char *name = NULL;
    for (size_t i = 0; i < metrics->receiver_count && !name; i++)
        name = metrics->receivers[i].outlet ? metrics->receivers[i].outlet->script : NULL;
    return name;
}

static void begin_waiting(struct metrics *metrics)
{
    for (size_t i = 0; i < metrics->receiver_count; i++)
        if (metrics->receivers[i].outlet && metrics->receivers[i].outlet->waits_first)
            metrics->receivers[i].due = clock_ns(CLOCK_MONOTONIC) + metrics->receivers[i].period_ns;
}

/* Publishes what the end has left. Returns whether that could be done. */
static bool publish_end(struct metrics *metrics)
{
    bool is_right = true;
    if (metrics->receivers->place.server)
        return true;
    for (size_t i = 0; i < metrics->receiver_count; i++) {
        publish(metrics, &metrics->receivers[i]);
        is_right &= !metrics->receivers[i].place.failed;
    }
    return is_right;
}

int metrics_run(struct metrics *metrics, struct session *session, int *status)
{
    int error = metric_own_make(session, name_of_script(metrics), &metrics->names, &metrics->own);
    if (!error)
        error = metric_maps_make(session, metrics->options.script, metrics->options.series_max,
                                 &metrics->names, &metrics->maps);
    if (error)
        return error;
    warn_of_missing(metrics, session);
    if ((error = session_begin(session)))
        return error;
    begin_waiting(metrics);
    metrics->is_running = true;
    error = loop(metrics, session);
    metrics->is_running = false;
    const int ended = session_end(session, status);
    if (!error && !ended && !publish_end(metrics) && !*status)
        *status = 1;
    return error ? error : ended;
}
