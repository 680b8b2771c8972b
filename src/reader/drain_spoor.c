/* SPDX-License-Identifier: BSD-3-Clause */
/* Drains spoor's own format: blocks as they are, into a file of kind LAYOUT_KIND_STREAM. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/copy.h"
#include "reader/drain_format.h"
#include "reader/spoor.h"
#include "reader/write_access.h"

enum { BATCH = 64 }; /* blocks that are copied at once */

struct drained_ring {
    uint64_t next;   /* sequence number of the next block */
    uint64_t number; /* number of its first record, if nothing is lost */
    bool begun, was_there;
    uint8_t last[LAYOUT_BLOCK_HEADER_BYTES]; /* header of the newest block that was written */
    uint64_t unfinished;                     /* the block that was written last before it was full, */
    uint64_t reserved, committed;            /* and the ring's positions before it was read */
};

struct state {
    const struct layout_header *header;
    struct spoor_directory directory;
    struct drained_ring *rings; /* by index */
    size_t ring_room;
    struct layout_block *batch;
    bool has_looked;
    int signing; /* the recording, open for writing; -1: it must not be written */
};

/* ---- the output file ---- */

static int describe_spoor(struct drain *drain, struct text *why)
{
    const struct state *state = drain->state;
    const int source = recording_file(drain->source);
    struct layout_header header = *state->header;
    struct layout_control control;
    /* A stream needs no directory. */
    const uint64_t end = header.directory_offset ? header.directory_offset : header.rings_offset;
    int error = end > header.header_bytes
                    ? copy_range(source, drain->file, header.header_bytes, end - header.header_bytes)
                    : 0;
    if (error)
        return drain_fail(why, "write", drain->path, error);
    if (!recording_read_all(drain->source, &control, sizeof control, header.control_offset))
        return drain_fail(why, "read", recording_path(drain->source), -EIO);
    if (drain->number > 1 && !control.from)
        control.from = 1; /* older records are in the file before */
    if (header.directory_offset)
        control.rings = 0;
    header.kind = LAYOUT_KIND_STREAM;
    error = drain_write(drain, &control, sizeof control, header.control_offset, why);
    if (!error) /* the magic is written last */
        error = drain_write(drain, (uint8_t *)&header + sizeof header.magic,
                            sizeof header - sizeof header.magic, sizeof header.magic, why);
    if (!error)
        error = drain_write(drain, header.magic, sizeof header.magic, 0, why);
    return error;
}

static int resume_spoor(struct drain *drain, struct text *why)
{
    const struct state *state = drain->state;
    int error = 0;
    for (size_t i = 0; i < state->ring_room && !error; i++) {
        const struct drained_ring *ring = &state->rings[i];
        if (!ring->begun)
            continue;
        struct layout_block *block = state->batch;
        *block = (struct layout_block){0};
        memcpy(block, ring->last, sizeof ring->last);
        block->number = ring->number;
        block->first = LAYOUT_BLOCK_BYTES;
        error = drain_append(drain, block, sizeof *block, why);
    }
    return error;
}

/* ---- rings ---- */

static void account(struct drain *drain, struct drained_ring *ring, const struct layout_block *block)
{
    uint32_t end;
    const uint64_t records = spoor_block_records(block, &end);
    if ((ring->begun || !ring->was_there) && block->number > ring->number)
        drain->counts.lost += block->number - ring->number;
    drain->counts.events += records;
    drain->counts.blocks++;
    ring->number = block->number + records;
    ring->next = block->sequence + 1;
    ring->begun = true;
    memcpy(ring->last, block, sizeof ring->last);
}

static const struct layout_place *place_of(const struct drain *drain, uint64_t index)
{
    return &((const struct state *)drain->state)->directory.places[index];
}

static uint64_t blocks_of(const struct drain *drain, uint64_t index)
{
    return place_of(drain, index)->bytes / LAYOUT_BLOCK_BYTES;
}

/* Returns the offset of the slot for the block with this sequence number. */
static uint64_t block_offset(const struct drain *drain, uint64_t index, uint64_t sequence)
{
    return place_of(drain, index)->offset + LAYOUT_PAGE +
           sequence % blocks_of(drain, index) * LAYOUT_BLOCK_BYTES;
}

static bool read_ring(const struct drain *drain, uint64_t index, struct layout_ring *ring)
{
    return recording_read_all(drain->source, ring, sizeof *ring, place_of(drain, index)->offset);
}

/* Copies blocks from `next` up to `end`, and writes those that are whole. committed: the ring's position, which was
 * read before. Returns 0 or -errno. */
static int drain_batch(struct drain *drain, uint64_t index, uint64_t end, uint64_t committed,
                       struct text *why)
{
    const struct state *state = drain->state;
    struct drained_ring *ring = &state->rings[index];
    const uint64_t blocks = blocks_of(drain, index), slot = ring->next % blocks;
    uint64_t count = end - ring->next;
    if (count > blocks - slot)
        count = blocks - slot;
    if (count > BATCH)
        count = BATCH;
    const uint64_t offset = block_offset(drain, index, ring->next);
    struct layout_ring control;
    bool is_read = recording_read_all(drain->source, state->batch, count * sizeof *state->batch, offset);
    for (uint64_t i = 0; i < count && is_read; i++) /* blocks that may not be whole are read one by one */
        if ((ring->next + i + 1) * LAYOUT_BLOCK_WORDS > committed &&
            !spoor_block_read(drain->source, offset + i * LAYOUT_BLOCK_BYTES, (uint32_t)index, ring->next + i,
                              committed, &state->batch[i]))
            state->batch[i].sequence = 0;
    if (!is_read || !read_ring(drain, index, &control))
        return drain_fail(why, "read", recording_path(drain->source), -EIO);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const uint64_t reserved = layout_position(control.reserved, control.position_base);
    const uint64_t first = ring->next;
    size_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t sequence = first + i;
        const struct layout_block *block = &state->batch[i];
        if (!spoor_block_has_header(block, sequence, (uint32_t)index) ||
            reserved > (sequence + blocks) * LAYOUT_BLOCK_WORDS)
            continue;
        account(drain, ring, block);
        if (kept != i)
            state->batch[kept] = *block;
        kept++;
    }
    ring->next = first + count;
    return kept ? drain_append(drain, state->batch, kept * sizeof *state->batch, why) : 0;
}

/* Writes the block that is being filled, as far as it is, if it has grown. */
static int give_unfinished(struct drain *drain, uint64_t index, uint64_t sequence, struct text *why)
{
    const struct state *state = drain->state;
    struct drained_ring *ring = &state->rings[index];
    struct layout_block *block = state->batch;
    struct layout_ring control;
    if (!read_ring(drain, index, &control))
        return 0;
    const uint64_t blocks = blocks_of(drain, index);
    const uint64_t reserved = layout_position(control.reserved, control.position_base);
    const uint64_t committed = layout_position(control.committed, control.position_base);
    if (sequence == ring->unfinished && reserved == ring->reserved && committed == ring->committed)
        return 0;
    const uint64_t offset = block_offset(drain, index, sequence);
    if (!spoor_block_read(drain->source, offset, (uint32_t)index, sequence, committed, block))
        return 0;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!read_ring(drain, index, &control) ||
        layout_position(control.reserved, control.position_base) > (sequence + blocks) * LAYOUT_BLOCK_WORDS)
        return 0;
    ring->unfinished = sequence;
    ring->reserved = reserved;
    ring->committed = committed;
    return drain_append(drain, block, sizeof *block, why);
}

/* Drains one ring. Returns 1 if more than a quarter of it was new. */
static int drain_ring(struct drain *drain, uint64_t index, enum drain_round round, struct text *why)
{
    const struct state *state = drain->state;
    struct drained_ring *ring = &state->rings[index];
    const uint64_t blocks = blocks_of(drain, index);
    struct layout_ring control;
    if (!read_ring(drain, index, &control))
        return 0; /* it is being made */
    const uint64_t reserved = layout_position(control.reserved, control.position_base);
    const uint64_t committed = layout_position(control.committed, control.position_base);
    const uint64_t newest = reserved / LAYOUT_BLOCK_WORDS; /* the block that is being filled */
    uint64_t end = newest;
    if (round == DRAIN_LAST)
        end = newest + 1;
    else if (committed / LAYOUT_BLOCK_WORDS < newest && newest - ring->next < blocks / 2)
        end = committed /
              /* A record in an older block is not finished: wait for it while there is room in the ring. */
              LAYOUT_BLOCK_WORDS;
    if (ring->next == 0)
        ring->next = 1;
    bool is_filled = false;
    const uint64_t share = drain->share / LAYOUT_BLOCK_BYTES;
    if (share && end > share && ring->next < end - share)
        ring->next = end - share;
    /* before `newest` while that has nothing yet */
    const uint64_t opened = reserved ? (reserved - 1) / LAYOUT_BLOCK_WORDS : 0;
    if (opened >= blocks && ring->next <= opened - blocks) {
        /* The ring has overtaken the reader. It goes on with a lead, so that this does not happen over and over. */
        const uint64_t lead = ring->begun && round != DRAIN_LAST ? blocks / 8 : 0;
        ring->next = opened - blocks + 1 + lead;
    }
    while (ring->next < end) {
        is_filled |= end - ring->next > blocks / 4;
        const int error = drain_batch(drain, index, end, committed, why);
        if (error)
            return error;
    }
    const int error = round == DRAIN_NEW ? give_unfinished(drain, index, ring->next, why) : 0;
    return error ? error : is_filled;
}

/* Makes room for what is known of each ring in the directory. */
static bool make_room(struct state *state)
{
    const size_t count = state->directory.count;
    if (count <= state->ring_room)
        return true;
    struct drained_ring *grown = realloc(state->rings, count * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + state->ring_room, 0, (count - state->ring_room) * sizeof *grown);
    state->rings = grown;
    state->ring_room = count;
    return true;
}

static int round_spoor(struct drain *drain, enum drain_round round, struct text *why)
{
    struct state *state = drain->state;
    int is_filled = 0;
    const int problem = spoor_directory_read(drain->source, state->header, &state->directory);
    if (problem == -EINVAL)
        text_printf(why, "%s is damaged: its rings overlap", recording_path(drain->source));
    else if (problem)
        drain_fail(why, "read", recording_path(drain->source), problem);
    if (problem || !make_room(state))
        return problem ? problem : -ENOMEM;
    for (size_t i = 0; i < state->directory.count; i++) {
        /* A ring that is not ready may come before others that are. */
        if (!spoor_place_is_used(place_of(drain, i)))
            continue;
        state->rings[i].was_there |= !state->has_looked; /* what it has lost until now is not counted */
        const int result = drain_ring(drain, i, round, why);
        if (result < 0)
            return result;
        is_filled |= result;
        const int error = round == DRAIN_FULL ? drain_rotate(drain, why) : 0;
        if (error)
            return error;
    }
    state->has_looked = true;
    return is_filled;
}

/* Writes into the recording which process drains it, for other tools. This is not needed, so a file that must not
 * be written is no error. */
static void sign(const struct drain *drain, uint64_t pid)
{
    const struct state *state = drain->state;
    if (state->signing >= 0)
        write_access_put(state->signing, &pid, sizeof pid,
                         state->header->control_offset + offsetof(struct layout_control, drainer));
}

static int open_spoor(struct drain *drain, struct text *why)
{
    const struct spoor_state *source = drain->source->state;
    const struct layout_header *header = &source->header;
    if (header->kind != LAYOUT_KIND_RINGS) {
        text_printf(why, "%s was recorded by `spoor record` already", recording_path(drain->source));
        return -EINVAL;
    }
    if (header->rings_offset < sizeof(struct layout_header) ||
        header->rings_offset > SPOOR_SECTIONS_MAX * 2ull) {
        text_printf(why, "%s is damaged: its declarations are too large", recording_path(drain->source));
        return -EINVAL;
    }
    struct state *state = drain->state = calloc(1, sizeof *state);
    if (!state)
        return -ENOMEM;
    struct text ignored = {0};
    state->header = header;
    state->signing = drain->append ? -1 : write_access_open(drain->source, drain->options.pid, &ignored);
    text_free(&ignored);
    state->batch = malloc(BATCH * sizeof *state->batch);
    if (!state->batch)
        return -ENOMEM;
    drain->begin = header->rings_offset;
    sign(drain, (uint64_t)getpid());
    return 0;
}

static void close_spoor(struct drain *drain)
{
    struct state *state = drain->state;
    if (!state)
        return;
    sign(drain, 0);
    if (state->signing >= 0)
        close(state->signing);
    spoor_directory_free(&state->directory);
    free(state->rings);
    free(state->batch);
    free(state);
}

const struct drain_format drain_format_spoor = {
    .open = open_spoor,
    .describe = describe_spoor,
    .resume = resume_spoor,
    .round = round_spoor,
    .close = close_spoor,
};
