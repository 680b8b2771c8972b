/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of `spoor report` share: its options, and its output. */
#ifndef SPOOR_CMD_REPORT_H
#define SPOOR_CMD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "cmd/otlp.h"
#include "cmd/output.h"
#include "export/export.h"
#include "reader/filter.h"
#include "reader/objects.h"
#include "reader/reader.h"

struct report_options {
    struct filter filter;
    bool with_counter, with_step, json, follow, stats;
    long slowest;        /* how many objects; 0: they are not wanted, or a percentile is */
    uint32_t percentile; /* of the slowest, in thousandths of one percent; 0: it is not wanted */
    const char *type;    /* type of the slowest objects; NULL: any */
    unsigned width;      /* of a line; has_width: the user set it */
    bool has_width;
    const struct export_format *format; /* --export; NULL: it was not given */
    enum export_rows rows;              /* of a table; has_rows: the user chose */
    bool has_rows;
    const char *output, *merged; /* -o, --merge; NULL: none */
    const char *names, *program; /* --names, --program; NULL: none */
    struct otlp_options otlp;
};

enum { REPORT_EVENTS = 64 };

struct report {
    const struct report_options *options;
    const struct recording_options *recording_options;
    struct recording *recording;
    struct objects *objects;
    /* What report_next() has read, and how many of them it has given. */
    struct recording_event events[REPORT_EVENTS];
    int read, taken;
    struct text out;
    struct output output;
    uint64_t shown;  /* how many events passed the filters */
    bool is_closed;  /* it takes no more output */
    bool has_failed; /* for a reason that was reported */
    bool shows_progress;
    uint64_t progressed; /* bytes at the last sign of progress */
};

/* Writes the text that was collected, if `all` is set or if it is much. */
void report_flush(struct report *report, bool all);
/* Finds the next event that is shown, and what it means, and shows progress. Returns 1, 0 or -errno. */
int report_next(struct report *report, struct recording_event *event, struct object_step *step);
/* With --follow, waits for more when there was no next event. Returns 1: try again; 0: no more will come; or
 * -errno. */
int report_wait(struct report *report);
/* Shows how much has been read, if it is much more than before: so many bytes, or as the recording says. report_next()
 * does this itself. Only where report.shows_progress is set. */
void report_progress(struct report *report, uint64_t done, uint64_t total);
void report_progress_now(struct report *report);
void report_progress_end(struct report *report);
/* --names: gives values of arguments their names in the program, which is that of the process if none was given.
 * Returns 0, or -errno with the reason. */
int report_names(struct report *report, pid_t pid, struct text *why);
/* Appends the statistics as `--stats -j` prints them. */
struct latency_table;
void report_stats_json(struct text *out, const struct recording *recording,
                       const struct latency_table *table);
int report_stats(struct report *report); /* returns the exit status, as those below do */
/* Writes what is missing in what was read: a sentence a line. */
void report_missing(const struct report *report, struct text *out);
/* If a part of the recording could not be read, reports it, and the report has failed. */
void report_unread(struct report *report);
/* report_nothing.c: report filters that mean nothing in the recording; and, at the end, why nothing was shown. Return
 * the exit status. */
int report_check_filters(const struct report *report);
int report_explain_nothing(const struct report *report);
int report_slowest(struct report *report);
/* Opens the recording once more, to read it from its beginning. It has the same events, unless a program has written over
 * them meanwhile. Returns 0 or -errno. */
int report_again(struct report *report);
int report_otlp(struct report *report);
int report_export(struct report *report);
/* After an export to a file that is whole: reports what was written, and what opens it. */
void report_exported(const struct report *report);
int report_list(struct report *report);
/* report_list.c: the lines of --merge. Return 0, or 1 after a message; report what was left out. */
int report_lines_open(const struct report *report, struct json_lines **lines);
void report_lines_explain(const struct report *report, const struct json_lines *lines);
extern volatile int report_stop; /* set by Ctrl-C */

#endif
