/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of SPDK's trace files, little-endian, in the sectioned form; and of the files that `spoor
 * record` and `spoor ctl dump` make of them. */
#ifndef SPOOR_READER_SPDK_H
#define SPOOR_READER_SPDK_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/relation.h"

enum spdk_section {
    SPDK_SECTION_MAIN,
    SPDK_SECTION_OWNERS,
    SPDK_SECTION_MASKS,
    SPDK_SECTION_OWNER_TYPES,
    SPDK_SECTION_OBJECTS,
    SPDK_SECTION_TRACEPOINTS,
    SPDK_SECTION_LCORES,
    SPDK_SECTIONS,
};
enum {
    SPDK_SECTION_HEADER = 128, /* bytes of a section's header; the first one's has 512 */
    SPDK_CONTINUATION_BYTES = 22,
    SPDK_EVENT_SLOTS = 96,    /* the longest event: 8 arguments of 255 bytes */
    SPDK_CONTINUATION = 1280, /* the id of slots that continue the event before */
    SPDK_LCORES_MAX = 4096,
    SPDK_ARGUMENTS = 8,
    SPDK_RELATIONS = 16,
    SPDK_IN_GROUP = 64, /* tracepoints of a group: id = group * 64 + index */
    SPDK_GROUPS = 65536 / SPDK_IN_GROUP,
};

struct spdk_header {
    uint64_t file_size;
    uint16_t section_count;
    uint8_t reserved[6];
    uint64_t offsets[SPDK_SECTIONS]; /* 0: absent */
};

struct spdk_main {
    uint64_t tsc_rate;
    uint64_t clear_tsc; /* older entries are ignored */
};

struct spdk_owner { /* followed by the description, of the size that the section says */
    uint64_t tsc;   /* 0: the entry is unused */
    uint8_t type;
} __attribute__((packed));

struct spdk_letter { /* owner types and object types */
    uint8_t type;
    char prefix;
};

struct spdk_argument {
    char name[14];
    uint8_t type; /* 0 integer, 1 pointer, 2 string */
    uint8_t size;
};

struct spdk_tracepoint {
    char name[24];
    uint16_t id;
    uint8_t owner_type, object_type, new_object, argument_count;
    struct spdk_argument arguments[8];
    struct {
        uint8_t object_type, argument;
    } relations[16];
};

struct spdk_history { /* of one lcore; followed by u64 counts[num_tpoint_ids], then the slots */
    int32_t lcore;
    char thread_name[16];
    uint64_t num_entries;
    uint64_t num_tpoint_ids;
    uint64_t next_entry; /* counts up for ever */
};

struct spdk_slot { /* in a continuation the bytes begin at `owner` */
    uint64_t tsc;
    uint16_t id;
    uint16_t owner;
    uint32_t size;
    uint64_t object;
    uint8_t arguments[8];
};

/* ---- drained ----
 *
 * The sections are SPDK's, as they were last read, at offsets of this file's own; there are no histories. In the
 * header, `reserved` is SPDK_STREAM_MARK, and `file_size` the offset of the chunks, which follow one another to the
 * end of the file. Behind struct spdk_stream there may be struct relation, which relates the counter to the boot
 * clock, if no section begins before its end. A chunk is some slots of one lcore, as they were in its ring. Slots are
 * numbered from the first that the lcore ever wrote, so that what is missing between two chunks of an lcore was
 * overwritten before it could be copied. A chunk without slots says from where to count: slots before it are in
 * another file, or were not wanted. */
#define SPDK_STREAM_MARK "spoor1" /* 6 bytes, no NUL */
#define SPDK_CHUNK_CHECK 0x6b6e7568636b6470ull

struct spdk_stream { /* after struct spdk_header */
    uint64_t origin; /* the tsc from which times count; 0: that of the first event */
    /* number of the file, where there are several; 0: it is no file of `spoor record`, but what the rings had
     * at one instant */
    uint64_t number;
};

struct spdk_chunk { /* followed by the slots */
    uint64_t check; /* SPDK_CHUNK_CHECK ^ first ^ count ^ index */
    uint64_t first; /* number of the first slot */
    uint64_t count;
    uint32_t index; /* index in section 6 of the program's file */
    int32_t lcore;
    char thread_name[16];
    uint64_t num_tpoint_ids; /* as in the history */
    uint64_t reserved;
};

static inline uint64_t spdk_chunk_check(const struct spdk_chunk *chunk)
{
    return SPDK_CHUNK_CHECK ^ chunk->first ^ chunk->count ^ chunk->index;
}

/* ---- converted ----
 *
 * The format cannot say what is missing in the middle of a ring, or was never recorded. A file that `spoor convert`
 * made says it with events of a tracepoint with the name SPDK_MARK, which have three arguments of 8 bytes each: how
 * many entries or events were overwritten just before the event in its lcore; and, of the whole recording, how many
 * events the program could not record, and how many parts were damaged. Each lcore begins with one, at the time of
 * the file's first event, because SPDK's reader shows nothing from before the time that all lcores cover. */
#define SPDK_MARK "SPOOR_LOST"
enum { SPDK_MARK_ARGUMENTS = 3 };

static_assert(sizeof(struct spdk_header) == 72, "layout");
static_assert(sizeof(struct spdk_chunk) == 64, "layout");
static_assert(sizeof(struct spdk_owner) == 9, "layout");
static_assert(sizeof(struct spdk_tracepoint) == 190, "layout");
static_assert(sizeof(struct spdk_history) == 48, "layout");
static_assert(sizeof(struct spdk_slot) == 32, "layout");

#endif
