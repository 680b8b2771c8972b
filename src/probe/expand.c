/* SPDX-License-Identifier: BSD-3-Clause */
/* From an attach point to kinds: look-up by name or alias, wildcards in the kind's name, and the engine of
 * the list command. Works over whatever table of kinds it is handed. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "probe/kind.h"
#include "probe/point.h"
#include "base/glob.h"

/* Compares without case, except where two aliases differ in nothing else: u is uprobe, U is usdt. */
const struct probe_kind *probe_kind_find(const struct probe_kind *const *kinds, const char *name)
{
    const struct probe_kind *loose = NULL;
    for (; *kinds; kinds++) {
        if (!strcasecmp((*kinds)->name, name))
            return *kinds;
        for (const char *const *alias = (*kinds)->aliases; alias && *alias; alias++) {
            if (!strcmp(*alias, name))
                return *kinds;
            if (!loose && !strcasecmp(*alias, name))
                loose = *kinds;
        }
    }
    return loose;
}

static const char *lower_case(struct probe_environment *environment, const char *text)
{
    char *copy = arena_strdup(environment->arena, text);
    for (char *p = copy; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return copy;
}

static int unknown_kind(struct probe_environment *environment, const struct probe_kind *const *kinds,
                        const struct attach_point *point, const char *name)
{
    struct nearest nearest = {.name = lower_case(environment, name)};
    struct text all = {0};
    if (!strcmp(nearest.name, "asyncwatchpoint") || !strcmp(nearest.name, "aw")) {
        diagnose_error(environment->diagnostics, point_span(point, 0), "Invalid probe type: %s", name);
        diagnose_hint(environment->diagnostics,
                      "it does not exist any more; write watchpoint:ADDRESS:LENGTH:MODE");
        return -EINVAL;
    }
    for (size_t i = 0; kinds[i]; i++) {
        nearest_offer(&nearest, kinds[i]->name);
        text_printf(&all, "%s%s", i ? ", " : "", kinds[i]->name);
    }
    diagnose_error(environment->diagnostics, point_span(point, 0), "Invalid probe type: %s", name);
    if (nearest.best)
        diagnose_nearest(environment->diagnostics, &nearest, "");
    else if (point->piece_count == 1 && !point_is_pattern(point, 0))
        diagnose_hint(
            environment->diagnostics,
            "a probe has a type: kprobe:%s is a function of the kernel, uprobe:FILE:%s one of a program, "
            "begin the start of the trace",
            name, name);
    else
        diagnose_hint(environment->diagnostics, "probe types are %s", text_string(&all));
    text_free(&all);
    return -EINVAL;
}

/* Expands the point for every kind that its pattern matches. A kind without such a name is no error while another one
 * has it. */
static int expand_kinds(struct probe_environment *environment, const struct probe_kind *const *kinds,
                        const char *pattern, const struct attach_point *point, struct probe_sites *sites)
{
    struct diagnostics quiet = {.arena = environment->arena}, *loud = environment->diagnostics;
    size_t found = 0, matching = 0;
    environment->diagnostics = &quiet;
    for (size_t i = 0; kinds[i]; i++) {
        /* What is not attached, or must be alone, fits no pattern of kinds. */
        if (!kinds[i]->attach || kinds[i]->is_alone || !glob_match(pattern, kinds[i]->name))
            continue;
        matching++;
        size_t before = sites[i].count;
        if (kinds[i]->expand(kinds[i], environment, point, &sites[i]))
            sites[i].count = before;
        found += sites[i].count - before;
    }
    environment->diagnostics = loud;
    if (!matching)
        return unknown_kind(environment, kinds, point, pattern);
    if (found)
        return 0;
    diagnose_error(loud, point->span, "No matches for %s.", point_name(environment, pattern, point));
    diagnose_hint(loud, "`spoor -l '%s'` lists what a pattern matches",
                  point_name(environment, pattern, point));
    return -ENOENT;
}

static int expand_loud(struct probe_environment *environment, const struct probe_kind *const *kinds,
                       const struct attach_point *point, struct probe_sites *sites)
{
    const char *name = point_piece(point, 0);
    if (!name)
        name = "";
    if (point_is_pattern(point, 0))
        return expand_kinds(environment, kinds, lower_case(environment, name), point, sites);
    const struct probe_kind *kind = probe_kind_find(kinds, name);
    if (!kind)
        return unknown_kind(environment, kinds, point, name);
    for (size_t i = 0; kinds[i]; i++)
        if (kinds[i] == kind)
            return kind->expand(kind, environment, point, &sites[i]);
    return -EINVAL;
}

int probe_expand(struct probe_environment *environment, const struct probe_kind *const *kinds,
                 const struct attach_point *point, struct probe_sites *sites)
{
    if (environment->missing == MISSING_ERROR)
        return expand_loud(environment, kinds, point, sites);
    struct diagnostics said = {.arena = environment->arena}, *loud = environment->diagnostics;
    environment->diagnostics = &said;
    int error = expand_loud(environment, kinds, point, sites);
    environment->diagnostics = loud;
    bool is_missing = error == -ENOENT || error == -ENOTSUP;
    if (!is_missing || environment->missing == MISSING_WARN)
        diagnostics_repeat(loud, &said, is_missing);
    return is_missing ? 0 : error;
}

int probe_list(struct probe_environment *environment, const struct probe_kind *const *kinds,
               const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    struct attach_piece all[] = {{.text = "*"}, {.text = "*"}};
    struct attach_point whole = {.text = "*", .pieces = all, .piece_count = 1};
    if (!pattern) {
        pattern = &whole;
    } else if (pattern->piece_count == 1) {
        all[1] = pattern->pieces[0];
        whole = *pattern;
        whole.pieces = all;
        whole.piece_count = 2;
        pattern = &whole;
    }
    const char *name = point_piece(pattern, 0);
    const struct probe_kind *only = name ? probe_kind_find(kinds, name) : NULL;
    name = name ? lower_case(environment, name) : "*";
    bool known = false;
    for (size_t i = 0; kinds[i]; i++) {
        if (only ? kinds[i] != only : !glob_match(name, kinds[i]->name))
            continue;
        known = true;
        int error =
            kinds[i]->list ? kinds[i]->list(kinds[i], environment, pattern, verbose, visit, state) : 0;
        if (error)
            return error;
    }
    return known ? 0 : unknown_kind(environment, kinds, pattern, name);
}
