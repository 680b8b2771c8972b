/* SPDX-License-Identifier: BSD-3-Clause */
/* rawtracepoint: the hook of a tracepoint with the arguments that the kernel's code passes to it.
 *
 * Types come from the kernel's BTF (typedef btf_trace_EVENT), names of arguments from the function that the
 * hook's iterator is, which BTF keeps under __bpf_trace_EVENT or __traceiter_EVENT. Without BTF the hook can
 * still be attached: arguments are then plain words. */
#include <stdlib.h>
#include <string.h>

#include "bpf/lower/lower.h"
#include "probe/all.h"
#include "probe/point.h"
#include "sym/kernel/btf.h"
#include "base/glob.h"

enum { WORDS = 12 /* the most words that the kernel passes */ };

struct raw_site { /* detail of a site; types are read when a block reads arguments */
    const char *event;
    struct btf_file *btf; /* the BTF that describes the hook; NULL: none does */
};

static const char kernel_module[] = "vmlinux";

/* The n-th BTF: the kernel's own, then the modules'. */
static struct btf_file *raw_btf(struct probe_environment *environment, size_t n, const char **module)
{
    *module = kernel_module;
    return n ? probe_module_btf(environment, n - 1, module) : probe_btf(environment);
}

struct raw_search {
    struct probe_environment *environment;
    const struct probe_kind *kind;
    const struct attach_point *point;
    size_t event; /* the piece of the attach point that names events */
    struct probe_sites *sites;
    struct btf_file *btf;
    const char *module;
    struct nearest nearest;
};

static void raw_add(struct raw_search *search, const char *name, const char *event)
{
    struct raw_site *site = arena_new(search->environment->arena, struct raw_site);
    *site = (struct raw_site){.event = event, .btf = search->btf};
    probe_site_add(search->environment, search->sites, search->point, name, NULL, site);
}

static int raw_match(void *state, const char *event, uint32_t id)
{
    struct raw_search *search = state;
    struct arena *arena = search->environment->arena;
    (void)id;
    if (point_matches(search->point, search->event, event)) {
        const char *kept = arena_strdup(arena, event);
        raw_add(search, arena_printf(arena, "rawtracepoint:%s:%s", search->module, kept), kept);
    } else {
        nearest_offer(&search->nearest, event);
    }
    return 0;
}

static int raw_expand(const struct probe_kind *kind, struct probe_environment *environment,
                      const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 1, 2))
        return -EINVAL;
    size_t last = point->piece_count - 1;
    const char *event = point_piece(point, last), *module;
    size_t before = sites->count;
    if (!event) {
        diagnose_error(environment->diagnostics, point->span, "rawtracepoint needs an event: %s",
                       kind->forms);
        return -EINVAL;
    }
    struct raw_search search = {environment, kind, point, last, sites, NULL, NULL, {.name = event}};
    bool is_pattern = point_is_pattern(point, last);
    for (size_t n = 0; (search.btf = raw_btf(environment, n, &module)); n++) {
        struct btf_prototype prototype;
        search.module = module;
        if (last == 2 && !point_matches(point, 1, module))
            continue;
        if (is_pattern) {
            btf_file_each_tracepoint(search.btf, NULL, raw_match, &search);
        } else if (!btf_file_tracepoint(search.btf, event, &prototype)) {
            raw_add(&search, point_name(environment, kind->name, point), event);
            break;
        }
    }
    if (sites->count > before)
        return 0;
    if (!probe_btf(environment) && !is_pattern) { /* only attaching tells whether the kernel has it */
        raw_add(&search, point_name(environment, kind->name, point), event);
        return 0;
    }
    if (!probe_btf(environment)) {
        diagnose_error(environment->diagnostics, point->span,
                       "rawtracepoint patterns need the kernel's BTF, which /sys/kernel/btf/vmlinux lacks");
        diagnose_hint(environment->diagnostics, "name one event without wildcards");
        return -ENOENT;
    }
    if (!is_pattern)
        for (size_t n = 0; (search.btf = raw_btf(environment, n, &module)); n++)
            btf_file_each_tracepoint(search.btf, NULL, raw_match, &search);
    sites->count = before;
    return point_no_match(environment, kind, point, &search.nearest);
}

/* ---- what a block reads ---- */

struct raw_arguments {
    struct btf_prototype types, names; /* names.count 0: none */
};

/* Finds types and names of the arguments. False: nothing is known of them. The first parameter of the function that
 * has the names is the hook's private data. */
static bool raw_arguments(struct probe_environment *environment, const struct raw_site *site,
                          struct raw_arguments *out)
{
    static const char *const prefixes[] = {"__bpf_trace_", "__traceiter_", "__probestub_"};
    memset(out, 0, sizeof *out);
    if (!site->btf || btf_file_tracepoint(site->btf, site->event, &out->types))
        return false;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !out->names.count; i++) {
        const char *function = arena_printf(environment->arena, "%s%s", prefixes[i], site->event);
        if (btf_file_function(site->btf, function, &out->names) || out->names.count != out->types.count + 1)
            out->names.count = 0;
    }
    return true;
}

static struct ir *raw_argument(struct lowering *l, const struct probe_context *context, unsigned number)
{
    const struct type *type = context->arguments[number];
    struct ir *word = ir_load(&l->b, lower_ctx(l), (int32_t)(8 * number), 8, false);
    return type->size < 8 ? ir_extend(&l->b, word, type->size, type->is_signed) : word;
}

static struct ir *raw_field(struct lowering *l, const struct probe_context *context,
                            const struct field *field)
{
    return raw_argument(l, context, field->offset / 8);
}

static void raw_fill(struct probe_environment *environment, const struct context_uses *uses,
                     struct probe_variant *variant)
{
    struct arena *arena = environment->arena;
    struct probe_context *context = &variant->context;
    struct raw_arguments known;
    context->program_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
    context->space = SPACE_KERNEL;
    context->args_missing = "the kernel's BTF does not name its arguments";
    context->lower_argument = raw_argument;
    if (uses->ctx)
        context->ctx = type_pointer(arena, &type_u64, SPACE_KERNEL);
    bool is_known =
        (uses->args || uses->arguments) && raw_arguments(environment, variant->sites[0].detail, &known);
    uint32_t count = is_known && known.types.count < WORDS ? known.types.count : WORDS;
    const struct type **types = arena_array(arena, count + 1, sizeof *types);
    for (uint32_t i = 0; i < count; i++) {
        types[i] = is_known ? known.types.parameters[i].type : &type_u64;
        if (!type_is_scalar(types[i]))
            types[i] = NULL;
    }
    context->arguments = types;
    context->argument_count = count;
    if (!is_known || !known.names.count)
        return;
    struct type *args = arena_new(arena, struct type);
    struct field *fields = arena_array(arena, count + 1, sizeof *fields);
    args->kind = TYPE_STRUCT;
    args->name = variant->sites[0].name;
    args->size = 8 * count;
    args->fields = fields;
    for (uint32_t i = 0; i < count; i++)
        if (types[i] && known.names.parameters[i + 1].name[0])
            fields[args->count++] =
                (struct field){.name = known.names.parameters[i + 1].name, .type = types[i], .offset = 8 * i};
    context->args = args;
    context->lower_args_field = raw_field;
}

static void raw_key(struct probe_environment *environment, const struct context_uses *uses,
                    const struct probe_site *site, struct text *key)
{
    struct raw_arguments known;
    if (!uses->arguments && !uses->args)
        return;
    bool is_known = raw_arguments(environment, site->detail, &known);
    text_printf(key, "%d", is_known);
    for (uint32_t i = 0; is_known && i < known.types.count; i++) {
        const char *name = known.names.count ? known.names.parameters[i + 1].name : "";
        bool reads = (i < 31 && uses->arguments & 1u << i) || (uses->args && uses->all_fields);
        for (const char *const *field = uses->fields; uses->args && field && *field; field++)
            reads |= !strcmp(*field, name);
        if (!reads)
            continue;
        text_printf(key, "|%u %s ", i, uses->args ? name : "");
        type_describe(key, known.types.parameters[i].type);
    }
}

static int raw_plan(const struct probe_kind *kind, struct probe_environment *environment,
                    const struct context_uses *uses, const struct probe_sites *sites,
                    struct probe_variants *variants)
{
    return probe_plan_grouped(kind, environment, uses, sites, variants, uses->site, raw_key, raw_fill);
}

static int raw_attach(struct probe_environment *environment, struct kernel *kernel,
                      const struct probe_variant *variant, struct attach_request *request)
{
    (void)environment;
    for (size_t i = 0; i < variant->count; i++) {
        const struct raw_site *site = variant->sites[i].detail;
        request->name = variant->sites[i].name;
        request->span = variant->sites[i].span;
        int error = kernel_attach_raw_tracepoint(kernel, request, site->event);
        if (error)
            return error;
    }
    return 0;
}

/* ---- listing ---- */

struct raw_listing {
    struct probe_environment *environment;
    const struct attach_point *pattern;
    const char **events;
    size_t count, room;
    const char *module;
};

static int raw_list_event(void *state, const char *event, uint32_t id)
{
    struct raw_listing *listing = state;
    (void)id;
    if (point_matches(listing->pattern, listing->pattern->piece_count > 2 ? 2 : 1, event))
        *arena_push(listing->environment->arena, listing->events, listing->count, listing->room) = event;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void raw_details(struct probe_environment *environment, struct btf_file *btf, const char *event,
                        struct text *out)
{
    const struct raw_site site = {event, btf};
    struct raw_arguments known;
    text_clear(out);
    if (!raw_arguments(environment, &site, &known))
        return;
    for (uint32_t i = 0; i < known.types.count; i++) {
        text_add(out, "    ");
        btf_file_describe(btf, known.types.parameters[i].id, out);
        if (known.names.count)
            text_printf(out, " %s\n", known.names.parameters[i + 1].name);
        else
            text_printf(out, " arg%u\n", i);
    }
}

static int raw_list(const struct probe_kind *kind, struct probe_environment *environment,
                    const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    struct raw_listing listing = {.environment = environment, .pattern = pattern};
    struct text line = {0}, details = {0};
    struct btf_file *btf;
    int error = 0;
    if (pattern->piece_count > 3)
        return 0;
    for (size_t n = 0; !error && (btf = raw_btf(environment, n, &listing.module)); n++) {
        if (pattern->piece_count > 2 && !point_matches(pattern, 1, listing.module))
            continue;
        listing.count = 0;
        btf_file_each_tracepoint(btf, NULL, raw_list_event, &listing);
        if (listing.count)
            qsort(listing.events, listing.count, sizeof *listing.events, compare_names);
        for (size_t i = 0; i < listing.count && !error; i++) {
            text_clear(&line);
            text_printf(&line, "%s:%s:%s", kind->name, listing.module, listing.events[i]);
            if (verbose)
                raw_details(environment, btf, listing.events[i], &details);
            error = visit(state, text_string(&line), verbose ? text_string(&details) : NULL);
        }
    }
    text_free(&line);
    text_free(&details);
    return error;
}

const struct probe_kind probe_kind_rawtracepoint = {
    .name = "rawtracepoint",
    .aliases = (const char *const[]){"rt", NULL},
    .forms = "rawtracepoint:[MODULE:]EVENT",
    .what = "the hook behind a tracepoint, with what the kernel passes to it",
    .expand = raw_expand,
    .plan = raw_plan,
    .attach = raw_attach,
    .list = raw_list,
};
