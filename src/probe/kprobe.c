/* SPDX-License-Identifier: BSD-3-Clause */
/* kprobe and kretprobe: functions of the kernel by name, pattern, or address.
 *
 * Which site a program is at is told by the cookie where attachments carry one, else by the function's
 * address, through a tree of comparisons: one attachment of many functions knows no cookies before
 * kprobe_multi. Where neither works, each site is a variant. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/lower/lower.h"
#include "base/table.h"
#include "probe/all.h"
#include "probe/call.h"
#include "probe/point.h"
#include "sym/kernel/btf.h"
#include "sym/kernel/kallsyms.h"
#include "sym/machine/machine.h"

enum { BY_LINK = 8 /* up to so many functions get a link each, and with it a cookie */ };

struct kprobe_detail {       /* the detail of a site */
    struct kprobe_site site; /* its cookie is not set */
    uint64_t address;        /* the function's address; 0: it is not known */
};

/* How the sites of a variant are told apart; the variant's detail. */
enum kprobe_distinction { DISTINGUISH_BY_NOTHING, DISTINGUISH_BY_COOKIE, DISTINGUISH_BY_ADDRESS };
struct kprobe_address {
    uint64_t address;
    uint32_t site;
};
struct kprobe_group {
    enum kprobe_distinction distinction;
    struct kprobe_address *addresses; /* for DISTINGUISH_BY_ADDRESS, sorted */
    size_t count;
};

static bool is_return(const struct probe_kind *kind)
{
    return kind == &probe_kind_kretprobe;
}

/* ---- sites ---- */

struct kprobe_search {
    struct probe_environment *environment;
    const struct probe_kind *kind;
    const struct attach_point *point;
    size_t function; /* the piece of the attach point that names functions */
    struct probe_sites *sites;
    struct nearest nearest;
    bool is_pattern;
};

static void kprobe_add(struct kprobe_search *search, const char *spelling, const char *function,
                       struct kprobe_site site)
{
    struct arena *arena = search->environment->arena;
    struct kallsyms *kallsyms = probe_kallsyms(search->environment);
    struct kprobe_detail *detail = arena_new(arena, struct kprobe_detail);
    detail->site = site;
    if (site.symbol && !site.offset && kallsyms) {
        const char *name = site.module ? arena_printf(arena, "%s:%s", site.module, site.symbol) : site.symbol;
        if (kallsyms_address(kallsyms, name, &detail->address))
            detail->address = 0;
    }
    probe_site_add(search->environment, search->sites, search->point, spelling, function, detail);
}

static int kprobe_match(void *state, const char *name, const char *module, bool is_shared)
{
    struct kprobe_search *search = state;
    struct arena *arena = search->environment->arena;
    bool named = search->function == 2; /* the attach point names a module */
    if (named && !point_matches(search->point, 1, module[0] ? module : "vmlinux"))
        return 0;
    if (!point_matches(search->point, search->function, name)) {
        if (!search->is_pattern) {
            const char *before = search->nearest.best;
            nearest_offer(&search->nearest, name);
            if (search->nearest.best != before)
                search->nearest.best = arena_strdup(arena, name);
        }
        return 0;
    }
    const char *function = arena_strdup(arena, name);
    const char *from = module[0] ? arena_strdup(arena, module) : NULL;
    const char *spelling =
        named ? arena_printf(arena, "%s:%s:%s", search->kind->name, from ? from : "vmlinux", function)
              : arena_printf(arena, "%s:%s", search->kind->name, function);
    kprobe_add(search, spelling, function,
               (struct kprobe_site){.symbol = function, .module = from, .is_shared = is_shared});
    return 0;
}

static int kprobe_address(struct kprobe_search *search, const char *text, uint64_t address)
{
    struct probe_environment *environment = search->environment;
    struct kallsyms *kallsyms = probe_kallsyms(environment);
    struct kernel_symbol symbol;
    if (!environment->is_unsafe || is_return(search->kind)) {
        diagnose_error(environment->diagnostics, point_span(search->point, search->function),
                       is_return(search->kind) ? "kretprobe needs a function's name, not an address"
                                               : "kprobe at address %s is unsafe: it may not be the start of "
                                                 "an instruction",
                       text);
        diagnose_hint(environment->diagnostics,
                      is_return(search->kind) ? "write %s" : "write %s, or use --unsafe",
                      search->kind->forms);
        return -EPERM;
    }
    bool known = kallsyms && !kallsyms_resolve(kallsyms, address, &symbol);
    kprobe_add(search, point_name(environment, search->kind->name, search->point),
               known ? arena_strdup(environment->arena, symbol.name) : NULL,
               (struct kprobe_site){.offset = address});
    return 0;
}

static int kprobe_named(struct kprobe_search *search, const char *text)
{
    struct probe_environment *environment = search->environment;
    struct kallsyms *kallsyms = probe_kallsyms(environment);
    const char *module = search->function == 2 ? point_piece(search->point, 1) : NULL;
    uint64_t offset, address;
    const char *name = point_split_offset(environment, text, &offset);
    if (module && !strcmp(module, "vmlinux"))
        module = NULL;
    if (offset && is_return(search->kind)) {
        diagnose_error(environment->diagnostics, point_span(search->point, search->function),
                       "kretprobe takes no offset: a function returns as a whole");
        diagnose_hint(environment->diagnostics, "write kretprobe:%s", name);
        return -EINVAL;
    }
    const char *full = module ? arena_printf(environment->arena, "%s:%s", module, name) : name;
    int error = kallsyms ? kallsyms_address(kallsyms, full, &address) : 0;
    if (error && error != -EPERM) {
        search->nearest.name = name;
        if (!diagnostics_are_full(environment->diagnostics))
            kallsyms_each_function(kallsyms, probe_tracefs(environment), NULL, kprobe_match, search);
        return point_no_match(environment, search->kind, search->point, &search->nearest);
    }
    kprobe_add(search, point_name(environment, search->kind->name, search->point), name,
               (struct kprobe_site){.symbol = name, .module = module, .offset = offset});
    return 0;
}

static int kprobe_expand(const struct probe_kind *kind, struct probe_environment *environment,
                         const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 1, 2))
        return -EINVAL;
    if (!environment->features.kprobe) {
        diagnose_error(environment->diagnostics, point->span, "this kernel has no %ss: %s cannot be attached",
                       kind->name, point->text);
        diagnose_hint(environment->diagnostics,
                      "it was built without CONFIG_KPROBES, or lockdown forbids them; tracepoint and "
                      "rawtracepoint probes work without");
        return -ENOTSUP;
    }
    size_t last = point->piece_count - 1, before = sites->count;
    const char *text = point_piece(point, last);
    if (!text) {
        diagnose_error(environment->diagnostics, point->span, "%s needs a function: %s", kind->name,
                       kind->forms);
        return -EINVAL;
    }
    struct kprobe_search search = {environment,
                                   kind,
                                   point,
                                   last,
                                   sites,
                                   {.name = text},
                                   point_is_pattern(point, last) ||
                                       (last == 2 && point_is_pattern(point, 1))};
    uint64_t address;
    if (!search.is_pattern)
        return point_number(text, &address) ? kprobe_address(&search, text, address)
                                            : kprobe_named(&search, text);
    struct kallsyms *kallsyms = probe_kallsyms(environment);
    int error =
        kallsyms ? kallsyms_each_function(kallsyms, probe_tracefs(environment),
                                          point_is_pattern(point, last) ? text : NULL, kprobe_match, &search)
                 : -ENOENT;
    if (error) {
        diagnose_error(environment->diagnostics, point->span, "cannot list the kernel's functions: %s",
                       strerror(-error));
        return error;
    }
    return sites->count == before ? point_no_match(environment, kind, point, NULL) : 0;
}

/* ---- what a block reads ---- */

static struct ir *kprobe_cookie(struct lowering *l, const struct probe_context *context)
{
    (void)context;
    struct ir *cookie = ir_call(&l->b, BPF_FUNC_get_attach_cookie, 1, lower_ctx(l));
    return ir_binary_constant(&l->b, IR_SUB, cookie, 1);
}

/* Builds code that writes the site of `address`, one of `count` sorted addresses, to the variable and goes to `done`. */
static void kprobe_tree(struct lowering *l, struct ir *address, const struct kprobe_address *sorted,
                        size_t count, uint32_t variable, struct ir_block *done)
{
    if (count == 1) {
        ir_write(&l->b, variable, ir_constant(&l->b, sorted[0].site));
        ir_jump(&l->b, done);
        return;
    }
    size_t half = count / 2;
    struct ir *middle = ir_constant(&l->b, (int64_t)sorted[half].address);
    struct ir_if below = ir_if(&l->b, ir_binary(&l->b, IR_ULT, address, middle));
    kprobe_tree(l, address, sorted, half, variable, done);
    ir_end_if(&l->b, &below);
    kprobe_tree(l, address, sorted + half, count - half, variable, done);
}

static struct ir *kprobe_site_by_address(struct lowering *l, const struct probe_context *context)
{
    const struct kprobe_group *group = context->data;
    struct ir *address = ir_call(&l->b, BPF_FUNC_get_func_ip, 1, lower_ctx(l));
    struct ir_block *done = ir_label(&l->b);
    uint32_t variable = ir_variable(&l->b);
    kprobe_tree(l, address, group->addresses, group->count, variable, done);
    ir_place(&l->b, done);
    return ir_read(&l->b, variable);
}

/* ---- planning ---- */

static int compare_addresses(const void *a, const void *b)
{
    const struct kprobe_address *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* One kprobe_multi link serves many whole functions. It looks names up in all modules, so that a site which
 * names one must go another way. A program is loaded for the one way or the other: at an event, one for links
 * would take what lies on the stack for its link, and the kernel crashes. */
static bool goes_multi(const struct probe_environment *environment, const struct probe_sites *sites)
{
    bool takes = environment->features.kprobe_multi && sites->count > 1;
    for (size_t i = 0; i < sites->count && takes; i++) {
        const struct kprobe_site *site = &((const struct kprobe_detail *)sites->items[i].detail)->site;
        takes = site->symbol && !site->offset && !(site->module && *site->module);
    }
    return takes;
}

static enum kprobe_distinction kprobe_distinguish(const struct probe_environment *environment,
                                                  const struct context_uses *uses,
                                                  const struct probe_sites *sites)
{
    const struct features *features = &environment->features;
    if (!uses->site || sites->count < 2)
        return DISTINGUISH_BY_NOTHING;
    if (features->attach_cookie &&
        (goes_multi(environment, sites) || (features->perf_link && sites->count <= BY_LINK)))
        return DISTINGUISH_BY_COOKIE;
    for (size_t i = 0; i < sites->count; i++)
        if (!((const struct kprobe_detail *)sites->items[i].detail)->address)
            return DISTINGUISH_BY_NOTHING;
    return features->func_ip ? DISTINGUISH_BY_ADDRESS : DISTINGUISH_BY_NOTHING;
}

static void kprobe_distinction_fill(struct probe_environment *environment, const struct context_uses *uses,
                                    struct probe_variant *variant)
{
    const struct probe_sites sites = {variant->sites, variant->count, variant->count};
    struct kprobe_group *group = arena_new(environment->arena, struct kprobe_group);
    group->distinction = kprobe_distinguish(environment, uses, &sites);
    if (group->distinction == DISTINGUISH_BY_ADDRESS) {
        group->addresses = arena_array(environment->arena, variant->count, sizeof *group->addresses);
        for (size_t i = 0; i < variant->count; i++)
            group->addresses[group->count++] = (struct kprobe_address){
                ((const struct kprobe_detail *)variant->sites[i].detail)->address, (uint32_t)i};
        qsort(group->addresses, group->count, sizeof *group->addresses, compare_addresses);
    }
    variant->detail = group;
    variant->context.data = group;
    variant->context.lower_site =
        group->distinction == DISTINGUISH_BY_ADDRESS ? kprobe_site_by_address : kprobe_cookie;
    variant->context.expected_attach_type = goes_multi(environment, &sites) ? BPF_TRACE_KPROBE_MULTI : 0;
}

static void kprobe_fill(struct probe_environment *environment, const struct context_uses *uses,
                        struct probe_variant *variant)
{
    struct probe_context *context = &variant->context;
    kprobe_distinction_fill(environment, uses, variant);
    context->program_type = BPF_PROG_TYPE_KPROBE;
    context->space = SPACE_NONE; /* arguments may point to memory of the kernel or of a process */
    call_registers(environment, uses, context);
    call_values(environment, context, is_return(variant->kind),
                "a kprobe sees registers, not named arguments");
}

static int kprobe_plan(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct context_uses *uses, const struct probe_sites *sites,
                       struct probe_variants *variants)
{
    bool apart = uses->site && sites->count > 1 &&
                 kprobe_distinguish(environment, uses, sites) == DISTINGUISH_BY_NOTHING;
    return probe_plan_grouped(kind, environment, uses, sites, variants, apart, call_key, kprobe_fill);
}

/* One attachment has a function only once: what is named twice is attached again, as often as it is named. A
 * name's first site speaks for all. */
static int kprobe_attach(struct probe_environment *environment, struct kernel *kernel,
                         const struct probe_variant *variant, struct attach_request *request)
{
    const struct kprobe_group *group = variant->detail;
    struct kprobe_site *sites = arena_array(environment->arena, variant->count, sizeof *sites);
    const struct probe_site **rest = arena_array(environment->arena, variant->count, sizeof *rest);
    size_t count = variant->count;
    struct table cookies = {0};
    int error = 0;
    for (size_t i = 0; i < count; i++)
        rest[i] = &variant->sites[i];
    while (count && !error) {
        struct table taken_names = {0};
        size_t taken = 0, left = 0;
        for (size_t i = 0; i < count; i++) {
            const struct probe_site *site = rest[i], *first = table_find(&cookies, site->name);
            if (table_find(&taken_names, site->name)) {
                rest[left++] = site;
                continue;
            }
            table_put(&taken_names, site->name, (void *)site);
            if (!first)
                table_put(&cookies, site->name, (void *)(first = site)); /* without memory they stay apart */
            sites[taken] = ((const struct kprobe_detail *)site->detail)->site;
            sites[taken++].cookie =
                group->distinction == DISTINGUISH_BY_COOKIE ? (uint64_t)(first - variant->sites) + 1 : 0;
        }
        table_free(&taken_names);
        error = kernel_attach_kprobes(kernel, request, sites, taken, is_return(variant->kind));
        count = left;
    }
    table_free(&cookies);
    return error;
}

/* ---- listing ---- */

struct kprobe_listing {
    const struct probe_kind *kind;
    const struct attach_point *pattern;
    struct text line;
    probe_visitor *visit;
    void *state;
};

static int kprobe_list_function(void *state, const char *name, const char *module, bool is_shared)
{
    (void)is_shared;
    struct kprobe_listing *listing = state;
    bool named = listing->pattern->piece_count > 2;
    const char *from = module[0] ? module : "vmlinux";
    if (!point_matches(listing->pattern, named ? 2 : 1, name) ||
        (named && !point_matches(listing->pattern, 1, from)))
        return 0;
    text_clear(&listing->line);
    if (named)
        text_printf(&listing->line, "%s:%s:%s", listing->kind->name, from, name);
    else
        text_printf(&listing->line, "%s:%s", listing->kind->name, name);
    return listing->visit(listing->state, text_string(&listing->line), NULL);
}

/* A kernel that has kprobes offers them to perf. Without them nothing is listed. */
static int kprobe_list(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    (void)verbose;
    struct kallsyms *kallsyms = probe_kallsyms(environment);
    if (pattern->piece_count > 3 || !kallsyms || access("/sys/bus/event_source/devices/kprobe", F_OK))
        return 0;
    struct kprobe_listing listing = {.kind = kind, .pattern = pattern, .visit = visit, .state = state};
    int error =
        kallsyms_each_function(kallsyms, probe_tracefs(environment), NULL, kprobe_list_function, &listing);
    text_free(&listing.line);
    return error;
}

const struct probe_kind probe_kind_kprobe = {
    .name = "kprobe",
    .needs = (const char *const[]){"kprobe", NULL},
    .aliases = (const char *const[]){"k", NULL},
    .forms = "kprobe:[MODULE:]FUNCTION[+OFFSET]",
    .what = "a function of the kernel is called",
    .expand = kprobe_expand,
    .plan = kprobe_plan,
    .attach = kprobe_attach,
    .list = kprobe_list,
};

const struct probe_kind probe_kind_kretprobe = {
    .name = "kretprobe",
    .needs = (const char *const[]){"kprobe", NULL},
    .aliases = (const char *const[]){"kr", NULL},
    .forms = "kretprobe:[MODULE:]FUNCTION",
    .what = "a function of the kernel returns",
    .expand = kprobe_expand,
    .plan = kprobe_plan,
    .attach = kprobe_attach,
    .list = kprobe_list,
};
