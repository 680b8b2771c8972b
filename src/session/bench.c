/* SPDX-License-Identifier: BSD-3-Clause */
/* --test and --bench: runs the blocks of test and bench probes and reports the results.
 *
 * A test has failed when it returned something else than 0, called exit() with something else, or reported an error. The
 * time of a bench is what the kernel counts for the program itself. */
#include <stdio.h>
#include <string.h>

#include "print/json.h"
#include "session/state.h"

enum { NS_MIN = 100000000, RUNS_MAX = 10000000 };

static const char *bench_name(const struct session_unit *unit)
{
    return unit->variant->sites[0].detail;
}

static const char green[] = "\033[32m", red[] = "\033[31m", plain[] = "\033[0m";

static void test_line(struct session *session, const char *colour, const char *tag, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void test_line(struct session *session, const char *colour, const char *tag, const char *format, ...)
{
    va_list arguments;
    bool coloured = session->options.colours_output;
    text_printf(&session->out, "%s[%s]%s ", coloured ? colour : "", tag, coloured ? plain : "");
    va_start(arguments, format);
    text_vprintf(&session->out, format, arguments);
    va_end(arguments);
    text_char(&session->out, '\n');
}

struct outcome {
    bool passed;
    uint64_t ns;
    struct text output;
};

/* The script's output goes into the outcome while the test runs. */
static struct outcome test_run(struct session *session, const struct session_unit *unit)
{
    struct image_control *control = session->host->operations->control(session->host);
    struct outcome outcome = {0};
    struct text before = session->out;
    size_t reported_errors = session_reported_errors(session);
    session->out = (struct text){0};
    output_hold(session, true);
    control->result = 0;
    session->handler.exit_requested = false;
    session->handler.exit_code = 0;
    uint64_t begin = session->host->operations->clock(session->host);
    int error = session->host->operations->run(session->host, unit->program);
    outcome.ns = session->host->operations->clock(session->host) - begin;
    session_consume(session, true);
    outcome.passed = !error && !control->result && !session->handler.exit_code &&
                     session_reported_errors(session) == reported_errors;
    session->handler.exit_requested = false;
    output_hold(session, false);
    outcome.output = session->out;
    session->out = before;
    return outcome;
}

static void json_name(struct session *session, const char *type, const char *name)
{
    text_printf(&session->out, "{\"type\": \"%s\", \"data\": {", type);
    json_string(&session->out, name);
    text_add(&session->out, ": {");
}

static void test_all(struct session *session)
{
    size_t count = 0, passed = 0;
    uint64_t total = 0;
    struct text failed = {0};
    bool is_json = session->options.is_json;
    for (size_t i = 0; i < session->units.count; i++)
        count += session->units.items[i].variant->kind->time == PROBE_TEST;
    if (!is_json)
        test_line(session, green, "==========", "Running %zu test%s.", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < session->units.count && !interrupt_is_asked(session); i++) {
        const struct session_unit *unit = &session->units.items[i];
        if (unit->variant->kind->time != PROBE_TEST)
            continue;
        const char *name = bench_name(unit);
        if (!is_json)
            test_line(session, green, " RUN      ", "%s", name);
        struct outcome outcome = test_run(session, unit);
        total += outcome.ns;
        passed += outcome.passed;
        if (is_json) {
            json_name(session, "test_result", name);
            text_printf(&session->out,
                        "\"duration\": %llu, \"passed\": %s, \"output\": ", (unsigned long long)outcome.ns,
                        outcome.passed ? "true" : "false");
            text_char(&session->out, '"');
            json_escape(&session->out, text_string(&outcome.output), outcome.output.length);
            text_add(&session->out, "\"}}}\n");
        } else {
            text_append(&session->out, text_string(&outcome.output), outcome.output.length);
            test_line(session, outcome.passed ? green : red, outcome.passed ? "       OK " : "  FAILED  ",
                      "%s (%llu ns)", name, (unsigned long long)outcome.ns);
        }
        if (!outcome.passed)
            text_printf(&failed, "%s%s", failed.length ? "\n" : "", name);
        text_free(&outcome.output);
        session_flush(session);
    }
    if (!is_json) {
        test_line(session, green, "==========", "%zu test%s ran. (%llu ns total)", count,
                  count == 1 ? "" : "s", (unsigned long long)total);
        test_line(session, green, "  PASSED  ", "%zu test%s.", passed, passed == 1 ? "" : "s");
    }
    if (passed < count)
        session_fail_test(session);
    if (!is_json && passed < count) {
        test_line(session, red, "  FAILED  ", "%zu test%s, listed below:", count - passed,
                  count - passed == 1 ? "" : "s");
        char *rest = failed.bytes;
        for (char *name; rest && (name = strsep(&rest, "\n"));)
            test_line(session, red, "  FAILED  ", "%s", name);
    }
    text_free(&failed);
}

static void bench_all(struct session *session)
{
    const struct host_operations *host = session->host->operations;
    size_t widest = 40;
    if (session->kernel)
        kernel_count_time(session->kernel); /* where that is refused the calls are measured */
    for (size_t i = 0; i < session->units.count; i++)
        if (session->units.items[i].variant->kind->time == PROBE_BENCH &&
            strlen(bench_name(&session->units.items[i])) + 2 > widest)
            widest = strlen(bench_name(&session->units.items[i])) + 2;
    if (!session->options.is_json) {
        text_printf(&session->out, "%-*s%-15s%s\n", (int)widest, "Benchmark", "Time(ns)", "Iterations");
        for (size_t i = 0; i < widest + 15 + strlen("Iterations"); i++)
            text_char(&session->out, '-');
        text_char(&session->out, '\n');
    }
    for (size_t i = 0; i < session->units.count && !interrupt_is_asked(session); i++) {
        const struct session_unit *unit = &session->units.items[i];
        if (unit->variant->kind->time != PROBE_BENCH)
            continue;
        uint64_t runs = 0, begin = host->clock(session->host);
        struct host_runs before = host->runs(session->host, unit->program);
        while (runs < RUNS_MAX && host->clock(session->host) - begin < NS_MIN &&
               !session->handler.exit_requested) {
            if (host->run(session->host, unit->program))
                break;
            if (++runs % 1024 == 0)
                session_consume(session, true);
        }
        uint64_t wall = host->clock(session->host) - begin;
        struct host_runs after = host->runs(session->host, unit->program);
        uint64_t counted = after.count - before.count;
        uint64_t each = counted ? (after.ns - before.ns) / counted : runs ? wall / runs : 0;
        session_consume(session, true);
        session->handler.exit_requested = false;
        if (session->options.is_json) {
            json_name(session, "benchmark_result", bench_name(unit));
            text_printf(&session->out, "\"average\": %llu, \"iters\": %llu}}}\n", (unsigned long long)each,
                        (unsigned long long)runs);
        } else {
            text_printf(&session->out, "%-*s%-15llu%llu\n", (int)widest, bench_name(unit),
                        (unsigned long long)each, (unsigned long long)runs);
        }
        session_flush(session);
    }
}

void bench_run(struct session *session)
{
    if (session->options.runs == PROBE_TEST)
        test_all(session);
    else if (session->options.runs == PROBE_BENCH)
        bench_all(session);
    session_flush(session);
}
