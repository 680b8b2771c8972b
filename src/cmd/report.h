/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of `spoor report` share: its options, and its output. */
#ifndef SPOOR_CMD_REPORT_H
#define SPOOR_CMD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "cmd/output.h"
#include "export/export.h"
#include "reader/filter.h"
#include "reader/objects.h"
#include "reader/reader.h"

struct report_options {
    struct filter filter;
    bool with_counter, with_step, json, follow, stats;
    long slowest;     /* 0: no */
    const char *type; /* of the slowest; NULL: all */
    unsigned width;   /* of a line; has_width: as the user said */
    bool has_width;
    const struct export_format *format; /* --export; NULL: no */
    const char *output, *merged;        /* -o, --merge; NULL: none */
    const char *names, *program;        /* --names, --program; NULL: none */
};

struct report {
    const struct report_options *options;
    const struct recording_options *recording_options;
    struct recording *recording;
    struct objects *objects;
    struct text out;
    struct output output;
    bool is_closed;  /* it takes nothing more */
    bool has_failed; /* for a reason that was told */
    bool shows_progress;
    uint64_t progressed; /* bytes at the last sign of progress */
};

/* Writes what has gathered; all of it or if it is much. */
void report_flush(struct report *report, bool all);
/* The next event of those that are shown, and what it means, with progress shown. 1, 0 or -errno. */
int report_next(struct report *report, struct recording_event *event, struct object_step *step);
/* --follow, when there was no next event: waits for more. 1: ask again; 0: no more comes; -errno. */
int report_wait(struct report *report);
void report_progress_end(struct report *report);
/* --names: values of arguments by their names in the program, which the process runs if none was given. 0 or -errno, with
 * the reason. */
int report_names(struct report *report, pid_t pid, struct text *why);
int report_stats(struct report *report); /* exit status, here and below */
/* Says that some of the recording could not be read, if so; then the report has failed. */
void report_unread(struct report *report);
int report_slowest(struct report *report);
int report_export(struct report *report);
int report_list(struct report *report);
extern volatile int report_stop; /* Ctrl-C */

#endif
