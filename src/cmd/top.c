/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor top`: the maps of a script on the screen while it runs. */
#include "cmd/top.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/terminal.h"
#include "cmd/command.h"
#include "print/value.h"
#include "top/maps.h"
#include "top/terminal.h"

enum { PATIENCE_MS = 200, MESSAGES_MAX = 16 << 10 };

struct top_run { /* a script that runs */
    struct top_arguments *arguments;
    struct session *session;
    struct top_maps *maps;
    struct top_view view;
    struct top_lines lines;
    struct text messages; /* what was reported while there is a screen */
    bool is_on_screen, is_ending;
};

/* ---- what the session says ---- */

/* Messages come whole; on the screen the first line is the status. */
static void take_report(void *state, const char *text)
{
    struct top_run *run = state;
    if (!terminal_is_held()) {
        command_write_in_time(text, PATIENCE_MS);
        return;
    }
    if (run->messages.length < MESSAGES_MAX)
        text_add(&run->messages, text);
    top_view_status(&run->view, true, "%.*s", (int)strcspn(text, "\n"), text);
}

static void take_output(void *state, const char *bytes, size_t length)
{
    struct top_run *run = state;
    top_lines_add(&run->lines, bytes, length);
}

static bool watch(void *state, const struct event_handler *handler, const struct action *action,
                  const uint8_t *record)
{
    struct top_run *run = state;
    (void)handler, (void)record;
    return run->maps && !run->is_ending && top_maps_watch(run->maps, action, clock_ns(CLOCK_MONOTONIC));
}

static void show_progress(void *state, size_t done, size_t total)
{
    struct top_run *run = state;
    if (!terminal_is_held())
        return;
    if (total)
        top_view_status(&run->view, false, "Attaching %zu of %zu", done, total);
    else
        top_view_status(&run->view, false, "%s", "");
    top_run_show(&run->view);
}

/* ---- the feed ---- */

static int feed_step(void *state, int wait_ms)
{
    struct top_run *run = state;
    const int got = session_iterate(run->session, wait_ms);
    return session_diagnostics(run->session)->errors && got >= 0 ? -EIO : got;
}

static bool feed_is_over(void *state)
{
    const struct top_run *run = state;
    return session_is_over(run->session);
}

static int feed_refresh(void *state, uint64_t now)
{
    struct top_run *run = state;
    const int error = top_maps_refresh(run->maps, now);
    if (error && error != -ENOMEM) {
        top_view_status(&run->view, true, "a map could not be read: %s", strerror(-error));
        return 0;
    }
    return error;
}

static struct top_table *feed_tables(void *state, size_t *count)
{
    const struct top_run *run = state;
    return top_maps_tables(run->maps, count);
}

static int feed_save(void *state, struct text *out)
{
    const struct top_run *run = state;
    return top_maps_save(run->maps, out);
}

/* The session writes it: whatever waits for the reader, signals end the trace. */
static int feed_write(void *state, const struct text *text)
{
    const struct top_run *run = state;
    text_append(session_printer(run->session)->out, text_string(text), text->length);
    return session_iterate(run->session, 0) < 0 ? -EIO : 0;
}

/* ---- a trace ---- */

int top_take_terminal(const struct top_arguments *arguments)
{
    struct text why = {0};
    if (arguments->batch || isatty(STDOUT_FILENO) != 1)
        return 0;
    const int missing = terminal_load(&why);
    const int error = missing ? missing : terminal_begin(&why);
    if (missing)
        command_print(stderr, "ERROR: the screen needs libncursesw.so.6: %s\n", text_string(&why));
    if (missing)
        fputs("HINT: install Debian's package libncursesw6, or Fedora's ncurses-libs; --batch does without\n",
              stderr);
    else if (error)
        command_print(stderr, "NOTE: %s: tables are printed one below the other, as with --batch\n",
                      text_string(&why));
    text_free(&why);
    return missing ? -1 : !error;
}

static int loop(struct top_run *run)
{
    const struct top_feed feed = {run,         feed_step, feed_is_over, feed_refresh,
                                  feed_tables, feed_save, feed_write};
    size_t count;
    /* On the screen the first refresh comes too soon for rates. */
    int error = top_maps_make(run->session, run->is_on_screen ? 0 : clock_ns(CLOCK_MONOTONIC), &run->maps);
    if (error || !run->is_on_screen)
        return error ? error : top_run_batch(&feed, &run->arguments->settings);
    struct top_table *tables = top_maps_tables(run->maps, &count);
    error = top_view_begin(&run->view, tables, count, count, &run->lines);
    return error ? error : top_run_screen(&feed, &run->arguments->settings, &run->view);
}

/* Gives the terminal back. The last lines that were printed stay on it, and all that was reported. */
static void leave_screen(struct top_run *run)
{
    enum { LINES_MAX = 5 };
    if (!run->is_on_screen)
        return;
    top_run_take_printed(&run->lines);
    terminal_end();
    session_write_directly(run->session);
    for (size_t back = LINES_MAX; back-- > 0;) {
        const char *line = top_lines_last(&run->lines, run->lines.count, back);
        if (line)
            command_print(stdout, "%s\n", line);
    }
    fflush(stdout);
    command_write_in_time(text_string(&run->messages), PATIENCE_MS);
    run->is_on_screen = false;
}

/* Returns 0, or -errno with diagnostics or without. */
static int run_session(struct top_run *run, int *status)
{
    int error = session_begin(run->session);
    const bool has_begun = !error;
    if (!error)
        error = loop(run);
    run->is_ending = true;
    leave_screen(run);
    const int ended = has_begun ? session_end(run->session, status) : 0;
    return error ? error : ended;
}

static int run_compiled(struct top_run *run, struct options *options, const char *name)
{
    const struct diagnostics before = *session_diagnostics(run->session);
    int status = 0;
    command_diagnose(options, &before);
    const int taken = top_take_terminal(run->arguments);
    if (taken < 0)
        return 1;
    run->is_on_screen = taken;
    if (!taken)
        session_write_directly(run->session);
    const int error = run_session(run, &status);
    struct diagnostics later = *session_diagnostics(run->session);
    later.items += before.count;
    later.count -= before.count;
    command_diagnose(options, &later);
    if (error && !later.errors)
        command_print(stderr, "ERROR: the trace of '%s' ended early: %s\n", name, strerror(-error));
    return error ? 1 : status;
}

static int run_script(struct options *options, const struct source *sources)
{
    struct top_arguments *arguments = (struct top_arguments *)options;
    struct top_run run = {.arguments = arguments};
    const char *base = strrchr(sources->name, '/');
    run.view.title = arguments->settings.title = base ? base + 1 : sources->name;
    run.view.interval = arguments->settings.interval;
    run.view.lines = &run.lines;
    options->session.report = take_report;
    options->session.progress = show_progress;
    options->session.watch = watch;
    options->session.write = take_output;
    options->session.state = &run;
    options->session.is_quiet = true;
    int error = command_compile(options, sources, &run.session), status = 1;
    if (!run.session) {
        fputs("ERROR: there is not enough memory\n", stderr);
        return 1;
    }
    if (error)
        command_diagnose(options, session_diagnostics(run.session));
    else
        status = run_compiled(&run, options, sources->name);
    top_maps_free(run.maps);
    top_view_free(&run.view);
    top_lines_free(&run.lines);
    text_free(&run.messages);
    session_close(run.session);
    return status;
}

/* ---- arguments ---- */

static int add_pids(void *target, const struct option_value *value)
{
    return options_add_pids(target, value);
}

#define OF_TRACE(kind, field) OPTION_STORES(kind, struct top_arguments, options.session.field)
static const struct option_row rows[] = {
    OPTION_ROW_HEADING("What is shown: the maps of a script, or with --recording what a program records:"),
    {'e', NULL, "PROGRAM", "run this program instead of a file; may be given several times",
     OPTION_SETS(options_add_program), .completes = COMPLETE_PROGRAM},
    {0, "script", "FILE", "run this file; several of these and of -e run together",
     OPTION_SETS(options_add_file), .completes = COMPLETE_FILES},
    {'p', "pid", "PID,…", "trace only these processes; the end of the last one ends the trace",
     OPTION_SETS(add_pids), .takes = "the id of a process, or several with commas between them",
     .completes = COMPLETE_PROCESSES},
    {'c', "cmd", "COMMAND", "run a command and trace; its end ends the trace", OF_TRACE(TEXT, command),
     .completes = COMPLETE_COMMANDS},
    {0, "follow", NULL, "with -p and -c: trace also what the process starts", OF_TRACE(FLAG, follows)},
    {0, "cgroup", "GROUP", "trace only what is in a control group: its path, or a process in it",
     OF_TRACE(TEXT, cgroup), .completes = COMPLETE_DIRECTORIES},
    {0, "user", "USER", "with -c: who runs the command; else who called sudo, or you",
     OF_TRACE(TEXT, command_user), .completes = COMPLETE_USERS},
    {0, "duration", "TIME", "the trace ends so long after all is attached (90s, 5m)",
     OF_TRACE(DURATION, duration_ns)},
    {'f', "file", "FILE", "a recording, for trace probes; may be given several times",
     OF_TRACE(LIST, recordings), .completes = COMPLETE_FILES},
    {0, "recording", NULL,
     "statistics of the recording of a program NAME, or FILE, or of -p (default: the newest)",
     OPTION_STORES(FLAG, struct top_arguments, recording), .completes = COMPLETE_FILES},
    OPTION_ROW_HEADING("How:"),
    {'i', "interval", "TIME", "between two refreshes (1s; 500ms)",
     OPTION_STORES(DURATION, struct top_arguments, settings.interval), .min = NSEC_PER_SEC / 20,
     .max = 3600 * (uint64_t)NSEC_PER_SEC, .takes = "a time from 50ms to 1h"},
    {'n', "count", "N", "end after so many refreshes",
     OPTION_STORES(NUMBER, struct top_arguments, settings.count), .min = 1, .takes = "a number of refreshes"},
    {'b', "batch", NULL, "no screen: print tables one below the other, as where the output is no terminal",
     OPTION_STORES(FLAG, struct top_arguments, batch)},
    {0, "rows", "N", "without a screen: at most so many rows of each map (20; 0: all)",
     OPTION_STORES(NUMBER, struct top_arguments, settings.rows), .max = TOP_ROWS_MAX},
    OPTION_ROW_HEADING("As of every trace:"),
    {'I', NULL, "DIRECTORY", "look for headers there first; may be given several times",
     OF_TRACE(LIST, directories), .completes = COMPLETE_DIRECTORIES},
    {0, "include", "FILE", "include a header before the script; may be given several times",
     OF_TRACE(LIST, headers), .completes = COMPLETE_FILES},
    {0, "debuginfo", "DIR:…", "look for separate debug files there first",
     OPTION_SETS(options_add_debug_directories), .completes = COMPLETE_DIRECTORIES},
    {0, "max-memory", "BYTES", "use no more for maps, rings and spoor itself (64M)",
     OF_TRACE(SIZE, max_memory)},
    {0, "probe-filter", "REGEX", "only the probes whose names match", OF_TRACE(TEXT, probe_filter)},
    {0, "no-warnings", NULL, "no warnings at all", OF_TRACE(FLAG, no_warnings)},
    {0, "unsafe", NULL, "allow system() and other things that change the system", OF_TRACE(FLAG, is_unsafe)},
    {'v', "verbose", NULL, "more: how probes were attached, cost of each program",
     OF_TRACE(FLAG, is_verbose)},
    OPTION_ROW_HELP,
};

static const struct option_rule rules[] = {
    {"--recording", OPTION_EXCLUDES, "-e --script -c --cgroup -f --duration", "shows what a program records"},
};

static int command_top(int argc, char **argv)
{
    static struct top_arguments arguments; /* its lists live as long as the process */
    struct options *options = &arguments.options;
    struct command_arguments given;
    int status;
    arguments.settings = (struct top_settings){.interval = NSEC_PER_SEC, .rows = 20};
    if (options_begin(options))
        return 1;
    if (!command_line_parse(&top_line, argc, argv, &arguments, &given, &status))
        return status;
    int next = 0;
    if (arguments.recording && given.count > 1)
        return command_line_fail(&top_line, "one recording at a time; what is '%s'", given.words[1]);
    if (arguments.recording)
        return top_recording(&arguments, given.count ? given.words[0] : NULL);
    if (!options->script_count && next < given.count)
        options->file = given.words[next++];
    if (!options->script_count && !options->file)
        return command_line_fail(&top_line,
                                 "what is to be shown? give a TOOL, a FILE, -e PROGRAM or --recording");
    options_parameters(options, given.words + next, given.count - next, given.behind);
    options->run = run_script;
    return command_script(options);
}

const struct command_line top_line = {
    .name = "top",
    .summary = "maps of a tool or script on a screen that moves, or statistics of a recording",
    .run = command_top,
    .usage = "[options] TOOL | FILE | -e PROGRAM [parameters]\n"
             "       spoor top --recording [options] [NAME | FILE]",
    .about = "Shows the maps of a script while it runs: tables with rates and history, distributions with\n"
             "percentiles. Where the output is no terminal, tables are printed one below the other.\n",
    COMMAND_ROWS(rows),
    COMMAND_RULES(rules),
    .completes = COMPLETE_TOOLS,
    .keeps_unknown = options_are_of_tool,
    .examples = "Keys: q quit, ? all keys, space pause, s sort, / filter, tab next map, enter a row whole, w "
                "save.\n\n"
                "Examples:\n"
                "  spoor top biolatency\n"
                "  spoor top -e 'tracepoint:syscalls:sys_enter_* { @[comm, probe] = count(); }'\n"
                "  spoor top --batch -n 5 syscount >log\n"
                "  spoor top --recording -p $(pidof blockd)\n",
};
