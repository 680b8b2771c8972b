/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor argdist -H SPEC -C SPEC`: distributions of arguments and results, as BCC's argdist prints them.
 * Writes a script; the session runs it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/bcc.h"
#include "cmd/command.h"

enum { SPECS = 64, EXPRESSIONS = 16, PARTS = 6 };

struct piece {
    const char *text;
    size_t length;
};

struct distribution {
    const char *raw, *label; /* NULL: none */
    bool is_histogram;
    struct bcc_spec spec;
    struct piece types[EXPRESSIONS], expressions[EXPRESSIONS], filter;
    unsigned count;   /* expressions; 0: it counts calls, or has the value that is returned */
    unsigned number;  /* number in the names of its maps */
    unsigned entered; /* bits of the parameters that are kept between entry and return */
    bool is_timed;    /* it uses $latency */
};

struct arguments {
    uint64_t pid, tid, string_size, interval, duration, outputs, top;
    const char *command;
    const char *const *headers, *const *counts, *const *histograms; /* -I, -C, -H */
    bool cumulative, shows, verbose;
    struct distribution *items;
    unsigned count;
};

static const struct option_row rows[] = {
    {'C', "count", "SPEC", "how often each value came; several are printed one after the other",
     OPTION_STORES(LIST, struct arguments, counts), .completes = COMPLETE_PATTERNS},
    {'H', "histogram", "SPEC", "a histogram of powers of two",
     OPTION_STORES(LIST, struct arguments, histograms), .completes = COMPLETE_PATTERNS},
    {'p', "pid", "PID", "trace only this process", OPTION_STORES(NUMBER, struct arguments, pid),
     OPTION_A_PROCESS},
    BCC_ROW_COMMAND(struct arguments),
    {'t', "tid", "TID", "trace only this thread", OPTION_STORES(NUMBER, struct arguments, tid), .min = 1,
     .max = INT32_MAX},
    {'z', "string-size", "N", "read at most N bytes of strings (80)",
     OPTION_STORES(NUMBER, struct arguments, string_size), .min = 1, .max = BCC_STRING_MAX},
    {'i', "interval", "TIME", "print after each interval (1s)",
     OPTION_STORES(DURATION, struct arguments, interval), BCC_TIMES},
    {'d', "duration", "TIME", "end after this time", OPTION_STORES(DURATION, struct arguments, duration),
     BCC_TIMES},
    {'n', "number", "N", "end after N outputs", OPTION_STORES(NUMBER, struct arguments, outputs), BCC_RANGE},
    {'c', "cumulative", NULL, "go on counting from one output to the next",
     OPTION_STORES(FLAG, struct arguments, cumulative)},
    {'T', "top", "N", "with -C: only the N most frequent values",
     OPTION_STORES(NUMBER, struct arguments, top), BCC_RANGE},
    BCC_ROW_HEADERS(struct arguments),
    {'v', "verbose", NULL, "print the script before it runs", OPTION_STORES(FLAG, struct arguments, verbose)},
    BCC_ROW_SCRIPT(struct arguments),
    OPTION_ROW_HELP,
};

/* ---- specifications ---- */

static int split(const struct distribution *item, struct piece whole, struct piece *pieces, unsigned *count)
{
    *count = 0;
    while (true) {
        size_t used = bcc_until(whole.text, whole.length, ",");
        if (*count == EXPRESSIONS)
            return bcc_fail(item->raw, "at most %d expressions", EXPRESSIONS);
        pieces[(*count)++] = (struct piece){whole.text, used};
        if (used == whole.length)
            return 0;
        whole = (struct piece){whole.text + used + 1, whole.length - used - 1};
    }
}

/* Parses a distribution. It is divided at colons outside of parentheses and quotes; the function with its
 * parameters is one part. Returns 0, or 1 after a message. */
static int parse_distribution(struct arena *arena, const char *raw, bool is_histogram,
                              struct distribution *item)
{
    struct piece parts[PARTS];
    unsigned count = 0, types = 0;
    size_t length = bcc_until(raw, strlen(raw), "#");
    *item = (struct distribution){.raw = raw, .is_histogram = is_histogram};
    item->label = raw[length] ? raw + length + 1 : NULL;
    while (length && strchr(" \t\n", raw[length - 1]))
        length--;
    for (const char *at = raw;;) {
        size_t used = bcc_until(at, (size_t)(raw + length - at), ":");
        if (count == PARTS)
            return bcc_fail(raw, "too many parts: PROBE(parameters):types:expressions:filter#label");
        parts[count++] = (struct piece){at, used};
        at += used;
        if (at == raw + length)
            break;
        at++;
    }
    const char *open = count < 3 ? NULL : memchr(parts[2].text, '(', parts[2].length);
    if (!open || parts[2].text[parts[2].length - 1] != ')')
        return bcc_fail(raw, "needs type, library and function with its parameters: p:c:write(int fd)");
    if (!parts[0].length)
        return bcc_fail(raw, "the type of a probe is p, r, t or u");
    if (bcc_parse_spec(arena, raw, (size_t)(open - raw), &item->spec) ||
        bcc_parse_signature(arena, open + 1, (size_t)(parts[2].text + parts[2].length - open) - 2,
                            &item->spec))
        return 1;
    if (count == 4)
        return bcc_fail(raw, "a type needs an expression: PROBE(parameters):type:expression");
    if (count < 5)
        return is_histogram && item->spec.type != 'r'
                   ? bcc_fail(raw, "a histogram needs a type and an expression: PROBE(parameters):u64:arg1")
                   : 0;
    if (split(item, parts[3], item->types, &types) || split(item, parts[4], item->expressions, &item->count))
        return 1;
    if (types != item->count)
        return bcc_fail(raw, "%u types for %u expressions", types, item->count);
    if (is_histogram && types > 1)
        return bcc_fail(raw, "a histogram is of one expression");
    if (count == 6)
        item->filter = parts[5];
    return 0;
}

/* ---- what is kept between entry and return ---- */

/* Writes what $latency and $entry(parameter) mean. */
static bool write_kept(void *state, struct text *out, const char *name, size_t length, const char **rest)
{
    struct distribution *item = state;
    if (item->spec.type != 'r')
        return false;
    if (length == 8 && !memcmp(name, "$latency", length)) {
        item->is_timed = true;
        text_printf(out, "(nsecs - @start%u[tid])", item->number);
        return true;
    }
    if (length != 6 || memcmp(name, "$entry", length) != 0 || **rest != '(')
        return false;
    const char *parameter = *rest + 1;
    size_t used = strcspn(parameter, ")");
    for (unsigned i = 0; parameter[used] && i < item->spec.parameter_count; i++)
        if (strlen(item->spec.parameters[i].name) == used &&
            !memcmp(item->spec.parameters[i].name, parameter, used)) {
            item->entered |= 1u << i;
            text_printf(out, "@entry%u_%s[tid]", item->number, item->spec.parameters[i].name);
            *rest = parameter + used + 1;
            return true;
        }
    return false;
}

static int write_entry(struct text *script, const struct distribution *item)
{
    struct bcc_spec entry = item->spec;
    entry.type = 'p';
    text_char(script, '\n');
    bcc_begin(script, item->spec.text);
    bcc_attach_point(script, &entry, false);
    text_add(script, "\n{\n");
    for (unsigned i = 0; i < entry.parameter_count; i++)
        if (item->entered & 1u << i) {
            const char *name = entry.parameters[i].name;
            text_printf(script, "    @entry%u_%s[tid] = ", item->number, name);
            if (bcc_expression(script, &entry, NULL, name, strlen(name)))
                return 1;
            text_add(script, ";\n");
        }
    if (item->is_timed)
        text_printf(script, "    @start%u[tid] = nsecs;\n", item->number);
    text_add(script, "}\n");
    return 0;
}

/* Writes each map that keeps something between entry and return, with a text before and one behind its name. */
static void each_kept(struct text *out, const struct distribution *item, const char *before,
                      const char *behind)
{
    for (unsigned i = 0; i < item->spec.parameter_count; i++)
        if (item->entered & 1u << i)
            text_printf(out, "%s@entry%u_%s%s", before, item->number, item->spec.parameters[i].name, behind);
    if (item->is_timed)
        text_printf(out, "%s@start%u%s", before, item->number, behind);
}

/* ---- the script ---- */

static int write_value(struct text *out, const struct arguments *arguments, struct distribution *item,
                       unsigned i)
{
    const struct bcc_words words = {write_kept, item};
    const struct piece type = item->types[i], expression = item->expressions[i];
    bool is_string = bcc_is_string_type(type.text, type.length);
    if (is_string)
        text_add(out, "str(");
    else {
        bcc_cast(out, type.text, type.length);
        text_char(out, '(');
    }
    if (bcc_expression(out, &item->spec, &words, expression.text, expression.length))
        return 1;
    if (is_string)
        text_printf(out, ", %llu", (unsigned long long)arguments->string_size);
    text_char(out, ')');
    return 0;
}

static int write_probe(struct text *script, const struct arguments *arguments, struct distribution *item)
{
    const struct bcc_words words = {write_kept, item};
    struct text filter = {0}, values = {0};
    int status = 0;
    if (item->filter.length)
        status = bcc_expression(&filter, &item->spec, &words, item->filter.text, item->filter.length);
    for (unsigned i = 0; !status && i < item->count; i++) {
        text_add(&values, i ? ", " : "");
        status = write_value(&values, arguments, item, i);
    }
    if (!item->count)
        text_add(&values, item->spec.type == 'r' ? "(int32)retval" : "\"total calls\"");
    bool keeps = item->entered || item->is_timed;
    if (!status && keeps)
        status = write_entry(script, item);
    text_char(script, '\n');
    bcc_begin(script, item->spec.text);
    bcc_attach_point(script, &item->spec, false);
    struct text conditions = {0};
    if (arguments->tid)
        text_printf(&conditions, " && tid == %llu", (unsigned long long)arguments->tid);
    each_kept(&conditions, item, " && has_key(", ", tid)");
    if (filter.length)
        text_printf(&conditions, " && (%s)", text_string(&filter));
    text_add(script, "\n{\n    ");
    if (conditions.length) /* without the first && */
        text_printf(script, "if (%s) {\n        ", text_string(&conditions) + 4);
    if (item->is_histogram)
        text_printf(script, "@values%u = hist(%s);\n", item->number, text_string(&values));
    else
        text_printf(script, "@values%u[%s] = count();\n", item->number, text_string(&values));
    if (conditions.length)
        text_add(script, "    }\n");
    if (keeps)
        each_kept(script, item, "    _ = delete(", ", tid);\n");
    text_add(script, "}\n");
    text_free(&filter);
    text_free(&values);
    text_free(&conditions);
    return status;
}

/* Writes the names of the values of a row: "fd = %2$s, count = %3$s". */
static void write_names(struct text *out, const struct distribution *item)
{
    for (unsigned i = 0; i < item->count; i++) {
        char *text = strndup(item->expressions[i].text, item->expressions[i].length);
        for (char *at; text && (at = strstr(text, "$entry("));) { /* only the parameter's name is shown */
            size_t name = strcspn(at + 7, ")");
            memmove(at, at + 7, name);
            char *rest = at + 7 + name;
            memmove(at + name, rest + (*rest == ')'), strlen(rest + (*rest == ')')) + 1);
        }
        text_add(out, i ? ", " : "");
        bcc_quoted(out, text ? text : "", !item->is_histogram);
        if (!item->is_histogram)
            text_printf(out, " = %%%u$s", i + 1);
        free(text);
    }
}

static void write_output(struct text *script, const struct arguments *arguments,
                         const struct distribution *item)
{
    if (item->is_histogram) {
        text_printf(script, "    print_log2_hist(@values%u, \"", item->number);
        if (item->label)
            bcc_quoted(script, item->label, false);
        else if (item->count)
            write_names(script, item);
        else
            text_add(script, "retval");
        text_add(script, "\");\n");
    } else {
        text_add(script, "    printf(\"");
        bcc_quoted(script, item->label ? item->label : item->raw, true);
        text_printf(script, "\\n\\t%-10s %s\\n\");\n    print_rows(@values%u, \"\\t%%%u$-10d ", "COUNT",
                    "EVENT", item->number, item->count ? item->count + 1 : 2);
        if (item->count)
            write_names(script, item);
        else
            text_add(script, item->spec.type == 'r' ? "retval = %1$d" : "%1$s");
        text_add(script, "\\n\"");
        if (arguments->top)
            text_printf(script, ", %llu", (unsigned long long)arguments->top);
        text_add(script, ");\n");
    }
    if (!arguments->cumulative)
        text_printf(script, "    clear(@values%u);\n", item->number);
}

static void write_outputs(struct text *script, const struct arguments *arguments)
{
    text_add(script, "    printf(\"[%s]\\n\", strftime(\"%H:%M:%S\", nsecs));\n");
    for (unsigned i = 0; i < arguments->count; i++)
        write_output(script, arguments, &arguments->items[i]);
}

/* Writes the probe that prints at every interval. ends: the end of a command prints, too; after Ctrl-C nothing is
 * printed, as in BCC. */
static void write_interval(struct text *script, const struct arguments *arguments, bool ends)
{
    uint64_t outputs = arguments->outputs;
    uint64_t lasting = (arguments->duration + arguments->interval - 1) / arguments->interval;
    if (lasting && (!outputs || lasting < outputs))
        outputs = lasting;
    text_char(script, '\n');
    bcc_interval(script, arguments->interval);
    text_add(script, "\n{\n");
    write_outputs(script, arguments);
    if (outputs)
        text_printf(script, "    if (++@outputs == %llu) {\n        exit();\n    }\n",
                    (unsigned long long)outputs);
    text_add(script, "}\n");
    if (ends) {
        text_add(script, "\nend\n{\n");
        write_outputs(script, arguments);
        text_add(script, "}\n");
    }
}

/* ---- the command line ---- */

static int add_distributions(struct arguments *arguments, struct arena *arena, const char *const *specs,
                             bool are_histograms)
{
    for (; specs && *specs; specs++) {
        struct distribution *item = &arguments->items[arguments->count++];
        if (parse_distribution(arena, *specs, are_histograms, item))
            return 1;
        item->number = arguments->count;
    }
    return 0;
}

static size_t count_specs(const char *const *specs)
{
    size_t count = 0;
    while (specs && specs[count])
        count++;
    return count;
}

/* Reads the arguments. False: the command is over, with *status. */
static bool parse(struct arguments *arguments, struct arena *arena, struct options *options, int argc,
                  char **argv, int *status)
{
    struct command_arguments given;
    if (!command_line_parse(&argdist_line, argc, argv, arguments, &given, status))
        return false;
    const size_t specs = count_specs(arguments->counts) + count_specs(arguments->histograms);
    if (given.count)
        *status = command_line_fail(&argdist_line, "what is %s", given.words[0]);
    else if (!specs)
        *status = command_line_fail(&argdist_line, "at least one specifier is required: -C SPEC or -H SPEC");
    else if (specs > SPECS)
        *status = command_line_fail(&argdist_line, "at most %d specifiers", SPECS);
    else {
        arguments->items = arena_array(arena, specs, sizeof *arguments->items);
        *status =
            add_distributions(arguments, arena, arguments->counts, false) || /* counts are printed first */
            add_distributions(arguments, arena, arguments->histograms, true);
    }
    options->session.command = arguments->command;
    options->session.headers = arguments->headers;
    options_process(options, (pid_t)arguments->pid);
    return !*status;
}

static int write_script(struct arguments *arguments, const struct options *options, struct text *script)
{
    text_add(script, BCC_SETTINGS);
    for (unsigned i = 0; i < arguments->count; i++)
        if (write_probe(script, arguments, &arguments->items[i]))
            return 1;
    write_interval(script, arguments, options->session.command != NULL);
    if (arguments->verbose && !arguments->shows)
        command_write(stderr, text_string(script));
    return 0;
}

static int command_argdist(int argc, char **argv)
{
    static struct options options; /* its lists live as long as the process */
    static struct arguments arguments = {.string_size = 80, .interval = NSEC_PER_SEC};
    struct arena arena = {0};
    struct text script = {0};
    jmp_buf out_of_memory;
    int status = 1;
    if (arena_guard(&arena, out_of_memory))
        return bcc_fail(NULL, "out of memory");
    if (!options_begin(&options) && parse(&arguments, &arena, &options, argc, argv, &status))
        status = write_script(&arguments, &options, &script) || bcc_run(&options, &script, arguments.shows);
    text_free(&script);
    arena_free(&arena);
    return status;
}

const struct command_line argdist_line = {
    .name = "argdist",
    .summary = "how arguments and return values are distributed (BCC's argdist)",
    .run = command_argdist,
    .usage = "[options] -C SPEC | -H SPEC …",
    .about = "Counts values (-C) or shows how they are distributed (-H), as BCC's argdist does.\n\n"
             "  SPEC               PROBE(parameters)[:type,…:expression,…[:filter]][#label]\n"
             "  PROBE              p:LIBRARY:FUNCTION, r:LIBRARY:FUNCTION (return), t:CATEGORY:EVENT,\n"
             "                     u:LIBRARY:PROBE; no LIBRARY: the kernel\n"
             "                     Values are named as the parameters, or arg1, arg2 …; args->FIELD; $PID;\n"
             "                     at a return also $retval, $latency (ns), $entry(PARAMETER)\n",
    COMMAND_ROWS(rows),
    .examples = "Examples:\n"
                "  spoor argdist -H 'p:c:write(int fd, void *buf, size_t count):size_t:count'\n"
                "  spoor argdist -C 'r:c:getenv(char *name):char*:$entry(name):$retval == 0#not set'\n"
                "  spoor argdist -H 't:net:net_dev_queue():u32:args->len'\n",
};
