/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps, for include/spoor/tracer.h: found by name, read as a snapshot, each entry handed out as two values.
 */
#include <errno.h>
#include <string.h>

#include "print/snapshot.h"
#include "tracer/state.h"

static bool is_script_map(const struct image_map *map)
{
    return map->name[0] == '@' && map->value;
}

const char *spoor_tracer_map(const struct spoor_tracer *tracer, size_t index)
{
    const struct image *image = tracer->session ? session_image(tracer->session) : NULL;
    for (size_t i = 0; image && i < image->map_count; i++)
        if (is_script_map(&image->maps[i]) && !index--)
            return image->maps[i].name;
    return NULL;
}

static int find(struct spoor_tracer *tracer, const char *name, size_t *index)
{
    int error = tracer_needs_maps(tracer);
    if (error)
        return error;
    const struct image *image = session_image(tracer->session);
    struct nearest nearest = {.name = name};
    for (size_t i = 0; i < image->map_count; i++) {
        if (!is_script_map(&image->maps[i]))
            continue;
        if (!strcmp(image->maps[i].name, name)) {
            *index = i;
            return 0;
        }
        nearest_offer(&nearest, image->maps[i].name);
    }
    tracer_fail(tracer, -ENOENT, "the script has no map '%s'", name);
    if (nearest.best)
        text_printf(&tracer->error, "HINT: did you mean %s?\n", nearest.best);
    return -ENOENT;
}

struct walk {
    struct spoor_tracer *tracer;
    size_t map;
    map_visitor *visit_entry;
    spoor_tracer_visitor *visit;
    void *state;
    int answer;
    const char *key; /* the entry that is looked for; NULL: the map's only one */
    int64_t *value;
    struct text scratch;
};

static int walk_guarded(void *state)
{
    struct walk *walk = state;
    struct session *session = walk->tracer->session;
    return snapshot_each(session_host(session), session_image(session), walk->map, 0, walk->visit_entry,
                         walk);
}

static int walk_map(struct walk *walk, const char *map)
{
    int error = find(walk->tracer, map, &walk->map);
    if (error)
        return error;
    error = session_guarded(walk->tracer->session, walk_guarded, walk);
    text_free(&walk->scratch);
    return error ? tracer_fail(walk->tracer, error, "the map %s cannot be read: %s", map, strerror(-error))
                 : walk->answer;
}

static bool is_keyed(const struct map_snapshot *map)
{
    return map->key && map->key->kind != TYPE_NONE;
}

static void visit_entry(void *state, const struct map_snapshot *map, const struct map_entry *entry)
{
    struct walk *walk = state;
    struct spoor_tracer_value key, value;
    if (walk->answer)
        return;
    if (is_keyed(map))
        value_make(&key, walk->tracer, map->key, entry->key);
    value_make(&value, walk->tracer, map->value, entry->value);
    walk->answer = walk->visit(walk->state, is_keyed(map) ? &key : NULL, &value);
}

int spoor_tracer_each(struct spoor_tracer *tracer, const char *map, spoor_tracer_visitor *visit, void *state)
{
    struct walk walk = {.tracer = tracer, .visit_entry = visit_entry, .visit = visit, .state = state};
    return walk_map(&walk, map);
}

/* ---- one entry ---- */

static void read_entry(void *state, const struct map_snapshot *map, const struct map_entry *entry)
{
    struct walk *walk = state;
    struct spoor_tracer_value value;
    if (walk->answer != -ENOENT || is_keyed(map) != (walk->key != NULL))
        return;
    if (walk->key) {
        struct printer printer = *session_printer(walk->tracer->session);
        text_clear(&walk->scratch);
        printer.out = &walk->scratch;
        printer.json = false;
        printer.scratch = (struct text){0};
        print_key(&printer, map->key, entry->key);
        printer_free(&printer);
        if (strcmp(text_string(&walk->scratch), walk->key) != 0)
            return;
    }
    value_make(&value, walk->tracer, map->value, entry->value);
    enum spoor_tracer_kind kind = spoor_tracer_kind(&value);
    walk->answer = kind == SPOOR_TRACER_INTEGER || kind == SPOOR_TRACER_STATS ? 0 : -EINVAL;
    if (!walk->answer)
        *walk->value = spoor_tracer_integer(&value);
}

int spoor_tracer_read_entry(struct spoor_tracer *tracer, const char *map, const char *key, int64_t *value)
{
    struct walk walk = {
        .tracer = tracer, .visit_entry = read_entry, .key = key, .value = value, .answer = -ENOENT};
    int error = walk_map(&walk, map);
    if (error == -EINVAL && !tracer->error.length)
        return tracer_fail(tracer, error, "the value of %s is no integer: spoor_tracer_each reads it", map);
    if (error == -ENOENT && !tracer->error.length)
        return tracer_fail(tracer, error, "there is no %s[%s]", map, key ? key : "");
    return error;
}

int spoor_tracer_read_integer(struct spoor_tracer *tracer, const char *map, int64_t *value)
{
    return spoor_tracer_read_entry(tracer, map, NULL, value);
}

/* ---- as text, and emptied ---- */

struct print {
    struct spoor_tracer *tracer;
    struct printer printer;
    size_t map;
    uint64_t top, divisor;
};

static int print_guarded(void *state)
{
    struct print *print = state;
    struct session *session = print->tracer->session;
    return snapshot_print(&print->printer, session_host(session), session_image(session), print->map,
                          print->top, print->divisor, false);
}

int spoor_tracer_print(struct spoor_tracer *tracer, const char *map, uint64_t top, uint64_t divisor,
                       void (*write)(void *state, const char *bytes, size_t length), void *state)
{
    struct print print = {.tracer = tracer, .top = top, .divisor = divisor};
    struct text text = {0};
    int error = find(tracer, map, &print.map);
    if (error)
        return error;
    print.printer = *session_printer(tracer->session);
    print.printer.out = &text;
    print.printer.scratch = (struct text){0};
    error = session_guarded(tracer->session, print_guarded, &print);
    if (!error && text.failed)
        error = -ENOMEM;
    if (!error)
        write(state, text_string(&text), text.length);
    printer_free(&print.printer);
    text_free(&text);
    return error ? tracer_fail(tracer, error, "the map %s cannot be printed: %s", map, strerror(-error)) : 0;
}

static int change(struct spoor_tracer *tracer, const char *map, bool clears)
{
    size_t index;
    int error = find(tracer, map, &index);
    if (error)
        return error;
    struct host *host = session_host(tracer->session);
    error = clears ? host->operations->map_clear(host, index) : host->operations->map_zero(host, index);
    return error ? tracer_fail(tracer, error, "the map %s cannot be %s: %s", map,
                               clears ? "cleared" : "made zero", strerror(-error))
                 : 0;
}

int spoor_tracer_clear(struct spoor_tracer *tracer, const char *map)
{
    return change(tracer, map, true);
}

int spoor_tracer_zero(struct spoor_tracer *tracer, const char *map)
{
    return change(tracer, map, false);
}
