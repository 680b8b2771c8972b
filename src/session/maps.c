/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the script's maps when the trace ends. */
#include <string.h>

#include "print/snapshot.h"
#include "session/state.h"

enum { FLUSH_BYTES = 64 << 10 };

/* Maps are in order of their names, those of the first script before others of the same name. */
static bool comes_before(const struct session *session, size_t map, size_t other)
{
    int order = strcmp(session->image.maps[map].name, session->image.maps[other].name);
    return order ? order < 0 : map < other;
}

/* The map that is printed after `last`, or first (last: the number of maps). The number of maps: there is none. */
static size_t next_map(const struct session *session, size_t last)
{
    size_t count = session->image.map_count, next = count;
    for (size_t i = 0; i < count; i++) {
        const struct image_map *map = &session->image.maps[i];
        if (map->name[0] == '@' && map->value && (last == count || comes_before(session, last, i)) &&
            (next == count || comes_before(session, i, next)))
            next = i;
    }
    return next;
}

static void print_all(struct session *session)
{
    size_t count = session->image.map_count;
    /* There are few of them: each next one is sought among all. */
    for (size_t i = next_map(session, count); i < count; i = next_map(session, i)) {
        if (snapshot_print(session_printer(session), session->host, &session->image, i, 0, 0,
                           !session->handler.zeroed[i]))
            session_report(session, "WARNING: the map %s could not be read\n", session->image.maps[i].name);
        if (session->out.length >= FLUSH_BYTES)
            session_flush(session);
    }
}

void maps_print(struct session *session)
{
    if (output_is_broken(session))
        return;
    if (!session->options.keep_maps_quiet && !session->options.is_json)
        text_add(&session->out, "\n\n");
    observe_skip(session);
    if (!session->options.keep_maps_quiet && session->options.settings.print_maps_on_exit)
        print_all(session);
    session_flush(session);
}
