/* SPDX-License-Identifier: BSD-3-Clause */
/* Hostile recordings. The input's first byte chooses the format, so that the fuzzer need not find magic and
 * plausible sections first; the rest replaces bytes of a small good file, or is the file. */
#ifndef SPOOR_TESTS_FUZZ_RECORDINGS_H
#define SPOOR_TESTS_FUZZ_RECORDINGS_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/spdk.h"
#include "recorder/layout.h"

enum { FILE_BYTES = 56 << 10, SPOOR_RINGS = 24576, SPOOR_DIRECTORY = 9280 };

/* Makes a file of spoor's format with its areas in their places; the fuzzer fills the rest. is_old: of version 2, which
 * has no directory of rings. */
static void make_spoor(uint8_t *bytes, uint32_t kind, bool is_old)
{
    struct layout_header header = {
        .magic = LAYOUT_MAGIC,
        .version = is_old ? 2 : LAYOUT_VERSION,
        .byte_order = LAYOUT_BYTE_ORDER,
        .header_bytes = is_old ? LAYOUT_V2_HEADER_BYTES : sizeof header,
        .kind = kind,
        .counter_hz = 1000000000,
        .control_offset = 4096,
        .control_bytes = 4096,
        .enable_offset = 8192,
        .enable_count = 64,
        .owners_offset = 8256,
        .owner_count = 4,
        .owner_bytes = sizeof(struct layout_owner),
        .sections_offset = 12288,
        .sections_bytes = SPOOR_RINGS - 12288,
        .rings_offset = SPOOR_RINGS,
        .v2_ring_stride = is_old ? 4096 + 8192 + 4096 : 0,
        .ring_limit = 2,
        .ring_bytes = 8192,
        .block_bytes = LAYOUT_BLOCK_BYTES,
        .directory_offset = is_old ? 0 : SPOOR_DIRECTORY,
        .place_bytes = is_old ? 0 : sizeof(struct layout_place),
    };
    memcpy(bytes, &header, sizeof header);
    const struct layout_place places[] = {{SPOOR_RINGS, 8192, LAYOUT_RING_USED},
                                          {SPOOR_RINGS + 16384, 8192, LAYOUT_RING_ENDED}};
    struct layout_control control = {.sections_used = 512, .rings = is_old ? 0 : 2};
    memcpy(bytes + 4096, &control, sizeof control);
    memcpy(bytes + 4096 + LAYOUT_V2_STATES, "\2\3", is_old ? 2 : 0);
    memcpy(bytes + SPOOR_DIRECTORY, places, is_old ? 0 : sizeof places);
    struct layout_section section = {
        .type = LAYOUT_SECTION_OBJECTS, .item_bytes = sizeof(struct layout_object), .count = 1, .bytes = 56};
    struct layout_object object = {.id = 1, .letter = 'i'};
    memcpy(bytes + 12288, &section, sizeof section);
    memcpy(bytes + 12288 + 24, &object, sizeof object);
    section = (struct layout_section){.type = LAYOUT_SECTION_TRACEPOINTS,
                                      .item_bytes = sizeof(struct layout_tracepoint),
                                      .count = 2,
                                      .bytes = 88 + 8};
    struct layout_tracepoint tracepoint = {
        .id = 1, .object = 1, .life = LAYOUT_LIFE_BEGINS, .argument_count = 2};
    uint8_t *at = bytes + 12288 + 56;
    memcpy(at, &section, sizeof section);
    memcpy(at + 24, &tracepoint, sizeof tracepoint);
    tracepoint =
        (struct layout_tracepoint){.id = 2, .object = 1, .life = LAYOUT_LIFE_ENDS, .argument_count = 1};
    memcpy(at + 56, &tracepoint, sizeof tracepoint);
    at += 96;
    section = (struct layout_section){.type = LAYOUT_SECTION_ARGUMENTS,
                                      .item_bytes = sizeof(struct layout_argument),
                                      .count = 1,
                                      .bytes = 48};
    struct layout_argument argument = {.tracepoint = 1, .kind = LAYOUT_KIND_STRING, .size = 8};
    memcpy(at, &section, sizeof section);
    memcpy(at + 24, &argument, sizeof argument);
    const struct layout_ring certain = {.committed = 1 << 12, .position_base = 1 << 12};
    for (unsigned ring = 0; ring < 2 && kind == LAYOUT_KIND_RINGS; ring++)
        memcpy(bytes + SPOOR_RINGS + ring * 16384, &certain, sizeof certain);
    for (unsigned ring = 0; ring < 2; ring++)
        for (uint64_t sequence = 1; sequence <= 2; sequence++) {
            uint8_t *place = bytes + SPOOR_RINGS +
                             (kind == LAYOUT_KIND_STREAM ? (ring * 2 + sequence - 1) * 4096
                                                         : ring * 16384 + 4096 + sequence % 2 * 4096);
            struct layout_block block = {.sequence = sequence,
                                         .number = sequence * 2,
                                         .ring = ring,
                                         .first = LAYOUT_BLOCK_HEADER_BYTES};
            const uint64_t position = sequence * LAYOUT_BLOCK_WORDS + LAYOUT_BLOCK_HEADER_BYTES / 8;
            block.words[0] = layout_record_start(position, 1, 64);
            block.words[1] = sequence * 1000;
            block.words[4] = 16ull << 32 | 48ull << 16 | 16;
            block.words[8] = layout_record_start(position + 8, 2, 40);
            block.words[9] = sequence * 1000 + 10;
            memcpy(place, &block, sizeof block);
        }
}

static void make_spdk(uint8_t *bytes)
{
    struct spdk_header header = {FILE_BYTES, SPDK_SECTIONS, {0}, {128, 1024, 0, 2048, 2304, 2560, 8192}};
    struct spdk_main main_section = {1000000000, 0};
    struct spdk_tracepoint tracepoints[2] = {
        {"BEGIN", 65, 1, 1, 1, 2, {{"text", 2, 40}, {"n", 0, 8}}, {{0}}},
        {"END", 66, 1, 1, 0, 1, {{"ctx", 1, 8}}, {{1, 0}}},
    };
    struct spdk_history history = {0, "reactor", 256, 1280, 6};
    const uint64_t offset = 8704;
    uint16_t two[2] = {2, 64};
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + 128, &main_section, sizeof main_section);
    memcpy(bytes + 1024, two, sizeof two);
    memcpy(bytes + 2048, two, 2);
    memcpy(bytes + 2048 + 128, "\1b\2t", 4);
    memcpy(bytes + 2304, two, 2);
    memcpy(bytes + 2304 + 128, "\1i\2r", 4);
    memcpy(bytes + 2560, two, 2);
    memcpy(bytes + 2560 + 128, tracepoints, sizeof tracepoints);
    memcpy(bytes + 8192, two, 2);
    memcpy(bytes + 8192 + 128, &offset, sizeof offset);
    memcpy(bytes + offset, &history, sizeof history);
    struct spdk_slot slots[] = {
        {10, 65, 0, 0, 7, {0}}, {10, 1280, 0, 0, 0, {0}}, {10, 1280, 0, 0, 0, {0}}, {20, 66, 0, 3, 7, {7}}};
    memcpy(bytes + offset + sizeof history + 1280 * 8, slots, sizeof slots);
}

/* Makes a file with chunks in place of the history: two of lcore 0 with a gap between them, an empty one, one of
 * lcore 3. */
static void make_spdk_stream(uint8_t *bytes)
{
    static const struct spdk_slot slots[] = {
        {10, 65, 0, 0, 7, {0}}, {10, 1280, 0, 0, 0, {0}}, {10, 1280, 0, 0, 0, {0}}, {20, 66, 0, 3, 7, {7}}};
    static const struct spdk_chunk chunks[] = {
        {.first = 5, .count = 4, .num_tpoint_ids = 1280, .thread_name = "reactor"},
        {.first = 100, .index = 3, .lcore = 3},
        {.first = 12, .count = 4, .num_tpoint_ids = 1280},
        {.first = 101, .count = 4, .index = 3, .lcore = 3},
    };
    struct spdk_header header;
    uint64_t at = 8704;
    make_spdk(bytes);
    memcpy(&header, bytes, sizeof header);
    memcpy(header.reserved, SPDK_STREAM_MARK, sizeof header.reserved);
    header.offsets[SPDK_SECTION_LCORES] = 0;
    header.file_size = at;
    memcpy(bytes, &header, sizeof header);
    memset(bytes + at, 0, FILE_BYTES - at);
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        struct spdk_chunk chunk = chunks[i];
        chunk.check = spdk_chunk_check(&chunk);
        memcpy(bytes + at, &chunk, sizeof chunk);
        at += sizeof chunk;
        memcpy(bytes + at, slots, chunk.count * sizeof slots[0]);
        at += chunk.count * sizeof slots[0];
    }
}

/* Makes such a file behind a relation to the boot clock. */
static void make_spdk_related(uint8_t *bytes)
{
    enum {
        MOVED = sizeof(struct relation),
        BEHIND = sizeof(struct spdk_header) + sizeof(struct spdk_stream)
    };
    static struct relation relation = {.since = 5, .realtime = 1000, .apart = 1000000000};
    struct spdk_header header;
    make_spdk_stream(bytes);
    memmove(bytes + BEHIND + MOVED, bytes + BEHIND, FILE_BYTES - BEHIND - MOVED);
    memcpy(&header, bytes, sizeof header);
    header.file_size += MOVED;
    for (int i = 0; i < SPDK_SECTIONS; i++)
        header.offsets[i] += header.offsets[i] ? MOVED : 0;
    memcpy(bytes, &header, sizeof header);
    relation.count = 3;
    relation.check = RELATION_CHECK ^ relation.count;
    for (uint64_t i = 0; i < relation.count; i++) {
        struct layout_clock *clock = &relation.clocks[i];
        *clock =
            (struct layout_clock){.counter = 15 + i * 100000000, .boottime = 77 + i * 100000001, .error = 3};
        clock->check = layout_clock_check(clock);
    }
    memcpy(bytes + BEHIND, &relation, sizeof relation);
}

/* Damages the file: three bytes say where, one how many, and the bytes that replace those follow. */
static void damage(uint8_t *bytes, const uint8_t *data, size_t size)
{
    while (size >= 5) {
        const size_t at = ((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % FILE_BYTES;
        size_t length = data[3] % 16 + 1u;
        data += 4, size -= 4;
        if (length > size)
            length = size;
        if (length > FILE_BYTES - at)
            length = FILE_BYTES - at;
        memcpy(bytes + at, data, length);
        data += length, size -= length;
    }
}

/* Returns a file in memory. Bit 7 of the first byte: of an older version; bit 5 is not used. */
static int hostile_recording(const uint8_t *data, size_t size)
{
    static uint8_t bytes[FILE_BYTES];
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    size_t length = FILE_BYTES;
    if (file < 0)
        abort();
    memset(bytes, 0, sizeof bytes);
    switch (data[0] % 6) {
    case 0: make_spoor(bytes, LAYOUT_KIND_RINGS, data[0] & 128); break;
    case 1: make_spoor(bytes, LAYOUT_KIND_STREAM, data[0] & 128); break;
    case 2: make_spdk(bytes); break;
    case 4: make_spdk_stream(bytes); break;
    case 5: make_spdk_related(bytes); break;
    default: length = size - 1 < FILE_BYTES ? size - 1 : FILE_BYTES; memcpy(bytes, data + 1, length);
    }
    if (data[0] % 6 != 3)
        damage(bytes, data + 1, size - 1);
    if (data[0] & 64)
        length = length / 2 + data[0];
    if (length > FILE_BYTES)
        length = FILE_BYTES;
    if (write(file, bytes, length) != (ssize_t)length)
        abort();
    return file;
}

#endif
