/* SPDX-License-Identifier: BSD-3-Clause */
/* A profile made of a map, whose keys say whose stack it is and which one. Stacks come with the innermost frame first,
 * and are turned around. */
#include <errno.h>
#include <string.h>

#include "print/snapshot.h"
#include "profile/profile.h"
#include "session/session.h"
#include "sym/process/container.h"

enum { ID_SHOWN = 12 }; /* digits of a container's id */

struct collection {
    struct profile *profile;
    const struct print_names *names;
    uint64_t scale;
    int error;
    struct text text; /* a buffer for one name */
};

static void push(struct collection *collection, const struct profile_call *call)
{
    if (collection->text.failed) /* the name is not whole */
        collection->error = -ENOMEM;
    if (!collection->error)
        collection->error = profile_push(collection->profile, call);
}

/* ---- stacks ---- */

/* Names what has no name in its file by the file. */
static const char *name_unknown(struct collection *collection, const struct print_symbol *symbol)
{
    const char *slash = symbol->module ? strrchr(symbol->module, '/') : NULL;
    text_clear(&collection->text);
    text_printf(&collection->text, "[%s]", slash ? slash + 1 : symbol->module ? symbol->module : "unknown");
    return text_string(&collection->text);
}

static void push_frame(struct collection *collection, const struct print_symbol *symbol, bool is_kernel)
{
    const struct line_frame *own = NULL;
    for (size_t i = 0; i < symbol->line_count; i++) {
        const struct line_frame *line = &symbol->lines[i];
        if (!line->function) {
            own = line;
            break;
        }
        push(collection, &(struct profile_call){
                             .name = line->function,
                             .module = symbol->module,
                             .language = profile_language_of(line->function, symbol->module, is_kernel),
                             .file = line->file,
                             .line = line->line,
                             .is_inlined = true});
    }
    struct profile_call call = {.name = symbol->name, .module = symbol->module};
    if (symbol->name)
        call.language = profile_language_of(symbol->name, symbol->module, is_kernel);
    else
        call.name = name_unknown(collection, symbol);
    if (own) {
        call.file = own->file;
        call.line = own->line;
    }
    push(collection, &call);
}

static void reverse(uint32_t *from, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        const uint32_t frame = from[i];
        from[i] = from[count - 1 - i];
        from[count - 1 - i] = frame;
    }
}

static void push_stack(struct collection *collection, const struct type *type, const uint64_t *words)
{
    const struct print_names *names = collection->names;
    const bool is_kernel = type->kind == TYPE_KSTACK;
    const size_t begin = collection->profile->building_count;
    struct print_stack stack = {0};
    if (!words[0] || !names->stack(names->owner, type, words[0], &stack))
        return;
    bool is_whole = true;
    for (size_t i = 0; i < stack.count; i++) {
        struct print_symbol symbol = {0};
        if (is_kernel)
            names->kernel_symbol(names->owner, stack.frames[i], &symbol);
        else
            names->user_symbol(names->owner, (uint32_t)words[1], stack.frames[i], i > 0, &symbol);
        if (symbol.is_not_code && !stack.is_exact) {
            is_whole = false;
            break;
        }
        push_frame(collection, &symbol, is_kernel);
    }
    if (!is_whole || stack.end)
        push(collection, &(struct profile_call){.name = is_whole ? stack.end : "[no frame pointer]"});
    reverse(collection->profile->building + begin, collection->profile->building_count - begin);
}

/* ---- whose they are ---- */

static void push_process(struct collection *collection, const struct type *type, const void *bytes)
{
    bool is_truncated;
    text_clear(&collection->text);
    text_append(&collection->text, bytes, value_string_length(type, bytes, &is_truncated));
    push(collection,
         &(struct profile_call){.name = text_string(&collection->text), .language = LANGUAGE_PROCESS});
}

static void push_container(struct collection *collection, uint64_t number)
{
    const struct print_names *names = collection->names;
    const char *path = names->cgroup_path ? names->cgroup_path(names->owner, number, NULL) : NULL;
    struct container container;
    if (!path || !container_find(path, &container))
        return;
    const size_t most = container.is_id ? ID_SHOWN : container.length;
    text_clear(&collection->text);
    text_printf(&collection->text, "%s %.*s", container.runtime, (int)most, container.name);
    push(collection,
         &(struct profile_call){.name = text_string(&collection->text), .language = LANGUAGE_CONTAINER});
}

static void push_part(struct collection *collection, const struct type *type, const uint8_t *bytes)
{
    uint64_t words[2] = {0};
    memcpy(words, bytes, type->kind == TYPE_USTACK ? sizeof words : sizeof *words);
    switch (type->kind) {
    case TYPE_STRING: push_process(collection, type, bytes); break;
    case TYPE_CGROUP_PATH: push_container(collection, words[0]); break;
    case TYPE_USTACK:
    case TYPE_KSTACK: push_stack(collection, type, words); break;
    default: break;
    }
}

static void visit(void *state, const struct map_snapshot *map, const struct map_entry *entry)
{
    struct collection *collection = state;
    if (collection->error)
        return;
    for (uint32_t i = 0; i < map->key->count; i++)
        push_part(collection, map->key->fields[i].type,
                  (const uint8_t *)entry->key + map->key->fields[i].offset);
    if (!collection->error)
        collection->error = profile_add(
            collection->profile, aggregation_integer(map->value, entry->value) * collection->scale, false);
}

struct call {
    struct collection *collection;
    struct session *session;
    size_t map;
};

static int collect_guarded(void *state)
{
    const struct call *call = state;
    return snapshot_each(session_host(call->session), session_image(call->session), call->map, 0, visit,
                         call->collection);
}

int profile_collect(struct profile *profile, struct session *session, const char *map, uint64_t scale)
{
    const struct image *image = session_image(session);
    struct collection collection = {
        .profile = profile, .names = session_printer(session)->names, .scale = scale};
    struct call call = {&collection, session, 0};
    while (call.map < image->map_count && strcmp(image->maps[call.map].name, map) != 0)
        call.map++;
    if (call.map == image->map_count)
        return -ENOENT;
    const int error = session_guarded(session, collect_guarded, &call);
    text_free(&collection.text);
    return error ? error : collection.error;
}
