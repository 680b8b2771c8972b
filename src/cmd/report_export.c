/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor report --export`: the events that a listing would show, for other tools. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "cmd/command.h"
#include "cmd/recordings.h"
#include "cmd/report.h"

static int write_out(void *context, const char *file, const void *bytes, size_t length)
{
    const struct output *output = context;
    if (file && !output->is_directory && !output->beside_path) /* standard output has nothing beside it */
        return 0;
    return output_write(context, file, bytes, length);
}

struct exporting {
    struct report *report;
    struct export export;
    struct filter filter;
    struct json_lines *lines; /* of --merge; NULL: none */
};

/* Exports the lines that are older than `before` and in the window of time. */
static int export_lines(struct exporting *exporting, uint64_t before)
{
    const uint64_t start = recording_start(exporting->report->recording);
    struct json_line line;
    int got = 0;
    while (exporting->lines && !report_stop &&
           (got = json_lines_next(exporting->lines, before, &line)) == 1) {
        const uint64_t since = line.time > start ? line.time - start : 0;
        if (since < exporting->filter.from || (exporting->filter.to && since > exporting->filter.to))
            continue;
        if ((got = export_line(&exporting->export, &line)))
            break;
    }
    return got < 0 && got != -EINTR ? got : 0;
}

/* Exports the events. What is missing before an event that is left out is counted before the next one of its ring. */
static int export_events(struct exporting *exporting)
{
    struct report *report = exporting->report;
    struct filter *filter = &exporting->filter;
    const bool passes_all = filter_is_empty(filter);
    const unsigned sources = recording_counts(report->recording).sources;
    uint64_t *lost = calloc(sources + 1u, sizeof *lost);
    struct recording_event event;
    struct object_step step;
    int got = lost ? 0 : -ENOMEM;
    while (!got && !report_stop && (got = report_next(report, &event, &step)) == 1) {
        uint64_t *missing = &lost[event.source < sources ? event.source : sources];
        got = 0;
        *missing += event.lost;
        if (!passes_all && !filter_passes(filter, report->recording, &event, &step)) {
            if (filter_is_over(filter, report->recording, &event))
                break;
            continue;
        }
        event.lost = *missing;
        *missing = 0;
        report->shown++;
        got = export_lines(exporting, recording_time(report->recording, event.stamp));
        if (!got)
            got = export_event(&exporting->export, &event, &step);
    }
    free(lost);
    return got ? got : export_lines(exporting, UINT64_MAX);
}

void report_exported(const struct report *report)
{
    const char *path = report->output.path;
    struct text opens = {0};
    if (!report->options->format || !path)
        return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    terminal_print(&opens, report->options->format->opens, path, path);
#pragma GCC diagnostic pop
    command_print(stderr, "NOTE: %s has %s%" PRIu64 " event%s: ", path,
                  report->options->rows == EXPORT_OBJECTS ? "the objects of " : "", report->shown,
                  report->shown == 1 ? "" : "s");
    command_write(stderr, text_string(&opens));
    command_write(stderr, "\n");
    text_free(&opens);
}

static int end_export(struct exporting *exporting)
{
    struct text missing = {0};
    report_missing(exporting->report, &missing);
    exporting->export.objects = exporting->report->objects;
    exporting->export.notes = text_string(&missing);
    const int got = missing.failed ? -ENOMEM : export_end(&exporting->export);
    text_free(&missing);
    return got;
}

int report_export(struct report *report)
{
    const struct report_options *options = report->options;
    const struct export_sink sink = {&report->output, write_out};
    struct exporting exporting = {.report = report, .filter = options->filter};
    if (options->merged && report_lines_open(report, &exporting.lines))
        return 1;
    int got = export_begin(&exporting.export, options->format, report->recording,
                           &(struct export_choice){options->rows, &options->filter}, &sink);
    if (!got)
        got = export_events(&exporting);
    if (!got && !report_stop)
        got = end_export(&exporting);
    report_progress_end(report);
    if (exporting.lines && got >= 0)
        report_lines_explain(report, exporting.lines);
    if (!got && !recording_unrelated(report->recording) && recording_is_spdk(report->recording))
        recordings_report_relation(report->recording);
    json_lines_close(exporting.lines);
    export_free(&exporting.export);
    free(exporting.filter.tracepoints != options->filter.tracepoints ? exporting.filter.tracepoints : NULL);
    if (got < 0 && !report->output.error) /* an error of writing is reported when the output is closed */
        command_print(stderr, "ERROR: cannot export %s: %s\n", recording_path(report->recording),
                      strerror(-got));
    if (got == -E2BIG)
        fputs("HINT: a table has 4096 columns at most; --group and --tracepoint choose what has some of it\n",
              stderr);
    return got < 0 || report_stop;
}
