/* SPDX-License-Identifier: BSD-3-Clause */
/* src/metrics/maps.c: what becomes of the series of a script's maps as time passes, with a clock that the test has. The
 * script runs on the user-space host. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "builtin/all.h"
#include "metrics/maps.h"
#include "print/value.h"

#define SECOND ((uint64_t)NSEC_PER_SEC)
#define BEGIN (1000 * SECOND)

struct trace {
    struct session_options options;
    struct source source;
    struct map_watcher watcher;
    struct session *session;
    struct metric_maps *maps;
    struct table names;
    uint64_t now; /* the test's clock */
    struct text written;
};

static void ignore_report(void *state, const char *text)
{
    (void)state, (void)text;
}

static void ignore_output(void *state, const char *bytes, size_t length)
{
    (void)state, (void)bytes, (void)length;
}

static void emptied(void *state, const char *map, uint64_t moment)
{
    struct trace *trace = state;
    (void)moment;
    assert_int_equal(metric_maps_emptied(trace->maps, trace->now, map), 0);
}

/* Runs a script, all of whose blocks are at the beginning. */
static void run(struct trace *trace, const char *script)
{
    *trace = (struct trace){.source = {"script", script, strlen(script)}, .now = BEGIN};
    trace->watcher = (struct map_watcher){.state = trace, .emptied = emptied};
    trace->options = (struct session_options){.source = &trace->source,
                                              .kinds = probe_kinds,
                                              .builtins = &builtin_table,
                                              .without_kernel = true,
                                              .is_embedded = true,
                                              .is_quiet = true,
                                              .output = -1,
                                              .watcher = &trace->watcher,
                                              .report = ignore_report,
                                              .write = ignore_output};
    assert_int_equal(session_open(&trace->options, &trace->session), 0);
    assert_int_equal(session_compile(trace->session), 0);
    assert_int_equal(metric_maps_make(trace->session, NULL, 100, &trace->names, &trace->maps), 0);
    assert_int_equal(session_begin(trace->session), 0);
    assert_true(session_iterate(trace->session, 0) >= 0);
}

/* Returns what is published so long after the beginning. */
static const char *written(struct trace *trace, uint64_t after)
{
    struct metric_writer writer = {.format = &metric_text, .out = &trace->written};
    text_clear(&trace->written);
    trace->now = BEGIN + after;
    assert_int_equal(metric_maps_write(trace->maps, trace->now, &writer), 0);
    metric_finish(&writer);
    return text_string(&trace->written);
}

static bool has(struct trace *trace, uint64_t after, const char *line)
{
    return strstr(written(trace, after), line) != NULL;
}

static void end(struct trace *trace)
{
    int status;
    session_end(trace->session, &status);
    metric_maps_free(trace->maps);
    table_free(&trace->names);
    session_close(trace->session);
    text_free(&trace->written);
}

/* What a map had when it was cleared goes on for five minutes, counted from then or from when it was there last. */
static void cleared_series_become_stale(void **state)
{
    struct trace trace;
    (void)state;
    run(&trace, "begin { @n[\"gone\"] = count(); @n[\"stays\"] = count(); @h[\"gone\"] = hist(5); "
                "@s[\"gone\"] = sum(7); }"
                "begin { clear(@n); clear(@h); clear(@s); } begin { @n[\"stays\"] = count(); exit(); }");
    assert_true(has(&trace, METRIC_STALE_S * SECOND - 1, "spoor_n_total{key0=\"gone\"} 1\n"));
    assert_true(has(&trace, METRIC_STALE_S * SECOND - 1, "spoor_h_count{key0=\"gone\"} 1\n"));
    assert_true(has(&trace, METRIC_STALE_S * SECOND - 1, "spoor_s_sum{key0=\"gone\"} 7\n"));
    assert_false(has(&trace, METRIC_STALE_S * SECOND, "gone"));
    assert_true(has(&trace, 9000 * SECOND, "spoor_n_total{key0=\"stays\"} 2\n"));
    end(&trace);
}

/* A least or largest value of nothing is no number; what comes after that begins anew. */
static void emptied_extremes_are_none(void **state)
{
    static const char *const ways[] = {"clear(@least); clear(@most);", "zero(@least); zero(@most);",
                                       "delete(@least, \"a\"); delete(@most, \"a\");"};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct trace trace;
        struct text script = {0};
        text_printf(&script,
                    "begin { @least[\"a\"] = min(-3); @most[\"a\"] = max(9); @alone = min(5); }"
                    "begin { %s clear(@alone); } begin { @most[\"b\"] = max(-1); exit(); }",
                    ways[i]);
        run(&trace, text_string(&script));
        assert_false(has(&trace, 0, "key0=\"a\""));
        assert_false(has(&trace, 0, "TYPE spoor_least"));
        assert_false(has(&trace, 0, "TYPE spoor_alone"));
        assert_true(has(&trace, 0, "spoor_most{key0=\"b\"} -1\n"));
        end(&trace);
        text_free(&script);
    }
}

/* A number that is counted up by the script itself is one that it may set to anything. */
static void numbers_are_gauges(void **state)
{
    struct trace trace;
    (void)state;
    run(&trace, "begin { @up[\"a\"]++; @up[\"a\"]++; @up[\"b\"]++; @down--; @down--; @set = 5; "
                "@cleared[1]++; @cleared[1]++; }"
                "begin { delete(@up, \"b\"); clear(@cleared); } begin { @cleared[2]++; @set = 3; exit(); }");
    assert_true(has(&trace, 0, "# TYPE spoor_up gauge\nspoor_up{key0=\"a\"} 2\n# HELP"));
    assert_true(has(&trace, 0, "# TYPE spoor_down gauge\nspoor_down -2\n"));
    assert_true(has(&trace, 0, "# TYPE spoor_set gauge\nspoor_set 3\n"));
    assert_true(has(&trace, 0, "# TYPE spoor_cleared gauge\nspoor_cleared{key0=\"2\"} 1\n# HELP"));
    end(&trace);
}

/* Nobody knows the sum of a histogram's values, in no format. */
static void histograms_have_no_sum(void **state)
{
    static const struct metric_format *const formats[] = {&metric_text, &metric_openmetrics,
                                                          &metric_protobuf};
    struct trace trace;
    (void)state;
    run(&trace,
        "begin { @p[\"a text\"] = hist(5); @p[\"another\"] = hist(-5); @l[\"a text\"] = lhist(5, 0, 10, 1);"
        "@f[\"a text\", 1] = llhist(500); @n = hist(7); exit(); }");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct metric_writer writer = {.format = formats[i], .out = &trace.written};
        text_clear(&trace.written);
        assert_int_equal(metric_maps_write(trace.maps, BEGIN, &writer), 0);
        metric_finish(&writer);
        assert_non_null(memmem(trace.written.bytes, trace.written.length, "a text", strlen("a text")));
        assert_null(memmem(trace.written.bytes, trace.written.length, "_sum", strlen("_sum")));
    }
    assert_true(has(&trace, 0, "spoor_p_count{key0=\"a text\"} 1\n"));
    assert_true(has(&trace, 0, "spoor_f_count{key0=\"a text\",key1=\"1\"} 1\n"));
    end(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cleared_series_become_stale),
        cmocka_unit_test(emptied_extremes_are_none),
        cmocka_unit_test(numbers_are_gauges),
        cmocka_unit_test(histograms_have_no_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
