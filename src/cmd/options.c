/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { /* options without a letter; below the first letter of ASCII */
       OPTION_UNSAFE = 1,
       OPTION_CHECK,
       OPTION_INFO,
       OPTION_WITHOUT,
       OPTION_NO_WARNINGS,
};

static const struct option_line {
    int letter;
    const char *name;
    const char *argument; /* NULL: takes none */
    const char *what;
} lines[] = {
    {'e', NULL, "PROGRAM", "run this program instead of a file"},
    {'p', "pid", "PID", "trace only this process; its end ends the trace"},
    {'c', "cmd", "COMMAND",
     "run a command and trace; it starts when all is attached, its end ends the trace"},
    {'o', "output", "FILE", "write the script's output to a file"},
    {'f', NULL, "text|json", "format of the output"},
    {'B', NULL, "line|full|none", "buffering of the output"},
    {'l', "list", NULL, "list probes that match a pattern, or those of the script; with -v their arguments"},
    {'q', "quiet", NULL, "no banner"},
    {'v', "verbose", NULL, "more: the verifier's log, how probes were attached, cost of each program"},
    {'k', "warnings", NULL, "also warn about look-ups of missing keys and cut strings"},
    {OPTION_NO_WARNINGS, "no-warnings", NULL, "no warnings at all"},
    {OPTION_UNSAFE, "unsafe", NULL, "allow system() and other things that change the system"},
    {OPTION_CHECK, "check", NULL, "compile only; needs no privilege"},
    {'d', NULL, "STAGE", "compile only, and print a stage: ast, types, ir-raw, ir or bpf"},
    {OPTION_WITHOUT, "no-feature", "LIST", "do without kernel features (see --info), comma separated"},
    {OPTION_INFO, "info", NULL, "what this kernel offers, and what spoor does instead"},
    {'V', "version", NULL, "print the version"},
    {'h', "help", NULL, "print this"},
};
enum { LINES = sizeof lines / sizeof lines[0] };

void options_help(FILE *out)
{
    fputs("spoor: what is this system doing?\n\n"
          "Usage: spoor [options] FILE | -  [parameters]\n"
          "       spoor [options] -e PROGRAM [parameters]\n"
          "       spoor -l [PATTERN]\n\nOptions:\n",
          out);
    for (size_t i = 0; i < LINES; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%.1s%s%s%s%s%s", lines[i].letter > ' ' ? "-" : "    ",
                 lines[i].letter > ' ' ? (char[]){(char)lines[i].letter, 0} : "",
                 lines[i].letter > ' ' && lines[i].name ? ", " : "", lines[i].name ? "--" : "",
                 lines[i].name ? lines[i].name : "", lines[i].argument ? " " : "",
                 lines[i].argument ? lines[i].argument : "");
        fprintf(out, "  %-26s %s\n", left, lines[i].what);
    }
    fputs("\nParameters are $1, $2 … in the script; write -- before those that begin with a dash.\n"
          "Exit status: 0, or the argument of exit(); 1 after an error.\n\nExamples:\n"
          "  spoor -e 'tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, "
          "str(args.filename)); }'\n"
          "  spoor -e 'profile:hz:99 { @[comm] = count(); }'\n"
          "  spoor -l 'usdt:/usr/lib/postgresql/15/bin/postgres:*'\n",
          out);
}

static int complain(const char *format, const char *what)
{
    fprintf(stderr, "ERROR: ");
    fprintf(stderr, format, what);
    fputs("\nHINT: spoor --help lists the options\n", stderr);
    return 1;
}

static int parse_pid(const char *text, pid_t *pid)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || *end || end == text || value <= 0 || value > 0x7fffffff)
        return complain("-p needs the number of a process, found '%s'", text);
    *pid = (pid_t)value;
    return 0;
}

/* One of several words: its index, or -1. */
static int word(const char *text, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(text, words[i]))
            return i;
    return -1;
}

static int apply(struct options *options, int letter, const char *argument)
{
    static const char *const formats[] = {"text", "json", NULL};
    static const char *const buffers[] = {"full", "line", "none", NULL};
    static const char *const stages[] = {"",   "ast", "types", "ir-raw",
                                         "ir", "bpf", NULL}; /* enum session_stage */
    struct session_options *session = &options->session;
    int choice;
    switch (letter) {
    case 'e': options->program = argument; return 0;
    case 'p': return parse_pid(argument, &session->pid);
    case 'c': session->command = argument; return 0;
    case 'o': options->output = argument; return 0;
    case 'l': options->lists = true; return 0;
    case 'q': session->is_quiet = true; return 0;
    case 'v': session->is_verbose = true; return 0;
    case 'k': session->warns = true; return 0;
    case 'V': options->version = true; return 0;
    case 'h': options->help = true; return 0;
    case OPTION_UNSAFE: session->is_unsafe = true; return 0;
    case OPTION_CHECK: session->check_only = true; return 0;
    case OPTION_INFO: options->info = true; return 0;
    case OPTION_WITHOUT: session->without = argument; return 0;
    case OPTION_NO_WARNINGS: session->no_warnings = true; return 0;
    case 'f':
        if ((choice = word(argument, formats)) < 0)
            return complain("-f needs text or json, found '%s'", argument);
        session->is_json = choice == 1;
        return 0;
    case 'B':
        if ((choice = word(argument, buffers)) < 0)
            return complain("-B needs line, full or none, found '%s'", argument);
        session->unbuffered = choice != 0;
        return 0;
    case 'd':
        if ((choice = word(argument, stages)) <= 0)
            return complain("-d needs ast, types, ir-raw, ir or bpf, found '%s'", argument);
        session->dump = (enum session_stage)choice;
        return 0;
    default: return 1;
    }
}

/* BPFTRACE_X and SPOOR_X; the latter wins. */
static const char *environment(const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "SPOOR_%s", name);
    const char *value = getenv(full);
    if (value)
        return value;
    snprintf(full, sizeof full, "BPFTRACE_%s", name);
    return getenv(full);
}

static int environment_number(const char *name, uint32_t least, uint32_t most, uint32_t *out)
{
    const char *text = environment(name);
    char *end;
    if (!text)
        return 0;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || end == text || value < least || value > most) {
        fprintf(stderr, "ERROR: %s must be a number from %u to %u, found '%s'\n", name, least, most, text);
        return 1;
    }
    *out = (uint32_t)value;
    return 0;
}

static int read_environment(struct session_options *session)
{
    const char *colour = environment("COLOR");
    session->colour =
        colour && strcmp(colour, "auto") ? !strcmp(colour, "always") : isatty(STDERR_FILENO) == 1;
    return environment_number("MAX_STRLEN", 8, 16384, &session->max_strlen) ||
           environment_number("MAX_MAP_KEYS", 1, 16 << 20, &session->max_map_keys) ||
           environment_number("MAX_CAT_BYTES", 1, 1 << 30, &session->max_cat_bytes);
}

int options_parse(struct options *options, int argc, char **argv)
{
    char letters[2 * LINES + 2] = ":";
    struct option names[LINES + 1] = {{0}};
    size_t used = 1, named = 0;
    for (size_t i = 0; i < LINES; i++) {
        if (lines[i].letter > ' ') {
            letters[used++] = (char)lines[i].letter;
            if (lines[i].argument)
                letters[used++] = ':';
        }
        if (lines[i].name)
            names[named++] = (struct option){
                lines[i].name, lines[i].argument ? required_argument : no_argument, NULL, lines[i].letter};
    }
    if (read_environment(&options->session))
        return 1;
    for (int letter; (letter = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
        if (letter == '?')
            return complain("unknown option '%s'", argv[optind - 1]);
        if (letter == ':')
            return complain("option '%s' needs an argument", argv[optind - 1]);
        if (apply(options, letter, optarg))
            return 1;
    }
    int next = optind;
    if (options->lists && !options->program && next < argc)
        options->pattern = argv[next++];
    else if (!options->lists && !options->program && next < argc)
        options->file = argv[next++];
    options->parameters = (const char *const *)argv + next;
    options->parameter_count = (size_t)(argc - next);
    return 0;
}
