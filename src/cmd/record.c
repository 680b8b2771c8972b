/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor record`: drains a running program's recording to a file. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/recordings.h"
#include "reader/drain.h"
#include "reader/filter.h"
#include "reader/find.h"

static volatile sig_atomic_t stopped;

enum { OPTION_SIZE = 256, OPTION_TIME, OPTION_KEEP, OPTION_DURATION };

static const char help[] =
    "Usage: spoor record [-p PID | -s NAME [-i ID] | -f RECORDING] -o FILE [options]\n"
    "Writes what a program records to a file until the program ends or Ctrl-C. `spoor report FILE` reads "
    "it.\n\n"
    "  -p PID             of this process\n"
    "  -s NAME            of the newest program with this name\n"
    "  -i ID              with this shared memory id (SPDK); also with -s\n"
    "  -f RECORDING       from this recording in shared memory\n"
    "  -o FILE            where to; it must not exist\n"
    "  --rotate-size N    a new file after N bytes of records (N may end in K, M or G): FILE.1, …\n"
    "  --rotate-time T    a new file after this time: 10s, 5m\n"
    "  --keep N           only the newest N files\n"
    "  --duration T       stop after this time\n"
    "  -q                 no summary\n"
    "  -h                 this\n";

struct arguments {
    struct find_choice choice;
    const char *file;
    char *id; /* -i, which the choice has too */
    struct drain_options drain;
    uint64_t duration; /* ns; 0: no end */
    bool quiet;
};

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static int report_error(const char *what, const char *value)
{
    return command_report_error("record", what, value);
}

static int parse(struct arguments *arguments, int argc, char **argv)
{
    static const struct option names[] = {
        {"rotate-size", 1, NULL, OPTION_SIZE},
        {"rotate-time", 1, NULL, OPTION_TIME},
        {"keep", 1, NULL, OPTION_KEEP},
        {"duration", 1, NULL, OPTION_DURATION},
        {"help", 0, NULL, 'h'},
        {0},
    };
    uint64_t number;
    int letter;
    while ((letter = command_option(argc, argv, "p:s:i:f:o:qh", names)) != -1)
        switch (letter) {
        case 'p':
            if (!recordings_number(optarg, INT32_MAX, &number) || !number)
                return report_error("-p takes the id of a process, not", optarg);
            arguments->choice.pid = (uint32_t)number;
            arguments->drain.pid = (pid_t)number;
            break;
        case 's': arguments->choice.name = optarg; break;
        case 'i':
            free(arguments->id);
            if (!(arguments->choice.id = arguments->id = recordings_id("record", optarg)))
                return 1;
            break;
        case 'f': arguments->file = optarg; break;
        case 'o': arguments->drain.output = optarg; break;
        case 'q': arguments->quiet = true; break;
        case OPTION_SIZE:
            if (!recordings_size(optarg, &arguments->drain.rotate_bytes))
                return report_error("--rotate-size takes a number of bytes, which may end in K, M or G; not",
                                    optarg);
            break;
        case OPTION_TIME:
            if (!filter_parse_time(optarg, &number) || number < 1000000000)
                return report_error("--rotate-time takes a time of a second or more, such as 10s; not",
                                    optarg);
            arguments->drain.rotate_seconds = number / 1000000000;
            break;
        case OPTION_KEEP:
            if (!recordings_number(optarg, 1000000, &number) || !number)
                return report_error("--keep takes a number of files, not", optarg);
            arguments->drain.keep = (unsigned)number;
            break;
        case OPTION_DURATION:
            if (!filter_parse_time(optarg, &arguments->duration) || !arguments->duration)
                return report_error("--duration takes a time, such as 10s; not", optarg);
            break;
        case 'h': fputs(help, stdout); exit(0);
        default: fputs("HINT: spoor record -h lists the options\n", stderr); return 1;
        }
    if (optind < argc)
        return report_error("what is", argv[optind]);
    if (recordings_check("record", arguments->file, &arguments->choice, true))
        return 1;
    if (!arguments->drain.output)
        return report_error("where to? -o FILE", NULL);
    if (arguments->drain.keep && !arguments->drain.rotate_bytes && !arguments->drain.rotate_seconds)
        return report_error("--keep needs --rotate-size or --rotate-time", NULL);
    return 0;
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int run(struct drain *drain, uint64_t duration, struct text *why)
{
    enum { MILLISECOND = 1000000, ASK_AFTER = 100 * MILLISECOND };
    const uint64_t end = duration ? now() + duration : UINT64_MAX;
    uint64_t asked = 0, time;
    int result = 0;
    while (!stopped && result >= 0 && (time = now()) < end) {
        if (time - asked > ASK_AFTER) { /* a few ms of /proc, so not in each round */
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

int command_record(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct text why = {0};
    struct drain *drain = NULL;
    if (parse(&arguments, argc, argv))
        return 1;
    int error;
    char *path = recordings_path(arguments.file, &arguments.choice, &why, &error);
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (path)
        error = drain_open(path, &arguments.drain, &drain, &why);
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
    free(arguments.id);
    text_free(&why);
    return error != 0;
}
