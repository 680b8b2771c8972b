/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the probe kinds without attaching: what attach points expand to, how sites are grouped, and how mistakes
 * are reported; names, timers, counters, and probes in programs. The files are real ones of the machine; a test
 * whose file is missing says so and skips. */
#include "probe_testing.h"

/* ---- names ---- */

static void test_names_and_aliases(void **state)
{
    static const char *const pairs[][2] = {
        {"BEGIN", "begin"},      {"end", "end"},      {"u", "uprobe"},     {"U", "usdt"},
        {"ur", "uretprobe"},     {"UR", "uretprobe"}, {"t", "tracepoint"}, {"T", "tracepoint"},
        {"rt", "rawtracepoint"}, {"k", "kprobe"},     {"kr", "kretprobe"}, {"p", "profile"},
        {"i", "interval"},       {"s", "software"},   {"h", "hardware"},   {"UProbe", "uprobe"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct probe_kind *kind = probe_kind_find(probe_kinds, pairs[i][0]);
        assert_non_null(kind);
        assert_string_equal(kind->name, pairs[i][1]);
    }
    assert_null(probe_kind_find(probe_kinds, "blah"));
    for (size_t i = 1; probe_kinds[i]; i++)
        assert_true(strcmp(probe_kinds[i - 1]->name, probe_kinds[i]->name) < 0);
    for (size_t i = 0; probe_kinds[i]; i++) {
        assert_non_null(probe_kinds[i]->forms);
        assert_non_null(probe_kinds[i]->what);
        assert_non_null(probe_kinds[i]->plan);
        assert_true((probe_kinds[i]->attach != NULL) ==
                    (probe_kinds[i]->time == PROBE_EVENT || probe_kinds[i]->time == PROBE_ITERATE));
    }
}

static void test_unknown_kind(void **state)
{
    struct fixture f;
    (void)state;
    setup(&f);
    assert_string_equal(error_of(&f, "blah:x", "probe types are"), "Invalid probe type: blah");
    assert_string_equal(error_of(&f, "urpobe:/bin/bash:main", "'uprobe'"), "Invalid probe type: urpobe");
    assert_string_equal(error_of(&f, "tracpoint:a:b", "'tracepoint'"), "Invalid probe type: tracpoint");
    teardown(&f);
}

static void test_special(void **state)
{
    struct fixture f;
    struct probe_sites sites;
    struct context_uses uses = {0};
    (void)state;
    setup(&f);
    assert_int_equal(expand(&f, "BEGIN", &sites, NULL), 0);
    assert_string_equal(sites.items[0].name, "begin");
    assert_int_equal(plan(&f, "End", &uses), 1);
    assert_int_equal(f.variants.items[0].context.program_type, BPF_PROG_TYPE_RAW_TRACEPOINT);
    assert_int_equal(f.variants.items[0].kind->time, PROBE_AT_END);
    assert_string_equal(error_of(&f, "begin:x", "begin"), "begin probe type requires 0 arguments, found 1");
    teardown(&f);
}

/* ---- timers and counters ---- */

static void test_timer(void **state)
{
    static const struct {
        const char *text, *name;
        uint64_t period;
    } good[] = {
        {"interval:s:1", "interval:s:1", 1000000000}, {"i:ms:200", "interval:ms:200", 200000000},
        {"interval:us:1", "interval:us:1", 1000},     {"profile:hz:99", "profile:hz:99", 10101010},
        {"profile:10ms", "profile:10ms", 10000000},   {"interval:1000", "interval:1000", 1000},
        {"interval:1m", "interval:1m", 60000000000},
    };
    static const char *const small[] = {"interval:999", "interval:us:0", "interval:hz:2000000", "interval:0s",
                                        "interval:hz:0"};
    struct fixture f;
    struct probe_sites sites;
    (void)state;
    setup(&f);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(expand(&f, good[i].text, &sites, NULL), 0);
        assert_string_equal(sites.items[0].name, good[i].name);
        const struct perf_site *site = sites.items[0].detail;
        assert_int_equal(site->attributes.sample_period, good[i].period);
        assert_int_equal(site->attributes.type, PERF_TYPE_SOFTWARE);
    }
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        assert_string_equal(error_of(&f, small[i], NULL),
                            "Invalid rate of interval probe. Minimum is 1000 or 1us.");
    assert_string_equal(error_of(&f, "interval:m:1", "hz, s, ms and us"), "m is not an accepted unit");
    assert_string_equal(error_of(&f, "interval:s:x", "interval:s:1"), "'x' is not a number");
    assert_string_equal(error_of(&f, "interval:10parsecs", NULL), "'10parsecs' is not a duration");
    error_of(&f, "interval:99999999999999999999", NULL);
    error_of(&f, "interval:s:18446744073709551615", NULL);
    assert_string_equal(error_of(&f, "interval", "interval:UNIT"),
                        "interval probe type requires 1 or 2 arguments, found 0");
    teardown(&f);
}

static void test_counters(void **state)
{
    struct fixture f;
    struct probe_sites sites;
    struct context_uses uses = {0};
    (void)state;
    setup(&f);
    assert_int_equal(expand(&f, "s:cs", &sites, NULL), 0);
    const struct perf_site *site = sites.items[0].detail;
    assert_int_equal(site->attributes.config, PERF_COUNT_SW_CONTEXT_SWITCHES);
    assert_int_equal(site->attributes.sample_period, 1000);
    assert_string_equal(sites.items[0].name, "software:cs");
    assert_int_equal(expand(&f, "software:page-faults:7", &sites, NULL), 0);
    site = sites.items[0].detail;
    assert_int_equal(site->attributes.sample_period, 7);
    assert_int_equal(expand(&f, "hardware:cycles:1000", &sites, NULL), 0);
    site = sites.items[0].detail;
    assert_int_equal(site->attributes.type, PERF_TYPE_HARDWARE);
    assert_int_equal(plan(&f, "software:faults:1", &uses), 1);
    assert_int_equal(f.variants.items[0].context.program_type, BPF_PROG_TYPE_PERF_EVENT);
    assert_string_equal(error_of(&f, "software:page-fault", "page-faults"),
                        "No matches for software page-fault.");
    error_of(&f, "software:cs:0", "1000");
    error_of(&f, "software:cs:many", "1000");
    f.environment.features.hardware_events = false;
    assert_non_null(strstr(error_of(&f, "hardware:cycles", "software:cpu-clock"), "performance monitoring"));
    teardown(&f);
}

/* ---- uprobes ---- */

static void test_uprobe_names(void **state)
{
    struct fixture f;
    struct probe_sites sites;
    (void)state;
    if (lacks(bash))
        return;
    setup(&f);
    assert_int_equal(expand(&f, "uprobe:/bin/bash:readline", &sites, NULL), 0);
    assert_int_equal(sites.count, 1);
    assert_string_equal(sites.items[0].name, "uprobe:/bin/bash:readline");
    assert_string_equal(sites.items[0].function, "readline");
    const struct user_site *at = sites.items[0].detail;
    uint64_t offset = at->offset;
    assert_int_not_equal(offset, 0);
    assert_int_equal(expand(&f, "uprobe:/bin/bash:\"readline\"", &sites, NULL), 0);
    assert_int_equal(((const struct user_site *)sites.items[0].detail)->offset, offset);
    f.environment.is_unsafe = true; /* it need not be an instruction's */
    assert_int_equal(expand(&f, "uprobe:/bin/bash:readline+4", &sites, NULL), 0);
    f.environment.is_unsafe = false;
    assert_int_equal(((const struct user_site *)sites.items[0].detail)->offset, offset + 4);
    assert_string_equal(sites.items[0].function, "readline");
    /* a command found in PATH, and a library found by its name */
    assert_int_equal(expand(&f, "u:bash:readline", &sites, NULL), 0);
    assert_int_equal(expand(&f, "ur:libc:malloc", &sites, NULL), 0);
    assert_non_null(strstr(sites.items[0].name, "libc.so"));
    assert_int_equal(strncmp(sites.items[0].name, "uretprobe:/", 11), 0);
    teardown(&f);
}

static void test_uprobe_address(void **state)
{
    struct fixture f;
    struct probe_sites sites;
    struct elf_file *file;
    struct elf_symbol symbol;
    (void)state;
    if (lacks(bash))
        return;
    setup(&f);
    assert_int_equal(elf_file_open(bash, &file), 0);
    assert_int_equal(elf_file_function(file, "readline", &symbol), 0);
    const char *text = arena_printf(&f.arena, "uprobe:/bin/bash:0x%llx", (unsigned long long)symbol.address);
    assert_int_equal(expand(&f, text, &sites, NULL), 0);
    assert_int_equal(((const struct user_site *)sites.items[0].detail)->offset, symbol.offset);
    assert_string_equal(sites.items[0].function, "readline");
    error_of(&f, "uprobe:/bin/bash:0xffffffffffff", "load bias");
    error_of(&f, arena_printf(&f.arena, "uprobe:/bin/bash:readline+%llu", (unsigned long long)symbol.size),
             NULL);
    elf_file_close(file);
    teardown(&f);
}

static void test_uprobe_patterns(void **state)
{
    struct fixture f;
    struct probe_sites sites;
    struct context_uses uses = {0};
    (void)state;
    if (lacks(bash))
        return;
    setup(&f);
    assert_int_equal(expand(&f, "uprobe:/bin/bash:rl_*", &sites, NULL), 0);
    assert_true(sites.count > 50);
    for (size_t i = 0; i < sites.count; i++) {
        assert_int_equal(strncmp(sites.items[i].function, "rl_", 3), 0);
        for (size_t j = 0; j < i; j++) /* no function appears twice under two names */
            assert_int_not_equal(((const struct user_site *)sites.items[i].detail)->offset,
                                 ((const struct user_site *)sites.items[j].detail)->offset);
    }
    size_t count = sites.count;
    assert_int_equal(plan(&f, "uprobe:/bin/bash:rl_*", &uses), 1);
    uses.site = true;
    assert_int_equal(plan(&f, "uprobe:/bin/bash:rl_*", &uses), 1);
    assert_non_null(f.variants.items[0].context.lower_site);
    f.environment.features.attach_cookie = false;
    assert_int_equal(plan(&f, "uprobe:/bin/bash:rl_*", &uses), count);
    assert_string_equal(f.variants.items[0].context.site_function, f.variants.items[0].sites[0].function);
    f.environment.features.attach_cookie = true;
    /* a pattern of paths skips files that are not ELF */
    assert_true(count_sites(&f, "uprobe:/bin/bas*:readline") == 1);
    assert_true(count_sites(&f, "uprobe:/usr/lib/*/libc.so*:malloc") >= 1);
    teardown(&f);
}

static void test_uprobe_context(void **state)
{
    struct fixture f;
    struct context_uses uses = {.arguments = 1};
    (void)state;
    if (lacks(bash))
        return;
    setup(&f);
    assert_int_equal(plan(&f, "uprobe:/bin/bash:readline", &uses), 1);
    const struct probe_context *context = &f.variants.items[0].context;
    assert_int_equal(context->program_type, BPF_PROG_TYPE_KPROBE);
    assert_int_equal(context->expected_attach_type, 48);
    assert_int_equal(context->space, SPACE_USER);
    assert_true(context->is_preemptible && context->may_sleep && context->has_registers &&
                context->filters_pid);
    assert_true(context->argument_count >= 6);
    assert_ptr_equal(context->arguments[0], &type_u64);
    assert_null(context->retval);
    assert_int_equal(plan(&f, "uretprobe:/bin/bash:readline", &uses), 1);
    context = &f.variants.items[0].context;
    assert_ptr_equal(context->retval, &type_u64);
    assert_int_equal(context->argument_count, 0);
    f.environment.features.uprobe_multi = false;
    assert_int_equal(plan(&f, "uprobe:/bin/bash:readline", &uses), 1);
    assert_int_equal(f.variants.items[0].context.expected_attach_type, 0);
    assert_false(f.variants.items[0].context.filters_pid);
    teardown(&f);
}

static void test_uprobe_errors(void **state)
{
    struct fixture f;
    (void)state;
    if (lacks(bash))
        return;
    setup(&f);
    assert_string_equal(error_of(&f, "uprobe:/nonexistent:f", NULL),
                        "uprobe target file '/nonexistent' does not exist or is not executable");
    assert_string_equal(error_of(&f, "uprobe:nosuchcommand:f", "PATH"),
                        "uprobe target file 'nosuchcommand' does not exist or is not executable");
    assert_string_equal(error_of(&f, "uprobe:/bin/bash:reedline", "'readline'"),
                        "No matches for uprobe /bin/bash:reedline.");
    assert_string_equal(error_of(&f, "uprobe:/bin/bash:no_such_*", "spoor -l"),
                        "No matches for uprobe /bin/bash:no_such_*.");
    assert_non_null(strstr(error_of(&f, "uprobe:/etc/passwd:f", NULL), "/etc/passwd"));
    assert_string_equal(error_of(&f, "uprobe:main", "uprobe:BINARY:FUNCTION"),
                        "uprobe probe type requires 2 arguments, found 1");
    error_of(&f, "uprobe:/bin/bash:a:b", "quotes");
    error_of(&f, "uretprobe:/bin/bash:readline+4", "uretprobe:/bin/bash:readline");
    error_of(&f, "uretprobe:/bin/bash:0x1234", NULL);
    teardown(&f);
}

static void test_uprobe_of_process(void **state)
{
    struct fixture f;
    struct probe_sites sites;
    (void)state;
    setup(&f);
    pid_t process = getpid();
    f.environment.processes = &process;
    f.environment.process_count = 1;
    f.environment.pid = process;
    assert_int_equal(expand(&f, "uprobe:main", &sites, NULL), 0);
    assert_string_equal(sites.items[0].function, "main");
    assert_null(strstr(sites.items[0].name, "/proc/"));
    assert_int_equal(expand(&f, "uprobe::main", &sites, NULL), 0);
    assert_int_equal(expand(&f, "uprobe:*:malloc", &sites, NULL), 0);
    assert_true(sites.count >= 1);
    f.environment.pid = process = 0x3fffffff;
    error_of(&f, "uprobe:main", NULL);
    teardown(&f);
}

/* ---- USDT ---- */

static void test_usdt_names(void **state)
{
    struct fixture f;
    struct probe_sites sites;
    (void)state;
    if (lacks(postgres))
        return;
    setup(&f);
    const char *base = arena_printf(&f.arena, "usdt:%s:", postgres);
    assert_int_equal(expand(&f, arena_printf(&f.arena, "%squery__start", base), &sites, NULL), 0);
    assert_int_equal(sites.count, 1);
    assert_string_equal(sites.items[0].name, arena_printf(&f.arena, "%spostgresql:query__start", base));
    const struct user_site *at = sites.items[0].detail;
    assert_int_not_equal(at->offset, 0);
    assert_int_not_equal(at->semaphore, 0);
    assert_int_equal(count_sites(&f, arena_printf(&f.arena, "%spostgresql:query__start", base)), 1);
    assert_int_equal(count_sites(&f, arena_printf(&f.arena, "%spost*:query__rewrite__*", base)), 6);
    assert_true(count_sites(&f, arena_printf(&f.arena, "%s*", base)) > 50);
    assert_string_equal(error_of(&f, arena_printf(&f.arena, "%squery_start", base), "query__start"),
                        arena_printf(&f.arena, "No matches for usdt %s:query_start.", postgres));
    error_of(&f, arena_printf(&f.arena, "%sother:query__start", base), NULL);
    error_of(&f, "usdt:/bin/bash:x", "no USDT probe at all");
    teardown(&f);
}

static void test_usdt_grouping(void **state)
{
    struct fixture f;
    struct context_uses uses = {.site = true};
    (void)state;
    if (lacks(postgres))
        return;
    setup(&f);
    const char *done = arena_printf(&f.arena, "usdt:%s:query__rewrite__done", postgres);
    /* no argument is read: one program suffices */
    assert_int_equal(plan(&f, done, &uses), 1);
    assert_int_equal(f.variants.items[0].count, 3);
    assert_int_equal(f.variants.items[0].context.site_count, 1); /* one name */
    assert_null(f.variants.items[0].context.site_function);
    assert_int_equal(plan(&f, arena_printf(&f.arena, "usdt:%s:query__rewrite__*", postgres), &uses), 1);
    assert_int_equal(f.variants.items[0].count, 6);
    assert_int_equal(f.variants.items[0].context.site_count, 2);
    assert_string_not_equal(f.variants.items[0].sites[0].name, f.variants.items[0].sites[1].name);
    /* the argument is in %rbx, %r12 and %rbx at the three sites */
    uses.arguments = 1;
    assert_int_equal(plan(&f, done, &uses), 2);
    assert_int_equal(f.variants.items[0].count + f.variants.items[1].count, 3);
    for (size_t i = 0; i < 2; i++) {
        const struct probe_context *context = &f.variants.items[i].context;
        assert_int_equal(context->argument_count, 1);
        assert_int_equal(context->arguments[0]->size, 8);
        assert_false(context->arguments[0]->is_signed);
        assert_non_null(context->args_missing);
        assert_true(context->may_sleep);
    }
    /* an argument in memory, at an address relative to the instruction */
    uses.arguments = 1;
    assert_int_equal(plan(&f, arena_printf(&f.arena, "usdt:%s:checkpoint__done", postgres), &uses), 1);
    assert_int_equal(f.variants.items[0].context.arguments[0]->size, 4);
    assert_true(f.variants.items[0].context.arguments[0]->is_signed);
    f.environment.features.attach_cookie = false;
    uses.arguments = 0;
    assert_int_equal(plan(&f, done, &uses), 1);
    assert_int_equal(plan(&f, arena_printf(&f.arena, "usdt:%s:query__rewrite__*", postgres), &uses), 2);
    uses.site = false;
    assert_int_equal(plan(&f, done, &uses), 1);
    teardown(&f);
}

static void test_kind_patterns(void **state)
{
    struct fixture f;
    struct probe_sites sites;
    (void)state;
    setup(&f);
    if (!lacks_tracefs(&f)) {
        assert_int_equal(expand(&f, "*point:sched:sched_switch", &sites, NULL), 0);
        assert_string_equal(sites.items[0].name, "tracepoint:sched:sched_switch");
        assert_int_equal(f.diagnostics.count, 0);
    }
    if (!lacks(bash)) {
        assert_int_equal(expand(&f, "u*probe:/bin/bash:readline", &sites, NULL), 0);
        assert_int_equal(sites.count, 2);
    }
    assert_string_equal(error_of(&f, "u*probe:/bin/bash:nosuchfunction", "spoor -l"),
                        "No matches for u*probe:/bin/bash:nosuchfunction.");
    error_of(&f, "q*:x", NULL);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_aliases), cmocka_unit_test(test_unknown_kind),
        cmocka_unit_test(test_special),           cmocka_unit_test(test_timer),
        cmocka_unit_test(test_counters),          cmocka_unit_test(test_uprobe_names),
        cmocka_unit_test(test_uprobe_address),    cmocka_unit_test(test_uprobe_patterns),
        cmocka_unit_test(test_uprobe_context),    cmocka_unit_test(test_uprobe_errors),
        cmocka_unit_test(test_uprobe_of_process), cmocka_unit_test(test_usdt_names),
        cmocka_unit_test(test_usdt_grouping),     cmocka_unit_test(test_kind_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
