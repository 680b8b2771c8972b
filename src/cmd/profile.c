/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor profile`: where time goes, by stack. Writes a script, which the session runs, and makes pictures and tables of
 * its map. */
#include "cmd/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/terminal.h"
#include "cmd/command.h"
#include "cmd/bcc.h"
#include "cmd/output.h"
#include "profile/profile.h"

enum { FREQUENCY = 99, FREQUENCY_MAX = 10000, OUTPUTS_MAX = 16 };

struct profile_output {
    struct output file;
    const struct profile_format *format;
};

struct arguments {
    struct profile_request request;
    bool off_cpu, alloc, shows, is_quiet;
    uint64_t duration;
    const char *command, *cgroup, *old, *read, *title;
    const char *const *outputs;
    const struct profile_format *format; /* -f */
    struct profile_look look;
    struct profile_plan plan;
    struct profile profile;
    struct profile_output files[OUTPUTS_MAX];
    size_t file_count;
    uint64_t wall_begun, begun;
};

static int choose_format(void *target, const struct option_value *value)
{
    struct arguments *arguments = target;
    arguments->format = profile_format_find(value->text);
    return arguments->format ? 0 : OPTION_WRONG;
}

static int add_pids(void *target, const struct option_value *value)
{
    struct arguments *arguments = target;
    return options_add_pids(arguments->request.options, value);
}

static const struct option_row rows[] = {
    OPTION_ROW_HEADING("Whose (default: everybody's):"),
    {'p', "pid", "PID", "only this process; several with commas between them", OPTION_SETS(add_pids),
     .takes = "the id of a process, or several with commas between them", .completes = COMPLETE_PROCESSES},
    {'c', "command", "COMMAND", "run a command and measure it; its end ends the measurement",
     OPTION_STORES(TEXT, struct arguments, command), .completes = COMPLETE_COMMANDS},
    {0, "cgroup", "GROUP",
     "only processes of this control group: a path, a directory, or a process that is in it",
     OPTION_STORES(TEXT, struct arguments, cgroup), .completes = COMPLETE_DIRECTORIES},
    {0, "alone", NULL, "with -p and -c: not what the process starts",
     OPTION_STORES(FLAG, struct arguments, request.alone)},
    OPTION_ROW_HEADING("What (default: samples of what runs on the CPUs):"),
    {'F', "frequency", "N", "samples a second on each CPU (99)",
     OPTION_STORES(NUMBER, struct arguments, request.frequency), .min = 1, .max = FREQUENCY_MAX},
    {0, "off-cpu", NULL, "the time that threads wait, by where they wait",
     OPTION_STORES(FLAG, struct arguments, off_cpu)},
    {0, "min", "TIME", "with --off-cpu: leave out shorter times (1us)",
     OPTION_STORES(DURATION, struct arguments, request.least)},
    {'e', "event", "EVENT", "what happens: page-faults, cache-misses:1000 (every 1000th), or any probe",
     OPTION_STORES(TEXT, struct arguments, request.event), .completes = COMPLETE_PROBES},
    {0, "alloc", NULL, "the bytes that are asked of malloc() and its kin",
     OPTION_STORES(FLAG, struct arguments, alloc)},
    {'d', "duration", "TIME", "end after this time (default: at Ctrl-C)",
     OPTION_STORES(DURATION, struct arguments, duration)},
    {'U', "user", NULL, "only stacks of programs", OPTION_STORES(FLAG, struct arguments, request.only_user)},
    {'K', "kernel", NULL, "only stacks of the kernel",
     OPTION_STORES(FLAG, struct arguments, request.only_kernel)},
    {0, "frame-pointers", NULL,
     "follow frame pointers, not call frame information: cheaper, if programs have them",
     OPTION_STORES(FLAG, struct arguments, request.frame_pointers)},
    {0, "read", "FILE", "measure nothing, take folded stacks from a file; -: standard input",
     OPTION_STORES(TEXT, struct arguments, read), .completes = COMPLETE_FILES},
    OPTION_ROW_HEADING("How it is shown:"),
    {'o', "output", "FILE",
     "write there, by its ending: .svg .html .folded .pb.gz .speedscope.json; may be given several times",
     OPTION_STORES(LIST, struct arguments, outputs), .completes = COMPLETE_FILES},
    {'f', "format", "text|svg|html|folded|pprof|speedscope", "what is written, whatever the file's name is",
     .kind = OPTION_CHOICE, .set = choose_format},
    {0, "diff", "OLD",
     "red and blue: what is more and what is less than in OLD, folded stacks of an earlier profile",
     OPTION_STORES(TEXT, struct arguments, old), .completes = COMPLETE_FILES},
    {0, "title", "TEXT", "the title of the picture", OPTION_STORES(TEXT, struct arguments, title)},
    {0, "width", "PIXELS", "how wide the picture is (1200)",
     OPTION_STORES(NUMBER, struct arguments, look.width), .min = 300, .max = 20000},
    {0, "icicle", NULL, "the picture grows downwards", OPTION_STORES(FLAG, struct arguments, look.is_icicle)},
    {0, "top", "N", "how many functions the table has (30)",
     OPTION_STORES(NUMBER, struct arguments, look.rows), .min = 1, .max = 1000000},
    {'q', "quiet", NULL, "no notes", OPTION_STORES(FLAG, struct arguments, is_quiet)},
    BCC_ROW_SCRIPT(struct arguments),
    OPTION_ROW_HELP,
};

static const struct option_rule rules[] = {
    {"--off-cpu", OPTION_EXCLUDES, "--event --alloc --frequency --cgroup", NULL},
    {"--event", OPTION_EXCLUDES, "--alloc --frequency", NULL},
    {"--alloc", OPTION_EXCLUDES, "--frequency --kernel", NULL},
    {"--min", OPTION_NEEDS, "--off-cpu", NULL},
    {"--pid", OPTION_EXCLUDES, "--command --cgroup", NULL},
    {"--command", OPTION_EXCLUDES, "--cgroup", NULL},
    {"--alone", OPTION_NEEDS, "--pid --command", NULL},
    {"--user", OPTION_EXCLUDES, "--kernel", NULL},
    {"--read", OPTION_EXCLUDES,
     "--pid --command --cgroup --off-cpu --event --alloc --frequency --duration --user --kernel "
     "--frame-pointers --show-script",
     "measures nothing"},
};

/* ---- folded files ---- */

static int fail(const char *what, const char *name, const char *why)
{
    command_print(stderr, "ERROR: %s '%s': %s\n", what, name, why);
    return 1;
}

static int read_folded(struct profile *profile, const char *path, bool is_old)
{
    struct text text = {0};
    const int error = command_read_text(path, &text);
    int line = error ? 0 : profile_read_folded(profile, text_string(&text), text.length, is_old);
    text_free(&text);
    if (error)
        return fail("cannot read", path, strerror(error));
    if (line < 0)
        return fail("cannot read", path, strerror(-line));
    if (!line)
        return 0;
    command_print(stderr, "ERROR: '%s', line %d: this is no folded stack: NAMES;SEPARATED;SO 123\n", path,
                  line);
    fputs("HINT: such files are written by spoor profile -o FILE.folded, and by tools/fold\n", stderr);
    return 1;
}

/* ---- writing ---- */

static int open_outputs(struct arguments *arguments)
{
    const char *const *paths = arguments->outputs;
    static const char *const standard[] = {"-", NULL};
    for (paths = paths ? paths : standard; *paths; paths++) {
        const bool is_standard = !strcmp(*paths, "-");
        const struct profile_format *format = arguments->format;
        if (!format)
            format = is_standard ? &profile_text : profile_format_of_file(*paths);
        if (!format) {
            command_print(stderr,
                          "ERROR: -o '%s': what is to be written? -f says it, or the name's ending: .svg, "
                          ".html, .folded, "
                          ".pb.gz, .speedscope.json\n",
                          *paths);
            return 1;
        }
        if (is_standard && format->is_binary && isatty(STDOUT_FILENO) == 1)
            return fail("cannot write", format->name, "it is no text for a terminal: give -o FILE");
        if (arguments->file_count == OUTPUTS_MAX)
            return fail("too many files", *paths, "at most 16 are written");
        struct profile_output *output = &arguments->files[arguments->file_count];
        if (output_open(&output->file, *paths, false))
            return 1;
        output->format = format;
        arguments->file_count++;
    }
    return 0;
}

/* Closes the files, which are kept if all went well. */
static int close_outputs(struct arguments *arguments, bool is_whole)
{
    int status = 0;
    for (size_t i = 0; i < arguments->file_count; i++)
        status |= output_close(&arguments->files[i].file, is_whole);
    return status;
}

static unsigned terminal_columns(void)
{
    struct winsize size = {0};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

static void report_written(const struct arguments *arguments, const struct profile_output *output)
{
    struct text amount = {0};
    if (!output->file.path || arguments->is_quiet)
        return;
    profile_amount(&amount, &arguments->profile, arguments->profile.total);
    command_print(stderr, "NOTE: %s has %s", output->file.path, text_string(&amount));
    if (output->format->opens)
        command_print(stderr, ": %s", output->format->opens);
    command_print(stderr, "\n");
    text_free(&amount);
}

static int write_output(struct arguments *arguments, struct profile_output *output)
{
    struct profile_look look = arguments->look;
    struct text text = {0};
    look.columns = output->file.is_terminal ? terminal_columns() : 0;
    int error = output->format->write(&arguments->profile, &look, &text);
    if (!error && text.failed)
        error = -ENOMEM;
    if (!error && output->file.is_terminal) {
        struct text shown = {0};
        terminal_escape(&shown, text_string(&text), text.length, TERMINAL_LINES);
        text_free(&text);
        text = shown;
        error = text.failed ? -ENOMEM : 0;
    }
    if (!error)
        error = output_write(&output->file, NULL, text_string(&text), text.length);
    else
        fail("cannot write", output->format->name, strerror(-error));
    text_free(&text);
    if (!error)
        report_written(arguments, output);
    return error != 0;
}

static void report_nothing(const struct arguments *arguments)
{
    const enum profile_measure measure = arguments->request.measure;
    command_print(stderr, "WARNING: nothing was measured%s\n",
                  arguments->read             ? ": the file has no stacks"
                  : measure == PROFILE_ON_CPU ? ": nothing of it ran on a CPU; --off-cpu shows where it waits"
                  : measure == PROFILE_OFF_CPU ? ": nothing waited so long"
                  : measure == PROFILE_ALLOC
                      ? ": no process called the C library's malloc(); others are seen with --event "
                        "uprobe:LIBRARY:FUNCTION"
                      : ": there was no such event");
}

static int write_outputs(struct arguments *arguments)
{
    int status = 0;
    arguments->profile.unit = arguments->plan.unit ? arguments->plan.unit : "samples";
    arguments->profile.title = arguments->title  ? arguments->title
                               : arguments->read ? arguments->read
                                                 : text_string(&arguments->plan.title);
    arguments->profile.period = arguments->plan.period;
    arguments->profile.wall_ns = arguments->wall_begun;
    if (!arguments->profile.total)
        report_nothing(arguments);
    for (size_t i = 0; !status && i < arguments->file_count; i++)
        status = write_output(arguments, &arguments->files[i]);
    return status;
}

/* ---- measuring ---- */

static int finish(void *state, struct session *session)
{
    struct arguments *arguments = state;
    arguments->profile.lasted = clock_ns(CLOCK_MONOTONIC) - arguments->begun;
    const int error = profile_collect(&arguments->profile, session, "@profile", arguments->plan.scale);
    return error ? fail("cannot read", "@profile", strerror(-error)) : write_outputs(arguments);
}

static int measure(struct arguments *arguments)
{
    struct options *options = arguments->request.options;
    struct session_options *session = &options->session;
    if (profile_plan(&arguments->request, &arguments->plan))
        return 1;
    if (arguments->request.measure == PROFILE_OFF_CPU)
        session->pid_count = 0; /* the script itself knows whose time counts */
    else
        session->follows = !arguments->request.alone && (session->pid_count || session->command);
    session->keep_maps_quiet = true;
    session->is_quiet = true;
    options->finish = finish;
    options->finish_state = arguments;
    arguments->wall_begun = clock_ns(CLOCK_REALTIME);
    arguments->begun = clock_ns(CLOCK_MONOTONIC);
    if (!arguments->is_quiet && !arguments->shows && !session->command && !session->duration_ns)
        fputs("Measuring... Hit Ctrl-C to end.\n", stderr);
    return bcc_run(options, &arguments->plan.script, arguments->shows);
}

static enum profile_measure measure_of(const struct arguments *arguments)
{
    return arguments->off_cpu         ? PROFILE_OFF_CPU
           : arguments->alloc         ? PROFILE_ALLOC
           : arguments->request.event ? PROFILE_EVENT
                                      : PROFILE_ON_CPU;
}

static int command_profile(int argc, char **argv)
{
    static struct options options; /* its lists live as long as the process */
    static struct arguments arguments = {
        .request = {.options = &options, .frequency = FREQUENCY, .least = NSEC_PER_USEC}};
    struct command_arguments given;
    int status = 1;
    if (options_begin(&options) ||
        !command_line_parse(&profile_line, argc, argv, &arguments, &given, &status))
        return status;
    if (given.count)
        return command_line_unknown_word(&profile_line, given.words[0]);
    arguments.request.measure = measure_of(&arguments);
    options.session.command = arguments.command;
    options.session.cgroup = arguments.cgroup;
    options.session.duration_ns = arguments.duration;
    if (arguments.shows)
        status = measure(&arguments);
    else if (!(status = open_outputs(&arguments)) &&
             !(status = arguments.old ? read_folded(&arguments.profile, arguments.old, true) : 0)) {
        status = !arguments.read                                          ? measure(&arguments)
                 : read_folded(&arguments.profile, arguments.read, false) ? 1
                                                                          : write_outputs(&arguments);
    }
    status |= close_outputs(&arguments, !status);
    profile_plan_free(&arguments.plan);
    profile_free(&arguments.profile);
    return status;
}

const struct command_line profile_line = {
    .name = "profile",
    .summary = "where time goes, by stack: flame graphs, tables, pprof",
    .run = command_profile,
    .usage = "[options]",
    .about = "Measures where time goes, and shows it by stack: as a table of functions, or with -o as a "
             "flame graph\n"
             "or for other programs. Stacks go through the kernel, programs without frame pointers, inlined\n"
             "functions, and code that was generated while the program ran, if it tells of it in "
             "/tmp/perf-PID.map.\n",
    COMMAND_ROWS(rows),
    COMMAND_RULES(rules),
    .examples = "Examples:\n"
                "  spoor profile -d 10 -o cpu.svg\n"
                "  spoor profile -p 181 --off-cpu -d 5 -o waits.svg\n"
                "  spoor profile -c 'make -j2' -o make.pb.gz -o make.folded\n"
                "  spoor profile -c ./server --diff yesterday.folded -o change.svg\n",
};
