/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes in libraries that a traced process loads, and in programs that it starts, while the trace runs: the
 * blocks of `usdt:*:name` and the like get further programs then.
 *
 * Probes that are named by a path need none of this: they are in the file, whichever process maps it, and when. Here the
 * files are not known before. When the kernel reports that a process has mapped code, each attach point that can mean new
 * files is expanded again, and files that were not searched yet give new sites. The block is compiled once more for them.
 * That may add maps and programs to the image but must not change the existing ones: a probe that would need it is left
 * out with a warning. The process is not stopped meanwhile, so events in the first milliseconds after it has loaded the
 * library are missed. */
#include <errno.h>
#include <string.h>

#include "base/kernel_error.h"
#include "base/table.h"
#include "session/compiler.h"
#include "session/state.h"

enum {
    PAUSE_NS = 20000000,
    FAILURES_MAX = 64, /* probes that were left out, each of which took memory that stays */
};

struct grow {
    bool is_on;         /* traced processes may map files with probes in them later */
    bool is_wanted;     /* code was mapped since the attach points were expanded last */
    struct table known; /* the files that were searched for probes */
    uint64_t time;      /* when the attach points were expanded last: ns of the host's clock */
    unsigned failures;  /* how many probes were left out */
};

/* Whether an attach point can mean files that are not known yet. With a path it cannot, unless that is a pattern. */
static bool can_grow(const struct session *session, const struct attach_point *point)
{
    const char *name = point->piece_count ? point->pieces[0].text : NULL;
    const struct probe_kind *kind = name ? probe_kind_find(session->options.kinds, name) : NULL;
    const char *binary = point->piece_count > 2 ? point->pieces[1].text : NULL;
    return kind && kind->is_in_files && (!binary || !strchr(binary, '/') || strchr(binary, '*'));
}

void grow_choose(struct session *session)
{
    if (!session->kernel || session->options.dump || !target_maps_files(session))
        return;
    for (struct action_block *block = session->compiler->script->blocks; block; block = block->next)
        for (struct attach_point *point = block->attach_points; point; point = point->next)
            session->grow->is_on |= can_grow(session, point);
    if (session->grow->is_on)
        session->environment.known = &session->grow->known;
}

int grow_begin(struct session *session)
{
    if (!session->grow->is_on)
        return 0;
    int error = kernel_watch_mappings(session->kernel);
    if (error) { /* the trace goes on without */
        session_report(session, "WARNING: libraries that are loaded later are not looked at: %s\n",
                       kernel_error(error));
        session->grow->is_on = false;
    }
    session->grow->is_wanted = true; /* code may have been mapped since the script was compiled */
    return 0;
}

/* Checks that maps which programs use already were not changed. Returns 0, or -errno with a diagnostic. */
static int check_maps(struct session *session, const struct image_map *before, size_t count)
{
    if (session_maps_unchanged(session, before, count))
        return 0;
    diagnose_error(&session->diagnostics, (struct span){0},
                   "it needs more memory than the programs that run already");
    return -E2BIG;
}

static int start(struct session *session, size_t first)
{
    const struct host_operations *host = session->host->operations;
    const struct image saved = session->image;
    size_t map_count = saved.map_count, program_count = saved.program_count;
    struct image_map *before = arena_array(&session->arena, map_count + 1, sizeof *before);
    memcpy(before, session->image.maps, map_count * sizeof *before);
    int error = compile_more(session, first);
    if (!error)
        error = check_maps(session, before, map_count);
    if (error) {
        session->image = saved;
        memcpy(session->image.maps, before, map_count * sizeof *before);
        for (size_t i = 0; i < session->compiler->checker.map_count; i++)
            if (session->compiler->checker.maps[i]->index >= (int)map_count)
                session->compiler->checker.maps[i]->index = -1;
        return error;
    }
    error = host->add_maps(session->host, &session->image, &session->diagnostics);
    bool *zeroed = arena_array(&session->arena, session->image.map_count + 1, sizeof *zeroed);
    memcpy(zeroed, session->handler.zeroed, map_count * sizeof *zeroed);
    session->handler.zeroed = zeroed;
    const size_t program_end = session->image.program_count; /* of those that are known now */
    for (size_t i = program_count; !error && i < program_end; i++)
        error = session_load_program(session, i);
    struct attach_progress progress = {.session = session};
    const size_t attached = kernel_attached(session->kernel);
    for (size_t i = first; !error && i < session->units.count; i++) {
        error = session_attach_unit(session, &session->units.items[i], &progress);
        for (size_t k = 0;
             !error && session->options.is_verbose && k < session->units.items[i].variant->count; k++)
            session_report(session, "Attached later: %s\n", session->units.items[i].variant->sites[k].name);
    }
    if (error)
        kernel_detach_from(session->kernel, attached);
    return error;
}

/* Reports the errors about a probe that came later as a warning, since the trace goes on. */
static void report_grown(struct session *session, size_t first, size_t from)
{
    struct diagnostics *said = &session->diagnostics;
    for (size_t i = from; i < said->count && first < session->units.count; i++)
        if (said->items[i].severity == DIAGNOSTIC_ERROR)
            session_report(session, "WARNING: %s, which came later, is left out: %s\n",
                           session->units.items[first].variant->sites[0].name, said->items[i].message);
}

/* Whether something that stays was made while an attach point was looked for: a file was opened, a unit planned. */
static bool has_learnt(const struct session *session, size_t units, size_t files,
                       const struct diagnostic *said)
{
    return session->units.count > units || session->grow->known.count > files ||
           session->diagnostics.items != said;
}

/* Expands an attach point again, and attaches what is new. Processes map code all the time, so this happens often: memory
 * that it took is freed if there was nothing new. */
static void grow_at(struct session *session, struct action_block *block, const struct attach_point *point)
{
    struct diagnostics *said = &session->diagnostics;
    const struct diagnostic *items = said->items;
    const struct arena_mark mark = arena_mark(&session->arena);
    size_t count = said->count, errors = said->errors;
    size_t first = session->units.count, files = session->grow->known.count;
    compile_plan(session, block, point);
    bool keeps = has_learnt(session, first, files, items);
    if (session->units.count > first && start(session, first)) {
        report_grown(session, first, count);
        session->units.count = first;
        if (++session->grow->failures == FAILURES_MAX) {
            session_report(session,
                           "WARNING: files that come later are not looked at any more: probes in %d of "
                           "them were left out\n",
                           FAILURES_MAX);
            session->grow->is_on = false;
        }
    }
    said->count = count;
    said->errors = errors;
    if (!keeps)
        arena_rewind(&session->arena, &mark);
}

/* Without a process the files of all would be searched. */
static void grow(struct session *session)
{
    if (!target_refresh(session))
        return;
    enum missing_policy missing = session->environment.missing;
    session->environment.missing = MISSING_IGNORE; /* that there is nothing new is nothing to tell */
    for (struct action_block *block = session->compiler->script->blocks; block; block = block->next)
        for (struct attach_point *point = block->attach_points; point && session->grow->is_on;
             point = point->next)
            if (can_grow(session, point))
                grow_at(session, block, point);
    session->environment.missing = missing;
}

void grow_look(struct session *session)
{
    if (!session->grow->is_on)
        return;
    session->grow->is_wanted |= kernel_mapped(session->kernel);
    uint64_t now = session->host->operations->clock(session->host);
    if (!session->grow->is_wanted || now - session->grow->time < PAUSE_NS)
        return;
    session->grow->is_wanted = false;
    session->grow->time = now;
    grow(session);
}

bool grow_is_on(const struct session *session)
{
    return session->grow->is_on;
}

void grow_open(struct session *session)
{
    session->grow = arena_new(&session->arena, struct grow);
}

void grow_close(struct session *session)
{
    if (session->grow)
        table_free(&session->grow->known);
}
