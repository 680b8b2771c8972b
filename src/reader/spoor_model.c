/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the sections of a recording as a model, and its table of owners. Sections may be appended while the program
 * runs: what is known stays where it is, the rest is added. */
#include "reader/spoor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"

struct section { /* a table in the copy of the sections */
    uint8_t *bytes;
    uint64_t length;
    uint64_t text_end; /* behind the last NUL of its text */
    struct layout_section head;
};

enum { GROUPS_MAX = 4096, TYPES_MAX = 255 };

static const struct recording_group no_group = {0, "", ""};

/* Returns the text at an offset from the section's start; "" if there is none. */
static const char *text_at(const struct section *section, uint32_t offset)
{
    const uint64_t begin = sizeof section->head + (uint64_t)section->head.count * section->head.item_bytes;
    return offset >= begin && offset < section->text_end ? (const char *)section->bytes + offset : "";
}

/* Replaces by '?' what could steer a terminal, and finds the end of the section's text. */
static void clean_text(struct section *section)
{
    for (uint64_t at = sizeof section->head + (uint64_t)section->head.count * section->head.item_bytes;
         at < section->length; at++) {
        uint8_t *byte = &section->bytes[at];
        if (*byte == 0)
            section->text_end = at + 1;
        else if (*byte < ' ' || *byte == 127)
            *byte = '?';
    }
}

static void item(const struct section *section, uint32_t index, void *into, size_t bytes)
{
    memcpy(into, section->bytes + sizeof section->head + (size_t)index * section->head.item_bytes, bytes);
}

static void read_process(struct recording *recording, const struct section *section)
{
    struct layout_process process;
    if (!section->head.count)
        return;
    item(section, 0, &process, sizeof process);
    recording->model.name = text_at(section, process.name);
    recording->model.command = text_at(section, process.command);
    recording->model.host = text_at(section, process.host);
}

/* Adds groups to the model. Its arrays grow by being copied, because there are few of them, and pointers into the
 * old ones must stay valid. */
static void read_groups(struct recording *recording, const struct section *section)
{
    struct recording_model *model = &recording->model;
    const uint32_t more = section->head.count < GROUPS_MAX ? section->head.count : GROUPS_MAX;
    struct recording_group *groups =
        arena_array(&recording->arena, model->group_count + more, sizeof *groups);
    if (model->group_count)
        memcpy(groups, model->groups, model->group_count * sizeof *groups);
    for (uint32_t i = 0; i < more && model->group_count < GROUPS_MAX; i++) {
        struct layout_group group;
        item(section, i, &group, sizeof group);
        groups[model->group_count++] =
            (struct recording_group){group.id, text_at(section, group.name), text_at(section, group.text)};
    }
    model->groups = groups;
}

/* Objects and owner types have the same layout, so one function reads both. */
static_assert(sizeof(struct layout_object) == sizeof(struct layout_owner_type), "layout");
static void read_types(struct recording *recording, const struct section *section,
                       const struct recording_type **types, size_t *count)
{
    const uint32_t more = section->head.count < TYPES_MAX ? section->head.count : TYPES_MAX;
    struct recording_type *all = arena_array(&recording->arena, *count + more, sizeof *all);
    if (*count)
        memcpy(all, *types, *count * sizeof *all);
    for (uint32_t i = 0; i < more && *count < TYPES_MAX; i++) {
        struct layout_object object;
        item(section, i, &object, sizeof object);
        const char letter = (char)object.letter;
        all[(*count)++] = (struct recording_type){object.id, text_at(section, object.name),
                                                  letter > ' ' && letter < 127 ? letter : '?'};
    }
    *types = all;
}

static const struct recording_group *find_group(const struct recording_model *model, uint32_t id)
{
    for (size_t i = 0; i < model->group_count; i++)
        if (model->groups[i].id == id)
            return &model->groups[i];
    return &no_group;
}

static void read_tracepoints(struct recording *recording, const struct section *section)
{
    struct spoor_state *state = recording->state;
    struct recording_model *model = &recording->model;
    for (uint32_t i = 0; i < section->head.count; i++) {
        struct layout_tracepoint layout;
        item(section, i, &layout, sizeof layout);
        if (layout.id == 0 || layout.id >= LAYOUT_ID_PADDING || state->tracepoints[layout.id] ||
            layout.argument_count > RECORDING_ARGUMENTS_MAX || layout.life > LAYOUT_LIFE_ENDS) {
            recording->counts.damaged++;
            continue;
        }
        struct recording_tracepoint *tracepoint = arena_new(&recording->arena, struct recording_tracepoint);
        *tracepoint = (struct recording_tracepoint){
            .id = layout.id,
            .name = text_at(section, layout.name),
            .group = find_group(model, layout.group),
            .index = layout.index,
            .object = (int16_t)(layout.object
                                    ? recording_type_index(model->objects, model->object_count, layout.object)
                                    : -1),
            .owner = (int16_t)recording_type_index(model->owners, model->owner_count,
                                                   layout.flags / LAYOUT_TRACEPOINT_OWNER),
            .life = layout.life,
            .argument_count = layout.argument_count,
        };
        for (unsigned j = 0; j < layout.argument_count; j++)
            tracepoint->arguments[j] = (struct recording_argument){"?", "", RECORDING_UNSIGNED, 8, 1, NULL};
        tracepoint->name_length = recording_name_length(tracepoint->name);
        state->tracepoints[layout.id] = tracepoint;
        state->record_bytes[layout.id] = (uint16_t)(LAYOUT_RECORD_BYTES + 8u * layout.argument_count);
        if (layout.id >= model->tracepoint_room)
            model->tracepoint_room = layout.id + 1;
    }
}

/* ---- enumerations ---- */

struct named_value {
    uint32_t enumeration;
    struct recording_enumerator value;
};

struct enumerations { /* in ascending order of id */
    struct recording_enumeration *items;
    size_t count;
};

static int by_enumeration_then_value(const void *one, const void *other)
{
    const struct named_value *a = one, *b = other;
    if (a->enumeration != b->enumeration)
        return a->enumeration < b->enumeration ? -1 : 1;
    return a->value.value < b->value.value ? -1 : a->value.value > b->value.value;
}

static void read_enumerations(struct recording *recording, const struct section *sections,
                              size_t section_count, struct enumerations *all)
{
    size_t room = 0, count = 0;
    for (size_t i = 0; i < section_count; i++)
        if (sections[i].head.type == LAYOUT_SECTION_ENUMERATORS)
            room += sections[i].head.count;
    struct named_value *named = arena_array(&recording->arena, room + 1, sizeof *named);
    struct recording_enumerator *values = arena_array(&recording->arena, room + 1, sizeof *values);
    for (size_t i = 0; i < section_count; i++)
        for (uint32_t j = 0;
             sections[i].head.type == LAYOUT_SECTION_ENUMERATORS && j < sections[i].head.count; j++) {
            struct layout_enumerator layout;
            item(&sections[i], j, &layout, sizeof layout);
            named[count++] =
                (struct named_value){layout.enumeration, {layout.value, text_at(&sections[i], layout.name)}};
        }
    qsort(named, count, sizeof *named, by_enumeration_then_value);
    all->items = arena_array(&recording->arena, count + 1, sizeof *all->items);
    for (size_t i = 0; i < count; i++) {
        values[i] = named[i].value;
        if (i == 0 || named[i].enumeration != named[i - 1].enumeration)
            all->items[all->count++] = (struct recording_enumeration){named[i].enumeration, &values[i], 0};
        all->items[all->count - 1].count++;
    }
}

static const struct recording_enumeration *find_enumeration(const struct enumerations *all, uint32_t id)
{
    const size_t first = partition_point(all->count, i, all->items[i].id < id);
    return first < all->count && all->items[first].id == id ? &all->items[first] : NULL;
}

static void read_arguments(struct recording *recording, const struct section *section,
                           const struct enumerations *enumerations)
{
    const struct spoor_state *state = recording->state;
    for (uint32_t i = 0; i < section->head.count; i++) {
        struct layout_argument layout;
        item(section, i, &layout, sizeof layout);
        struct recording_tracepoint *tracepoint =
            layout.tracepoint < 65536 ? state->tracepoints[layout.tracepoint] : NULL;
        if (!tracepoint || layout.index >= tracepoint->argument_count || layout.kind < LAYOUT_KIND_UNSIGNED ||
            layout.kind > LAYOUT_KIND_BOOL) {
            recording->counts.damaged++;
            continue;
        }
        const uint16_t bit = (uint16_t)(1u << layout.index);
        tracepoint->strings = layout.kind == LAYOUT_KIND_STRING ? tracepoint->strings | bit
                                                                : tracepoint->strings & (uint16_t)~bit;
        tracepoint->arguments[layout.index] = (struct recording_argument){
            .name = text_at(section, layout.name),
            .name_length = recording_name_length(text_at(section, layout.name)),
            .type = text_at(section, layout.type),
            .kind = layout.kind,
            .size = layout.size,
            .enumeration = layout.enumeration ? find_enumeration(enumerations, layout.enumeration) : NULL,
        };
    }
}

static void read_relations(struct recording *recording, const struct section *section)
{
    const struct spoor_state *state = recording->state;
    for (uint32_t i = 0; i < section->head.count; i++) {
        struct layout_relation layout;
        item(section, i, &layout, sizeof layout);
        struct recording_tracepoint *tracepoint =
            layout.tracepoint < 65536 ? state->tracepoints[layout.tracepoint] : NULL;
        const int object =
            recording_type_index(recording->model.objects, recording->model.object_count, layout.object);
        if (!tracepoint || layout.argument >= tracepoint->argument_count || object < 0 ||
            tracepoint->relation_count == RECORDING_RELATIONS_MAX ||
            tracepoint->arguments[layout.argument].kind == RECORDING_STRING) {
            recording->counts.damaged++;
            continue;
        }
        tracepoint->relations[tracepoint->relation_count++] =
            (struct recording_relation){(uint8_t)layout.argument, (uint8_t)object};
    }
}

static const uint32_t item_sizes[] = {
    /* sizes of the items that this reader knows; a writer's may be larger */
    [LAYOUT_SECTION_PROCESS] = sizeof(struct layout_process),
    [LAYOUT_SECTION_GROUPS] = sizeof(struct layout_group),
    [LAYOUT_SECTION_OBJECTS] = sizeof(struct layout_object),
    [LAYOUT_SECTION_OWNER_TYPES] = sizeof(struct layout_owner_type),
    [LAYOUT_SECTION_TRACEPOINTS] = sizeof(struct layout_tracepoint),
    [LAYOUT_SECTION_ARGUMENTS] = sizeof(struct layout_argument),
    [LAYOUT_SECTION_ENUMERATORS] = sizeof(struct layout_enumerator),
    [LAYOUT_SECTION_RELATIONS] = sizeof(struct layout_relation),
};

/* Divides the copy into sections. One that is impossible is counted as damage, and ends the walk. */
static size_t split(struct recording *recording, uint8_t *bytes, uint64_t length, struct section **sections)
{
    enum { SECTIONS_MAX = 65536 };
    size_t count = 0, room = 0;
    *sections = NULL;
    for (uint64_t at = 0; length - at >= sizeof(struct layout_section) && count < SECTIONS_MAX;) {
        struct section section = {.bytes = bytes + at};
        memcpy(&section.head, bytes + at, sizeof section.head);
        section.length = section.head.bytes;
        const uint32_t type = section.head.type;
        const bool known = type > 0 && type < sizeof item_sizes / sizeof item_sizes[0];
        if (section.length < sizeof section.head || section.length > length - at || section.length % 8 ||
            (known && section.head.count && section.head.item_bytes < item_sizes[type]) ||
            section.head.item_bytes > SPOOR_ITEM_MAX ||
            (uint64_t)section.head.count * section.head.item_bytes > section.length - sizeof section.head) {
            recording->counts.damaged++;
            break;
        }
        clean_text(&section);
        if (known)
            *arena_push(&recording->arena, *sections, count, room) = section;
        at += section.length;
    }
    return count;
}

static void build_model(struct recording *recording, uint8_t *bytes, uint64_t length)
{
    struct recording_model *model = &recording->model;
    struct section *sections;
    struct enumerations enumerations = {0};
    const size_t count = split(recording, bytes, length, &sections);
    read_enumerations(recording, sections, count, &enumerations);
    /* Sections are read in the order of their types: later ones refer to what is in earlier ones. */
    for (uint32_t type = 1; type < sizeof item_sizes / sizeof item_sizes[0]; type++)
        for (size_t i = 0; i < count; i++) {
            const struct section *section = &sections[i];
            if (section->head.type != type)
                continue;
            switch (type) {
            case LAYOUT_SECTION_PROCESS: read_process(recording, section); break;
            case LAYOUT_SECTION_GROUPS: read_groups(recording, section); break;
            case LAYOUT_SECTION_OBJECTS:
                read_types(recording, section, &model->objects, &model->object_count);
                break;
            case LAYOUT_SECTION_OWNER_TYPES:
                read_types(recording, section, &model->owners, &model->owner_count);
                break;
            case LAYOUT_SECTION_TRACEPOINTS: read_tracepoints(recording, section); break;
            case LAYOUT_SECTION_ARGUMENTS: read_arguments(recording, section, &enumerations); break;
            case LAYOUT_SECTION_RELATIONS: read_relations(recording, section); break;
            default: break; /* enumerators have been read before */
            }
        }
}

int spoor_model_read(struct recording *recording, struct text *why)
{
    struct spoor_state *state = recording->state;
    const struct layout_header *header = &state->header;
    uint64_t used = state->control.sections_used;
    if (used > header->sections_bytes || used > SPOOR_SECTIONS_MAX) {
        text_printf(why, "%s is damaged: its declarations would take %llu bytes", recording->path,
                    (unsigned long long)used);
        return -EINVAL;
    }
    if (used <= state->sections_used)
        return 0;
    const uint64_t bytes = used - state->sections_used;
    jmp_buf nowhere;
    if (arena_guard(&recording->arena, nowhere))
        return -ENOMEM;
    uint8_t *copy = arena_alloc(&recording->arena, bytes); /* names stay in this copy */
    if (!recording_read_all(recording, copy, bytes, header->sections_offset + state->sections_used)) {
        text_printf(why, "%s is damaged: it ends before its declarations do", recording->path);
        return -EINVAL;
    }
    build_model(recording, copy, bytes);
    state->sections_used = used;
    recording->model_changes++;
    recording->model.tracepoints = (const struct recording_tracepoint *const *)state->tracepoints;
    return 0;
}

/* ---- owners ---- */

int spoor_owners_read(struct recording *recording)
{
    struct spoor_state *state = recording->state;
    const struct layout_header *header = &state->header;
    const size_t count = header->owner_count, size = header->owner_bytes;
    if (!count)
        return 0;
    uint8_t *copy = malloc(count * size);
    struct recording_owner_entry *entries = calloc(count, sizeof *entries);
    jmp_buf nowhere;
    if (!copy || !entries) {
        free(copy), free(entries);
        return -ENOMEM;
    }
    arena_free(&recording->owner_arena);
    recording->owner_count = 0;
    if (arena_guard(&recording->owner_arena, nowhere)) {
        free(copy), free(entries);
        return -ENOMEM;
    }
    const size_t got = recording_read(recording, copy, count * size, header->owners_offset) / size;
    size_t kept = 0;
    for (size_t i = 0; i < got; i++) {
        struct layout_owner owner;
        memcpy(&owner, copy + i * size, sizeof owner);
        if (owner.version == 0)
            continue;
        /* the entry may have been changed while it was read */
        for (int attempt = 0; attempt < 5; attempt++) {
            struct layout_owner again;
            if (!recording->live ||
                !recording_read_all(recording, &again, sizeof again, header->owners_offset + i * size))
                break;
            const bool same = !(owner.version & 1) && !memcmp(&again, &owner, sizeof again);
            owner = again;
            if (same)
                break;
        }
        if (owner.version & 1 || owner.id == 0 || owner.description_bytes > sizeof owner.description)
            continue;
        entries[kept++] = (struct recording_owner_entry){
            .since = owner.since,
            .until = owner.until,
            .id = owner.id,
            .type = (int16_t)recording_type_index(recording->model.owners, recording->model.owner_count,
                                                  owner.type),
            .description =
                recording_name(&recording->owner_arena, owner.description, owner.description_bytes),
        };
        entries[kept - 1].length = (uint16_t)strlen(entries[kept - 1].description);
    }
    free(copy);
    free(recording->owners);
    recording->owners = entries;
    recording->owner_count = kept;
    recording_sort_owners(recording);
    return 0;
}
