/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a recording of SPDK's format as one of spoor's, like a file of `spoor record` (LAYOUT_KIND_STREAM). An
 * lcore is a thread with a ring of its own. Blocks are written when they are full. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/convert.h"
#include "reader/spdk.h"
#include "recorder/layout.h"

enum { OWNER_ZERO = 65536, /* the number of owner 0 */ ALIGNED = LAYOUT_PAGE };

struct to_ring {
    struct layout_block *block; /* the block that is being filled */
    uint32_t at;                /* offset of the next record in it */
    uint64_t number;            /* number of the next record */
    uint64_t last;              /* time of the newest record */
};

struct to_spoor {
    const struct convert_job *job;
    struct convert_threads threads;
    struct to_ring *rings; /* LAYOUT_MAX_RINGS of them */
    struct text sections;
    uint32_t tracepoint_zero; /* the id in the file of the tracepoint with id 0; 0: there is none */
    bool has_owner_zero;
    uint64_t attributed; /* how many of the overwritten events were before an event */
    uint64_t owner_count;
    uint64_t owners_at, sections_at, blocks_at; /* offsets in the file */
    uint64_t end;
};

/* ---- declarations ---- */

struct section { /* a section while it is made */
    struct layout_section head;
    struct text items, names;
};

static void section_begin(struct section *section, enum layout_section_type type, uint32_t item_bytes,
                          size_t count)
{
    *section = (struct section){.head = {.type = type, .item_bytes = item_bytes, .count = (uint32_t)count}};
}

/* Adds a name, and returns its offset from the section's beginning. */
static uint32_t section_name(struct section *section, const char *name)
{
    const size_t offset =
        sizeof section->head + (size_t)section->head.count * section->head.item_bytes + section->names.length;
    if (!name[0])
        return 0;
    text_append(&section->names, name, strlen(name) + 1);
    return (uint32_t)offset;
}

static void section_item(struct section *section, const void *item)
{
    text_append(&section->items, item, section->head.item_bytes);
}

static void section_end(struct to_spoor *to, struct section *section)
{
    struct text *out = &to->sections;
    const uint64_t bytes = sizeof section->head + section->items.length + section->names.length;
    section->head.bytes = (bytes + 7) & ~(uint64_t)7;
    text_append(out, (const char *)&section->head, sizeof section->head);
    text_append(out, section->items.bytes, section->items.length);
    text_append(out, section->names.bytes, section->names.length);
    text_fill(out, 0, section->head.bytes - bytes);
    out->failed |= section->items.failed || section->names.failed;
    text_free(&section->items);
    text_free(&section->names);
}

static void declare_groups(struct to_spoor *to)
{
    const struct recording_model *model = to->job->model;
    struct section section;
    section_begin(&section, LAYOUT_SECTION_GROUPS, sizeof(struct layout_group), model->group_count);
    for (size_t i = 0; i < model->group_count; i++)
        section_item(&section, &(struct layout_group){.id = model->groups[i].id + 1,
                                                      .name = section_name(&section, model->groups[i].name)});
    section_end(to, &section);
}

/* Declares types of objects or owners, which have the same layout; SPDK's have no names. */
static void declare_types(struct to_spoor *to, enum layout_section_type type,
                          const struct recording_type *types, size_t count)
{
    struct section section;
    section_begin(&section, type, sizeof(struct layout_object), count);
    for (size_t i = 0; i < count; i++)
        section_item(&section,
                     &(struct layout_object){.id = (uint32_t)i + 1, .letter = (uint8_t)types[i].letter});
    section_end(to, &section);
}

static uint32_t tracepoint_id(const struct to_spoor *to, const struct recording_tracepoint *tracepoint)
{
    return tracepoint->id ? tracepoint->id : to->tracepoint_zero;
}

/* Makes a section of what `put` adds for each tracepoint. */
static void declare_all(struct to_spoor *to, enum layout_section_type type, uint32_t item_bytes, size_t count,
                        void (*put)(const struct to_spoor *to, struct section *section,
                                    const struct recording_tracepoint *tracepoint))
{
    struct section section;
    section_begin(&section, type, item_bytes, count);
    for (size_t i = 0; i < to->job->model->tracepoint_room; i++)
        if (to->job->model->tracepoints[i])
            put(to, &section, to->job->model->tracepoints[i]);
    section_end(to, &section);
}

static void put_tracepoint(const struct to_spoor *to, struct section *section,
                           const struct recording_tracepoint *tracepoint)
{
    section_item(section, &(struct layout_tracepoint){
                              .id = tracepoint_id(to, tracepoint),
                              .group = tracepoint->group->id + 1,
                              .object = (uint32_t)(tracepoint->object + 1),
                              .life = tracepoint->life,
                              .argument_count = tracepoint->argument_count,
                              .flags = (uint16_t)((tracepoint->owner + 1) * LAYOUT_TRACEPOINT_OWNER),
                              .name = section_name(section, tracepoint->name),
                              .index = tracepoint->index});
}

static void put_arguments(const struct to_spoor *to, struct section *section,
                          const struct recording_tracepoint *tracepoint)
{
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        const struct recording_argument *argument = &tracepoint->arguments[i];
        section_item(section, &(struct layout_argument){.tracepoint = tracepoint_id(to, tracepoint),
                                                        .index = (uint8_t)i,
                                                        .kind = argument->kind,
                                                        .size = argument->size,
                                                        .name = section_name(section, argument->name)});
    }
}

static void put_relations(const struct to_spoor *to, struct section *section,
                          const struct recording_tracepoint *tracepoint)
{
    for (unsigned i = 0; i < tracepoint->relation_count; i++)
        section_item(section, &(struct layout_relation){.tracepoint = tracepoint_id(to, tracepoint),
                                                        .argument = tracepoint->relations[i].argument,
                                                        .object = tracepoint->relations[i].object + 1u});
}

static int declare(struct to_spoor *to)
{
    const struct recording_model *model = to->job->model;
    size_t tracepoints = 0, arguments = 0, relations = 0;
    bool has_zero = false;
    for (size_t i = 0; i < model->tracepoint_room; i++)
        if (model->tracepoints[i]) {
            tracepoints++;
            arguments += model->tracepoints[i]->argument_count;
            relations += model->tracepoints[i]->relation_count;
            has_zero |= model->tracepoints[i]->id == 0;
        }
    if (has_zero) /* no tracepoint has the id of a continuation */
        to->tracepoint_zero = SPDK_CONTINUATION;
    to->job->result->notes[CONVERT_TRACEPOINT_ZERO] = has_zero;
    declare_groups(to);
    declare_types(to, LAYOUT_SECTION_OBJECTS, model->objects, model->object_count);
    declare_types(to, LAYOUT_SECTION_OWNER_TYPES, model->owners, model->owner_count);
    declare_all(to, LAYOUT_SECTION_TRACEPOINTS, sizeof(struct layout_tracepoint), tracepoints,
                put_tracepoint);
    declare_all(to, LAYOUT_SECTION_ARGUMENTS, sizeof(struct layout_argument), arguments, put_arguments);
    declare_all(to, LAYOUT_SECTION_RELATIONS, sizeof(struct layout_relation), relations, put_relations);
    return to->sections.failed ? -ENOMEM : 0;
}

/* ---- what stands before the blocks ---- */

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static void place(struct to_spoor *to)
{
    struct recording_owner owner;
    while (recording_owner_at(to->job->recording, to->owner_count, &owner)) {
        to->has_owner_zero |= owner.id == 0;
        to->owner_count++;
    }
    to->job->result->notes[CONVERT_OWNER_ZERO] = to->has_owner_zero;
    to->owners_at = 2 * ALIGNED; /* they follow the header and the control page */
    to->sections_at = to->owners_at + aligned(to->owner_count * sizeof(struct layout_owner));
    to->blocks_at = to->end = to->sections_at + aligned(to->sections.length);
}

static int write_owners(struct to_spoor *to)
{
    struct recording_owner owner;
    int error = 0;
    for (size_t i = 0; i < to->owner_count && !error && recording_owner_at(to->job->recording, i, &owner);
         i++) {
        struct layout_owner out = {
            .version = 2,
            .since = owner.since,
            .until = owner.until,
            .id = owner.id ? owner.id : OWNER_ZERO,
            .type = (uint16_t)(owner.type + 1),
        };
        const bool is_cut = owner.description_length > sizeof out.description;
        to->job->result->notes[CONVERT_CUT_DESCRIPTIONS] += is_cut;
        out.description_bytes = (uint16_t)(is_cut ? sizeof out.description : owner.description_length);
        memcpy(out.description, owner.description, out.description_bytes);
        error = convert_write(to->job->file, &out, sizeof out, to->owners_at + i * sizeof out, to->job->why);
    }
    return error;
}

/* Returns the values of both clocks at a stamp; if the recording is not related to the boot clock, only the
 * counter. */
static struct layout_clock clock_at(const struct to_spoor *to, uint64_t stamp)
{
    struct layout_clock clock = {.counter = stamp};
    const unsigned __int128 error = (unsigned __int128)recording_clock_error(to->job->recording) *
                                        recording_rate(to->job->recording) / NSEC_PER_SEC +
                                    1;
    if (!recording_clock_is_known(to->job->recording))
        return clock;
    clock.boottime = clock.monotonic = recording_time(to->job->recording, stamp);
    clock.error = error > UINT64_MAX ? UINT64_MAX : (uint64_t)error;
    clock.check = layout_clock_check(&clock);
    return clock;
}

/* Writes what is before the blocks, the header last, and its magic at its end: without it the file is no
 * recording. */
static int write_head(struct to_spoor *to)
{
    const struct layout_control control = {
        .sections_used = to->sections.length,
        .lost = {[LAYOUT_LOST_SPACE] = to->job->result->notes[CONVERT_UNRECORDED]},
    };
    const uint64_t start = recording_start_stamp(to->job->recording),
                   real = recording_realtime(to->job->recording);
    struct layout_header header = {
        .version = LAYOUT_VERSION,
        .byte_order = LAYOUT_BYTE_ORDER,
        .header_bytes = sizeof header,
        .kind = LAYOUT_KIND_STREAM,
        .optional = recording_clock_is_known(to->job->recording) ? 0 : LAYOUT_OPTIONAL_OWN_CLOCK,
        .counter_kind = LAYOUT_COUNTER_TSC,
        .counter_hz = recording_rate(to->job->recording),
        .opened = clock_at(to, start),
        .realtime = real ? real + recording_time(to->job->recording, start) : 0,
        .control_offset = ALIGNED,
        .control_bytes = ALIGNED,
        .owners_offset = to->owners_at,
        .owner_count = to->owner_count,
        .owner_bytes = sizeof(struct layout_owner),
        .sections_offset = to->sections_at,
        .sections_bytes = to->blocks_at - to->sections_at,
        .rings_offset = to->blocks_at,
        .block_bytes = LAYOUT_BLOCK_BYTES,
    };
    memcpy(header.magic, LAYOUT_MAGIC, sizeof header.magic);
    int error = convert_set_length(to->job->file, to->end, to->job->why);
    if (!error)
        error = write_owners(to);
    if (!error)
        error = convert_write(to->job->file, to->sections.bytes, to->sections.length, to->sections_at,
                              to->job->why);
    if (!error)
        error = convert_write(to->job->file, &control, sizeof control, ALIGNED, to->job->why);
    return error ? error : convert_write(to->job->file, &header, sizeof header, 0, to->job->why);
}

/* ---- blocks ---- */

static int write_block(struct to_spoor *to, struct to_ring *ring)
{
    const int error = convert_write(to->job->file, ring->block, sizeof *ring->block, to->end, to->job->why);
    to->end += sizeof *ring->block;
    return error;
}

/* Ends a block: its rest is one padding record. */
static int end_block(struct to_spoor *to, struct to_ring *ring)
{
    struct layout_block *block = ring->block;
    if (ring->at < LAYOUT_BLOCK_BYTES) {
        const uint64_t position = block->sequence * LAYOUT_BLOCK_WORDS + ring->at / 8;
        const uint64_t start =
            layout_record_start(position, LAYOUT_ID_PADDING, LAYOUT_BLOCK_BYTES - ring->at);
        memcpy((uint8_t *)block + ring->at, &start, sizeof start);
    }
    return write_block(to, ring);
}

static void begin_block(const struct to_spoor *to, struct to_ring *ring, const struct recording_event *event)
{
    struct layout_block *block = ring->block;
    const uint64_t sequence = block->sequence + 1;
    const uint32_t index = block->ring;
    *block = (struct layout_block){
        .sequence = sequence,
        .number = ring->number,
        .counter = event->stamp,
        .clock = clock_at(to, event->stamp),
        .ring = index,
        .tid = event->thread,
        .first = LAYOUT_BLOCK_HEADER_BYTES,
    };
    memcpy(block->thread, event->thread_name, sizeof block->thread);
    ring->at = LAYOUT_BLOCK_HEADER_BYTES;
}

static struct to_ring *ring_of(struct to_spoor *to, uint32_t thread, int *error)
{
    const uint32_t before = to->threads.count;
    const int64_t index = convert_thread(&to->threads, thread);
    *error = index < 0 ? -ENOMEM : 0;
    if (index >= LAYOUT_MAX_RINGS) {
        text_printf(to->job->why, "%s has more lcores than spoor's format has rings, which are %u",
                    recording_path(to->job->recording), LAYOUT_MAX_RINGS);
        *error = -E2BIG;
    }
    if (*error)
        return NULL;
    struct to_ring *ring = &to->rings[index];
    if (index < before)
        return ring;
    if (!(ring->block = calloc(1, sizeof *ring->block))) {
        *error = -ENOMEM;
        return NULL;
    }
    ring->block->ring = (uint32_t)index;
    ring->at = LAYOUT_BLOCK_BYTES;
    return ring;
}

/* Makes the record of an event: its words, and behind them its texts, each aligned to a word. Returns how many
 * bytes it has. */
static uint32_t make_record(const struct to_spoor *to, const struct recording_event *event,
                            struct layout_record *record)
{
    const unsigned count = event->tracepoint->argument_count;
    uint32_t bytes = LAYOUT_RECORD_BYTES + 8 * count;
    record->stamp = event->stamp;
    record->object = event->object;
    record->owner = event->owner || !to->has_owner_zero ? event->owner : OWNER_ZERO;
    record->size = event->size;
    for (unsigned i = 0; i < count; i++) {
        record->arguments[i] = event->words[i];
        if (event->tracepoint->arguments[i].kind != RECORDING_STRING)
            continue;
        const struct recording_text text = recording_string(event, i);
        const uint32_t room = (text.length + 7) & ~7u;
        record->arguments[i] = (uint64_t)text.length << 32 | (uint64_t)bytes << 16 | text.length;
        memset((uint8_t *)record + bytes, 0, room);
        memcpy((uint8_t *)record + bytes, text.bytes, text.length);
        bytes += room;
    }
    return bytes;
}

static int put_event(struct to_spoor *to, struct recording_event *event)
{
    uint64_t words[LAYOUT_BLOCK_WORDS]; /* enough for 8 texts of 255 bytes, the most that SPDK's format has */
    struct layout_record *record = (struct layout_record *)words;
    int error;
    struct to_ring *ring = ring_of(to, event->thread, &error);
    if (!ring)
        return error;
    if (event->stamp < ring->last) {
        to->job->result->notes[CONVERT_TIMES]++;
        event->stamp = ring->last;
    }
    const uint32_t bytes = make_record(to, event, record);
    const bool is_full = bytes > LAYOUT_BLOCK_BYTES - ring->at;
    if ((event->lost || is_full) && ring->block->sequence)
        error = end_block(to, ring);
    ring->number += event->lost;
    if (event->lost || is_full)
        begin_block(to, ring, event);
    const uint64_t position = ring->block->sequence * LAYOUT_BLOCK_WORDS + ring->at / 8;
    record->start = layout_record_start(position, tracepoint_id(to, event->tracepoint), bytes);
    memcpy((uint8_t *)ring->block + ring->at, record, bytes);
    ring->at += bytes;
    ring->number++;
    ring->last = event->stamp;
    to->attributed += event->lost;
    to->job->result->events++;
    return error;
}

/* Counts what is missing before no event as if the first thread had recorded it last. */
static int put_rest(struct to_spoor *to)
{
    const uint64_t *notes = to->job->result->notes;
    const uint64_t missing = notes[CONVERT_OVERWRITTEN_ENTRIES] + notes[CONVERT_LEFT_OUT] - to->attributed;
    static const char no_name[RECORDING_NAME];
    const struct recording_event nothing = {.thread_name = no_name};
    int error = 0;
    if (missing && !to->threads.count)
        ring_of(to, 0, &error);
    for (uint32_t i = 0; i < to->threads.count && !error; i++)
        if (to->rings[i].block->sequence)
            error = end_block(to, &to->rings[i]);
    if (!missing || error)
        return error;
    struct to_ring *ring = &to->rings[0];
    struct recording_event last = nothing;
    char name[RECORDING_NAME];
    memcpy(name, ring->block->thread, sizeof name);
    last.thread = ring->block->tid;
    last.thread_name = name;
    last.stamp = ring->last;
    ring->number += missing;
    begin_block(to, ring, &last);
    ring->block->first = LAYOUT_BLOCK_BYTES;
    return write_block(to, ring);
}

static int convert(struct to_spoor *to)
{
    struct recording_event event;
    if (!(to->rings = calloc(LAYOUT_MAX_RINGS, sizeof *to->rings)))
        return -ENOMEM;
    int error = declare(to), got = 0;
    if (error)
        return error;
    place(to);
    while (!*to->job->stop && !error && (got = recording_next(to->job->recording, &event)) == 1)
        error = put_event(to, &event);
    if (*to->job->stop || error || got < 0)
        return error ? error : got < 0 ? got : -EINTR;
    convert_count_missing(to->job->recording, to->job->result);
    error = convert_check_read(to->job->recording, to->job->why);
    if (!error)
        error = put_rest(to);
    return error ? error : write_head(to);
}

int convert_to_spoor(const struct convert_job *job)
{
    struct to_spoor to = {.job = job};
    const int error = convert(&to);
    for (uint32_t i = 0; to.rings && i < LAYOUT_MAX_RINGS; i++)
        free(to.rings[i].block);
    free(to.rings);
    text_free(&to.sections);
    convert_threads_free(&to.threads);
    return error;
}
