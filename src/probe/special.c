/* SPDX-License-Identifier: BSD-3-Clause */
/* begin and end: no event of the kernel. The session runs their programs itself, once, before the first and
 * after the last event, so there is nothing to attach. */
#include "probe/all.h"
#include "probe/point.h"

static int special_expand(const struct probe_kind *kind, struct probe_environment *environment,
                          const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 0, 0))
        return -EINVAL;
    probe_site_add(environment, sites, point, kind->name, NULL, NULL);
    return 0;
}

static void special_fill(struct probe_environment *environment, const struct context_uses *uses,
                         struct probe_variant *variant)
{
    (void)environment, (void)uses;
    probe_runs_in_spoor(variant, "nothing has happened that could have arguments");
    variant->context.ignores_stop = variant->context.is_alone = true;
}

/* Each point runs once, in the order of the script: never two sites in one program. */
static int special_plan(const struct probe_kind *kind, struct probe_environment *environment,
                        const struct context_uses *uses, const struct probe_sites *sites,
                        struct probe_variants *variants)
{
    static const struct context_uses apart = {.site = true};
    (void)uses;
    return probe_plan_simple(kind, environment, &apart, sites, variants, special_fill);
}

static int special_list(const struct probe_kind *kind, struct probe_environment *environment,
                        const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    (void)environment, (void)verbose;
    return point_matches(pattern, 1, kind->name) ? visit(state, kind->name, NULL) : 0;
}

#define SPECIAL(word, when, says)                                                                            \
    const struct probe_kind probe_kind_##word = {                                                            \
        .name = #word,                                                                                       \
        .forms = #word,                                                                                      \
        .what = says,                                                                                        \
        .time = when,                                                                                        \
        .replays = true,                                                                                     \
        .expand = special_expand,                                                                            \
        .plan = special_plan,                                                                                \
        .list = special_list,                                                                                \
    }

SPECIAL(begin, PROBE_AT_BEGIN, "when tracing starts");
SPECIAL(end, PROBE_AT_END, "when tracing ends");
