/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a script: reads its text, opens the output, hands both to a session. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/create.h"
#include "base/open_foreign.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/whole.h"
#include "builtin/all.h"
#include "cmd/command.h"
#include "cmd/metrics.h"
#include "cmd/otlp_script.h"
#include "cmd/page.h"
#include "cmd/picture.h"
#include "cmd/tools.h"
#include "print/diagnostic_json.h"

/* Writes what is said about a script that a command has written, in terms of the command line. */
static void render_parts(const struct options *options, const struct diagnostics *diagnostics,
                         enum severity severity, struct text *text)
{
    for (size_t i = 0; i < diagnostics->count; i++) {
        const struct diagnostic *item = &diagnostics->items[i];
        const char *word = NULL;
        for (size_t k = 0; item->span.source && k < options->part_count; k++)
            if (options->parts[k].begin <= item->span.begin)
                word = options->parts[k].word;
        if (item->severity != severity)
            continue;
        if (!word) {
            diagnostic_render(text, item, options->session.colour);
            continue;
        }
        terminal_print(text, "%s: '%s': %s\nHINT: %s\n", severity == DIAGNOSTIC_ERROR ? "ERROR" : "WARNING",
                       word, item->message,
                       item->hint ? item->hint : "--show-script prints the script that is made of it");
    }
}

/* Whether messages about the script are what the command was asked for, by a program: --check with -f json. */
static bool prints_diagnostics(const struct options *options)
{
    const struct session_options *session = &options->session;
    return session->source && session->is_json && session->check_only && !options->lists;
}

static void render_all(const struct options *options, const struct diagnostics *diagnostics,
                       enum severity severity, struct text *text)
{
    if (prints_diagnostics(options)) {
        for (size_t i = 0; i < diagnostics->count; i++)
            if (diagnostics->items[i].severity == severity)
                diagnostic_json(text, &diagnostics->items[i], options->session.source);
    } else if (options->part_count)
        render_parts(options, diagnostics, severity, text);
    else
        diagnostics_render(text, diagnostics, severity, options->session.colour);
}

static void render(const struct options *options, const struct diagnostics *diagnostics, struct text *text)
{
    render_all(options, diagnostics, DIAGNOSTIC_ERROR, text);
    if (!options->session.no_warnings)
        render_all(options, diagnostics, DIAGNOSTIC_WARNING, text);
    text->failed |= diagnostics->errors && !text->length;
}

/* Returns the text, or a message if memory ran out while it was made. */
static const char *rendered(const struct text *text)
{
    return text->failed ? "ERROR: there is not enough memory\n" : text_string(text);
}

void command_diagnose(const struct options *options, const struct diagnostics *diagnostics)
{
    struct text text = {0};
    render(options, diagnostics, &text);
    command_write(prints_diagnostics(options) && !text.failed ? stdout : stderr, rendered(&text));
    text_free(&text);
}

static int fail(const char *what, const char *name, int error)
{
    command_print(stderr, "ERROR: %s '%s': %s\n", what, name, strerror(error));
    return 1;
}

/* A user who names a pipe may have to wait for its other end, as in a shell; after so many ms a message says for
 * what. */
enum { UNTOLD_MS = 1000 };

static void report_waiting(const char *what, const char *name)
{
    command_print(stderr, "NOTE: waiting for %s '%s'\n", what, name);
}

/* Waits for the text of a script. Before a pipe has a writer, poll() waits, and a read would return the end. */
static void wait_for_text(int descriptor, const char *name)
{
    struct pollfd ready = {descriptor, POLLIN, 0};
    if (poll(&ready, 1, UNTOLD_MS) || isatty(descriptor))
        return;
    report_waiting("the script from", name);
    poll(&ready, 1, -1);
}

/* Reads the whole text of a file or of standard input. Returns 0 or errno. */
int command_read_text(const char *name, struct text *text)
{
    enum { LARGEST = 2 << 20 };
    const bool is_file = strcmp(name, "-") != 0;
    int descriptor = is_file ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : STDIN_FILENO;
    if (descriptor < 0)
        return errno;
    int error = 0;
    wait_for_text(descriptor, is_file ? name : "standard input");
    if (is_file && fcntl(descriptor, F_SETFL, 0)) /* from here on reads wait for the writer */
        error = errno;
    if (!error)
        error = -whole_read_text(descriptor, LARGEST, text);
    if (descriptor != STDIN_FILENO)
        close(descriptor);
    return error == EFBIG ? 0 : error; /* the parser says that it is too long */
}

/* Messages while a trace runs. A reader of them that does not read must not delay the trace: it is waited for once,
 * and then messages that it cannot take at once are counted until it reads again. */
enum { PATIENCE_MS = 200, PATIENCE_AT_END_MS = 100 };
struct messages {
    struct metrics *metrics; /* NULL: there are none */
    size_t lost;
    bool is_stuck;
};

static void report(void *state, const char *text)
{
    struct messages *messages = state;
    messages->is_stuck = !command_write_in_time(text, messages->is_stuck ? 0 : PATIENCE_MS);
    messages->lost += messages->is_stuck;
}

static void publish_metrics(void *state)
{
    const struct messages *messages = state;
    metrics_meanwhile(messages->metrics);
}

/* Prints, after the trace, what was wrong with it, and whether messages are missing. */
static void report_end(const struct options *options, const struct diagnostics *later,
                       struct messages *messages)
{
    struct text text = {0};
    if (later->count || later->errors)
        render(options, later, &text);
    if (messages->lost)
        text_printf(&text, "WARNING: %zu message%s not printed: nobody read the error output\n",
                    messages->lost, messages->lost == 1 ? " was" : "s were");
    command_write_in_time(rendered(&text), PATIENCE_AT_END_MS);
    text_free(&text);
}

static void show_progress(void *state, size_t done, size_t total)
{
    (void)state;
    if (total)
        command_print(stderr, "\rAttaching %zu of %zu ", done, total);
    else
        fputs("\r                                        \r", stderr);
}

static int print_probe(void *state, const char *name, const char *details)
{
    (void)state, (void)details;
    command_print(stdout, "%s\n", name);
    return 0;
}

static int print_would(void *state, const char *name, const char *details)
{
    (void)state, (void)details;
    command_print(stderr, "Would attach %s\n", name);
    return 0;
}

int command_compile(struct options *options, const struct source *source, struct session **session)
{
    options->session.source = source;
    options->session.kinds = probe_kinds;
    options->session.builtins = &builtin_table;
    if (!options->session.report)
        options->session.report = report;
    if (isatty(STDERR_FILENO) == 1 && !options->session.is_quiet && !options->session.progress)
        options->session.progress = show_progress;
    *session = NULL;
    if (session_open(&options->session, session))
        return -ENOMEM;
    int error = session_compile(*session);
    return !error && session_diagnostics(*session)->errors ? -EINVAL : error;
}

int command_probes(struct options *options, const char *name, const struct text *text, probe_visitor *visit,
                   void *state)
{
    struct source source = {name, text_string(text), text->length};
    struct options only = *options;
    struct session *session;
    only.session.check_only = true;
    int error = command_compile(&only, &source, &session);
    if (!session)
        return fail("cannot start", name, ENOMEM);
    if (error)
        command_diagnose(options, session_diagnostics(session));
    else
        session_probes(session, visit, state);
    session_close(session);
    return error != 0;
}

static int run_with(struct options *options, const struct source *source, struct otlp_script *sending)
{
    struct session *session;
    struct messages messages = {0};
    int status = 0;
    struct metrics *metrics;
    const struct script_option *script = options->scripts;
    const char *named = script->file && strcmp(script->file, "-") != 0 ? source->name : NULL;
    if (command_metrics(options, named, report, &messages, &metrics))
        return 1;
    messages.metrics = metrics;
    options->session.meanwhile = metrics ? publish_metrics : NULL;
    options->session.state = &messages;
    options->session.check_only |= options->lists;
    int error = command_compile(options, source, &session);
    if (!session) {
        metrics_close(metrics);
        return fail("cannot start", source->name, ENOMEM);
    }
    bool compiled_only = options->session.dump || options->session.check_only;
    if (error || compiled_only)
        command_diagnose(options, session_diagnostics(session));
    if (error && !compiled_only)
        otlp_script_diagnose(sending, options, session_diagnostics(session), false);
    if (!error && options->session.dump)
        command_write(stdout, session_dump(session));
    else if (!error && options->dry_run)
        session_probes(session, print_would, NULL);
    else if (!error && options->lists)
        session_probes(session, print_probe, NULL);
    else if (!error && !compiled_only) {
        struct diagnostics warnings = *session_diagnostics(session);
        /* printed before the trace, so that a user does not wait in vain */
        command_diagnose(options, &warnings);
        otlp_script_diagnose(sending, options, &warnings, true);
        error = metrics ? metrics_run(metrics, session, &status) : session_run(session, &status);
        struct diagnostics later = *session_diagnostics(session);
        later.items += warnings.count;
        later.count -= warnings.count;
        report_end(options, &later, &messages);
        otlp_script_diagnose(sending, options, &later, !error);
        if (!error && options->finish && options->finish(options->finish_state, session) && !status)
            status = 1;
    }
    if (error && !session_diagnostics(session)->errors)
        fail("the trace ended early", source->name, -error);
    metrics_close(metrics);
    session_close(session);
    return error ? 1 : status;
}

static int run(struct options *options, const struct source *source)
{
    struct otlp_script *sending;
    if (otlp_script_open(options, &sending))
        return 1;
    return otlp_script_close(sending, run_with(options, source, sending));
}

/* Returns the name of a script in messages. With several programs each one has its own. */
static const char *name_of(const struct options *options, const struct script_option *script,
                           struct text *name)
{
    if (script->file && strcmp(script->file, "-") != 0)
        return script->file;
    if (options->script_count < 2)
        return "stdin";
    text_printf(name, "stdin %zu", script - options->scripts + 1);
    return text_string(name);
}

static int open_output(const char *path)
{
    enum { STEP_MS = 20 };
    int file;
    for (int waited = 0; (file = create_file(path)) == -EAGAIN; waited += STEP_MS) {
        if (waited == UNTOLD_MS)
            report_waiting("a reader of", path);
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000}, NULL);
    }
    return file;
}

static int run_sources(struct options *options, const struct source *sources, size_t count)
{
    options->session.output = STDOUT_FILENO;
    if (options->output) {
        struct text first = {0};
        text_add(&first, options->output);
        if (options->session.rotate_bytes)
            text_add(&first, ".1");
        options->session.output_path = options->output;
        options->session.output = first.failed ? -ENOMEM : open_output(text_string(&first));
        text_free(&first);
        if (options->session.output < 0) {
            int error = -options->session.output;
            fail("cannot write to", options->output, error);
            if (error == EPERM)
                fputs("HINT: in a directory that others may write, no link and nobody else's file is written "
                      "to\n",
                      stderr);
            return 1;
        }
    }
    options->session.is_terminal = isatty(options->session.output) == 1;
    const char *colour = getenv("BPFTRACE_COLOR");
    options->session.colours_output =
        colour && strcmp(colour, "auto") ? !strcmp(colour, "always") : isatty(options->session.output) == 1;
    options->session.more = sources + 1;
    options->session.more_count = count - 1;
    const char *title = options->script_count && options->scripts->program ? sources->text : sources->name;
    struct picture *picture = NULL;
    struct page *page = NULL;
    int status = picture_begin(options, title, &picture);
    if (!status)
        status = page_begin(options, title, &page);
    if (!status)
        status = options->formats ? command_format(options, sources)
                 : options->run   ? options->run(options, sources)
                                  : run(options, sources);
    status = page_end(page, status);
    status = picture_end(picture, status);
    if (options->output)
        close(options->session.output);
    return status;
}

/* Adds the script that FILE means: a file or, if there is none of that name, a tool, of which `tool` keeps the name. */
static void add_file(struct options *options, struct text *tool)
{
    struct script_option *script = &options->scripts[options->script_count++];
    struct stat status;
    bool is_file = !strcmp(options->file, "-") || foreign_status(options->file, &status) != -ENOENT;
    if (is_file || !tool_find(options->file, script, tool))
        *script = (struct script_option){.file = options->file};
    else
        options->session.parameters.tool = options->file;
}

static int cannot_read(const char *file, int error)
{
    fail("cannot read the script", file, error);
    if (error == ENOENT)
        command_guess(file);
    return 1;
}

int command_script(struct options *options)
{
    struct text tool = {0};
    if (options->file)
        add_file(options, &tool);
    size_t count = options->script_count;
    if (!count) {
        const bool is_program = options->session.command && strpbrk(options->session.command, "{}");
        fputs("ERROR: no script: give a FILE, or -e PROGRAM\n", stderr);
        if (is_program)
            fputs("HINT: -c takes a command to be traced; a program is given with -e\n", stderr);
        else
            fputs("HINT: spoor --help lists the options\n", stderr);
        return 1;
    }
    if (options->formats && count > 1) {
        fputs("ERROR: --fmt prints one script\n", stderr);
        return 1;
    }
    struct text *texts = calloc(count, sizeof *texts), *names = calloc(count, sizeof *names);
    struct source *sources = calloc(count, sizeof *sources);
    int status = texts && names && sources ? 0 : fail("cannot start", "spoor", ENOMEM);
    for (size_t i = 0; !status && i < count; i++) {
        const struct script_option *script = &options->scripts[i];
        const char *name = name_of(options, script, &names[i]);
        int error = 0;
        if (script->program)
            text_add(&texts[i], script->program);
        else if ((error = command_read_text(script->file, &texts[i])))
            status = cannot_read(script->file, error);
        if (!status && !options->formats)
            status = command_replace_markers(&texts[i], &options->session);
        if (!status)
            sources[i] = (struct source){name, text_string(&texts[i]), texts[i].length};
    }
    if (!status)
        status = run_sources(options, sources, count);
    for (size_t i = 0; texts && names && i < count; i++) {
        text_free(&texts[i]);
        text_free(&names[i]);
    }
    free(texts);
    free(names);
    free(sources);
    text_free(&tool);
    return status;
}

int command_run(struct options *options, const char *name, const struct text *text)
{
    struct source source = {name, text_string(text), text->length};
    return run_sources(options, &source, 1);
}
