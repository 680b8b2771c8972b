/* SPDX-License-Identifier: BSD-3-Clause */
/* Probe kinds without attaching: what attach points expand to, how sites are grouped, what is listed, and
 * what is said about mistakes. Files are real ones of the machine; tests that need one say so and skip. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lang/parse.h"
#include "probe/kind.h"
#include "probe/perf_event.h"
#include "probe/tracepoint.h"
#include "probe/user.h"
#include "sym/kallsyms.h"
#include "sym/tracefs.h"

static const char postgres[] = "/usr/lib/postgresql/15/bin/postgres";
static const char bash[] = "/bin/bash";

enum { KINDS = 16 };

struct fixture {
    struct arena arena;
    jmp_buf out_of_memory;
    struct diagnostics diagnostics;
    struct probe_environment environment;
    struct probe_sites sites[KINDS];
    struct probe_variants variants;
    struct source source;
};

static void setup(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    if (arena_guard(&f->arena, f->out_of_memory))
        fail_msg("out of memory");
    f->diagnostics.arena = &f->arena;
    f->environment.arena = &f->arena;
    f->environment.diagnostics = &f->diagnostics;
#define X(name, what) f->environment.features.name = true;
    BPF_FEATURES(X)
#undef X
    f->environment.features.cpus = 2;
}

static void teardown(struct fixture *f)
{
    probe_environment_close(&f->environment);
    arena_free(&f->arena);
}

static const struct attach_point *point(struct fixture *f, const char *text)
{
    struct source *source = arena_new(&f->arena, struct source);
    *source = (struct source){.name = "stdin", .text = text, .length = strlen(text)};
    const struct attach_point *parsed = attach_point_parse(&f->arena, &f->diagnostics, source, NULL);
    assert_non_null(parsed);
    return parsed;
}

/* Expands; the sites of all kinds that it found, in one list. */
static int expand(struct fixture *f, const char *text, struct probe_sites *out,
                  const struct probe_kind **kind)
{
    memset(f->sites, 0, sizeof f->sites);
    int error = probe_expand(&f->environment, probe_kinds, point(f, text), f->sites);
    *out = (struct probe_sites){0};
    for (size_t i = 0; probe_kinds[i]; i++)
        for (size_t j = 0; j < f->sites[i].count; j++) {
            *arena_push(&f->arena, out->items, out->count, out->room) = f->sites[i].items[j];
            if (kind)
                *kind = probe_kinds[i];
        }
    return error;
}

static size_t count_sites(struct fixture *f, const char *text)
{
    struct probe_sites sites;
    return expand(f, text, &sites, NULL) ? 0 : sites.count;
}

/* Expands and plans; the variants are added to f->variants, which is emptied first. */
static size_t plan(struct fixture *f, const char *text, const struct context_uses *uses)
{
    struct probe_sites sites;
    const struct probe_kind *kind = NULL;
    f->variants = (struct probe_variants){0};
    assert_int_equal(expand(f, text, &sites, &kind), 0);
    assert_int_equal(kind->plan(kind, &f->environment, uses, &sites, &f->variants), 0);
    size_t planned = 0;
    for (size_t i = 0; i < f->variants.count; i++) {
        const struct probe_variant *variant = &f->variants.items[i];
        assert_true(variant->context.site_count >= 1 && variant->context.site_count <= variant->count);
        assert_ptr_equal(variant->kind, kind);
        assert_true(variant->context.program_type != 0);
        planned += variant->count;
    }
    assert_true(planned <= sites.count);
    return f->variants.count;
}

/* The message of the first error, which must be there; "" when there is a hint that lacks `hint`. */
static const char *error_of(struct fixture *f, const char *text, const char *hint)
{
    struct probe_sites sites;
    f->diagnostics.count = f->diagnostics.errors = 0;
    assert_int_not_equal(expand(f, text, &sites, NULL), 0);
    assert_int_equal(f->diagnostics.errors, 1);
    assert_non_null(f->diagnostics.items[0].place.source);
    if (hint) {
        assert_non_null(f->diagnostics.items[0].hint);
        if (!strstr(f->diagnostics.items[0].hint, hint))
            fail_msg("hint '%s' lacks '%s'", f->diagnostics.items[0].hint, hint);
    }
    return f->diagnostics.items[0].message;
}

static bool lacks(const char *path)
{
    if (!access(path, R_OK))
        return false;
    print_message("SKIP: no %s\n", path);
    return true;
}

static bool lacks_tracefs(struct fixture *f)
{
    if (probe_tracefs(&f->environment))
        return false;
    print_message("SKIP: tracefs is not readable\n");
    return true;
}

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
        assert_true((probe_kinds[i]->attach != NULL) == (probe_kinds[i]->time == PROBE_EVENT));
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
        assert_int_equal(site->on_one_cpu, good[i].name[0] == 'i');
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
    assert_int_equal(expand(&f, "uprobe:/bin/bash:readline+4", &sites, NULL), 0);
    assert_int_equal(((const struct user_site *)sites.items[0].detail)->offset, offset + 4);
    assert_string_equal(sites.items[0].function, "readline");
    /* a command of PATH and a library by its name */
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
        for (size_t j = 0; j < i; j++) /* no function twice under two names */
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
    /* a pattern over paths passes over what is no ELF file */
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
    f.environment.pid = getpid();
    assert_int_equal(expand(&f, "uprobe:main", &sites, NULL), 0);
    assert_string_equal(sites.items[0].function, "main");
    assert_null(strstr(sites.items[0].name, "/proc/"));
    assert_int_equal(expand(&f, "uprobe::main", &sites, NULL), 0);
    assert_int_equal(expand(&f, "uprobe:*:malloc", &sites, NULL), 0);
    assert_true(sites.count >= 1);
    f.environment.pid = 0x3fffffff;
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
    /* nobody reads arguments: one program */
    assert_int_equal(plan(&f, done, &uses), 1);
    assert_int_equal(f.variants.items[0].count, 3);
    assert_int_equal(f.variants.items[0].context.site_count, 1); /* one name */
    assert_null(f.variants.items[0].context.site_function);
    assert_int_equal(plan(&f, arena_printf(&f.arena, "usdt:%s:query__rewrite__*", postgres), &uses), 1);
    assert_int_equal(f.variants.items[0].count, 6);
    assert_int_equal(f.variants.items[0].context.site_count, 2);
    assert_string_not_equal(f.variants.items[0].sites[0].name, f.variants.items[0].sites[1].name);
    /* three sites: %rbx, %r12, %rbx */
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
    /* an argument that lies at an address relative to the instruction */
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

/* ---- tracepoints ---- */

static const char *const no_fields[] = {NULL};

static void test_tracepoint_names(void **state)
{
    struct fixture f;
    struct probe_sites sites;
    (void)state;
    setup(&f);
    if (lacks_tracefs(&f)) {
        teardown(&f);
        return;
    }
    assert_int_equal(expand(&f, "t:sched:sched_switch", &sites, NULL), 0);
    assert_int_equal(sites.count, 1);
    assert_string_equal(sites.items[0].name, "tracepoint:sched:sched_switch");
    assert_true(count_sites(&f, "tracepoint:syscalls:sys_enter_*") > 200);
    assert_true(count_sites(&f, "tracepoint:sch[e]d:sched_process_*") > 3);
    assert_string_equal(error_of(&f, "tracepoint:sched:sched_swich", "sched_switch"),
                        "No matches for tracepoint sched:sched_swich.");
    error_of(&f, "tracepoint:sched_switch", "tracepoint:SUBSYSTEM:EVENT");
    error_of(&f, "tracepoint:../sched:sched_switch", NULL);
    error_of(&f, "tracepoint:sched:", NULL);
    teardown(&f);
}

static void test_tracepoint_syscalls(void **state)
{
    static const char *const fd[] = {"fd", NULL}, *const ret[] = {"ret", NULL};
    struct fixture f;
    struct context_uses uses = {.site = true, .fields = no_fields};
    (void)state;
    setup(&f);
    if (lacks_tracefs(&f) || !probe_btf(&f.environment)) {
        teardown(&f);
        return;
    }
    /* many: one program on the hook that all pass */
    assert_int_equal(plan(&f, "tracepoint:syscalls:sys_enter_*", &uses), 1);
    const struct probe_variant *variant = &f.variants.items[0];
    assert_int_equal(((const struct tracepoint_detail *)variant->detail)->way, TRACEPOINT_DISPATCH);
    assert_int_equal(variant->context.program_type, BPF_PROG_TYPE_TRACING);
    assert_int_not_equal(variant->context.attach_btf_id, 0);
    assert_non_null(variant->context.lower_gate);
    assert_non_null(variant->context.lower_site);
    assert_int_equal(variant->context.space, SPACE_USER);
    assert_string_equal(tracepoint_dispatch_event(variant), "sys_enter");
    f.environment.features.tp_btf = false;
    assert_int_equal(plan(&f, "tracepoint:syscalls:sys_enter_*", &uses), 1);
    assert_int_equal(f.variants.items[0].context.program_type, BPF_PROG_TYPE_RAW_TRACEPOINT);
    f.environment.features.tp_btf = true;
    assert_int_equal(plan(&f, "tracepoint:syscalls:sys_*", &uses), 2);
    /* one: its perf tracepoint */
    assert_int_equal(plan(&f, "tracepoint:syscalls:sys_enter_openat", &uses), 1);
    variant = &f.variants.items[0];
    assert_int_equal(((const struct tracepoint_detail *)variant->detail)->way, TRACEPOINT_PERF);
    assert_int_equal(variant->context.program_type, BPF_PROG_TYPE_TRACEPOINT);
    /* return values: all alike */
    uses.args = true;
    uses.fields = ret;
    assert_int_equal(plan(&f, "tracepoint:syscalls:sys_exit_*", &uses), 1);
    /* a field that some have, at some places: what lacks it is left out, and that is said */
    uses.fields = fd;
    f.diagnostics.count = 0;
    size_t variants = plan(&f, "tracepoint:syscalls:sys_enter_*", &uses);
    assert_true(variants > 1 && variants < 12);
    assert_int_equal(f.diagnostics.count, 1);
    assert_int_equal(f.diagnostics.items[0].severity, DIAGNOSTIC_WARNING);
    assert_non_null(strstr(f.diagnostics.items[0].message, "have no field 'fd'"));
    struct field found;
    for (size_t i = 0; i < f.variants.count; i++)
        assert_true(type_find_field(f.variants.items[i].context.args, "fd", &found));
    teardown(&f);
}

static void test_tracepoint_ways(void **state)
{
    static const char *const prev[] = {"prev_pid", NULL}, *const name[] = {"filename", NULL};
    struct fixture f;
    struct context_uses uses = {.fields = no_fields};
    struct field found;
    (void)state;
    setup(&f);
    if (lacks_tracefs(&f) || !probe_btf(&f.environment)) {
        teardown(&f);
        return;
    }
    assert_int_equal(plan(&f, "tracepoint:sched:sched_switch", &uses), 1);
    assert_int_equal(f.variants.items[0].context.program_type, BPF_PROG_TYPE_RAW_TRACEPOINT);
    uses.args = true;
    uses.fields = prev;
    assert_int_equal(plan(&f, "tracepoint:sched:sched_switch", &uses), 1);
    const struct probe_context *context = &f.variants.items[0].context;
    assert_int_equal(context->program_type, BPF_PROG_TYPE_TRACEPOINT);
    assert_int_equal(context->space, SPACE_KERNEL);
    assert_true(type_find_field(context->args, "prev_pid", &found));
    assert_int_equal(found.type->size, 4);
    assert_true(found.type->is_signed);
    assert_true(type_find_field(context->args, "common_pid", &found));
    assert_false(type_find_field(context->args, "common_flags", &found));
    uses.fields = name;
    assert_int_equal(plan(&f, "tracepoint:sched:sched_process_exec", &uses), 1);
    assert_true(type_find_field(f.variants.items[0].context.args, "filename", &found));
    assert_int_equal(found.type->kind, TYPE_POINTER);
    assert_int_equal(found.type->space, SPACE_KERNEL);
    assert_int_equal(found.type->target->size, 1);
    /* a missing field of a named event stays for the checker to explain */
    static const char *const wrong[] = {"nothing", NULL};
    uses.fields = wrong;
    assert_int_equal(plan(&f, "tracepoint:sched:sched_switch", &uses), 1);
    assert_int_equal(plan(&f, "tracepoint:sched:sched_*", &uses), 1);
    teardown(&f);
}

static void test_rawtracepoint(void **state)
{
    static const char *const prev[] = {"prev", NULL};
    struct fixture f;
    struct probe_sites sites;
    struct context_uses uses = {.arguments = 2, .fields = no_fields};
    struct field found;
    (void)state;
    setup(&f);
    if (!probe_btf(&f.environment)) {
        print_message("SKIP: the kernel has no BTF\n");
        teardown(&f);
        return;
    }
    assert_int_equal(expand(&f, "rt:sched_switch", &sites, NULL), 0);
    assert_string_equal(sites.items[0].name, "rawtracepoint:sched_switch");
    assert_int_equal(expand(&f, "rawtracepoint:vmlinux:sched_switch", &sites, NULL), 0);
    assert_string_equal(sites.items[0].name, "rawtracepoint:vmlinux:sched_switch");
    assert_true(count_sites(&f, "rawtracepoint:sched_process_*") > 3);
    assert_int_equal(plan(&f, "rawtracepoint:sched_switch", &uses), 1);
    const struct probe_context *context = &f.variants.items[0].context;
    assert_int_equal(context->arguments[1]->kind, TYPE_POINTER);
    assert_string_equal(context->arguments[1]->target->name, "task_struct");
    uses = (struct context_uses){.args = true, .fields = prev};
    assert_int_equal(plan(&f, "rawtracepoint:sched_switch", &uses), 1);
    assert_true(type_find_field(f.variants.items[0].context.args, "prev", &found));
    assert_int_equal(found.offset, 8);
    assert_string_equal(error_of(&f, "rawtracepoint:sched_swich", "sched_switch"),
                        "No matches for rawtracepoint sched_swich.");
    error_of(&f, "rawtracepoint:no_such_*", NULL);
    teardown(&f);
}

static void test_kprobe(void **state)
{
    struct fixture f;
    struct probe_sites sites;
    struct context_uses uses = {.site = true};
    (void)state;
    setup(&f);
    f.environment.features.kprobe = false;
    const char *message = error_of(&f, "kprobe:vfs_read", "CONFIG_KPROBES");
    assert_string_equal(message, "this kernel has no kprobes: kprobe:vfs_read cannot be attached");
    error_of(&f, "kr:vfs_read", "CONFIG_KPROBES");
    f.environment.features.kprobe = true;
    assert_int_equal(expand(&f, "k:vfs_read", &sites, NULL), 0);
    assert_string_equal(sites.items[0].name, "kprobe:vfs_read");
    assert_string_equal(sites.items[0].function, "vfs_read");
    error_of(&f, "kprobe:no_such_function_at_all", NULL);
    error_of(&f, "kprobe:0x1234", "--unsafe");
    error_of(&f, "kretprobe:vfs_read+4", NULL);
    size_t count = count_sites(&f, "kprobe:vfs_*");
    assert_true(count > 20);
    /* cookies of a multi link, addresses, or one by one */
    assert_int_equal(plan(&f, "kprobe:vfs_*", &uses), 1);
    assert_int_equal(f.variants.items[0].context.expected_attach_type, BPF_TRACE_KPROBE_MULTI);
    f.environment.features.kprobe_multi = false;
    uint64_t address;
    struct kallsyms *kallsyms = probe_kallsyms(&f.environment);
    if (!kallsyms_address(kallsyms, "vfs_read", &address) && address) {
        assert_int_equal(plan(&f, "kprobe:vfs_*", &uses), 1);
        assert_int_equal(f.variants.items[0].context.expected_attach_type, 0);
    }
    f.environment.features.func_ip = false;
    assert_int_equal(plan(&f, "kprobe:vfs_*", &uses), count);
    uses.site = false;
    assert_int_equal(plan(&f, "kprobe:vfs_*", &uses), 1);
    teardown(&f);
}

/* ---- lists ---- */

struct collected {
    struct arena *arena;
    char **names;
    size_t count, room;
    const char *details; /* of the last */
    bool unsorted;
};

static int collect(void *state, const char *name, const char *details)
{
    struct collected *collected = state;
    *arena_push(collected->arena, collected->names, collected->count, collected->room) =
        arena_strdup(collected->arena, name);
    if (details)
        collected->details = arena_strdup(collected->arena, details);
    return 0;
}

static size_t list(struct fixture *f, const char *pattern, bool verbose, struct collected *out)
{
    *out = (struct collected){.arena = &f->arena};
    assert_int_equal(
        probe_list(&f->environment, probe_kinds, pattern ? point(f, pattern) : NULL, verbose, collect, out),
        0);
    return out->count;
}

static void test_list_all(void **state)
{
    struct fixture f;
    struct collected found;
    struct timespec before, after;
    (void)state;
    setup(&f);
    clock_gettime(CLOCK_MONOTONIC, &before);
    list(&f, NULL, false, &found);
    clock_gettime(CLOCK_MONOTONIC, &after);
    print_message("%zu probes in %.0f ms\n", found.count,
                  (double)(after.tv_sec - before.tv_sec) * 1e3 +
                      (double)(after.tv_nsec - before.tv_nsec) / 1e6);
    assert_true(found.count > 30);
    for (size_t i = 1; i < found.count; i++)
        if (strcmp(found.names[i - 1], found.names[i]) >= 0)
            fail_msg("%s stands before %s", found.names[i - 1], found.names[i]);
    teardown(&f);
}

static void test_list_patterns(void **state)
{
    struct fixture f;
    struct collected found;
    (void)state;
    setup(&f);
    assert_int_equal(list(&f, "interval:*", false, &found), 4);
    assert_string_equal(found.names[0], "interval:hz:");
    assert_int_equal(list(&f, "software:cpu-cl*", false, &found), 1);
    assert_string_equal(found.names[0], "software:cpu-clock:");
    if (!lacks_tracefs(&f)) {
        assert_int_equal(list(&f, "tracepoint:sched:sched_switch", true, &found), 1);
        assert_non_null(strstr(found.details, "    pid_t prev_pid\n"));
        assert_null(strstr(found.details, "common_"));
        assert_true(list(&f, "t:*sched_switc*", false, &found) >= 1);
        assert_true(list(&f, "*sched_switc*", false, &found) >= 1);
        list(&f, "tracepoint:syscalls:sys_enter_openat", true, &found);
        assert_string_equal(found.details, "    int __syscall_nr\n    int dfd\n    const char * filename\n"
                                           "    int flags\n    umode_t mode\n");
        /* as many as the kernel says */
        struct text events = {0};
        assert_int_equal(tracefs_read(f.environment.tracefs, "available_events", &events), 0);
        size_t lines = 0;
        for (const char *p = text_string(&events); *p; p++)
            lines += *p == '\n';
        text_free(&events);
        assert_int_equal(list(&f, "tracepoint:*", false, &found), lines);
        assert_int_equal(list(&f, "tracepoint:*:*", false, &found), lines);
    }
    if (!lacks(bash)) {
        assert_int_equal(list(&f, "uprobe:/bin/bash:readline", false, &found), 1);
        assert_string_equal(found.names[0], "uprobe:/bin/bash:readline");
        size_t all = list(&f, "uprobe:/bin/bash", false, &found);
        assert_true(all > 1000);
        assert_int_equal(list(&f, "uprobe:/bin/bash:*", false, &found), all);
    }
    if (!lacks(postgres)) {
        const char *base = arena_printf(&f.arena, "usdt:%s", postgres);
        assert_int_equal(list(&f, base, false, &found), 57);
        assert_int_equal(list(&f, arena_printf(&f.arena, "%s:*:query__start", base), true, &found), 1);
        assert_string_equal(found.names[0], arena_printf(&f.arena, "%s:postgresql:query__start", base));
        assert_string_equal(found.details, "    uint64 arg0\n    # 1 site, semaphore\n");
        list(&f, arena_printf(&f.arena, "%s:query__rewrite__done", base), true, &found);
        assert_string_equal(found.details, "    uint64 arg0\n    # 3 sites, semaphore\n");
    }
    if (probe_btf(&f.environment)) {
        assert_int_equal(list(&f, "rawtracepoint:vmlinux:sched_switch", true, &found), 1);
        assert_non_null(strstr(found.details, "struct task_struct * prev\n"));
    }
    teardown(&f);
}

static int stop_at_third(void *state, const char *name, const char *details)
{
    size_t *count = state;
    (void)name, (void)details;
    return ++*count == 3 ? 7 : 0;
}

static void test_list_stops(void **state)
{
    struct fixture f;
    size_t count = 0;
    (void)state;
    setup(&f);
    assert_int_equal(probe_list(&f.environment, probe_kinds, NULL, true, stop_at_third, &count), 7);
    assert_int_equal(count, 3);
    assert_int_equal(
        probe_list(&f.environment, probe_kinds, point(&f, "blah:x"), false, stop_at_third, &count), -EINVAL);
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
        cmocka_unit_test(test_names_and_aliases),
        cmocka_unit_test(test_unknown_kind),
        cmocka_unit_test(test_special),
        cmocka_unit_test(test_timer),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_uprobe_names),
        cmocka_unit_test(test_uprobe_address),
        cmocka_unit_test(test_uprobe_patterns),
        cmocka_unit_test(test_uprobe_context),
        cmocka_unit_test(test_uprobe_errors),
        cmocka_unit_test(test_uprobe_of_process),
        cmocka_unit_test(test_usdt_names),
        cmocka_unit_test(test_usdt_grouping),
        cmocka_unit_test(test_tracepoint_names),
        cmocka_unit_test(test_tracepoint_syscalls),
        cmocka_unit_test(test_tracepoint_ways),
        cmocka_unit_test(test_rawtracepoint),
        cmocka_unit_test(test_kprobe),
        cmocka_unit_test(test_list_all),
        cmocka_unit_test(test_list_patterns),
        cmocka_unit_test(test_list_stops),
        cmocka_unit_test(test_kind_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
