/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps that a script looks names up in and never fills: printf("%s", @state[arg1]). SPDK's scripts are written so,
 * and a generator that scrapes the program's sources completes them. Here the program's own debug information
 * does: such a map is filled with the names of the enum that fits, as enum_map() would, before anything else of the
 * script runs.
 *
 * Which enum is meant: what --enum says; else the type of the key, where that is an enum; else the one whose
 * name is made of the map's words and of those of the probes around it: @subsystem in
 * usdt:…:nvmf_subsystem_change_state is spdk_nvmf_subsystem_state; else one that is called like a probe. When
 * several fit equally well it is an error that names them. */
#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "session/compiler.h"

struct map_use {
    const struct node *key;
    const struct action_block *block; /* NULL: in a function */
};

struct enum_map {
    const char *name; /* with the @ */
    unsigned script;  /* the script that the map belongs to */
    struct span first;
    struct map_use *uses;
    size_t use_count, use_room;
    bool is_used_otherwise; /* assigned, printed as a whole, has several keys … */
    const struct type *type;
};

struct enum_search {
    struct session *session;
    const struct action_block *block; /* the block that is being searched */
    struct enum_map *maps;
    size_t count, room;
};

/* ---- which maps ---- */

static struct enum_map *find_map(struct enum_search *search, const struct node *node)
{
    struct session *session = search->session;
    const unsigned script = session->options.shares_names ? 0 : imports_script_of(session, node->span.source);
    for (size_t i = 0; i < search->count; i++)
        if (search->maps[i].script == script && !strcmp(search->maps[i].name, node->map.name))
            return &search->maps[i];
    struct enum_map *map = arena_push(&session->arena, search->maps, search->count, search->room);
    *map = (struct enum_map){.name = node->map.name, .script = script, .first = node->span};
    return map;
}

static void use_otherwise(struct enum_search *search, const struct node *node)
{
    if (node && node->kind == NODE_MAP)
        find_map(search, node)->is_used_otherwise = true;
}

/* Notes that a call uses a map as a whole, or changes it, as delete(@m[key]) does. */
static void see_call(struct enum_search *search, const struct node *node)
{
    const struct builtin *builtin = builtin_find(search->session->options.builtins, node->call.name, NULL);
    unsigned number = 0;
    for (const struct node *argument = node->call.arguments.first; argument && builtin;
         argument = argument->next, number++)
        if (number < BUILTIN_PARAMETERS && (builtin->parameters[number] == PARAMETER_MAP ||
                                            builtin->parameters[number] == PARAMETER_OUT_MAP ||
                                            builtin->parameters[number] == PARAMETER_OUT))
            use_otherwise(search, argument);
}

static bool see_node(struct node *node, void *state)
{
    struct enum_search *search = state;
    switch (node->kind) {
    case NODE_ASSIGN: use_otherwise(search, node->assign.target); break;
    case NODE_STEP: use_otherwise(search, node->step.target); break;
    case NODE_FOR_MAP: use_otherwise(search, node->loop.map); break;
    case NODE_CALL: see_call(search, node); break;
    case NODE_MAP: {
        struct enum_map *map = find_map(search, node);
        const bool has_one_key = node->map.key && node->map.key->kind != NODE_TUPLE;
        map->is_used_otherwise |= !has_one_key;
        *arena_push(&search->session->arena, map->uses, map->use_count, map->use_room) =
            (struct map_use){node->map.key, search->block};
        break;
    }
    default: break;
    }
    return true;
}

static void find_maps(struct enum_search *search)
{
    const struct script *script = search->session->compiler->script;
    for (const struct action_block *block = script->blocks; block; block = block->next) {
        search->block = block;
        node_walk(block->predicate, see_node, search);
        node_walk(block->body, see_node, search);
    }
    search->block = NULL;
    for (const struct subprogram *function = script->subprograms; function; function = function->next)
        node_walk(function->body, see_node, search);
}

/* ---- words ---- */

enum { WORDS_MAX = 64 };
struct words { /* of names: what stands between underscores */
    struct {
        const char *text;
        size_t length;
    } items[WORDS_MAX];
    size_t count;
};

static bool has_word(const struct words *words, const char *text, size_t length)
{
    for (size_t i = 0; i < words->count; i++)
        if (words->items[i].length == length && !memcmp(words->items[i].text, text, length))
            return true;
    return false;
}

static void add_words(struct words *words, const char *name)
{
    while (*name && words->count < WORDS_MAX) {
        const size_t length = strcspn(name, "_");
        if (length && !has_word(words, name, length)) {
            words->items[words->count].text = name;
            words->items[words->count++].length = length;
        }
        name += length + (name[length] == '_');
    }
}

/* ---- which enum ---- */

enum { CANDIDATES_MAX = 8 };
struct candidates {
    struct arena *arena;
    struct words map, all; /* words of the map's name; all: these and those of the probes' names */
    const char *names[CANDIDATES_MAX];
    size_t count;
    unsigned unexplained; /* words of these names that are neither the map's nor the probes' */
};

/* Accepts an enum whose name has every word of the map's name. At most one other word of it may be in none of the probes'
 * names: the first, which names a library, or the last, which says what kind of thing it is. */
static int judge(void *state, const char *name)
{
    struct candidates *candidates = state;
    struct words words = {0};
    unsigned unexplained = 0;
    add_words(&words, name);
    for (size_t i = 0; i < candidates->map.count; i++)
        if (!has_word(&words, candidates->map.items[i].text, candidates->map.items[i].length))
            return 0;
    for (size_t i = 0; i < words.count; i++) {
        const bool is_explained = has_word(&candidates->all, words.items[i].text, words.items[i].length);
        if (!is_explained && i && i + 1 < words.count)
            return 0;
        unexplained += !is_explained;
    }
    if (unexplained > 1 || (candidates->count && unexplained > candidates->unexplained))
        return 0;
    if (unexplained < candidates->unexplained)
        candidates->count = 0;
    candidates->unexplained = unexplained;
    if (candidates->count < CANDIDATES_MAX)
        candidates->names[candidates->count++] = arena_strdup(candidates->arena, name);
    return 0;
}

/* Returns the unit of a block whose probe is in a program. */
static const struct session_unit *program_unit(const struct session *session,
                                               const struct action_block *block)
{
    for (size_t i = 0; i < session->units.count; i++) {
        const struct session_unit *unit = &session->units.items[i];
        if ((!block || unit->block == block) && unit->variant->context.program_path)
            return unit;
    }
    return NULL;
}

static const struct session_unit *map_unit(const struct session *session, const struct enum_map *map)
{
    const struct session_unit *unit = NULL;
    for (size_t i = 0; i < map->use_count && !unit; i++)
        unit = program_unit(session, map->uses[i].block);
    return unit;
}

static const struct type *type_of_argument(const struct session *session, const struct probe_context *context,
                                           const struct node *key)
{
    const struct node *named = key->kind == NODE_FIELD ? key->field.object : key;
    uint32_t number = 0;
    const struct builtin *builtin =
        named->kind == NODE_NAME ? builtin_find(session->options.builtins, named->name.name, &number) : NULL;
    if (!builtin)
        return NULL;
    if (key->kind == NODE_NAME && builtin->flags & BUILTIN_USES_ARGUMENT)
        return number < context->argument_count ? context->arguments[number] : NULL;
    if (key->kind != NODE_FIELD || !(builtin->flags & BUILTIN_USES_ARGS) || !context->args ||
        !key->field.name)
        return NULL;
    type_complete(context->args);
    for (uint32_t i = 0; i < context->args->count; i++)
        if (context->args->fields[i].name && !strcmp(context->args->fields[i].name, key->field.name))
            return context->args->fields[i].type;
    return NULL;
}

/* Returns the type of the map's keys where that is an enum; NULL: it is none. */
static const struct type *type_of_keys(const struct session *session, const struct enum_map *map)
{
    for (size_t use = 0; use < map->use_count; use++)
        for (size_t i = 0; i < session->units.count && map->uses[use].block; i++) {
            const struct session_unit *unit = &session->units.items[i];
            const struct type *type =
                unit->block == map->uses[use].block
                    ? type_of_argument(session, &unit->variant->context, map->uses[use].key)
                    : NULL;
            if (type && type->kind == TYPE_ENUM)
                return type;
        }
    return NULL;
}

static void several_fit(struct session *session, const struct enum_map *map,
                        const struct candidates *candidates, const char *program)
{
    struct text names = {0};
    for (size_t i = 0; i < candidates->count; i++)
        text_printf(&names, "%s%s", i ? ", " : "", candidates->names[i]);
    diagnose_error(&session->diagnostics, map->first, "Undefined map: %s", map->name);
    diagnose_hint(&session->diagnostics,
                  "several enums of %s may be meant (%s): choose one with --enum %s=NAME", program,
                  text_string(&names), map->name);
    text_free(&names);
}

static const struct type *type_named(struct session *session, const struct session_unit *unit,
                                     const char *name)
{
    return definitions_type(session, unit ? &unit->variant->context : NULL,
                            arena_printf(&session->arena, "enum %s", name));
}

/* Accepts an enum that is named like a probe. */
static int judge_alike(void *state, const char *name)
{
    struct candidates *candidates = state;
    if (!candidates->count)
        candidates->names[candidates->count++] = arena_strdup(candidates->arena, name);
    return 0;
}

/* Gives the map its type if exactly one enum of the program fits. Returns 0, or -errno with a diagnostic. */
static int guess(struct session *session, struct enum_map *map)
{
    const struct session_unit *unit = map_unit(session, map);
    struct candidates candidates = {.arena = &session->arena, .unexplained = 2};
    add_words(&candidates.map, map->name + 1);
    if (!unit || !candidates.map.count)
        return 0;
    const struct probe_context *context = &unit->variant->context;
    const char **names = NULL;
    size_t count = 0, room = 0;
    candidates.all = candidates.map;
    for (size_t i = 0; i < map->use_count; i++)
        for (const struct attach_point *point = map->uses[i].block ? map->uses[i].block->attach_points : NULL;
             point; point = point->next)
            if (point->piece_count > 1) {
                const char *name = point->pieces[point->piece_count - 1].text;
                *arena_push(&session->arena, names, count, room) = name;
                add_words(&candidates.all, name);
            }
    const char *pattern = arena_printf(&session->arena, "*%.*s*", (int)candidates.map.items[0].length,
                                       candidates.map.items[0].text);
    probe_program_each_enum(&session->environment, context, pattern, judge, &candidates);
    for (size_t i = 0; i < count && !candidates.count; i++)
        probe_program_each_enum(&session->environment, context, names[i], judge_alike, &candidates);
    if (candidates.count > 1) {
        several_fit(session, map, &candidates, context->program_path);
        return -EINVAL;
    }
    if (candidates.count)
        map->type = type_named(session, unit, candidates.names[0]);
    return 0;
}

/* ---- --enum ---- */

/* Whether an argument of --enum, "@map=enum" with both parts, is about this map. */
static bool is_choice(const char *option, const char *map)
{
    const size_t at = option[0] == '@', length = strcspn(option, "=") - at;
    return strlen(map + 1) == length && !memcmp(option + at, map + 1, length);
}

static int choose(struct session *session, struct enum_map *map, const char *option)
{
    const char *name = strchr(option, '=') + 1;
    if (!strncmp(name, "enum ", 5))
        name += 5;
    map->type = type_named(session, map_unit(session, map), name);
    if (map->type && map->type->kind == TYPE_ENUM)
        return 0;
    diagnose_error(&session->diagnostics, (struct span){0}, "--enum %s: there is no enum of the name '%s'",
                   option, name);
    diagnose_hint(&session->diagnostics,
                  "it is looked for in the script's C definitions, in the debug information of the programs "
                  "that are probed, and in the kernel's types");
    return -EINVAL;
}

static int no_such_map(struct session *session, const char *option)
{
    diagnose_error(&session->diagnostics, (struct span){0},
                   "--enum %s: the script has no map of that name to fill", option);
    diagnose_hint(
        &session->diagnostics,
        "it is for a map with one key that the script reads, as @state[arg1], and never assigns to");
    return -EINVAL;
}

/* ---- filling ---- */

/* What the generated text calls the enum: a name that no enum has. In a script's own text it may stand for anything, also
 * for a number that there is not. */
static const char enum_tag[] = "enum #";

struct enum_maps {
    const struct type **items; /* enums whose names fill maps; a name after enum_tag is an index of these */
    size_t count, room;
};

void enum_maps_open(struct session *session)
{
    session->compiler->enum_maps = arena_new(&session->arena, struct enum_maps);
}

const struct type *enum_maps_type(const struct session *session, const char *name)
{
    const struct enum_maps *enums = session->compiler->enum_maps;
    const size_t tag = sizeof enum_tag - 1;
    uint64_t number;
    return !strncmp(name, enum_tag, tag) && decimal_parse(name + tag, &number) && number < enums->count
               ? enums->items[number]
               : NULL;
}

/* Adds blocks to the script that fill the map. Returns 0, or -errno with a diagnostic. */
static int fill(struct session *session, const struct enum_map *map)
{
    struct source *source = arena_new(&session->arena, struct source);
    struct action_block *last = session->compiler->script->blocks;
    while (last->next)
        last = last->next;
    source->name = arena_printf(&session->arena, "names for %s", map->name);
    source->text = arena_printf(&session->arena, "begin { enum_map(%s, \"%s%zu\"); } end { clear(%s); }",
                                map->name, enum_tag, session->compiler->enum_maps->count, map->name);
    source->length = strlen(source->text);
    struct enum_maps *enums = session->compiler->enum_maps;
    *arena_push(&session->arena, enums->items, enums->count, enums->room) = map->type;
    imports_add(session, source, map->script, "");
    script_parse_more(&session->arena, &session->diagnostics, session->compiler->script, source,
                      &session->options.parameters);
    for (struct action_block *block = last->next; block; block = block->next)
        compile_plan(session, block, NULL);
    if (!session->options.is_quiet)
        session_report(session, "%s has the names of enum %s\n", map->name, map->type->name);
    return session->diagnostics.errors ? -EINVAL : 0;
}

static int look_at(struct session *session, struct enum_map *map)
{
    const char *option = NULL;
    int error = 0;
    for (const char *const *each = session->options.enums; each && *each && !option; each++)
        option = is_choice(*each, map->name) ? *each : NULL;
    if (map->is_used_otherwise)
        return option ? no_such_map(session, option) : 0;
    if (option)
        error = choose(session, map, option);
    else if (!(map->type = type_of_keys(session, map)))
        error = guess(session, map);
    if (map->type && map->type->kind != TYPE_ENUM)
        map->type = NULL;
    return error || !map->type ? error : fill(session, map);
}

int enum_maps_fill(struct session *session)
{
    struct enum_search search = {.session = session};
    find_maps(&search);
    for (const char *const *option = session->options.enums; option && *option; option++) {
        bool is_known = false;
        for (size_t i = 0; i < search.count; i++)
            is_known |= is_choice(*option, search.maps[i].name);
        if (!is_known)
            return no_such_map(session, *option);
    }
    for (size_t i = 0; i < search.count; i++) {
        int error = look_at(session, &search.maps[i]);
        if (error)
            return error;
    }
    return 0;
}
