/* SPDX-License-Identifier: BSD-3-Clause */
/* Hand-made recordings in SPDK's format, and functions that read them to text. */
#ifndef SPOOR_TESTS_READER_TESTING_H
#define SPOOR_TESTS_READER_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <setjmp.h>
#include <cmocka.h>

#include "print/event.h"
#include "reader/objects.h"
#include "reader/reader.h"
#include "reader/spdk.h"

enum {
    SPDK_LCORES = 2,
    SPDK_SLOTS = 2048,
    SPDK_IDS = 1280,
    SPDK_TRACEPOINTS = 16,
    SPDK_OWNERS = 4,
    SPDK_DESCRIPTION = 119,
};

struct spdk_lcore {
    struct spdk_history history;
    uint64_t counts[SPDK_IDS];
    struct spdk_slot slots[SPDK_SLOTS];
};

struct spdk_file {
    struct spdk_header header;
    uint64_t main[64];
    uint16_t owner_head[64];
    uint8_t owners[SPDK_OWNERS][9 + SPDK_DESCRIPTION];
    uint16_t owner_type_head[64];
    struct spdk_letter owner_types[2];
    uint16_t object_head[64];
    struct spdk_letter objects[2];
    uint16_t tracepoint_head[64];
    struct spdk_tracepoint tracepoints[SPDK_TRACEPOINTS];
    _Alignas(8) uint16_t lcore_head[64];
    uint64_t lcore_offsets[SPDK_LCORES];
    struct spdk_lcore lcores[SPDK_LCORES];
};

static inline struct spdk_file *spdk_file_make(uint64_t rate)
{
    struct spdk_file *file = calloc(1, sizeof *file);
    file->header = (struct spdk_header){
        .file_size = sizeof *file,
        .section_count = SPDK_SECTIONS,
        .offsets = {offsetof(struct spdk_file, main), offsetof(struct spdk_file, owner_head), 0,
                    offsetof(struct spdk_file, owner_type_head), offsetof(struct spdk_file, object_head),
                    offsetof(struct spdk_file, tracepoint_head), offsetof(struct spdk_file, lcore_head)},
    };
    file->main[0] = rate;
    file->owner_head[0] = SPDK_OWNERS;
    file->owner_head[1] = SPDK_DESCRIPTION;
    file->lcore_head[0] = SPDK_LCORES;
    for (unsigned i = 0; i < SPDK_LCORES; i++) {
        file->lcore_offsets[i] = offsetof(struct spdk_file, lcores) + i * sizeof(struct spdk_lcore);
        file->lcores[i].history =
            (struct spdk_history){.lcore = (int)i, .num_entries = SPDK_SLOTS, .num_tpoint_ids = SPDK_IDS};
    }
    return file;
}

static inline void spdk_add_types(struct spdk_file *file)
{
    file->owner_type_head[0] = 2;
    file->owner_types[0] = (struct spdk_letter){1, 'b'};
    file->owner_types[1] = (struct spdk_letter){2, 't'};
    file->object_head[0] = 2;
    file->objects[0] = (struct spdk_letter){1, 'i'};
    file->objects[1] = (struct spdk_letter){2, 'r'};
}

static inline struct spdk_tracepoint *spdk_add_tracepoint(struct spdk_file *file, const char *name,
                                                          uint16_t id, uint8_t owner, uint8_t object,
                                                          uint8_t is_new)
{
    struct spdk_tracepoint *tracepoint = &file->tracepoints[file->tracepoint_head[0]++];
    memcpy(tracepoint->name, name, strlen(name));
    tracepoint->id = id;
    tracepoint->owner_type = owner;
    tracepoint->object_type = object;
    tracepoint->new_object = is_new;
    return tracepoint;
}

static inline void spdk_add_argument(struct spdk_tracepoint *tracepoint, const char *name, uint8_t type,
                                     uint8_t size)
{
    struct spdk_argument *argument = &tracepoint->arguments[tracepoint->argument_count++];
    memcpy(argument->name, name, strlen(name));
    argument->type = type;
    argument->size = size;
}

static inline void spdk_record(struct spdk_file *file, unsigned lcore, uint64_t tsc, uint16_t id,
                               uint16_t owner, uint32_t size, uint64_t object, const void *arguments,
                               size_t bytes)
{
    struct spdk_lcore *ring = &file->lcores[lcore];
    struct spdk_slot *slot = &ring->slots[ring->history.next_entry++ % SPDK_SLOTS];
    const uint8_t *at = arguments;
    *slot = (struct spdk_slot){.tsc = tsc, .id = id, .owner = owner, .size = size, .object = object};
    for (size_t room = sizeof slot->arguments, i = 0; bytes;
         bytes -= i, at += i, room = SPDK_CONTINUATION_BYTES) {
        if (room == SPDK_CONTINUATION_BYTES) {
            slot = &ring->slots[ring->history.next_entry++ % SPDK_SLOTS];
            memset(slot, 0, sizeof *slot);
            slot->tsc = tsc;
            slot->id = SPDK_IDS;
        }
        i = bytes < room ? bytes : room;
        memcpy((uint8_t *)slot +
                   (room == SPDK_CONTINUATION_BYTES ? 10 : offsetof(struct spdk_slot, arguments)),
               at, i);
    }
    ring->counts[id]++;
}

/* Opens a recording that consists of these bytes. */
static inline int reader_open_bytes(const void *bytes, size_t size, const char *name,
                                    struct recording **recording, struct text *why)
{
    const struct recording_options options = {.only_cpu = -1};
    const int file = memfd_create("recording", MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), (ssize_t)size);
    return recording_open_file(file, name, &options, recording, why);
}

/* Returns the whole recording as `spoor report` prints it. The caller frees the text. */
static inline struct text reader_list(struct recording *recording, unsigned width)
{
    struct event_printer printer;
    struct text out = {0};
    struct recording_event event;
    struct object_step step;
    struct objects *objects = objects_make(recording);
    event_printer_init(&printer, recording);
    printer.width = width;
    while (recording_next(recording, &event) == 1) {
        assert_int_equal(objects_follow(objects, &event, &step), 0);
        event_print(&printer, &out, &event, &step);
    }
    objects_free(objects);
    return out;
}

#endif
