/* SPDX-License-Identifier: BSD-3-Clause */
/* iter: the kernel's own walks over its objects (tasks, files, sockets, …), which run the block once for
 * each.
 *
 * There is nothing to wait for: the session runs the walk once and ends. Types come from BTF: a kernel that
 * can walk over x has the function bpf_iter_x, by whose id the program is loaded, and struct bpf_iter__x,
 * which is what `ctx` points to.
 *
 * The kernel calls the program once more behind the last object, with nothing in hand; the block does not see
 * that call. */
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "bpf/lower/lower.h"
#include "probe/all.h"
#include "probe/point.h"
#include "sym/kernel/btf.h"

#define FUNCTION_PREFIX "bpf_iter_"
#define CONTEXT_PREFIX "bpf_iter__"
#define PIN_DIRECTORY "/sys/fs/bpf/"
enum { BPF_FS = 0xcafe4a11 };

struct iter_site {
    const char *target; /* "task_file" */
    /* The path of the pinned iterator, which walks whenever it is read; NULL: the session walks once. */
    const char *pin;
};

/* Iterators that need an argument saying what to walk over; the language has no words for it. */
static const struct {
    const char *target, *what;
} iter_needy[] = {
    {"bpf_map_elem", "a map"},
    {"bpf_sk_storage_map", "a map"},
    {"sockmap", "a map"},
};

static bool iter_ids(struct btf_file *btf, const char *target, struct arena *arena, uint32_t *function,
                     const struct type **context)
{
    *context = btf_file_type(btf, arena_printf(arena, "struct " CONTEXT_PREFIX "%s", target));
    *function = btf_file_id(btf, BTF_NAME_FUNCTION, arena_printf(arena, FUNCTION_PREFIX "%s", target));
    return *context && *function;
}

/* ---- names ---- */

struct iter_names {
    struct arena *arena;
    struct btf_file *btf;
    const char **items;
    size_t count, room;
};

static int iter_name(void *state, const char *name, uint32_t id)
{
    struct iter_names *names = state;
    uint32_t function;
    const struct type *context;
    (void)id;
    const char *target = name + strlen("struct " CONTEXT_PREFIX);
    if (!strncmp(name, "struct " CONTEXT_PREFIX, strlen("struct " CONTEXT_PREFIX)) &&
        iter_ids(names->btf, target, names->arena, &function, &context))
        *arena_push(names->arena, names->items, names->count, names->room) =
            arena_strdup(names->arena, target);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted. */
static struct iter_names iter_names(struct probe_environment *environment)
{
    struct iter_names names = {.arena = environment->arena, .btf = probe_btf(environment)};
    if (names.btf)
        btf_file_each_type(names.btf, "struct " CONTEXT_PREFIX "*", iter_name, &names);
    if (names.count)
        qsort(names.items, names.count, sizeof *names.items, compare_names);
    return names;
}

/* ---- sites ---- */

/* The path of a pin; a relative one is below the mount point of BPF's file system. NULL: it cannot be a pin. */
static const char *iter_pin_path(struct probe_environment *environment, const struct attach_point *point)
{
    const char *pin = point_piece(point, 2);
    struct statfs system;
    const char *path = *pin == '/' ? pin : arena_printf(environment->arena, PIN_DIRECTORY "%s", pin);
    const char *slash = strrchr(path, '/');
    const char *directory =
        slash == path ? "/" : arena_copy(environment->arena, path, (size_t)(slash - path));
    const char *problem = NULL;
    if (!slash[1])
        problem = "it names a directory";
    else if (strchr(slash, '.'))
        problem = "names in BPF's file system have no dots";
    else if (!statfs(directory, &system) && system.f_type != BPF_FS)
        problem = "it is not in BPF's file system";
    if (!problem)
        return path;
    diagnose_error(environment->diagnostics, point_span(point, 2), "iter cannot be pinned at '%s': %s", path,
                   problem);
    diagnose_hint(environment->diagnostics, "write a name, which is then below " PIN_DIRECTORY
                                            "; `mount -t bpf bpf /sys/fs/bpf` mounts it");
    return NULL;
}

static int iter_expand(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct attach_point *point, struct probe_sites *sites)
{
    if (!point_count(environment, kind, point, 1, 2))
        return -EINVAL;
    struct btf_file *btf = probe_btf(environment);
    const char *target = point_piece(point, 1), *pin = NULL;
    const struct type *context;
    uint32_t function;
    if (!btf) {
        diagnose_error(environment->diagnostics, point->span,
                       "iter needs the kernel's BTF, and there is no /sys/kernel/btf/vmlinux");
        return -ENOTSUP;
    }
    if (target && point_is_pattern(point, 1)) {
        diagnose_error(environment->diagnostics, point_span(point, 1), "iter takes no wildcards");
        diagnose_hint(environment->diagnostics, "`spoor -l 'iter:*'` lists what there is");
        return -EINVAL;
    }
    if (!target || !iter_ids(btf, target, environment->arena, &function, &context)) {
        struct iter_names names = iter_names(environment);
        struct nearest nearest = {.name = target ? target : ""};
        for (size_t i = 0; i < names.count; i++)
            nearest_offer(&nearest, names.items[i]);
        return point_no_match(environment, kind, point, &nearest);
    }
    for (size_t i = 0; i < sizeof iter_needy / sizeof *iter_needy; i++)
        if (!strcmp(target, iter_needy[i].target)) {
            diagnose_error(environment->diagnostics, point->span,
                           "iter:%s has to be given %s of another program, which a script cannot name",
                           target, iter_needy[i].what);
            return -ENOTSUP;
        }
    if (point_piece(point, 2) && !(pin = iter_pin_path(environment, point)))
        return -EINVAL;
    if (environment->has_filter) {
        diagnose_error(environment->diagnostics, point->span,
                       "iter walks over all processes or over one: it knows no --follow, no --cgroup and no "
                       "list of processes");
        diagnose_hint(environment->diagnostics, "use -p with one process, or a predicate");
        return -EINVAL;
    }
    struct iter_site *site = arena_new(environment->arena, struct iter_site);
    *site = (struct iter_site){.target = arena_strdup(environment->arena, target), .pin = pin};
    probe_site_add(environment, sites, point, point_name(environment, kind->name, point), NULL, site);
    return 0;
}

/* ---- what a block reads ---- */

/* Behind the last object the context's second word, the object, is NULL. */
static void iter_gate(struct lowering *l, const struct probe_context *context)
{
    (void)context;
    struct ir *at = ir_offset(&l->b, lower_ctx(l), 8);
    struct ir *object = lower_read_scalar(l, at, &type_u64, SPACE_KERNEL, l->b.span);
    struct ir_block *on = ir_label(&l->b);
    ir_jump_if(&l->b, object, on);
    ir_return(&l->b, ir_constant(&l->b, 0));
    ir_place(&l->b, on);
}

static void iter_fill(struct probe_environment *environment, const struct context_uses *uses,
                      struct probe_variant *variant)
{
    const struct iter_site *site = variant->sites[0].detail;
    struct probe_context *context = &variant->context;
    const struct type *type;
    (void)uses;
    iter_ids(probe_btf(environment), site->target, environment->arena, &context->attach_btf_id, &type);
    context->program_type = BPF_PROG_TYPE_TRACING;
    context->expected_attach_type = BPF_TRACE_ITER;
    context->space = SPACE_KERNEL;
    context->is_preemptible = true;
    context->ignores_pid_filter = true; /* it runs in the process that walks, which is spoor */
    context->args_missing = "what it has at hand is in ctx";
    context->ctx = type_pointer(environment->arena, type, SPACE_KERNEL);
    context->lower_gate = iter_gate;
    context->writes_sequence = site->pin != NULL;
    context->ignores_stop = site->pin != NULL; /* a pinned iterator outlives the trace */
}

static int iter_plan(const struct probe_kind *kind, struct probe_environment *environment,
                     const struct context_uses *uses, const struct probe_sites *sites,
                     struct probe_variants *variants)
{
    return probe_plan_simple(kind, environment, uses, sites, variants, iter_fill);
}

static int iter_attach(struct probe_environment *environment, struct kernel *kernel,
                       const struct probe_variant *variant, struct attach_request *request)
{
    const struct iter_site *site = variant->sites[0].detail;
    return kernel_attach_iterator(kernel, request, site->target, environment->pid, site->pin);
}

/* ---- listing ---- */

/* The function that stands for the walk takes what the context holds. */
static void iter_details(struct btf_file *btf, const char *target, struct arena *arena, struct text *out)
{
    struct btf_prototype prototype;
    text_clear(out);
    if (btf_file_function(btf, arena_printf(arena, FUNCTION_PREFIX "%s", target), &prototype))
        return;
    for (uint32_t i = 0; i < prototype.count; i++) {
        text_add(out, "    ");
        btf_file_describe(btf, prototype.parameters[i].id, out);
        text_printf(out, " %s\n", prototype.parameters[i].name);
    }
}

static int iter_list(const struct probe_kind *kind, struct probe_environment *environment,
                     const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state)
{
    struct iter_names names = iter_names(environment);
    struct text line = {0}, details = {0};
    int error = 0;
    for (size_t i = 0; i < names.count && !error && pattern->piece_count < 3; i++) {
        if (!point_matches(pattern, 1, names.items[i]))
            continue;
        text_clear(&line);
        text_printf(&line, "%s:%s", kind->name, names.items[i]);
        if (verbose)
            iter_details(names.btf, names.items[i], environment->arena, &details);
        error = visit(state, text_string(&line), verbose ? text_string(&details) : NULL);
    }
    text_free(&line);
    text_free(&details);
    return error;
}

const struct probe_kind probe_kind_iter = {
    .name = "iter",
    .needs = (const char *const[]){"iterator", "btf", NULL},
    .aliases = (const char *const[]){"it", NULL},
    .forms = "iter:OBJECTS[:PIN]",
    .what = "for each of the kernel's objects of one sort, once",
    .time = PROBE_ITERATE,
    .is_alone = true,
    .expand = iter_expand,
    .plan = iter_plan,
    .attach = iter_attach,
    .list = iter_list,
};
