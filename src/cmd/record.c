/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor record`: drains a running program's recording to a file, and sends its objects as spans. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/record.h"
#include "cmd/recordings.h"
#include "cmd/stop.h"
#include "base/number.h"
#include "reader/drain.h"
#include "reader/find.h"

static volatile int stopped;

struct arguments {
    struct find_choice choice;
    const char *file;
    struct drain_options drain;
    struct otlp_options otlp;
    uint32_t percentile;            /* of spans; 0: all are sent */
    const char *type;               /* of objects whose spans are sent; NULL: any */
    uint64_t rotate_time, duration; /* ns; 0: it does not end by time */
    bool quiet;
};

static int choose_slowest(void *target, const struct option_value *value)
{
    return percentile_parse(value->text, &((struct arguments *)target)->percentile) ? 0 : OPTION_WRONG;
}

static const struct option_row rows[] = {
    RECORDING_ROWS(struct arguments),
    {'o', "output", "FILE", "where to; it must not exist",
     OPTION_STORES(TEXT, struct arguments, drain.output), .completes = COMPLETE_FILES},
    {0, "rotate-size", "BYTES", "a new file after so many bytes of records (10M): FILE.1, FILE.2 …",
     OPTION_STORES(SIZE, struct arguments, drain.rotate_bytes)},
    {0, "rotate-time", "TIME", "a new file after this time (10s, 5m)",
     OPTION_STORES(DURATION, struct arguments, rotate_time), .min = NSEC_PER_SEC,
     .takes = "a time of a second or more, such as 10s"},
    {0, "keep", "N", "only the newest N files", OPTION_STORES(NUMBER, struct arguments, drain.keep), .min = 1,
     .max = 1000000, .takes = "a number of files"},
    {0, "duration", "TIME", "stop after this time (90s, 5m)",
     OPTION_STORES(DURATION, struct arguments, duration)},
    OTLP_ROWS(struct arguments, otlp, "URL|FILE",
              "objects as spans of OpenTelemetry, as soon as they end: to http://HOST:4318, or lines of JSON",
              "30s"),
    {0, "slowest", "pN [TYPE]",
     "with --otlp: only spans (of this type) that live longer than N percent of those before, or have an "
     "error",
     OPTION_SETS(choose_slowest), .takes = "a percentile such as p99"},
    {'q', "quiet", NULL, "no summary", OPTION_STORES(FLAG, struct arguments, quiet)},
    OPTION_ROW_HELP,
};

static const struct option_rule rules[] = {
    RECORDING_RULES,
    {"--keep", OPTION_NEEDS, "--rotate-size --rotate-time", NULL},
    {"--rotate-size", OPTION_NEEDS, "-o", NULL},
    {"--rotate-time", OPTION_NEEDS, "-o", NULL},
    OTLP_RULES,
    {"--slowest", OPTION_NEEDS, "--otlp", NULL},
};

/* Reads the arguments. False: the command is over, with *status. */
static bool parse(struct arguments *arguments, int argc, char **argv, int *status)
{
    struct command_arguments given;
    if (!command_line_parse(&record_line, argc, argv, arguments, &given, status))
        return false;
    arguments->drain.pid = (pid_t)arguments->choice.pid;
    arguments->drain.rotate_seconds = arguments->rotate_time / NSEC_PER_SEC;
    const int words = arguments->percentile && given.count ? 1 : 0;
    if (words)
        arguments->type = given.words[0];
    if (given.count > words)
        *status = command_line_fail(&record_line, "what is '%s'", given.words[words]);
    else if (!arguments->drain.output && !arguments->otlp.place)
        *status = command_line_fail(&record_line, "where to? -o FILE, or --otlp URL");
    else
        *status = recordings_check(&record_line, arguments->file, &arguments->choice, true);
    return !*status;
}

struct recorders { /* each: NULL if it is not wanted */
    struct drain *drain;
    struct record_spans *spans;
    bool has_ended; /* the program has */
};

static bool is_live(const struct recorders *recorders)
{
    return recorders->drain ? drain_is_live(recorders->drain) : record_spans_are_live(recorders->spans);
}

/* Returns 1 if the next round should come at once, 0 if not, -errno with the reason: nothing more can be recorded. */
static int run_round(const struct recorders *recorders, struct text *why)
{
    const int copied = recorders->drain ? drain_round(recorders->drain, why) : 0;
    const int sent = recorders->spans && copied >= 0 ? record_spans_run(recorders->spans) : 0;
    if (!recorders->drain)
        return sent;
    return copied ? copied : sent > 0; /* a file goes on when nothing more is sent */
}

/* Returns 0 or -errno with the reason. */
static int run(struct recorders *recorders, uint64_t duration, struct text *why)
{
    enum { MILLISECOND = 1000000, ASK_AFTER = 100 * MILLISECOND };
    const uint64_t end = duration ? clock_ns(CLOCK_MONOTONIC) + duration : UINT64_MAX;
    uint64_t asked = 0, time;
    int result = 0;
    while (!stopped && result >= 0 && (time = clock_ns(CLOCK_MONOTONIC)) < end) {
        if (time - asked > ASK_AFTER) { /* it takes a few ms of /proc, so it is not done in each round */
            if ((recorders->has_ended = !is_live(recorders)))
                break;
            asked = time;
        }
        result = run_round(recorders, why);
        if (result == 0)
            nanosleep(&(struct timespec){.tv_nsec = MILLISECOND}, NULL);
    }
    if (result < 0 || !recorders->drain)
        return result < 0 ? result : 0;
    return drain_finish(recorders->drain, why);
}

/* Opens what is recorded and what it goes to. Returns 0, 1 after a message, or -errno with the reason. */
static int open_recorders(struct recorders *recorders, const struct arguments *arguments, struct text *why)
{
    const bool makes_more = arguments->drain.rotate_bytes || arguments->drain.rotate_seconds;
    int error;
    recordings_keep_privileges(PRIVILEGE_OPEN_FILES | PRIVILEGE_REMOVE_FILES);
    char *path = recordings_path(arguments->file, &arguments->choice, why, &error);
    stop_on_signals(&stopped);
    if (!error && arguments->otlp.place)
        error = record_spans_open(path, &arguments->otlp, arguments->percentile, arguments->type,
                                  &recorders->spans, why);
    if (!error && arguments->drain.output)
        error = drain_open(path, &arguments->drain, &recorders->drain, why);
    if (!error)
        recordings_keep_privileges(makes_more ? PRIVILEGE_OPEN_FILES | PRIVILEGE_REMOVE_FILES : 0);
    if (!error && recorders->spans)
        error = record_spans_start(recorders->spans);
    free(path);
    return error;
}

static void summarize(const struct drain *drain)
{
    const struct drain_counts counts = drain_counts(drain);
    command_print(stderr,
                  "%" PRIu64 " events in %u file%s (%" PRIu64 " MB); %" PRIu64
                  "%s were overwritten before they could be drained\n",
                  counts.events, counts.files, counts.files == 1 ? "" : "s", counts.bytes >> 20, counts.lost,
                  counts.are_entries ? " entries" : "");
    if (drain_unrelated(drain))
        command_print(stderr, "NOTE: the file does not say when its events were: %s\n",
                      drain_unrelated(drain));
}

static int command_record(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct recorders recorders = {0};
    struct text why = {0};
    int status;
    if (!parse(&arguments, argc, argv, &status))
        return status;
    int error = open_recorders(&recorders, &arguments, &why);
    const bool has_begun = !error;
    if (has_begun)
        error = run(&recorders, arguments.duration, &why);
    if (error < 0 &&
        (recorders.drain || !has_begun)) /* what is wrong with spans is said when they are closed */
        recordings_fail(&why, error);
    if (recorders.drain && !arguments.quiet)
        summarize(recorders.drain);
    drain_close(recorders.drain);
    if (!has_begun)
        record_spans_abandon(recorders.spans);
    const int failed = has_begun ? record_spans_close(recorders.spans, recorders.has_ended) : 1;
    text_free(&why);
    return error || failed;
}

const struct command_line record_line = {
    .name = "record",
    .summary = "write what a program records to a file, until it ends",
    .run = command_record,
    .usage = "[-p PID | -s NAME [-i ID] | -f FILE] [-o FILE] [--otlp URL|FILE] [options]",
    .about = "Writes what a program records to a file until the program ends or Ctrl-C. `spoor report FILE` "
             "reads it.\n",
    COMMAND_ROWS(rows),
    COMMAND_RULES(rules),
};
