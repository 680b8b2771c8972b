/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diagnostic.h"
#include "cmd/command.h"
#include "base/number.h"
#include "cmd/tools.h"

static int fail_memory(const struct option_value *value)
{
    return command_line_fail(value->line, "no memory for '%s'", value->text);
}

/* ---- options that are more than one value ---- */

static int add_pid(struct options *options, const struct option_value *given, pid_t pid)
{
    struct session_options *session = &options->session;
    size_t i = 0;
    while (i < session->pid_count && options->pids[i] != pid)
        i++;
    if (i == OPTIONS_PIDS)
        return command_line_fail(given->line, "%s takes at most %d processes; --cgroup takes all of a group",
                                 given->option, OPTIONS_PIDS);
    options->pids[i] = pid;
    session->pid_count += i == session->pid_count;
    session->pids = options->pids;
    return 0;
}

int options_add_pids(struct options *options, const struct option_value *given)
{
    char word[24];
    uint64_t pid;
    int status = 0;
    for (const char *at = given->text; !status; at++) {
        const size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (length >= sizeof word || !number_parse(word, &pid) || !pid || pid > INT32_MAX)
            return OPTION_WRONG;
        status = add_pid(options, given, (pid_t)pid);
        at += length;
        if (!*at)
            break;
    }
    return status;
}

static int add_pids(void *target, const struct option_value *given)
{
    return options_add_pids(target, given);
}

static int add_script(struct options *options, const struct option_value *value, struct script_option script)
{
    if (options->script_count == OPTIONS_SCRIPTS)
        return command_line_fail(value->line, "at most %d scripts run together", OPTIONS_SCRIPTS);
    options->scripts[options->script_count++] = script;
    return 0;
}

int options_add_program(void *target, const struct option_value *value)
{
    return add_script(target, value, (struct script_option){.program = value->text});
}

int options_add_file(void *target, const struct option_value *value)
{
    return add_script(target, value, (struct script_option){.file = value->text});
}

/* Reads "DIR:DIR". A + before a directory makes bpftrace compare checksums, which is always done here. */
int options_add_debug_directories(void *target, const struct option_value *value)
{
    struct options *options = target;
    char *list = strdup(value->text), *one; /* lives as long as the process */
    if (!list)
        return fail_memory(value);
    while ((one = strsep(&list, ":"))) {
        one += *one == '+';
        if (*one && command_line_append(&options->session.debug_directories, one))
            return fail_memory(value);
    }
    return 0;
}

/* Reads "@map=enum"; the @ may be left out. */
static int add_enum(void *target, const struct option_value *value)
{
    struct options *options = target;
    const char *text = value->text + (value->text[0] == '@');
    const size_t length = strcspn(text, "=");
    if (!length || !text[length] || !text[length + 1])
        return OPTION_WRONG;
    return command_line_append(&options->session.enums, value->text) ? fail_memory(value) : 0;
}

/* Reads -f, which names a format, or a recording. */
static int choose_format(void *target, const struct option_value *value)
{
    struct options *options = target;
    const bool is_json = !strcmp(value->text, "json");
    if (is_json || !strcmp(value->text, "text")) {
        options->session.is_json = is_json;
        return 0;
    }
    if (!access(value->text, F_OK))
        return command_line_append(&options->session.recordings, value->text) ? fail_memory(value) : 0;
    if (errno != ENOENT)
        return command_line_fail(value->line, "'%s' is no format, and no recording that could be opened",
                                 value->text);
    return command_line_fail(value->line, "Invalid output format \"%s\": valid formats are text and json",
                             value->text);
}

static int choose_buffering(void *target, const struct option_value *value)
{
    struct options *options = target;
    options->session.unbuffered = strcmp(value->text, "full") != 0;
    return 0;
}

/* bpftrace's names of stages, and spoor's. */
static const struct {
    const char *theirs, *ours;
} stage_names[] = {
    {"parse", "ast"}, {"codegen", "ir-raw"}, {"codegen-opt", "ir"}, {"dis", "bpf"}, {"disasm", "bpf"},
};

static int choose_stage(void *target, const struct option_value *value)
{
    static const char *const stages[] = {
        [STAGE_AST] = "ast", [STAGE_TYPES] = "types", [STAGE_IR_RAW] = "ir-raw",
        [STAGE_IR] = "ir",   [STAGE_BPF] = "bpf",
    };
    struct options *options = target;
    const char *name = value->text;
    for (size_t i = 0; i < sizeof stage_names / sizeof *stage_names; i++)
        if (!strcmp(name, stage_names[i].theirs))
            name = stage_names[i].ours;
    for (size_t i = STAGE_AST; i < sizeof stages / sizeof *stages; i++)
        if (!strcmp(name, stages[i])) {
            options->session.dump = (enum session_stage)i;
            return 0;
        }
    return OPTION_WRONG;
}

static int run_tests(void *target, const struct option_value *value)
{
    struct options *options = target;
    (void)value;
    options->session.runs = PROBE_TEST;
    return 0;
}

static int run_benches(void *target, const struct option_value *value)
{
    struct options *options = target;
    (void)value;
    options->session.runs = PROBE_BENCH;
    return 0;
}

static int choose_mode(void *target, const struct option_value *value)
{
    struct options *options = target;
    if (!strcmp(value->text, "test"))
        return run_tests(target, value);
    if (!strcmp(value->text, "bench"))
        return run_benches(target, value);
    if (!strcmp(value->text, "codegen"))
        return command_line_fail(
            value->line, "--mode codegen is about LLVM, which is not used here: -d bpf prints the code");
    if (!strcmp(value->text, "compiler-bench"))
        return command_line_fail(value->line,
                                 "--mode compiler-bench is about LLVM, which is not used here: scripts "
                                 "compile in milliseconds");
    if (strcmp(value->text, "format") != 0)
        return OPTION_WRONG;
    options->formats = true;
    return 0;
}

/* ---- the table ---- */

#define SESSION(kind, field) OPTION_STORES(kind, struct options, session.field)
static const struct option_row rows[] = {
    {'e', NULL, "PROGRAM", "run this program instead of a file; may be given several times",
     OPTION_SETS(options_add_program), .completes = COMPLETE_PROGRAM},
    {0, "script", "FILE", "run this file; several of these and of -e run together",
     OPTION_SETS(options_add_file), .completes = COMPLETE_FILES},
    {0, "together", NULL, "with several scripts: what they call by one name is one map, one function",
     SESSION(FLAG, shares_names)},
    {0, "enum", "MAP=ENUM", "fill a map that the script only reads with the names of this enum",
     OPTION_SETS(add_enum), .takes = "a map and an enum, as @state=job_state"},
    {'p', "pid", "PID,…", "trace only these processes; the end of the last one ends the trace",
     OPTION_SETS(add_pids), .takes = "the id of a process, or several with commas between them",
     .completes = COMPLETE_PROCESSES},
    {'c', "cmd", "COMMAND", "run a command and trace; it starts when all is attached, its end ends the trace",
     SESSION(TEXT, command), .completes = COMPLETE_COMMANDS},
    {0, "follow", NULL, "with -p and -c: trace also what the process starts", SESSION(FLAG, follows)},
    {0, "cgroup", "GROUP", "trace only what is in a control group: its path, or a process in it",
     SESSION(TEXT, cgroup), .completes = COMPLETE_DIRECTORIES},
    {0, "user", "USER", "with -c: who runs the command; else who called sudo, or you",
     SESSION(TEXT, command_user), .completes = COMPLETE_USERS},
    {0, "new-privileges", NULL, "with -c: as another user, it may run set-user-ID programs (sudo, ping)",
     SESSION(FLAG, new_privileges)},
    {'o', "output", "FILE", "write the script's output to a file",
     OPTION_STORES(TEXT, struct options, output), .completes = COMPLETE_FILES},
    {0, "rotate-size", "BYTES", "with -o: files FILE.1, FILE.2 … of at most so much (10M)",
     SESSION(SIZE, rotate_bytes)},
    {0, "keep", "N", "with --rotate-size: only the newest N files", SESSION(NUMBER, keep_files), .min = 1,
     .max = 1000000, .takes = "a number of files"},
    {0, "duration", "TIME", "the trace ends so long after all is attached (90s, 5m)",
     SESSION(DURATION, duration_ns)},
    {0, "max-events", "N", "the trace ends when N events have been printed or acted on",
     SESSION(NUMBER, max_events), .min = 1, .takes = "a number"},
    {0, "max-memory", "BYTES", "use no more for maps, rings and spoor itself (64M)",
     SESSION(SIZE, max_memory)},
    {0, "svg", "FILE",
     "draw the maps that are printed: bars, or heat maps over time if they are printed several times",
     OPTION_STORES(TEXT, struct options, picture), .completes = COMPLETE_FILES},
    {0, "openmetrics", "ADDRESS|FILE",
     "publish the maps as metrics: at :9435, HOST:PORT or unix:PATH, or in FILE.prom for the node exporter",
     OPTION_STORES(TEXT, struct options, metrics), .completes = COMPLETE_FILES},
    {0, "openmetrics-period", "TIME", "with --openmetrics FILE or --otlp: between two writings (15s)",
     OPTION_STORES(DURATION, struct options, metrics_period), .min = NSEC_PER_SEC / 10,
     .max = 86400 * (uint64_t)NSEC_PER_SEC, .takes = "a time from 100ms to 1d"},
    {0, "openmetrics-series", "N", "with these: at most so many series, all maps together (10000)",
     OPTION_STORES(NUMBER, struct options, metrics_series), .min = 1, .max = 1000000,
     .takes = "a number of series, at most 1000000"},
    OTLP_ROWS(
        struct options, otlp, "URL|FILE",
        "send maps as metrics, and lines as log records, by OpenTelemetry's protocol: to http://HOST:4318, "
        "or lines of JSON",
        "5s"),
    ON_ROWS(struct options, on),
    {0, "html", "FILE",
     "write what the trace prints as a page for a browser: maps with their change over time, and lines",
     OPTION_STORES(TEXT, struct options, page), .completes = COMPLETE_FILES},
    {'f', NULL, "text|json|FILE", "format of the output; or a recording, for trace probes",
     OPTION_SETS(choose_format), .completes = COMPLETE_FILES},
    {0, "format", "text|json", "format of the output", SESSION(CHOICE, is_json)},
    {0, "file", "FILE", NULL, SESSION(LIST, recordings),
     .completes = COMPLETE_FILES}, /* as of `spoor report` */
    {0, "recording", "FILE", "read this recording, as -f FILE; may be given several times",
     SESSION(LIST, recordings), .completes = COMPLETE_FILES},
    {0, "from", "now|start",
     "where recordings of living programs begin: now (default), or with what they hold",
     SESSION(CHOICE, from_start)},
    {0, "times", NULL, "with -f json: lines say when, as time_ns; for spoor report --merge",
     SESSION(FLAG, shows_times)},
    {0, "histogram", "bpftrace|bcc", "layout of histograms in text: BCC's is `low -> high : count`",
     SESSION(CHOICE, bcc_histograms)},
    {'B', NULL, "line|full|none", "buffering of the output", .kind = OPTION_CHOICE, .set = choose_buffering},
    {0, "list-tools", NULL, "list the ready-made tools by the question that they answer",
     OPTION_STORES(FLAG, struct options, lists_tools)},
    {'l', "list", NULL, "list probes that match a pattern, or those of the script; with -v their arguments",
     OPTION_STORES(FLAG, struct options, lists), .completes = COMPLETE_PROBES},
    {'q', "quiet", NULL, "no banner", SESSION(FLAG, is_quiet)},
    {'v', "verbose", NULL, "more: the verifier's log, how probes were attached, cost of each program",
     SESSION(FLAG, is_verbose)},
    {'k', "warnings", NULL, "also warn about look-ups of missing keys and cut strings", SESSION(FLAG, warns)},
    {0, "no-warnings", NULL, "no warnings at all", SESSION(FLAG, no_warnings)},
    {'I', NULL, "DIRECTORY", "look for headers there first; may be given several times",
     SESSION(LIST, directories), .completes = COMPLETE_DIRECTORIES},
    {0, "include", "FILE", "include a header before the script; may be given several times",
     SESSION(LIST, headers), .completes = COMPLETE_FILES},
    {0, "debuginfo", "DIR:…",
     "look for separate debug files there first; a relative one is meant from where the program is",
     OPTION_SETS(options_add_debug_directories), .completes = COMPLETE_DIRECTORIES},
    {0, "unsafe", NULL, "allow system() and other things that change the system", SESSION(FLAG, is_unsafe)},
    {0, "check", NULL, "compile only; needs no privilege", SESSION(FLAG, check_only)},
    {0, "dry-run", NULL, "the same, and say what would be attached",
     OPTION_STORES(FLAG, struct options, dry_run)},
    {0, "fmt", NULL, "print the script in its usual layout", OPTION_STORES(FLAG, struct options, formats)},
    {0, "mode", "test|bench|format", "the same as --test, --bench or --fmt", OPTION_SETS(choose_mode),
     .takes = "test, bench or format"},
    {0, "probe-filter", "REGEX", "only the probes whose names match", SESSION(TEXT, probe_filter)},
    {'d', NULL, "ast|types|ir-raw|ir|bpf", "compile only, and print this stage", OPTION_SETS(choose_stage),
     .takes = "ast, types, ir-raw, ir or bpf"},
    {0, "no-feature", "LIST", "do without kernel features (see --info), comma separated",
     SESSION(TEXT, without)},
    {0, "test", NULL, "run the test probes of a script and say which failed", .kind = OPTION_FLAG,
     .set = run_tests},
    {0, "bench", NULL, "run the bench probes of a script and say what they cost", .kind = OPTION_FLAG,
     .set = run_benches},
    {0, "host", "kernel|vm", "who runs the programs; vm: this process, where no kernel is needed",
     SESSION(CHOICE, without_kernel)},
    {0, "info", NULL, "what this kernel offers, and what spoor does instead",
     OPTION_STORES(FLAG, struct options, info)},
    {'b', "btf", NULL, "does nothing: BTF is always used", .kind = OPTION_IGNORED},
    {0, "usdt-file-activation", NULL, "does nothing: probes are activated by their file",
     .kind = OPTION_IGNORED},
    {0, "dwarf-pid", "PID", "does nothing: dw_ustack knows every process that it meets",
     .kind = OPTION_IGNORED},
    {0, "traceable-functions", "FILE", "does nothing: functions are known from the kernel",
     .kind = OPTION_IGNORED},
    {'V', "version", NULL, "print the version", OPTION_STORES(FLAG, struct options, version)},
    {'h', "help", NULL, "print this", OPTION_STORES(FLAG, struct options, help)},
    /* Options of bpftrace that cannot be meant here, and what to use instead. */
    {0, "emit-elf", NULL, NULL, .kind = OPTION_REFUSED,
     .takes = "programs are not written to files: -d bpf prints their instructions"},
    {0, "emit-llvm", NULL, NULL, .kind = OPTION_REFUSED,
     .takes = "there is no LLVM here: -d ir prints the intermediate code, -d bpf the instructions"},
    {0, "verify-llvm-ir", NULL, NULL, .kind = OPTION_REFUSED,
     .takes = "there is no LLVM here: the compiler checks its own code in every test"},
    {0, "aot", NULL, NULL, .kind = OPTION_REFUSED,
     .takes = "scripts are compiled when they run: it takes milliseconds"},
};

static const struct option_rule rules[] = {
    {"--keep", OPTION_NEEDS, "--rotate-size", NULL},
    {"--openmetrics-period", OPTION_NEEDS, "--openmetrics --otlp", NULL},
    {"--openmetrics-series", OPTION_NEEDS, "--openmetrics --otlp", NULL},
    {"--otlp", OPTION_EXCLUDES, "--openmetrics", "sends what it would publish"},
    OTLP_RULES,
    ON_RULES,
};

/* Options of a tool's own: spoor xfsdist --magic=0xef53. */
bool options_are_of_tool(const void *target, const char *first_word)
{
    const struct options *options = target;
    struct script_option script;
    struct text path = {0};
    const bool is_tool = !options->script_count && !options->lists && tool_find(first_word, &script, &path);
    text_free(&path);
    return is_tool;
}

const struct command_line spoor_line = {
    .usage = "[options] FILE | -e PROGRAM [parameters]",
    COMMAND_ROWS(rows),
    COMMAND_RULES(rules),
    .completes = COMPLETE_TOOLS,
    .keeps_unknown = options_are_of_tool,
    .taken = on_remember,
};

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
    command_line_list(&spoor_line, out, "  ");
    fputs("\nParameters are $1, $2 … in the script; write -- before those that begin with a dash.\n"
          "Exit status: 0, or the argument of exit(); 1 after an error.\n\nExamples:\n"
          "  spoor -e 'tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, "
          "str(args.filename)); }'\n"
          "  spoor -e 'profile:hz:99 { @[comm] = count(); }'\n"
          "  spoor -l 'usdt:/usr/lib/postgresql/15/bin/postgres:*'\n",
          out);
}

void options_process(struct options *options, pid_t pid)
{
    options->pids[0] = pid;
    options->session.pids = options->pids;
    options->session.pid_count = pid ? 1 : 0;
}

/* Returns the value of SPOOR_X, else of BPFTRACE_X in the environment, or NULL. */
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

/* Reads the environment's paths. Directories of CPATH come behind those of -I; an empty one is the working
 * directory. */
static int read_paths(struct options *options)
{
    const char *directories = getenv("CPATH"), *output = getenv("BPF_OUTFILE");
    char *rest = directories ? strdup(directories) : NULL; /* lives as long as the process */
    for (char *one; rest && (one = strsep(&rest, ":"));)
        if (command_line_append(&options->session.directories, *one ? one : "."))
            return command_line_fail(&spoor_line, "no memory for '%s'", one);
    if (!options->output && output && *output)
        options->output = output;
    return 0;
}

int options_begin(struct options *options)
{
    return read_environment(&options->session) || read_paths(options);
}

void options_parameters(struct options *options, char **first, int count, int behind)
{
    struct parameters *parameters = &options->session.parameters;
    int named = 0;
    for (int i = count - 1; i >= 0 && i >= count - behind; i--) {
        char *text = first[i];
        if (strncmp(text, "--", 2) != 0 || !text[2])
            continue;
        named++; /* it moves behind those without a name; both keep their order */
        memmove(first + i, first + i + 1, (size_t)(count - named - i) * sizeof *first);
        first[count - named] = text;
    }
    parameters->values = (const char *const *)first;
    parameters->count = (size_t)(count - named);
    parameters->named = (const char *const *)first + count - named;
    parameters->named_count = (size_t)named;
}

/* Whether the word of -l is a script: a file that exists, and no pattern. */
static bool is_script(const char *name)
{
    struct stat status;
    return !strchr(name, ':') && !stat(name, &status) && S_ISREG(status.st_mode);
}

static int check(const struct options *options)
{
    const struct session_options *session = &options->session;
    if (session->rotate_bytes && !options->output)
        return command_line_fail(&spoor_line, "--rotate-size needs the name of a file: -o FILE");
    if (session->shows_times && !session->is_json)
        return command_line_fail(&spoor_line, "--times is for lines of JSON: -f json");
    if (options->is_peer && session->command && session->pid_count)
        return command_line_fail(&spoor_line, "USAGE: Cannot use both -c and -p.");
    if (session->command && session->pid_count && !session->is_quiet && !session->no_warnings)
        fputs("NOTE: -p chooses who is traced: the command of -c runs meanwhile and is not\n"
              "HINT: without -p it is traced\n",
              stderr);
    return 0;
}

int options_parse(struct options *options, int argc, char **argv)
{
    struct command_arguments given;
    int status;
    if (read_environment(&options->session) ||
        !command_line_parse(&spoor_line, argc, argv, options, &given, &status) || read_paths(options) ||
        check(options) || on_check(options, &given))
        return 1;
    options->session.check_only |= options->dry_run;
    options->session.json_stack_text = options->is_peer;
    int next = 0;
    if (options->lists && !options->script_count && next < given.count) {
        if (is_script(given.words[next]))
            options->file = given.words[next++];
        else
            options->pattern = given.words[next++];
    } else if (!options->lists && !options->script_count && next < given.count)
        options->file = given.words[next++];
    options_parameters(options, given.words + next, given.count - next, given.behind);
    return 0;
}
