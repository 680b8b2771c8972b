/* SPDX-License-Identifier: BSD-3-Clause */
/* tracepoint: events by subsystem and name, with the fields of their format files.
 *
 * Chooses the way to attach: one or two system calls, or any event whose fields are read, by their perf
 * tracepoints; more system calls by one raw hook each way (tracepoint_syscall.c); other events whose fields
 * nobody reads by their raw hooks, which cost less and are let go of fast. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/lower/lower.h"
#include "probe/all.h"
#include "probe/point.h"
#include "probe/tracepoint.h"
#include "sym/kernel/btf.h"
#include "sym/kernel/syscalls.h"
#include "sym/kernel/tracefs.h"

enum {
    SYSCALLS_NARROW = 2, /* up to so many system calls of one block are attached by their perf tracepoints */
    RECORD_HEAD = 8,     /* bytes of a record that a program may not read */
};

static const char enter[] = "sys_enter_", leave[] = "sys_exit_";

/* ---- sites ---- */

/* With --check, that this user must not read tracefs says nothing about the script: the probe is passed over with a
 * warning, and the rest is checked. */
static bool is_unreadable(struct probe_environment *environment, struct span span)
{
    if (environment->asks_kernel || !environment->features.tracepoint || probe_tracefs(environment) ||
        (environment->tracefs_error != -EACCES && environment->tracefs_error != -EPERM))
        return false;
    environment->unchecked++;
    diagnose_warning(environment->diagnostics, span,
                     "the kernel's tracepoints cannot be read (%s): this probe and its block are not checked",
                     tracefs_problem(environment->tracefs_error));
    diagnose_hint(environment->diagnostics, "%s", tracefs_remedy(environment->tracefs_error));
    return true;
}

static struct tracefs *tracepoint_open(struct probe_environment *environment, struct span span)
{
    if (!environment->features.tracepoint) {
        diagnose_error(environment->diagnostics, span, "this kernel shows no tracepoints");
        diagnose_hint(environment->diagnostics,
                      "it has no tracefs, or is locked down (see spoor --info); rawtracepoint works without");
        return NULL;
    }
    struct tracefs *tracefs = probe_tracefs(environment);
    if (tracefs)
        return tracefs;
    diagnose_error(environment->diagnostics, span, "cannot read the kernel's tracepoints: %s",
                   tracefs_problem(environment->tracefs_error));
    diagnose_hint(environment->diagnostics, "%s", tracefs_remedy(environment->tracefs_error));
    return NULL;
}

static struct tracepoint_site *tracepoint_site_new(struct arena *arena, const char *subsystem,
                                                   const char *event, bool from_pattern)
{
    struct tracepoint_site *site = arena_new(arena, struct tracepoint_site);
    site->subsystem = arena_strdup(arena, subsystem);
    site->event = arena_strdup(arena, event);
    site->from_pattern = from_pattern;
    site->syscall = -1;
    if (!strcmp(subsystem, "syscalls")) {
        site->is_exit = !strncmp(event, leave, sizeof leave - 1);
        if (site->is_exit)
            site->syscall = syscall_number(event + sizeof leave - 1);
        else if (!strncmp(event, enter, sizeof enter - 1))
            site->syscall = syscall_number(event + sizeof enter - 1);
    }
    return site;
}

struct tracepoint_search {
    struct probe_environment *environment;
    const struct attach_point *point;
    struct probe_sites *sites;
    bool is_pattern;
    struct nearest subsystem, nearest; /* of the names that were given; events: of that subsystem alone */
    const char *elsewhere;             /* a subsystem that has the event; or NULL */
};

/* Keeps a name that comes from a walk, if it is the nearest so far. */
static void keep_nearest(struct arena *arena, struct nearest *nearest, const char *name)
{
    const char *before = nearest->best;
    nearest_offer(nearest, name);
    if (nearest->best != before)
        nearest->best = arena_strdup(arena, name);
}

static int tracepoint_match(void *state, const char *subsystem, const char *event)
{
    struct tracepoint_search *search = state;
    struct arena *arena = search->environment->arena;
    if (!point_matches(search->point, 1, subsystem) || !point_matches(search->point, 2, event)) {
        keep_nearest(arena, &search->subsystem, subsystem);
        if (point_matches(search->point, 1, subsystem))
            keep_nearest(arena, &search->nearest, event);
        else if (!search->elsewhere && !strcmp(search->nearest.name, event))
            search->elsewhere = arena_strdup(arena, subsystem);
        return 0;
    }
    struct tracepoint_site *site = tracepoint_site_new(arena, subsystem, event, search->is_pattern);
    probe_site_add(search->environment, search->sites, search->point,
                   arena_printf(arena, "tracepoint:%s:%s", subsystem, event), NULL, site);
    return 0;
}

/* Says what was meant: the subsystem is another one, or its event is. */
static int tracepoint_no_match(const struct probe_kind *kind, const struct tracepoint_search *search)
{
    struct nearest elsewhere = {.name = search->subsystem.name, .best = search->elsewhere};
    const bool is_subsystem = !search->subsystem.best || search->subsystem.distance;
    const struct nearest *meant = !is_subsystem && search->nearest.best ? &search->nearest
                                  : elsewhere.best                      ? &elsewhere
                                                                        : &search->subsystem;
    if (!is_subsystem && meant == &search->subsystem) /* it is right */
        meant = &search->nearest;
    const int error = point_no_match(search->environment, kind, search->point, meant);
    if (!meant->best && is_subsystem)
        diagnose_hint(search->environment->diagnostics, "`spoor -l 'tracepoint:*'` lists what there is");
    return error;
}

static int offer_subsystem(void *state, const char *subsystem, const char *event)
{
    struct tracepoint_search *search = state;
    (void)event;
    search->elsewhere = arena_strdup(search->environment->arena, subsystem);
    return 1;
}

/* Says in which subsystem an event is that was named without one. */
static void hint_subsystem(struct probe_environment *environment, const struct attach_point *point)
{
    struct tracepoint_search search = {.environment = environment};
    struct tracefs *tracefs = probe_tracefs(environment);
    const char *event = point_piece(point, 1);
    const struct span span = point_span(point, 1);
    if (!tracefs || !event || point_is_pattern(point, 1))
        return;
    tracefs_each_event(tracefs, NULL, event, offer_subsystem, &search);
    if (!search.elsewhere)
        return;
    diagnose_hint(environment->diagnostics, "did you mean 'tracepoint:%s:%s'?", search.elsewhere, event);
    diagnose_fix(environment->diagnostics, (struct span){span.source, span.begin, span.begin},
                 arena_printf(environment->arena, "%s:", search.elsewhere));
}

static int tracepoint_expand(const struct probe_kind *kind, struct probe_environment *environment,
                             const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 2, 2)) {
        if (point->piece_count == 2)
            hint_subsystem(environment, point);
        return -EINVAL;
    }
    if (is_unreadable(environment, point->span))
        return 0;
    struct tracefs *tracefs = tracepoint_open(environment, point->span);
    if (!tracefs)
        return environment->tracefs_error;
    const char *subsystem = point_piece(point, 1), *event = point_piece(point, 2);
    struct tracepoint_search search = {environment,
                                       point,
                                       sites,
                                       point_is_pattern(point, 1) || point_is_pattern(point, 2),
                                       {.name = subsystem ? subsystem : ""},
                                       {.name = event ? event : ""},
                                       NULL};
    uint32_t id;
    size_t before = sites->count;
    if (!subsystem || !event) {
        diagnose_error(environment->diagnostics, point->span, "tracepoint needs a subsystem and an event");
        diagnose_hint(environment->diagnostics, "write it as %s", kind->forms);
        return -EINVAL;
    }
    if (!search.is_pattern && !strchr(subsystem, '/') && !strchr(event, '/') && subsystem[0] != '.' &&
        event[0] != '.' && !tracefs_event_id(tracefs, subsystem, event, &id))
        return tracepoint_match(&search, subsystem,
                                event); /* a plain name, the usual case, takes no walk over all events */
    int error = tracefs_each_event(tracefs, NULL, NULL, tracepoint_match, &search);
    if (error) {
        diagnose_error(environment->diagnostics, point->span, "cannot list the kernel's tracepoints: %s",
                       strerror(-error));
        return error;
    }
    return sites->count == before ? tracepoint_no_match(kind, &search) : 0;
}

/* ---- fields ---- */

bool tracepoint_reads_field(const struct context_uses *uses, const char *name)
{
    if (!uses->args)
        return false;
    if (uses->all_fields)
        return true;
    for (const char *const *field = uses->fields; field && *field; field++)
        if (!strcmp(*field, name))
            return true;
    return false;
}

static const struct type *find_kernel_type(void *context, const char *name)
{
    struct btf_file *btf = probe_btf(context);
    return btf ? btf_file_type(btf, name) : NULL;
}

/* The fields that a program can read. Of the record's first eight bytes only the pid is known otherwise.
 * Data elsewhere in the record (__data_loc) is given as what people mean by it: a pointer to it. */
static int tracepoint_args(struct probe_environment *environment, struct tracepoint_site *site,
                           struct span span)
{
    if (site->args)
        return 0;
    struct tracefs_types *types = arena_new(environment->arena, struct tracefs_types);
    *types = (struct tracefs_types){find_kernel_type, environment};
    const struct type *record;
    int error = tracefs_event_type(environment->tracefs, environment->arena, types, site->subsystem,
                                   site->event, &record);
    if (error) {
        diagnose_error(environment->diagnostics, span, "cannot read the fields of tracepoint:%s:%s: %s",
                       site->subsystem, site->event,
                       error == -EBADMSG ? "its format file makes no sense" : strerror(-error));
        return error;
    }
    struct type *args = arena_new(environment->arena, struct type);
    struct field *fields = arena_array(environment->arena, record->count + 1, sizeof *fields);
    *args = *record;
    args->fields = fields;
    args->count = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        if (field->offset < RECORD_HEAD && strcmp(field->name, "common_pid") != 0)
            continue;
        struct field *copy = &fields[args->count++];
        *copy = *field;
        if (field->data_loc)
            copy->type = type_pointer(environment->arena, field->type->target, SPACE_KERNEL);
    }
    site->args = args;
    return 0;
}

/* Sites that a pattern found and that lack a field which the block reads are left out, and that is said. */
static struct probe_sites tracepoint_fitting(struct probe_environment *environment,
                                             const struct context_uses *uses, const struct probe_sites *sites)
{
    struct probe_sites fitting = {0};
    const char *missing = NULL, *example = NULL;
    size_t left_out = 0;
    for (size_t i = 0; i < sites->count; i++) {
        const struct tracepoint_site *site = sites->items[i].detail;
        struct field found;
        bool fits = true;
        for (const char *const *name = uses->fields; fits && site->from_pattern && name && *name; name++)
            if (!type_find_field(site->args, *name, &found)) {
                fits = false;
                missing = *name;
                example = sites->items[i].name;
            }
        left_out += !fits;
        if (fits)
            *arena_push(environment->arena, fitting.items, fitting.count, fitting.room) = sites->items[i];
    }
    if (!left_out)
        return *sites;
    if (!fitting.count) { /* the checker says what is wrong, with the nearest field */
        fitting = *sites;
        fitting.count = 1;
        return fitting;
    }
    diagnose_warning(environment->diagnostics, sites->items[0].span,
                     "%zu of %zu tracepoints have no field '%s' and are left out, such as %s", left_out,
                     sites->count, missing, example);
    return fitting;
}

/* ---- perf tracepoints ---- */

static struct ir *perf_field(struct lowering *l, const struct probe_context *context,
                             const struct field *field)
{
    const struct type *type = field->type;
    (void)context;
    if (field->offset < RECORD_HEAD) /* common_pid: the thread that made the record, which is this one */
        return ir_extend(&l->b, lower_pid_tgid(l), 4, true);
    if (type_is_scalar(type) && !field->data_loc && field->offset % type->size == 0)
        return lower_ctx_word(l, (int32_t)field->offset, type);
    struct ir *ctx = lower_ctx_address(l);
    if (field->data_loc) {
        struct ir *location = lower_ctx_word(l, (int32_t)field->offset, &type_u32);
        return ir_binary(&l->b, IR_ADD, ctx, ir_binary_constant(&l->b, IR_AND, location, 0xffff));
    }
    struct ir *address = ir_offset(&l->b, ctx, (int32_t)field->offset);
    return type_is_scalar(type) ? lower_read_scalar(l, address, type, SPACE_KERNEL, l->b.span) : address;
}

static struct tracepoint_detail *tracepoint_detail_new(struct probe_environment *environment,
                                                       struct probe_variant *variant,
                                                       enum tracepoint_method method)
{
    struct tracepoint_detail *detail = arena_new(environment->arena, struct tracepoint_detail);
    detail->method = method;
    variant->detail = detail;
    return detail;
}

static void perf_fill(struct probe_environment *environment, const struct context_uses *uses,
                      struct probe_variant *variant)
{
    const struct tracepoint_site *site = variant->sites[0].detail;
    struct probe_context *context = &variant->context;
    tracepoint_detail_new(environment, variant, TRACEPOINT_PERF);
    context->program_type = BPF_PROG_TYPE_TRACEPOINT;
    context->space = site->syscall >= 0 ? SPACE_USER : SPACE_KERNEL;
    context->args = site->args;
    context->args_missing = tracepoint_args_missing(uses);
    context->lower_args_field = perf_field;
    if (uses->ctx)
        context->ctx = type_pointer(environment->arena, site->args ? site->args : &type_none, SPACE_KERNEL);
}

static void perf_key(struct probe_environment *environment, const struct context_uses *uses,
                     const struct probe_site *probe_site, struct text *key)
{
    const struct tracepoint_site *site = probe_site->detail;
    (void)environment;
    text_add(key, site->syscall >= 0 ? "user" : "kernel");
    for (uint32_t i = 0; site->args && i < site->args->count; i++) {
        const struct field *field = &site->args->fields[i];
        if (!uses->ctx && !tracepoint_reads_field(uses, field->name))
            continue;
        text_printf(key, "|%s@%u.%u.%d ", field->name, field->offset, field->type->size, field->data_loc);
        type_describe(key, field->type);
    }
}

static void raw_fill(struct probe_environment *environment, const struct context_uses *uses,
                     struct probe_variant *variant)
{
    (void)uses;
    tracepoint_detail_new(environment, variant, TRACEPOINT_RAW);
    variant->context.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
    variant->context.space = SPACE_KERNEL;
}

/* ---- planning ---- */

static bool has_hook(struct probe_environment *environment, const char *event)
{
    struct btf_file *btf = probe_btf(environment);
    struct btf_prototype prototype;
    return btf && !btf_file_tracepoint(btf, event, &prototype);
}

static void site_copy(struct probe_environment *environment, struct probe_sites *to,
                      const struct probe_site *site)
{
    *arena_push(environment->arena, to->items, to->count, to->room) = *site;
}

static int tracepoint_plan(const struct probe_kind *kind, struct probe_environment *environment,
                           const struct context_uses *uses, const struct probe_sites *all,
                           struct probe_variants *variants)
{
    struct probe_sites dispatch = {0}, raw = {0}, perf = {0}, sites;
    bool needs_record = uses->args || uses->ctx;
    for (size_t i = 0; i < all->count && needs_record; i++) {
        int error =
            tracepoint_args(environment, (struct tracepoint_site *)all->items[i].detail, all->items[i].span);
        if (error)
            return error;
    }
    sites = needs_record ? tracepoint_fitting(environment, uses, all) : *all;
    size_t syscalls = 0;
    for (size_t i = 0; i < sites.count; i++)
        syscalls += ((const struct tracepoint_site *)sites.items[i].detail)->syscall >= 0;
    /* The perf way hands a system call's program the registers of user space: no kernel stack starts there.
     */
    bool wide = (syscalls > SYSCALLS_NARROW || uses->kstack) && !uses->ctx && !uses->all_fields &&
                tracepoint_dispatch_works(environment);
    for (size_t i = 0; i < sites.count; i++) {
        const struct tracepoint_site *site = sites.items[i].detail;
        if (wide && site->syscall >= 0)
            site_copy(environment, &dispatch, &sites.items[i]);
        else if (site->syscall < 0 && !needs_record && has_hook(environment, site->event))
            site_copy(environment, &raw, &sites.items[i]);
        else
            site_copy(environment, &perf, &sites.items[i]);
    }
    int error = probe_plan_grouped(kind, environment, uses, &dispatch, variants, false,
                                   tracepoint_dispatch_key, tracepoint_dispatch_fill);
    if (!error && raw.count)
        error = probe_plan_simple(kind, environment, uses, &raw, variants, raw_fill);
    if (!error)
        error = probe_plan_grouped(kind, environment, uses, &perf, variants, uses->site, perf_key, perf_fill);
    return error;
}

static int tracepoint_attach_perf(struct probe_environment *environment, struct kernel *kernel,
                                  const struct tracepoint_site *site, struct attach_request *request)
{
    struct tracefs *tracefs = tracepoint_open(environment, request->span);
    uint32_t id;
    if (!tracefs)
        return environment->tracefs_error;
    int error = tracefs_event_id(tracefs, site->subsystem, site->event, &id);
    if (error) {
        diagnose_error(environment->diagnostics, request->span,
                       error == -ENOENT ? "%s is gone: %s" : "%s: its number cannot be read: %s",
                       request->name, strerror(-error));
        return error;
    }
    return kernel_attach_tracepoint(kernel, request, id);
}

static int tracepoint_attach(struct probe_environment *environment, struct kernel *kernel,
                             const struct probe_variant *variant, struct attach_request *request)
{
    const struct tracepoint_detail *detail = variant->detail;
    if (detail->method == TRACEPOINT_DISPATCH)
        return kernel_attach_raw_tracepoint(kernel, request, tracepoint_dispatch_event(variant));
    for (size_t i = 0; i < variant->count; i++) {
        const struct tracepoint_site *site = variant->sites[i].detail;
        request->name = variant->sites[i].name;
        request->span = variant->sites[i].span;
        int error = detail->method == TRACEPOINT_RAW
                        ? kernel_attach_raw_tracepoint(kernel, request, site->event)
                        : tracepoint_attach_perf(environment, kernel, site, request);
        if (error)
            return error;
    }
    return 0;
}

/* ---- listing ---- */

struct tracepoint_listing {
    struct probe_environment *environment;
    const struct attach_point *pattern;
    bool verbose;
    struct text line, format, details;
    probe_visitor *visit;
    void *state;
};

/* The declarations of a format file as they stand there, without the fields that all events have. */
static void format_details(struct text *details, const char *format)
{
    static const char key[] = "field:";
    for (const char *line = format; line && *line; line = strchr(line, '\n')) {
        line += strspn(line, " \t\n");
        if (strncmp(line, key, sizeof key - 1) != 0)
            continue;
        const char *declaration = line + sizeof key - 1;
        size_t length = strcspn(declaration, ";\n");
        const char *name = declaration + length;
        while (name > declaration && name[-1] != ' ' && name[-1] != '\t')
            name--;
        if (strncmp(name, "common_", 7) != 0)
            text_printf(details, "    %.*s\n", (int)length, declaration);
    }
}

static int tracepoint_list_event(void *state, const char *subsystem, const char *event)
{
    struct tracepoint_listing *listing = state;
    const struct attach_point *pattern = listing->pattern;
    /* A pattern of one piece names events of any subsystem. */
    bool matches = pattern->piece_count > 2
                       ? point_matches(pattern, 1, subsystem) && point_matches(pattern, 2, event)
                       : point_matches(pattern, 1, event);
    if (!matches)
        return 0;
    text_clear(&listing->line);
    text_printf(&listing->line, "tracepoint:%s:%s", subsystem, event);
    text_clear(&listing->details);
    if (listing->verbose) {
        char path[512];
        int length = snprintf(path, sizeof path, "events/%s/%s/format", subsystem, event);
        text_clear(&listing->format);
        if (length < (int)sizeof path && !tracefs_read(listing->environment->tracefs, path, &listing->format))
            format_details(&listing->details, text_string(&listing->format));
    }
    return listing->visit(listing->state, text_string(&listing->line),
                          listing->verbose ? text_string(&listing->details) : NULL);
}

static int tracepoint_list(const struct probe_kind *kind, struct probe_environment *environment,
                           const struct attach_point *pattern, bool verbose, probe_visitor *visit,
                           void *state)
{
    (void)kind;
    bool is_vague = point_is_pattern(pattern, 0);
    if (pattern->piece_count > 3)
        return 0;
    if (is_vague ? !probe_tracefs(environment) : !tracepoint_open(environment, pattern->span))
        return is_vague ? 0 : environment->tracefs_error;
    struct tracepoint_listing listing = {
        .environment = environment, .pattern = pattern, .verbose = verbose, .visit = visit, .state = state};
    int error = tracefs_each_event(environment->tracefs, NULL, NULL, tracepoint_list_event, &listing);
    text_free(&listing.line);
    text_free(&listing.format);
    text_free(&listing.details);
    return error;
}

const struct probe_kind probe_kind_tracepoint = {
    .name = "tracepoint",
    .needs = (const char *const[]){"tracepoint", NULL},
    .aliases = (const char *const[]){"t", NULL},
    .forms = "tracepoint:SUBSYSTEM:EVENT",
    .what = "an event that the kernel's authors placed",
    .expand = tracepoint_expand,
    .plan = tracepoint_plan,
    .attach = tracepoint_attach,
    .list = tracepoint_list,
};
