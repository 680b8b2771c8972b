/* SPDX-License-Identifier: BSD-3-Clause */
/* fentry and fexit: functions of the kernel, of its modules, and of other BPF programs, with their arguments
 * by name and type, as BTF has them. Cheaper than a kprobe: the kernel calls the program directly.
 *
 * A program is loaded for one function, so each site is a variant of its own. The kernel gives pointers to
 * such a program as typed ones, with which it may do little; they are read from the context as memory, which
 * makes plain numbers of them. */
#include <stdlib.h>
#include <string.h>

#include "bpf/lower/lower.h"
#include "probe/all.h"
#include "probe/point.h"
#include "sym/kernel/btf.h"
#include "sym/kernel/kallsyms.h"

enum { SLOT = 8, SLOTS = 12 };

static const char kernel_module[] = "vmlinux";

struct fentry_site {
    struct btf_prototype prototype;
    const char *module; /* the module's name; NULL: the kernel itself, or a BPF program */
    uint32_t program;   /* the id of the BPF program; 0: it is none */
};

static bool is_return(const struct probe_kind *kind)
{
    return kind == &probe_kind_fexit;
}

/* ---- functions ---- */

/* A function that an attach point can mean, and the BTF that describes it. */
struct fentry_function {
    struct btf_file *btf;
    const char *name, *module; /* module: "vmlinux", or "bpf:12" */
    uint32_t program;
};
/* Non-zero stops. */
typedef int fentry_visitor(void *state, const struct fentry_function *function);

struct fentry_walk {
    struct probe_environment *environment;
    const struct attach_point *point;
    size_t function; /* the piece of the attach point that names functions */
    fentry_visitor *visit;
    void *state;
    struct btf_file *module_btf; /* BTF of the module that was walked last */
    const char *module;
};

static struct btf_file *walk_btf(struct fentry_walk *walk, const char *module)
{
    if (!*module)
        return probe_btf(walk->environment);
    if (walk->module && !strcmp(walk->module, module))
        return walk->module_btf;
    const char *name;
    struct btf_file *btf;
    for (size_t n = 0; (btf = probe_module_btf(walk->environment, n, &name)); n++)
        if (!strcmp(name, module))
            break;
    walk->module_btf = btf;
    walk->module = arena_strdup(walk->environment->arena, module);
    return btf;
}

static int walk_function(void *state, const char *name, const char *module, bool is_shared)
{
    (void)is_shared;
    struct fentry_walk *walk = state;
    bool is_named = walk->function == 2;
    if ((is_named && !point_matches(walk->point, 1, *module ? module : kernel_module)) ||
        !point_matches(walk->point, walk->function, name))
        return 0;
    struct btf_file *btf = walk_btf(walk, module);
    if (!btf || !btf_file_id(btf, BTF_NAME_FUNCTION, name))
        return 0;
    return walk->visit(walk->state,
                       &(struct fentry_function){
                           .btf = btf, .name = name, .module = *module ? walk->module : kernel_module});
}

/* Visits the functions that the kernel lets programs attach to, where it tells which these are. */
static int each_function(struct fentry_walk *walk, const char *pattern)
{
    struct kallsyms *kallsyms = probe_kallsyms(walk->environment);
    return kallsyms ? kallsyms_each_function(kallsyms, probe_tracefs(walk->environment), pattern,
                                             walk_function, walk)
                    : -ENOENT;
}

static int walk_program(void *state, const struct kernel_bpf_program *program)
{
    struct fentry_walk *walk = state;
    struct arena *arena = walk->environment->arena;
    const char *id = arena_printf(arena, "%u", program->id);
    struct btf_file *btf;
    if ((walk->function == 3 && !point_matches(walk->point, 2, id)) ||
        !point_matches(walk->point, walk->function, program->name))
        return 0;
    void *bytes = arena_array(arena, program->btf_size, 1);
    memcpy(bytes, program->btf, program->btf_size);
    if (btf_file_open_memory(bytes, program->btf_size, NULL, arena, &btf))
        return 0;
    int result =
        walk->visit(walk->state, &(struct fentry_function){.btf = btf,
                                                           .name = arena_strdup(arena, program->name),
                                                           .module = arena_printf(arena, "bpf:%s", id),
                                                           .program = program->id});
    btf_file_close(btf); /* everything that was made from it is in the arena */
    return result;
}

static bool names_programs(const struct attach_point *point)
{
    const char *module = point->piece_count > 2 ? point_piece(point, 1) : NULL;
    return module && !strcmp(module, "bpf");
}

/* ---- sites ---- */

struct fentry_search {
    struct probe_environment *environment;
    const struct probe_kind *kind;
    const struct attach_point *point;
    size_t function;
    struct probe_sites *sites;
    struct nearest nearest;
    const char *variadic; /* a function that matched and cannot be attached to */
};

static int search_add(void *state, const struct fentry_function *function)
{
    struct fentry_search *search = state;
    struct arena *arena = search->environment->arena;
    struct fentry_site *site = arena_new(arena, struct fentry_site);
    if (btf_file_function(function->btf, function->name, &site->prototype))
        return 0;
    const char *name = arena_strdup(arena, function->name);
    if (site->prototype.is_variadic) {
        search->variadic = name;
        return 0;
    }
    site->program = function->program;
    if (!function->program && strcmp(function->module, kernel_module) != 0)
        site->module = arena_strdup(arena, function->module);
    probe_site_add(search->environment, search->sites, search->point,
                   arena_printf(arena, "%s:%s:%s", search->kind->name, function->module, name), name, site);
    return 0;
}

static int search_offer(void *state, const char *name, uint32_t id)
{
    struct fentry_search *search = state;
    (void)id;
    nearest_offer(&search->nearest, name);
    return 0;
}

/* Finds a name without wildcards, in the BTF. */
static void search_plain(struct fentry_search *search, const char *name)
{
    const char *module;
    struct btf_file *btf, *kernel = probe_btf(search->environment);
    bool is_named = search->function == 2;
    if ((!is_named || point_matches(search->point, 1, kernel_module)) &&
        btf_file_id(kernel, BTF_NAME_FUNCTION, name))
        search_add(search, &(struct fentry_function){.btf = kernel, .name = name, .module = kernel_module});
    for (size_t n = 0; !search->sites->count && (btf = probe_module_btf(search->environment, n, &module));
         n++)
        if ((!is_named || point_matches(search->point, 1, module)) &&
            btf_file_id(btf, BTF_NAME_FUNCTION, name) >= btf_file_type_count(kernel))
            search_add(search, &(struct fentry_function){.btf = btf, .name = name, .module = module});
}

static int no_function(struct fentry_search *search, const char *name)
{
    struct diagnostics *diagnostics = search->environment->diagnostics;
    struct kallsyms *kallsyms = probe_kallsyms(search->environment);
    uint64_t address;
    if (search->variadic) {
        diagnose_error(diagnostics, search->point->span,
                       "%s cannot be attached to %s: it takes a variable number of arguments",
                       search->kind->name, search->variadic);
        diagnose_hint(diagnostics, "a kprobe works");
        return -EINVAL;
    }
    if (!names_programs(search->point) && kallsyms && !point_is_pattern(search->point, search->function) &&
        kallsyms_address(kallsyms, name, &address) != -ENOENT) {
        diagnose_error(diagnostics, search->point->span,
                       "%s cannot be attached to %s: the kernel's BTF does not describe it",
                       search->kind->name, name);
        diagnose_hint(diagnostics, "a kprobe works");
        return -ENOENT;
    }
    if (!names_programs(search->point))
        btf_file_each_function(probe_btf(search->environment), NULL, search_offer, search);
    return point_no_match(search->environment, search->kind, search->point, &search->nearest);
}

static int fentry_expand(const struct probe_kind *kind, struct probe_environment *environment,
                         const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 1, 3))
        return -EINVAL;
    size_t last = point->piece_count - 1, before = sites->count;
    const char *name = point_piece(point, last);
    if (!name || (last == 3 && !names_programs(point))) {
        diagnose_error(environment->diagnostics, point->span, "%s needs a function: %s", kind->name,
                       kind->forms);
        return -EINVAL;
    }
    if (!environment->features.fentry || !probe_btf(environment)) {
        diagnose_error(environment->diagnostics, point->span, "this kernel has no %s: %s cannot be attached",
                       kind->name, point->text);
        diagnose_hint(environment->diagnostics,
                      "it was built without BTF or function tracing, or lockdown forbids it; tracepoint, "
                      "rawtracepoint and (where there are kprobes) kprobe work without");
        return -ENOTSUP;
    }
    struct probe_sites found = {0};
    struct fentry_search search = {environment, kind, point, last, &found, {.name = name}, NULL};
    struct fentry_walk walk = {
        .environment = environment, .point = point, .function = last, .visit = search_add, .state = &search};
    if (names_programs(point))
        kernel_each_bpf_program(walk_program, &walk);
    else if (point_is_pattern(point, last) || (last == 2 && point_is_pattern(point, 1)))
        each_function(&walk, point_is_pattern(point, last) ? name : NULL);
    else
        search_plain(&search, name);
    for (size_t i = 0; i < found.count; i++)
        *arena_push(environment->arena, sites->items, sites->count, sites->room) = found.items[i];
    return sites->count > before ? 0 : no_function(&search, name);
}

/* ---- what a block reads ---- */

static struct ir *slot_read(struct lowering *l, uint32_t offset, const struct type *type)
{
    struct ir_builder *b = &l->b;
    struct ir *word = type->kind == TYPE_POINTER
                          ? lower_read_scalar(l, ir_offset(b, lower_ctx_address(l), (int32_t)offset),
                                              &type_u64, SPACE_KERNEL, b->span)
                          : lower_ctx_word(l, (int32_t)offset, &type_u64);
    if (type->kind == TYPE_BOOL)
        return ir_binary_constant(b, IR_NE, ir_binary_constant(b, IR_AND, word, 0xff), 0);
    return type->size < SLOT ? ir_extend(b, word, type->size, type->is_signed) : word;
}

static struct ir *fentry_field(struct lowering *l, const struct probe_context *context,
                               const struct field *field)
{
    (void)context;
    return slot_read(l, field->offset, field->type);
}

static struct ir *fentry_retval(struct lowering *l, const struct probe_context *context)
{
    if (!context->attach_program)
        return slot_read(l, context->args->size, context->retval);
    /* Where it lies depends on whether the verifier believed the program's own description of itself. */
    struct memory value = lower_temporary(l, SLOT, true);
    ir_call(&l->b, BPF_FUNC_get_func_ret, 2, lower_ctx(l), ir_offset(&l->b, value.base, value.offset));
    const struct type *type = context->retval;
    struct ir *word = ir_load(&l->b, value.base, value.offset, SLOT, false);
    return type->size < SLOT ? ir_extend(&l->b, word, type->size, type->is_signed) : word;
}

/* The arguments lie in the context in words; a struct that is passed by value takes two and is no field. */
static struct type *fentry_args(struct arena *arena, const struct fentry_site *site, const char *name)
{
    const struct btf_prototype *prototype = &site->prototype;
    struct type *args = arena_new(arena, struct type);
    struct field *fields = arena_array(arena, prototype->count + 1, sizeof *fields);
    *args = (struct type){.kind = TYPE_STRUCT, .name = name, .fields = fields};
    for (uint32_t i = 0; i < prototype->count; i++) {
        const struct btf_parameter *parameter = &prototype->parameters[i];
        uint32_t size = parameter->type->size > SLOT ? 2 * SLOT : SLOT;
        if (type_is_scalar(parameter->type) && *parameter->name)
            fields[args->count++] =
                (struct field){.name = parameter->name, .type = parameter->type, .offset = args->size};
        args->size += size;
    }
    return args;
}

static void fentry_fill(struct probe_environment *environment, const struct context_uses *uses,
                        struct probe_variant *variant)
{
    const struct fentry_site *site = variant->sites[0].detail;
    struct probe_context *context = &variant->context;
    (void)uses;
    context->program_type = BPF_PROG_TYPE_TRACING;
    context->expected_attach_type = is_return(variant->kind) ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
    context->attach_btf_id = site->prototype.id;
    context->attach_module = site->module;
    context->attach_program = site->program;
    context->space = SPACE_KERNEL;
    context->is_preemptible = true;
    context->args = fentry_args(environment->arena, site, variant->sites[0].name);
    context->lower_args_field = fentry_field;
    context->ctx = type_pointer(environment->arena, &type_u64, SPACE_KERNEL);
    if (!is_return(variant->kind))
        return;
    context->is_return = true;
    if (type_is_scalar(site->prototype.result)) {
        context->retval = site->prototype.result;
        context->lower_retval = fentry_retval;
    }
}

static int fentry_plan(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct context_uses *uses, const struct probe_sites *sites,
                       struct probe_variants *variants)
{
    return probe_plan_grouped(kind, environment, uses, sites, variants, true, NULL, fentry_fill);
}

static int fentry_attach(struct probe_environment *environment, struct kernel *kernel,
                         const struct probe_variant *variant, struct attach_request *request)
{
    (void)environment, (void)variant;
    return kernel_attach_function(kernel, request);
}

/* ---- listing ---- */

struct fentry_listing {
    const struct probe_kind *kind;
    struct text line, details;
    bool verbose;
    probe_visitor *visit;
    void *state;
};

static void fentry_details(struct fentry_listing *listing, const struct fentry_function *function)
{
    struct btf_prototype prototype;
    text_clear(&listing->details);
    if (btf_file_function(function->btf, function->name, &prototype))
        return;
    for (uint32_t i = 0; i < prototype.count; i++) {
        text_add(&listing->details, "    ");
        btf_file_describe(function->btf, prototype.parameters[i].id, &listing->details);
        text_printf(&listing->details, " %s\n", prototype.parameters[i].name);
    }
    if (!is_return(listing->kind) || prototype.result->kind == TYPE_NONE)
        return;
    text_add(&listing->details, "    ");
    btf_file_describe(function->btf, prototype.result_id, &listing->details);
    text_add(&listing->details, " retval\n");
}

static int fentry_line(void *state, const struct fentry_function *function)
{
    struct fentry_listing *listing = state;
    text_clear(&listing->line);
    text_printf(&listing->line, "%s:%s:%s", listing->kind->name, function->module, function->name);
    if (listing->verbose)
        fentry_details(listing, function);
    return listing->visit(listing->state, text_string(&listing->line),
                          listing->verbose ? text_string(&listing->details) : NULL);
}

/* A kernel that does not say which functions can be traced cannot trace any. */
static int fentry_list(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    struct tracefs *tracefs = probe_tracefs(environment);
    struct kallsyms *kallsyms = probe_kallsyms(environment);
    struct fentry_listing listing = {.kind = kind, .verbose = verbose, .visit = visit, .state = state};
    struct fentry_walk walk = {.environment = environment,
                               .point = pattern,
                               .function = pattern->piece_count > 1 ? pattern->piece_count - 1 : 1,
                               .visit = fentry_line,
                               .state = &listing};
    int error = 0;
    if (names_programs(pattern)) {
        error = kernel_each_bpf_program(walk_program, &walk);
    } else if (pattern->piece_count <= 3 && probe_btf(environment) && kallsyms && tracefs &&
               tracefs_lists_functions(tracefs)) {
        error = kallsyms_each_function(kallsyms, tracefs, NULL, walk_function, &walk);
    }
    text_free(&listing.line);
    text_free(&listing.details);
    return error < 0 ? 0 : error;
}

#define FENTRY(word, ...)                                                                                    \
    const struct probe_kind probe_kind_##word = {                                                            \
        .name = #word,                                                                                       \
        .aliases = (const char *const[]){__VA_ARGS__, NULL},                                                 \
        .forms = #word ":[MODULE:]FUNCTION or " #word ":bpf:[ID:]PROGRAM",                                   \
        .what = "a function of the kernel, with its arguments by name",                                      \
        .needs = (const char *const[]){"fentry", "btf", NULL},                                               \
        .expand = fentry_expand,                                                                             \
        .plan = fentry_plan,                                                                                 \
        .attach = fentry_attach,                                                                             \
        .list = fentry_list,                                                                                 \
    }

FENTRY(fentry, "f", "kfunc");
FENTRY(fexit, "fr", "kretfunc");
