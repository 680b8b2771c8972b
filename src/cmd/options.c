/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diagnostic.h"
#include "cmd/recordings.h"
#include "reader/filter.h"

enum { /* options without a letter; below the first letter of ASCII */
       OPTION_UNSAFE = 1,
       OPTION_CHECK,
       OPTION_INFO,
       OPTION_WITHOUT,
       OPTION_NO_WARNINGS,
       OPTION_DRY_RUN,
       OPTION_FORMAT,
       OPTION_MODE,
       OPTION_FILTER,
       OPTION_NOTHING, /* taken, and of no use here */
       OPTION_TEST,
       OPTION_BENCH,
       OPTION_INCLUDE,
       OPTION_FOLLOW,
       OPTION_CGROUP,
       OPTION_HISTOGRAM,
       OPTION_HOST,
       OPTION_RECORDING,
       OPTION_SCRIPT,
       OPTION_TIMES,
       OPTION_DURATION,
       OPTION_EVENTS,
       OPTION_MEMORY,
       OPTION_ROTATE,
       OPTION_KEEP,
       OPTION_USER,
       OPTION_PRIVILEGES,
       OPTION_TOGETHER,
       OPTION_DEBUGINFO,
       OPTION_ENUM,
};

static const struct option_line {
    int letter;
    const char *name;
    const char *argument; /* NULL: takes none */
    const char *what;
} lines[] = {
    {'e', NULL, "PROGRAM", "run this program instead of a file; may be given several times"},
    {OPTION_SCRIPT, "script", "FILE", "run this file; several of these and of -e run together"},
    {OPTION_TOGETHER, "together", NULL,
     "with several scripts: what they call by one name is one map, one function"},
    {OPTION_ENUM, "enum", "MAP=ENUM", "fill a map that the script only reads with the names of this enum"},
    {'p', "pid", "PID,…", "trace only these processes; the end of the last one ends the trace"},
    {'c', "cmd", "COMMAND",
     "run a command and trace; it starts when all is attached, its end ends the trace"},
    {OPTION_FOLLOW, "follow", NULL, "with -p and -c: trace also what the process starts"},
    {OPTION_CGROUP, "cgroup", "GROUP", "trace only what is in a control group: its path, or a process in it"},
    {OPTION_USER, "user", "USER", "with -c: who runs the command; else who called sudo, or you"},
    {OPTION_PRIVILEGES, "new-privileges", NULL,
     "with -c: as another user, it may run set-user-ID programs (sudo, ping)"},
    {'o', "output", "FILE", "write the script's output to a file"},
    {OPTION_ROTATE, "rotate-size", "BYTES", "with -o: files FILE.1, FILE.2 … of at most so much (10M)"},
    {OPTION_KEEP, "keep", "N", "with --rotate-size: only the newest N files"},
    {OPTION_DURATION, "duration", "TIME", "the trace ends so long after all is attached (90s, 5m)"},
    {OPTION_EVENTS, "max-events", "N", "the trace ends when N events have been printed or acted on"},
    {OPTION_MEMORY, "max-memory", "BYTES", "use no more for maps, rings and spoor itself (64M)"},
    {'f', NULL, "text|json|FILE", "format of the output; or a recording, for trace probes"},
    {OPTION_RECORDING, "recording", "FILE", "read this recording, as -f FILE; may be given several times"},
    {OPTION_TIMES, "times", NULL, "with -f json: lines say when, as time_ns; for spoor report --merge"},
    {OPTION_HISTOGRAM, "histogram", "bpftrace|bcc",
     "layout of histograms in text: BCC's is `low -> high : count`"},
    {'B', NULL, "line|full|none", "buffering of the output"},
    {'l', "list", NULL, "list probes that match a pattern, or those of the script; with -v their arguments"},
    {'q', "quiet", NULL, "no banner"},
    {'v', "verbose", NULL, "more: the verifier's log, how probes were attached, cost of each program"},
    {'k', "warnings", NULL, "also warn about look-ups of missing keys and cut strings"},
    {OPTION_NO_WARNINGS, "no-warnings", NULL, "no warnings at all"},
    {'I', NULL, "DIRECTORY", "look for headers there first; may be given several times"},
    {OPTION_INCLUDE, "include", "FILE", "include a header before the script; may be given several times"},
    {OPTION_DEBUGINFO, "debuginfo", "DIR:…",
     "look for separate debug files there first; a relative one is meant from where the program is"},
    {OPTION_UNSAFE, "unsafe", NULL, "allow system() and other things that change the system"},
    {OPTION_CHECK, "check", NULL, "compile only; needs no privilege"},
    {OPTION_DRY_RUN, "dry-run", NULL, "the same, and say what would be attached"},
    {OPTION_FORMAT, "fmt", NULL, "print the script in its usual layout"},
    {OPTION_MODE, "mode", "MODE", "test, bench or format: the same as --test, --bench or --fmt"},
    {OPTION_FILTER, "probe-filter", "REGEX", "only the probes whose names match"},
    {'d', NULL, "STAGE", "compile only, and print a stage: ast, types, ir-raw, ir or bpf"},
    {OPTION_WITHOUT, "no-feature", "LIST", "do without kernel features (see --info), comma separated"},
    {OPTION_TEST, "test", NULL, "run the test probes of a script and say which failed"},
    {OPTION_BENCH, "bench", NULL, "run the bench probes of a script and say what they cost"},
    {OPTION_HOST, "host", "kernel|vm", "who runs the programs; vm: this process, where no kernel is needed"},
    {OPTION_INFO, "info", NULL, "what this kernel offers, and what spoor does instead"},
    {'b', "btf", NULL, "does nothing: BTF is always used"},
    {OPTION_NOTHING, "usdt-file-activation", NULL, "does nothing: probes are activated by their file"},
    {OPTION_NOTHING, "dwarf-pid", "PID", "does nothing: dw_ustack knows every process that it meets"},
    {OPTION_NOTHING, "traceable-functions", "FILE", "does nothing: functions are known from the kernel"},
    {'V', "version", NULL, "print the version"},
    {'h', "help", NULL, "print this"},
};
enum { LINES = sizeof lines / sizeof lines[0] };

/* Options of bpftrace that cannot be meant here, and what to use instead. */
static const struct {
    const char *name, *why;
} refused[] = {
    {"emit-elf", "programs are not written to files: -d bpf prints their instructions"},
    {"emit-llvm", "there is no LLVM here: -d ir prints the intermediate code, -d bpf the instructions"},
    {"verify-llvm-ir", "there is no LLVM here: the compiler checks its own code in every test"},
    {"aot", "scripts are compiled when they run: it takes milliseconds"},
};
enum { REFUSED = sizeof refused / sizeof refused[0], REFUSED_FIRST = 512 };

/* Names of bpftrace's stages for ours. */
static const struct {
    const char *theirs, *ours;
} stage_names[] = {
    {"parse", "ast"}, {"codegen", "ir-raw"}, {"codegen-opt", "ir"}, {"dis", "bpf"}, {"disasm", "bpf"},
};

void options_list(FILE *out, const char *indentation)
{
    for (size_t i = 0; i < LINES; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%.1s%s%s%s%s%s", lines[i].letter > ' ' ? "-" : "    ",
                 lines[i].letter > ' ' ? (char[]){(char)lines[i].letter, 0} : "",
                 lines[i].letter > ' ' && lines[i].name ? ", " : "", lines[i].name ? "--" : "",
                 lines[i].name ? lines[i].name : "", lines[i].argument ? " " : "",
                 lines[i].argument ? lines[i].argument : "");
        int unseen = 0; /* bytes of UTF-8 that take no column of their own */
        for (const char *at = left; *at; at++)
            unseen += (*at & 0xc0) == 0x80;
        command_print(out, "%s%-*s %s\n", indentation, 26 + unseen, left, lines[i].what);
    }
}

void options_help(FILE *out)
{
    fputs("spoor: what is this system doing?\n\n"
          "Usage: spoor [options] FILE | -  [parameters]\n"
          "       spoor [options] -e PROGRAM [parameters]\n"
          "       spoor [options] --script FILE --script FILE … [parameters]\n"
          "       spoor -l [PATTERN]\n"
          "       spoor TOOL | COMMAND …\n\nCommands, each with --help of its own; `spoor` alone lists the "
          "tools, too:\n",
          out);
    command_list_all(out);
    fputs("\nOptions:\n", out);
    options_list(out, "  ");
    fputs("\nParameters are $1, $2 … in the script; write -- before those that begin with a dash.\n"
          "Exit status: 0, or the argument of exit(); 1 after an error.\n\nExamples:\n"
          "  spoor -e 'tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, "
          "str(args.filename)); }'\n"
          "  spoor -e 'profile:hz:99 { @[comm] = count(); }'\n"
          "  spoor -l 'usdt:/usr/lib/postgresql/15/bin/postgres:*'\n",
          out);
}

static int report_error(const char *format, const char *what)
{
    command_print(stderr, "ERROR: ");
    command_print(stderr, format, what);
    fputs("\nHINT: spoor --help lists the options\n", stderr);
    return 1;
}

static int unknown_option(const char *option)
{
    char word[64];
    const char *name = option + strspn(option, "-");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    struct nearest nearest = {.name = word};
    for (size_t i = 0; i < LINES; i++)
        if (lines[i].name)
            nearest_offer(&nearest, lines[i].name);
    command_print(stderr, "ERROR: unknown option '%s'\n", option);
    if (nearest.best)
        command_print(stderr, "HINT: did you mean --%s?\n", nearest.best);
    else
        fputs("HINT: spoor --help lists the options\n", stderr);
    return 1;
}

/* "12" or "12,13"; given again it adds. A number that comes twice counts once. */
static int parse_pids(struct options *options, const char *text)
{
    struct session_options *session = &options->session;
    for (const char *at = text; at; at = *at ? at + 1 : NULL) {
        char *end;
        errno = 0;
        long value = strtol(at, &end, 10);
        if (errno || (*end && *end != ',') || end == at || value <= 0 || value > 0x7fffffff)
            return report_error(
                "-p needs the number of a process, or several with commas between them, found '%s'", text);
        size_t i = 0;
        while (i < session->pid_count && options->pids[i] != value)
            i++;
        if (i == OPTIONS_PIDS)
            return report_error("-p takes at most 1024 processes; --cgroup takes all of a group%s", "");
        options->pids[i] = (pid_t)value;
        session->pid_count += i == session->pid_count;
        at = end;
        if (!*at)
            break;
    }
    session->pids = options->pids;
    return 0;
}

void options_process(struct options *options, pid_t pid)
{
    options->pids[0] = pid;
    options->session.pids = options->pids;
    options->session.pid_count = pid ? 1 : 0;
}

/* One of several words: its index, or -1. */
static int word(const char *text, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(text, words[i]))
            return i;
    return -1;
}

static int parse_mode(const char *text, struct options *options)
{
    struct session_options *session = &options->session;
    static const char *const modes[] = {"format", "test", "bench", "codegen", "compiler-bench", NULL};
    switch (word(text, modes)) {
    case 0: options->formats = true; return 0;
    case 1: session->runs = PROBE_TEST; return 0;
    case 2: session->runs = PROBE_BENCH; return 0;
    case 3:
        return report_error("--mode %s is about LLVM, which is not used here: -d bpf prints the code", text);
    case 4:
        return report_error(
            "--mode %s is about LLVM, which is not used here: scripts compile in milliseconds", text);
    default: return report_error("--mode needs test, bench or format, found '%s'", text);
    }
}

/* To a NULL-terminated list that lives as long as the process. */
int options_append(const char *const **list, const char *item)
{
    size_t count = 0;
    while (*list && (*list)[count])
        count++;
    const char **longer = realloc((void *)*list, (count + 2) * sizeof *longer);
    if (!longer)
        return report_error("no memory for '%s'", item);
    longer[count] = item;
    longer[count + 1] = NULL;
    *list = longer;
    return 0;
}

static int add_script(struct options *options, struct script_option script)
{
    if (options->script_count == OPTIONS_SCRIPTS)
        return report_error("at most 64 scripts run together%s", "");
    options->scripts[options->script_count++] = script;
    return 0;
}

/* "DIR:DIR"; a + before one asks bpftrace to compare checksums, which is done always here. */
static int add_debug_directories(struct session_options *session, const char *argument)
{
    char *list = strdup(argument), *one; /* lives as long as the process */
    if (!list)
        return report_error("no memory for '%s'", argument);
    while ((one = strsep(&list, ":"))) {
        one += *one == '+';
        if (*one && options_append(&session->debug_directories, one))
            return 1;
    }
    return 0;
}

/* "@map=enum"; the @ may be left out. */
static int add_enum(struct session_options *session, const char *argument)
{
    const size_t at = argument[0] == '@', length = strcspn(argument + at, "=");
    if (!length || !argument[at + length] || !argument[at + length + 1])
        return report_error("--enum takes a map and an enum, as @state=job_state; not '%s'", argument);
    return options_append(&session->enums, argument);
}

/* NOLINTNEXTLINE(readability-function-size): a case for each option */
static int apply(struct options *options, int letter, const char *argument)
{
    static const char *const formats[] = {"text", "json", NULL};
    static const char *const layouts[] = {"bpftrace", "bcc", NULL};
    static const char *const buffers[] = {"full", "line", "none", NULL};
    static const char *const stages[] = {"",   "ast", "types", "ir-raw",
                                         "ir", "bpf", NULL}; /* enum session_stage */
    struct session_options *session = &options->session;
    static const char *const hosts[] = {"kernel", "vm", NULL};
    int choice;
    if (letter >= REFUSED_FIRST) {
        command_print(stderr, "ERROR: --%s is not offered: %s\n", refused[letter - REFUSED_FIRST].name,
                      refused[letter - REFUSED_FIRST].why);
        return 1;
    }
    switch (letter) {
    case 'e': return add_script(options, (struct script_option){.program = argument});
    case OPTION_SCRIPT: return add_script(options, (struct script_option){.file = argument});
    case 'p': return parse_pids(options, argument);
    case 'c': session->command = argument; return 0;
    case 'o': options->output = argument; return 0;
    case 'l': options->lists = true; return 0;
    case 'q': session->is_quiet = true; return 0;
    case 'v': session->is_verbose = true; return 0;
    case 'k': session->warns = true; return 0;
    case 'V': options->version = true; return 0;
    case 'h': options->help = true; return 0;
    case 'I': return options_append(&session->directories, argument);
    case OPTION_INCLUDE: return options_append(&session->headers, argument);
    case OPTION_UNSAFE: session->is_unsafe = true; return 0;
    case OPTION_CHECK: session->check_only = true; return 0;
    case OPTION_DRY_RUN: session->check_only = options->dry_run = true; return 0;
    case OPTION_FORMAT: options->formats = true; return 0;
    case OPTION_FILTER: session->probe_filter = argument; return 0;
    case OPTION_NOTHING:
    case 'b': return 0;
    case OPTION_MODE: return parse_mode(argument, options);
    case OPTION_TEST: session->runs = PROBE_TEST; return 0;
    case OPTION_BENCH: session->runs = PROBE_BENCH; return 0;
    case OPTION_FOLLOW: session->follows = true; return 0;
    case OPTION_CGROUP: session->cgroup = argument; return 0;
    case OPTION_INFO: options->info = true; return 0;
    case OPTION_WITHOUT: session->without = argument; return 0;
    case OPTION_TIMES: session->shows_times = true; return 0;
    case OPTION_NO_WARNINGS: session->no_warnings = true; return 0;
    case OPTION_DEBUGINFO: return add_debug_directories(session, argument);
    case OPTION_TOGETHER: session->shares_names = true; return 0;
    case OPTION_ENUM: return add_enum(session, argument);
    case OPTION_USER: session->command_user = argument; return 0;
    case OPTION_PRIVILEGES: session->new_privileges = true; return 0;
    case OPTION_DURATION:
        return filter_parse_time(argument, &session->duration_ns) && session->duration_ns >= 1000
                   ? 0
                   : report_error("--duration takes a time, such as 10s; not '%s'", argument);
    case OPTION_EVENTS:
        return recordings_number(argument, UINT64_MAX, &session->max_events) && session->max_events
                   ? 0
                   : report_error("--max-events takes a number, not '%s'", argument);
    case OPTION_MEMORY:
        return recordings_size(argument, &session->max_memory)
                   ? 0
                   : report_error(
                         "--max-memory takes a number of bytes, which may end in K, M or G; not '%s'",
                         argument);
    case OPTION_ROTATE:
        return recordings_size(argument, &session->rotate_bytes)
                   ? 0
                   : report_error(
                         "--rotate-size takes a number of bytes, which may end in K, M or G; not '%s'",
                         argument);
    case OPTION_KEEP: {
        uint64_t files;
        if (!recordings_number(argument, 1000000, &files) || !files)
            return report_error("--keep takes a number of files, not '%s'", argument);
        session->keep_files = (unsigned)files;
        return 0;
    }
    case OPTION_RECORDING: return options_append(&session->recordings, argument);
    case OPTION_HOST:
        if ((choice = word(argument, hosts)) < 0)
            return report_error("--host needs kernel or vm, found '%s'", argument);
        session->without_kernel = choice == 1;
        return 0;
    case 'f':
        if ((choice = word(argument, formats)) < 0 && !access(argument, F_OK))
            return options_append(&session->recordings, argument);
        if (choice < 0 && errno != ENOENT)
            return report_error("'%s' is no format, and no recording that could be opened", argument);
        if (choice < 0)
            return report_error("Invalid output format \"%s\": valid formats are text and json", argument);
        session->is_json = choice == 1;
        return 0;
    case OPTION_HISTOGRAM:
        if ((choice = word(argument, layouts)) < 0)
            return report_error("--histogram needs bpftrace or bcc, found '%s'", argument);
        session->bcc_histograms = choice == 1;
        return 0;
    case 'B':
        if ((choice = word(argument, buffers)) < 0)
            return report_error("-B needs line, full or none, found '%s'", argument);
        session->unbuffered = choice != 0;
        return 0;
    case 'd':
        for (size_t i = 0; i < sizeof stage_names / sizeof stage_names[0]; i++)
            if (!strcmp(argument, stage_names[i].theirs))
                argument = stage_names[i].ours;
        if ((choice = word(argument, stages)) <= 0)
            return report_error("-d needs ast, types, ir-raw, ir or bpf, found '%s'", argument);
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

static int read_environment(struct session_options *session)
{
    const char *colour = environment("COLOR");
    session->colour =
        colour && strcmp(colour, "auto") ? !strcmp(colour, "always") : isatty(STDERR_FILENO) == 1;
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    struct text text = {0};
    session->clock_map = environment("DUMMY_TS_MAP");
    const char *host = environment("HOST");
    session->without_kernel = host && !strcmp(host, "vm");
    bool is_right = settings_from_environment(&session->settings, &diagnostics);
    diagnostics_render(&text, &diagnostics, DIAGNOSTIC_ERROR, session->colour);
    command_write(stderr, text_string(&text));
    text_free(&text);
    arena_free(&arena);
    return !is_right;
}

/* How many arguments stand behind the first -- of its own. */
static int count_behind_dashes(int argc, char **argv, const char *letters)
{
    for (int i = 1; i < argc; i++) {
        const char *letter =
            argv[i][0] == '-' && argv[i][1] && !argv[i][2] ? strchr(letters, argv[i][1]) : NULL;
        if (!strcmp(argv[i], "--"))
            return argc - i - 1;
        i += letter && letter[1] == ':'; /* -e -- */
    }
    return 0;
}

/* What is --name or --name=value behind the -- goes to the script by its name; everything else by its number.
 */
static void sort_parameters(struct options *options, char **first, int count, int behind)
{
    struct parameters *parameters = &options->session.parameters;
    int named = 0;
    for (int i = count - 1; i >= 0 && i >= count - behind; i--) {
        char *text = first[i];
        if (strncmp(text, "--", 2) != 0 || !text[2])
            continue;
        named++; /* moves behind those without a name; both keep their order */
        memmove(first + i, first + i + 1, (size_t)(count - named - i) * sizeof *first);
        first[count - named] = text;
    }
    parameters->values = (const char *const *)first;
    parameters->count = (size_t)(count - named);
    parameters->named = (const char *const *)first + count - named;
    parameters->named_count = (size_t)named;
}

/* -l FILE: a pattern is no file that is there. */
static bool is_script(const char *name)
{
    struct stat status;
    return !strchr(name, ':') && !stat(name, &status) && S_ISREG(status.st_mode);
}

int options_parse(struct options *options, int argc, char **argv)
{
    char letters[2 * LINES + 2] = ":";
    struct option names[LINES + REFUSED + 1] = {{0}};
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
    for (int i = 0; i < REFUSED; i++)
        names[named++] = (struct option){refused[i].name, optional_argument, NULL, REFUSED_FIRST + i};
    if (read_environment(&options->session))
        return 1;
    int behind = count_behind_dashes(argc, argv, letters);
    for (int letter; (letter = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
        if (letter == '?')
            return unknown_option(argv[optind - 1]);
        if (letter == ':')
            return report_error("option '%s' needs an argument", argv[optind - 1]);
        if (apply(options, letter, optarg))
            return 1;
    }
    /* Directories of CPATH come behind those of -I; an empty one is where the command was given. */
    for (char *path = getenv("CPATH") ? strdup(getenv("CPATH")) : NULL, *one;
         path && (one = strsep(&path, ":"));)
        if (options_append(&options->session.directories, *one ? one : "."))
            return 1;
    if (!options->output && getenv("BPF_OUTFILE") && *getenv("BPF_OUTFILE"))
        options->output = getenv("BPF_OUTFILE");
    if (options->session.rotate_bytes && !options->output)
        return report_error("--rotate-size needs the name of a file%s: -o FILE", "");
    if (options->session.keep_files && !options->session.rotate_bytes)
        return report_error("--keep needs --rotate-size%s", "");
    if (options->session.shows_times && !options->session.is_json)
        return report_error("--times is for lines of JSON: -f json%s", "");
    if (options->is_peer && options->session.command && options->session.pid_count)
        return report_error("USAGE: Cannot use both -c and -p.%s", "");
    int next = optind;
    if (options->lists && !options->script_count && next < argc) {
        if (is_script(argv[next]))
            options->file = argv[next++];
        else
            options->pattern = argv[next++];
    } else if (!options->lists && !options->script_count && next < argc)
        options->file = argv[next++];
    sort_parameters(options, argv + next, argc - next, behind);
    return 0;
}
