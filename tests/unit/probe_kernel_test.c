/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the kernel's probe kinds and of lists, without attaching. What the running kernel does not have, or does
 * not let this process read, is skipped with a message. */
#include "probe_testing.h"

#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "lang/check/check.h"

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
    error_of(&f, "tracepoint:sched_switch", "tracepoint:sched:sched_switch");
    error_of(&f, "tracepoint:nothing_like_it", "tracepoint:SUBSYSTEM:EVENT");
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
    /* many events: one program on the hook that all system calls pass */
    assert_int_equal(plan(&f, "tracepoint:syscalls:sys_enter_*", &uses), 1);
    const struct probe_variant *variant = &f.variants.items[0];
    assert_int_equal(((const struct tracepoint_detail *)variant->detail)->method, TRACEPOINT_DISPATCH);
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
    /* one event: its own perf tracepoint */
    assert_int_equal(plan(&f, "tracepoint:syscalls:sys_enter_openat", &uses), 1);
    variant = &f.variants.items[0];
    assert_int_equal(((const struct tracepoint_detail *)variant->detail)->method, TRACEPOINT_PERF);
    assert_int_equal(variant->context.program_type, BPF_PROG_TYPE_TRACEPOINT);
    /* return values: the same in all events */
    uses.args = true;
    uses.fields = ret;
    assert_int_equal(plan(&f, "tracepoint:syscalls:sys_exit_*", &uses), 1);
    /* a field that some events have, at different offsets: the events without it are left out, with a warning */
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
    /* a field that is missing in a named event is left for the checker to explain */
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
    /* sites are told apart by the cookies of a multi link, by addresses, or by one program each */
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

/* ---- programs ---- */

/* Compiles a script of one block, whatever its attach points expand to. Returns the IR of all its programs. */
static const char *compile(struct fixture *f, const char *text, struct image *image)
{
    struct source *source = arena_new(&f->arena, struct source);
    *source = (struct source){.name = "stdin", .text = text, .length = strlen(text)};
    struct parameters none = {0};
    struct script *script = script_parse(&f->arena, &f->diagnostics, source, &none);
    assert_int_equal(f->diagnostics.errors, 0);
    struct context_uses uses = check_uses(&f->arena, &builtin_table, script->blocks);
    struct probe_variants variants = {0};
    memset(f->sites, 0, sizeof f->sites);
    assert_int_equal(probe_expand(&f->environment, probe_kinds, script->blocks->attach_points, f->sites), 0);
    for (size_t i = 0; probe_kinds[i]; i++)
        if (f->sites[i].count)
            assert_int_equal(
                probe_kinds[i]->plan(probe_kinds[i], &f->environment, &uses, &f->sites[i], &variants), 0);
    struct check_unit *units = arena_array(&f->arena, variants.count, sizeof *units);
    for (size_t i = 0; i < variants.count; i++)
        units[i] = (struct check_unit){.body = node_clone(&f->arena, script->blocks->body),
                                       .context = &variants.items[i].context,
                                       .probe = variants.items[i].sites[0].name};
    struct checker checker = {.arena = &f->arena,
                              .diagnostics = &f->diagnostics,
                              .builtins = &builtin_table,
                              .parameters = &none,
                              .max_strlen = 64};
    assert_true(check_units(&checker, units, variants.count));
    struct action_table actions = {0};
    struct text dump = {0};
    *image = (struct image){.control = -1, .events = -1, .stacks = -1};
    struct compilation compilation = {.arena = &f->arena,
                                      .diagnostics = &f->diagnostics,
                                      .checker = &checker,
                                      .options = {.features = &f->environment.features,
                                                  .max_strlen = 64,
                                                  .max_map_keys = 64,
                                                  .ring_bytes = 1 << 16},
                                      .image = image,
                                      .actions = &actions};
    assert_int_equal(lower_maps(&compilation), 0);
    for (size_t i = 0; i < variants.count; i++) {
        struct unit_request request = {.unit = &units[i], .program_name = "program", .dump_ir = &dump};
        assert_int_equal(lower_unit(&compilation, &request), 0);
    }
    assert_int_equal(image->program_count, variants.count);
    const char *ir = arena_strdup(&f->arena, text_string(&dump));
    text_free(&dump);
    checker_free(&checker);
    return ir;
}

static size_t occurrences(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)); text++)
        count++;
    return count;
}

static void test_kprobe_program(void **state)
{
    struct fixture f;
    struct image image;
    uint64_t address;
    (void)state;
    setup(&f);
    struct kallsyms *kallsyms = probe_kallsyms(&f.environment);
    if (!kallsyms || kallsyms_address(kallsyms, "vfs_read", &address) || !address) {
        print_message("SKIP: the kernel hides its addresses\n");
        teardown(&f);
        return;
    }
    const char *ir = compile(&f, "kprobe:vfs_* { @[func, probe] = count(); @a = sum(arg0); }", &image);
    assert_non_null(strstr(ir, "get_attach_cookie"));
    assert_int_equal(image.programs[0].expected_attach_type, BPF_TRACE_KPROBE_MULTI);
    /* without cookies, a tree over the functions' addresses finds any of n in log n comparisons */
    f.environment.features.kprobe_multi = f.environment.features.perf_link = false;
    size_t count = count_sites(&f, "kprobe:vfs_*");
    ir = compile(&f, "kprobe:vfs_* { @[func] = count(); }", &image);
    assert_non_null(strstr(ir, "get_func_ip"));
    assert_int_equal(occurrences(ir, "= ult "), count - 1);
    ir = compile(&f, "kretprobe:vfs_read { @ = hist(retval); }", &image);
    assert_null(strstr(ir, "get_func_ip"));
    teardown(&f);
}

/* Each system call's word in the table of the gate is its site's index + 1, or 0. */
static void test_syscall_program(void **state)
{
    struct fixture f;
    struct image image;
    (void)state;
    setup(&f);
    if (lacks_tracefs(&f) || !probe_btf(&f.environment)) {
        teardown(&f);
        return;
    }
    compile(&f, "tracepoint:syscalls:sys_enter_* { @[probe] = count(); }", &image);
    assert_int_equal(image.program_count, 1);
    assert_int_equal(image.programs[0].type, BPF_PROG_TYPE_TRACING);
    const struct image_map *table = NULL;
    for (size_t i = 0; i < image.map_count; i++)
        if (!strcmp(image.maps[i].name, "syscalls"))
            table = &image.maps[i];
    assert_non_null(table);
    const uint32_t *words = table->initial;
    size_t sites = f.sites[0].count, asked = 0;
    for (size_t i = 0; probe_kinds[i]; i++)
        sites = f.sites[i].count > sites ? f.sites[i].count : sites;
    for (size_t i = 0; i < table->value_size / sizeof *words; i++) {
        assert_true(words[i] <= sites);
        asked += words[i] != 0;
    }
    assert_true(asked > 200 && asked <= sites);
    teardown(&f);
}

/* ---- lists ---- */

struct collected {
    struct arena *arena;
    char **names;
    size_t count, room;
    const char *details; /* details of the last name */
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
        /* as many as the kernel lists */
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

static void test_synonyms(void **state)
{
    (void)state;
    for (const struct builtin_synonym *synonym = builtin_synonyms; synonym->name; synonym++) {
        assert_non_null(builtin_find(&builtin_table, synonym->meant, NULL));
        if (builtin_find(&builtin_table, synonym->name, NULL))
            fail_msg("'%s' is a builtin: nobody will look for its synonym", synonym->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synonyms),
        cmocka_unit_test(test_tracepoint_names),
        cmocka_unit_test(test_tracepoint_syscalls),
        cmocka_unit_test(test_tracepoint_ways),
        cmocka_unit_test(test_rawtracepoint),
        cmocka_unit_test(test_kprobe),
        cmocka_unit_test(test_kprobe_program),
        cmocka_unit_test(test_syscall_program),
        cmocka_unit_test(test_list_all),
        cmocka_unit_test(test_list_patterns),
        cmocka_unit_test(test_list_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
