/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/whole.h"

enum own_family {
    OWN_SCRIPT,
    OWN_PROBES,
    OWN_EVENTS,
    OWN_LOST,
    OWN_ERRORS,
    OWN_RUNS,
    OWN_SECONDS,
    OWN_MEMORY,
    OWN_CPU,
    OWN_FAMILIES
};

static const char *const script_labels[] = {"script", "version"}, *const lost_labels[] = {"probe", "reason"},
                         *const error_labels[] = {"error", "place", "probe"},
                         *const program_labels[] = {"place", "probe"};
#define LABELS(names) .labels = names, .label_count = sizeof names / sizeof *names

static const struct metric_family families[OWN_FAMILIES] = {
    [OWN_SCRIPT] = {.name = "spoor_trace_info",
                    .help = "The script that runs, and the version of spoor",
                    .kind = METRIC_GAUGE,
                    LABELS(script_labels)},
    [OWN_PROBES] = {.name = "spoor_trace_probes", .help = "Probes that are attached", .kind = METRIC_GAUGE},
    [OWN_EVENTS] = {.name = "spoor_trace_events",
                    .help = "Events that were printed or acted on",
                    .kind = METRIC_COUNTER},
    [OWN_LOST] = {.name = "spoor_trace_lost_events",
                  .help = "Events that were lost, by probe and reason",
                  .kind = METRIC_COUNTER,
                  LABELS(lost_labels)},
    [OWN_ERRORS] = {.name = "spoor_trace_errors",
                    .help = "Errors while the script ran, by their place in it",
                    .kind = METRIC_COUNTER,
                    LABELS(error_labels)},
    [OWN_RUNS] = {.name = "spoor_trace_program_runs",
                  .help = "How often the kernel ran the block of a probe",
                  .kind = METRIC_COUNTER,
                  LABELS(program_labels)},
    [OWN_SECONDS] = {.name = "spoor_trace_program_seconds",
                     .help = "Time of CPUs in which the kernel ran the block of a probe",
                     .unit = "seconds",
                     .kind = METRIC_COUNTER,
                     LABELS(program_labels)},
    [OWN_MEMORY] = {.name = "process_resident_memory_bytes",
                    .help = "Resident memory of spoor",
                    .unit = "bytes",
                    .kind = METRIC_GAUGE},
    [OWN_CPU] = {.name = "process_cpu_seconds",
                 .help = "Time of CPUs that spoor has taken",
                 .unit = "seconds",
                 .kind = METRIC_COUNTER},
};

/* A counter by its labels. Several programs may count at one place: then it is their sum. */
struct sum {
    double now, most; /* the sum of this reading, and the largest one: programs that are gone count nothing */
};

struct metric_own {
    const struct session *session;
    const char *script; /* its name */
    struct table sums[OWN_FAMILIES];
    double created;
    struct text values; /* of labels, while they are made */
    bool has_time;      /* the kernel measures how long programs run */
    int error;
};

int metric_own_make(const struct session *session, const char *script, struct table *taken,
                    struct metric_own **result)
{
    struct metric_own *own = *result = calloc(1, sizeof *own);
    if (!own)
        return -ENOMEM;
    own->session = session;
    own->script = script ? script : session_source(session)->name;
    own->created = (double)clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC;
    for (size_t i = 0; i < OWN_FAMILIES; i++)
        if (table_put(taken, families[i].name, taken))
            return -ENOMEM;
    return 0;
}

void metric_own_free(struct metric_own *own)
{
    for (size_t i = 0; own && i < OWN_FAMILIES; i++) {
        for (size_t k = 0; k < own->sums[i].count; k++)
            free(own->sums[i].entries[k].value);
        table_free(&own->sums[i]);
    }
    if (own)
        text_free(&own->values);
    free(own);
}

/* ---- sums ---- */

static void begin_values(struct metric_own *own)
{
    text_clear(&own->values);
}

static void add_value(struct metric_own *own, const char *value)
{
    metric_add_value(&own->values, value ? value : "", value ? strlen(value) : 0);
}

/* "script.bt:3:5", or nothing. */
static void add_place(struct metric_own *own, struct span span)
{
    struct text place = {0};
    if (span.source) {
        const struct position at = source_position(span.source, span.begin);
        text_printf(&place, "%s:%u:%u", span.source->name, at.line, at.column);
    }
    add_value(own, text_string(&place));
    own->values.failed |= place.failed;
    text_free(&place);
}

/* Adds to the counter with the labels in `values`. */
static void add(struct metric_own *own, enum own_family family, double number)
{
    struct table *table = &own->sums[family];
    struct sum *sum = own->values.failed ? NULL : table_get(table, own->values.bytes, own->values.length);
    if (!sum && !own->values.failed && (sum = calloc(1, sizeof *sum)) &&
        table_set(table, own->values.bytes, own->values.length, sum)) {
        free(sum);
        sum = NULL;
    }
    if (sum)
        sum->now += number;
    else
        own->error = -ENOMEM;
}

static void take_error(void *state, const struct session_error *error)
{
    struct metric_own *own = state;
    begin_values(own);
    if (error->is_lost) {
        add_value(own, error->probe);
        add_value(own, error->error);
        add(own, OWN_LOST, (double)error->count);
        return;
    }
    add_value(own, error->error);
    add_place(own, error->span);
    add_value(own, error->probe);
    add(own, OWN_ERRORS, (double)error->count);
}

static void take_skipped(struct metric_own *own, const char *probe, const char *reason, uint64_t count)
{
    if (!count)
        return;
    begin_values(own);
    add_value(own, probe);
    add_value(own, reason);
    add(own, OWN_LOST, (double)count);
}

static void take_program(void *state, const struct session_program *program)
{
    struct metric_own *own = state;
    begin_values(own);
    add_place(own, program->block);
    add_value(own, program->probe);
    add(own, OWN_RUNS, (double)program->runs.count);
    add(own, OWN_SECONDS, (double)program->runs.ns / NSEC_PER_SEC);
    own->has_time |= program->runs.count;
    take_skipped(own, program->probe, "nested", program->runs.skipped);
    take_skipped(own, program->probe, "missed", program->runs.missed);
}

/* ---- writing ---- */

static void write_sums(struct metric_own *own, enum own_family family, struct metric_writer *writer)
{
    const struct table *table = &own->sums[family];
    metric_begin(writer, &families[family]);
    for (size_t i = 0; i < table->count; i++) {
        struct sum *sum = table->entries[i].value;
        sum->most = sum->now > sum->most ? sum->now : sum->most;
        sum->now = 0;
        metric_point(writer, &(struct metric_point){.values = table->entries[i].key,
                                                    .value = sum->most,
                                                    .created = own->created});
    }
    metric_end(writer);
}

static void write_one(const struct metric_own *own, enum own_family family, double value,
                      struct metric_writer *writer)
{
    metric_begin(writer, &families[family]);
    metric_point(writer, &(struct metric_point){.values = "", .value = value, .created = own->created});
    metric_end(writer);
}

static double resident_bytes(void)
{
    char text[128];
    unsigned long long pages = 0;
    if (whole_read_short("/proc/self/statm", text, sizeof text) > 0 && sscanf(text, "%*u %llu", &pages) != 1)
        pages = 0;
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void write_script(struct metric_own *own, struct metric_writer *writer)
{
    begin_values(own);
    add_value(own, own->script);
    add_value(own, SPOOR_VERSION);
    metric_begin(writer, &families[OWN_SCRIPT]);
    if (own->values.failed)
        own->error = -ENOMEM;
    else
        metric_point(writer, &(struct metric_point){.values = own->values.bytes, .value = 1});
    metric_end(writer);
}

int metric_own_write(struct metric_own *own, struct metric_writer *writer)
{
    own->error = 0;
    session_each_error(own->session, take_error, own);
    session_each_program(own->session, take_program, own);
    write_script(own, writer);
    write_one(own, OWN_PROBES, (double)session_attached(own->session), writer);
    write_one(own, OWN_EVENTS, (double)session_events(own->session), writer);
    write_sums(own, OWN_LOST, writer);
    write_sums(own, OWN_ERRORS, writer);
    if (own->has_time) {
        write_sums(own, OWN_RUNS, writer);
        write_sums(own, OWN_SECONDS, writer);
    }
    const double resident = resident_bytes();
    if (resident > 0)
        write_one(own, OWN_MEMORY, resident, writer);
    write_one(own, OWN_CPU, (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / NSEC_PER_SEC, writer);
    return own->error ? own->error : writer->out->failed ? -ENOMEM : 0;
}
