/* SPDX-License-Identifier: BSD-3-Clause */
/* test and bench: blocks that the session runs itself, with --test or --bench, to check and to measure
 * scripts. There is nothing to attach. */
#include <string.h>

#include "probe/all.h"
#include "probe/point.h"

static int bench_expand(const struct probe_kind *kind, struct probe_environment *environment,
                        const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 1, 1))
        return -EINVAL;
    const char *name = point_piece(point, 1);
    if (!name || point_is_pattern(point, 1)) {
        diagnose_error(environment->diagnostics, point_span(point, 1), "%s needs a name: %s", kind->name,
                       kind->forms);
        return -EINVAL;
    }
    if (environment->runs != kind->time) {
        diagnose_error(environment->diagnostics, point->span, "%s probes need --%s", kind->name, kind->name);
        return -EINVAL;
    }
    probe_site_add(environment, sites, point, point_name(environment, kind->name, point), NULL,
                   arena_strdup(environment->arena, name));
    return 0;
}

static void bench_fill(struct probe_environment *environment, const struct context_uses *uses,
                       struct probe_variant *variant)
{
    (void)environment, (void)uses;
    probe_runs_in_spoor(variant, "nothing has happened that could have arguments");
    variant->context.keeps_result = true;
}

/* Makes a variant of each site, because each has a result of its own. */
static int bench_plan(const struct probe_kind *kind, struct probe_environment *environment,
                      const struct context_uses *uses, const struct probe_sites *sites,
                      struct probe_variants *variants)
{
    static const struct context_uses apart = {.site = true};
    (void)uses;
    return probe_plan_simple(kind, environment, &apart, sites, variants, bench_fill);
}

#define BENCH(word, when, says)                                                                              \
    const struct probe_kind probe_kind_##word = {                                                            \
        .name = #word,                                                                                       \
        .forms = #word ":NAME",                                                                              \
        .what = says,                                                                                        \
        .time = when,                                                                                        \
        .expand = bench_expand,                                                                              \
        .plan = bench_plan,                                                                                  \
    }

BENCH(bench, PROBE_BENCH, "a block whose cost --bench measures");
BENCH(test, PROBE_TEST, "a block whose outcome --test checks");
