/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor report --stats`: prints counts and rates of tracepoints, and how long objects take from one to the next. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/report.h"
#include "print/json.h"
#include "reader/ahead.h"
#include "reader/latency.h"

static double covered_seconds(const struct latency_table *table, const struct recording *recording)
{
    return table->events
               ? (double)(recording_time(recording, table->last) - recording_time(recording, table->first)) /
                     1e9
               : 0;
}

static void print_tracepoints(struct report *report, const struct latency_table *table, double seconds)
{
    const struct recording_model *model = recording_model(report->recording);
    text_printf(&report->out, "%" PRIu64 " events in %.6f s\n\n%-44s %14s %14s\n", table->events, seconds,
                "tracepoint", "count", "per second");
    for (size_t i = 0; i < model->tracepoint_room; i++) {
        const struct recording_tracepoint *tracepoint = model->tracepoints[i];
        if (!tracepoint || !table->counts[i])
            continue;
        char name[128];
        snprintf(name, sizeof name, "%s:%s", tracepoint->group->name, tracepoint->name);
        text_printf(&report->out, "%-44s %14" PRIu64, name, table->counts[i]);
        if (seconds > 0)
            text_printf(&report->out, " %14.1f\n", (double)table->counts[i] / seconds);
        else
            text_printf(&report->out, " %14s\n", "-");
    }
}

static void print_latency(struct report *report, const char *name, const struct latency *latency)
{
    static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};
    text_printf(&report->out, "  %-46s %10" PRIu64 " %10.3f", name, latency->count,
                (double)latency->sum / (double)latency->count / 1000);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        text_printf(&report->out, " %10.3f", (double)latency_quantile(latency, quantiles[i]) / 1000);
    text_printf(&report->out, " %11.3f\n", (double)latency->largest / 1000);
}

static int by_step(const void *one, const void *other)
{
    const struct latency_pair *a = *(struct latency_pair *const *)one,
                              *b = *(struct latency_pair *const *)other;
    if (a->from->id != b->from->id)
        return a->from->id < b->from->id ? -1 : 1;
    return a->to->id < b->to->id ? -1 : a->to->id > b->to->id;
}

static int print_object_type(struct report *report, const struct latency_table *table, int16_t type)
{
    const struct recording_model *model = recording_model(report->recording);
    const struct latency_pair **pairs = calloc(table->pair_count + 1, sizeof *pairs);
    size_t count = 0;
    if (!pairs)
        return -ENOMEM;
    for (size_t i = 0; i < model->tracepoint_room; i++)
        for (const struct latency_pair *pair = table->pairs[i]; pair; pair = pair->next)
            if (pair->object == type)
                pairs[count++] = pair;
    qsort(pairs, count, sizeof *pairs, by_step);
    if (count || table->lives[type]) {
        text_printf(&report->out, "\nobject %c %-39s %10s %10s %10s %10s %10s %10s %11s\n",
                    model->objects[type].letter, model->objects[type].name, "count", "mean us", "p50", "p90",
                    "p99", "p99.9", "max");
        for (size_t i = 0; i < count; i++) {
            char name[160];
            snprintf(name, sizeof name, "%s -> %s", pairs[i]->from->name, pairs[i]->to->name);
            print_latency(report, name, &pairs[i]->latency);
        }
        if (table->lives[type])
            print_latency(report, "whole life", &table->lives[type]->latency);
    }
    free(pairs);
    return 0;
}

static void json_latency(struct text *out, const struct latency *latency)
{
    static const struct {
        const char *name;
        double fraction;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};
    text_printf(out, "\"count\": %" PRIu64 ", \"mean_us\": %.3f", latency->count,
                (double)latency->sum / (double)latency->count / 1000);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        text_printf(out, ", \"%s\": %.3f", quantiles[i].name,
                    (double)latency_quantile(latency, quantiles[i].fraction) / 1000);
    text_printf(out, ", \"max\": %.3f}", (double)latency->largest / 1000);
}

void report_stats_json(struct text *out, const struct recording *recording, const struct latency_table *table)
{
    const struct recording_model *model = recording_model(recording);
    const double seconds = covered_seconds(table, recording);
    const char *comma = "\n";
    text_printf(out, "{\"events\": %" PRIu64 ", \"seconds\": %.9f,\n\"tracepoints\": [", table->events,
                seconds);
    for (size_t i = 0; i < model->tracepoint_room; i++)
        if (model->tracepoints[i] && table->counts[i]) {
            text_printf(out, "%s{\"group\": ", comma);
            json_string(out, model->tracepoints[i]->group->name);
            text_add(out, ", \"name\": ");
            json_string(out, model->tracepoints[i]->name);
            text_printf(out, ", \"count\": %" PRIu64 "}", table->counts[i]);
            comma = ",\n";
        }
    text_add(out, "],\n\"latencies\": [");
    comma = "\n";
    for (size_t i = 0; i < model->tracepoint_room; i++)
        for (const struct latency_pair *pair = table->pairs[i]; pair; pair = pair->next) {
            text_printf(out, "%s{\"object\": \"%c\", \"from\": ", comma, model->objects[pair->object].letter);
            json_string(out, pair->from->name);
            text_add(out, ", \"to\": ");
            json_string(out, pair->to->name);
            text_add(out, ", ");
            json_latency(out, &pair->latency);
            comma = ",\n";
        }
    for (size_t i = 0; i < model->object_count; i++)
        if (table->lives[i]) {
            text_printf(out, "%s{\"object\": \"%c\", ", comma, model->objects[i].letter);
            json_latency(out, &table->lives[i]->latency);
            comma = ",\n";
        }
    text_add(out, "]}\n");
}

static int print_tables(struct report *report, const struct latency_table *table)
{
    const struct recording_model *model = recording_model(report->recording);
    const double seconds = covered_seconds(table, report->recording);
    int error = 0;
    if (report->options->json) {
        report_stats_json(&report->out, report->recording, table);
        return 0;
    }
    print_tracepoints(report, table, seconds);
    for (size_t i = 0; i < model->object_count && !error; i++)
        error = print_object_type(report, table, (int16_t)i);
    return error;
}

/* Whether the tables are printed at the top of the screen, again and again: with --follow, on a terminal. */
static bool is_on_screen(const struct report *report)
{
    return report->options->follow && !report->options->json && !report->output.path && isatty(STDOUT_FILENO);
}

static int put_tables(struct report *report, const struct latency_table *table)
{
    if (is_on_screen(report))
        text_add(&report->out, "\033[H\033[J");
    const int error = print_tables(report, table);
    report_flush(report, true);
    return error;
}

/* Prints the tables as they are now, once a second. */
static int show_now(struct report *report, const struct latency_table *table, time_t *shown)
{
    const time_t now = clock_seconds(CLOCK_MONOTONIC);
    if (!is_on_screen(report) || now == *shown)
        return 0;
    *shown = now;
    return put_tables(report, table);
}

static int add_events(struct report *report, struct filter *filter, struct latency_table *table,
                      const struct recording_event *events, int count)
{
    struct object_step step;
    int error = 0;
    const bool filters = !filter_is_empty(filter);
    for (int i = 0; i < count && !error; i++) {
        error = objects_follow(report->objects, &events[i], &step);
        if (error || events[i].is_outside ||
            (filters && !filter_passes(filter, report->recording, &events[i], &step)))
            continue;
        report->shown++;
        error = latency_table_add(table, &events[i], &step);
    }
    return error;
}

static int gather(struct report *report, struct filter *filter, struct latency_table *table)
{
    enum { FEW = 64 };
    struct recording_event events[FEW];
    time_t shown = 0;
    int got = 0;
    while (got >= 0 && !report_stop) {
        if ((got = recording_next_few(report->recording, events, FEW)) > 0) {
            if (report->shows_progress)
                report_progress_now(report);
            got = add_events(report, filter, table, events, got);
            continue;
        }
        if (got == 0)
            got = show_now(report, table, &shown);
        if (got < 0 || (got = report_wait(report)) != 1)
            break;
    }
    return got < 0 ? got : 0;
}

static int add_batch(struct report *report, struct latency_table *table, const struct ahead_batch *batch)
{
    const struct recording_model *model = recording_model(report->recording);
    struct recording_event event = {0};
    struct object_step step;
    int error =
        batch->gap_ends ? objects_set_gap_ends(report->objects, batch->gap_ends, batch->gap_end_count) : 0;
    for (int i = 0; i < batch->count && !error; i++) {
        ahead_event(batch, i, model, &event);
        error = objects_follow(report->objects, &event, &step);
        if (error || event.is_outside)
            continue;
        report->shown++;
        error = latency_table_add(table, &event, &step);
    }
    return error;
}

/* As gather(), while another thread reads the recording. Nothing is filtered, so that nobody needs what it leaves out of
 * events. */
static int gather_apart(struct report *report, struct latency_table *table, struct ahead *ahead,
                        uint64_t total)
{
    struct ahead_batch batch;
    int got = 0;
    while (!report_stop && (got = ahead_next(ahead, &batch)) == 1) {
        if (report->shows_progress)
            report_progress(report, batch.done, total);
        if ((got = add_batch(report, table, &batch)) < 0)
            break;
    }
    return got < 0 ? got : 0;
}

static int gather_all(struct report *report, struct filter *filter, struct latency_table *table)
{
    const uint64_t total = recording_counts(report->recording).total;
    struct ahead *ahead = NULL;
    if (!filter_is_empty(filter) || !ahead_pays(report->recording))
        return gather(report, filter, table);
    latency_table_set_apart(table);
    if (ahead_start(report->recording, &ahead))
        return gather(report, filter, table);
    objects_set_apart(report->objects, true);
    const int error = gather_apart(report, table, ahead, total);
    ahead_stop(ahead);
    objects_set_apart(report->objects, false);
    return error;
}

int report_stats(struct report *report)
{
    struct latency_table table;
    struct filter filter = report->options->filter;
    int error = latency_table_make(&table, report->recording);
    if (!error)
        error = gather_all(report, &filter, &table);
    report_progress_end(report);
    if (!error)
        error = latency_table_finish(&table, report->objects);
    if (!error)
        error = put_tables(report, &table);
    if (!error && table.left_out)
        command_print(stderr,
                      "NOTE: %" PRIu64 " steps between rare pairs of tracepoints are not in the table\n",
                      table.left_out);
    latency_table_free(&table);
    free(filter.tracepoints);
    if (error)
        command_print(stderr, "ERROR: cannot read %s: %s\n", recording_path(report->recording),
                      strerror(-error));
    return error != 0;
}
