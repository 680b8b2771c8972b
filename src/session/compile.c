/* SPDX-License-Identifier: BSD-3-Clause */
/* The compiler's driver: reads as the list of its steps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lang/c/definitions.h"
#include "session/compiler.h"

enum { DEFAULT_RING = 1 << 20 };
#define INITIAL_PID_NAMESPACE                                                                                \
    0xeffffffcu /* the inode of the initial namespace, which is the same in every kernel */

void compiler_open(struct session *session)
{
    session->compiler = arena_new(&session->arena, struct compiler);
    imports_open(session);
    enum_maps_open(session);
}

void compiler_close(struct session *session)
{
    struct compiler *compiler = session->compiler;
    if (session->options.probe_filter)
        regfree(&compiler->probe_filter);
    table_free(&compiler->left_out);
    definitions_close(session);
    checker_free(&compiler->checker);
    text_free(&compiler->dump);
}

const char *compiler_name(const struct session *session, uint64_t index)
{
    const struct name_list *names = &session->compiler->names;
    return index < names->count ? names->items[index] : NULL;
}

const char *session_dump(const struct session *session)
{
    return text_string(&session->compiler->dump);
}

/* Sets the features that --check assumes: those of a recent kernel. */
static void assume_features(struct features *features)
{
    features_assume(features);
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    features->cpus = features->rings = cpus > 0 ? (unsigned)cpus : 1;
}

static int open_kernel(struct session *session)
{
    const struct session_options *options = &session->options;
    if (options->check_only || options->dump) {
        assume_features(&session->environment.features);
        return options->without
                   ? features_without(&session->environment.features, options->without, &session->diagnostics)
                   : 0;
    }
    struct kernel_options kernel = {.without = options->without,
                                    .verbose = options->is_verbose,
                                    .log_size = options->settings.log_size,
                                    .license = options->settings.license};
    int error = kernel_open(&kernel, &session->diagnostics, &session->kernel);
    if (error)
        return error;
    session->host = kernel_host(session->kernel);
    session->environment.features = session->host->features;
    settings_shorten_keys(&session->options.settings, &session->environment.features);
    return 0;
}

static int open_host(struct session *session)
{
    if (!replay_is_wanted(session))
        return open_kernel(session);
    if (!live_replay_is_needed(session))
        return replay_open_host(session);
    int error = live_replay_open(session);
    return error ? error : open_kernel(session);
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
    struct name_list *names = &session->compiler->names;
    uint32_t base = (uint32_t)names->count;
    size_t count = variant->context.site_count;
    for (uint32_t i = 0; count == 1 && i + 1 < base; i++)
        if (same_name(names->items[i], variant->sites[0].name) &&
            same_name(names->items[i + 1], variant->sites[0].function))
            return i;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++)
            *arena_push(&session->arena, names->items, names->count, names->room) =
                pass ? variant->sites[i].function : variant->sites[i].name;
    return base;
}

/* Leaves out the sites, from the given one on, whose names do not match --probe-filter. */
static void filter_sites(struct session *session, struct probe_sites *sites, size_t from)
{
    size_t kept = from;
    if (!session->options.probe_filter)
        return;
    for (size_t i = from; i < sites->count; i++)
        if (!regexec(&session->compiler->probe_filter, sites->items[i].name, 0, NULL, 0))
            sites->items[kept++] = sites->items[i];
    sites->count = kept;
}

static int compile_filter(struct session *session)
{
    char why[128];
    if (!session->options.probe_filter)
        return 0;
    int error =
        regcomp(&session->compiler->probe_filter, session->options.probe_filter, REG_EXTENDED | REG_NOSUB);
    if (!error)
        return 0;
    regerror(error, &session->compiler->probe_filter, why, sizeof why);
    diagnose_error(&session->diagnostics, (struct span){0},
                   "--probe-filter: '%s' is no regular expression: %s", session->options.probe_filter, why);
    session->options.probe_filter = NULL;
    return -EINVAL;
}

void session_demote_missing_probe(struct session *session, const struct diagnostics *before)
{
    struct diagnostics *diagnostics = &session->diagnostics;
    enum missing_policy policy = session->options.settings.missing_probes;
    if (policy == MISSING_ERROR)
        return;
    size_t kept = before->count;
    diagnostics->errors = before->errors;
    for (size_t i = before->count; i < diagnostics->count; i++) {
        struct diagnostic *item = &diagnostics->items[i];
        item->severity = DIAGNOSTIC_WARNING;
        if (policy == MISSING_WARN)
            diagnostics->items[kept++] = *item;
    }
    diagnostics->count = kept;
    if (policy == MISSING_IGNORE)
        memcpy(diagnostics->reports, before->reports, sizeof diagnostics->reports);
}

/* False, with a diagnostic: there are more probes than may be. */
static bool check_probes(struct session *session, size_t count)
{
    uint32_t most = session->options.settings.max_probes;
    if (count <= most)
        return true;
    diagnose_error(&session->diagnostics, (struct span){0},
                   "Can't attach to %zu probes because it exceeds the current limit of %u probes.", count,
                   most);
    diagnose_hint(&session->diagnostics,
                  "You can increase the limit through the BPFTRACE_MAX_PROBES environment variable.");
    return false;
}

/* The sites of an attach point. They are counted as they come: a list of patterns may mean any number. */
static bool expand_point(struct session *session, const struct attach_point *point, struct probe_sites *sites,
                         size_t *counts)
{
    const struct probe_kind *const *kinds = session->options.kinds;
    if (probe_expand(&session->environment, kinds, point, sites) == -ENOMEM)
        arena_give_up(&session->arena); /* or the probe would be missing without a word */
    for (size_t i = 0; kinds[i]; i++) {
        if (kinds[i]->time != PROBE_AT_BEGIN && kinds[i]->time != PROBE_AT_END) /* these stay */
            filter_sites(session, &sites[i], counts[i]);
        session->units.site_count += sites[i].count - counts[i];
        counts[i] = sites[i].count;
    }
    return check_probes(session, session->units.site_count);
}

/* Plans units for one attach point of a block (only), or for all of them (NULL). */
static void plan_block(struct session *session, struct action_block *block, struct probe_variants *variants,
                       const struct attach_point *only)
{
    const struct probe_kind *const *kinds = session->options.kinds;
    struct context_uses uses = check_uses(&session->arena, session->options.builtins, block);
    size_t count = 0;
    session->compiler->unwinds |= uses.unwinds;
    while (kinds[count])
        count++;
    struct probe_sites *sites = arena_array(&session->arena, count, sizeof *sites);
    size_t *counts = arena_array(&session->arena, count, sizeof *counts);
    for (struct attach_point *point = block->attach_points; point; point = point->next)
        if ((!only || point == only) && !expand_point(session, point, sites, counts) && !only)
            return;
    for (size_t i = 0; i < count; i++)
        if (sites[i].count &&
            kinds[i]->plan(kinds[i], &session->environment, &uses, &sites[i], variants) == -ENOMEM)
            arena_give_up(&session->arena);
}

static void check_limits(struct session *session)
{
    const struct settings *settings = &session->options.settings;
    if (session->units.count > settings->max_bpf_progs) {
        diagnose_error(&session->diagnostics, (struct span){0},
                       "Your program is trying to generate more than %zu BPF programs, which exceeds the "
                       "current limit of %u.",
                       session->units.count, settings->max_bpf_progs);
        diagnose_hint(&session->diagnostics,
                      "You can increase the limit through the BPFTRACE_MAX_BPF_PROGS environment variable.");
    }
}

static void add_units(struct session *session, struct action_block *block, struct probe_variants *variants)
{
    for (size_t i = 0; i < variants->count; i++)
        *arena_push(&session->arena, session->units.items, session->units.count, session->units.room) =
            (struct session_unit){.block = block,
                                  .variant = &variants->items[i],
                                  .name_base = add_names(session, &variants->items[i])};
}

/* The copies of blocks that units from `first` on are compiled from. */
static void clone_blocks(struct session *session, size_t first)
{
    struct check_unit *checks = arena_array(&session->arena, session->units.count + 1, sizeof *checks);
    if (first)
        memcpy(checks, session->compiler->checks, first * sizeof *checks);
    session->compiler->checks = checks;
    for (size_t i = first; i < session->units.count; i++) {
        struct session_unit *unit = &session->units.items[i];
        checks[i] = (struct check_unit){
            .predicate = unit->block->predicate ? node_clone(&session->arena, unit->block->predicate) : NULL,
            .body = node_clone(&session->arena, unit->block->body),
            .context = &unit->variant->context,
            .probe = unit->variant->sites[0].name,
        };
    }
}

static int make_units(struct session *session)
{
    for (struct action_block *block = session->compiler->script->blocks; block; block = block->next) {
        if (diagnostics_are_full(&session->diagnostics) ||
            session->units.count > session->options.settings.max_bpf_progs ||
            session->units.site_count > session->options.settings.max_probes)
            break; /* looking for probes takes long */
        compile_plan(session, block, NULL);
    }
    if (!session->diagnostics.errors)
        enum_maps_fill(session);
    if (!session->diagnostics.errors && !session->units.site_count && !session->environment.unchecked &&
        !grow_is_on(session)) {
        diagnose_error(&session->diagnostics, (struct span){0}, "No probes to attach");
        return -ENOENT;
    }
    for (size_t i = 0; i < session->units.count && session->units.site_count > 1; i++)
        if (session->units.items[i].variant->kind->is_alone) {
            const struct probe_site *site = &session->units.items[i].variant->sites[0];
            diagnose_error(&session->diagnostics, site->span, "%s must be the only probe of a script",
                           site->name);
            diagnose_hint(&session->diagnostics,
                          "it runs once; what other probes see belongs into a script of its own");
            break;
        }
    if (!session->diagnostics.errors)
        check_limits(session);
    if (session->diagnostics.errors)
        return -EINVAL;
    clone_blocks(session, 0);
    return 0;
}

static bool see_assignment(struct node *node, void *state)
{
    struct session *session = state;
    const struct node *target = node->kind == NODE_ASSIGN ? node->assign.target
                                : node->kind == NODE_STEP ? node->step.target
                                                          : NULL;
    if (target && target->kind == NODE_MAP &&
        table_put(&session->compiler->left_out, target->map.name, (void *)target->map.name))
        arena_give_up(&session->arena);
    return true;
}

/* For messages: what is assigned to where no probe is. */
static void find_left_out(struct session *session)
{
    for (struct action_block *block = session->compiler->script->blocks; block; block = block->next) {
        bool has_unit = false;
        for (size_t i = 0; i < session->units.count && !has_unit; i++)
            has_unit = session->units.items[i].block == block;
        if (!has_unit)
            node_walk(block->body, see_assignment, session);
    }
}

/* Of the longest name with its NUL, but not more than a string may have. */
static uint32_t name_bytes(const struct session *session)
{
    size_t longest = 0, most = session->options.settings.max_strlen;
    for (size_t i = 0; i < session->compiler->names.count; i++) {
        size_t length = session->compiler->names.items[i] ? strlen(session->compiler->names.items[i]) : 0;
        longest = length > longest ? length : longest;
    }
    return (uint32_t)(longest < most ? longest + 1 : most);
}

static int check(struct session *session)
{
    definitions_provide(session);
    find_left_out(session);
    session->compiler->checker = (struct checker){
        .arena = &session->arena,
        .diagnostics = &session->diagnostics,
        .builtins = session->options.builtins,
        .provider = &session->compiler->provider,
        .parameters = &session->options.parameters,
        .is_unsafe = session->options.is_unsafe,
        .has_command = session->options.command != NULL,
        .script_of = session->options.more_count && !session->options.shares_names ? imports_script_of : NULL,
        .script_state = session,
        .left_out = &session->compiler->left_out,
        .max_strlen = session->options.settings.max_strlen,
        .name_bytes = name_bytes(session),
        .stack_mode = session->options.settings.stack_mode,
        .without_types =
            !session->environment.features.btf
                ? "the kernel does not tell its types (there is no /sys/kernel/btf/vmlinux): what "
                  "is used of them has to be defined in the script"
                : NULL,
        .declarations = session->compiler->script->declarations,
        .subprograms = session->compiler->script->subprograms,
    };
    return check_units(&session->compiler->checker, session->compiler->checks, session->units.count)
               ? 0
               : -EINVAL;
}

/* "p3_uprobe": the kernel shows 15 characters. */
static const char *program_name(struct session *session, size_t number)
{
    return arena_printf(&session->arena, "s%zu_%s", number, session->units.items[number].variant->kind->name);
}

/* The size of one ring in bytes: a power of two of pages. */
static uint32_t ring_bytes(const struct session *session)
{
    uint32_t pages = session->options.settings.ring_pages, bytes = 4096;
    if (!pages)
        return DEFAULT_RING;
    while (bytes / 4096 < pages)
        bytes *= 2;
    return bytes;
}

/* As the kernel writes device numbers for user space. */
static uint64_t kernel_device(dev_t device)
{
    uint64_t high = major(device), low = minor(device);
    return (low & 0xff) | high << 8 | (low & ~(uint64_t)0xff) << 12;
}

/* Programs number processes as spoor's own namespace does. */
static void find_pid_namespace(struct session *session)
{
    struct stat namespace;
    if (replay_runs_programs(session)) /* ids are as they were recorded */
        return;
    if (stat("/proc/self/ns/pid", &namespace) || namespace.st_ino == INITIAL_PID_NAMESPACE)
        return;
    session->target.filter.namespace_device = kernel_device(namespace.st_dev);
    session->target.filter.namespace = namespace.st_ino;
}

static struct lower_options options_for_lowering(struct session *session)
{
    return (struct lower_options){
        .features = &session->environment.features,
        .filter = session->target.filter,
        .max_strlen = session->options.settings.max_strlen,
        .max_map_keys = session->options.settings.max_map_keys,
        .is_for_kernel = !replay_runs_programs(session),
        .ring_bytes = ring_bytes(session),
        .frame_most = session->options.settings.on_stack_limit,
        .tracing_glue_ranges = session->kernel ? names_tracing_glue : NULL,
        .tracing_glue_state = session,
        .times_records = session->options.shows_times || session->live_replay,
        .counts_lookups = session->options.warns,
        .wall_offset = names_wall_offset(),
        .unwind = session->compiler->unwinds ? unwind_find_offsets(session) : NULL,
        .clock_map = session->options.clock_map,
        .names = &session->compiler->names,
    };
}

static struct compilation compilation_of(struct session *session)
{
    return (struct compilation){
        .arena = &session->arena,
        .diagnostics = &session->diagnostics,
        .checker = &session->compiler->checker,
        .options = options_for_lowering(session),
        .image = &session->image,
        .actions = &session->actions,
    };
}

static struct unit_request request_unit(struct session *session, size_t number)
{
    return (struct unit_request){
        .unit = &session->compiler->checks[number],
        .program_name = program_name(session, number),
        .name_base = session->units.items[number].name_base,
    };
}

static int lower_units(struct session *session, const struct compilation *compilation, size_t first)
{
    enum session_stage dump = session->options.dump;
    int error = 0;
    for (size_t i = first; !error && i < session->units.count; i++) {
        struct unit_request request = request_unit(session, i);
        request.dump_ir = dump == STAGE_IR || dump == STAGE_IR_RAW ? &session->compiler->dump : NULL;
        request.dump_raw = dump == STAGE_IR_RAW;
        size_t program = session->units.items[i].program = session->image.program_count;
        error = lower_unit(compilation, &request);
        if (!error && dump == STAGE_BPF)
            image_print(&session->compiler->dump, &session->image, &session->image.programs[program]);
    }
    return error;
}

static int lower(struct session *session)
{
    struct compilation compilation = compilation_of(session);
    int error = lower_maps(&compilation);
    if (!error)
        error = lower_units(session, &compilation, 0);
    if (!error)
        error = lower_pid_set_programs(&compilation, session->target.programs);
    if (!error && session->live_replay)
        error = live_replay_check(session);
    /* Blocks that are compiled once more count all of theirs anew. */
    uint32_t spare =
        (uint32_t)session->image.runtime_error_count + (grow_is_on(session) ? GROW_RUNTIME_ERRORS : 64);
    if (!error)
        lower_finish(&session->image, spare);
    return error;
}

int compile_more(struct session *session, size_t first)
{
    clone_blocks(session, first);
    if (!check_units(&session->compiler->checker, session->compiler->checks + first,
                     session->units.count - first))
        return -EINVAL;
    struct compilation compilation = compilation_of(session);
    int error = lower_more_maps(&compilation);
    return error ? error : lower_units(session, &compilation, first);
}

int compile_divided(struct session *session, size_t index)
{
    struct compilation compilation = compilation_of(session);
    struct unit_request request = request_unit(session, index);
    request.divides = true;
    return lower_unit(&compilation, &request);
}

void compile_plan(struct session *session, struct action_block *block, const struct attach_point *only)
{
    struct probe_variants *variants = arena_new(&session->arena, struct probe_variants);
    plan_block(session, block, variants, only);
    add_units(session, block, variants);
}

static void dump_units(struct session *session)
{
    for (size_t i = 0; i < session->units.count; i++) {
        text_printf(&session->compiler->dump, "%s\n", session->compiler->checks[i].probe);
        if (session->compiler->checks[i].predicate)
            node_print(&session->compiler->dump, session->compiler->checks[i].predicate, 1);
        node_print(&session->compiler->dump, session->compiler->checks[i].body, 1);
        for (const struct subprogram *called = session->compiler->checks[i].subprograms; called;
             called = called->next) {
            text_printf(&session->compiler->dump, " fn %s\n", called->name);
            node_print(&session->compiler->dump, called->body, 2);
        }
    }
}

static int compile(struct session *session)
{
    session->environment =
        (struct probe_environment){.arena = &session->arena, .diagnostics = &session->diagnostics};
    /* Scripts are parsed before the kernel is asked; what is wrong with the list is said when it is. */
    struct diagnostics unused = {.arena = &session->arena};
    features_assume(&session->environment.features);
    features_without(&session->environment.features, session->options.without, &unused);
    definitions_open(session);
    imports_parse(session);
    definitions_report(session);
    if (!session->diagnostics.errors)
        settings_from_script(&session->options.settings, session->compiler->script, &session->diagnostics);
    if (!session->diagnostics.errors)
        settings_read(&session->diagnostics, &session->options.settings, session->compiler->script);
    if (!session->diagnostics.errors)
        settings_check_unstable(&session->diagnostics, &session->options.settings, session->compiler->script);
    if (!session->diagnostics.errors)
        script_take_options(&session->arena, &session->diagnostics, session->compiler->script,
                            &session->options.parameters);
    if (session->diagnostics.errors)
        return -EINVAL;
    if (session->options.dump == STAGE_AST) {
        script_print(&session->compiler->dump, session->compiler->script);
        return 0;
    }
    int error = open_host(session);
    if (error || (error = compile_filter(session)))
        return error;
    session->environment.is_unsafe = session->options.is_unsafe;
    session->environment.asks_kernel = session->kernel != NULL;
    session->environment.missing = (enum missing_policy)session->options.settings.missing_probes;
    session->environment.runs = session->options.runs;
    find_pid_namespace(session);
    if (!(error = target_choose(session)))
        grow_choose(session);
    if (error || (error = make_units(session)) || (error = check(session)))
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
