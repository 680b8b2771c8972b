/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what an SPDK trace file says about its tracepoints, objects and owners. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/spdk_state.h"

uint16_t spdk_section_count(const struct recording *recording, int section, uint64_t *items)
{
    const struct spdk_state *state = recording->state;
    uint16_t count = 0;
    const uint64_t offset = state->header.offsets[section];
    if (!offset || !recording_read_all(recording, &count, sizeof count, offset))
        return 0;
    *items = offset + SPDK_SECTION_HEADER;
    return count;
}

static void read_types(struct recording *recording, int section, const struct recording_type **types,
                       size_t *count)
{
    uint64_t at = 0;
    const unsigned items = spdk_section_count(recording, section, &at);
    struct recording_type *all = arena_array(&recording->arena, items < 255 ? items : 255, sizeof *all);
    *types = all;
    for (unsigned i = 0; i < items && *count < 255; i++) {
        struct spdk_letter letter;
        if (!recording_read_all(recording, &letter, sizeof letter, at + i * sizeof letter))
            break;
        if (letter.prefix > ' ' && letter.prefix < 127)
            all[(*count)++] = (struct recording_type){letter.type, "", letter.prefix};
    }
}

static const struct recording_group *group_of(struct recording *recording,
                                              const struct recording_group **groups, uint32_t id)
{
    const uint32_t group = id / SPDK_IN_GROUP;
    if (!groups[group]) {
        struct recording_group *made = arena_new(&recording->arena, struct recording_group);
        *made = (struct recording_group){group, arena_printf(&recording->arena, "%" PRIu32, group), ""};
        groups[group] = made;
    }
    return groups[group];
}

/* Groups have only numbers in this format. These are the names that SPDK's libraries give to theirs, and the
 * prefixes of their tracepoints' names: if the tracepoints of a file have the prefix, it is that group. */
static const struct {
    const char *name, *prefix;
} known_groups[] = {
    [1] = {"iscsi_conn", "ISCSI_"},     [2] = {"scsi", "SCSI_"},      [3] = {"bdev", "BDEV_"},
    [4] = {"nvmf_rdma", "RDMA_"},       [5] = {"nvmf_tcp", "TCP_"},   [6] = {"ftl", "FTL_"},
    [7] = {"blobfs", "BLOBFS_"},        [8] = {"nvmf_fc", "FC_"},     [10] = {"thread", "THREAD_"},
    [11] = {"nvme_pcie", "NVME_"},      [13] = {"nvme_tcp", "NVME_"}, [14] = {"bdev_nvme", "BDEV_NVME_"},
    [15] = {"sock", "SOCK_"},           [16] = {"blob", "BLOB_"},     [17] = {"bdev_raid", "BDEV_RAID_"},
    [18] = {"scheduler", "SCHEDULER_"},
};

static void name_groups(struct recording *recording, const struct recording_group **groups)
{
    struct recording_model *model = &recording->model;
    struct recording_group *all = arena_array(&recording->arena, SPDK_GROUPS, sizeof *all);
    for (uint32_t i = 0; i < SPDK_GROUPS; i++) {
        if (!groups[i])
            continue;
        const bool is_known = i < sizeof known_groups / sizeof known_groups[0];
        const char *name = is_known ? known_groups[i].name : NULL;
        bool fits = name;
        for (size_t id = (size_t)i * SPDK_IN_GROUP;
             fits && id / SPDK_IN_GROUP == i && id < model->tracepoint_room; id++)
            fits = !model->tracepoints[id] || !strncmp(model->tracepoints[id]->name, known_groups[i].prefix,
                                                       strlen(known_groups[i].prefix));
        if (fits)
            /* the group was made by this file */
            ((struct recording_group *)(uintptr_t)groups[i])->name = name;
        all[model->group_count++] = *groups[i];
    }
    model->groups = all;
}

static const uint8_t kinds[] = {RECORDING_SIGNED, RECORDING_POINTER, RECORDING_STRING};

/* Whether it is the tracepoint with which `spoor convert` says what is missing. Its events are counted as missing
 * ones, and it is not shown. */
static bool is_mark(const struct spdk_tracepoint *layout)
{
    bool is = !strncmp(layout->name, SPDK_MARK, sizeof layout->name) &&
              layout->argument_count == SPDK_MARK_ARGUMENTS;
    for (unsigned i = 0; is && i < SPDK_MARK_ARGUMENTS; i++)
        is = layout->arguments[i].type == 0 && layout->arguments[i].size == sizeof(uint64_t);
    return is;
}

/* Fills in what follows from the arguments and the names. */
static void derive(struct recording_tracepoint *tracepoint)
{
    tracepoint->name_length = recording_name_length(tracepoint->name);
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        struct recording_argument *argument = &tracepoint->arguments[i];
        argument->name_length = recording_name_length(argument->name);
        if (argument->kind == RECORDING_STRING)
            tracepoint->strings |= (uint16_t)(1u << i);
    }
}

static void read_tracepoint(struct recording *recording, const struct spdk_tracepoint *layout,
                            const struct recording_group **groups)
{
    struct spdk_state *state = recording->state;
    struct recording_model *model = &recording->model;
    if (!layout->name[0])
        return;
    if (layout->argument_count > SPDK_ARGUMENTS || layout->id == SPDK_CONTINUATION ||
        layout->id == UINT16_MAX || state->tracepoints[layout->id]) {
        recording->counts.damaged++;
        return;
    }
    if (is_mark(layout)) {
        state->mark = layout->id;
        state->sizes[layout->id] = SPDK_MARK_ARGUMENTS * sizeof(uint64_t);
        return;
    }
    struct recording_tracepoint *tracepoint = arena_new(&recording->arena, struct recording_tracepoint);
    *tracepoint = (struct recording_tracepoint){
        .id = layout->id,
        .name = recording_name(&recording->arena, layout->name, sizeof layout->name),
        .group = group_of(recording, groups, layout->id),
        .index = layout->id % SPDK_IN_GROUP,
        .object = (int16_t)(layout->object_type ? recording_type_index(model->objects, model->object_count,
                                                                       layout->object_type)
                                                : -1),
        .owner = (int16_t)(layout->owner_type
                               ? recording_type_index(model->owners, model->owner_count, layout->owner_type)
                               : -1),
        .life = layout->new_object ? RECORDING_BEGINS : RECORDING_USES,
        .argument_count = layout->argument_count,
    };
    unsigned bytes = 0;
    for (unsigned i = 0; i < layout->argument_count; i++) {
        const struct spdk_argument *argument = &layout->arguments[i];
        if (argument->type >= sizeof kinds || argument->size == 0 ||
            (argument->type != 2 && argument->size > 8)) {
            recording->counts.damaged++;
            return;
        }
        tracepoint->arguments[i] = (struct recording_argument){
            .name = recording_name(&recording->arena, argument->name, sizeof argument->name),
            .type = "",
            .kind = kinds[argument->type],
            .size = argument->size,
        };
        bytes += argument->size;
    }
    for (unsigned i = 0; i < SPDK_RELATIONS && layout->relations[i].object_type; i++) {
        const int object =
            recording_type_index(model->objects, model->object_count, layout->relations[i].object_type);
        const uint8_t index = layout->relations[i].argument;
        if (object >= 0 && index < layout->argument_count &&
            tracepoint->arguments[index].kind != RECORDING_STRING)
            tracepoint->relations[tracepoint->relation_count++] =
                (struct recording_relation){index, (uint8_t)object};
    }
    derive(tracepoint);
    state->tracepoints[layout->id] = tracepoint;
    state->sizes[layout->id] = (uint16_t)bytes;
    if (layout->id >= model->tracepoint_room)
        model->tracepoint_room = layout->id + 1u;
}

int spdk_model_read(struct recording *recording)
{
    struct spdk_state *state = recording->state;
    struct recording_model *model = &recording->model;
    jmp_buf nowhere;
    state->mark = SPDK_CONTINUATION;
    if (arena_guard(&recording->arena, nowhere))
        return -ENOMEM;
    read_types(recording, SPDK_SECTION_OWNER_TYPES, &model->owners, &model->owner_count);
    read_types(recording, SPDK_SECTION_OBJECTS, &model->objects, &model->object_count);
    const struct recording_group **groups = arena_array(&recording->arena, SPDK_GROUPS, sizeof *groups);
    uint64_t at = 0;
    const unsigned count = spdk_section_count(recording, SPDK_SECTION_TRACEPOINTS, &at);
    for (unsigned i = 0; i < count; i++) {
        struct spdk_tracepoint layout;
        if (!recording_read_all(recording, &layout, sizeof layout, at + i * sizeof layout))
            break;
        read_tracepoint(recording, &layout, groups);
    }
    model->tracepoints = (const struct recording_tracepoint *const *)state->tracepoints;
    name_groups(recording, groups);
    return 0;
}

int spdk_owners_read(struct recording *recording)
{
    const struct spdk_state *state = recording->state;
    struct {
        uint16_t count, description;
    } head;
    const uint64_t offset = state->header.offsets[SPDK_SECTION_OWNERS];
    if (!offset || !recording_read_all(recording, &head, sizeof head, offset) || !head.count ||
        head.description > 4096)
        return 0;
    const size_t size = sizeof(struct spdk_owner) + head.description;
    uint8_t *copy = malloc(size * head.count);
    struct recording_owner_entry *entries = calloc(head.count, sizeof *entries);
    jmp_buf nowhere;
    arena_free(&recording->owner_arena);
    recording->owner_count = 0;
    if (!copy || !entries || arena_guard(&recording->owner_arena, nowhere)) {
        free(copy), free(entries);
        return -ENOMEM;
    }
    const size_t got =
        recording_read(recording, copy, size * head.count, offset + SPDK_SECTION_HEADER) / size;
    size_t kept = 0;
    for (size_t i = 0; i < got; i++) {
        struct spdk_owner owner;
        memcpy(&owner, copy + i * size, sizeof owner);
        if (!owner.tsc)
            continue;
        struct recording_owner_entry *entry = &entries[kept++];
        *entry = (struct recording_owner_entry){
            .since = owner.tsc,
            .until = UINT64_MAX,
            .id = (uint32_t)i,
            .type = (int16_t)recording_type_index(recording->model.owners, recording->model.owner_count,
                                                  owner.type),
            .description = recording_name(&recording->owner_arena, (char *)copy + i * size + sizeof owner,
                                          head.description),
        };
        entry->length = (uint16_t)strlen(entry->description);
    }
    free(copy);
    free(recording->owners);
    recording->owners = entries;
    recording->owner_count = kept;
    recording_sort_owners(recording);
    return 0;
}
