/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor count PATTERN…`: how often functions, tracepoints and USDT probes were passed, as BCC's funccount
 * prints it. Writes a script; the session runs it. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bcc.h"
#include "cmd/command.h"

struct arguments {
    uint64_t pid, cpu, interval, duration;
    const char *command;
    bool has_cpu, timestamp, regular, shows, verbose;
    char **patterns;
    int count;
};

static const struct option_row rows[] = {
    {'p', "pid", "PID", "trace only this process", OPTION_STORES(NUMBER, struct arguments, pid),
     OPTION_A_PROCESS},
    BCC_ROW_COMMAND(struct arguments),
    {'c', "cpu", "CPU", "trace only this CPU", OPTION_STORES(NUMBER, struct arguments, cpu),
     .max = UINT16_MAX},
    {'i', "interval", "TIME", "print and begin anew after each interval (2s, 500ms)",
     OPTION_STORES(DURATION, struct arguments, interval), BCC_TIMES},
    {'d', "duration", "TIME", "end after this time", OPTION_STORES(DURATION, struct arguments, duration),
     BCC_TIMES},
    {'T', "timestamp", NULL, "print the time of day too", OPTION_STORES(FLAG, struct arguments, timestamp)},
    {'r', "regexp", NULL, "PATTERN's last part is a regular expression (POSIX, extended)",
     OPTION_STORES(FLAG, struct arguments, regular)},
    {'D', "debug", NULL, "print the script before it runs", OPTION_STORES(FLAG, struct arguments, verbose)},
    BCC_ROW_SCRIPT(struct arguments),
    OPTION_ROW_HELP,
};

/* Reads the arguments. False: the command is over, with *status. */
static bool parse(struct arguments *arguments, struct options *options, int argc, char **argv, int *status)
{
    struct command_arguments given;
    if (!command_line_parse(&count_line, argc, argv, arguments, &given, status))
        return false;
    arguments->has_cpu = command_line_has(&given, "-c");
    arguments->patterns = given.words;
    arguments->count = given.count;
    if (!arguments->count) {
        *status = command_line_fail(&count_line, "what is to be counted? give a PATTERN");
        return false;
    }
    if (arguments->duration && (!arguments->interval || arguments->interval > arguments->duration))
        arguments->interval = arguments->duration;
    options->session.command = arguments->command;
    options_process(options, (pid_t)arguments->pid);
    return true;
}

/* ---- regular expressions ---- */

struct matches {
    struct arena *arena;
    const regex_t *expression;
    struct text points; /* attach points, joined by commas */
    size_t count;
};

/* Adds a probe that matches, as an attach point, in which paths are quoted. */
static int match_probe(void *state, const char *name, const char *details)
{
    struct matches *matches = state;
    (void)details;
    const char *last = strrchr(name, ':');
    if (!last || regexec(matches->expression, last + 1, 0, NULL, 0))
        return 0;
    const char *kind = strchr(name, ':');
    text_add(&matches->points, matches->count++ ? ",\n" : "");
    text_append(&matches->points, name, (size_t)(kind - name) + 1);
    if (kind[1] == '/') { /* a file, and behind it the rest */
        const char *rest = strchr(kind + 1, ':');
        text_printf(&matches->points, "\"%.*s\"%s", (int)(rest - kind - 1), kind + 1, rest);
    } else
        text_add(&matches->points, kind + 1);
    return 0;
}

/* Writes all probes of a kind and place whose last part the expression matches. Returns 0, or 1 after a message. */
static int write_matches(struct arena *arena, struct options *options, const struct bcc_spec *spec,
                         struct text *out)
{
    struct bcc_spec every = *spec;
    struct matches matches = {.arena = arena};
    struct text script = {0};
    regex_t expression;
    const char *wanted = spec->type == 't' ? strchr(spec->name, ':') + 1 : spec->name;
    int error = regcomp(&expression, wanted, REG_EXTENDED | REG_NOSUB);
    if (error) {
        char why[128];
        regerror(error, &expression, why, sizeof why);
        return bcc_fail(spec->text, "this is no regular expression: %s", why);
    }
    every.name =
        spec->type == 't' ? arena_printf(arena, "%.*s:*", (int)(wanted - 1 - spec->name), spec->name) : "*";
    bcc_attach_point(&script, &every, false);
    text_add(&script, " { }");
    matches.expression = &expression;
    struct script_part *part = arena_new(arena, struct script_part);
    part->word = spec->text;
    options->parts = part;
    options->part_count = 1;
    int status = command_probes(options, "pattern", &script, match_probe, &matches);
    options->part_count = 0;
    if (!status && !matches.count)
        status = bcc_fail(spec->text, "nothing is matched by this regular expression");
    text_add(out, text_string(&matches.points));
    regfree(&expression);
    text_free(&matches.points);
    text_free(&script);
    return status;
}

/* ---- the script ---- */

/* Writes the probes, each of which is counted under its name. */
static int write_probes(struct arena *arena, const struct arguments *arguments, struct options *options,
                        struct text *script)
{
    for (int i = 0; i < arguments->count; i++) {
        struct bcc_spec spec;
        const char *pattern = arguments->patterns[i];
        if (bcc_parse_spec(arena, pattern, strlen(pattern), &spec))
            return 1;
        if (spec.type == 'r')
            return bcc_fail(pattern, "calls are counted where a function begins: p, t or u");
        text_char(script, '\n');
        bcc_begin(script, pattern);
        if (!arguments->regular)
            bcc_attach_point(script, &spec, false);
        else if (write_matches(arena, options, &spec, script))
            return 1;
        text_add(script, "\n{\n    ");
        if (arguments->has_cpu)
            text_printf(script, "if (cpu == %llu) {\n        ", (unsigned long long)arguments->cpu);
        text_printf(script, "@counts[%s] = count();\n%s}\n", spec.type == 'p' ? "func" : "probe",
                    arguments->has_cpu ? "    }\n" : "");
    }
    return 0;
}

static void write_table(struct text *script, const struct arguments *arguments)
{
    text_add(script, "    printf(\"\\n\");\n");
    if (arguments->timestamp)
        text_add(script, "    printf(\"%-8s\\n\", strftime(\"%H:%M:%S\", nsecs));\n");
    text_printf(script,
                "    printf(\"%-36s %8s\\n\");\n"
                "    print_rows(@counts, \"%%1$-36s %%2$8d\\n\");\n"
                "    clear(@counts);\n",
                "FUNC", "COUNT");
}

/* Writes what prints a table after each interval. The last one is printed by `end`, also after Ctrl-C. */
static void write_ends(struct text *script, const struct arguments *arguments)
{
    if (arguments->interval) {
        text_char(script, '\n');
        bcc_interval(script, arguments->interval);
        text_add(script, "\n{\n");
        if (arguments->duration)
            text_printf(
                script, "    if (++@intervals == %llu) {\n        exit();\n    }\n",
                (unsigned long long)((arguments->duration + arguments->interval - 1) / arguments->interval));
        write_table(script, arguments);
        text_add(script, "}\n");
    }
    text_add(script, "\nend\n{\n");
    write_table(script, arguments);
    text_add(script, "    printf(\"Detaching...\\n\");\n}\n");
}

static int command_count(int argc, char **argv)
{
    static struct options options; /* its lists live as long as the process */
    struct arguments arguments = {0};
    struct arena arena = {0};
    struct text probes = {0}, script = {0};
    jmp_buf out_of_memory;
    int status = 1;
    if (options_begin(&options) || !parse(&arguments, &options, argc, argv, &status))
        return status;
    if (arena_guard(&arena, out_of_memory))
        return bcc_fail(NULL, "out of memory");
    status = write_probes(&arena, &arguments, &options, &probes);
    int count = status ? -1 : bcc_count_probes(&options, &probes);
    if (count >= 0) {
        text_printf(&script, BCC_SETTINGS "\nbegin\n{\n    printf(\"Tracing %d functions for \\\"", count);
        for (int i = 0; i < arguments.count; i++) {
            text_add(&script, i ? " " : "");
            bcc_quoted(&script, arguments.patterns[i], true);
        }
        text_add(&script, "\\\"... Hit Ctrl-C to end.\\n\");\n}\n");
        text_add(&script, text_string(&probes));
        write_ends(&script, &arguments);
        if (arguments.verbose && !arguments.shows)
            command_write(stderr, text_string(&script));
        status = bcc_run(&options, &script, arguments.shows);
    } else
        status = 1;
    text_free(&probes);
    text_free(&script);
    arena_free(&arena);
    return status;
}

const struct command_line count_line = {
    .name = "count",
    .summary = "how often functions and tracepoints are reached (BCC's funccount)",
    .run = command_count,
    .usage = "[options] PATTERN…",
    .about = "Counts calls of functions, tracepoints and USDT probes, as BCC's funccount does.\n\n"
             "  PATTERN            FUNCTION (of the kernel), LIBRARY:FUNCTION, t:CATEGORY:EVENT,\n"
             "                     u:LIBRARY:PROBE; with wildcards\n",
    COMMAND_ROWS(rows),
    .completes = COMPLETE_PATTERNS,
    .examples = "Examples:\n"
                "  spoor count 'c:str*'\n"
                "  spoor count -i 1 -d 10 't:block:*'\n"
                "  spoor count -p 181 'u:./server:*'\n"
                "  spoor count -r 'c:^(m|c)alloc$'\n",
};
