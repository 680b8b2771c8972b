/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of SPDK's trace files, little-endian, in the sectioned form. */
#ifndef SPOOR_READER_SPDK_H
#define SPOOR_READER_SPDK_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

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
    SPDK_SECTION_HEADER = 128, /* of all but the first, which has 512 */
    SPDK_CONTINUATION_BYTES = 22,
};

struct spdk_header {
    uint64_t file_size;
    uint16_t section_count;
    uint8_t reserved[6];
    uint64_t offsets[SPDK_SECTIONS]; /* 0: absent */
};

struct spdk_main {
    uint64_t tsc_rate;
    uint64_t clear_tsc; /* entries that are older are to be ignored */
};

struct spdk_owner { /* then the description, of the size that the section says */
    uint64_t tsc;   /* 0: unused */
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

struct spdk_history { /* of one lcore; then u64 counts[num_tpoint_ids], then the slots */
    int32_t lcore;
    char thread_name[16];
    uint64_t num_entries;
    uint64_t num_tpoint_ids;
    uint64_t next_entry; /* counts up for ever */
};

struct spdk_slot { /* a continuation has its bytes from `owner` on */
    uint64_t tsc;
    uint16_t id;
    uint16_t owner;
    uint32_t size;
    uint64_t object;
    uint8_t arguments[8];
};

static_assert(sizeof(struct spdk_header) == 72, "layout");
static_assert(sizeof(struct spdk_owner) == 9, "layout");
static_assert(sizeof(struct spdk_tracepoint) == 190, "layout");
static_assert(sizeof(struct spdk_history) == 48, "layout");
static_assert(sizeof(struct spdk_slot) == 32, "layout");

#endif
