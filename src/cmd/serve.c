/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor serve DIR`: runs all scripts of a directory, and publishes what they count. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/trusted_path.h"
#include "cmd/command.h"
#include "cmd/otlp_script.h"
#include "serve/serve.h"

enum { SHARE_PERCENT = 10, SHARE_PERCENT_MAX = 100000, TELLS_EACH_S = 60 };

struct arguments {
    struct options options; /* of each script; the first member, for rows that are shared */
    struct serve_options serve;
    uint64_t share; /* percent */
    bool trusts_read_only;
};

static const struct option_row rows[] = {
    {0, "openmetrics", "ADDRESS|FILE", "where metrics can be read (:9435, which is this machine alone)",
     OPTION_STORES(TEXT, struct arguments, serve.place), .completes = COMPLETE_FILES},
    {0, "openmetrics-period", "TIME", "with a FILE or --otlp: between two writings (15s)",
     OPTION_STORES(DURATION, struct arguments, serve.period_ns)},
    {0, "openmetrics-series", "N", "of each script: at most so many series (10000)",
     OPTION_STORES(NUMBER, struct arguments, options.metrics_series), .min = 1, .max = 1000000,
     .takes = "a number of series"},
    OTLP_ROWS(struct arguments, options.otlp, "URL",
              "send maps, and what is printed, by OpenTelemetry's protocol, too: to http://HOST:4318", "5s"),
    OPTION_ROW_HEADING("Limits of each script:"),
    {0, "max-cpu", "PERCENT", "pause it when its probes take more of a CPU (10; 0: no limit)",
     OPTION_STORES(NUMBER, struct arguments, share), .max = SHARE_PERCENT_MAX,
     .takes = "how many percent of one CPU"},
    {0, "max-memory", "BYTES", "use no more for its maps, rings and process (64M)",
     OPTION_STORES(SIZE, struct arguments, options.session.max_memory)},
    OPTION_ROW_HEADING("Others:"),
    {0, "trust-read-only", NULL, "take scripts from a read-only mount, such as a ConfigMap, with any mode",
     OPTION_STORES(FLAG, struct arguments, trusts_read_only)},
    {0, "unsafe", NULL, "allow system() and other things that change the system",
     OPTION_STORES(FLAG, struct arguments, options.session.is_unsafe)},
    {'I', NULL, "DIR", "look for C headers there, too",
     OPTION_STORES(LIST, struct arguments, options.session.directories), .completes = COMPLETE_DIRECTORIES},
    OPTION_ROW_HELP,
};

static const struct option_rule rules[] = {OTLP_RULES};

static void report(const char *text)
{
    enum { PATIENCE_MS = 200 };
    command_write_in_time(text, PATIENCE_MS);
}

/* In the process of a script. */
static int run(void *state, const struct serve_script *script)
{
    struct options *options = state;
    options->scripts[0] = (struct script_option){.file = script->path};
    options->script_count = 1;
    options->outlet = script->outlet;
    options->session.observer = script->observer;
    options->session.write = script->write;
    options->session.report = script->report;
    options->session.keep_maps_quiet = true;
    options->session.tells_each_ns = (uint64_t)TELLS_EACH_S * NSEC_PER_SEC;
    struct text text = {0};
    text_append(&text, script->text->bytes, script->text->length);
    int status = text.failed;
    if (!status)
        status = command_replace_markers(&text, &options->session);
    if (!status)
        status = command_run(options, script->path, &text);
    text_free(&text);
    return status;
}

static int command_serve(int argc, char **argv)
{
    static struct arguments arguments = {.share = SHARE_PERCENT, .serve.place = ":9435"};
    struct command_arguments given;
    int status = 1;
    if (options_begin(&arguments.options) ||
        !command_line_parse(&serve_line, argc, argv, &arguments, &given, &status))
        return status;
    if (given.count != 1)
        return command_line_fail(&serve_line,
                                 given.count ? "one directory, not '%s' too" : "which directory? give a DIR",
                                 given.count ? given.words[1] : "");
    if (arguments.trusts_read_only)
        trusted_allow_read_only();
    struct serve_options *serving = &arguments.serve;
    serving->directory = given.words[0];
    serving->share = (double)arguments.share / 100;
    serving->run = run;
    serving->report = report;
    serving->state = &arguments.options;
    arguments.options.metrics = serving->place;
    arguments.options.metrics_period = serving->period_ns;
    if (arguments.options.otlp.place) {
        if (otlp_script_check(&arguments.options.otlp))
            return 1;
        serving->patience_ns =
            arguments.options.otlp.patience_ns ? arguments.options.otlp.patience_ns : OTLP_SCRIPT_PATIENCE_NS;
    }
    return serve(serving);
}

const struct command_line serve_line = {
    .name = "serve",
    .summary = "run all scripts of a directory, and publish what they count",
    .run = command_serve,
    .usage = "[options] DIR",
    .about =
        "Runs each DIR/NAME.bt in a process of its own and publishes their maps as metrics, each with the\n"
        "label script. A file that changes is started beside the script that runs, and takes its place when\n"
        "it is attached; one that comes or goes is started or ended. A script that fails is started again\n"
        "after a pause that grows from a second to five minutes. What scripts print has their name before "
        "it.\n",
    COMMAND_ROWS(rows),
    COMMAND_RULES(rules),
    .completes = COMPLETE_DIRECTORIES,
    .examples =
        "Settings that a script may have, config = { max_cpu = 2; labels = \"comm, device\" }:\n"
        "  max_cpu        percent of a CPU, 1 to 100000; only less than --max-cpu (default: that)\n"
        "  max_memory     bytes, as \"48M\"; only less than --max-memory (default: that)\n"
        "  metric_prefix  what names of its metrics begin with (default: spoor_NAME)\n"
        "  labels         of the parts of keys, \"comm, dev\", or map by map, \"@a: comm; @b: dev\"\n"
        "                 (default: key0, key1 ..., or the fields of a record)\n"
        "  metrics        the maps that are published, \"@us, @bytes\" (default: all but those whose\n"
        "                 values its expressions use and whose keys it deletes)\n"
        "  spoor(1) has the others, such as max_map_keys, under SETTINGS.\n\n"
        "Examples:\n"
        "  spoor serve /etc/spoor/scripts.d\n"
        "  spoor serve --openmetrics /var/lib/node-exporter/spoor.prom --max-cpu 5 scripts\n",
};
