/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads programs, and compiles a block once more for which the verifier's patience did not last: it follows
 * every way through a program, and gives up after a million instructions or 8192 conditions that it has to
 * come back to. Divided into small functions, of which it looks at each on its own, such a block is slower,
 * and accepted.
 *
 * The block's second program is added to the image as the programs of probes that appear later are: maps that
 * the kernel has are not changed. */
#include <errno.h>
#include <string.h>

#include "session/state.h"

static struct session_unit *unit_of(struct session *session, size_t program)
{
    for (size_t i = 0; i < session->units.count; i++)
        if (session->units.items[i].program == program)
            return &session->units.items[i];
    return NULL;
}

bool session_maps_unchanged(const struct session *session, const struct image_map *before, size_t count)
{
    const struct image *image = &session->image;
    bool same = image->runtime_error_count <= runtime_errors_room(session);
    for (size_t i = 0; i < count; i++)
        same &= before[i].key_size == image->maps[i].key_size &&
                before[i].value_size == image->maps[i].value_size &&
                before[i].max_entries == image->maps[i].max_entries;
    return same;
}

/* Compiles the block of a unit divided, and loads it. 0: the unit has this other program now. */
static int load_divided(struct session *session, struct session_unit *unit)
{
    const struct host_operations *host = session->host->operations;
    const struct image saved = session->image;
    struct image_map *before = arena_array(&session->arena, saved.map_count + 1, sizeof *before);
    memcpy(before, saved.maps, saved.map_count * sizeof *before);
    /* The divided block has scratch maps of its own. */
    session->image.scratch_cpu = session->image.scratch_task = session->image.scratch_slots = -1;
    int error = compile_divided(session, (size_t)(unit - session->units.items));
    if (!error && !session_maps_unchanged(session, before, saved.map_count))
        error = -E2BIG;
    if (error) {
        session->image = saved;
        memcpy(session->image.maps, before, saved.map_count * sizeof *before);
        return error;
    }
    error = host->add_maps(session->host, &session->image, &session->diagnostics);
    bool *zeroed = arena_array(&session->arena, session->image.map_count + 1, sizeof *zeroed);
    if (session->handler.zeroed)
        memcpy(zeroed, session->handler.zeroed, saved.map_count * sizeof *zeroed);
    session->handler.zeroed = zeroed;
    size_t program = session->image.program_count - 1;
    if (!error)
        error = host->load(session->host, &session->image, program, &session->diagnostics);
    if (!error)
        unit->program = program;
    return error;
}

int session_load_program(struct session *session, size_t program)
{
    const struct host_operations *host = session->host->operations;
    const struct diagnostics before = session->diagnostics;
    struct session_unit *unit = session->kernel ? unit_of(session, program) : NULL;
    int error = host->load(session->host, &session->image, program, &session->diagnostics);
    if (error != -E2BIG || !unit)
        return error;
    session->diagnostics = before;
    if (!load_divided(session, unit))
        return 0;
    /* The message is about the block as it was. */
    session->diagnostics = before;
    session->image.programs[program].is_divisible = false;
    return host->load(session->host, &session->image, program, &session->diagnostics);
}
