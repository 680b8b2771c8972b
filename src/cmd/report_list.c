/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor report`: prints the events as lines or as JSON, and between them the lines of another output. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/recordings.h"
#include "cmd/report.h"
#include "print/event.h"
#include "reader/json_lines.h"

struct listing {
    struct report *report;
    struct filter filter;
    struct event_printer printer;
    struct json_lines *lines; /* lines to merge; NULL: there are none */
    bool has_entries;         /* something was printed */
    uint64_t lost;            /* what is missing before events that are not shown */
};

static void print_event(struct listing *listing, struct recording_event *event,
                        const struct object_step *step)
{
    struct report *report = listing->report;
    event->lost = listing->lost;
    listing->lost = 0;
    report->shown++;
    if (report->options->json)
        event_json(&report->out, report->recording, event, step, !listing->has_entries);
    else
        event_print(&listing->printer, &report->out, event, step);
    listing->has_entries = true;
    report_flush(report, false);
}

/* Prints lines that are older than `before` and in the window of time. Returns 0 or -errno. */
static int print_lines(struct listing *listing, uint64_t before)
{
    struct report *report = listing->report;
    const uint64_t start = recording_start(report->recording);
    struct json_line line;
    int got = 0;
    while (listing->lines && !report_stop && !report->is_closed &&
           (got = json_lines_next(listing->lines, before, &line)) == 1) {
        const uint64_t since = line.time > start ? line.time - start : 0;
        if (since < listing->filter.from || (listing->filter.to && since > listing->filter.to))
            continue;
        if (report->options->json)
            event_json_line(&report->out, &line, !listing->has_entries);
        else
            event_print_line(&listing->printer, &report->out, &line);
        listing->has_entries = true;
        report_flush(report, false);
    }
    return got < 0 && got != -EINTR ? got : 0;
}

/* Prints an event that passes. Returns 0 or -errno. *over: nothing more is wanted. */
static int see_event(struct listing *listing, struct recording_event *event, bool passes_all, bool *over)
{
    struct report *report = listing->report;
    struct object_step step;
    int error = objects_follow(report->objects, event, &step);
    if (error || event->is_outside)
        return error;
    listing->lost += event->lost;
    if (!passes_all && !filter_passes(&listing->filter, report->recording, event, &step)) {
        *over = filter_is_over(&listing->filter, report->recording, event);
        return 0;
    }
    if (listing->lines)
        error = print_lines(listing, recording_time(report->recording, event->stamp));
    if (!error)
        print_event(listing, event, &step);
    return error;
}

/* Prints all events that there are now. Returns 0 or -errno. *over: nothing more is wanted. */
static int print_events(struct listing *listing, bool *over)
{
    enum { FEW = 64 };
    struct report *report = listing->report;
    struct recording_event events[FEW];
    const bool passes_all = filter_is_empty(&listing->filter);
    int error = 0;
    while (!error && !report_stop && !report->is_closed && !*over) {
        const int count = recording_next_few(report->recording, events, FEW);
        if (count <= 0)
            return count;
        if (report->shows_progress)
            report_progress_now(report);
        for (int i = 0; i < count && !error && !report_stop && !report->is_closed && !*over; i++)
            error = see_event(listing, &events[i], passes_all, over);
    }
    return error;
}

void report_lines_explain(const struct report *report, const struct json_lines *lines)
{
    const struct json_lines_counts counts = json_lines_counts(lines);
    const char *name = report->options->merged;
    if (counts.refused)
        command_print(stderr, "NOTE: %" PRIu64 " lines of %s are no JSON and were left out\n", counts.refused,
                      name);
    if (!counts.timed)
        command_print(stderr,
                      "NOTE: no line of %s says when it was: `spoor -f json --times` writes lines that do\n",
                      name);
    if (counts.late)
        command_print(stderr, "NOTE: %" PRIu64 " lines of %s came too late for the order of time\n",
                      counts.late, name);
}

int report_lines_open(const struct report *report, struct json_lines **lines)
{
    struct text why = {0};
    if (recording_unrelated(report->recording)) {
        command_print(stderr, "ERROR: --merge needs to know when events were, and %s does not say: %s\n",
                      recording_path(report->recording), recording_unrelated(report->recording));
        return 1;
    }
    const int error = json_lines_open(report->options->merged, &report_stop, lines, &why);
    if (error)
        recordings_fail(&why, error);
    text_free(&why);
    return error != 0;
}

static int list(struct listing *listing)
{
    struct report *report = listing->report;
    int got = 0;
    bool over = false;
    do {
        got = print_events(listing, &over);
        if (got < 0 || over)
            break;
        if (report->options->follow)
            report_flush(report, true);
    } while ((got = report_wait(report)) == 1);
    return got < 0 ? got : print_lines(listing, UINT64_MAX);
}

int report_list(struct report *report)
{
    const struct report_options *options = report->options;
    struct listing listing = {.report = report, .filter = options->filter};
    if (options->merged && report_lines_open(report, &listing.lines))
        return 1;
    event_printer_init(&listing.printer, report->recording);
    listing.printer.width = options->width;
    listing.printer.with_counter = options->with_counter;
    listing.printer.with_step = options->with_step;
    if (options->json)
        event_json_head(&report->out, report->recording);
    const int got = list(&listing);
    report_progress_end(report);
    if (options->json)
        event_json_tail(&report->out, report->recording);
    free(listing.filter.tracepoints != options->filter.tracepoints ? listing.filter.tracepoints : NULL);
    if (listing.lines && got >= 0)
        report_lines_explain(report, listing.lines);
    if (listing.lines && recording_is_spdk(report->recording))
        recordings_report_relation(report->recording);
    json_lines_close(listing.lines);
    if (got < 0)
        command_print(stderr, "ERROR: cannot read %s: %s\n", recording_path(report->recording),
                      strerror(-got));
    return got < 0;
}
