/* SPDX-License-Identifier: BSD-3-Clause */
/* The compiler's driver: reads as the list of its steps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/state.h"
#include "sym/btf.h"

enum {
    DEFAULT_STRLEN = 1024,
    DEFAULT_MAP_KEYS = 4096,
    DEFAULT_RING = 1 << 20,
    DEFAULT_CAT = 10240,
    FRAMES = 127
};

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
    return value ? value : fallback;
}

int session_open(const struct session_options *options, struct session **out)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return -ENOMEM;
    session->options = *options;
    session->options.max_strlen = or_default(options->max_strlen, DEFAULT_STRLEN);
    session->options.max_map_keys = or_default(options->max_map_keys, DEFAULT_MAP_KEYS);
    session->options.ring_bytes = or_default(options->ring_bytes, DEFAULT_RING);
    session->options.max_cat_bytes = or_default(options->max_cat_bytes, DEFAULT_CAT);
    session->diagnostics.arena = &session->arena;
    session->signals = session->process = -1;
    session->child = (struct session_child){.pidfd = -1, .go = -1, .failed = -1};
    session->image.control = session->image.events = session->image.stacks = -1;
    *out = session;
    return 0;
}

void session_close(struct session *session)
{
    if (!session)
        return;
    names_close(session);
    checker_free(&session->checker);
    probe_environment_close(&session->environment);
    if (session->host)
        session->host->operations->close(session->host);
    for (size_t i = 0; i < 2; i++) {
        int descriptor = i ? session->process : session->signals;
        if (descriptor >= 0)
            close(descriptor);
    }
    text_free(&session->dump);
    text_free(&session->out);
    printer_free(&session->printer);
    free(session->mishaps);
    free(session->stack_frames);
    arena_free(&session->arena);
    free(session);
}

const struct diagnostics *session_diagnostics(const struct session *session)
{
    return &session->diagnostics;
}

const char *session_dump(const struct session *session)
{
    return text_string(&session->dump);
}

/* Without a kernel to ask (--check) the newest is assumed. */
static void assume_features(struct features *features)
{
#define X(name, what) features->name = true;
    BPF_FEATURES(X)
#undef X
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    features->cpus = cpus > 0 ? (unsigned)cpus : 1;
}

static int open_host(struct session *session)
{
    const struct session_options *options = &session->options;
    if (options->check_only || options->dump) {
        assume_features(&session->features);
        return options->without
                   ? features_without(&session->features, options->without, &session->diagnostics)
                   : 0;
    }
    struct kernel_options kernel = {.without = options->without, .verbose = options->is_verbose};
    int error = kernel_open(&kernel, &session->diagnostics, &session->kernel);
    if (error)
        return error;
    session->host = kernel_host(session->kernel);
    session->features = session->host->features;
    return 0;
}

/* ---- names from outside the script ---- */

static const struct type *provide_type(void *state, const char *name)
{
    struct btf_file *btf = probe_btf(state);
    return btf ? btf_file_type(btf, name) : NULL;
}

static const struct type *provide_enumerator(void *state, const char *name, int64_t *value)
{
    struct btf_file *btf = probe_btf(state);
    return btf && !btf_file_enumerator(btf, name, value) ? &type_i64 : NULL;
}

static int provide_kernel_address(void *state, const char *symbol, uint64_t *address)
{
    struct kallsyms *kallsyms = probe_kallsyms(state);
    return kallsyms ? kallsyms_address(kallsyms, symbol, address) : -ENOENT;
}

/* ---- blocks to units ---- */

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* Sites that the block cannot tell apart have one name; a single site's name is shared by all variants of it,
 * so that it is one key wherever it fired. */
static uint32_t add_names(struct session *session, const struct probe_variant *variant)
{
    uint32_t base = (uint32_t)session->name_count;
    size_t count = variant->context.site_count;
    for (uint32_t i = 0; count == 1 && i + 1 < base; i++)
        if (same_name(session->names[i], variant->sites[0].name) &&
            same_name(session->names[i + 1], variant->sites[0].function))
            return i;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++)
            *arena_push(&session->arena, session->names, session->name_count, session->name_room) =
                pass ? variant->sites[i].function : variant->sites[i].name;
    return base;
}

static void plan_block(struct session *session, struct action_block *block, struct probe_variants *variants)
{
    const struct probe_kind *const *kinds = session->options.kinds;
    struct context_uses uses = check_uses(&session->arena, session->options.builtins, block);
    size_t count = 0;
    while (kinds[count])
        count++;
    struct probe_sites *sites = arena_array(&session->arena, count, sizeof *sites);
    for (struct attach_point *point = block->attach_points; point; point = point->next)
        probe_expand(&session->environment, kinds, point, sites);
    for (size_t i = 0; i < count; i++) {
        if (sites[i].count)
            kinds[i]->plan(kinds[i], &session->environment, &uses, &sites[i], variants);
        session->probe_count += sites[i].count;
    }
}

static int make_units(struct session *session)
{
    for (struct action_block *block = session->script->blocks; block; block = block->next) {
        struct probe_variants variants = {0};
        plan_block(session, block, &variants);
        for (size_t i = 0; i < variants.count; i++)
            *arena_push(&session->arena, session->units, session->unit_count, session->unit_room) =
                (struct session_unit){.block = block,
                                      .variant = &variants.items[i],
                                      .name_base = add_names(session, &variants.items[i])};
    }
    if (session->diagnostics.errors)
        return -EINVAL;
    session->checks = arena_array(&session->arena, session->unit_count, sizeof *session->checks);
    for (size_t i = 0; i < session->unit_count; i++) {
        struct session_unit *unit = &session->units[i];
        session->checks[i] = (struct check_unit){
            .predicate = unit->block->predicate ? node_clone(&session->arena, unit->block->predicate) : NULL,
            .body = node_clone(&session->arena, unit->block->body),
            .context = &unit->variant->context,
            .probe = unit->variant->sites[0].name,
        };
    }
    return 0;
}

static int check(struct session *session)
{
    session->provider = (struct type_provider){&session->environment, provide_type, provide_enumerator,
                                               provide_kernel_address};
    session->checker = (struct checker){
        .arena = &session->arena,
        .diagnostics = &session->diagnostics,
        .builtins = session->options.builtins,
        .provider = &session->provider,
        .parameters = &session->options.parameters,
        .is_unsafe = session->options.is_unsafe,
        .max_strlen = session->options.max_strlen,
    };
    return check_units(&session->checker, session->checks, session->unit_count) ? 0 : -EINVAL;
}

/* "p3_uprobe": the kernel shows 15 characters. */
static const char *program_name(struct session *session, size_t number)
{
    return arena_printf(&session->arena, "s%zu_%s", number, session->units[number].variant->kind->name);
}

static int lower(struct session *session)
{
    enum session_stage dump = session->options.dump;
    struct lower_options options = {
        .features = &session->features,
        .pid_filter = (uint32_t)session->options.pid,
        .max_strlen = session->options.max_strlen,
        .max_map_keys = session->options.max_map_keys,
        .ring_bytes = session->options.ring_bytes,
        .user_frames = FRAMES,
        .counts_lookups = session->options.warns,
    };
    int error =
        lower_maps(&session->arena, &session->image, &session->diagnostics, &session->checker, &options);
    for (size_t i = 0; !error && i < session->unit_count; i++) {
        struct session_unit *unit = &session->units[i];
        options.name_base = unit->name_base;
        unit->program = session->image.program_count;
        error = lower_unit(&session->arena, &session->image, &session->actions, &session->diagnostics,
                           &session->checker, &session->checks[i], &options, program_name(session, i),
                           dump == STAGE_IR || dump == STAGE_IR_RAW ? &session->dump : NULL,
                           dump == STAGE_IR_RAW);
        if (!error && dump == STAGE_BPF)
            image_print(&session->dump, &session->image, &session->image.programs[unit->program]);
    }
    if (!error)
        lower_finish(&session->image);
    return error;
}

static void dump_units(struct session *session)
{
    for (size_t i = 0; i < session->unit_count; i++) {
        text_printf(&session->dump, "%s\n", session->checks[i].probe);
        if (session->checks[i].predicate)
            node_print(&session->dump, session->checks[i].predicate, 1);
        node_print(&session->dump, session->checks[i].body, 1);
    }
}

static int compile(struct session *session)
{
    session->script = script_parse(&session->arena, &session->diagnostics, session->options.source,
                                   &session->options.parameters);
    if (session->diagnostics.errors)
        return -EINVAL;
    if (session->options.dump == STAGE_AST) {
        script_print(&session->dump, session->script);
        return 0;
    }
    int error = open_host(session);
    if (error)
        return error;
    session->environment = (struct probe_environment){
        .arena = &session->arena,
        .diagnostics = &session->diagnostics,
        .features = session->features,
        .pid = session->options.pid,
        .is_unsafe = session->options.is_unsafe,
    };
    if ((error = make_units(session)) || (error = check(session)))
        return error;
    if (session->options.dump == STAGE_TYPES) {
        dump_units(session);
        return 0;
    }
    return lower(session);
}

int session_compile(struct session *session)
{
    jmp_buf out_of_memory;
    if (arena_guard(&session->arena, out_of_memory))
        return -ENOMEM;
    int error = compile(session);
    session->arena.out_of_memory = NULL;
    return error;
}

int session_probes(struct session *session, probe_visitor *visit, void *state)
{
    for (size_t i = 0; i < session->unit_count; i++)
        for (size_t k = 0; k < session->units[i].variant->count; k++)
            visit(state, session->units[i].variant->sites[k].name, NULL);
    return 0;
}
