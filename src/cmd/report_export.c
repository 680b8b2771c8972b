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
    return output_write(context, file, bytes, length);
}

/* Exports the events. What is missing before an event that is left out is counted before the next one of its ring. */
static int export_events(struct report *report, struct export *export, struct filter *filter)
{
    const unsigned sources = recording_counts(report->recording).sources;
    uint64_t *lost = calloc(sources + 1u, sizeof *lost);
    struct recording_event event;
    struct object_step step;
    int got = lost ? 0 : -ENOMEM;
    while (!got && !report_stop && (got = report_next(report, &event, &step)) == 1) {
        uint64_t *missing = &lost[event.source < sources ? event.source : sources];
        got = 0;
        *missing += event.lost;
        if (!filter_passes(filter, report->recording, &event, &step)) {
            if (filter_is_over(filter, report->recording, &event))
                break;
            continue;
        }
        event.lost = *missing;
        *missing = 0;
        report->shown++;
        got = export_event(export, &event, &step);
    }
    free(lost);
    return got;
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
    command_print(stderr, "NOTE: %s has %" PRIu64 " event%s: ", path, report->shown,
                  report->shown == 1 ? "" : "s");
    command_write(stderr, text_string(&opens));
    command_write(stderr, "\n");
    text_free(&opens);
}

int report_export(struct report *report)
{
    const struct export_sink sink = {&report->output, write_out};
    struct filter filter = report->options->filter;
    struct export export;
    int got = export_begin(&export, report->options->format, report->recording, &sink);
    if (!got)
        got = export_events(report, &export, &filter);
    if (!got && !report_stop)
        got = export_end(&export);
    report_progress_end(report);
    if (!got && !recording_unrelated(report->recording) && recording_is_spdk(report->recording))
        recordings_report_relation(report->recording);
    export_free(&export);
    free(filter.tracepoints != report->options->filter.tracepoints ? filter.tracepoints : NULL);
    if (got < 0 && !report->output.error) /* an error of writing is reported when the output is closed */
        command_print(stderr, "ERROR: cannot export %s: %s\n", recording_path(report->recording),
                      strerror(-got));
    return got < 0 || report_stop;
}
