/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reader/copy.h"
#include "reader/spoor.h"

enum { BATCH = 64 }; /* blocks that are copied at once */

struct drained_ring {
    uint64_t next;   /* sequence of the next block */
    uint64_t number; /* of its first record, if nothing is lost */
    bool begun;
    struct layout_block last; /* header of the newest that was written */
};

struct drain {
    struct drain_options options;
    struct recording *source;
    const struct layout_header *header;
    struct layout_control control;
    struct drained_ring *rings;
    struct layout_block *batch;
    int file;
    char *path;               /* of the output file that is open */
    uint64_t written;         /* its length */
    uint64_t first;           /* where its blocks begin, those without records not counted */
    time_t opened, described; /* monotonic seconds */
    uint64_t number;          /* of output files so far */
    struct drain_counts counts;
};

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static int fail(struct text *why, const char *what, const char *path, int error)
{
    text_printf(why, "cannot %s %s: %s", what, path, strerror(-error));
    return error;
}

static int write_all(struct drain *drain, const void *bytes, size_t length, uint64_t offset, struct text *why)
{
    for (size_t done = 0; done < length;) {
        const ssize_t now =
            pwrite(drain->file, (const char *)bytes + done, length - done, (off_t)(offset + done));
        if (now < 0 && errno != EINTR)
            return fail(why, "write", drain->path, -errno);
        done += now > 0 ? (size_t)now : 0;
    }
    return 0;
}

/* ---- the output file ---- */

/* What stands before the rings, as it is now: owners, declarations and clocks change while the program runs.
 */
static int describe(struct drain *drain, struct text *why)
{
    const int source = recording_file(drain->source);
    struct layout_header header = *drain->header;
    struct layout_control control;
    int error =
        copy_range(source, drain->file, header.header_bytes, header.rings_offset - header.header_bytes);
    if (error)
        return fail(why, "write", drain->path, error);
    if (!recording_read_all(drain->source, &control, sizeof control, header.control_offset))
        return fail(why, "read", recording_path(drain->source), -EIO);
    if (drain->number > 1 && !control.from)
        control.from = 1; /* what is older is in the file before */
    memset(control.ring_states, 0, sizeof control.ring_states);
    header.kind = LAYOUT_KIND_STREAM;
    error = write_all(drain, &control, sizeof control, header.control_offset, why);
    if (!error) /* the magic last */
        error = write_all(drain, (uint8_t *)&header + sizeof header.magic,
                          sizeof header - sizeof header.magic, sizeof header.magic, why);
    if (!error)
        error = write_all(drain, header.magic, sizeof header.magic, 0, why);
    drain->described = seconds_now();
    return error;
}

static int remove_old(const struct drain *drain, struct text *why)
{
    char *path;
    if (!drain->options.keep || drain->number <= drain->options.keep)
        return 0;
    if (asprintf(&path, "%s.%llu", drain->options.output,
                 (unsigned long long)(drain->number - drain->options.keep)) < 0)
        return -ENOMEM;
    const int error = unlink(path) && errno != ENOENT ? fail(why, "remove", path, -errno) : 0;
    free(path);
    return error;
}

static int open_output(struct drain *drain, struct text *why)
{
    const bool rotates = drain->options.rotate_bytes || drain->options.rotate_seconds;
    drain->number++;
    drain->counts.files++;
    free(drain->path);
    drain->path = NULL;
    if (!rotates)
        drain->path = strdup(drain->options.output);
    else if (asprintf(&drain->path, "%s.%llu", drain->options.output, (unsigned long long)drain->number) < 0)
        drain->path = NULL;
    if (!drain->path)
        return -ENOMEM;
    drain->file = open(drain->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (drain->file < 0)
        return fail(why, "create", drain->path, -errno);
    drain->opened = seconds_now();
    drain->written = drain->header->rings_offset;
    int error = describe(drain, why);
    if (!error)
        error = remove_old(drain, why);
    /* Up to where the file before went. */
    for (uint64_t i = 0; i < drain->header->ring_limit && drain->number > 1 && !error; i++) {
        struct drained_ring *ring = &drain->rings[i];
        if (!ring->begun)
            continue;
        struct layout_block *block = drain->batch;
        *block = ring->last;
        memset(block->words, 0, sizeof block->words);
        block->number = ring->number;
        block->first = offsetof(struct layout_block, trailer);
        block->trailer = block->sequence;
        error = write_all(drain, block, sizeof *block, drain->written, why);
        drain->written += sizeof *block;
    }
    drain->first = drain->written;
    return error;
}

static int close_output(struct drain *drain, struct text *why)
{
    int error = 0;
    if (drain->file < 0)
        return 0;
    error = describe(drain, why);
    if (close(drain->file) && !error)
        error = fail(why, "write", drain->path, -errno);
    drain->file = -1;
    drain->counts.bytes += drain->written;
    return error;
}

/* ---- rings ---- */

/* How many records are in a block: those that can be read. */
static uint64_t count_records(const struct layout_block *block)
{
    const uint64_t base = block->sequence * LAYOUT_BLOCK_WORDS;
    uint64_t count = 0;
    for (uint32_t at = block->first; at < offsetof(struct layout_block, trailer);) {
        uint64_t start;
        memcpy(&start, (const uint8_t *)block + at, sizeof start);
        const uint32_t bytes = layout_record_bytes(start);
        if (layout_record_mark(start) != (uint32_t)(base + at / 8) || bytes < 8 || bytes % 8 ||
            bytes > offsetof(struct layout_block, trailer) - at)
            break;
        count += layout_record_id(start) != LAYOUT_ID_PADDING;
        at += bytes;
    }
    return count;
}

static bool is_whole(const struct layout_block *block, uint64_t sequence, uint64_t ring)
{
    return block->sequence == sequence && block->trailer == sequence && block->ring == ring &&
           block->first >= LAYOUT_BLOCK_HEADER_BYTES &&
           block->first <= offsetof(struct layout_block, trailer) && block->first % 8 == 0;
}

static void account(struct drain *drain, struct drained_ring *ring, const struct layout_block *block)
{
    const uint64_t records = count_records(block);
    if (ring->begun && block->number > ring->number)
        drain->counts.lost += block->number - ring->number;
    drain->counts.events += records;
    drain->counts.blocks++;
    ring->number = block->number + records;
    ring->next = block->sequence + 1;
    ring->begun = true;
    memcpy(&ring->last, block, LAYOUT_BLOCK_HEADER_BYTES);
}

static bool read_ring(const struct drain *drain, uint64_t index, struct layout_ring *ring)
{
    return recording_read_all(drain->source, ring, sizeof *ring,
                              drain->header->rings_offset + index * drain->header->ring_stride);
}

/* Copies blocks from `next` on, up to `end`, writes those that are whole. How many the copy held; -errno. */
static int drain_batch(struct drain *drain, uint64_t index, uint64_t end, struct text *why)
{
    struct drained_ring *ring = &drain->rings[index];
    const uint64_t blocks = drain->header->ring_bytes / LAYOUT_BLOCK_BYTES, slot = ring->next % blocks;
    uint64_t count = end - ring->next;
    if (count > blocks - slot)
        count = blocks - slot;
    if (count > BATCH)
        count = BATCH;
    const uint64_t offset = drain->header->rings_offset + index * drain->header->ring_stride + LAYOUT_PAGE +
                            slot * LAYOUT_BLOCK_BYTES;
    struct layout_ring control;
    if (!recording_read_all(drain->source, drain->batch, count * sizeof *drain->batch, offset) ||
        !read_ring(drain, index, &control))
        return fail(why, "read", recording_path(drain->source), -EIO);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const uint64_t reserved = layout_position(control.reserved, control.position_base);
    const uint64_t first = ring->next;
    size_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t sequence = first + i;
        const struct layout_block *block = &drain->batch[i];
        if (!is_whole(block, sequence, index) || reserved >= (sequence + blocks) * LAYOUT_BLOCK_WORDS)
            continue;
        account(drain, ring, block);
        if (kept != i)
            drain->batch[kept] = *block;
        kept++;
    }
    ring->next = first + count;
    const int error =
        kept ? write_all(drain, drain->batch, kept * sizeof *drain->batch, drain->written, why) : 0;
    drain->written += kept * sizeof *drain->batch;
    return error;
}

/* One ring. 1: it was more than a quarter full of what is new. */
static int drain_ring(struct drain *drain, uint64_t index, bool all, struct text *why)
{
    struct drained_ring *ring = &drain->rings[index];
    const uint64_t blocks = drain->header->ring_bytes / LAYOUT_BLOCK_BYTES;
    struct layout_ring control;
    if (!read_ring(drain, index, &control))
        return 0; /* being made */
    const uint64_t reserved = layout_position(control.reserved, control.position_base);
    const uint64_t committed = layout_position(control.committed, control.position_base);
    const uint64_t newest = reserved / LAYOUT_BLOCK_WORDS; /* the block that is being filled */
    uint64_t end = newest;
    if (all)
        end = newest + 1;
    else if (committed / LAYOUT_BLOCK_WORDS < newest && newest - ring->next < blocks / 2)
        end = committed /
              LAYOUT_BLOCK_WORDS; /* a record in an older block is not finished: wait, while there is room */
    if (ring->next == 0)
        ring->next = 1;
    bool is_filled = false;
    while (ring->next < end) {
        if (newest >= blocks && ring->next <= newest - blocks) {
            /* Overtaken: go on with a lead, or it happens again at once. */
            const uint64_t lead = all ? 0 : blocks / 8;
            ring->next = newest - blocks + 1 + lead;
            continue;
        }
        is_filled |= end - ring->next > blocks / 4;
        const int error = drain_batch(drain, index, end, why);
        if (error)
            return error;
    }
    return is_filled;
}

static bool must_rotate(const struct drain *drain)
{
    return drain->written > drain->first &&
           ((drain->options.rotate_bytes && drain->written - drain->first >= drain->options.rotate_bytes) ||
            (drain->options.rotate_seconds &&
             (uint64_t)(seconds_now() - drain->opened) >= drain->options.rotate_seconds));
}

static int drain_all(struct drain *drain, bool all, struct text *why)
{
    int is_filled = 0;
    if (!recording_read_all(drain->source, &drain->control, sizeof drain->control,
                            drain->header->control_offset))
        return fail(why, "read", recording_path(drain->source), -EIO);
    for (uint64_t i = 0; i < drain->header->ring_limit; i++) {
        const uint8_t state = drain->control.ring_states[i];
        if (state == LAYOUT_RING_UNUSED)
            break; /* they are taken in order */
        if (state != LAYOUT_RING_USED && state != LAYOUT_RING_ENDED)
            continue;
        const int result = drain_ring(drain, i, all, why);
        if (result < 0)
            return result;
        is_filled |= result;
        int error = 0;
        if (!all && must_rotate(drain)) {
            error = close_output(drain, why);
            if (!error)
                error = open_output(drain, why);
        }
        if (error)
            return error;
    }
    return is_filled;
}

int drain_round(struct drain *drain, struct text *why)
{
    const int result = drain_all(drain, false, why);
    if (result < 0)
        return result;
    const int error = seconds_now() != drain->described ? describe(drain, why) : 0;
    return error ? error : result;
}

bool drain_is_live(struct drain *drain)
{
    return drain->source->format->is_live(drain->source);
}

int drain_finish(struct drain *drain, struct text *why)
{
    const int result = drain_all(drain, true, why);
    const int error = close_output(drain, why);
    return result < 0 ? result : error;
}

struct drain_counts drain_counts(const struct drain *drain)
{
    return drain->counts;
}

/* Others may want to know who drains. It is not needed, so a file that may not be written is no error. */
static void sign(const struct drain *drain, uint64_t pid)
{
    const int file = open(recording_path(drain->source), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return;
    const ssize_t ignored =
        pwrite(file, &pid, sizeof pid,
               (off_t)(drain->header->control_offset + offsetof(struct layout_control, drainer)));
    (void)ignored;
    close(file);
}

int drain_open(const char *path, const struct drain_options *options, struct drain **result, struct text *why)
{
    const struct recording_options reading = {.only_cpu = -1};
    struct drain *drain = calloc(1, sizeof *drain);
    *result = NULL;
    if (!drain)
        return -ENOMEM;
    drain->options = *options;
    drain->file = -1;
    int error = recording_open(path, &reading, &drain->source, why);
    if (error)
        goto fail;
    const struct spoor_state *state = drain->source->state;
    error = -EINVAL;
    if (recording_is_spdk(drain->source)) {
        text_printf(
            why,
            "%s is in SPDK's format, which cannot be drained: cp keeps what is in it now",
            path);
        goto fail;
    }
    drain->header = &state->header;
    if (drain->header->kind != LAYOUT_KIND_RINGS) {
        text_printf(why, "%s was recorded by `spoor record` already", path);
        goto fail;
    }
    if (drain->header->rings_offset < sizeof(struct layout_header) ||
        drain->header->rings_offset > SPOOR_SECTIONS_MOST * 2ull) {
        text_printf(why, "%s is damaged: its declarations are too large", path);
        goto fail;
    }
    error = -ENOMEM;
    drain->rings = calloc(LAYOUT_MAX_RINGS, sizeof *drain->rings);
    drain->batch = malloc(BATCH * sizeof *drain->batch);
    if (!drain->rings || !drain->batch)
        goto fail;
    error = open_output(drain, why);
    if (error)
        goto fail;
    sign(drain, (uint64_t)getpid());
    *result = drain;
    return 0;
fail:
    drain_close(drain);
    return error;
}

void drain_close(struct drain *drain)
{
    if (!drain)
        return;
    if (drain->header && drain->header->kind == LAYOUT_KIND_RINGS && drain->counts.files)
        sign(drain, 0);
    if (drain->file >= 0)
        close(drain->file);
    recording_close(drain->source);
    free(drain->rings);
    free(drain->batch);
    free(drain->path);
    free(drain);
}
