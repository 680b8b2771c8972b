/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor report`: prints a recording. */
#include "cmd/report.h"
#include "cmd/stop.h"

#include <errno.h>
#include <poll.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/glob.h"
#include "base/number.h"
#include "base/terminal.h"
#include "cmd/command.h"
#include "cmd/recordings.h"
#include "reader/find.h"

volatile int report_stop;

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

void report_progress(struct report *report, uint64_t done, uint64_t total)
{
    enum { STEP = 16 << 20 };
    if (done - report->progressed < STEP || !total)
        return;
    report->progressed = done;
    const uint64_t percent = done >= total ? 100 : done * 100 / total;
    command_print(stderr, "\rreading %" PRIu64 "%% of %" PRIu64 " MB ", percent, total >> 20);
}

void report_progress_now(struct report *report)
{
    const struct recording_counts counts = recording_counts(report->recording);
    report_progress(report, counts.done, counts.total);
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
        if (report->taken == report->read) {
            report->taken = report->read = 0;
            got = recording_next_few(report->recording, report->events, REPORT_EVENTS);
            if (got <= 0)
                return got;
            report->read = got;
            if (report->shows_progress)
                report_progress_now(report);
        }
        *event = report->events[report->taken++];
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

static void write_lost(const struct recording_counts *counts, struct text *out)
{
    static const char *const reasons[RECORDING_LOST_COUNT] = {
        [RECORDING_LOST_LIMIT] = "all rings were in use",
        [RECORDING_LOST_SPACE] = "there was no space for one more ring",
        [RECORDING_LOST_MAKING] = "the thread's ring was just being made",
        [RECORDING_LOST_NESTED] = "signal handlers filled the ring above an unfinished one",
    };
    const char *separator = ": ";
    text_printf(out, "%" PRIu64 " events could not be recorded by the program", counts->lost);
    for (int reason = 0; reason < RECORDING_LOST_COUNT; reason++)
        if (counts->lost_by[reason]) {
            text_printf(out, "%s%" PRIu64 " because %s", separator, counts->lost_by[reason], reasons[reason]);
            separator = ", ";
        }
    text_char(out, '\n');
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

void report_missing(const struct report *report, struct text *out)
{
    const struct recording_counts counts = recording_counts(report->recording);
    const bool is_spdk = recording_is_spdk(report->recording);
    const size_t before = out->length;
    recording_describe_older(report->recording, out);
    if (out->length > before)
        text_char(out, '\n');
    if (counts.overwritten > counts.older)
        text_printf(
            out,
            "%" PRIu64
            " %s were overwritten before they were read: a larger ring, or `spoor record`, keeps more\n",
            counts.overwritten - counts.older, is_spdk ? "entries" : "events");
    if (counts.lost)
        write_lost(&counts, out);
    if (counts.owners_lost)
        text_printf(out, "%" PRIu64 " owners or descriptions found no room in the recording\n",
                    counts.owners_lost);
    if (counts.unknown)
        text_printf(out, "%" PRIu64 " events of tracepoints that are not declared were left out\n",
                    counts.unknown);
    if (counts.damaged)
        text_printf(out, "%" PRIu64 " damaged parts were left out\n", counts.damaged);
}

static void print_missing(const struct report *report)
{
    struct text missing = {0};
    report_missing(report, &missing);
    for (const char *at = text_string(&missing); *at;) {
        const size_t length = strcspn(at, "\n");
        command_print(stderr, "NOTE: %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
    text_free(&missing);
}

/* ---- arguments ---- */

struct arguments {
    struct find_choice choice;
    const char *file;
    const char *const *filters[FILTER_KINDS];
    struct recording_options recording;
    struct report_options report;
};

static int choose_format(void *target, const struct option_value *value)
{
    struct arguments *arguments = target;
    arguments->report.format = export_format_find(value->text);
    return arguments->report.format ? 0 : OPTION_WRONG;
}

static int choose_slowest(void *target, const struct option_value *value)
{
    enum { MOST = 1000 };
    struct report_options *report = &((struct arguments *)target)->report;
    uint64_t number = 0;
    report->slowest = 0;
    report->percentile = 0;
    if (percentile_parse(value->text, &report->percentile))
        return 0;
    const bool is_right = number_parse(value->text, &number) && number && number <= MOST;
    report->slowest = (long)number;
    return is_right ? 0 : OPTION_WRONG;
}

static int choose_page(void *target, const struct option_value *value)
{
    struct arguments *arguments = target;
    arguments->report.format = &export_html;
    arguments->report.output = value->text;
    return 0;
}

static const struct option_row rows[] = {
    OPTION_ROW_HEADING("Which recording (default: your newest in /dev/shm):"),
    RECORDING_ROWS(struct arguments),
    OPTION_ROW_HEADING("What is shown; a LIST is separated by commas, names may have * and ?:"),
    {'c', "cpu", "CPU", "only this lcore (SPDK)", OPTION_STORES(NUMBER, struct arguments, recording.only_cpu),
     .max = INT32_MAX, .takes = "the number of an lcore"},
    {0, "thread", "LIST", "only these threads: name or number",
     OPTION_STORES(LIST, struct arguments, filters[FILTER_THREAD])},
    {0, "group", "LIST", "only these groups", OPTION_STORES(LIST, struct arguments, filters[FILTER_GROUP])},
    {0, "tracepoint", "LIST", "only these tracepoints: NAME or GROUP:NAME",
     OPTION_STORES(LIST, struct arguments, filters[FILTER_TRACEPOINT])},
    {0, "owner", "LIST", "only these owners: b2, its number, or its description",
     OPTION_STORES(LIST, struct arguments, filters[FILTER_OWNER])},
    {0, "object", "LIST", "only these objects and what is related to them: i429, or the recorded id 0x…",
     OPTION_STORES(LIST, struct arguments, filters[FILTER_OBJECT])},
    {0, "from", "TIME", "only from here on: microseconds since the beginning, as printed, or 1.5ms, 2s",
     OPTION_STORES(MOMENT, struct arguments, report.filter.from)},
    {0, "to", "TIME", "only up to here", OPTION_STORES(MOMENT, struct arguments, report.filter.to)},
    {0, "whole", NULL, "also what not all lcores cover (SPDK)",
     OPTION_STORES(FLAG, struct arguments, recording.whole)},
    OPTION_ROW_HEADING("How:"),
    {'t', "ticks", NULL, "ticks of the counter since the beginning too",
     OPTION_STORES(FLAG, struct arguments, report.with_counter)},
    {'T', "step", NULL, "the time since the event before too",
     OPTION_STORES(FLAG, struct arguments, report.with_step)},
    {'j', "json", NULL, "JSON", OPTION_STORES(FLAG, struct arguments, report.json)},
    {0, "follow", NULL, "go on as long as the program runs; with --stats, shown each second on a terminal",
     OPTION_STORES(FLAG, struct arguments, report.follow)},
    {0, "stats", NULL, "counts, rates and latencies instead of events",
     OPTION_STORES(FLAG, struct arguments, report.stats)},
    {0, "slowest", "N|pN [TYPE]",
     "the N objects (of this type) with the longest life, each with its story; with --otlp also p99",
     OPTION_SETS(choose_slowest), .takes = "a number from 1 to 1000, or a percentile such as p99"},
    {0, "width", "N", "columns of a line; 0: no limit (default: of the terminal)",
     OPTION_STORES(NUMBER, struct arguments, report.width), .max = 100000, .takes = "a number of columns"},
    {0, "names", "LIST",
     "values of arguments by their names: ARGUMENT=ENUM or TRACEPOINT:ARGUMENT=ENUM, an enum of the program",
     OPTION_STORES(TEXT, struct arguments, report.names)},
    {0, "program", "FILE", "the program, if it does not run (default: what -p runs)",
     OPTION_STORES(TEXT, struct arguments, report.program), .completes = COMPLETE_FILES},
    {0, "merge", "LINES",
     "between the events, the lines of `spoor -f json --times -o LINES`; -: standard input",
     OPTION_STORES(TEXT, struct arguments, report.merged), .completes = COMPLETE_FILES},
    {0, "html", "FILE", "as one page for a browser: a timeline, and where the time goes",
     OPTION_SETS(choose_page), .completes = COMPLETE_FILES},
    {0, "export", "perfetto|ctf|folded|html|csv|ndjson",
     "for other tools; ctf is a directory, folded for flame graphs, csv and ndjson are tables for column "
     "stores",
     .kind = OPTION_CHOICE, .set = choose_format},
    {0, "rows", "events|objects", "what a row of csv and ndjson is about (default: events)",
     OPTION_STORES(CHOICE, struct arguments, report.rows)},
    {'o', "output", "FILE", "write there; it must not exist; an export to FILE.gz is compressed",
     OPTION_STORES(TEXT, struct arguments, report.output), .completes = COMPLETE_FILES},
    OTLP_ROWS(struct arguments, report.otlp, "URL|FILE",
              "objects as spans of OpenTelemetry: to a receiver, http://HOST:4318, or lines of JSON", "30s"),
    OPTION_ROW_HELP,
};

static const struct option_rule rules[] = {
    RECORDING_RULES,
    {"--follow", OPTION_EXCLUDES, "--slowest --export --html", "prints events or --stats"},
    {"--merge", OPTION_EXCLUDES, "--stats --slowest --follow", "is for a listing of what has ended"},
    {"--export", OPTION_EXCLUDES, "--stats --slowest -j", "writes all of it"},
    {"--rows", OPTION_NEEDS, "--export", "says what a row of csv and ndjson is about"},
    {"--html", OPTION_EXCLUDES, "--stats --slowest -j --export -o", "writes all of it to its file"},
    {"--otlp", OPTION_EXCLUDES, "--stats -j --export --html -o --merge", "sends spans"},
    OTLP_RULES,
};

/* Adds the filters; each list is divided at its commas. */
static int add_filters(struct arguments *arguments)
{
    for (enum filter_kind kind = 0; kind < FILTER_KINDS; kind++)
        for (const char *const *list = arguments->filters[kind]; list && *list; list++)
            if (filter_add(&arguments->report.filter, kind, (char *)*list))
                return command_line_fail(&report_line, "no memory for '%s'", *list);
    return 0;
}

/* Checks where the export goes: not every format can be written to standard output. */
static int check_export(const struct report_options *report)
{
    const bool has_file = report->output && strcmp(report->output, "-") != 0;
    if (report->has_rows && !report->format->has_rows)
        return command_line_fail(&report_line, "--rows is for tables: --export csv or ndjson, not %s",
                                 report->format->name);
    if (report->format && report->merged && !report->format->line)
        return command_line_fail(&report_line,
                                 "--export %s has no place for the lines of --merge; --html has",
                                 report->format->name);
    if (!report->format || has_file)
        return 0;
    if (report->format->is_directory)
        return command_line_fail(&report_line, "where to? -o DIRECTORY, for --export %s",
                                 report->format->name);
    if (report->format->is_unseen && isatty(STDOUT_FILENO))
        return command_line_fail(&report_line, "nothing for a terminal: -o FILE, for --export %s",
                                 report->format->name);
    return 0;
}

/* Checks that a percentile, which may mean very many objects, is for spans. */
static int check_percentile(const struct report_options *report)
{
    if (!report->percentile || report->otlp.place)
        return 0;
    return command_line_fail(&report_line,
                             "--slowest with a percentile is for --otlp; --stats prints percentiles");
}

/* Reads the arguments. False: the command is over, with *status. */
static bool parse(struct arguments *arguments, int argc, char **argv, int *status)
{
    struct report_options *report = &arguments->report;
    struct command_arguments given;
    int next = 0;
    if (!command_line_parse(&report_line, argc, argv, arguments, &given, status))
        return false;
    arguments->recording.follow = report->follow;
    report->has_width = command_line_has(&given, "--width");
    report->has_rows = command_line_has(&given, "--rows");
    /* FILE and TYPE in any order: what is a file is the recording. */
    for (int words = given.count < 2 ? given.count : 2; next < words; next++) {
        const bool is_type = (report->slowest || report->percentile) && !report->type &&
                             (arguments->file || access(given.words[next], F_OK) != 0);
        if (is_type)
            report->type = given.words[next];
        else if (!arguments->file)
            arguments->file = given.words[next];
        else
            break;
    }
    *status =
        next < given.count
            ? command_line_fail(&report_line, "one recording at a time; what is '%s'", given.words[next])
            : recordings_check(&report_line, arguments->file, &arguments->choice, false) ||
                  check_export(report) || check_percentile(report) || add_filters(arguments);
    return !*status;
}

/* Checks that the lcore of -c exists. If not, `why` says which ones do. Returns 0 or -errno. */
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
        if (thread.id != before) /* in a copy an lcore may have several parts */
            text_printf(why, "%s%" PRIu32, i ? ", " : "; it has ", thread.id);
        before = thread.id;
    }
    recording_close(recording);
    return -EINVAL;
}

/* Writes what is shown, for who reads it on a terminal: the recording, its program, and what times count from. */
static void write_head(struct report *report)
{
    const struct report_options *options = report->options;
    const struct recording_model *model = recording_model(report->recording);
    const uint64_t realtime = recording_realtime(report->recording);
    const uint64_t start = recording_start(report->recording) + realtime;
    const time_t seconds = (time_t)(start / NSEC_PER_SEC);
    struct tm local;
    char day[32] = "";
    if (options->json || options->format || options->otlp.place || report->output.path ||
        !isatty(STDOUT_FILENO))
        return;
    if (realtime && localtime_r(&seconds, &local))
        strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &local);
    terminal_print(&report->out, "%s: %s", recording_path(report->recording),
                   model->command[0] ? model->command : model->name);
    if (model->pid)
        text_printf(&report->out, ", process %" PRIu32, model->pid);
    if (model->host[0])
        terminal_print(&report->out, " on %s", model->host);
    if (day[0])
        text_printf(&report->out, ", from %s.%06" PRIu64 " on", day, start % NSEC_PER_SEC / NSEC_PER_USEC);
    text_add(&report->out, options->stats ? "\n\n" : "; times in microseconds since its beginning\n\n");
}

static unsigned terminal_width(void)
{
    struct winsize size;
    return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

/* Writes what is wanted, and then reports what is missing in it. Returns the exit status. */
static int show(struct report *report)
{
    const struct report_options *options = report->options;
    int status = options->stats        ? report_stats(report)
                 : options->otlp.place ? report_otlp(report)
                 : options->slowest    ? report_slowest(report)
                 : options->format     ? report_export(report)
                                       : report_list(report);
    report_flush(report, true);
    status |= output_close(&report->output, status == 0);
    if (!status)
        report_exported(report);
    print_missing(report);
    report_unread(report);
    if (!status)
        status = report_explain_nothing(report);
    return report->has_failed ? 1 : status;
}

/* Opens the output, and the file beside it that some exports have. Returns the exit status. */
static int open_output(struct report *report)
{
    const struct export_format *format = report->options->format;
    const char *path = report->options->output;
    if (output_open(&report->output, path, format && format->is_directory))
        return 1;
    report->output.is_compressed =
        format && !format->is_directory && report->output.path && glob_match("*.gz", path);
    return format && format->beside && report->output.path
               ? output_open_beside(&report->output, format->beside)
               : 0;
}

static int command_report(int argc, char **argv)
{
    static struct arguments arguments; /* its lists live as long as the process */
    arguments.recording.only_cpu = -1;
    arguments.report.width = terminal_width();
    struct text why = {0};
    struct report report = {.options = &arguments.report, .recording_options = &arguments.recording};
    int status, error;
    if (!parse(&arguments, argc, argv, &status))
        goto out;
    status = 1;
    arguments.recording.relate =
        arguments.report.merged || arguments.report.format || arguments.report.otlp.place;
    recordings_keep_privileges(arguments.report.output || arguments.report.otlp.place ? PRIVILEGE_OPEN_FILES
                                                                                      : 0);
    char *path = recordings_path(arguments.file, &arguments.choice, &why, &error);
    const bool is_newest = path && !arguments.file;
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
        if (is_newest && !report.recording)
            fputs("HINT: it is the newest that fits; `spoor ctl list` shows others, which can be named\n",
                  stderr);
        goto out;
    }
    if (report_check_filters(&report) || open_output(&report))
        goto out;
    if (report.output.path && !arguments.report.has_width)
        arguments.report.width = 0;
    const bool writes_events = !arguments.report.stats && !arguments.report.slowest;
    report.shows_progress =
        isatty(STDERR_FILENO) && !(writes_events && isatty(STDOUT_FILENO) && !report.output.path);
    write_head(&report);
    stop_on_signals(&report_stop);
    signal(SIGPIPE, SIG_IGN);
    status = show(&report);
out:
    objects_free(report.objects);
    recording_close(report.recording);
    filter_free(&arguments.report.filter);
    text_free(&report.out);
    text_free(&why);
    return status;
}

const struct command_line report_line = {
    .name = "report",
    .summary = "what programs recorded, spoor's recordings and SPDK's: events, objects, statistics",
    .run = command_report,
    .usage = "[options] [FILE]",
    .about = "Prints what programs recorded: spoor's recordings and SPDK's trace files, of running and ended "
             "programs.\n",
    COMMAND_ROWS(rows),
    COMMAND_RULES(rules),
    .completes = COMPLETE_FILES,
};
