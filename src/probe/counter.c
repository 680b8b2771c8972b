/* SPDX-License-Identifier: BSD-3-Clause */
/* software and hardware: every COUNT-th event of one of perf's generic counters, on every CPU. */
#include <string.h>

#include "probe/all.h"
#include "probe/perf_event.h"
#include "probe/point.h"

struct counter {
    const char *name;
    uint32_t config;
    uint32_t count; /* events between two firings, when the script gives none */
};

/* Sorted as listings are: by the name with a ':' behind it. An alias is an entry of its own. */
static const struct counter software_counters[] = {
    {"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS, 1},
    {"bpf-output", PERF_COUNT_SW_BPF_OUTPUT, 1},
    {"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, 1000},
    {"cpu-clock", PERF_COUNT_SW_CPU_CLOCK, 1000000},
    {"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS, 1},
    {"cpu", PERF_COUNT_SW_CPU_CLOCK, 1000000},
    {"cs", PERF_COUNT_SW_CONTEXT_SWITCHES, 1000},
    {"dummy", PERF_COUNT_SW_DUMMY, 1},
    {"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS, 1},
    {"faults", PERF_COUNT_SW_PAGE_FAULTS, 100},
    {"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
    {"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN, 100},
    {"page-faults", PERF_COUNT_SW_PAGE_FAULTS, 100},
    {"task-clock", PERF_COUNT_SW_TASK_CLOCK, 1},
    {0},
};

static const struct counter hardware_counters[] = {
    {"backend-stalls", PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 1000000},
    {"branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100000},
    {"branch-misses", PERF_COUNT_HW_BRANCH_MISSES, 100000},
    {"branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100000},
    {"bus-cycles", PERF_COUNT_HW_BUS_CYCLES, 100000},
    {"cache-misses", PERF_COUNT_HW_CACHE_MISSES, 1000000},
    {"cache-references", PERF_COUNT_HW_CACHE_REFERENCES, 1000000},
    {"cpu-cycles", PERF_COUNT_HW_CPU_CYCLES, 1000000},
    {"cycles", PERF_COUNT_HW_CPU_CYCLES, 1000000},
    {"frontend-stalls", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 1000000},
    {"instructions", PERF_COUNT_HW_INSTRUCTIONS, 1000000},
    {"ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES, 1000000},
    {0},
};

static const struct counter *counters_of(const struct probe_kind *kind)
{
    return kind == &probe_kind_hardware ? hardware_counters : software_counters;
}

static const struct counter *counter_find(const struct probe_kind *kind, const char *name,
                                          struct nearest *nearest)
{
    for (const struct counter *counter = counters_of(kind); counter->name; counter++) {
        if (name && !strcmp(counter->name, name))
            return counter;
        nearest_offer(nearest, counter->name);
    }
    return NULL;
}

const char *counter_kind(const char *name, uint32_t *count)
{
    static const struct probe_kind *const kinds[] = {&probe_kind_software, &probe_kind_hardware};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct nearest nearest = {.name = name};
        const struct counter *counter = counter_find(kinds[i], name, &nearest);
        if (!counter)
            continue;
        *count = counter->count;
        return kinds[i]->name;
    }
    return NULL;
}

static int counter_expand(const struct probe_kind *kind, struct probe_environment *environment,
                          const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 1, 2))
        return -EINVAL;
    const char *name = point_piece(point, 1), *text = point_piece(point, 2);
    struct nearest nearest = {.name = name ? name : ""};
    const struct counter *counter = counter_find(kind, name, &nearest);
    if (!counter)
        return point_no_match(environment, kind, point, &nearest);
    uint64_t count = counter->count;
    if (text && (!point_number(text, &count) || !count || count > INT64_MAX)) {
        diagnose_error(environment->diagnostics, point_span(point, 2),
                       "'%s' is not a count: the number of events between two firings", text);
        diagnose_hint(environment->diagnostics, "without one, %s:%s fires every %u events", kind->name,
                      counter->name, counter->count);
        return -EINVAL;
    }
    bool is_hardware = kind == &probe_kind_hardware;
    if (is_hardware && !environment->features.hardware_events) {
        diagnose_error(environment->diagnostics, point->span,
                       "%s cannot be counted: this machine has no performance monitoring unit", name);
        diagnose_hint(environment->diagnostics,
                      "virtual machines often have none; software:cpu-clock and profile work without");
        return -ENOTSUP;
    }
    struct perf_site *site = arena_new(environment->arena, struct perf_site);
    site->attributes = (struct perf_event_attr){
        .size = sizeof site->attributes,
        .type = is_hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
        .config = counter->config,
        .sample_period = count,
    };
    probe_site_add(environment, sites, point, point_name(environment, kind->name, point), NULL, site);
    return 0;
}

static int counter_list(const struct probe_kind *kind, struct probe_environment *environment,
                        const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    for (const struct counter *counter = counters_of(kind); counter->name; counter++) {
        if (!point_matches(pattern, 1, counter->name))
            continue;
        const char *details =
            verbose ? arena_printf(environment->arena, "    every %u events\n", counter->count) : NULL;
        int stop =
            visit(state, arena_printf(environment->arena, "%s:%s:", kind->name, counter->name), details);
        if (stop)
            return stop;
    }
    return 0;
}

const struct probe_kind probe_kind_software = {
    .name = "software",
    .needs = (const char *const[]){"perf_events", NULL},
    .aliases = (const char *const[]){"s", NULL},
    .forms = "software:EVENT[:COUNT]",
    .what = "every COUNT-th event of the kernel's own counters",
    .expand = counter_expand,
    .plan = perf_event_plan,
    .attach = perf_event_attach,
    .list = counter_list,
};

const struct probe_kind probe_kind_hardware = {
    .name = "hardware",
    .needs = (const char *const[]){"hardware_events", NULL},
    .aliases = (const char *const[]){"h", NULL},
    .forms = "hardware:EVENT[:COUNT]",
    .what = "every COUNT-th event of the processor's counters",
    .expand = counter_expand,
    .plan = perf_event_plan,
    .attach = perf_event_attach,
    .list = counter_list,
};
