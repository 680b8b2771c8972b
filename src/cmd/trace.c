/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor trace SPEC…`: a line per event, as BCC's trace prints them. Writes a script; the session runs it. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bcc.h"
#include "cmd/command.h"

static const char help[] =
    "Usage: spoor trace [options] SPEC…\n"
    "Prints a line for every event, as BCC's trace does.\n\n"
    "  SPEC               PROBE[(parameters)] [(predicate)] [\"format\", argument…]\n"
    "  PROBE              FUNCTION (of the kernel), LIBRARY:FUNCTION, r:LIBRARY:FUNCTION (return),\n"
    "                     t:CATEGORY:EVENT, u:LIBRARY:[PROVIDER:]PROBE\n"
    "                     Arguments are arg1, arg2 …, or by the names of the parameters; retval;\n"
    "                     args->FIELD; $pid (thread) $tgid (process) $uid $gid $cpu $comm $task\n\n"
    "  -p PID             trace only this process\n"
    "  --cmd COMMAND      run a command and trace; its end ends the trace\n"
    "  -L TID             trace only this thread\n"
    "  --uid UID          trace only this user\n"
    "  -n NAME            only processes whose name contains NAME\n"
    "  -f TEXT            only messages that contain TEXT\n"
    "  -M N               end after N events\n"
    "  -S                 also events of spoor itself\n"
    "  -Z N               read at most N bytes of strings (80)\n"
    "  -T                 a column with the time of day\n"
    "  -t                 a column with the seconds since the beginning\n"
    "  -u                 with -t: seconds since 1970\n"
    "  -C                 a column with the CPU\n"
    "  -K, -U             the kernel's stack, the program's\n"
    "  -a                 addresses in stacks\n"
    "  -s FILE,…          files with symbols of programs that have none, as far as they belong\n"
    "  -A                 count events that are alike, with their stacks, and print that at the end\n"
    "  -c PATH            only processes of this cgroup\n"
    "  -I HEADER          include a header\n"
    "  -v                 print the script before it runs\n"
    "  --show-script      print the script, and do nothing else\n"
    "  -h                 this\n\n"
    "Examples:\n"
    "  spoor trace 'r:c:malloc (retval == 0) \"no memory\"'\n"
    "  spoor trace 'c:open \"%s\", arg1' -T\n"
    "  spoor trace 't:sched:sched_process_exec \"%s\", args->filename'\n"
    "  spoor trace -p 181 'u:./server:request \"id=%d url=%s\", arg1, arg2'\n";

enum { OPTION_SCRIPT = 256, OPTION_COMMAND, OPTION_UID, COMMON_COLUMNS = 8 + 8 + 16, FUNCTION_WIDTH = 16 };

struct arguments {
    uint64_t pid, tid, uid, most, string_size;
    const char *name, *contains, *cgroup;
    bool has_uid, includes_self, time, timestamp, unix_time, cpu, kernel_stack, user_stack, addresses;
    bool shows, verbose, aggregates;
    char **specs;
    int count;
};

/* One specification with what it prints. */
struct event {
    struct bcc_spec spec;
    const char *predicate; /* NULL: none */
    size_t predicate_length;
    struct text message, values; /* the format; ", value" for each */
};

static int report_error(const char *what, const char *value)
{
    return command_report_error("trace", what, value);
}

/* FILE,FILE,… of -s. The texts live as long as the program. */
static int append_files(struct options *options, char *list)
{
    for (char *rest, *file = strtok_r(list, ",", &rest); file; file = strtok_r(NULL, ",", &rest)) {
        if (access(file, R_OK))
            return report_error("-s: this file cannot be read:", file);
        if (options_append(&options->session.symbol_files, file))
            return 1;
    }
    return 0;
}

static const struct option names[] = {
    {"pid", 1, NULL, 'p'},
    {"tid", 1, NULL, 'L'},
    {"uid", 1, NULL, OPTION_UID},
    {"verbose", 0, NULL, 'v'},
    {"string-size", 1, NULL, 'Z'},
    {"include-self", 0, NULL, 'S'},
    {"max-events", 1, NULL, 'M'},
    {"timestamp", 0, NULL, 't'},
    {"unix-timestamp", 0, NULL, 'u'},
    {"time", 0, NULL, 'T'},
    {"print_cpu", 0, NULL, 'C'},
    {"cgroup-path", 1, NULL, 'c'},
    {"name", 1, NULL, 'n'},
    {"msg-filter", 1, NULL, 'f'},
    {"kernel-stack", 0, NULL, 'K'},
    {"user-stack", 0, NULL, 'U'},
    {"address", 0, NULL, 'a'},
    {"sym_file_list", 1, NULL, 's'},
    {"aggregate", 0, NULL, 'A'},
    {"include", 1, NULL, 'I'},
    {"bin_cmp", 0, NULL, 'B'},
    {"buffer-pages", 1, NULL, 'b'},
    {"help", 0, NULL, 'h'},
    {"show-script", 0, NULL, OPTION_SCRIPT},
    {"cmd", 1, NULL, OPTION_COMMAND},
    {0},
};

static int parse(struct arguments *arguments, struct options *options, int argc, char **argv)
{
    uint64_t ignored;
    int letter, error = 0;
    optind = 0;
    while (!error && (letter = command_option(argc, argv, "p:L:Z:M:n:f:c:I:b:s:vStuTCKUaABh", names)) != -1)
        switch (letter) {
        case 'p': error = bcc_number("-p", optarg, 1, INT32_MAX, &arguments->pid); break;
        case 'L': error = bcc_number("-L", optarg, 1, INT32_MAX, &arguments->tid); break;
        case OPTION_UID:
            error = bcc_number("--uid", optarg, 0, UINT32_MAX, &arguments->uid);
            arguments->has_uid = true;
            break;
        case 'Z': error = bcc_number("-Z", optarg, 1, 1 << 14, &arguments->string_size); break;
        case 'M': error = bcc_number("-M", optarg, 1, INT64_MAX, &arguments->most); break;
        case 'b': error = bcc_number("-b", optarg, 1, 1 << 20, &ignored); break; /* rings have their size */
        case 'n': arguments->name = optarg; break;
        case 'f': arguments->contains = optarg; break;
        case 'c': arguments->cgroup = optarg; break;
        case 'I': error = options_append(&options->session.headers, optarg); break;
        case 'v': arguments->verbose = true; break;
        case 'S': arguments->includes_self = true; break;
        case 't': arguments->timestamp = true; break;
        case 'u': arguments->unix_time = true; break;
        case 'T': arguments->time = true; break;
        case 'C': arguments->cpu = true; break;
        case 'K': arguments->kernel_stack = true; break;
        case 'U': arguments->user_stack = true; break;
        case 'a': arguments->addresses = true; break;
        case 's': error = append_files(options, optarg); break;
        case 'A': arguments->aggregates = true; break;
        case 'B': break; /* whole strings are compared anyway */
        case OPTION_COMMAND: options->session.command = optarg; break;
        case OPTION_SCRIPT: arguments->shows = true; break;
        case 'h': fputs(help, stdout); exit(0);
        default: fputs("HINT: spoor trace -h lists the options\n", stderr); return 1;
        }
    if (error)
        return 1;
    arguments->specs = argv + optind;
    arguments->count = argc - optind;
    if (!arguments->count)
        return report_error("what is to be traced? give a SPEC", NULL);
    if (arguments->pid && arguments->tid)
        return report_error("-p and -L: only one of them", NULL);
    if (arguments->unix_time && !arguments->timestamp)
        return report_error("-u needs -t", NULL);
    if (arguments->aggregates && (arguments->time || arguments->timestamp))
        return report_error("-A counts events that are alike, and no two times are: not with -T or -t", NULL);
    if (arguments->aggregates && arguments->contains)
        return report_error("-A counts before there are messages: instead of -f give a predicate", NULL);
    options_process(options, (pid_t)arguments->pid);
    return 0;
}

/* ---- specifications ---- */

/* A value as its conversion wants it. */
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

/* The conversion that begins at a %: its length, and its letter. Only the forms that BCC has. */
static size_t conversion_at(const char *text, size_t length, char *letter)
{
    size_t used = 1;
    while (used < length && strchr("-+ #0123456789.hl", text[used]))
        used++;
    *letter = used < length ? text[used] : 0;
    return used < length ? used + 1 : length;
}

/* "format", argument, … */
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
    if (*text == '(') { /* at once behind the name: the parameters */
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

/* The conditions of an event, joined by &&; nothing for none. */
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
        /* Where the message begins: all columns before it have a known width. */
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

/* -A: what print_rows() makes lines of at the end. */
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

int command_trace(int argc, char **argv)
{
    static struct options options; /* its lists live as long as the process */
    struct arguments arguments = {.string_size = 80};
    struct arena arena = {0};
    struct text script = {0};
    jmp_buf out_of_memory;
    if (options_parse(&options, 1, argv) || parse(&arguments, &options, argc, argv))
        return 1;
    if (arena_guard(&arena, out_of_memory))
        return report_error("out of memory", NULL);
    int status = write_script(&arena, &arguments, &script);
    if (!status && arguments.verbose && !arguments.shows)
        command_write(stderr, text_string(&script));
    if (!status)
        status = bcc_run(&options, &script, arguments.shows);
    text_free(&script);
    arena_free(&arena);
    return status;
}
