/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a recording's declarations and owners as SPDK's tables, in which SPDK's reader looks things up by their
 * place: type n is the nth item, and so is tracepoint n. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/to_spdk.h"
#include "base/sorted.h"

enum {
    MAIN_BYTES = 512,
    TYPES = 256,
    MASKS = TO_IDS / SPDK_IN_GROUP,
    STRING_MAX = 255, /* the largest string argument, with its NUL */
    REAL_BYTES = 25,  /* -1.7976931348623157e+308 */
};

/* ---- ids ---- */

/* Whether the ids of tracepoints can stay as they are, as those of a recording that was converted from SPDK's
 * format can. */
static bool ids_can_stay(const struct recording_model *model)
{
    for (size_t i = 0; i < model->tracepoint_room; i++) {
        const struct recording_tracepoint *tracepoint = model->tracepoints[i];
        if (tracepoint && (tracepoint->id >= TO_IDS || tracepoint->id % SPDK_IN_GROUP != tracepoint->index))
            return false;
    }
    return true;
}

/* Gives tracepoints their ids. Each group begins at a multiple of 64, so that it is one in SPDK's format, too; SPDK
 * has no group 0. False: there are too many. */
static bool place_groups(struct to_spdk *to)
{
    const struct recording_model *model = to->job->model;
    unsigned next = SPDK_IN_GROUP;
    for (size_t group = 0; group <= model->group_count; group++) {
        const unsigned begin = next;
        for (size_t i = 0; i < model->tracepoint_room; i++) {
            const struct recording_tracepoint *tracepoint = model->tracepoints[i];
            const bool is_in =
                tracepoint && (group < model->group_count ? tracepoint->group == &model->groups[group]
                                                          : !to->tracepoints[i].id);
            if (is_in && next < TO_IDS)
                to->tracepoints[i].id = (uint16_t)next;
            next += is_in;
        }
        if (next != begin)
            next = (next + SPDK_IN_GROUP - 1) / SPDK_IN_GROUP * SPDK_IN_GROUP;
    }
    return next <= TO_IDS;
}

static unsigned place_in_order(struct to_spdk *to)
{
    unsigned next = 0;
    for (size_t i = 0; i < to->job->model->tracepoint_room; i++)
        if (to->job->model->tracepoints[i])
            to->tracepoints[i].id = (uint16_t)(next++ % TO_IDS);
    return next;
}

static int plan_ids(struct to_spdk *to)
{
    const struct recording_model *model = to->job->model;
    bool is_taken[TO_IDS] = {false};
    unsigned count = 0;
    if (ids_can_stay(model)) {
        for (size_t i = 0; i < model->tracepoint_room; i++)
            to->tracepoints[i].id = (uint16_t)i;
    } else if (!place_groups(to)) {
        count = place_in_order(to);
    }
    for (size_t i = 0; i < model->tracepoint_room; i++)
        if (model->tracepoints[i])
            is_taken[to->tracepoints[i].id] = true;
    for (to->mark = TO_IDS - 1; to->mark > 0 && is_taken[to->mark]; to->mark--)
        ;
    if (count < TO_IDS && !is_taken[to->mark])
        return 0;
    text_printf(
        to->job->why,
        "%s declares more tracepoints than SPDK's format has room for, which are %d: only `spoor report` "
        "can show them all",
        recording_path(to->job->recording), TO_IDS - 1);
    return -E2BIG;
}

/* ---- owners ---- */

/* Gives owners their numbers. The newest description of an owner has the owner's number, if SPDK's format allows
 * it; older ones get numbers of their own. */
static int plan_owners(struct to_spdk *to)
{
    struct recording_owner owner, after;
    size_t room = 0;
    uint32_t most = 0;
    to->description_bytes = TO_DESCRIPTION;
    while (recording_owner_at(to->job->recording, room, &owner)) {
        most = owner.id < UINT16_MAX && owner.id > most ? owner.id : most;
        if (owner.description_length >= to->description_bytes)
            to->description_bytes = (unsigned)owner.description_length + 1;
        room++;
    }
    if (room && !(to->owners = calloc(room, sizeof *to->owners)))
        return -ENOMEM;
    for (; to->owner_count < room && recording_owner_at(to->job->recording, to->owner_count, &owner);
         to->owner_count++) {
        const bool has_next = recording_owner_at(to->job->recording, to->owner_count + 1, &after);
        const bool stays = owner.id < UINT16_MAX && !(has_next && after.id == owner.id);
        if (!stays && most < UINT16_MAX)
            most++;
        to->job->result->notes[CONVERT_DESCRIPTIONS] += !stays;
        to->owners[to->owner_count] =
            (struct to_owner){owner.id, (uint16_t)(stays ? owner.id : most), owner.since, owner.until};
    }
    if (most >= UINT16_MAX - 1) {
        text_printf(to->job->why, "%s has more owners than SPDK's format has numbers for",
                    recording_path(to->job->recording));
        return -E2BIG;
    }
    to->owner_room = most + 2 > TO_OWNERS ? most + 2 : TO_OWNERS;
    to->nobody = (uint16_t)(to->owner_room - 1);
    return 0;
}

/* Whether an owner comes behind the one of an event. Owners are in the order of ids, those with one id in the order
 * of time. */
static bool is_later_than(const struct to_owner *owner, const struct recording_event *event)
{
    return owner->id > event->owner || (owner->id == event->owner && owner->since > event->stamp);
}

uint16_t to_spdk_owner(struct to_spdk *to, const struct recording_event *event)
{
    const size_t behind = partition_point(to->owner_count, i, !is_later_than(&to->owners[i], event));
    const struct to_owner *before =
        behind && to->owners[behind - 1].id == event->owner ? &to->owners[behind - 1] : NULL;
    const bool is_later = behind < to->owner_count && to->owners[behind].id == event->owner;
    if (before && event->stamp < before->until)
        return before->number;
    if (before || event->owner >= to->owner_room || (is_later && event->owner != to->owners[behind].number)) {
        to->job->result->notes[CONVERT_OWNERS]++;
        return to->nobody;
    }
    return (uint16_t)event->owner; /* the recording does not describe it either, or only later */
}

int to_spdk_plan(struct to_spdk *to)
{
    const struct recording_model *model = to->job->model;
    if (!(to->tracepoints = calloc(model->tracepoint_room + 1, sizeof *to->tracepoints)))
        return -ENOMEM;
    for (size_t i = 0; i < model->tracepoint_room; i++)
        if (model->tracepoints[i]) {
            const unsigned count = model->tracepoints[i]->argument_count;
            to->tracepoints[i].owner = model->tracepoints[i]->owner;
            to->tracepoints[i].count = (uint8_t)(count < SPDK_ARGUMENTS ? count : SPDK_ARGUMENTS);
        }
    const int error = plan_ids(to);
    return error ? error : plan_owners(to);
}

/* ---- tracepoints ---- */

/* Returns how many bytes an argument has. One whose C type is not known comes from SPDK's format and has the size
 * that it had. Others keep the whole word, since SPDK's reader takes shorter ones for unsigned. */
static unsigned argument_size(const struct recording_argument *argument, uint32_t longest)
{
    const bool is_string = argument->kind == RECORDING_STRING;
    if (argument->kind == RECORDING_REAL)
        return REAL_BYTES;
    if (argument->type[0] || !argument->size || (!is_string && argument->size > sizeof(uint64_t)))
        return !is_string ? sizeof(uint64_t) : longest < STRING_MAX ? longest + 1 : STRING_MAX;
    if (is_string && longest > argument->size)
        return longest < STRING_MAX ? longest : STRING_MAX;
    return argument->size;
}

void to_spdk_plan_sizes(struct to_spdk *to)
{
    for (size_t i = 0; i < to->job->model->tracepoint_room; i++) {
        struct to_tracepoint *planned = &to->tracepoints[i];
        for (unsigned j = 0; j < planned->count; j++) {
            planned->sizes[j] =
                (uint8_t)argument_size(&to->job->model->tracepoints[i]->arguments[j], planned->longest[j]);
            planned->bytes += planned->sizes[j];
        }
    }
}

/* Writes a name into a field that ends with a NUL. Returns 1 if it was cut, else 0. */
static unsigned put_name(char *field, size_t room, const char *name)
{
    const size_t length = strlen(name);
    memcpy(field, name, length < room ? length : room - 1);
    return length >= room;
}

static uint8_t type_number(const struct recording_type *types, size_t count, size_t index)
{
    bool can_stay = true; /* the numbers can stay as in the recording */
    for (size_t i = 0; i < count; i++)
        can_stay &= types[i].id > 0 && types[i].id < TYPES;
    return (uint8_t)(can_stay ? types[index].id : index + 1);
}

static void describe_argument(struct to_spdk *to, const struct recording_argument *argument, unsigned size,
                              struct spdk_argument *out)
{
    uint64_t *notes = to->job->result->notes;
    notes[CONVERT_ARGUMENT_NAMES] += put_name(out->name, sizeof out->name, argument->name);
    notes[CONVERT_VALUE_NAMES] += argument->enumeration != NULL;
    notes[CONVERT_REALS] += argument->kind == RECORDING_REAL;
    out->type = argument->kind == RECORDING_POINTER                                      ? 1
                : argument->kind == RECORDING_STRING || argument->kind == RECORDING_REAL ? 2
                                                                                         : 0;
    out->size = (uint8_t)size;
}

/* Returns the name of a tracepoint in the file. One without a name is no tracepoint in SPDK's format, and the name
 * SPDK_MARK has a meaning of its own. */
static const char *spdk_name(const char *name)
{
    return !name[0] ? "?" : strcmp(name, SPDK_MARK) ? name : SPDK_MARK "?";
}

static void describe_tracepoint(struct to_spdk *to, size_t index, struct spdk_tracepoint *out)
{
    const struct recording_model *model = to->job->model;
    const struct recording_tracepoint *tracepoint = model->tracepoints[index];
    const struct to_tracepoint *planned = &to->tracepoints[index];
    uint64_t *notes = to->job->result->notes;
    notes[CONVERT_TRACEPOINT_NAMES] += put_name(out->name, sizeof out->name, spdk_name(tracepoint->name));
    notes[CONVERT_ENDS] += tracepoint->life == RECORDING_ENDS;
    notes[CONVERT_ARGUMENTS] += tracepoint->argument_count - planned->count;
    out->id = planned->id;
    out->new_object = tracepoint->life == RECORDING_BEGINS;
    out->argument_count = planned->count;
    if (planned->owner >= 0)
        out->owner_type = type_number(model->owners, model->owner_count, (size_t)planned->owner);
    if (tracepoint->object >= 0)
        out->object_type = type_number(model->objects, model->object_count, (size_t)tracepoint->object);
    for (unsigned i = 0; i < planned->count; i++)
        describe_argument(to, &tracepoint->arguments[i], planned->sizes[i], &out->arguments[i]);
    for (unsigned i = 0, kept = 0; i < tracepoint->relation_count; i++) {
        const struct recording_relation *relation = &tracepoint->relations[i];
        if (relation->argument >= planned->count) {
            notes[CONVERT_RELATIONS]++;
            continue;
        }
        out->relations[kept].object_type = type_number(model->objects, model->object_count, relation->object);
        out->relations[kept++].argument = relation->argument;
    }
}

static int write_tracepoints(struct to_spdk *to, uint64_t at)
{
    static const char *const missing[SPDK_MARK_ARGUMENTS] = {"overwritten", "unrecorded", "left_out"};
    struct spdk_tracepoint *all = calloc(TO_IDS, sizeof *all), *mark = &all[to->mark];
    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < to->job->model->tracepoint_room; i++)
        if (to->job->model->tracepoints[i])
            describe_tracepoint(to, i, &all[to->tracepoints[i].id]);
    put_name(mark->name, sizeof mark->name, SPDK_MARK);
    mark->id = to->mark;
    mark->argument_count = SPDK_MARK_ARGUMENTS;
    for (unsigned i = 0; i < SPDK_MARK_ARGUMENTS; i++) {
        put_name(mark->arguments[i].name, sizeof mark->arguments[i].name, missing[i]);
        mark->arguments[i].size = sizeof(uint64_t);
    }
    const int error = convert_write(to->job->file, all, TO_IDS * sizeof *all, at, to->job->why);
    free(all);
    return error;
}

/* ---- the other sections ---- */

static int write_types(struct to_spdk *to, const struct recording_type *types, size_t count, uint64_t at)
{
    struct spdk_letter letters[TYPES] = {0};
    for (size_t i = 0; i < count; i++) {
        const uint8_t number = type_number(types, count, i);
        letters[number] = (struct spdk_letter){number, types[i].letter};
        to->job->result->notes[CONVERT_NAMES] += types[i].name[0] != 0;
    }
    return convert_write(to->job->file, letters, sizeof letters, at, to->job->why);
}

static int write_owners(struct to_spdk *to, uint64_t at)
{
    const size_t size = sizeof(struct spdk_owner) + to->description_bytes;
    uint8_t *all = calloc(to->owner_room, size);
    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < to->owner_count; i++) {
        struct recording_owner owner;
        uint8_t *out = all + size * to->owners[i].number;
        if (!recording_owner_at(to->job->recording, i, &owner))
            break;
        const struct spdk_owner head = {
            owner.since ? owner.since : 1,
            owner.type < 0
                ? 0
                : type_number(to->job->model->owners, to->job->model->owner_count, (size_t)owner.type)};
        memcpy(out, &head, sizeof head);
        memcpy(out + sizeof head, owner.description, owner.description_length);
    }
    const int error = convert_write(to->job->file, all, size * to->owner_room, at, to->job->why);
    free(all);
    return error;
}

static int write_masks(struct to_spdk *to, uint64_t at)
{
    uint64_t masks[MASKS] = {0};
    for (size_t i = 0; i < to->job->model->tracepoint_room; i++)
        if (to->job->model->tracepoints[i])
            masks[to->tracepoints[i].id / SPDK_IN_GROUP] |= (uint64_t)1
                                                            << to->tracepoints[i].id % SPDK_IN_GROUP;
    return convert_write(to->job->file, masks, sizeof masks, at, to->job->why);
}

static int write_lcores(struct to_spdk *to, unsigned lcores, uint64_t at)
{
    uint64_t offsets[TO_LCORES] = {0};
    for (unsigned i = 0; i < to->threads.count; i++)
        offsets[to->lcores[i].number] = to->lcores[i].offset;
    return convert_write(to->job->file, offsets, lcores * sizeof *offsets, at, to->job->why);
}

/* Computes where the sections begin, and behind them the histories. */
static void place_sections(const struct to_spdk *to, unsigned lcores, uint64_t places[SPDK_SECTIONS + 1])
{
    const uint64_t bytes[SPDK_SECTIONS] = {
        [SPDK_SECTION_OWNERS] =
            (uint64_t)to->owner_room * (sizeof(struct spdk_owner) + to->description_bytes),
        [SPDK_SECTION_MASKS] = MASKS * sizeof(uint64_t),
        [SPDK_SECTION_OWNER_TYPES] = TYPES * sizeof(struct spdk_letter),
        [SPDK_SECTION_OBJECTS] = TYPES * sizeof(struct spdk_letter),
        [SPDK_SECTION_TRACEPOINTS] = TO_IDS * sizeof(struct spdk_tracepoint),
        [SPDK_SECTION_LCORES] = lcores * sizeof(uint64_t),
    };
    uint64_t at = sizeof(struct spdk_header);
    for (int i = 0; i < SPDK_SECTIONS; i++) {
        places[i] = at;
        at += i == SPDK_SECTION_MAIN ? MAIN_BYTES : SPDK_SECTION_HEADER + bytes[i];
        at = (at + 7) & ~(uint64_t)7;
    }
    places[SPDK_SECTIONS] = at;
}

uint64_t to_spdk_head_bytes(const struct to_spdk *to, unsigned lcores)
{
    uint64_t places[SPDK_SECTIONS + 1];
    place_sections(to, lcores, places);
    return places[SPDK_SECTIONS];
}

int to_spdk_write_head(struct to_spdk *to, unsigned lcores, uint64_t file_bytes)
{
    const struct recording_model *model = to->job->model;
    const uint16_t counts[SPDK_SECTIONS][2] = {
        [SPDK_SECTION_OWNERS] = {(uint16_t)to->owner_room, (uint16_t)to->description_bytes},
        [SPDK_SECTION_MASKS] = {MASKS},
        [SPDK_SECTION_OWNER_TYPES] = {TYPES},
        [SPDK_SECTION_OBJECTS] = {TYPES},
        [SPDK_SECTION_TRACEPOINTS] = {TO_IDS},
        [SPDK_SECTION_LCORES] = {(uint16_t)lcores},
    };
    const struct spdk_main main_section = {.tsc_rate = recording_rate(to->job->recording)};
    struct spdk_header header = {.file_size = file_bytes, .section_count = SPDK_SECTIONS};
    uint64_t places[SPDK_SECTIONS + 1];
    place_sections(to, lcores, places);
    memcpy(header.offsets, places, sizeof header.offsets);
    int error = convert_set_length(to->job->file, file_bytes, to->job->why);
    if (!error)
        error = convert_write(to->job->file, &main_section, sizeof main_section, places[SPDK_SECTION_MAIN],
                              to->job->why);
    for (int i = SPDK_SECTION_OWNERS; i < SPDK_SECTIONS && !error; i++) {
        error = convert_write(to->job->file, counts[i], sizeof counts[i], places[i], to->job->why);
        places[i] += SPDK_SECTION_HEADER;
    }
    for (size_t i = 0; i < model->group_count; i++) /* SPDK's files have no names of groups */
        to->job->result->notes[CONVERT_NAMES] +=
            !recording_is_spdk(to->job->recording) && model->groups[i].name[0];
    if (!error)
        error = write_owners(to, places[SPDK_SECTION_OWNERS]);
    if (!error)
        error = write_masks(to, places[SPDK_SECTION_MASKS]);
    if (!error)
        error = write_types(to, model->owners, model->owner_count, places[SPDK_SECTION_OWNER_TYPES]);
    if (!error)
        error = write_types(to, model->objects, model->object_count, places[SPDK_SECTION_OBJECTS]);
    if (!error)
        error = write_tracepoints(to, places[SPDK_SECTION_TRACEPOINTS]);
    if (!error)
        error = write_lcores(to, lcores, places[SPDK_SECTION_LCORES]);
    if (!error) /* The header is written last: without it the file is no recording. */
        error = convert_write(to->job->file, &header, sizeof header, 0, to->job->why);
    return error;
}
