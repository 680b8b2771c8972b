/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the registry as sections of the file, which layout.h describes. */
#include "recorder/state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct builder {
    uint8_t *bytes;
    size_t used, room;
    size_t section; /* offset of the section that is being built */
    bool failed;
};

/* Appends `count` zero bytes and returns their offset. When memory has run out, it returns 0 and sets `failed`;
 * nothing is written from then on. */
static size_t extend(struct builder *builder, size_t count)
{
    if (!builder->failed && builder->used + count > builder->room) {
        const size_t room = (builder->used + count) * 2 + 4096;
        uint8_t *grown = realloc(builder->bytes, room);
        if (grown == NULL) {
            builder->failed = true;
        } else {
            builder->bytes = grown;
            builder->room = room;
        }
    }
    if (builder->failed)
        return 0;
    const size_t at = builder->used;
    memset(builder->bytes + at, 0, count);
    builder->used += count;
    return at;
}

static void section_begin(struct builder *builder, uint32_t type, size_t item_bytes, size_t count)
{
    builder->section = extend(builder, sizeof(struct layout_section));
    extend(builder, item_bytes * count);
    if (builder->failed)
        return;
    struct layout_section *section = (struct layout_section *)(builder->bytes + builder->section);
    section->type = type;
    section->item_bytes = (uint32_t)item_bytes;
    section->count = (uint32_t)count;
}

static void section_end(struct builder *builder)
{
    extend(builder, -builder->used & 7);
    if (!builder->failed)
        ((struct layout_section *)(builder->bytes + builder->section))->bytes =
            builder->used - builder->section;
}

static uint32_t text(struct builder *builder, const char *value)
{
    if (value == NULL || *value == '\0')
        return 0;
    const size_t length = strlen(value) + 1, at = extend(builder, length);
    if (builder->failed)
        return 0;
    memcpy(builder->bytes + at, value, length);
    return (uint32_t)(at - builder->section);
}

static void item(struct builder *builder, size_t index, const void *value, size_t bytes)
{
    if (!builder->failed)
        memcpy(builder->bytes + builder->section + sizeof(struct layout_section) + index * bytes, value,
               bytes);
}

static void build_process(struct builder *builder, const struct recorder_settings *settings)
{
    char executable[4096] = "", command[4096] = "";
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[length > 0 ? length : 0] = '\0';
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        const ssize_t got = read(file, command, sizeof command - 1);
        for (ssize_t i = 0; i + 1 < got; i++)
            if (command[i] == '\0')
                command[i] = ' ';
        command[got > 0 ? got : 0] = '\0';
        close(file);
    }
    struct utsname host = {0};
    uname(&host);

    section_begin(builder, LAYOUT_SECTION_PROCESS, sizeof(struct layout_process), 1);
    const struct layout_process process = {
        .name = text(builder, settings->name),
        .executable = text(builder, executable),
        .command = text(builder, command),
        .host = text(builder, host.nodename),
    };
    item(builder, 0, &process, sizeof process);
    section_end(builder);
}

static void build_groups(struct builder *builder, const struct registry *registry, unsigned from)
{
    section_begin(builder, LAYOUT_SECTION_GROUPS, sizeof(struct layout_group), registry->group_count - from);
    for (unsigned i = from; i < registry->group_count; i++) {
        const struct registry_group *group = &registry->groups[i];
        const struct layout_group value = {
            .id = i + 1,
            .name = text(builder, group->name),
            .text = text(builder, group->text),
            .file = text(builder, group->file),
            .line = (uint32_t)group->line,
        };
        item(builder, i - from, &value, sizeof value);
    }
    section_end(builder);
}

/* Objects and owner types have the same layout, so one function writes both. */
static_assert(sizeof(struct layout_object) == sizeof(struct layout_owner_type), "layout");
static void build_letters(struct builder *builder, uint32_t type, const struct registry_letter *letters,
                          unsigned from, unsigned count)
{
    section_begin(builder, type, sizeof(struct layout_object), count - from);
    for (unsigned i = from; i < count; i++) {
        const struct layout_object value = {
            .id = i + 1,
            .name = text(builder, letters[i].name),
            .file = text(builder, letters[i].file),
            .line = (uint32_t)letters[i].line,
            .letter = (unsigned char)letters[i].letter,
        };
        item(builder, i - from, &value, sizeof value);
    }
    section_end(builder);
}

static void build_tracepoints(struct builder *builder, const struct registry *registry, unsigned from)
{
    section_begin(builder, LAYOUT_SECTION_TRACEPOINTS, sizeof(struct layout_tracepoint),
                  registry->tracepoint_count - from);
    unsigned arguments = 0;
    for (unsigned i = from; i < registry->tracepoint_count; i++) {
        const struct registry_tracepoint *tracepoint = &registry->tracepoints[i];
        const struct spoor_definition *definition = tracepoint->definition;
        const struct layout_tracepoint value = {
            .id = i + 1,
            .group = tracepoint->group,
            .object = tracepoint->object,
            .life = definition->life,
            .argument_count = definition->argument_count,
            .flags = definition->flags & SPOOR_FLAG_USDT_ ? LAYOUT_TRACEPOINT_USDT : 0,
            .name = text(builder, tracepoint->name),
            .file = text(builder, tracepoint->file),
            .line = (uint32_t)tracepoint->line,
            .index = tracepoint->index,
        };
        item(builder, i - from, &value, sizeof value);
        arguments += definition->argument_count;
    }
    section_end(builder);

    section_begin(builder, LAYOUT_SECTION_ARGUMENTS, sizeof(struct layout_argument), arguments);
    unsigned at = 0;
    for (unsigned i = from; i < registry->tracepoint_count; i++) {
        const struct spoor_definition *definition = registry->tracepoints[i].definition;
        for (unsigned j = 0; j < definition->argument_count; j++) {
            const struct spoor_argument *argument = &definition->arguments[j];
            const struct layout_argument value = {
                .tracepoint = i + 1,
                .index = (uint8_t)j,
                .kind = argument->kind,
                .size = argument->size,
                .enumeration =
                    argument->values->name != NULL ? registry_enumeration(registry, argument->values) : 0,
                .name = text(builder, argument->name),
                .type = text(builder, argument->type),
            };
            item(builder, at++, &value, sizeof value);
        }
    }
    section_end(builder);
}

static void build_enumerators(struct builder *builder, const struct registry *registry, unsigned from)
{
    size_t count = 0;
    for (unsigned i = from; i < registry->enumeration_count; i++)
        for (const struct spoor_enumerator *value = registry->enumerations[i].values; value->name != NULL;
             value++)
            count++;
    section_begin(builder, LAYOUT_SECTION_ENUMERATORS, sizeof(struct layout_enumerator), count);
    size_t at = 0;
    for (unsigned i = from; i < registry->enumeration_count; i++)
        for (const struct spoor_enumerator *value = registry->enumerations[i].values; value->name != NULL;
             value++) {
            const struct layout_enumerator enumerator = {
                .enumeration = i + 1,
                .name = text(builder, value->name),
                .value = value->value,
            };
            item(builder, at++, &enumerator, sizeof enumerator);
        }
    section_end(builder);
}

static void build_relations(struct builder *builder, const struct registry *registry, unsigned from)
{
    section_begin(builder, LAYOUT_SECTION_RELATIONS, sizeof(struct layout_relation),
                  registry->relation_count - from);
    for (unsigned i = from; i < registry->relation_count; i++) {
        const struct registry_relation *relation = &registry->relations[i];
        const struct layout_relation value = {
            .tracepoint = relation->tracepoint,
            .argument = relation->argument,
            .object = relation->object,
            .file = text(builder, relation->file),
            .line = (uint32_t)relation->line,
        };
        item(builder, i - from, &value, sizeof value);
    }
    section_end(builder);
}

uint8_t *sections_build(const struct registry *registry, const struct sections_from *from,
                        const struct recorder_settings *settings, size_t *bytes)
{
    struct builder builder = {0};
    if (settings != NULL)
        build_process(&builder, settings);
    build_groups(&builder, registry, from->groups);
    build_letters(&builder, LAYOUT_SECTION_OBJECTS, registry->objects, from->objects, registry->object_count);
    build_letters(&builder, LAYOUT_SECTION_OWNER_TYPES, registry->owners, from->owners,
                  registry->owner_count);
    build_tracepoints(&builder, registry, from->tracepoints);
    build_enumerators(&builder, registry, from->enumerations);
    build_relations(&builder, registry, from->relations);
    if (builder.failed) {
        free(builder.bytes);
        return NULL;
    }
    *bytes = builder.used;
    return builder.bytes;
}
