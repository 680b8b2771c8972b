/* SPDX-License-Identifier: BSD-3-Clause */
/* self: things that happen to the tracer itself. So far: self:signal:SIGUSR1, which the session hears and
 * runs the program for; there is nothing to attach. */
#include <string.h>

#include "probe/all.h"
#include "probe/point.h"

static const char self_event[] = "signal", self_signal[] = "SIGUSR1";

static int self_expand(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 2, 2))
        return -EINVAL;
    const char *event = point_piece(point, 1), *signal = point_piece(point, 2);
    if (!event || strcmp(event, self_event) != 0) {
        diagnose_error(environment->diagnostics, point_span(point, 1), "self has no event '%s'",
                       event ? event : "");
        diagnose_hint(environment->diagnostics, "write %s", kind->forms);
        return -EINVAL;
    }
    if (!signal || strcmp(signal, self_signal) != 0) {
        diagnose_error(environment->diagnostics, point_span(point, 2), "%s is not a supported signal",
                       signal ? signal : "an empty name");
        diagnose_hint(environment->diagnostics, "the tracer hears %s; others keep their meaning for it",
                      self_signal);
        return -EINVAL;
    }
    probe_site_add(environment, sites, point, point_name(environment, kind->name, point), NULL, NULL);
    return 0;
}

static void self_fill(struct probe_environment *environment, const struct context_uses *uses,
                      struct probe_variant *variant)
{
    (void)environment, (void)uses;
    probe_runs_in_spoor(variant, "a signal brings no arguments");
}

/* Each point runs by itself, in the order of the script. */
static int self_plan(const struct probe_kind *kind, struct probe_environment *environment,
                     const struct context_uses *uses, const struct probe_sites *sites,
                     struct probe_variants *variants)
{
    static const struct context_uses apart = {.site = true};
    (void)uses;
    return probe_plan_simple(kind, environment, &apart, sites, variants, self_fill);
}

static int self_list(const struct probe_kind *kind, struct probe_environment *environment,
                     const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    (void)kind, (void)environment, (void)verbose;
    bool is_short = pattern->piece_count == 2; /* a pattern of one piece is compared with the last piece */
    if (is_short ? !point_matches(pattern, 1, self_event) && !point_matches(pattern, 1, self_signal)
                 : !point_matches(pattern, 1, self_event) || !point_matches(pattern, 2, self_signal))
        return 0;
    return visit(state, "self:signal:SIGUSR1", NULL);
}

const struct probe_kind probe_kind_self = {
    .name = "self",
    .forms = "self:signal:SIGUSR1",
    .what = "a signal comes to the tracer",
    .time = PROBE_AT_SIGNAL,
    .expand = self_expand,
    .plan = self_plan,
    .list = self_list,
};
