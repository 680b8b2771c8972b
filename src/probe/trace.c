/* SPDX-License-Identifier: BSD-3-Clause */
/* trace: the tracepoints of recordings, spoor's and SPDK's own. Their programs run in this process (src/vm),
 * with a struct image_event, which is the same for every format.
 *
 * A site is a tracepoint of one name whose arguments are declared alike, in as many of the recordings as have
 * it. What is not in the script's recordings cannot be probed: there is nothing else to learn names from. */
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "bpf/lower/lower.h"
#include "probe/all.h"
#include "probe/point.h"
#include "reader/replay.h"

enum { TEXT_MAX = 1024, TEXT_MOST_SPDK = 256 };

struct trace_site { /* detail of a site */
    /* One for each recording; NULL: the recording does not have it. */
    const struct recording_tracepoint **tracepoints;
    const struct recording_tracepoint *any;
    bool is_spdk;
};

/* ---- which tracepoints ---- */

static bool same_enumeration(const struct recording_enumeration *a, const struct recording_enumeration *b)
{
    if (!a || !b || a->count != b->count)
        return a == b;
    for (size_t i = 0; i < a->count; i++)
        if (a->values[i].value != b->values[i].value || strcmp(a->values[i].name, b->values[i].name) != 0)
            return false;
    return true;
}

static bool same_arguments(const struct recording_tracepoint *a, const struct recording_tracepoint *b)
{
    if (a->argument_count != b->argument_count)
        return false;
    for (unsigned i = 0; i < a->argument_count; i++) {
        const struct recording_argument *x = &a->arguments[i], *y = &b->arguments[i];
        if (strcmp(x->name, y->name) != 0 || x->kind != y->kind || x->size != y->size ||
            !same_enumeration(x->enumeration, y->enumeration))
            return false;
    }
    return true;
}

/* An attach point of one piece names a tracepoint of any group. */
static bool matches(const struct attach_point *point, const struct recording_tracepoint *tracepoint)
{
    return point->piece_count > 2
               ? point_matches(point, 1, tracepoint->group->name) && point_matches(point, 2, tracepoint->name)
               : point_matches(point, 1, tracepoint->name);
}

typedef int trace_visitor(void *state, size_t recording, const struct recording_tracepoint *tracepoint);

static int trace_each(const struct replay *replay, trace_visitor *visit, void *state)
{
    for (size_t i = 0; i < replay_count(replay); i++) {
        const struct recording_model *model = recording_model(replay_recording(replay, i));
        for (size_t id = 0; id < model->tracepoint_room; id++) {
            int error = model->tracepoints[id] ? visit(state, i, model->tracepoints[id]) : 0;
            if (error)
                return error;
        }
    }
    return 0;
}

struct trace_search {
    struct probe_environment *environment;
    const struct attach_point *point;
    struct probe_sites *sites;
    size_t before; /* sites that other attach points have found */
    struct nearest nearest;
};

static int trace_match(void *state, size_t recording, const struct recording_tracepoint *tracepoint)
{
    struct trace_search *search = state;
    struct arena *arena = search->environment->arena;
    const struct replay *replay = search->environment->replay;
    if (!matches(search->point, tracepoint)) {
        nearest_offer(&search->nearest, tracepoint->name);
        return 0;
    }
    const char *name = arena_printf(arena, "trace:%s:%s", tracepoint->group->name, tracepoint->name);
    bool is_spdk = recording_is_spdk(replay_recording(replay, recording));
    for (size_t i = search->before; i < search->sites->count; i++) {
        const struct trace_site *site = search->sites->items[i].detail;
        if (!site->tracepoints[recording] && site->is_spdk == is_spdk &&
            !strcmp(search->sites->items[i].name, name) && same_arguments(site->any, tracepoint)) {
            site->tracepoints[recording] = tracepoint;
            return 0;
        }
    }
    struct trace_site *site = arena_new(arena, struct trace_site);
    site->tracepoints = arena_array(arena, replay_count(replay), sizeof(void *));
    site->tracepoints[recording] = site->any = tracepoint;
    site->is_spdk = is_spdk;
    probe_site_add(search->environment, search->sites, search->point, name, NULL, site);
    return 0;
}

static int trace_expand(const struct probe_kind *kind, struct probe_environment *environment,
                        const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 1, 2))
        return -EINVAL;
    const char *last = point_piece(point, point->piece_count - 1);
    struct trace_search search = {environment, point, sites, sites->count, {.name = last ? last : ""}};
    if (!environment->replay) {
        diagnose_error(environment->diagnostics, point->span, "trace probes need a recording");
        diagnose_hint(environment->diagnostics, "-f FILE names one; without it the newest is read");
        return -EINVAL;
    }
    trace_each(environment->replay, trace_match, &search);
    return sites->count == search.before ? point_no_match(environment, kind, point, &search.nearest) : 0;
}

/* ---- what a block reads ---- */

static const struct type *argument_type(struct arena *arena, const struct trace_site *site, unsigned number)
{
    const struct recording_argument *argument = &site->any->arguments[number];
    unsigned size = argument->size == 1 || argument->size == 2 || argument->size == 4 ? argument->size : 8;
    switch (argument->kind) {
    case RECORDING_STRING: return type_string(arena, site->is_spdk ? TEXT_MOST_SPDK : TEXT_MAX);
    case RECORDING_POINTER: return type_pointer(arena, &type_none, SPACE_USER);
    case RECORDING_BOOL: return &type_bool;
    case RECORDING_REAL: return &type_i64; /* there is no floating point: it is rounded towards 0 */
    default: break;
    }
    if (!argument->enumeration)
        return type_integer(size, argument->kind == RECORDING_SIGNED);
    struct type *type = arena_new(arena, struct type);
    struct enumerator *values = arena_array(arena, argument->enumeration->count + 1, sizeof *values);
    for (size_t i = 0; i < argument->enumeration->count; i++)
        values[i] = (struct enumerator){argument->enumeration->values[i].name,
                                        argument->enumeration->values[i].value};
    *type = (struct type){
        .kind = TYPE_ENUM,
        .size = size,
        .is_signed = argument->kind == RECORDING_SIGNED,
        .name = argument->type[0] ? argument->type : NULL,
        .count = (uint32_t)argument->enumeration->count,
        .enumerators = values,
    };
    return type;
}

static struct ir *trace_word(struct lowering *l, const struct type *type, unsigned number)
{
    struct ir *word = lower_event_word(l, offsetof(struct image_event, words) + 8 * (size_t)number);
    return type->size < 8 && type->kind != TYPE_BOOL ? ir_extend(&l->b, word, type->size, type->is_signed)
                                                     : word;
}

static struct ir *trace_argument(struct lowering *l, const struct probe_context *context, unsigned number)
{
    return trace_word(l, context->arguments[number], number);
}

/* A text stays in the record: what is returned is an address at which the host's helpers find it. */
static struct ir *trace_field(struct lowering *l, const struct probe_context *context,
                              const struct field *field)
{
    (void)context;
    unsigned number = field->offset / 8;
    return trace_word(l, field->type, number);
}

static struct ir *trace_lower_site(struct lowering *l, const struct probe_context *context)
{
    (void)context;
    return lower_event_word(l, offsetof(struct image_event, site));
}

static void trace_fill(struct probe_environment *environment, const struct context_uses *uses,
                       struct probe_variant *variant)
{
    struct arena *arena = environment->arena;
    struct probe_context *context = &variant->context;
    const struct trace_site *site = variant->sites[0].detail;
    unsigned count = site->any->argument_count;
    const struct type **types = arena_array(arena, count + 1, sizeof *types);
    struct field *fields = arena_array(arena, count + 1, sizeof *fields);
    struct type *args = arena_new(arena, struct type);
    (void)uses;
    *args =
        (struct type){.kind = TYPE_STRUCT, .name = variant->sites[0].name, .count = count, .fields = fields};
    for (unsigned i = 0; i < count; i++) {
        const struct type *type = argument_type(arena, site, i);
        fields[i] = (struct field){.name = site->any->arguments[i].name, .type = type, .offset = 8 * i};
        args->size += type_storage(type);
        types[i] = type_is_scalar(type) ? type : NULL;
    }
    context->program_type = BPF_PROG_TYPE_RAW_TRACEPOINT; /* it is attached to nothing: the session runs it */
    context->space = SPACE_USER;
    context->has_record = true;
    context->record_in_control = environment->is_live_replay;
    context->filters_pid = true; /* -p chooses the recording */
    context->ignores_pid_filter = environment->is_live_replay;
    context->ignores_stop = true; /* events that happened before the end of the trace are still to be read */
    context->args = count ? args : NULL;
    context->args_missing = "it has no arguments";
    context->arguments = types;
    context->argument_count = count;
    context->lower_argument = trace_argument;
    context->lower_args_field = trace_field;
    context->lower_site = trace_lower_site;
}

/* The arguments that are read must be alike: number, name, type. */
static void trace_key(struct probe_environment *environment, const struct context_uses *uses,
                      const struct probe_site *probe_site, struct text *key)
{
    const struct trace_site *site = probe_site->detail;
    for (unsigned i = 0; i < site->any->argument_count; i++) {
        const char *name = site->any->arguments[i].name;
        bool reads = (uses->arguments & 1u << i) || (uses->args && uses->all_fields);
        for (const char *const *field = uses->fields; uses->args && field && *field; field++)
            reads |= !strcmp(*field, name);
        if (!reads)
            continue;
        const struct type *type = argument_type(environment->arena, site, i);
        text_printf(key, "|%u %s ", i, name);
        type_describe(key, type);
        for (uint32_t k = 0; type->kind == TYPE_ENUM && k < type->count; k++)
            text_printf(key, ",%s=%lld", type->enumerators[k].name, (long long)type->enumerators[k].value);
    }
}

/* Tracepoints that a pattern found and that lack an argument which the block reads are left out, and that is
 * said. */
static struct probe_sites trace_fitting(struct probe_environment *environment,
                                        const struct context_uses *uses, const struct probe_sites *sites)
{
    struct probe_sites fitting = {0};
    const char *missing = NULL, *example = NULL;
    for (size_t i = 0; i < sites->count; i++) {
        const struct recording_tracepoint *tracepoint =
            ((const struct trace_site *)sites->items[i].detail)->any;
        bool fits = true;
        for (const char *const *name = uses->args ? uses->fields : NULL; fits && name && *name; name++) {
            unsigned k = 0;
            while (k < tracepoint->argument_count && strcmp(tracepoint->arguments[k].name, *name) != 0)
                k++;
            if (k == tracepoint->argument_count) {
                fits = false;
                missing = *name;
                example = sites->items[i].name;
            }
        }
        if (fits)
            *arena_push(environment->arena, fitting.items, fitting.count, fitting.room) = sites->items[i];
    }
    if (!fitting.count) /* the checker says what is wrong, with the nearest name */
        return (struct probe_sites){.items = sites->items, .count = sites->count ? 1 : 0};
    if (fitting.count < sites->count)
        diagnose_warning(environment->diagnostics, sites->items[0].span,
                         "%zu of %zu tracepoints have no argument '%s' and are left out, such as %s",
                         sites->count - fitting.count, sites->count, missing, example);
    return fitting;
}

static int trace_plan(const struct probe_kind *kind, struct probe_environment *environment,
                      const struct context_uses *uses, const struct probe_sites *all,
                      struct probe_variants *variants)
{
    struct probe_sites sites = trace_fitting(environment, uses, all);
    return probe_plan_grouped(kind, environment, uses, &sites, variants, false, trace_key, trace_fill);
}

static int trace_attach(struct probe_environment *environment, struct kernel *kernel,
                        const struct probe_variant *variant, struct attach_request *request)
{
    (void)kernel;
    for (size_t i = 0; i < variant->count; i++) {
        const struct trace_site *site = variant->sites[i].detail;
        for (size_t k = 0; k < replay_count(environment->replay); k++) {
            const struct replay_listener listener = {(uint32_t)request->program, (uint32_t)i};
            int error = site->tracepoints[k]
                            ? replay_listen(environment->replay, k, site->tracepoints[k]->id, listener)
                            : 0;
            if (error)
                return error;
        }
    }
    return 0;
}

/* ---- listing ---- */

struct trace_listing {
    struct probe_environment *environment;
    const struct attach_point *pattern;
    struct probe_sites sites;
};

static int trace_list_one(void *state, size_t recording, const struct recording_tracepoint *tracepoint)
{
    struct trace_listing *listing = state;
    struct trace_search search = {.environment = listing->environment,
                                  .point = listing->pattern,
                                  .sites = &listing->sites,
                                  .nearest = {.name = ""}};
    return trace_match(&search, recording, tracepoint);
}

static int compare_sites(const void *a, const void *b)
{
    const struct probe_site *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void trace_details(struct probe_environment *environment, const struct trace_site *site,
                          struct text *out)
{
    for (unsigned i = 0; i < site->any->argument_count; i++) {
        const struct recording_argument *argument = &site->any->arguments[i];
        terminal_print(out, "    %s %s\n",
                       argument->type[0]
                           ? argument->type
                           : type_text(environment->arena, argument_type(environment->arena, site, i)),
                       argument->name);
    }
}

/* A pattern that does not ask for recordings by name does not look for them. */
static int trace_list(const struct probe_kind *kind, struct probe_environment *environment,
                      const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    struct trace_listing listing = {environment, pattern, {0}};
    int error = 0;
    (void)kind;
    if (pattern->piece_count > 3 || (!environment->replay && point_is_pattern(pattern, 0)))
        return 0;
    if (!environment->replay) {
        struct text why = {0};
        error = replay_open(NULL, environment->processes, environment->process_count, true,
                            &environment->replay, &why);
        if (error) {
            diagnose_error(environment->diagnostics, pattern->span, "%s",
                           why.length ? text_string(&why) : strerror(-error));
            diagnose_hint(environment->diagnostics, "-f FILE names a recording");
        }
        text_free(&why);
        if (error)
            return error;
    }
    trace_each(environment->replay, trace_list_one, &listing);
    if (listing.sites.count)
        qsort(listing.sites.items, listing.sites.count, sizeof *listing.sites.items, compare_sites);
    struct text details = {0};
    for (size_t i = 0; i < listing.sites.count && !error; i++) {
        text_clear(&details);
        if (verbose)
            trace_details(environment, listing.sites.items[i].detail, &details);
        error = visit(state, listing.sites.items[i].name, verbose ? text_string(&details) : NULL);
    }
    text_free(&details);
    return error;
}

const struct probe_kind probe_kind_trace = {
    .name = "trace",
    .forms = "trace:[GROUP:]TRACEPOINT",
    .what = "what a program recorded: events of its flight recorder",
    .replays = true,
    .reads_recordings = true,
    .expand = trace_expand,
    .plan = trace_plan,
    .attach = trace_attach,
    .list = trace_list,
};
