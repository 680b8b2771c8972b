/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor list`: prints tracepoints, and the USDT probes of a process or a file, as BCC's tplist does. */
#include <errno.h>
#include <string.h>

#include "builtin/all.h"
#include "cmd/bcc.h"
#include "cmd/command.h"
#include "probe/all.h"
#include "base/glob.h"
#include "sym/process/library.h"
#include "sym/process/proc.h"
#include "sym/elf/usdt.h"

struct arguments {
    uint64_t pid;
    const char *library, *filter;
    unsigned verbosity;
};

static const struct option_row rows[] = {
    {'p', "pid", "PID", "USDT probes in the process", OPTION_STORES(NUMBER, struct arguments, pid),
     OPTION_A_PROCESS},
    {'l', "lib", "LIBRARY", "USDT probes in a library or program; with -p: as the process has it",
     OPTION_STORES(TEXT, struct arguments, library), .completes = COMPLETE_FILES},
    {'v', "verbose", NULL,
     "fields of tracepoints; numbers of places and arguments of USDT probes; twice: also each place, and "
     "where the "
     "arguments are there",
     OPTION_STORES(COUNT, struct arguments, verbosity)},
    OPTION_ROW_HELP,
};

/* What was listed, and what a FILTER that matches nothing may have meant. */
struct listed {
    size_t count;
    struct nearest nearest;
    char best[128];
};
static struct listed listed;

/* Whether a name, such as sched:sched_switch, is to be listed. */
static bool matches(const struct arguments *arguments, const char *name)
{
    const char *before = listed.nearest.best, *last = strchr(name, ':');
    if (!arguments->filter || glob_match(arguments->filter, name)) {
        listed.count++;
        return true;
    }
    /* without a group, as it is often known */
    listed.nearest.name = arguments->filter;
    nearest_offer(&listed.nearest, strchr(arguments->filter, ':') || !last ? name : last + 1);
    if (listed.nearest.best != before) {
        snprintf(listed.best, sizeof listed.best, "%s", name);
        listed.nearest.best = listed.best;
    }
    return false;
}

/* Says that nothing was listed. Returns the exit status. */
static int explain_nothing(const struct arguments *arguments, const char *what)
{
    if (listed.count)
        return 0;
    if (!arguments->filter) {
        command_print(stderr, "NOTE: there are no %s\n", what);
        return 0;
    }
    command_print(stderr, "ERROR: none of the %s matches '%s'\n", what, arguments->filter);
    if (listed.nearest.best)
        command_print(stderr, "HINT: did you mean '%s'?\n", listed.nearest.best);
    else if (!strpbrk(arguments->filter, "*?[:"))
        command_print(stderr, "HINT: a FILTER matches whole names: '*%s*' those in which it stands\n",
                      arguments->filter);
    return 1;
}

/* ---- tracepoints ---- */

static int print_tracepoint(void *state, const char *name, const char *details)
{
    const struct arguments *arguments = state;
    name += strlen("tracepoint:");
    if (!matches(arguments, name))
        return 0;
    command_print(stdout, "%s\n", name);
    while (arguments->verbosity && details && *details) { /* "    type name", a line each */
        size_t length = strcspn(details, "\n");
        command_print(stdout, "%.*s;\n", (int)length, details);
        details += length + (details[length] == '\n');
    }
    return ferror(stdout) ? -EPIPE : 0;
}

static int list_tracepoints(struct options *options, struct arguments *arguments, struct arena *arena)
{
    struct diagnostics diagnostics = {.arena = arena};
    const int error = command_each_probe(arena, &diagnostics, "tracepoint:*:*", arguments->verbosity > 0,
                                         print_tracepoint, arguments);
    command_diagnose(options, &diagnostics);
    return error || diagnostics.errors || explain_nothing(arguments, "tracepoints");
}

/* ---- USDT probes ---- */

struct place_list {
    const struct arguments *arguments;
    const char *shown; /* path of the file */
    size_t files, probes;
};

/* Prints an argument such as "-4@%eax" in words. */
static void print_argument(const struct usdt_site *site, const struct usdt_argument *argument,
                           const struct usdt_declared *declared, unsigned number)
{
    const char *text = site->arguments + argument->text_begin;
    int length = argument->text_end - argument->text_begin;
    const char *at = memchr(text, '@', (size_t)length);
    if (at) {
        length -= (int)(at + 1 - text);
        text = at + 1;
    }
    command_print(stdout, "    argument #%u %u %s bytes @ %.*s", number, argument->size,
                  argument->is_float    ? "float   "
                  : argument->is_signed ? "signed  "
                                        : "unsigned",
                  length, text);
    if (declared)
        command_print(stdout, " (%s %s)", declared->type, declared->name);
    command_print(stdout, "\n");
}

static void print_places(const struct place_list *list, struct elf_file *file, const struct usdt_site *sites,
                         size_t count)
{
    struct usdt_arguments arguments = {0};
    unsigned most = 0;
    for (size_t i = 0; i < count; i++)
        if (!usdt_site_arguments(file, &sites[i], &arguments) && arguments.count > most)
            most = arguments.count;
    command_print(stdout, "%s:%s [sema 0x%llx]\n", sites->provider, sites->name,
                  (unsigned long long)sites->semaphore_address);
    if (list->arguments->verbosity < 2) {
        command_print(stdout, "  %zu location(s)\n  %u argument(s)\n", count, most);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        command_print(stdout, "  location #%zu %s 0x%llx\n", i + 1, list->shown,
                      (unsigned long long)sites[i].address);
        if (usdt_site_arguments(file, &sites[i], &arguments))
            continue;
        for (unsigned k = 0; k < arguments.count; k++)
            print_argument(&sites[i], &arguments.items[k],
                           k < sites[i].declared_count ? &sites[i].declared[k] : NULL, k + 1);
    }
}

static int list_file(struct place_list *list, const char *path, const char *shown)
{
    struct elf_file *file;
    struct usdt_probes probes;
    if (elf_file_open(path, &file))
        return 0;
    list->files++;
    list->shown = shown;
    if (!usdt_read(file, &probes)) {
        for (size_t i = 0, next; i < probes.count; i = next) {
            const struct usdt_site *site = &probes.sites[i];
            struct text name = {0};
            for (next = i + 1; next < probes.count && !strcmp(probes.sites[next].provider, site->provider) &&
                               !strcmp(probes.sites[next].name, site->name);)
                next++;
            text_printf(&name, "%s:%s", site->provider, site->name);
            if (matches(list->arguments, text_string(&name))) {
                list->probes++;
                if (list->arguments->verbosity)
                    print_places(list, file, site, next - i);
                else
                    command_print(stdout, "%s %s\n", shown, text_string(&name));
            }
            text_free(&name);
        }
        usdt_free(&probes);
    }
    elf_file_close(file);
    return ferror(stdout) ? -EPIPE : 0;
}

static int list_word(void *state, const char *path, const char *seen)
{
    return list_file(state, path, seen);
}

static int list_mapped(void *state, pid_t pid, const char *path, const char *seen)
{
    (void)pid;
    return list_file(state, path, seen);
}

static int list_usdt(struct arguments *arguments)
{
    struct place_list list = {.arguments = arguments};
    int error = arguments->library ? binary_each(arguments->library, (pid_t)arguments->pid, list_word, &list)
                                   : proc_each_file((pid_t)arguments->pid, list_mapped, &list);
    if (error == -EPIPE)
        return 1;
    if (arguments->library && (error || !list.files))
        return bcc_fail(NULL, "'%s' is no program or library that can be read", arguments->library);
    if (error)
        return bcc_fail(NULL, "process %llu: %s", (unsigned long long)arguments->pid, strerror(-error));
    return explain_nothing(arguments,
                           arguments->library ? "USDT probes in it" : "USDT probes in the process");
}

static int command_tplist(int argc, char **argv)
{
    static struct options options; /* its lists live as long as the process */
    struct arguments arguments = {0};
    struct command_arguments given;
    struct arena arena = {0};
    jmp_buf out_of_memory;
    int status = 1;
    if (options_begin(&options) || !command_line_parse(&list_line, argc, argv, &arguments, &given, &status))
        return status;
    if (given.count > 1)
        return command_line_fail(&list_line, "one FILTER is enough; what is '%s'?", given.words[1]);
    arguments.filter = given.count ? given.words[0] : NULL;
    if (arguments.pid || arguments.library)
        return list_usdt(&arguments);
    if (arena_guard(&arena, out_of_memory))
        return bcc_fail(NULL, "out of memory");
    status = list_tracepoints(&options, &arguments, &arena);
    arena_free(&arena);
    return status;
}

const struct command_line list_line = {
    .name = "list",
    .summary = "which tracepoints and USDT probes there are (BCC's tplist)",
    .run = command_tplist,
    .usage = "[options] [FILTER]",
    .about = "Lists tracepoints (CATEGORY:EVENT) or USDT probes (PROVIDER:PROBE), as BCC's tplist does; with "
             "a FILTER\n"
             "only those that this pattern matches.\n",
    COMMAND_ROWS(rows),
    .completes = COMPLETE_TRACEPOINTS,
};
