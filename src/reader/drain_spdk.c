/* SPDX-License-Identifier: BSD-3-Clause */
/* Drains SPDK's format: slots as they are, in chunks that say which slots they are (spdk.h).
 *
 * The invariant: a slot goes to the file only if the writer, after it was copied, was still so far from it that not
 * even the event that it may be writing beyond its position reaches the slot. Positions stand between events, so
 * that an event is cut only where slots before or after it were lost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/copy.h"
#include "reader/drain_format.h"
#include "reader/spdk_state.h"

enum {
    BATCH = 2048,               /* slots that are copied at once */
    WORTH = 512,                /* slots that make a chunk worth writing */
    MAIN_BYTES = 512,           /* bytes of the first section */
    WAIT_ROUNDS = 50,           /* rounds after which fewer slots are written, too */
    DESCRIPTION_MAX = 4096,     /* of an owner; a larger size is damage */
    SECTIONS_BYTES = 512 << 20, /* of all sections; a larger size is damage */
};

struct drained_lcore {
    uint64_t offset;     /* offset of its history in the program's file; 0: it has none */
    uint64_t slots;      /* offset of slot 0 */
    uint64_t slot_count; /* num_entries */
    uint64_t next;       /* number of the next slot */
    uint64_t still;      /* the position at which it was seen not to move; 0: it moves */
    uint64_t still_from; /* with `still`: the oldest slot that is whole */
    unsigned waited;     /* how many rounds it has waited for enough slots to be worth writing */
    bool begun;          /* what is recorded from `next` on is either copied or counted as lost */
    bool has_slots;      /* slots of it have been written */
};

struct state {
    struct spdk_header header; /* header of the output file */
    uint64_t from;             /* offsets of sections in the program's file */
    uint64_t sizes[SPDK_SECTIONS];
    struct spdk_stream stream;
    bool is_related;
    struct relation relation;     /* if is_related: the relation to the boot clock */
    struct drained_lcore *lcores; /* SPDK_LCORES_MAX of them */
    unsigned lcore_count;         /* all that have a history are before this one */
    uint64_t offsets[SPDK_LCORES_MAX];
    struct {
        struct spdk_chunk head;
        struct spdk_slot slots[BATCH];
    } * batch;
};

static const struct spdk_header *source_header(const struct drain *drain)
{
    return &((const struct spdk_state *)drain->source->state)->header;
}

/* ---- lcores ---- */

static bool read_history(const struct drain *drain, const struct drained_lcore *lcore,
                         struct spdk_history *history)
{
    return recording_read_all(drain->source, history, sizeof *history, lcore->offset);
}

/* Finds the lcores that have a history now. A program may give one to a thread later. */
static void find_lcores(struct drain *drain)
{
    struct state *state = drain->state;
    const uint64_t file_bytes = drain->source->file_bytes;
    uint64_t at = 0;
    unsigned count = spdk_section_count(drain->source, SPDK_SECTION_LCORES, &at);
    count = count < SPDK_LCORES_MAX ? count : SPDK_LCORES_MAX;
    count = (unsigned)(recording_read(drain->source, state->offsets, count * sizeof *state->offsets, at) /
                       sizeof *state->offsets);
    for (unsigned i = 0; i < count; i++) {
        struct drained_lcore *lcore = &state->lcores[i];
        const uint64_t offset = state->offsets[i];
        struct spdk_history history;
        if (lcore->offset)
            continue;
        if (!offset || offset > file_bytes ||
            !recording_read_all(drain->source, &history, sizeof history, offset) || !history.num_entries ||
            history.num_tpoint_ids > 65536 ||
            history.num_entries > (file_bytes - offset) / sizeof(struct spdk_slot))
            continue;
        *lcore = (struct drained_lcore){
            .offset = offset,
            .slots = offset + sizeof history + history.num_tpoint_ids * 8,
            .slot_count = history.num_entries,
        };
        state->lcore_count = i + 1 > state->lcore_count ? i + 1 : state->lcore_count;
    }
}

/* ---- the output file ---- */

/* Returns how many bytes a section has according to its header; 0: there is none. */
static uint64_t section_bytes(const struct drain *drain, int section)
{
    static const uint16_t item_bytes[SPDK_SECTIONS] = {
        [SPDK_SECTION_MASKS] = sizeof(uint64_t),
        [SPDK_SECTION_OWNER_TYPES] = sizeof(struct spdk_letter),
        [SPDK_SECTION_OBJECTS] = sizeof(struct spdk_letter),
        [SPDK_SECTION_TRACEPOINTS] = sizeof(struct spdk_tracepoint),
    };
    uint16_t head[2];
    const uint64_t offset = source_header(drain)->offsets[section];
    if (!offset || section == SPDK_SECTION_LCORES ||
        !recording_read_all(drain->source, head, sizeof head, offset))
        return 0;
    if (section == SPDK_SECTION_MAIN)
        return MAIN_BYTES;
    const uint64_t item = section == SPDK_SECTION_OWNERS
                              ? sizeof(struct spdk_owner) + (head[1] <= DESCRIPTION_MAX ? head[1] : 0)
                              : item_bytes[section];
    return SPDK_SECTION_HEADER + head[0] * item;
}

static int plan(struct drain *drain, struct text *why)
{
    struct state *state = drain->state;
    const uint64_t file_bytes = drain->source->file_bytes;
    uint64_t at =
        sizeof state->header + sizeof state->stream + (state->is_related ? sizeof state->relation : 0);
    state->header.section_count = SPDK_SECTIONS;
    memcpy(state->header.reserved, SPDK_STREAM_MARK, sizeof state->header.reserved);
    for (int i = 0; i < SPDK_SECTIONS; i++) {
        const uint64_t offset = source_header(drain)->offsets[i];
        state->sizes[i] = section_bytes(drain, i);
        if (!state->sizes[i])
            continue;
        if (state->sizes[i] > file_bytes - offset) /* the last section may end before its header says */
            state->sizes[i] = file_bytes - offset;
        state->header.offsets[i] = at;
        at = (at + state->sizes[i] + 7) & ~(uint64_t)7;
    }
    if (at > SECTIONS_BYTES) {
        text_printf(why, "%s is damaged: its declarations are too large", recording_path(drain->source));
        return -EINVAL;
    }
    state->header.file_size = drain->begin = at;
    return 0;
}

static int copy_section(struct drain *drain, int section, struct text *why)
{
    const struct state *state = drain->state;
    const uint64_t from = source_header(drain)->offsets[section], to = state->header.offsets[section];
    char part[1 << 14];
    for (uint64_t done = 0; done < state->sizes[section];) {
        const uint64_t left = state->sizes[section] - done;
        const size_t got =
            recording_read(drain->source, part, left < sizeof part ? left : sizeof part, from + done);
        if (!got)
            return drain_fail(why, "read", recording_path(drain->source), -EIO);
        const int error = drain_write(drain, part, got, to + done, why);
        if (error)
            return error;
        done += got;
    }
    return 0;
}

static int describe_spdk(struct drain *drain, struct text *why)
{
    struct state *state = drain->state;
    int error = 0;
    state->stream.number = drain->number;
    find_lcores(drain);
    if (state->is_related) {
        const struct layout_clock clock = relation_look();
        relation_add(&state->relation, &clock, drain->source->timeline.rate);
        error = drain_write(drain, &state->relation, sizeof state->relation,
                            sizeof state->header + sizeof state->stream, why);
    }
    for (int i = 0; i < SPDK_SECTIONS && !error; i++)
        if (state->sizes[i])
            error = copy_section(drain, i, why);
    if (!error)
        error = drain_write(drain, &state->stream, sizeof state->stream, sizeof state->header, why);
    if (!error) /* The header is written last: without it the file is no recording. */
        error = drain_write(drain, &state->header, sizeof state->header, 0, why);
    return error;
}

/* ---- slots ---- */

/* Returns the oldest slot that a writer at this position is not about to overwrite. A writer that stands still
 * overwrites nothing, but may have begun to. */
static uint64_t oldest_safe(const struct drained_lcore *lcore, uint64_t position)
{
    if (lcore->still && lcore->still == position)
        return lcore->still_from;
    if (position + SPDK_EVENT_SLOTS <= lcore->slot_count)
        return 0;
    const uint64_t oldest = position + SPDK_EVENT_SLOTS - lcore->slot_count;
    return oldest < position ? oldest : position;
}

/* What is around the writer's position: its newest slot, and those to which the next event may go. */
struct brink {
    uint64_t position;
    struct spdk_slot slots[1 + SPDK_EVENT_SLOTS];
};

static bool read_brink(const struct drain *drain, const struct drained_lcore *lcore, struct brink *brink)
{
    struct spdk_history history;
    if (!read_history(drain, lcore, &history) || !history.next_entry)
        return false;
    brink->position = history.next_entry;
    for (unsigned i = 0; i <= SPDK_EVENT_SLOTS; i++) {
        const uint64_t slot = (brink->position - 1 + i) % lcore->slot_count;
        if (!recording_read_all(drain->source, &brink->slots[i], sizeof brink->slots[i],
                                lcore->slots + slot * sizeof brink->slots[i]))
            return false;
    }
    return true;
}

/* Finds out whether the writer stands still. Then only those slots are withheld that it has begun to overwrite when
 * it was stopped: slots that are newer than its newest event. */
static void look_for_stillness(const struct drain *drain, struct drained_lcore *lcore)
{
    enum { LOOKS = 20, PAUSE = 100000 /* ns: no event takes both together to record */ };
    struct brink before, after;
    uint64_t begun = 0;
    if (!read_brink(drain, lcore, &before) || lcore->next >= oldest_safe(lcore, before.position))
        return;
    for (int i = 0; i < LOOKS; i++) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
        if (!read_brink(drain, lcore, &after) || before.position != after.position ||
            memcmp(before.slots, after.slots, sizeof before.slots) != 0)
            return;
    }
    while (begun < SPDK_EVENT_SLOTS && after.slots[1 + begun].tsc > after.slots[0].tsc)
        begun++;
    lcore->still = after.position;
    lcore->still_from =
        lcore->still + begun > lcore->slot_count ? lcore->still + begun - lcore->slot_count : 0;
}

static int write_chunk(struct drain *drain, unsigned index, const struct spdk_history *history,
                       uint64_t first, uint64_t skipped, uint64_t count, struct text *why)
{
    struct state *state = drain->state;
    struct spdk_chunk head = {
        .first = first,
        .count = count,
        .index = index,
        .lcore = history->lcore,
        .num_tpoint_ids = history->num_tpoint_ids,
    };
    memcpy(head.thread_name, history->thread_name, sizeof head.thread_name);
    head.check = spdk_chunk_check(&head);
    /* The head goes directly before the slots that are left, so that one write makes one whole chunk. */
    uint8_t *begin = (uint8_t *)&state->batch->slots[skipped] - sizeof head;
    memcpy(begin, &head, sizeof head);
    return drain_append(drain, begin, sizeof head + count * sizeof(struct spdk_slot), why);
}

static int resume_spdk(struct drain *drain, struct text *why)
{
    struct state *state = drain->state;
    int error = 0;
    for (unsigned i = 0; i < state->lcore_count && !error; i++) {
        struct spdk_history history;
        if (state->lcores[i].begun && read_history(drain, &state->lcores[i], &history))
            error = write_chunk(drain, i, &history, state->lcores[i].next, 0, 0, why);
    }
    return error;
}

static void count_events(struct drain *drain, const struct spdk_slot *slots, uint64_t count,
                         const struct spdk_history *history)
{
    for (uint64_t i = 0; i < count; i++)
        drain->counts.events +=
            slots[i].tsc && slots[i].id != SPDK_CONTINUATION && slots[i].id != history->num_tpoint_ids;
    drain->counts.blocks++;
}

/* Copies slots from `next` up to `end`, and writes those that were safe. Returns 0 or -errno. */
static int drain_batch(struct drain *drain, unsigned index, uint64_t end, struct text *why)
{
    struct state *state = drain->state;
    struct drained_lcore *lcore = &state->lcores[index];
    struct spdk_history history;
    const uint64_t slot = lcore->next % lcore->slot_count;
    uint64_t count = end - lcore->next;
    if (count > lcore->slot_count - slot)
        count = lcore->slot_count - slot;
    if (count > BATCH)
        count = BATCH;
    if (!recording_read_all(drain->source, state->batch->slots, count * sizeof *state->batch->slots,
                            lcore->slots + slot * sizeof *state->batch->slots))
        return drain_fail(why, "read", recording_path(drain->source), -EIO);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!read_history(drain, lcore, &history))
        return drain_fail(why, "read", recording_path(drain->source), -EIO);
    const uint64_t safe = oldest_safe(lcore, history.next_entry);
    uint64_t skipped = safe > lcore->next ? safe - lcore->next : 0;
    if (skipped > count)
        skipped = count;
    /* Slots that are older than the dump are not lost. */
    const bool is_choosing = drain->options.from && !lcore->has_slots;
    while (is_choosing && skipped < count && state->batch->slots[skipped].tsc < drain->options.from)
        skipped++;
    const uint64_t first = lcore->next + skipped;
    drain->counts.lost += is_choosing ? 0 : skipped;
    lcore->next += count;
    if (skipped == count)
        return 0;
    const int error = is_choosing ? write_chunk(drain, index, &history, first, skipped, 0, why) : 0;
    lcore->has_slots = true;
    count_events(drain, &state->batch->slots[skipped], count - skipped, &history);
    return error ? error : write_chunk(drain, index, &history, first, skipped, count - skipped, why);
}

static void find_origin(struct drain *drain)
{
    struct state *state = drain->state;
    uint64_t origin = UINT64_MAX;
    for (unsigned i = 0; i < state->lcore_count; i++) {
        const struct drained_lcore *lcore = &state->lcores[i];
        struct spdk_history history;
        struct spdk_slot slot;
        if (!lcore->offset || !read_history(drain, lcore, &history) || !history.next_entry)
            continue;
        const uint64_t oldest = oldest_safe(lcore, history.next_entry);
        if (recording_read_all(drain->source, &slot, sizeof slot,
                               lcore->slots + oldest % lcore->slot_count * sizeof slot) &&
            slot.tsc && slot.tsc < origin)
            origin = slot.tsc;
    }
    if (origin != UINT64_MAX)
        state->stream.origin = origin;
}

static void skip_to(struct drain *drain, struct drained_lcore *lcore, uint64_t next)
{
    drain->counts.lost += next - lcore->next;
    lcore->next = next;
}

/* Prepares an lcore that was not read before: what has been overwritten by now does not belong to the drained
 * events, which an empty chunk says. A copy of what the rings have at one instant has no such chunk. */
static int begin_lcore(struct drain *drain, unsigned index, const struct spdk_history *history,
                       struct text *why)
{
    struct state *state = drain->state;
    struct drained_lcore *lcore = &state->lcores[index];
    const uint64_t position = history->next_entry, share = drain->share / sizeof(struct spdk_slot);
    const bool is_copy = !drain->append && !drain->number;
    if (lcore->begun)
        return 0;
    lcore->begun = true;
    lcore->next = oldest_safe(lcore, position);
    if (share && position > share && lcore->next < position - share)
        lcore->next = position - share;
    return is_copy || drain->options.from ? 0 : write_chunk(drain, index, history, lcore->next, 0, 0, why);
}

/* Drains one lcore. Returns 1 if more than a quarter of its ring was new. */
static int drain_lcore(struct drain *drain, unsigned index, enum drain_round round, struct text *why)
{
    struct state *state = drain->state;
    struct drained_lcore *lcore = &state->lcores[index];
    struct spdk_history history;
    if (!read_history(drain, lcore, &history))
        return 0;
    const uint64_t end = history.next_entry;
    const int begun = begin_lcore(drain, index, &history, why);
    if (begun || end <= lcore->next)
        return begun;
    const bool is_filled = end - lcore->next > lcore->slot_count / 4;
    if (round == DRAIN_FULL && !is_filled && end - lcore->next < WORTH && ++lcore->waited < WAIT_ROUNDS)
        return 0;
    lcore->waited = 0;
    const uint64_t share = drain->share / sizeof(struct spdk_slot);
    if (share && end - lcore->next > share)
        skip_to(drain, lcore, end - share);
    for (bool is_overtaken = false; lcore->next < end;) {
        if (!read_history(drain, lcore, &history))
            return 0;
        uint64_t safe = oldest_safe(lcore, history.next_entry);
        /* overtaken again: go on with a lead, so that it does not happen over and over */
        if (safe > lcore->next) {
            safe += is_overtaken && round != DRAIN_LAST ? lcore->slot_count / 8 : 0;
            is_overtaken = true;
            skip_to(drain, lcore, safe < end ? safe : end);
            continue;
        }
        const int error = drain_batch(drain, index, end, why);
        if (error)
            return error;
    }
    return is_filled;
}

static int round_spdk(struct drain *drain, enum drain_round round, struct text *why)
{
    struct state *state = drain->state;
    int is_filled = 0;
    if (drain->append)
        find_lcores(drain);
    else if (!state->stream.origin)
        find_origin(drain);
    for (unsigned i = 0; i < state->lcore_count; i++)
        if (state->lcores[i].offset &&
            (round == DRAIN_LAST || (round == DRAIN_NEW && !state->lcores[i].begun)))
            look_for_stillness(drain, &state->lcores[i]);
    for (unsigned i = 0; i < state->lcore_count; i++) {
        if (!state->lcores[i].offset)
            continue;
        const int result = drain_lcore(drain, i, round, why);
        if (result < 0)
            return result;
        is_filled |= result;
        const int error = round == DRAIN_FULL ? drain_rotate(drain, why) : 0;
        if (error)
            return error;
    }
    if (round == DRAIN_LAST && state->is_related)
        relation_ripen(&state->relation);
    return is_filled;
}

/* ---- opening ---- */

/* Takes the first reading of both clocks; more are taken whenever the file is described. */
static void relate(struct drain *drain)
{
    struct state *state = drain->state;
    struct recording *source = drain->source;
    if (drain->append || !source->options.relate)
        return;
    source->unrelated = source->live ? spdk_relation_refusal(source) : "its program has ended";
    if (source->unrelated)
        return;
    state->is_related = true;
    relation_begin(&state->relation, source->timeline.rate);
}

static int open_spdk(struct drain *drain, struct text *why)
{
    const struct spdk_state *source = drain->source->state;
    if (source->is_stream) {
        text_printf(why, "%s was recorded by `spoor record` already", recording_path(drain->source));
        return -EINVAL;
    }
    struct state *state = drain->state = calloc(1, sizeof *state);
    if (!state)
        return -ENOMEM;
    state->lcores = calloc(SPDK_LCORES_MAX, sizeof *state->lcores);
    state->batch = malloc(sizeof *state->batch);
    if (!state->lcores || !state->batch)
        return -ENOMEM;
    drain->counts.are_entries = true;
    relate(drain);
    return drain->append ? 0 : plan(drain, why);
}

static void close_spdk(struct drain *drain)
{
    struct state *state = drain->state;
    if (!state)
        return;
    free(state->lcores);
    free(state->batch);
    free(state);
}

const struct drain_format drain_format_spdk = {
    .open = open_spdk,
    .describe = describe_spdk,
    .resume = resume_spdk,
    .round = round_spdk,
    .close = close_spdk,
};
