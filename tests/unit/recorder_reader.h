/* SPDX-License-Identifier: BSD-3-Clause */
/* A minimal reader of recordings, for tests of the writer: it follows layout.h and nothing else, and makes no
 * assertions itself. */
#ifndef TESTS_RECORDER_READER_H
#define TESTS_RECORDER_READER_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/layout.h"

#ifndef VIEW_BYTES /* the size to which a file may grow */
#define VIEW_BYTES ((size_t)1 << 32)
#endif

struct recording_view {
    const uint8_t *memory;
    size_t bytes;
    uint64_t device, inode; /* identify the file */
};

__attribute__((unused)) static bool view_open(struct recording_view *view, const char *path)
{
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    view->memory = NULL;
    if (fstat(file, &status) == 0 && status.st_size >= 2 * (off_t)LAYOUT_PAGE) {
        /* A live file grows: more is mapped than the file has now, so that later parts can be read once they
         * exist. */
        view->bytes = (size_t)status.st_size;
        view->device = status.st_dev;
        view->inode = status.st_ino;
        void *memory = mmap(NULL, VIEW_BYTES, PROT_READ, MAP_SHARED | MAP_NORESERVE, file, 0);
        view->memory = memory != MAP_FAILED ? memory : NULL;
    }
    close(file);
    return view->memory != NULL;
}

__attribute__((unused)) static void view_close(struct recording_view *view)
{
    munmap((void *)(uintptr_t)view->memory, VIEW_BYTES);
    view->memory = NULL;
}

static const struct layout_header *view_header(const struct recording_view *view)
{
    return (const struct layout_header *)view->memory;
}

static const struct layout_control *view_control(const struct recording_view *view)
{
    return (const struct layout_control *)(view->memory + view_header(view)->control_offset);
}

__attribute__((unused)) static const struct layout_owner *view_owner(const struct recording_view *view,
                                                                     uint64_t index)
{
    const struct layout_header *header = view_header(view);
    return (const struct layout_owner *)(view->memory + header->owners_offset + index * header->owner_bytes);
}

static const struct layout_place *view_place(const struct recording_view *view, uint64_t index)
{
    return (const struct layout_place *)(view->memory + view_header(view)->directory_offset) + index;
}

__attribute__((unused)) static bool view_has_ring(const struct recording_view *view, uint64_t index)
{
    if (index >= __atomic_load_n(&view_control(view)->rings, __ATOMIC_ACQUIRE))
        return false;
    const uint32_t state = __atomic_load_n(&view_place(view, index)->state, __ATOMIC_ACQUIRE);
    return state == LAYOUT_RING_USED || state == LAYOUT_RING_ENDED;
}

static const struct layout_ring *view_ring(const struct recording_view *view, uint64_t index)
{
    return (const struct layout_ring *)(view->memory + view_place(view, index)->offset);
}

static const struct layout_block *view_blocks(const struct recording_view *view, uint64_t index)
{
    return (const struct layout_block *)((const uint8_t *)view_ring(view, index) + LAYOUT_PAGE);
}

static uint64_t view_block_count(const struct recording_view *view, uint64_t index)
{
    return view_place(view, index)->bytes / LAYOUT_BLOCK_BYTES;
}

/* Returns item `index` among all sections of a type, or NULL. *section is for view_text. */
__attribute__((unused)) static const void *view_item(const struct recording_view *view, uint32_t type,
                                                     unsigned index, const struct layout_section **section)
{
    const uint8_t *at = view->memory + view_header(view)->sections_offset;
    const uint8_t *end = at + view_control(view)->sections_used;
    while (at + sizeof(struct layout_section) <= end) {
        const struct layout_section *here = (const struct layout_section *)at;
        if (here->bytes < sizeof *here || here->bytes % 8 != 0 || here->bytes > (uint64_t)(end - at))
            return NULL;
        if (here->type == type) {
            if (index < here->count) {
                *section = here;
                return at + sizeof *here + (size_t)index * here->item_bytes;
            }
            index -= here->count;
        }
        at += here->bytes;
    }
    return NULL;
}

__attribute__((unused)) static const char *view_text(const struct layout_section *section, uint32_t offset)
{
    return offset != 0 ? (const char *)section + offset : "";
}

/* Returns the tracepoint's id, or 0 if there is none. */
__attribute__((unused)) static uint32_t view_tracepoint(const struct recording_view *view, const char *name)
{
    const struct layout_section *section;
    const struct layout_tracepoint *item;
    for (unsigned i = 0; (item = view_item(view, LAYOUT_SECTION_TRACEPOINTS, i, &section)) != NULL; i++)
        if (strcmp(view_text(section, item->name), name) == 0)
            return item->id;
    return 0;
}

/* ---- blocks ---- */

/* Returns whether this can be the block in slot `slot`. */
static bool block_is_valid(const struct layout_block *block, uint64_t slot, uint64_t block_count)
{
    return block->sequence != 0 && block->sequence % block_count == slot &&
           block->first >= LAYOUT_BLOCK_HEADER_BYTES && block->first % 8 == 0;
}

/* Returns the position below which all records were finished before anything that is copied from now on. */
static uint64_t ring_committed(const struct layout_ring *ring)
{
    const uint64_t base = __atomic_load_n(&ring->position_base, __ATOMIC_RELAXED);
    const uint64_t mixed = __atomic_load_n(&ring->committed, __ATOMIC_ACQUIRE);
    return layout_position(mixed, base);
}

enum walk_end {
    WALK_OPEN, /* stopped at *offset, where there is no finished record */
    WALK_FULL, /* reached the end of the block */
};

typedef void record_handler(void *context, uint64_t number, const struct layout_record *record);

/* Calls `handle`, unless NULL, for the records from *offset on; *number is the number of the first. Moves both on. */
static enum walk_end block_walk(const struct layout_block *block, uint32_t *offset, uint64_t *number,
                                record_handler *handle, void *context)
{
    const uint32_t end = LAYOUT_BLOCK_BYTES;
    while (*offset < end) {
        const struct layout_record *record = (const struct layout_record *)((const uint8_t *)block + *offset);
        const uint64_t start = __atomic_load_n(&record->start, __ATOMIC_ACQUIRE);
        const uint64_t position = block->sequence * LAYOUT_BLOCK_WORDS + *offset / 8;
        const uint32_t bytes = layout_record_bytes(start);
        if (layout_record_mark(start) != (uint32_t)position || bytes % 8 != 0 || bytes > end - *offset ||
            bytes == 0)
            return WALK_OPEN;
        if (layout_record_id(start) == LAYOUT_ID_PADDING) {
            *offset += bytes;
            continue;
        }
        if (bytes < LAYOUT_RECORD_BYTES)
            return WALK_OPEN;
        if (handle != NULL)
            handle(context, *number, record);
        ++*number;
        *offset += bytes;
    }
    return WALK_FULL;
}

static int by_sequence(const void *a, const void *b)
{
    const struct layout_block *const *one = a, *const *other = b;
    return ((*one)->sequence > (*other)->sequence) - ((*one)->sequence < (*other)->sequence);
}

static void block_cut(struct layout_block *block, uint32_t end)
{
    if (end < LAYOUT_BLOCK_BYTES)
        memset((uint8_t *)block + end, 0, LAYOUT_BLOCK_BYTES - end);
}

/* Walks all records, in order, of a ring that is not written any more or of a copy (there only what is certain). */
__attribute__((unused)) static void ring_walk(const struct recording_view *view, uint64_t ring,
                                              record_handler *handle, void *context)
{
    const struct layout_header *header = view_header(view);
    const bool is_copy = header->device != view->device || header->inode != view->inode;
    const uint64_t count = view_block_count(view, ring);
    const uint64_t committed = ring_committed(view_ring(view, ring));
    const struct layout_block *blocks = view_blocks(view, ring);
    const struct layout_tail *tail = (const struct layout_tail *)&blocks[count];
    const struct layout_block **valid = calloc(count, sizeof *valid);
    size_t found = 0;
    for (uint64_t slot = 0; slot < count; slot++)
        if (block_is_valid(&blocks[slot], slot, count) &&
            (slot + 1 < count ? blocks[slot + 1].opened_before : tail->opened_before) <=
                blocks[slot].sequence)
            valid[found++] = &blocks[slot];
    qsort(valid, found, sizeof *valid, by_sequence);
    for (size_t i = 0; i < found; i++) {
        struct layout_block block = *valid[i];
        const uint64_t begin = block.sequence * LAYOUT_BLOCK_WORDS, slot = block.sequence % count;
        const uint64_t closed = slot ? blocks[slot - 1].closed_behind : view_ring(view, ring)->closed_behind;
        if (is_copy && closed != block.sequence) {
            if (committed <= begin)
                continue;
            if (committed - begin < LAYOUT_BLOCK_WORDS)
                block_cut(&block, (uint32_t)(committed - begin) * 8);
        }
        uint32_t offset = block.first;
        uint64_t number = block.number;
        block_walk(&block, &offset, &number, handle, context);
    }
    free(valid);
}

/* ---- draining a live ring ---- */

struct view_drain {
    uint64_t sequence; /* 0: nothing was drained yet */
    uint32_t offset;
    uint64_t number; /* number of the next record */
    uint64_t read, overwritten;
};

__attribute__((unused)) static uint64_t ring_position(const struct layout_ring *ring)
{
    const uint64_t base = __atomic_load_n(&ring->position_base, __ATOMIC_RELAXED);
    return layout_position(__atomic_load_n(&ring->reserved, __ATOMIC_ACQUIRE), base);
}

/* Returns the newest block's sequence: when that block is exactly full, the position is already in the next one. */
__attribute__((unused)) static uint64_t ring_newest(const struct layout_ring *ring)
{
    return (ring_position(ring) - 1) / LAYOUT_BLOCK_WORDS;
}

__attribute__((unused)) static uint64_t ring_number(const struct layout_ring *ring)
{
    return layout_number(ring->reserved, ring->number_base);
}

/* Copies the block with this sequence. Returns 1 if that worked, 0 if it is not there yet, -1 if it has been
 * overwritten. memcpy may load in any order, so a block that is still being written is copied twice: a record that
 * had its mark in the first copy is whole in the second. */
static int copy_block(const struct recording_view *view, uint64_t ring, uint64_t sequence,
                      struct layout_block *copy)
{
    const uint64_t count = view_block_count(view, ring), committed = ring_committed(view_ring(view, ring));
    const struct layout_block *block = &view_blocks(view, ring)[sequence % count];
    uint32_t end = LAYOUT_BLOCK_BYTES;
    bool is_there = true;
    if (committed < (sequence + 1) * LAYOUT_BLOCK_WORDS) {
        uint64_t number = 0;
        memcpy(copy, block, sizeof *copy);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        is_there = copy->sequence == sequence;
        end = is_there ? copy->first : 0;
        if (is_there)
            block_walk(copy, &end, &number, NULL, NULL);
    }
    memcpy(copy, block, sizeof *copy);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (ring_position(view_ring(view, ring)) > (sequence + count) * LAYOUT_BLOCK_WORDS)
        return -1;
    block_cut(copy, end);
    return is_there && copy->sequence == sequence;
}

/* Drains all new records. */
__attribute__((unused)) static void ring_drain(const struct recording_view *view, uint64_t ring,
                                               struct view_drain *drain, record_handler *handle,
                                               void *context)
{
    const uint64_t count = view_block_count(view, ring);
    struct layout_block block;
    for (;;) {
        const uint64_t newest = ring_newest(view_ring(view, ring));
        if (drain->sequence == 0)
            drain->sequence = newest >= count ? newest - count + 1 : 1;
        const bool is_written =
            ring_committed(view_ring(view, ring)) >= (drain->sequence + 1) * LAYOUT_BLOCK_WORDS;
        const int copied = copy_block(view, ring, drain->sequence, &block);
        if (copied == 0 && !is_written)
            return;
        /* the writer skipped the block: its slot holds an older one with an unfinished record */
        if (copied == 0) {
            drain->sequence++;
            drain->offset = 0;
            continue;
        }
        if (copied < 0) { /* continues at the oldest block */
            drain->sequence = ring_newest(view_ring(view, ring)) - count + 2;
            drain->offset = 0;
            continue;
        }
        if (drain->offset == 0) {
            drain->offset = block.first;
            drain->overwritten += block.number - drain->number;
            drain->number = block.number;
        }
        const uint64_t before = drain->number;
        const enum walk_end end = block_walk(&block, &drain->offset, &drain->number, handle, context);
        drain->read += drain->number - before;
        /* the block is complete, though it may have a record that was given up */
        if (end == WALK_FULL || is_written) {
            drain->sequence++;
            drain->offset = 0;
        } else if (drain->number == before) {
            return;
        }
    }
}

#endif
