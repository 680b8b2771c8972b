/* SPDX-License-Identifier: BSD-3-Clause */
/* interval and profile: a timer that spoor runs, and the CPU clock's software event with a period on all CPUs. A
 * site's detail is a struct perf_site for both. */
#include <string.h>

#include "base/clock.h"
#include "probe/all.h"
#include "probe/perf_event.h"
#include "probe/point.h"
#include "reader/replay.h"

enum { SHORTEST = 1000 /* ns; with a shorter period a machine does nothing else */ };

static const struct timer_unit {
    const char *name;
    uint64_t nanoseconds; /* 0: it is a frequency */
} timer_units[] = {{"hz", 0}, {"ms", NSEC_PER_MSEC}, {"s", NSEC_PER_SEC}, {"us", NSEC_PER_USEC}};
enum { TIMER_UNITS = sizeof timer_units / sizeof *timer_units };

static int timer_unit_error(struct probe_environment *environment, const struct attach_point *point,
                            const char *unit)
{
    struct nearest nearest = {.name = unit};
    for (size_t i = 0; i < TIMER_UNITS; i++)
        nearest_offer(&nearest, timer_units[i].name);
    diagnose_error(environment->diagnostics, point_span(point, 1), "%s is not an accepted unit", unit);
    diagnose_hint(environment->diagnostics, "units are hz, s, ms and us, as in interval:s:1");
    return -EINVAL;
}

/* The period of unit:N, or of one piece: nanoseconds, or a duration. */
static int timer_period(struct probe_environment *environment, const struct attach_point *point,
                        uint64_t *period)
{
    const struct timer_unit *unit = NULL;
    size_t last = point->piece_count - 1;
    const char *text = point_piece(point, last);
    bool good;
    if (last == 2) {
        const char *name = point_piece(point, 1);
        for (size_t i = 0; i < TIMER_UNITS; i++)
            if (name && !strcmp(name, timer_units[i].name))
                unit = &timer_units[i];
        if (!unit)
            return timer_unit_error(environment, point, name ? name : "");
        good = text && point_number(text, period);
    } else {
        good = text && point_duration(text, period);
    }
    if (!good) {
        diagnose_error(environment->diagnostics, point_span(point, last), "'%s' is not a %s",
                       text ? text : "", unit ? "number" : "duration");
        diagnose_hint(environment->diagnostics, "write interval:s:1, interval:hz:99 or interval:10ms");
        return -EINVAL;
    }
    if (unit && !unit->nanoseconds)
        *period = *period ? NSEC_PER_SEC / *period : 0;
    else if (unit && __builtin_mul_overflow(*period, unit->nanoseconds, period))
        *period = UINT64_MAX;
    return 0;
}

static int timer_expand(const struct probe_kind *kind, struct probe_environment *environment,
                        const struct attach_point *point, struct probe_sites *sites)
{
    uint64_t period;
    if (!point_count(environment, kind, point, 1, 2) || timer_period(environment, point, &period))
        return -EINVAL;
    if (period < SHORTEST || period > INT64_MAX) {
        diagnose_error(environment->diagnostics, point->span,
                       period < SHORTEST ? "Invalid rate of %s probe. Minimum is 1000 or 1us."
                                         : "Invalid rate of %s probe. It would not fire within this life.",
                       kind->name);
        if (point->piece_count == 2 && period < SHORTEST)
            diagnose_hint(environment->diagnostics,
                          "without a unit it is nanoseconds: %s:hz:%s, %s:s:%s or %s:%sms", kind->name,
                          point_piece(point, 1), kind->name, point_piece(point, 1), kind->name,
                          point_piece(point, 1));
        return -EINVAL;
    }
    struct perf_site *site = arena_new(environment->arena, struct perf_site);
    site->attributes = (struct perf_event_attr){
        .size = sizeof site->attributes,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period,
    };
    probe_site_add(environment, sites, point, point_name(environment, kind->name, point), NULL, site);
    return 0;
}

static void interval_fill(struct probe_environment *environment, const struct context_uses *uses,
                          struct probe_variant *variant)
{
    (void)environment, (void)uses;
    probe_runs_in_spoor(variant, "it has no arguments");
}

static int interval_plan(const struct probe_kind *kind, struct probe_environment *environment,
                         const struct context_uses *uses, const struct probe_sites *sites,
                         struct probe_variants *variants)
{
    return probe_plan_simple(kind, environment, uses, sites, variants, interval_fill);
}

/* Over recordings their time counts, and there is one CPU. On the user-space host without any, none passes. */
static int timer_attach(struct probe_environment *environment, struct kernel *kernel,
                        const struct probe_variant *variant, struct attach_request *request)
{
    int error = 0;
    if (kernel && variant->kind == &probe_kind_profile)
        return perf_event_attach(environment, kernel, variant, request);
    for (size_t i = 0; i < variant->count && !error; i++) {
        const struct perf_site *site = variant->sites[i].detail;
        const uint64_t period = site->attributes.sample_period;
        if (kernel)
            error = kernel_attach_timer(kernel, request, period);
        else if (environment->replay)
            error = replay_every(environment->replay, period, (uint32_t)request->program);
    }
    return error;
}

static int timer_list(const struct probe_kind *kind, struct probe_environment *environment,
                      const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    (void)verbose;
    for (size_t i = 0; i < TIMER_UNITS; i++) {
        if (!point_matches(pattern, 1, timer_units[i].name))
            continue;
        int stop =
            visit(state, arena_printf(environment->arena, "%s:%s:", kind->name, timer_units[i].name), NULL);
        if (stop)
            return stop;
    }
    return 0;
}

const struct probe_kind probe_kind_interval = {
    .name = "interval",
    .aliases = (const char *const[]){"i", NULL},
    .forms = "interval:UNIT:COUNT (hz, s, ms, us) or interval:DURATION",
    .what = "at regular times, once for the whole machine",
    .expand = timer_expand,
    .plan = interval_plan,
    .replays = true,
    .attach = timer_attach,
    .list = timer_list,
};

const struct probe_kind probe_kind_profile = {
    .name = "profile",
    .needs = (const char *const[]){"perf_events", NULL},
    .aliases = (const char *const[]){"p", NULL},
    .forms = "profile:UNIT:COUNT (hz, s, ms, us) or profile:DURATION",
    .what = "at regular times, on every CPU",
    .expand = timer_expand,
    .plan = perf_event_plan,
    .replays = true,
    .attach = timer_attach,
    .list = timer_list,
};
