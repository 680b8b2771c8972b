/* SPDX-License-Identifier: BSD-3-Clause */
/* --on: hands a script and the options that hosts get, too, to src/remote, and prints what comes back. */
#include "cmd/on.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "builtin/all.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/stop.h"
#include "remote/remote.h"

/* What hosts get, too, and what is for the machine where all comes together. All else is refused: it would mean files or
 * processes of one machine, or what only one trace can do. */
static const char *const travelling[] = {
    "pid",        "cmd",        "follow", "cgroup",   "user",        "new-privileges", "duration",
    "max-events", "max-memory", "enum",   "together", "debuginfo",   "probe-filter",   "no-feature",
    "host",       "format",     "f",      "warnings", "no-warnings", "unsafe",         "verbose",
    "quiet",      "recording",  "file",   "from"};
static const char *const staying[] = {"e",
                                      "script",
                                      "on",
                                      "per-host",
                                      "sudo",
                                      "ssh",
                                      "on-binary",
                                      "output",
                                      "svg",
                                      "html",
                                      "histogram",
                                      "quiet",
                                      "B",
                                      "btf",
                                      "usdt-file-activation",
                                      "dwarf-pid",
                                      "traceable-functions"};
enum { TRAVELLING = sizeof travelling / sizeof *travelling, STAYING = sizeof staying / sizeof *staying };

static bool is_among(const char *const *names, size_t count, const struct option_row *row)
{
    const char letter[] = {row->letter, 0};
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], row->name ? row->name : letter))
            return true;
    return false;
}

void on_remember(void *target, const struct option_value *value)
{
    struct options *options = target;
    const struct option_row *row = value->row;
    struct text word = {0};
    if (!is_among(travelling, TRAVELLING, row))
        return;
    if (row->name)
        text_printf(&word, "--%s%s%s", row->name, value->text ? "=" : "", value->text ? value->text : "");
    else
        text_printf(&word, "-%c%s", row->letter, value->text ? value->text : "");
    if (!word.failed)
        command_line_append(&options->on.words, text_string(&word)); /* both live as long as the process */
}

/* ---- hosts ---- */

static int add_host(const char *const **hosts, char *host, size_t *count)
{
    if (!*host)
        return command_line_fail(&spoor_line,
                                 "--on takes hosts with commas between them, and one has no name");
    if (*host == '-')
        return command_line_fail(&spoor_line, "--on: '%s' is no host: it begins with a dash", host);
    for (size_t i = 0; i < *count; i++)
        if (!strcmp((*hosts)[i], host))
            return command_line_fail(&spoor_line, "--on: '%s' is there twice", host);
    if (*count == REMOTE_HOSTS_MAX)
        return command_line_fail(&spoor_line, "--on takes at most %d hosts", REMOTE_HOSTS_MAX);
    ++*count;
    return command_line_append(hosts, host) ? command_line_fail(&spoor_line, "no memory for '%s'", host) : 0;
}

static int split_hosts(const struct on_options *on, const char *const **hosts, size_t *count)
{
    int status = 0;
    for (size_t i = 0; on->lists[i] && !status; i++) {
        char *list = strdup(on->lists[i]), *one; /* lives as long as the process */
        if (!list)
            return command_line_fail(&spoor_line, "no memory for '%s'", on->lists[i]);
        while (!status && (one = strsep(&list, ",")))
            status = add_host(hosts, one, count);
    }
    return status;
}

/* ---- running ---- */

static void print(void *state, const char *bytes, size_t length)
{
    output_write(state, NULL, bytes, length);
}

static bool is_broken(void *state)
{
    const struct output *output = state;
    return output->error;
}

static void say(void *state, const char *text)
{
    enum { PATIENCE_MS = 200 };
    (void)state;
    command_write_in_time(text, PATIENCE_MS);
}

static int finish(void *state)
{
    const struct options *options = state;
    return options->finish(options->finish_state, NULL);
}

/* The command line for hosts: options, scripts, parameters. Returns 0 or -ENOMEM. */
static int make_words(const struct options *options, const struct source *sources, const char *const **words,
                      const char *const **names)
{
    const struct parameters *parameters = &options->session.parameters;
    int error = 0;
    for (size_t i = 0; options->on.words && options->on.words[i]; i++)
        error |= command_line_append(words, options->on.words[i]);
    for (size_t i = 0; i <= options->session.more_count; i++) {
        error |= command_line_append(words, "-e");
        error |= command_line_append(words, sources[i].text);
        error |= command_line_append(names, sources[i].name);
    }
    error |= command_line_append(words, "--");
    for (size_t i = 0; i < parameters->count; i++)
        error |= command_line_append(words, parameters->values[i]);
    for (size_t i = 0; i < parameters->named_count; i++)
        error |= command_line_append(words, parameters->named[i]);
    return error;
}

static size_t count_of(const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    return count;
}

static int run_on(struct options *options, const struct source *sources)
{
    static volatile int asked;
    struct output output = {.file = options->session.output, .is_terminal = options->session.is_terminal};
    const char *const *hosts = NULL, *const *words = NULL, *const *names = NULL;
    size_t host_count = 0;
    if (split_hosts(&options->on, &hosts, &host_count))
        return 1;
    if (make_words(options, sources, &words, &names))
        return command_line_fail(&spoor_line, "no memory for the script");
    if (count_of(words) > REMOTE_WORDS_MAX)
        return command_line_fail(&spoor_line, "--on takes at most %d words", REMOTE_WORDS_MAX);
    signal(SIGPIPE, SIG_IGN);
    stop_on_signals(&asked);
    const struct remote_options remote = {
        .hosts = hosts,
        .host_count = host_count,
        .ssh = options->on.ssh,
        .binaries = options->on.binaries,
        .sudo = options->on.sudo,
        .per_host = options->on.per_host,
        .is_quiet = options->session.is_quiet,
        .json = options->session.is_json,
        .is_terminal = output.is_terminal,
        .bcc_histograms = options->session.bcc_histograms,
        .builtins = &builtin_table,
        .watcher = options->session.watcher,
        .observer = options->session.observer,
        .finish = options->finish ? finish : NULL,
        .finish_state = options,
        .request = {words, count_of(words), names, count_of(names), output.is_terminal},
        .is_asked = &asked,
        .print = print,
        .say = say,
        .is_broken = is_broken,
        .state = &output,
    };
    const int status = remote_run(&remote);
    return output_close(&output, true) ? 1 : status;
}

int on_check(struct options *options, const struct command_arguments *given)
{
    const char *const *hosts = NULL;
    size_t count = 0;
    if (!options->on.lists)
        return 0;
    if (split_hosts(&options->on, &hosts, &count))
        return 1;
    for (size_t i = 0; i < spoor_line.row_count; i++) {
        const struct option_row *row = &spoor_line.rows[i];
        const char letter[] = {row->letter, 0};
        if (given->given[i] && !is_among(travelling, TRAVELLING, row) && !is_among(staying, STAYING, row) &&
            strcmp(letter, "h") && strcmp(letter, "V"))
            return command_line_fail(&spoor_line, "%s%s means nothing on other machines: not with --on",
                                     row->name ? "--" : "-", row->name ? row->name : letter);
    }
    if (options->session.pid_count && count > 1)
        return command_line_fail(
            &spoor_line, "-p is a process of one machine: not with several hosts of --on; --cgroup or a "
                         "predicate on comm means the same on each");
    if (options->on.ssh && !options->on.ssh[strspn(options->on.ssh, " ")])
        return command_line_fail(&spoor_line, "--ssh takes a command, not ''");
    options->run = run_on;
    return 0;
}
