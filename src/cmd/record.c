/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor record`: drains a running program's recording to a file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/command.h"
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
    uint64_t rotate_time, duration; /* ns; 0: it does not end by time */
    bool quiet;
};

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
    {'q', "quiet", NULL, "no summary", OPTION_STORES(FLAG, struct arguments, quiet)},
    OPTION_ROW_HELP,
};

static const struct option_rule rules[] = {
    RECORDING_RULES,
    {"--keep", OPTION_NEEDS, "--rotate-size --rotate-time", NULL},
};

/* Reads the arguments. False: the command is over, with *status. */
static bool parse(struct arguments *arguments, int argc, char **argv, int *status)
{
    struct command_arguments given;
    if (!command_line_parse(&record_line, argc, argv, arguments, &given, status))
        return false;
    arguments->drain.pid = (pid_t)arguments->choice.pid;
    arguments->drain.rotate_seconds = arguments->rotate_time / NSEC_PER_SEC;
    if (given.count)
        *status = command_line_fail(&record_line, "what is '%s'", given.words[0]);
    else if (!arguments->drain.output)
        *status = command_line_fail(&record_line, "where to? -o FILE");
    else
        *status = recordings_check(&record_line, arguments->file, &arguments->choice, true);
    return !*status;
}

static int run(struct drain *drain, uint64_t duration, struct text *why)
{
    enum { MILLISECOND = 1000000, ASK_AFTER = 100 * MILLISECOND };
    const uint64_t end = duration ? clock_ns(CLOCK_MONOTONIC) + duration : UINT64_MAX;
    uint64_t asked = 0, time;
    int result = 0;
    while (!stopped && result >= 0 && (time = clock_ns(CLOCK_MONOTONIC)) < end) {
        if (time - asked > ASK_AFTER) { /* it takes a few ms of /proc, so it is not done in each round */
            if (!drain_is_live(drain))
                break;
            asked = time;
        }
        result = drain_round(drain, why);
        if (result == 0)
            nanosleep(&(struct timespec){.tv_nsec = MILLISECOND}, NULL);
    }
    return result < 0 ? result : drain_finish(drain, why);
}

static int command_record(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct text why = {0};
    struct drain *drain = NULL;
    int status, error;
    if (!parse(&arguments, argc, argv, &status))
        return status;
    const bool makes_more = arguments.drain.rotate_bytes || arguments.drain.rotate_seconds;
    recordings_keep_privileges(PRIVILEGE_OPEN_FILES | PRIVILEGE_REMOVE_FILES);
    char *path = recordings_path(arguments.file, &arguments.choice, &why, &error);
    stop_on_signals(&stopped);
    if (path)
        error = drain_open(path, &arguments.drain, &drain, &why);
    if (!error)
        recordings_keep_privileges(makes_more ? PRIVILEGE_OPEN_FILES | PRIVILEGE_REMOVE_FILES : 0);
    if (!error)
        error = run(drain, arguments.duration, &why);
    if (error)
        recordings_fail(&why, error);
    if (drain && !arguments.quiet) {
        const struct drain_counts counts = drain_counts(drain);
        command_print(stderr,
                      "%" PRIu64 " events in %u file%s (%" PRIu64 " MB); %" PRIu64
                      "%s were overwritten before they could be drained\n",
                      counts.events, counts.files, counts.files == 1 ? "" : "s", counts.bytes >> 20,
                      counts.lost, counts.are_entries ? " entries" : "");
        if (drain_unrelated(drain))
            command_print(stderr, "NOTE: the file does not say when its events were: %s\n",
                          drain_unrelated(drain));
    }
    drain_close(drain);
    free(path);
    text_free(&why);
    return error != 0;
}

const struct command_line record_line = {
    .name = "record",
    .summary = "write what a program records to a file, until it ends",
    .run = command_record,
    .usage = "[-p PID | -s NAME [-i ID] | -f FILE] -o FILE [options]",
    .about = "Writes what a program records to a file until the program ends or Ctrl-C. `spoor report FILE` "
             "reads it.\n",
    COMMAND_ROWS(rows),
    COMMAND_RULES(rules),
};
