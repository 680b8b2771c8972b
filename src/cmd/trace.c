/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor trace SPEC…`: prints a line for each event, as BCC's trace does. It writes a script, which the session
 * runs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bcc.h"
#include "cmd/command.h"

enum { COMMON_COLUMNS = 8 + 8 + 16, FUNCTION_WIDTH = 16 };

struct arguments {
    uint64_t pid, tid, uid, most, string_size;
    const char *name, *contains, *cgroup, *command;
    const char *const *headers, *const *symbol_files; /* -I, -s */
    bool has_uid, includes_self, time, timestamp, unix_time, cpu, kernel_stack, user_stack, addresses;
    bool shows, verbose, aggregates;
    char **specs;
    int count;
};

/* A specification, and what it prints. */
struct event {
    struct bcc_spec spec;
    const char *predicate; /* NULL: there is none */
    size_t predicate_length;
    struct text message, values; /* the format, and ", value" for each value */
};

/* Reads FILE,FILE,… of -s. The texts live as long as the process. */
static int append_files(void *target, const struct option_value *value)
{
    struct arguments *arguments = target;
    for (char *rest, *file = strtok_r((char *)value->text, ",", &rest); file;
         file = strtok_r(NULL, ",", &rest)) {
        if (access(file, R_OK))
            return command_line_fail(value->line, "-s: this file cannot be read: %s", file);
        if (command_line_append(&arguments->symbol_files, file))
            return command_line_fail(value->line, "no memory for '%s'", file);
    }
    return 0;
}

static const struct option_row rows[] = {
    {'p', "pid", "PID", "trace only this process", OPTION_STORES(NUMBER, struct arguments, pid),
     OPTION_A_PROCESS},
    BCC_ROW_COMMAND(struct arguments),
    {'L', "tid", "TID", "trace only this thread", OPTION_STORES(NUMBER, struct arguments, tid), .min = 1,
     .max = INT32_MAX},
    {0, "uid", "UID", "trace only this user", OPTION_STORES(NUMBER, struct arguments, uid),
     .max = UINT32_MAX},
    {'n', "name", "NAME", "only processes whose name contains NAME",
     OPTION_STORES(TEXT, struct arguments, name)},
    {'f', "msg-filter", "TEXT", "only messages that contain TEXT",
     OPTION_STORES(TEXT, struct arguments, contains)},
    {'M', "max-events", "N", "end after N events", OPTION_STORES(NUMBER, struct arguments, most), .min = 1,
     .max = INT64_MAX},
    {'S', "include-self", NULL, "also events of spoor itself",
     OPTION_STORES(FLAG, struct arguments, includes_self)},
    {'Z', "string-size", "N", "read at most N bytes of strings (80)",
     OPTION_STORES(NUMBER, struct arguments, string_size), .min = 1, .max = BCC_STRING_MAX},
    {'T', "time", NULL, "a column with the time of day", OPTION_STORES(FLAG, struct arguments, time)},
    {'t', "timestamp", NULL, "a column with the seconds since the beginning",
     OPTION_STORES(FLAG, struct arguments, timestamp)},
    {'u', "unix-timestamp", NULL, "with -t: seconds since 1970",
     OPTION_STORES(FLAG, struct arguments, unix_time)},
    {'C', "print_cpu", NULL, "a column with the CPU", OPTION_STORES(FLAG, struct arguments, cpu)},
    {'K', "kernel-stack", NULL, "the kernel's stack", OPTION_STORES(FLAG, struct arguments, kernel_stack)},
    {'U', "user-stack", NULL, "the program's stack", OPTION_STORES(FLAG, struct arguments, user_stack)},
    {'a', "address", NULL, "addresses in stacks", OPTION_STORES(FLAG, struct arguments, addresses)},
    {'s', "sym_file_list", "FILE,…", "files with symbols of programs that have none, as far as they belong",
     OPTION_SETS(append_files), .completes = COMPLETE_FILES},
    {'A', "aggregate", NULL, "count events that are alike, with their stacks, and print that at the end",
     OPTION_STORES(FLAG, struct arguments, aggregates)},
    {'c', "cgroup-path", "PATH", "only processes of this cgroup",
     OPTION_STORES(TEXT, struct arguments, cgroup), .completes = COMPLETE_DIRECTORIES},
    BCC_ROW_HEADERS(struct arguments),
    {'v', "verbose", NULL, "print the script before it runs", OPTION_STORES(FLAG, struct arguments, verbose)},
    BCC_ROW_SCRIPT(struct arguments),
    {'B', "bin_cmp", NULL, "does nothing: whole strings are always compared", .kind = OPTION_IGNORED},
    {'b', "buffer-pages", "N", "does nothing: rings have their size", .kind = OPTION_NUMBER, .min = 1,
     .max = 1 << 20},
    OPTION_ROW_HELP,
};

static const struct option_rule rules[] = {
    {"-p", OPTION_EXCLUDES, "-L", NULL},
    {"-u", OPTION_NEEDS, "-t", NULL},
    {"-A", OPTION_EXCLUDES, "-T -t", "counts events that are alike, and no two times are"},
    {"-A", OPTION_EXCLUDES, "-f", "counts before there are messages, so give a predicate"},
};

/* Reads the arguments. False: the command is over, with *status. */
static bool parse(struct arguments *arguments, struct options *options, int argc, char **argv, int *status)
{
    struct command_arguments given;
    if (!command_line_parse(&trace_line, argc, argv, arguments, &given, status))
        return false;
    arguments->has_uid = command_line_has(&given, "--uid");
    arguments->specs = given.words;
    arguments->count = given.count;
    if (!arguments->count) {
        *status = command_line_fail(&trace_line, "what is to be traced? give a SPEC");
        return false;
    }
    options->session.command = arguments->command;
    options->session.headers = arguments->headers;
    options->session.symbol_files = arguments->symbol_files;
    options_process(options, (pid_t)arguments->pid);
    return true;
}

/* ---- specifications ---- */

/* Writes a value as its conversion needs it. */
static int write_value(struct event *event, const struct arguments *arguments, char conversion,
                       const char *text, size_t length)
{
    struct text *out = &event->values;
    text_add(out, conversion == 's'   ? "str("
                  : conversion == 'K' ? "ksym("
                  : conversion == 'U' ? "usym("
                                      : "");
    if (bcc_expression(out, &event->spec, NULL, text, length))
        return 1;
    if (conversion == 's')
        text_printf(out, ", %llu)", (unsigned long long)arguments->string_size);
    else if (strchr("KU", conversion))
        text_char(out, ')');
    return 0;
}

/* Returns the length of the conversion that begins at a %, and its letter. Only the forms that BCC has are read. */
static size_t conversion_at(const char *text, size_t length, char *letter)
{
    size_t used = 1;
    while (used < length && strchr("-+ #0123456789.hl", text[used]))
        used++;
    *letter = used < length ? text[used] : 0;
    return used < length ? used + 1 : length;
}

/* Reads "format", argument, … */
static int parse_message(struct event *event, const struct arguments *arguments, const char *text,
                         size_t length)
{
    const struct bcc_spec *spec = &event->spec;
    if (*text != '"')
        return bcc_fail(spec->text, "expected a format in quotes, found '%.*s'", (int)length, text);
    size_t end = 1;
    while (end < length && text[end] != '"')
        end += text[end] == '\\' ? 2 : 1;
    if (end >= length)
        return bcc_fail(spec->text, "the format's closing quote is missing");
    const char *values = text + end + 1;
    size_t left = length - end - 1;
    for (size_t i = 1; i < end;) {
        char letter;
        if (text[i] != '%' || text[i + 1] == '%') {
            size_t used = text[i] == '%' || text[i] == '\\' ? 2 : 1;
            text_append(&event->message, text + i, used);
            i += used;
            continue;
        }
        size_t used = conversion_at(text + i, end - i, &letter);
        if (!letter || !strchr("sduxXcKUpio", letter))
            return bcc_fail(spec->text,
                            "'%.*s' is no conversion: %%s %%d %%u %%x %%c %%K %%U, with h, l or ll",
                            (int)used, text + i);
        text_append(&event->message, text + i, used - 1);
        text_char(&event->message, strchr("KU", letter) ? 's' : letter);
        i += used;
        while (left && strchr(" \t\n", *values))
            values++, left--;
        if (!left || *values != ',')
            return bcc_fail(spec->text, "the format has more conversions than there are arguments");
        values++, left--;
        size_t one = bcc_until(values, left, ",");
        text_add(&event->values, ", ");
        if (write_value(event, arguments, letter, values, one))
            return 1;
        values += one;
        left -= one;
    }
    while (left && strchr(" \t\n,", *values))
        values++, left--;
    return left ? bcc_fail(spec->text, "the format has fewer conversions than there are arguments: '%.*s'",
                           (int)left, values)
                : 0;
}

static const char *skip_space(const char *text)
{
    return text + strspn(text, " \t\n");
}

static int parse_event(struct arena *arena, const struct arguments *arguments, const char *text,
                       struct event *event)
{
    text = skip_space(text);
    size_t length = strcspn(text, " \t\n(");
    if (bcc_parse_spec(arena, text, length, &event->spec))
        return 1;
    text += length;
    if (*text == '(') { /* the parameters follow the name without a space */
        size_t used = bcc_until(text + 1, strlen(text + 1), ")");
        if (text[1 + used] != ')')
            return bcc_fail(event->spec.text, "the parameters' closing parenthesis is missing");
        if (strchr("ut", event->spec.type))
            return bcc_fail(event->spec.text, "a %s has no parameters to declare: %s",
                            event->spec.type == 'u' ? "USDT probe" : "tracepoint",
                            event->spec.type == 'u' ? "arg1, arg2 …" : "args->FIELD");
        if (bcc_parse_signature(arena, text + 1, used, &event->spec))
            return 1;
        text += used + 2;
    }
    text = skip_space(text);
    if (*text == '(') {
        size_t used = bcc_until(text + 1, strlen(text + 1), ")");
        if (text[1 + used] != ')')
            return bcc_fail(event->spec.text, "the predicate's closing parenthesis is missing");
        event->predicate = text + 1;
        event->predicate_length = used;
        text = skip_space(text + used + 2);
    }
    return *text ? parse_message(event, arguments, text, strlen(text)) : 0;
}

/* ---- the script ---- */

static void write_columns(struct text *script, const struct arguments *arguments, bool is_trivial)
{
    text_add(script, BCC_SETTINGS "\nbegin\n{\n    printf(\"");
    if (arguments->time || arguments->timestamp)
        text_printf(script, arguments->unix_time ? "%-17s " : "%-8s ", "TIME");
    if (arguments->cpu)
        text_printf(script, "%-3s ", "CPU");
    text_printf(script, "%-7s %-7s %-15s %-16s %s\\n\");\n}\n", "PID", "TID", "COMM", "FUNC",
                is_trivial ? "" : "-");
}

/* Writes the conditions of an event, joined by &&; nothing if there are none. */
static int write_conditions(struct text *out, const struct arguments *arguments, const struct event *event)
{
    size_t begin = out->length;
    if (arguments->tid)
        text_printf(out, " && tid == %llu", (unsigned long long)arguments->tid);
    else if (!arguments->pid && !arguments->includes_self)
        text_printf(out, " && pid != %d", (int)getpid());
    if (arguments->has_uid)
        text_printf(out, " && uid == %llu", (unsigned long long)arguments->uid);
    if (arguments->name) {
        text_add(out, " && strcontains(comm, \"");
        bcc_quoted(out, arguments->name, false);
        text_add(out, "\")");
    }
    if (arguments->cgroup) {
        text_add(out, " && cgroup == cgroupid(\"");
        bcc_quoted(out, arguments->cgroup, false);
        text_add(out, "\")");
    }
    if (event->predicate) {
        text_add(out, " && (");
        if (bcc_expression(out, &event->spec, NULL, event->predicate, event->predicate_length))
            return 1;
        text_char(out, ')');
    }
    if (out->length > begin) { /* without the first " && " */
        memmove(out->bytes + begin, out->bytes + begin + 4, out->length - begin - 4);
        text_truncate(out, out->length - 4);
    }
    return 0;
}

static void write_print(struct text *out, const struct arguments *arguments, const struct event *event,
                        const char *indent)
{
    const char *function = event->spec.function;
    size_t width = strlen(function) > FUNCTION_WIDTH ? strlen(function) : FUNCTION_WIDTH;
    bool time = arguments->time && !arguments->timestamp;
    if (arguments->contains) {
        /* The column at which the message begins: all columns before it have a known width. */
        size_t from = COMMON_COLUMNS + width + 1 + (arguments->cpu ? 4 : 0) +
                      (!arguments->time && !arguments->timestamp ? 0
                       : arguments->unix_time                    ? 18
                                                                 : 9);
        text_printf(out, "%sprintf_containing(\"", indent);
        bcc_quoted(out, arguments->contains, false);
        text_printf(out, "\", %zu, %llu, \"", from, (unsigned long long)arguments->most);
    } else
        text_printf(out, "%sprintf(\"", indent);
    text_add(out, time ? "%-8s " : arguments->unix_time ? "%-17s " : arguments->timestamp ? "%d.%06d " : "");
    text_printf(out, "%s%%-7d %%-7d %%-15s ", arguments->cpu ? "%-3d " : "");
    bcc_quoted(out, function, true);
    text_fill(out, ' ', width - strlen(function) + 1);
    text_add(out, text_string(&event->message));
    text_printf(out, "%s%s\\n\"", arguments->kernel_stack ? "%s" : "", arguments->user_stack ? "%s" : "");
    text_add(out, time                   ? ", strftime(\"%H:%M:%S\", nsecs)"
                  : arguments->unix_time ? ", strftime(\"%s.%f\", nsecs)"
                  : arguments->timestamp ? ", elapsed / 1000000000, elapsed / 1000 % 1000000"
                                         : "");
    text_printf(out, "%s, pid, tid, comm%s", arguments->cpu ? ", cpu" : "", text_string(&event->values));
    const char *mode = arguments->addresses ? "(perf)" : "";
    if (arguments->kernel_stack)
        text_printf(out, ", kstack%s", mode);
    if (arguments->user_stack)
        text_printf(out, ", ustack%s", mode);
    text_add(out, ");\n");
}

/* With -A, writes the counting of an event, of which print_rows() makes lines at the end. */
static void write_count(struct text *out, const struct arguments *arguments, const struct event *event,
                        unsigned number)
{
    const char *mode = arguments->addresses ? "(perf)" : "";
    text_printf(out, "@traces%u[%spid, tid, comm%s", number, arguments->cpu ? "cpu, " : "",
                text_string(&event->values));
    if (arguments->kernel_stack)
        text_printf(out, ", kstack%s", mode);
    if (arguments->user_stack)
        text_printf(out, ", ustack%s", mode);
    text_add(out, "] = count();\n");
}

static void write_action(struct text *out, const struct arguments *arguments, const struct event *event,
                         unsigned number, const char *indent)
{
    if (arguments->aggregates) {
        text_add(out, indent);
        write_count(out, arguments, event, number);
    } else
        write_print(out, arguments, event, indent);
}

static void write_counts(struct text *script, const struct arguments *arguments, const struct event *events)
{
    text_add(script, "\nend\n{\n");
    for (int i = 0; i < arguments->count; i++) {
        const char *function = events[i].spec.function;
        size_t width = strlen(function) > FUNCTION_WIDTH ? strlen(function) : FUNCTION_WIDTH;
        text_printf(script, "    print_rows(@traces%d, \"%s%%-7d %%-7d %%-15s ", i + 1,
                    arguments->cpu ? "%-3d " : "");
        bcc_quoted(script, function, true);
        text_fill(script, ' ', width - strlen(function) + 1);
        text_printf(script, "%s%s%s\\n-->COUNT %%d\\n\\n\");\n", text_string(&events[i].message),
                    arguments->kernel_stack ? "%s" : "", arguments->user_stack ? "%s" : "");
    }
    text_add(script, "}\n");
}

static int write_event(struct text *script, const struct arguments *arguments, const struct event *event,
                       unsigned number)
{
    struct text conditions = {0};
    bool counts = arguments->most && !arguments->contains;
    int status = write_conditions(&conditions, arguments, event);
    text_char(script, '\n');
    bcc_begin(script, event->spec.text);
    bcc_attach_point(script, &event->spec, false);
    text_add(script, "\n{\n");
    if (conditions.length)
        text_printf(script, "    if (%s) {\n", text_string(&conditions));
    const char *outer = conditions.length ? "        " : "    ";
    if (counts) {
        text_printf(script, "%s$event = ++@events;\n%sif ($event <= %llu) {\n%s", outer, outer,
                    (unsigned long long)arguments->most, "    ");
        write_action(script, arguments, event, number, outer);
        text_printf(script, "%s}\n%sif ($event == %llu) {\n%s    exit();\n%s}\n", outer, outer,
                    (unsigned long long)arguments->most, outer, outer);
    } else
        write_action(script, arguments, event, number, outer);
    text_add(script, conditions.length ? "    }\n}\n" : "}\n");
    text_free(&conditions);
    return status;
}

static int write_script(struct arena *arena, const struct arguments *arguments, struct text *script)
{
    struct event *events = arena_array(arena, (size_t)arguments->count, sizeof *events);
    bool is_trivial = true;
    int status = 0;
    for (int i = 0; !status && i < arguments->count; i++) {
        status = parse_event(arena, arguments, arguments->specs[i], &events[i]);
        is_trivial &= !events[i].message.length;
    }
    if (!status)
        write_columns(script, arguments, is_trivial);
    for (int i = 0; i < arguments->count; i++)
        if (!status)
            status = write_event(script, arguments, &events[i], (unsigned)i + 1);
    if (!status && arguments->aggregates)
        write_counts(script, arguments, events);
    for (int i = 0; i < arguments->count; i++) {
        text_free(&events[i].message);
        text_free(&events[i].values);
    }
    return status;
}

static int command_trace(int argc, char **argv)
{
    static struct options options; /* its lists live as long as the process */
    static struct arguments arguments = {.string_size = 80};
    struct arena arena = {0};
    struct text script = {0};
    jmp_buf out_of_memory;
    int status = 1;
    if (options_begin(&options) || !parse(&arguments, &options, argc, argv, &status))
        return status;
    if (arena_guard(&arena, out_of_memory))
        return bcc_fail(NULL, "out of memory");
    status = write_script(&arena, &arguments, &script);
    if (!status && arguments.verbose && !arguments.shows)
        command_write(stderr, text_string(&script));
    if (!status)
        status = bcc_run(&options, &script, arguments.shows);
    text_free(&script);
    arena_free(&arena);
    return status;
}

const struct command_line trace_line = {
    .name = "trace",
    .summary = "a line for every call, system call or tracepoint (BCC's trace)",
    .run = command_trace,
    .usage = "[options] SPEC…",
    .about = "Prints a line for every event, as BCC's trace does.\n\n"
             "  SPEC               PROBE[(parameters)] [(predicate)] [\"format\", argument…]\n"
             "  PROBE              FUNCTION (of the kernel), LIBRARY:FUNCTION, r:LIBRARY:FUNCTION (return),\n"
             "                     t:CATEGORY:EVENT, u:LIBRARY:[PROVIDER:]PROBE\n"
             "                     Arguments are arg1, arg2 …, or by the names of the parameters; retval;\n"
             "                     args->FIELD; $pid (thread) $tgid (process) $uid $gid $cpu $comm $task\n",
    COMMAND_ROWS(rows),
    COMMAND_RULES(rules),
    .completes = COMPLETE_PATTERNS,
    .examples = "Examples:\n"
                "  spoor trace 'r:c:malloc (retval == 0) \"no memory\"'\n"
                "  spoor trace 'c:open \"%s\", arg1' -T\n"
                "  spoor trace 't:sched:sched_process_exec \"%s\", args->filename'\n"
                "  spoor trace -p 181 'u:./server:request \"id=%d url=%s\", arg1, arg2'\n",
};
