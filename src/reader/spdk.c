/* SPDX-License-Identifier: BSD-3-Clause */
/* SPDK's trace files, sectioned format: a file, a drained one, or what a follower copies of a running program.
 *
 * Nothing in the format says what is whole, so this file has to find it out. Of a ring that is being written, only
 * what drain_spdk.c has copied is used. In a copy that cp made while the program ran, the position in the header is
 * older than the slots: the order follows from the times, and where they go back the writer stood when the copy was
 * made; the event before such a place may be half written and is left out. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "reader/merge.h"
#include "reader/spdk_state.h"
#include "reader/liveness.h"
#include "sym/process/mapped_file.h"

enum {
    CHUNK = 2048,   /* slots that are copied at once */
    RUNS_MAX = 256, /* runs of one lcore of a copy */
};

struct place { /* where the slots of a chunk are in a drained file */
    uint64_t first, count, offset;
};

struct run { /* slots [next, end) of an lcore, counted from the first ever written */
    struct recording_source source;
    uint64_t history;    /* offset of its header in the file */
    uint64_t slots;      /* offset of slot 0 */
    uint64_t slot_count; /* num_entries */
    uint32_t lcore;
    uint16_t continuation; /* a second id that marks continuations, or the same */
    char thread[RECORDING_NAME];
    uint64_t next, end;
    bool is_torn;         /* its last event may be half written */
    struct place *places; /* of a drained file, in ascending order; else NULL */
    size_t place_count, place_room, place_at;
    struct pieces pieces; /* of a program that is followed: chunks, in ascending order */
    bool is_followed;
    bool is_placed; /* followed: `next` is known */

    struct spdk_slot *chunk; /* slots [chunk_begin, chunk_end), in a piece if the recording is followed */
    uint64_t chunk_begin, chunk_end;
    uint64_t begin; /* first slot of the event that is ready */
    struct spdk_slot first;
    uint32_t byte_count;
    uint8_t padding[8]; /* so that no offset is 0 */
    uint8_t bytes[(SPDK_EVENT_SLOTS + 1) * 24];
    uint64_t words[SPDK_ARGUMENTS];
};

static bool spdk_recognises(const uint8_t *head, size_t length, uint64_t file_bytes)
{
    struct spdk_header header;
    if (length < sizeof header)
        return false;
    memcpy(&header, head, sizeof header);
    if (header.section_count != SPDK_SECTIONS || header.file_size < sizeof header ||
        !header.offsets[SPDK_SECTION_MAIN])
        return false;
    for (int i = 0; i < SPDK_SECTIONS; i++)
        if (header.offsets[i] >= file_bytes)
            return false;
    return true;
}

/* ---- lcores ---- */

static struct run *make_run(struct recording *recording, const struct run *like)
{
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    if (like)
        *run = *like;
    run->is_followed = recording->follower;
    run->chunk = run->is_followed ? NULL : malloc(CHUNK * sizeof *run->chunk);
    if ((!run->is_followed && !run->chunk) || recording_add_source(recording, &run->source)) {
        free(run->chunk);
        free(run);
        return NULL;
    }
    return run;
}

/* Returns the index of the place that has a slot, or else of the next one behind it; `place_count` if there is
 * none. */
static size_t find_place(const struct run *run, uint64_t slot)
{
    const bool is_near = run->place_at < run->place_count && slot >= run->places[run->place_at].first;
    const size_t from = is_near ? run->place_at : 0;
    const struct place *places = run->places + from;
    return from + partition_point(run->place_count - from, i, places[i].first + places[i].count <= slot);
}

/* Returns the offset of a slot in the file, and in *left how many slots follow it there, itself included; 0: it is
 * not there. */
static uint64_t slot_offset(struct run *run, uint64_t slot, uint64_t *left)
{
    if (!run->places) {
        const uint64_t index = slot % run->slot_count;
        *left = run->slot_count - index;
        return run->slots + index * sizeof(struct spdk_slot);
    }
    *left = 0;
    run->place_at = find_place(run, slot);
    if (run->place_at == run->place_count || slot < run->places[run->place_at].first)
        return 0;
    const struct place *place = &run->places[run->place_at];
    *left = place->count - (slot - place->first);
    return place->offset + (slot - place->first) * sizeof(struct spdk_slot);
}

static const struct spdk_chunk *chunk_of(const struct piece *piece)
{
    return (const struct spdk_chunk *)piece->content;
}

/* Of a recording that is followed: gives back the pieces before a slot. Returns the first that is left, or NULL. */
static struct piece *drop_before(struct recording *recording, struct run *run, uint64_t slot)
{
    struct piece *piece;
    while ((piece = run->pieces.first) && chunk_of(piece)->first + chunk_of(piece)->count <= slot) {
        run->pieces.first = piece->next;
        follower_drop(recording->follower, piece);
    }
    return piece;
}

/* Loads slots from `slot` on. False: there are none. */
static bool load_chunk(struct recording *recording, struct run *run, uint64_t slot)
{
    uint64_t count;
    if (run->is_followed) {
        struct piece *piece = drop_before(recording, run, slot);
        run->chunk_begin = run->chunk_end = 0;
        if (!piece || chunk_of(piece)->first > slot)
            return false;
        run->chunk = (struct spdk_slot *)(piece->content + sizeof(struct spdk_chunk));
        run->chunk_begin = chunk_of(piece)->first;
        run->chunk_end = run->chunk_begin + chunk_of(piece)->count;
        return true;
    }
    const uint64_t offset = slot_offset(run, slot, &count);
    if (count > CHUNK)
        count = CHUNK;
    if (count > run->end - slot)
        count = run->end - slot;
    const size_t got = recording_read(recording, run->chunk, count * sizeof *run->chunk, offset);
    run->chunk_begin = slot;
    run->chunk_end = slot + got / sizeof *run->chunk;
    recording->counts.done += got;
    return run->chunk_end > slot;
}

/* Whether the slots are numbered, so that gaps are known. */
static bool has_gaps(const struct run *run)
{
    return run->places || run->is_followed;
}

/* Moves to the next slot that is there. Slots between were overwritten. */
static void skip_gap(struct recording *recording, struct run *run)
{
    uint64_t to = run->end;
    if (run->is_followed) {
        const struct piece *piece = drop_before(recording, run, run->next);
        to = piece ? chunk_of(piece)->first : to;
        run->chunk_begin = run->chunk_end = 0;
    } else {
        const size_t at = find_place(run, run->next);
        to = at == run->place_count ? to : run->places[at].first;
    }
    if (to <= run->next)
        return;
    run->source.lost += to - run->next;
    recording->counts.overwritten += to - run->next;
    run->next = to;
}

static const struct spdk_slot *slot_at(struct recording *recording, struct run *run, uint64_t slot)
{
    if (slot < run->chunk_begin || slot >= run->chunk_end)
        if (slot >= run->end || !load_chunk(recording, run, slot))
            return NULL;
    return &run->chunk[slot - run->chunk_begin];
}

/* Returns the next slot that may have been written, behind one that was not. Holes are passed over at once, because
 * files with holes can be of any size. */
static uint64_t skip_unwritten(const struct recording *recording, struct run *run, uint64_t slot)
{
    if (slot != run->chunk_begin)
        return slot + 1;
    uint64_t left;
    const uint64_t offset = slot_offset(run, slot, &left), data = recording_skip_hole(recording, offset);
    const uint64_t skipped = data > offset ? (data - offset) / sizeof(struct spdk_slot) : 0;
    return slot + (skipped > left ? left : skipped ? skipped : 1);
}

static bool is_continuation(const struct spdk_state *state, const struct run *run,
                            const struct spdk_slot *slot)
{
    return slot->id == SPDK_CONTINUATION || (slot->id == run->continuation && !state->tracepoints[slot->id]);
}

/* Puts the whole event that begins at `slot` into `bytes`. Returns how many slots it takes; 0: it is not whole. */
static unsigned assemble(struct recording *recording, struct run *run, uint64_t slot)
{
    const struct spdk_state *state = recording->state;
    const unsigned size = state->sizes[run->first.id];
    unsigned slots = 1;
    memcpy(run->bytes, run->first.arguments, sizeof run->first.arguments);
    run->byte_count = sizeof run->first.arguments;
    while (run->byte_count < size) {
        const struct spdk_slot *more = slot_at(recording, run, slot + slots);
        if (!more || more->tsc != run->first.tsc || !is_continuation(state, run, more))
            return 0;
        memcpy(run->bytes + run->byte_count, (const uint8_t *)more + offsetof(struct spdk_slot, owner),
               SPDK_CONTINUATION_BYTES);
        run->byte_count += SPDK_CONTINUATION_BYTES;
        slots++;
    }
    return slots;
}

/* Passes over a slot whose event is not whole. Where slots are numbered, it counts as lost. */
static void leave_slot(struct recording *recording, struct run *run)
{
    run->next++;
    if (!has_gaps(run))
        return;
    run->source.lost++;
    recording->counts.overwritten++;
}

/* Reads an event of the tracepoint SPDK_MARK, which says what is missing. */
static void take_mark(struct recording *recording, struct run *run, uint64_t slot)
{
    uint64_t missing[SPDK_MARK_ARGUMENTS];
    const unsigned slots = assemble(recording, run, slot);
    if (!slots) {
        recording->counts.damaged += !has_gaps(run);
        leave_slot(recording, run);
        return;
    }
    memcpy(missing, run->bytes, sizeof missing);
    run->source.lost += missing[0];
    recording->counts.overwritten += missing[0];
    recording->counts.lost += missing[1];
    recording->counts.damaged += missing[2];
    run->next = slot + slots;
}

static void spdk_advance(struct recording *recording, struct recording_source *source)
{
    struct run *run = (struct run *)source;
    const struct spdk_state *state = recording->state;
    if (source->ready)
        run->source.lost = 0;
    source->ready = false;
    while (run->next < run->end) {
        if (has_gaps(run) && (run->next >= run->chunk_end || run->next < run->chunk_begin))
            skip_gap(recording, run);
        const uint64_t slot = run->next;
        const struct spdk_slot *first = slot_at(recording, run, slot);
        if (!first) {
            run->end = run->next;
            return;
        }
        run->first = *first;
        if (!first->tsc) {
            run->next = skip_unwritten(recording, run, slot);
            continue;
        }
        if (is_continuation(state, run, first)) {
            leave_slot(recording, run); /* the beginning of its event was overwritten */
            continue;
        }
        if (first->tsc < recording->ignore) {
            run->next++;
            continue;
        }
        if (first->id == state->mark) {
            take_mark(recording, run, slot);
            continue;
        }
        if (!state->tracepoints[first->id]) {
            recording->counts.unknown++;
            run->next++;
            continue;
        }
        const unsigned slots = assemble(recording, run, slot);
        if (!slots) {
            recording->counts.damaged += !has_gaps(run);
            leave_slot(recording, run);
            continue;
        }
        if (run->is_torn && slot + slots >= run->end) {
            run->next = run->end;
            return;
        }
        run->next = slot + slots;
        source->stamp = run->first.tsc;
        source->ready = true;
        return;
    }
}

static void spdk_take(struct recording *recording, struct recording_source *source,
                      struct recording_event *event)
{
    struct run *run = (struct run *)source;
    const struct spdk_state *state = recording->state;
    const struct recording_tracepoint *tracepoint = state->tracepoints[run->first.id];
    unsigned at = 0;
    for (unsigned i = 0; i < tracepoint->argument_count; i++) {
        const struct recording_argument *argument = &tracepoint->arguments[i];
        const uint8_t *bytes = run->bytes + at;
        uint64_t word = 0;
        if (argument->kind == RECORDING_STRING) {
            const uint64_t length = strnlen((const char *)bytes, argument->size);
            word = length << 32 | (uint64_t)(at + sizeof run->padding) << 16 | length;
        } else {
            memcpy(&word, bytes, argument->size);
            const unsigned unused = 64 - 8 * argument->size;
            if (argument->kind == RECORDING_SIGNED)
                word = (uint64_t)((int64_t)(word << unused) >> unused);
        }
        run->words[i] = word;
        at += argument->size;
    }
    *event = (struct recording_event){
        .tracepoint = tracepoint,
        .object = run->first.object,
        .owner = run->first.owner,
        .size = run->first.size,
        .thread = run->lcore,
        .thread_name = run->thread,
        .words = run->words,
        .bytes = (const uint8_t *)run + offsetof(struct run, padding),
    };
}

static void spdk_thread(const struct recording_source *source, struct recording_thread *thread)
{
    const struct run *run = (const struct run *)source;
    thread->id = run->lcore;
    memcpy(thread->name, run->thread, sizeof run->thread);
}

/* Divides the slots of a file that is not written any more, in the order of the ring from the header's position on,
 * into runs in which times do not go back. */
static int split_runs(struct recording *recording, struct run *run, uint64_t next, uint64_t *covered)
{
    uint64_t oldest = UINT64_MAX;
    const uint64_t count = run->slot_count;
    const uint64_t base = next % count; /* slots are counted from here on, modulo their number */
    uint64_t before = 0;
    struct run *current = NULL;
    struct run scan = *run;
    unsigned runs = 0;
    scan.next = base;
    scan.end = base + count;
    if (!(scan.chunk = malloc(CHUNK * sizeof *scan.chunk)))
        return -ENOMEM;
    for (uint64_t at = base, after; at < base + count; at = after) {
        const struct spdk_slot *slot = slot_at(recording, &scan, at);
        if (!slot)
            break;
        after = slot->tsc ? at + 1 : skip_unwritten(recording, &scan, at);
        if (current && (slot->tsc < before || !slot->tsc)) {
            current->end = at;
            current->is_torn = at % count != base;
            current = NULL;
        }
        before = slot->tsc;
        if (slot->tsc && slot->tsc < oldest)
            oldest = slot->tsc;
        if (!slot->tsc || current)
            continue;
        if (runs++ == RUNS_MAX) {
            recording->counts.damaged++;
            break;
        }
        if (!(current = make_run(recording, run))) {
            free(scan.chunk);
            return -ENOMEM;
        }
        current->next = at;
        current->end = base + count;
        current->is_torn = false;
        current->source.lost = runs == 1 ? run->source.lost : 0;
    }
    recording->counts.total += count * sizeof(struct spdk_slot);
    recording->counts.done = 0;
    if (covered && oldest != UINT64_MAX && oldest > *covered)
        *covered = oldest;
    free(scan.chunk);
    return 0;
}

static void copy_thread_name(struct run *run, const char name[16])
{
    memcpy(run->thread, name, sizeof run->thread);
    recording_clean_thread(run->thread);
}

static int read_lcore(struct recording *recording, uint64_t offset, uint64_t *covered)
{
    struct spdk_state *state = recording->state;
    struct spdk_history history;
    if (!recording_read_all(recording, &history, sizeof history, offset) || !history.num_entries ||
        history.num_tpoint_ids > 65536 || offset > recording->file_bytes ||
        history.num_entries > (recording->file_bytes - offset) / sizeof(struct spdk_slot) ||
        (state->slot_count += history.num_entries) > recording->file_bytes / sizeof(struct spdk_slot)) {
        recording->counts.damaged++;
        return 0;
    }
    if (recording->options.only_cpu >= 0 && history.lcore != recording->options.only_cpu)
        return 0;
    struct run run = {
        .history = offset,
        .slots = offset + sizeof history + history.num_tpoint_ids * 8,
        .slot_count = history.num_entries,
        .lcore = (uint32_t)history.lcore,
        .continuation = history.num_tpoint_ids && history.num_tpoint_ids <= UINT16_MAX
                            ? (uint16_t)history.num_tpoint_ids
                            : SPDK_CONTINUATION,
    };
    copy_thread_name(&run, history.thread_name);
    if (history.next_entry > history.num_entries) {
        /* These are entries; how many events they were is not stored. */
        run.source.lost = history.next_entry - history.num_entries;
        recording->counts.overwritten += run.source.lost;
    }
    return split_runs(recording, &run, history.next_entry,
                      history.next_entry > history.num_entries ? covered : NULL);
}

/* ---- chunks: a drained file, or what a follower brings ---- */

static struct run *stream_run(struct recording *recording, const struct spdk_chunk *chunk)
{
    struct run **runs = ((struct spdk_state *)recording->state)->runs, *run = runs[chunk->index];
    if (!run) {
        const struct run like = {.lcore = (uint32_t)chunk->lcore,
                                 .continuation = chunk->num_tpoint_ids && chunk->num_tpoint_ids <= UINT16_MAX
                                                     ? (uint16_t)chunk->num_tpoint_ids
                                                     : SPDK_CONTINUATION};
        if (!(run = make_run(recording, &like)))
            return NULL;
        runs[chunk->index] = run;
    }
    copy_thread_name(run, chunk->thread_name); /* the newest name, because the thread may have got it later */
    return run;
}

static int add_place(struct run *run, const struct spdk_chunk *chunk, uint64_t offset)
{
    if (!vector_make_room(run->places, run->place_count, run->place_room))
        return -ENOMEM;
    run->places[run->place_count++] = (struct place){chunk->first, chunk->count, offset};
    run->end = chunk->first + chunk->count;
    return 0;
}

/* Finds the chunks. Of one that is cut at the end of the file, the slots that are there count. */
static int read_stream(struct recording *recording)
{
    const struct spdk_state *state = recording->state;
    int error = 0;
    uint64_t at = state->header.file_size;
    while (!error && at < recording->file_bytes && recording->file_bytes - at >= sizeof(struct spdk_chunk)) {
        struct spdk_chunk chunk;
        const uint64_t room = (recording->file_bytes - at - sizeof chunk) / sizeof(struct spdk_slot);
        if (!recording_read_all(recording, &chunk, sizeof chunk, at) ||
            chunk.check != spdk_chunk_check(&chunk) || chunk.index >= SPDK_LCORES_MAX || chunk.first >> 62 ||
            chunk.count >> 58) {
            recording->counts.damaged++;
            break;
        }
        const uint64_t next = at + sizeof chunk + chunk.count * sizeof(struct spdk_slot);
        if (chunk.count > room)
            chunk.count = room;
        if (recording->options.only_cpu < 0 || chunk.lcore == recording->options.only_cpu) {
            struct run *run = stream_run(recording, &chunk);
            if (!run)
                error = -ENOMEM;
            else if (chunk.first < run->end)
                recording->counts.damaged++;
            else
                error = add_place(run, &chunk, at + sizeof chunk);
            if (run && run->place_count == 1 && !chunk.count)
                run->next = chunk.first;
        }
        recording->counts.total += chunk.count * sizeof(struct spdk_slot);
        at = next;
    }
    return error;
}

static int spdk_add_piece(struct recording *recording, struct piece *piece)
{
    const struct spdk_chunk *chunk = chunk_of(piece);
    const bool is_wanted = recording->options.only_cpu < 0 || chunk->lcore == recording->options.only_cpu;
    struct run *run = is_wanted ? stream_run(recording, chunk) : NULL;
    if (!run) {
        follower_drop(recording->follower, piece);
        return is_wanted ? -ENOMEM : 0;
    }
    if (!run->is_placed)
        run->next = chunk->first;
    run->is_placed = true;
    run->end = chunk->first + chunk->count;
    pieces_add(&run->pieces, piece);
    return 0;
}

/* ---- opening ---- */

/* Reads the writer's pid from the file's name: NAME_trace.pidPID has it, NAME_trace.ID does not. */
static pid_t spdk_names(const uint8_t *head, size_t length, const char *path)
{
    const char *name = strrchr(path, '/');
    const char *suffix = strstr(name ? name : path, "_trace.");
    (void)head, (void)length;
    if (!suffix)
        return -1;
    suffix += strlen("_trace.");
    if (strncmp(suffix, "pid", 3))
        return 0;
    uint64_t pid;
    suffix += strlen("pid");
    return number_take(&suffix, NULL, 10, &pid) && pid > 0 && pid <= INT32_MAX ? (pid_t)pid : -1;
}

pid_t spdk_writer(const struct recording *recording)
{
    return spdk_names(NULL, 0, recording->path);
}

static bool spdk_is_live(struct recording *recording)
{
    const struct spdk_state *state = recording->state;
    const struct liveness_question question = {.named = spdk_writer(recording), .is_spdk = true};
    if (state->is_stream || question.named < 0)
        return false;
    const struct liveness liveness = liveness_of(recording, &question);
    if (!liveness.is_in_memory)
        return false;
    /* a process that must not be examined is believed */
    return !question.named || liveness.mapped > MAPPED_NOT ||
           (liveness.mapped < 0 && liveness.mapped != -ESRCH);
}

/* Reads the slots: those of the histories, or of the chunks. */
static int read_slots(struct recording *recording, uint64_t *covered)
{
    const struct spdk_state *state = recording->state;
    if (state->is_stream)
        return read_stream(recording);
    uint64_t at = 0;
    int error = 0;
    const unsigned lcores = spdk_section_count(recording, SPDK_SECTION_LCORES, &at);
    for (unsigned i = 0; i < lcores && i < SPDK_LCORES_MAX && !error; i++) {
        uint64_t offset;
        if (!recording_read_all(recording, &offset, sizeof offset, at + i * sizeof offset))
            break;
        if (offset)
            error = read_lcore(recording, offset, covered);
    }
    return error;
}

/* Finds the stamp from which times count: that of the first event, unless times are related to the boot clock. */
static int find_origin(struct recording *recording)
{
    struct spdk_state *state = recording->state;
    uint64_t first = UINT64_MAX;
    if (state->stream.number && state->stream.origin)
        first = state->stream.origin;
    for (size_t i = 0; i < recording->source_count; i++)
        if (recording->sources[i]->ready && recording->sources[i]->stamp < first)
            first = recording->sources[i]->stamp;
    if (first == UINT64_MAX && recording->live)
        return 0;
    state->has_origin = true;
    recording->start_stamp = first == UINT64_MAX ? 0 : first;
    const int error =
        recording->unrelated ? timeline_add(&recording->timeline, recording->start_stamp, 0, 0) : 0;
    timeline_finish(&recording->timeline);
    recording->start = timeline_time(&recording->timeline, recording->start_stamp);
    return error;
}

/* Finds the first event that is shown: the first one in the time that all lcores cover, which begins with the stamp
 * `covered`. */
static int find_window(struct recording *recording, uint64_t covered)
{
    /* what is read here is read again later, and must not be counted twice */
    const struct recording_counts counts = recording->counts;
    struct spdk_slot *chunk = malloc(CHUNK * sizeof *chunk);
    uint64_t first = UINT64_MAX;
    if (!chunk)
        return -ENOMEM;
    for (size_t i = 0; i < recording->source_count; i++) {
        struct run run = *(struct run *)recording->sources[i];
        run.chunk = chunk;
        run.chunk_begin = run.chunk_end = 0;
        while (run.source.ready && run.source.stamp < covered)
            spdk_advance(recording, &run.source);
        if (run.source.ready && run.source.stamp < first)
            first = run.source.stamp;
    }
    free(chunk);
    recording->counts = counts;
    recording->window = covered;
    if (first == UINT64_MAX)
        return 0;
    recording->start_stamp = first;
    recording->start = timeline_time(&recording->timeline, first);
    return 0;
}

/* Whether an lcore, in a copy of a living program's rings, had events before its first one here. */
static bool was_copied_now(const struct recording *recording, const struct recording_source *source)
{
    const struct spdk_state *state = recording->state;
    const struct run *run = (const struct run *)source;
    return state->is_stream && !state->stream.number && run->places && run->places[0].first;
}

/* Returns the newest stamp of a drained file, whose slots are in order. */
static uint64_t newest_stamp(const struct recording *recording)
{
    uint64_t newest = 0;
    for (size_t i = 0; i < recording->source_count; i++) {
        const struct run *run = (const struct run *)recording->sources[i];
        const struct place *last = run->place_count ? &run->places[run->place_count - 1] : NULL;
        uint64_t stamp = 0;
        if (last && last->count &&
            recording_read_all(recording, &stamp, sizeof stamp,
                               last->offset + (last->count - 1) * sizeof(struct spdk_slot)) &&
            stamp > newest)
            newest = stamp;
    }
    return newest;
}

static int spdk_read(struct recording *recording)
{
    uint64_t covered = 0;
    int error = read_slots(recording, &covered);
    if (error)
        return error;
    for (size_t i = 0; i < recording->source_count; i++) {
        spdk_advance(recording, recording->sources[i]);
        if (recording->sources[i]->ready && was_copied_now(recording, recording->sources[i]) &&
            recording->sources[i]->stamp > covered)
            covered = recording->sources[i]->stamp;
    }
    covered = recording->options.whole ? 0 : covered;
    error = spdk_relation_settle(recording, newest_stamp(recording), &covered);
    if (!error)
        error = find_origin(recording);
    if (!error && covered)
        error = find_window(recording, covered);
    return error;
}

static int spdk_open(struct recording *recording, struct text *why)
{
    struct spdk_state *state = calloc(1, sizeof *state);
    struct spdk_main main_section;
    if (!state)
        return -ENOMEM;
    recording->state = state;
    if (!(state->runs = calloc(SPDK_LCORES_MAX, sizeof *state->runs)))
        return -ENOMEM;
    recording->model.name = recording->model.command = recording->model.host = "";
    if (!recording_read_all(recording, &state->header, sizeof state->header, 0) ||
        !recording_read_all(recording, &main_section, sizeof main_section,
                            state->header.offsets[SPDK_SECTION_MAIN]) ||
        !main_section.tsc_rate) {
        text_printf(why, "%s is damaged: its counter has no rate", recording->path);
        return -EINVAL;
    }
    state->is_stream = !memcmp(state->header.reserved, SPDK_STREAM_MARK, sizeof state->header.reserved);
    if (state->is_stream &&
        !recording_read_all(recording, &state->stream, sizeof state->stream, sizeof state->header))
        state->stream = (struct spdk_stream){0};
    recording->live = spdk_is_live(recording);
    recording->ignore = main_section.clear_tsc;
    int error = spdk_model_read(recording);
    if (!error)
        error = spdk_owners_read(recording);
    timeline_init(&recording->timeline, main_section.tsc_rate);
    return error ? error : spdk_relation_open(recording);
}

static int spdk_refresh(struct recording *recording)
{
    const struct spdk_state *state = recording->state;
    for (size_t i = 0; i < recording->source_count; i++)
        if (!recording->sources[i]->ready)
            spdk_advance(recording, recording->sources[i]);
    int error = recording->unrelated ? 0 : spdk_relation_go_on(recording);
    if (!error && !state->has_origin)
        error = find_origin(recording);
    return error ? error : spdk_owners_read(recording);
}

static unsigned spdk_rings(const struct recording *recording)
{
    uint64_t at = 0, offset;
    unsigned count = 0;
    const unsigned lcores = spdk_section_count(recording, SPDK_SECTION_LCORES, &at);
    for (unsigned i = 0; i < lcores && i < SPDK_LCORES_MAX; i++)
        count += recording_read_all(recording, &offset, sizeof offset, at + i * sizeof offset) && offset;
    return count;
}

static void spdk_close(struct recording *recording)
{
    for (size_t i = 0; i < recording->source_count; i++) {
        struct run *run = (struct run *)recording->sources[i];
        if (run->is_followed)
            drop_before(recording, run, UINT64_MAX);
        else
            free(run->chunk);
        free(run->places);
        free(run);
    }
    free(((struct spdk_state *)recording->state)->runs);
    free(recording->state);
}

/* The next event is put together where this one is. */
static bool spdk_step(struct recording *recording, struct recording_source *source)
{
    (void)recording, (void)source;
    return false;
}

static int spdk_events(struct recording *recording, struct recording_event *events, int most)
{
    return merge_events(recording, events, most, spdk_take, spdk_step, spdk_advance);
}

static void spdk_leave(struct recording *recording)
{
    merge_leave(recording, spdk_advance);
}

const struct recording_format recording_format_spdk = {
    .name = "SPDK",
    .recognises = spdk_recognises,
    .names = spdk_names,
    .open = spdk_open,
    .read = spdk_read,
    .rings = spdk_rings,
    .events = spdk_events,
    .leave = spdk_leave,
    .add_piece = spdk_add_piece,
    .refresh = spdk_refresh,
    .thread = spdk_thread,
    .is_live = spdk_is_live,
    .close = spdk_close,
};
