/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes a session with its parts, and answers those outside of this folder who ask for something in it. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "session/compiler.h"
#include "session/state.h"
#include "sym/demangle.h"
#include "sym/elf/debug_file.h"
#include "sym/instruction.h"
#include "sym/tables.h"

/* Opening a part takes memory of the arena and nothing else. Closing is in the order of this table: threads end before
 * what they use is closed. */
static const struct {
    void (*open)(struct session *session);
    void (*close)(struct session *session);
} parts[] = {
    {target_open, child_end},
    {NULL, pump_stop},
    {names_open, names_close},
    {compiler_open, compiler_close},
    {NULL, live_replay_close},
    {replay_run_open, replay_run_close},
    {grow_open, grow_close},
    {NULL, unwind_close},
    {special_open, NULL},
    {runtime_errors_open, NULL},
    {records_open, records_close},
    {interrupt_open, interrupt_close},
    {session_output_open, session_output_close},
    {NULL, target_close},
};
enum { PARTS = sizeof parts / sizeof *parts };

static int open_parts(void *state)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].open)
            parts[i].open(state);
    return 0;
}

int session_open(const struct session_options *options, struct session **out)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return -ENOMEM;
    session->options = *options;
    settings_defaults(&session->options.settings);
    debug_file_directories(options->debug_directories);
    session->diagnostics.arena = &session->arena;
    session->image.control = session->image.events = session->image.stacks = -1;
    int error = session_guarded(session, open_parts, session);
    if (error) {
        arena_free(&session->arena);
        free(session);
        return error;
    }
    *out = session;
    return 0;
}

void session_close(struct session *session)
{
    if (!session)
        return;
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].close)
            parts[i].close(session);
    probe_environment_close(&session->environment);
    if (session->host)
        session->host->operations->close(session->host);
    text_free(&session->out);
    arena_free(&session->arena);
    free(session);
    tables_end();
    demangle_end();
    instruction_end();
}

int session_guarded(struct session *session, int (*call)(void *), void *state)
{
    jmp_buf out_of_memory, *before = session->arena.out_of_memory;
    int answer = arena_guard(&session->arena, out_of_memory) ? -ENOMEM : call(state);
    session->arena.out_of_memory = before;
    return answer;
}

const struct diagnostics *session_diagnostics(const struct session *session)
{
    return &session->diagnostics;
}

int session_descriptor(const struct session *session)
{
    return session->host ? session->host->operations->descriptor(session->host) : -1;
}

const struct source *session_source(const struct session *session)
{
    return session->options.source;
}

const struct settings *session_settings(const struct session *session)
{
    return &session->options.settings;
}

static const struct map_symbol *map_symbol(const struct session *session, size_t map)
{
    const struct checker *checker = &session->compiler->checker;
    for (size_t i = 0; i < checker->map_count; i++)
        if (checker->maps[i]->index == (int)map)
            return checker->maps[i];
    return NULL;
}

struct span session_map_use(const struct session *session, size_t map)
{
    const struct map_symbol *symbol = map_symbol(session, map);
    return symbol ? symbol->first : (struct span){0};
}

bool session_map_is_notebook(const struct session *session, size_t map)
{
    const struct map_symbol *symbol = map_symbol(session, map);
    return symbol && symbol->is_used && symbol->is_deleted;
}

struct host *session_host(const struct session *session)
{
    return session->host;
}

const struct image *session_image(const struct session *session)
{
    return &session->image;
}

const struct action_table *session_actions(const struct session *session)
{
    return &session->actions;
}

int session_probes(struct session *session, probe_visitor *visit, void *state)
{
    for (size_t i = 0; i < session->units.count; i++)
        for (size_t k = 0; k < session->units.items[i].variant->count; k++)
            visit(state, session->units.items[i].variant->sites[k].name, NULL);
    return 0;
}

static void count_sites(const struct session_unit *unit, struct session_point *point)
{
    const struct span *span = &point->point->span;
    for (size_t i = 0; i < unit->variant->count; i++) {
        const struct span *of = &unit->variant->sites[i].span;
        if (of->source != span->source || of->begin != span->begin || of->end != span->end)
            continue;
        point->sites++;
        point->kind = unit->variant->kind;
    }
}

static bool is_within(struct span span, const struct source *source, uint32_t offset)
{
    return span.source == source && span.begin <= offset && offset < span.end;
}

struct finding {
    const struct source *source;
    uint32_t offset;
    const struct node *found;
};

static bool find_node(struct node *node, void *state)
{
    struct finding *finding = state;
    const struct node *found = finding->found;
    const bool has_type = node->kind == NODE_MAP || (node->type && node->type->kind != TYPE_NONE);
    if (is_within(node->span, finding->source, finding->offset) && has_type &&
        (!found || node->span.end - node->span.begin <= found->span.end - found->span.begin))
        finding->found = node;
    return true;
}

struct session_place session_find(const struct session *session, uint32_t offset)
{
    const struct compiler *compiler = session->compiler;
    struct finding finding = {session->options.source, offset, NULL};
    struct session_place place = {0};
    struct action_block *block = compiler->script ? compiler->script->blocks : NULL;
    while (block && !is_within(block->span, finding.source, offset))
        block = block->next;
    if (!block)
        return place;
    place.point = block->attach_points;
    for (const struct attach_point *at = block->attach_points; at; at = at->next)
        if (is_within(at->span, finding.source, offset)) {
            place.point = at;
            place.is_at_point = true;
        }
    for (size_t i = 0; compiler->checks && !finding.found && i < session->units.count; i++) {
        if (session->units.items[i].block != block)
            continue;
        if (compiler->checks[i].predicate)
            node_walk(compiler->checks[i].predicate, find_node, &finding);
        node_walk(compiler->checks[i].body, find_node, &finding);
    }
    place.node = finding.found;
    return place;
}

void session_each_point(const struct session *session, session_point_visitor *visit, void *state)
{
    const struct script *script = session->compiler->script;
    for (struct action_block *block = script ? script->blocks : NULL; block; block = block->next)
        for (struct attach_point *at = block->attach_points; at; at = at->next) {
            struct session_point point = {.point = at};
            for (size_t i = 0; i < session->units.count; i++)
                if (session->units.items[i].block == block)
                    count_sites(&session->units.items[i], &point);
            visit(state, &point);
        }
}
