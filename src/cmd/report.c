/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor report`: prints a recording. */
#include "cmd/report.h"

#include <errno.h>
#include <poll.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/recordings.h"
#include "reader/find.h"

volatile int report_stop;

enum {
    OPTION_THREAD = 256,
    OPTION_GROUP,
    OPTION_TRACEPOINT,
    OPTION_OWNER,
    OPTION_OBJECT,
    OPTION_FROM,
    OPTION_TO,
    OPTION_FOLLOW,
    OPTION_STATS,
    OPTION_SLOWEST,
    OPTION_WHOLE,
    OPTION_WIDTH,
    OPTION_EXPORT,
    OPTION_MERGE,
    OPTION_NAMES,
    OPTION_PROGRAM,
};

static const char help[] =
    "Usage: spoor report [options] [FILE]\n"
    "Prints what programs recorded: spoor's recordings and SPDK's trace files, of running and ended "
    "programs.\n\n"
    "Which recording (default: the newest in /dev/shm):\n"
    "  -s NAME            of the program with this name; also with -p or -i\n"
    "  -p PID             of this process\n"
    "  -i ID              with this shared memory id (SPDK)\n"
    "  -f FILE            this file\n\n"
    "What is shown:\n"
    "  -c CPU             only this lcore (SPDK)\n"
    "  --thread LIST      only these threads: name or number; LIST is separated by commas, names may have * "
    "and ?\n"
    "  --group LIST       only these groups\n"
    "  --tracepoint LIST  only these tracepoints: NAME or GROUP:NAME\n"
    "  --owner LIST       only these owners: b2, its number, or its description\n"
    "  --object LIST      only these objects and what is related to them: i429, or the recorded id 0x…\n"
    "  --from T, --to T   only this time window: microseconds since the start as printed, or 1.5ms, 2s\n"
    "  --whole            also what not all lcores cover (SPDK)\n\n"
    "How:\n"
    "  -t                 ticks of the counter since the start too\n"
    "  -T                 the time since the event before too\n"
    "  -j                 JSON\n"
    "  --follow           go on as long as the program runs; with --stats, shown each second on a terminal\n"
    "  --stats            counts, rates and latencies instead of events\n"
    "  --slowest N [TYPE] the N objects (of this type) with the longest life, each with its story\n"
    "  --width N          columns of a line; 0: no limit (default: of the terminal)\n"
    "  --names LIST       values of arguments by their names: ARGUMENT=ENUM or TRACEPOINT:ARGUMENT=ENUM, an "
    "enum of "
    "the program\n"
    "  --program FILE     the program, if it does not run (default: what -p runs)\n"
    "  --merge LINES      between the events, the lines of `spoor -f json --times -o LINES`; -: standard "
    "input\n"
    "  --export FORMAT    for other tools: perfetto, ctf (a directory), folded (for flame graphs)\n"
    "  -o FILE            write there; it must not exist\n"
    "  -h                 this\n";

static void stop(int signal)
{
    (void)signal;
    report_stop = 1;
}

/* ---- output and progress ---- */

void report_flush(struct report *report, bool all)
{
    enum { MUCH = 1 << 16 };
    if (report->out.failed) {
        fputs("ERROR: there is not enough memory for the output: it is not complete\n", stderr);
        report->is_closed = report->has_failed = true;
    }
    if (report->out.length < (all ? 1 : MUCH))
        return;
    report->is_closed = output_write(&report->output, NULL, report->out.bytes, report->out.length) != 0;
    text_clear(&report->out);
}

static void show_progress(struct report *report)
{
    enum { STEP = 16 << 20 };
    const struct recording_counts counts = recording_counts(report->recording);
    if (counts.done - report->progressed < STEP || !counts.total)
        return;
    report->progressed = counts.done;
    const uint64_t percent = counts.done >= counts.total ? 100 : counts.done * 100 / counts.total;
    command_print(stderr, "\rreading %" PRIu64 "%% of %" PRIu64 " MB ", percent, counts.total >> 20);
}

void report_progress_end(struct report *report)
{
    if (report->shows_progress && report->progressed)
        fputs("\r                                  \r", stderr);
    report->progressed = 0;
}

int report_next(struct report *report, struct recording_event *event, struct object_step *step)
{
    int got;
    do {
        got = recording_next(report->recording, event);
        if (got != 1)
            return got;
        if (report->shows_progress)
            show_progress(report);
        if ((got = objects_follow(report->objects, event, step)))
            return got;
    } while (event->is_outside && !report_stop);
    return 1;
}

int report_wait(struct report *report)
{
    if (!report->options->follow || report_stop || report->is_closed || !recording_is_live(report->recording))
        return 0;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    const int got = recording_refresh(report->recording);
    return got < 0 ? got : 1;
}

static void print_lost(const struct recording_counts *counts)
{
    static const char *const reasons[RECORDING_LOST_COUNT] = {
        [RECORDING_LOST_LIMIT] = "all rings were in use",
        [RECORDING_LOST_SPACE] = "there was no space for one more ring",
        [RECORDING_LOST_MAKING] = "the thread's ring was just being made",
        [RECORDING_LOST_NESTED] = "signal handlers filled the ring above an unfinished one",
    };
    const char *separator = ": ";
    command_print(stderr, "NOTE: %" PRIu64 " events could not be recorded by the program", counts->lost);
    for (int reason = 0; reason < RECORDING_LOST_COUNT; reason++)
        if (counts->lost_by[reason]) {
            command_print(stderr, "%s%" PRIu64 " because %s", separator, counts->lost_by[reason],
                          reasons[reason]);
            separator = ", ";
        }
    command_print(stderr, "\n");
}

void report_unread(struct report *report)
{
    const int error = recording_counts(report->recording).read_error;
    if (!error)
        return;
    command_print(stderr, "ERROR: %s could not be read everywhere, and events are missing: %s\n",
                  recording_path(report->recording), strerror(error));
    report->has_failed = true;
}

static void print_counts(const struct report *report)
{
    const struct recording_counts counts = recording_counts(report->recording);
    const bool is_spdk = recording_is_spdk(report->recording);
    struct text older = {0};
    recording_describe_older(report->recording, &older);
    if (older.length)
        command_print(stderr, "NOTE: %s\n", text_string(&older));
    text_free(&older);
    if (counts.overwritten > counts.older)
        command_print(
            stderr,
            "NOTE: %" PRIu64
            " %s were overwritten before they were read: a larger ring, or `spoor record`, keeps more\n",
            counts.overwritten - counts.older, is_spdk ? "entries" : "events");
    if (counts.lost)
        print_lost(&counts);
    if (counts.owners_lost)
        command_print(stderr, "NOTE: %" PRIu64 " owners or descriptions found no room in the recording\n",
                      counts.owners_lost);
    if (counts.unknown)
        command_print(stderr, "NOTE: %" PRIu64 " events of tracepoints that are not declared were left out\n",
                      counts.unknown);
    if (counts.damaged)
        command_print(stderr, "NOTE: %" PRIu64 " damaged parts were left out\n", counts.damaged);
}

/* ---- arguments ---- */

static int report_error(const char *what, const char *value)
{
    command_print(stderr, "ERROR: %s '%s'\nHINT: spoor report -h lists the options\n", what, value);
    return 1;
}

struct arguments {
    struct find_choice choice;
    char *file, *id; /* -i, which the choice has too */
    struct recording_options recording;
    struct report_options report;
};

/* What is to come out is one thing. */
static int check_together(const struct report_options *report)
{
    const char *const instead = report->stats     ? "--stats"
                                : report->slowest ? "--slowest"
                                : report->format  ? "--export"
                                                  : NULL;
    if (report->follow && instead && !report->stats)
        return report_error("--follow prints events or --stats; it does not go with", instead);
    if (report->merged && (instead || report->follow))
        return report_error("--merge is for a listing of what has ended; it does not go with",
                            instead ? instead : "--follow");
    if (report->format && (report->stats || report->slowest || report->json))
        return report_error("--export does not go with", report->json ? "-j" : instead);
    if (report->format && report->format->is_directory && (!report->output || !strcmp(report->output, "-")))
        return report_error("where to? -o DIRECTORY, for --export", report->format->name);
    if (report->format && report->format->is_binary && isatty(STDOUT_FILENO) &&
        (!report->output || !strcmp(report->output, "-")))
        return report_error("nothing for a terminal: -o FILE, for --export", report->format->name);
    return 0;
}

static const struct option names[] = {
    {"thread", 1, NULL, OPTION_THREAD},
    {"group", 1, NULL, OPTION_GROUP},
    {"tracepoint", 1, NULL, OPTION_TRACEPOINT},
    {"owner", 1, NULL, OPTION_OWNER},
    {"object", 1, NULL, OPTION_OBJECT},
    {"from", 1, NULL, OPTION_FROM},
    {"to", 1, NULL, OPTION_TO},
    {"follow", 0, NULL, OPTION_FOLLOW},
    {"stats", 0, NULL, OPTION_STATS},
    {"slowest", 1, NULL, OPTION_SLOWEST},
    {"whole", 0, NULL, OPTION_WHOLE},
    {"width", 1, NULL, OPTION_WIDTH},
    {"merge", 1, NULL, OPTION_MERGE},
    {"names", 1, NULL, OPTION_NAMES},
    {"program", 1, NULL, OPTION_PROGRAM},
    {"export", 1, NULL, OPTION_EXPORT},
    {"output", 1, NULL, 'o'},
    {"help", 0, NULL, 'h'},
    {0},
};

static int parse(struct arguments *arguments, int argc, char **argv)
{
    struct report_options *report = &arguments->report;
    uint64_t number;
    int letter;
    while ((letter = command_option(argc, argv, "s:p:i:f:c:o:tTjh", names)) != -1)
        switch (letter) {
        case 's': arguments->choice.name = optarg; break;
        case 'i':
            free(arguments->id);
            if (!(arguments->choice.id = arguments->id = recordings_id("report", optarg)))
                return 1;
            break;
        case 'f': arguments->file = optarg; break;
        case 'p':
            if (!recordings_number(optarg, INT32_MAX, &number) || !number)
                return report_error("-p takes the id of a process, not", optarg);
            arguments->choice.pid = (uint32_t)number;
            break;
        case 'c':
            if (!recordings_number(optarg, INT32_MAX, &number))
                return report_error("-c takes the number of an lcore, not", optarg);
            arguments->recording.only_cpu = (int64_t)number;
            break;
        case 't': report->with_counter = true; break;
        case 'T': report->with_step = true; break;
        case 'j': report->json = true; break;
        case 'o': report->output = optarg; break;
        case OPTION_MERGE: report->merged = optarg; break;
        case OPTION_NAMES: report->names = optarg; break;
        case OPTION_PROGRAM: report->program = optarg; break;
        case OPTION_EXPORT:
            if (!(report->format = export_format_find(optarg)))
                return report_error("--export takes perfetto, ctf or folded, not", optarg);
            break;
        case OPTION_THREAD:
        case OPTION_GROUP:
        case OPTION_TRACEPOINT:
        case OPTION_OWNER:
        case OPTION_OBJECT:
            if (filter_add(&report->filter, (enum filter_kind)(letter - OPTION_THREAD), optarg))
                return report_error("no memory for", optarg);
            break;
        case OPTION_FROM:
        case OPTION_TO:
            if (!filter_parse_time(optarg, letter == OPTION_FROM ? &report->filter.from : &report->filter.to))
                return report_error("a time is microseconds since the start, or has a unit (1.5ms, 2s); not",
                                    optarg);
            break;
        case OPTION_FOLLOW: arguments->recording.follow = report->follow = true; break;
        case OPTION_STATS: report->stats = true; break;
        case OPTION_SLOWEST:
            if (!recordings_number(optarg, 1000, &number) || !number)
                return report_error("--slowest takes a number from 1 to 1000, not", optarg);
            report->slowest = (long)number;
            break;
        case OPTION_WHOLE: arguments->recording.whole = true; break;
        case OPTION_WIDTH:
            if (!recordings_number(optarg, 100000, &number))
                return report_error("--width takes a number of columns, not", optarg);
            report->width = (unsigned)number;
            report->has_width = true;
            break;
        case 'h': fputs(help, stdout); exit(0);
        default: fputs("HINT: spoor report -h lists the options\n", stderr); return 1;
        }
    if (report->slowest && optind < argc && access(argv[optind], F_OK))
        report->type = argv[optind++];
    if (optind < argc && !arguments->file)
        arguments->file = argv[optind++];
    if (optind < argc)
        return report_error("one recording at a time; what is", argv[optind]);
    return recordings_check("report", arguments->file, &arguments->choice, false) || check_together(report);
}

/* -c: is there this lcore? Says which there are if not. */
static int check_lcore(const struct report *report, struct text *why)
{
    const struct recording_options all = {.only_cpu = -1, .whole = true};
    struct recording_thread thread;
    struct recording *recording;
    if (report->recording_options->only_cpu < 0)
        return 0;
    if (!recording_is_spdk(report->recording)) {
        text_add(why, "-c is for SPDK's trace files: this recording is by thread, use --thread");
        return -EINVAL;
    }
    if (recording_thread(report->recording, 0, &thread))
        return 0;
    text_printf(why, "%s has no lcore %" PRId64, recording_path(report->recording),
                report->recording_options->only_cpu);
    const int error = recording_again(report->recording, &all, &recording, why);
    if (error)
        return error;
    uint32_t before = UINT32_MAX;
    for (size_t i = 0; recording_thread(recording, i, &thread); i++) {
        if (thread.id != before) /* of a copy, an lcore may have several parts */
            text_printf(why, "%s%" PRIu32, i ? ", " : "; it has ", thread.id);
        before = thread.id;
    }
    recording_close(recording);
    return -EINVAL;
}

static unsigned terminal_width(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

int command_report(int argc, char **argv)
{
    struct arguments arguments = {.recording.only_cpu = -1, .report.width = terminal_width()};
    struct text why = {0};
    struct report report = {.options = &arguments.report, .recording_options = &arguments.recording};
    int status = 1;
    if (parse(&arguments, argc, argv))
        goto out;
    int error;
    arguments.recording.relate = arguments.report.merged || arguments.report.format;
    recordings_only_read(arguments.report.output != NULL);
    char *path = recordings_path(arguments.file, &arguments.choice, &why, &error);
    if (path)
        error = recording_open(path, &arguments.recording, &report.recording, &why);
    free(path);
    if (!error && arguments.report.follow)
        error = recording_keep_up(report.recording);
    if (!error)
        error = check_lcore(&report, &why);
    if (!error)
        error = report_names(&report, (pid_t)arguments.choice.pid, &why);
    if (!error && !(report.objects = objects_make(report.recording)))
        error = -ENOMEM;
    if (error) {
        recordings_fail(&why, error);
        goto out;
    }
    if (output_open(&report.output, arguments.report.output,
                    arguments.report.format && arguments.report.format->is_directory))
        goto out;
    if (report.output.path && !arguments.report.has_width)
        arguments.report.width = 0;
    const bool writes_events = !arguments.report.stats && !arguments.report.slowest;
    report.shows_progress =
        isatty(STDERR_FILENO) && !(writes_events && isatty(STDOUT_FILENO) && !report.output.path);
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    status = arguments.report.stats     ? report_stats(&report)
             : arguments.report.slowest ? report_slowest(&report)
             : arguments.report.format  ? report_export(&report)
                                        : report_list(&report);
    report_flush(&report, true);
    status |= output_close(&report.output, status == 0);
    print_counts(&report);
    report_unread(&report);
    if (report.has_failed)
        status = 1;
out:
    objects_free(report.objects);
    recording_close(report.recording);
    filter_free(&arguments.report.filter);
    free(arguments.id);
    text_free(&report.out);
    text_free(&why);
    return status;
}
