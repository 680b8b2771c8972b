/* SPDX-License-Identifier: BSD-3-Clause */
/* spoor's own recordings: libspoor's file that is not written any more, a copy or a dump of it, what `spoor record`
 * drained, and what a follower copies of a running program. A block is copied, then checked, and then its records
 * are handed out of the copy. */
#include "reader/spoor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/vector.h"
#include "reader/merge.h"
#include "reader/liveness.h"
#include "sym/process/mapped_file.h"

static bool spoor_recognises(const uint8_t *head, size_t length, uint64_t file_bytes)
{
    (void)file_bytes;
    return length >= sizeof((struct layout_header *)0)->magic && !memcmp(head, LAYOUT_MAGIC, 8);
}

/* ---- is the writer alive? ---- */

static pid_t spoor_names(const uint8_t *head, size_t length, const char *path)
{
    struct layout_header header = {0};
    (void)path;
    memcpy(&header, head, length < sizeof header ? length : sizeof header);
    return header.pid <= INT32_MAX ? (pid_t)header.pid : 0;
}

static bool spoor_is_live(struct recording *recording)
{
    const struct spoor_state *state = recording->state;
    const struct layout_header *header = &state->header;
    if (header->kind != LAYOUT_KIND_RINGS)
        return false;
    uint64_t closed;
    if (recording_read_all(recording, &closed, sizeof closed,
                           header->control_offset + offsetof(struct layout_control, closed)) &&
        closed)
        return false;
    /* The program may have closed the descriptor that holds the lock: the file may still be mapped. */
    const struct liveness_question question = {
        .named = spoor_names((const uint8_t *)header, sizeof *header, NULL)};
    const struct liveness liveness = liveness_of(recording, &question);
    return liveness.is_locked || (question.named && liveness.mapped > MAPPED_NOT && liveness.has_begun &&
                                  liveness.begun == header->start_ticks);
}

/* ---- opening ---- */

/* Whether an area is inside of the file, at an offset that is a multiple of 8. */
static bool fits(const struct recording *recording, uint64_t offset, uint64_t bytes)
{
    return offset % 8 == 0 && offset <= recording->file_bytes && bytes <= recording->file_bytes - offset;
}

static const char *check_rings(const struct recording *recording, const struct layout_header *header)
{
    const bool has_states = header->version == SPOOR_VERSION_STATES;
    if (header->ring_limit > (has_states ? LAYOUT_V2_MAX_RINGS : LAYOUT_MAX_RINGS))
        return "it has too many rings";
    if (!spoor_ring_bytes_valid(header->ring_bytes))
        return "its rings have an impossible size";
    if (has_states && header->control_bytes < LAYOUT_V2_STATES + LAYOUT_V2_MAX_RINGS)
        return "its control page is not there";
    if (has_states &&
        (header->v2_ring_stride % 8 || header->v2_ring_stride < header->ring_bytes + 2 * LAYOUT_PAGE ||
         header->v2_ring_stride > UINT64_MAX / 8192))
        return "its rings have an impossible size";
    if (!has_states && (header->place_bytes != sizeof(struct layout_place) ||
                        !fits(recording, header->directory_offset, header->ring_limit * header->place_bytes)))
        return "its directory of rings is not there";
    return NULL;
}

static const char *check_header(const struct recording *recording, const struct layout_header *header)
{
    const uint64_t file_bytes = recording->file_bytes;
    if (!header->counter_hz)
        return "its counter has no rate";
    if (header->kind != LAYOUT_KIND_RINGS && header->kind != LAYOUT_KIND_STREAM)
        return "it is of an unknown kind";
    if (header->block_bytes != LAYOUT_BLOCK_BYTES)
        return "its blocks have a size that is not 4096";
    if (header->control_bytes < sizeof(struct layout_control) ||
        !fits(recording, header->control_offset, header->control_bytes))
        return "its control page is not there";
    if (header->owner_count &&
        (header->owner_count > SPOOR_OWNERS_MAX || header->owner_bytes < sizeof(struct layout_owner) ||
         header->owner_bytes > SPOOR_ITEM_MAX ||
         !fits(recording, header->owners_offset, header->owner_count * header->owner_bytes)))
        return "its table of owners is not there";
    if (!fits(recording, header->sections_offset, header->sections_bytes))
        return "its declarations are not there";
    if (header->rings_offset % 8 || header->rings_offset > file_bytes)
        return "its rings are not there";
    return header->kind == LAYOUT_KIND_RINGS ? check_rings(recording, header) : NULL;
}

static int add_clock(struct recording *recording, const struct layout_clock *clock)
{
    if (clock->check != layout_clock_check(clock) || !clock->boottime)
        return 0;
    return timeline_add(&recording->timeline, clock->counter, clock->boottime, clock->error);
}

static_assert((int)RECORDING_LOST_LIMIT == (int)LAYOUT_LOST_LIMIT &&
                  (int)RECORDING_LOST_SPACE == (int)LAYOUT_LOST_SPACE &&
                  (int)RECORDING_LOST_MAKING == (int)LAYOUT_LOST_MAKING &&
                  (int)RECORDING_LOST_NESTED == (int)LAYOUT_LOST_NESTED &&
                  (int)RECORDING_LOST_COUNT == (int)LAYOUT_LOST_COUNT,
              "reader.h and layout.h differ");

/* Reads the control page again, with everything that depends on it. */
static int read_control(struct recording *recording)
{
    struct spoor_state *state = recording->state;
    struct layout_control *control = &state->control;
    int error = 0;
    if (!recording_read_all(recording, control, sizeof *control, state->header.control_offset))
        return -EIO;
    recording->ignore = control->cleared > control->from ? control->cleared : control->from;
    recording->counts.lost = 0;
    for (int i = 0; i < LAYOUT_LOST_COUNT; i++) {
        recording->counts.lost += control->lost[i];
        recording->counts.lost_by[i] = control->lost[i];
    }
    recording->counts.owners_lost = control->owners_lost;
    for (int i = 0; i < LAYOUT_CLOCK_SLOTS && !error; i++)
        error = add_clock(recording, &control->clocks[i]);
    return error ? error : recording_look_at_clock(recording);
}

/* Finds out whether this is the file that the program wrote, and no copy of it. */
static int find_out_original(const struct recording *recording, bool *is_original)
{
    const struct spoor_state *state = recording->state;
    struct stat status;
    if (fstat(recording->file, &status))
        return -errno;
    *is_original = status.st_dev == state->header.device && status.st_ino == state->header.inode;
    return 0;
}

static bool read_header(const struct recording *recording, struct layout_header *header, struct text *why)
{
    if (!recording_read_all(recording, header, sizeof *header, 0)) {
        text_printf(why, "%s is damaged: it ends within its header", recording->path);
        return false;
    }
    if (header->byte_order != LAYOUT_BYTE_ORDER) {
        text_printf(why, "%s was recorded on a machine of the other byte order: read it there",
                    recording->path);
        return false;
    }
    const bool has_states = header->version == SPOOR_VERSION_STATES;
    if ((header->version != LAYOUT_VERSION && !has_states) || header->required) {
        text_printf(why,
                    "%s was recorded by a newer libspoor (version %" PRIu32 ", features %#" PRIx64
                    "): use a newer spoor",
                    recording->path, header->version, header->required);
        return false;
    }
    if (has_states)
        header->directory_offset = header->place_bytes = 0;
    const char *problem = header->header_bytes < (has_states ? LAYOUT_V2_HEADER_BYTES : sizeof *header)
                              ? "its header is too short"
                              : check_header(recording, header);
    if (problem) {
        text_printf(why, "%s is damaged: %s", recording->path, problem);
        return false;
    }
    return true;
}

static int read_directory(struct recording *recording, struct text *why)
{
    struct spoor_state *state = recording->state;
    if (state->header.kind != LAYOUT_KIND_RINGS)
        return 0;
    const int error = spoor_directory_read(recording, &state->header, &state->directory);
    if (error == -EINVAL)
        text_printf(why, "%s is damaged: its rings overlap", recording->path);
    return error;
}

static int spoor_open(struct recording *recording, struct text *why)
{
    struct spoor_state *state = calloc(1, sizeof *state);
    if (!state)
        return -ENOMEM;
    recording->state = state;
    state->tracepoints = calloc(65536, sizeof *state->tracepoints);
    state->record_bytes = calloc(65536, sizeof *state->record_bytes);
    state->copies = 1;
    if (!state->tracepoints || !state->record_bytes)
        return -ENOMEM;
    const struct layout_header *header = &state->header;
    if (!read_header(recording, &state->header, why))
        return -EINVAL;
    recording->model.name = recording->model.command = recording->model.host = "";
    recording->model.pid = header->pid;
    recording->live = spoor_is_live(recording);
    timeline_init(&recording->timeline, header->counter_hz);
    int error = find_out_original(recording, &state->original);
    if (error)
        text_printf(why, "cannot read %s: %s", recording->path, strerror(-error));
    else if (header->optional & LAYOUT_OPTIONAL_OWN_CLOCK)
        error = timeline_add(&recording->timeline, header->opened.counter, 0, 0);
    else
        error = add_clock(recording, &header->opened);
    if (header->optional & LAYOUT_OPTIONAL_OWN_CLOCK)
        recording->unrelated = "it was converted from a recording with a clock of its own";
    if (!error)
        error = read_control(recording);
    if (!error)
        error = read_directory(recording, why);
    if (!error)
        error = spoor_model_read(recording, why);
    if (!error)
        error = spoor_owners_read(recording);
    if (error)
        return error;
    timeline_finish(&recording->timeline);
    recording->start_stamp = header->opened.counter;
    recording->start = timeline_time(&recording->timeline, header->opened.counter);
    if (header->realtime > header->opened.boottime)
        recording->realtime = header->realtime - header->opened.boottime;
    return 0;
}

static void drop_pieces(struct recording *recording, struct spoor_ring *ring);

static void spoor_close(struct recording *recording)
{
    struct spoor_state *state = recording->state;
    for (size_t i = 0; i < state->ring_end; i++)
        if (state->rings[i]) {
            drop_pieces(recording, state->rings[i]);
            free(state->rings[i]->places);
            free(state->rings[i]->copies);
            free(state->rings[i]);
        }
    spoor_directory_free(&state->directory);
    free(state->rings);
    free(state->tracepoints);
    free(state->record_bytes);
    free(state);
}

/* ---- finding the blocks ---- */

static struct spoor_ring *make_ring(struct recording *recording, uint32_t index)
{
    struct spoor_state *state = recording->state;
    while (state->ring_end <= index) {
        if (!vector_make_room(state->rings, state->ring_end, state->ring_room))
            return NULL;
        state->rings[state->ring_end++] = NULL;
    }
    struct spoor_ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        return NULL;
    ring->index = index;
    if (recording_add_source(recording, &ring->source)) {
        free(ring);
        return NULL;
    }
    state->rings[index] = ring;
    return ring;
}

static struct spoor_ring *ring_of(struct recording *recording, uint32_t index)
{
    const struct spoor_state *state = recording->state;
    struct spoor_ring *ring = index < state->ring_end ? state->rings[index] : NULL;
    return ring ? ring : make_ring(recording, index);
}

/* Makes memory for copies of blocks. False: there is none. */
static bool make_copies(const struct recording *recording, struct spoor_ring *ring)
{
    const struct spoor_state *state = recording->state;
    if (!ring->copies)
        ring->copies = malloc(state->copies * sizeof *ring->copies);
    return ring->copies != NULL;
}

/* Decides how many blocks of each of so many rings are copied together. */
static void choose_copies(struct recording *recording, size_t rings)
{
    enum {
        ALL = 2048,
        MOST = 8
    }; /* 8 MiB for all of them; what one has fits into the cache of its processor */
    struct spoor_state *state = recording->state;
    const size_t each = rings ? ALL / rings : MOST;
    state->copies = each < 1 ? 1 : each > MOST ? MOST : each;
}

static int add_place(struct spoor_ring *ring, uint64_t sequence, uint64_t offset, bool is_closed)
{
    if (!vector_make_room(ring->places, ring->place_count, ring->place_room))
        return -ENOMEM;
    ring->places[ring->place_count++] = (struct spoor_place){sequence, offset, is_closed, false};
    return 0;
}

static int by_sequence(const void *one, const void *other)
{
    const struct spoor_place *a = one, *b = other;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Sorts blocks by their sequence numbers. Of several with one number the last is kept, because it is the fullest. */
static void sort_places(struct spoor_ring *ring)
{
    bool sorted = true;
    for (size_t i = 1; i < ring->place_count && sorted; i++)
        sorted = ring->places[i - 1].sequence < ring->places[i].sequence;
    if (sorted)
        return;
    qsort(ring->places, ring->place_count, sizeof *ring->places, by_sequence);
    size_t kept = 0;
    for (size_t i = 0; i < ring->place_count; i++)
        if (i + 1 == ring->place_count || ring->places[i + 1].sequence != ring->places[i].sequence)
            ring->places[kept++] = ring->places[i];
    ring->place_count = kept;
}

static void load(struct recording *recording, struct spoor_ring *ring);
static void find_record(struct recording *recording, struct spoor_ring *ring);

static int add_block(struct recording *recording, struct spoor_ring *ring, const struct layout_block *head,
                     uint64_t offset, uint64_t closed)
{
    int error = add_place(ring, head->sequence, offset, closed == head->sequence);
    return error ? error : add_clock(recording, &head->clock);
}

/* Finds the blocks of a ring in the file. The page of each block also says something about the slots beside it. */
static int scan_ring(struct recording *recording, struct spoor_ring *ring)
{
    const uint64_t blocks = ring->place.bytes / LAYOUT_BLOCK_BYTES;
    const uint64_t first = ring->place.offset + LAYOUT_PAGE;
    struct layout_ring control;
    struct spoor_place *before = NULL; /* the block in the slot before */
    if (!recording_read_all(recording, &control, sizeof control, ring->place.offset))
        return 0;
    /* the end of the data that was found, before which there is no hole */
    uint64_t closed = control.closed_behind, data_end = 0;
    ring->place_count = ring->at = 0;
    for (uint64_t slot = 0; slot <= blocks; slot++) {
        struct layout_block head; /* of which its header is read */
        const uint64_t offset = first + slot * LAYOUT_BLOCK_BYTES;
        if (slot == blocks) {
            struct layout_tail tail;
            if (before && recording_read_all(recording, &tail, sizeof tail, offset))
                before->is_gone = tail.opened_before > before->sequence;
            break;
        }
        if (!recording_read_all(recording, &head, LAYOUT_BLOCK_HEADER_BYTES, offset))
            break;
        if (before)
            before->is_gone = head.opened_before > before->sequence;
        before = NULL;
        if (head.sequence && head.sequence % blocks == slot) {
            const int error = add_block(recording, ring, &head, offset, closed);
            if (error)
                return error;
            before = &ring->places[ring->place_count - 1];
        }
        closed = head.closed_behind;
        if (!head.sequence && offset >= data_end) {
            const uint64_t data = recording_skip_hole(recording, offset);
            if (data >= first + ring->place.bytes)
                break;
            if (data > offset + LAYOUT_BLOCK_BYTES) {
                slot = (data - first) / LAYOUT_BLOCK_BYTES - 1;
                closed = 0;
            } else {
                data_end = recording_data_end(recording, offset);
            }
        }
    }
    sort_places(ring);
    return 0;
}

static int read_ring_file(struct recording *recording)
{
    const struct spoor_directory *directory = &((const struct spoor_state *)recording->state)->directory;
    choose_copies(recording, directory->count);
    for (uint32_t i = 0; i < directory->count; i++) {
        if (!spoor_place_is_used(&directory->places[i]))
            continue;
        struct spoor_ring *ring = ring_of(recording, i);
        if (!ring || !make_copies(recording, ring))
            return -ENOMEM;
        ring->place = directory->places[i];
        const int error = scan_ring(recording, ring);
        if (error)
            return error;
        recording->counts.total += ring->place_count * LAYOUT_BLOCK_BYTES;
        load(recording, ring);
    }
    return 0;
}

static int read_stream(struct recording *recording)
{
    struct spoor_state *state = recording->state;
    for (uint64_t at = state->header.rings_offset;; at += LAYOUT_BLOCK_BYTES) {
        struct layout_block head;
        if (!recording_read_all(recording, &head, LAYOUT_BLOCK_HEADER_BYTES, at))
            break;
        if (head.sequence == 0 || head.ring >= LAYOUT_MAX_RINGS) {
            const uint64_t data = recording_skip_hole(recording, at);
            recording->counts.damaged++;
            if (data == UINT64_MAX)
                break;
            if (data > at)
                at += (data - at) / LAYOUT_BLOCK_BYTES * LAYOUT_BLOCK_BYTES;
            continue;
        }
        struct spoor_ring *ring = ring_of(recording, head.ring);
        if (!ring)
            return -ENOMEM;
        int error = add_place(ring, head.sequence, at, true);
        if (!error)
            error = add_clock(recording, &head.clock);
        if (error)
            return error;
        recording->counts.total += LAYOUT_BLOCK_BYTES;
    }
    choose_copies(recording, recording->source_count);
    for (size_t i = 0; i < recording->source_count; i++) {
        struct spoor_ring *ring = (struct spoor_ring *)recording->sources[i];
        if (!make_copies(recording, ring))
            return -ENOMEM;
        sort_places(ring);
        load(recording, ring);
    }
    return 0;
}

static int spoor_read(struct recording *recording)
{
    const struct spoor_state *state = recording->state;
    const int error =
        state->header.kind == LAYOUT_KIND_STREAM ? read_stream(recording) : read_ring_file(recording);
    timeline_finish(&recording->timeline);
    return error;
}

/* ---- blocks and records ---- */

/* Returns the position up to which all records of a ring in a file are certain. See "Reading a ring" in layout.h. */
static uint64_t whole_before(const struct recording *recording, const struct spoor_ring *ring)
{
    const struct spoor_state *state = recording->state;
    struct layout_ring control;
    if (!ring->place.offset || state->original)
        return UINT64_MAX; /* the file is not written any more */
    if (!recording_read_all(recording, &control, sizeof control, ring->place.offset))
        return 0;
    return layout_position(control.committed, control.position_base);
}

/* Makes a block that is good the one that is read. */
static void use_block(struct spoor_ring *ring, struct layout_block *block)
{
    recording_clean_thread(block->thread);
    ring->block = block;
    ring->thread.id = block->tid;
    memcpy(ring->thread.name, block->thread, sizeof block->thread);
}

/* Returns a copy of the block at a place of the file. Those that lie behind it there are copied with it. NULL: it cannot
 * be read. */
static struct layout_block *copy_of(const struct recording *recording, struct spoor_ring *ring, size_t index)
{
    const struct spoor_state *state = recording->state;
    if (index < ring->copied_from || index >= ring->copied_to) {
        const struct spoor_place *place = &ring->places[index];
        size_t count = 1;
        while (count < state->copies && index + count < ring->place_count &&
               place[count].offset == place->offset + count * LAYOUT_BLOCK_BYTES)
            count++;
        count = recording_read(recording, ring->copies, count * LAYOUT_BLOCK_BYTES, place->offset) /
                LAYOUT_BLOCK_BYTES;
        ring->copied_from = index;
        ring->copied_to = index + count;
        if (!count)
            return NULL;
    }
    return &ring->copies[index - ring->copied_from];
}

/* Copies a block of a file that is not written any more, and checks it. */
static bool copy_block(struct recording *recording, struct spoor_ring *ring, size_t index)
{
    const struct spoor_place *place = &ring->places[index];
    if ((place->sequence + 1) * LAYOUT_BLOCK_WORDS > ring->committed)
        ring->committed = whole_before(recording, ring);
    struct layout_block *block = copy_of(recording, ring, index);
    if (!block || !spoor_block_has_header(block, place->sequence, ring->index) ||
        !spoor_block_cut(block, place->is_closed ? UINT64_MAX : ring->committed))
        return false;
    use_block(ring, block);
    return true;
}

static void begin_block(struct recording *recording, struct spoor_ring *ring)
{
    const struct layout_block *block = ring->block;
    const bool follows = block->after && block->after - 1u != ring->index;
    struct spoor_ring *left = follows ? ring_of(recording, block->after - 1u) : NULL;
    ring->source.after = left ? &left->source : NULL; /* without memory for it the ring stands alone */
    /* Counts what is missing since the block before. At the oldest block that is everything that the ring ever had
     * before, unless the recording says that older events do not belong to it. */
    if (block->number > ring->number && (ring->last || !recording->ignore)) {
        ring->source.lost += block->number - ring->number;
        recording->counts.overwritten += block->number - ring->number;
    }
    ring->last = block->sequence;
    ring->number = block->number;
    ring->read = block->first;
}

static void drop_piece(struct recording *recording, struct spoor_ring *ring)
{
    struct piece *piece = ring->pieces.first;
    ring->pieces.first = piece->next;
    ring->at = 0;
    follower_drop(recording->follower, piece);
}

static void drop_pieces(struct recording *recording, struct spoor_ring *ring)
{
    while (ring->pieces.first)
        drop_piece(recording, ring);
}

/* Of a recording that is followed: goes on with the next block that was copied, or with more of the same one.
 * False: there is none. */
static bool load_piece(struct recording *recording, struct spoor_ring *ring)
{
    while (ring->pieces.first && ring->at * LAYOUT_BLOCK_BYTES == ring->pieces.first->bytes)
        drop_piece(recording, ring);
    if (!ring->pieces.first)
        return false;
    memcpy(ring->copies, ring->pieces.first->content + ring->at++ * LAYOUT_BLOCK_BYTES, sizeof *ring->copies);
    use_block(ring, ring->copies);
    if (ring->block->sequence != ring->last)
        begin_block(recording, ring);
    return true;
}

/* Goes on with the next block in the file. False: there is none. */
static bool load_place(struct recording *recording, struct spoor_ring *ring)
{
    while (ring->at < ring->place_count) {
        const size_t index = ring->at++;
        const struct spoor_place place = ring->places[index];
        recording->counts.done += LAYOUT_BLOCK_BYTES;
        if (place.sequence <= ring->last || place.is_gone)
            continue;
        if (copy_block(recording, ring, index)) {
            begin_block(recording, ring);
            return true;
        }
        /* A block of a copy is either newer than what is certain, or damaged. */
        recording->counts.damaged += place.sequence < ring->committed / LAYOUT_BLOCK_WORDS;
    }
    return false;
}

/* Goes on to the next block that has a record. The source is not ready if there is none. */
static void load(struct recording *recording, struct spoor_ring *ring)
{
    ring->source.ready = false;
    while (!ring->source.ready &&
           (recording->follower ? load_piece(recording, ring) : load_place(recording, ring)))
        find_record(recording, ring);
}

/* Whether all of a record was written that is to stand at an offset of the block; else it is not written yet, or was
 * never finished. */
static inline bool is_whole(const struct layout_block *block, uint32_t at, uint64_t start)
{
    const uint32_t bytes = layout_record_bytes(start);
    return layout_record_mark(start) == (uint32_t)(block->sequence * LAYOUT_BLOCK_WORDS + at / 8) &&
           bytes >= 8 && bytes % 8 == 0 && bytes <= LAYOUT_BLOCK_BYTES - at;
}

static inline struct layout_record *record_at(const struct spoor_ring *ring, uint32_t at)
{
    return (void *)((uint8_t *)ring->block + at);
}

/* Whether a record is of a tracepoint that is declared, and has all its arguments. */
static inline bool is_known(const struct spoor_state *state, uint64_t start)
{
    const uint32_t least = state->record_bytes[layout_record_id(start)];
    return least && layout_record_bytes(start) >= least;
}

/* Looks for a record at or after `read` in the block. The source is not ready if there is none. */
static void find_record(struct recording *recording, struct spoor_ring *ring)
{
    ring->source.ready = false;
    while (ring->read < LAYOUT_BLOCK_BYTES) {
        const struct layout_record *record = record_at(ring, ring->read);
        const uint64_t start = record->start;
        if (!is_whole(ring->block, ring->read, start))
            return;
        const bool is_padding = layout_record_id(start) == LAYOUT_ID_PADDING;
        if (!is_padding && layout_record_bytes(start) < LAYOUT_RECORD_BYTES)
            return;
        if (is_padding) {
            ring->read += layout_record_bytes(start);
            continue;
        }
        if (!is_known(recording->state, start)) {
            recording->counts.unknown++;
        } else if (record->stamp >= recording->ignore) {
            ring->source.stamp = record->stamp;
            ring->source.ready = true;
            return;
        }
        ring->number++;
        ring->read += layout_record_bytes(start);
    }
}

static void spoor_advance(struct recording *recording, struct recording_source *source)
{
    struct spoor_ring *ring = (struct spoor_ring *)source;
    ring->source.lost = 0;
    ring->number++;
    ring->read += layout_record_bytes(record_at(ring, ring->read)->start);
    find_record(recording, ring);
    if (!source->ready)
        load(recording, ring);
}

/* As spoor_advance(), if the next record is in the same block. */
static inline bool spoor_step(struct recording *recording, struct recording_source *source)
{
    struct spoor_ring *ring = (struct spoor_ring *)source;
    const uint32_t at = ring->read + layout_record_bytes(record_at(ring, ring->read)->start);
    if (at >= LAYOUT_BLOCK_BYTES)
        return false;
    const struct layout_record *record = record_at(ring, at);
    const uint64_t start = record->start;
    if (!is_whole(ring->block, at, start) || !is_known(recording->state, start) ||
        record->stamp < recording->ignore)
        return false;
    source->lost = 0;
    source->stamp = record->stamp;
    ring->number++;
    ring->read = at;
    return true;
}

static inline void spoor_take(struct recording *recording, struct recording_source *source,
                              struct recording_event *event)
{
    const struct spoor_state *state = recording->state;
    struct spoor_ring *ring = (struct spoor_ring *)source;
    struct layout_record *record = record_at(ring, ring->read);
    const uint32_t bytes = layout_record_bytes(record->start);
    const struct recording_tracepoint *tracepoint = state->tracepoints[layout_record_id(record->start)];
    for (unsigned strings = tracepoint->strings; strings; strings &= strings - 1) {
        uint64_t *word = &record->arguments[__builtin_ctz(strings)];
        const uint32_t offset = *word >> 16 & 0xffff, length = *word & 0xffff;
        if (offset && (offset > bytes || length > bytes - offset))
            *word = 0; /* a null pointer, in the copy */
    }
    event->tracepoint = tracepoint;
    event->object = record->object;
    event->owner = record->owner;
    event->size = record->size;
    event->thread = ring->block->tid;
    event->thread_name = ring->block->thread;
    event->words = record->arguments;
    event->bytes = (const uint8_t *)record;
}

static int spoor_events(struct recording *recording, struct recording_event *events, int most)
{
    return merge_events(recording, events, most, spoor_take, spoor_step, spoor_advance);
}

static void spoor_leave(struct recording *recording)
{
    merge_leave(recording, spoor_advance);
}

static void spoor_thread(const struct recording_source *source, struct recording_thread *thread)
{
    *thread = ((const struct spoor_ring *)source)->thread;
}

/* ---- live ---- */

static int spoor_add_piece(struct recording *recording, struct piece *piece)
{
    const struct layout_block *block = (const void *)piece->content;
    struct spoor_ring *ring = ring_of(recording, block->ring);
    int error = 0;
    if (!ring || !make_copies(recording, ring)) {
        follower_drop(recording->follower, piece);
        return -ENOMEM;
    }
    for (size_t i = 0; i < piece->bytes / LAYOUT_BLOCK_BYTES && !error; i++)
        error = add_clock(recording, &block[i].clock);
    pieces_add(&ring->pieces, piece);
    return error;
}

static int spoor_refresh(struct recording *recording)
{
    struct spoor_state *state = recording->state;
    int error = read_control(recording);
    if (!error && state->control.sections_used > state->sections_used) {
        struct text ignored = {0};
        error = spoor_model_read(recording, &ignored);
        text_free(&ignored);
    }
    if (!error)
        error = spoor_owners_read(recording);
    for (size_t i = 0; i < recording->source_count; i++)
        if (!recording->sources[i]->ready)
            load(recording, (struct spoor_ring *)recording->sources[i]);
    timeline_finish(&recording->timeline);
    return error;
}

static unsigned spoor_rings(const struct recording *recording)
{
    const struct spoor_state *state = recording->state;
    unsigned count = 0;
    for (size_t i = 0; i < state->directory.count; i++)
        count += spoor_place_is_used(&state->directory.places[i]);
    return count;
}

const struct recording_format recording_format_spoor = {
    .name = "spoor",
    .recognises = spoor_recognises,
    .names = spoor_names,
    .open = spoor_open,
    .read = spoor_read,
    .rings = spoor_rings,
    .events = spoor_events,
    .leave = spoor_leave,
    .add_piece = spoor_add_piece,
    .refresh = spoor_refresh,
    .thread = spoor_thread,
    .is_live = spoor_is_live,
    .close = spoor_close,
};
