/* SPDX-License-Identifier: BSD-3-Clause */
/* `--otlp` of scripts: the lines that they print, and warnings and errors, as log records, which wait in a queue. Maps are none of
 * them: these are metrics. */
#ifndef SPOOR_CMD_OTLP_LINES_H
#define SPOOR_CMD_OTLP_LINES_H

#include "base/lines.h"
#include "cmd/otlp.h"
#include "otlp/logs.h"
#include "session/session.h"

struct otlp_lines {
    struct session_observer observer; /* for session_options.observer */
    struct line_splitter splitter;
    struct log_queue queue;
    int64_t wall_ahead;           /* of the boot clock, ns */
    const struct session *replay; /* the session, if it runs over recordings */
    struct otlp_target *target;   /* the caller's; NULL: nothing says where lines go */
    uint64_t count;               /* lines, and messages */
    uint64_t lost_before;         /* lines that the sender had lost before the end */
    bool prints_json;             /* lines are objects of JSON, which errors are, too */
    bool is_over;                 /* nothing is printed any more */
};

/* Begins to collect. is_json: requests are lines of JSON; prints_json: what the script prints is JSON. */
void otlp_lines_begin(struct otlp_lines *lines, const struct otlp_service *service,
                      struct otlp_target *target, bool is_json, bool prints_json);
/* Adds a message that is no line of the script. time: of the boot clock, ns. */
void otlp_lines_add(struct otlp_lines *lines, uint64_t time, enum log_severity severity, const char *text);
/* Sends requests that are full or old enough, as long as there is room for them. */
void otlp_lines_send(struct otlp_lines *lines);
/* Nothing is printed any more: otlp_lines_send() sends all. */
void otlp_lines_end(struct otlp_lines *lines);
/* Whether lines wait. */
bool otlp_lines_wait(const struct otlp_lines *lines);
/* Reports how many lines did not arrive. metrics: where the metrics of the same script go. Returns whether those arrived
 * that waited when the end began. */
bool otlp_lines_report(const struct otlp_lines *lines, const struct otlp_target *metrics);
void otlp_lines_free(struct otlp_lines *lines);

#endif
