/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "base/clock.h"
#include "bpf/image.h"
#include "history/history.h"
#include "print/snapshot.h"

enum {
    LOOK_NS = 100000000,     /* between two looks at maps, at first */
    LOOK_REPLAY_NS = 100000, /* over recordings, which are often short */
    LOOK_LONGEST_NS =
        50000000,    /* a map that takes longer is not looked at before the end: events have to be handled */
    LOOK_SHARE = 50, /* looks take at most one part in so many of the time, */
    LOOK_REPLAY_SHARE = 5, /* and over recordings, where nobody waits for events, more */
};

static void advance(struct history *history, uint64_t time)
{
    if (!time)
        return;
    if (!history->has_begun || time < history->start)
        history->start = time;
    if (time > history->end)
        history->end = time;
    history->has_begun = true;
}

/* ---- what the script prints ---- */

static void printed(void *state, uint64_t time, const char *bytes, size_t length)
{
    advance(state, time);
    history_add_text(state, time, bytes, length);
}

static void reported(void *state, uint64_t time, enum report_kind kind, const char *text)
{
    (void)kind;
    advance(state, time);
    history_add_message(state, time, text);
}

static void map_printed(void *state, struct printer *printer, const struct map_snapshot *map, size_t top,
                        uint64_t divisor)
{
    struct history *history = state;
    advance(history, printer->moment);
    history_keep(history, printer, map, printer->moment ? printer->moment : history->end, top, divisor,
                 false);
}

static void map_emptied(void *state, const char *name, uint64_t time)
{
    struct history *history = state;
    struct history_map *map = history_find(history, name);
    advance(history, time);
    if (map)
        map->emptied = time ? time : history->end;
}

/* ---- maps that it does not print ---- */

struct look {
    struct history *history;
    struct printer *printer;
};

static void look_at(void *state, const struct map_snapshot *snapshot)
{
    const struct look *look = state;
    history_keep(look->history, look->printer, snapshot, look->history->end, 0, 0, true);
}

static bool is_looked_at(struct history *history, const struct image_map *map)
{
    const struct history_map *known = history_find(history, map->name);
    if (map->name[0] != '@' || !map->value || (known && known->is_printed))
        return false;
    return !known || !known->is_slow || history->is_ending;
}

static void look_at_all(struct history *history, struct session *session)
{
    const struct image *image = session_image(session);
    struct look look = {history, session_printer(session)};
    for (size_t i = 0; i < image->map_count; i++) {
        const uint64_t before = clock_ns(CLOCK_MONOTONIC);
        if (!is_looked_at(history, &image->maps[i]))
            continue;
        snapshot_read(session_host(session), image, i, look_at, &look);
        struct history_map *map = history_find(history, image->maps[i].name);
        if (map && !history->is_replay && !history->is_ending)
            map->is_slow = clock_ns(CLOCK_MONOTONIC) - before > LOOK_LONGEST_NS;
    }
}

static void begin_looks(struct history *history, struct session *session)
{
    const struct print_names *names = session ? session_printer(session)->names : NULL;
    history->is_replay = session && session_is_replay(session);
    history->period = history->is_replay ? LOOK_REPLAY_NS : LOOK_NS;
    if (names && names->boot_to_wall)
        history->realtime = names->boot_to_wall(names->owner);
    else if (!session)
        history->realtime = clock_ahead(CLOCK_REALTIME);
}

static void passed(void *state, struct session *session, uint64_t time, bool is_end)
{
    struct history *history = state;
    advance(history, time);
    if (!is_end && time < history->next)
        return;
    const uint64_t before = clock_ns(CLOCK_MONOTONIC);
    if (!is_end && before < history->next_look)
        return;
    if (!history->period)
        begin_looks(history, session);
    history->is_ending = is_end;
    if (session)
        look_at_all(history, session);
    const uint64_t after = clock_ns(CLOCK_MONOTONIC);
    history->next = time + history->period;
    history->next_look = after + (history->is_replay ? LOOK_REPLAY_SHARE : LOOK_SHARE) * (after - before);
}

void history_begin(struct history *history, const char *title, bool is_json)
{
    *history = (struct history){
        .watcher = {.state = history, .printed = map_printed, .emptied = map_emptied},
        .observer = {.state = history, .printed = printed, .reported = reported, .passed = passed},
        .title = title,
        .is_json = is_json,
    };
    history_lines_begin(history);
}

void history_free(struct history *history)
{
    history_maps_free(history);
    history_lines_free(&history->lines);
}
