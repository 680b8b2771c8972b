/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of reading spoor's own format, made by hand: rings, streams, missing parts, and damage. Whether libspoor
 * writes what is read here is tested with a real program: tests/programs/reader.sh. */
#include "reader_testing.h"

#include <errno.h>

#include "reader/drain.h"
#include "reader/filter.h"
#include "reader/ahead.h"
#include "reader/latency.h"
#include "reader/spoor.h"
#include "reader/story.h"
#include "recorder/layout.h"

enum {
    RINGS = 2,
    BLOCKS = 4,
    STRIDE = 4096 + BLOCKS * 4096 + 4096,
    OWNERS = 4,
    SECTIONS_OFFSET = 16384,
    DIRECTORY_OFFSET = 9280,
    RINGS_OFFSET = 20480,
};

static uint32_t version; /* of the files that make_file makes: every test is run with both */

struct file {
    struct layout_header header;
    uint8_t bytes[RINGS_OFFSET + RINGS * STRIDE];
    size_t sections;
};

static uint8_t *ring_at(struct file *file, unsigned ring)
{
    return file->bytes + RINGS_OFFSET + ring * STRIDE;
}

static void put_section(struct file *file, uint32_t type, const void *items, size_t size, uint32_t count,
                        const char *text, size_t length)
{
    const struct layout_section section = {.type = type,
                                           .item_bytes = (uint32_t)size,
                                           .count = count,
                                           .bytes = sizeof section + (size * count + length + 7) / 8 * 8};
    uint8_t *at = file->bytes + SECTIONS_OFFSET + file->sections;
    memcpy(at, &section, sizeof section);
    memcpy(at + sizeof section, items, size * count);
    memcpy(at + sizeof section + size * count, text, length);
    file->sections += section.bytes;
}

static struct layout_clock clock_at(uint64_t counter, uint64_t time)
{
    struct layout_clock clock = {.counter = counter, .monotonic = time, .boottime = time, .error = 10};
    clock.check = layout_clock_check(&clock);
    return clock;
}

/* Makes a recording whose counter has 2 GHz and which was opened at counter 1000000, 5 s. The caller frees it. */
static struct file *make_file(void)
{
    static const char names[] = "\0bdev\0START\0DONE\0NOTE\0type\0text\0IO_READ\0IO_WRITE\0parent";
#define NAME(size, offset) (uint32_t)(sizeof(struct layout_section) + (size) + (offset))
    struct file *file = calloc(1, sizeof *file);
    const bool is_old = version == SPOOR_VERSION_STATES;
    const struct layout_object objects[] = {{.id = 1, .letter = 'i'}, {.id = 2, .letter = 'r'}};
    const struct layout_owner_type owner = {.id = 1, .letter = 'b'};
    const struct layout_group group = {.id = 1, .name = NAME(sizeof group, 1)};
    const struct layout_tracepoint tracepoints[3] = {
        {.id = 1,
         .group = 1,
         .object = 1,
         .life = LAYOUT_LIFE_BEGINS,
         .argument_count = 2,
         .name = NAME(sizeof tracepoints, 6)},
        {.id = 2,
         .group = 1,
         .object = 1,
         .life = LAYOUT_LIFE_ENDS,
         .index = 1,
         .name = NAME(sizeof tracepoints, 12)},
        {.id = 3, .group = 1, .argument_count = 1, .index = 2, .name = NAME(sizeof tracepoints, 17)},
    };
    const struct layout_argument arguments[3] = {
        {.tracepoint = 1,
         .index = 0,
         .kind = LAYOUT_KIND_UNSIGNED,
         .size = 4,
         .enumeration = 7,
         .name = NAME(sizeof arguments, 22)},
        {.tracepoint = 1,
         .index = 1,
         .kind = LAYOUT_KIND_POINTER,
         .size = 8,
         .name = NAME(sizeof arguments, 49)},
        {.tracepoint = 3,
         .index = 0,
         .kind = LAYOUT_KIND_STRING,
         .size = 8,
         .name = NAME(sizeof arguments, 27)},
    };
    const struct layout_enumerator values[2] = {
        {.enumeration = 7, .value = 2, .name = NAME(sizeof values, 40)},
        {.enumeration = 7, .value = 1, .name = NAME(sizeof values, 32)}};
    const struct layout_relation relation = {.tracepoint = 1, .argument = 1, .object = 2};
    file->header = (struct layout_header){
        .version = version,
        .byte_order = LAYOUT_BYTE_ORDER,
        .header_bytes = is_old ? LAYOUT_V2_HEADER_BYTES : sizeof file->header,
        .kind = LAYOUT_KIND_RINGS,
        .counter_kind = LAYOUT_COUNTER_TSC,
        .counter_hz = 2000000000,
        .opened = clock_at(1000000, 5000000000),
        .control_offset = 4096,
        .control_bytes = 4096,
        .enable_offset = 8192,
        .enable_count = 64,
        .owners_offset = 8256,
        .owner_count = OWNERS,
        .owner_bytes = sizeof(struct layout_owner),
        .sections_offset = SECTIONS_OFFSET,
        .sections_bytes = RINGS_OFFSET - SECTIONS_OFFSET,
        .rings_offset = RINGS_OFFSET,
        .v2_ring_stride = is_old ? STRIDE : 0,
        .ring_limit = RINGS,
        .ring_bytes = BLOCKS * 4096,
        .block_bytes = LAYOUT_BLOCK_BYTES,
        .directory_offset = is_old ? UINT64_MAX : DIRECTORY_OFFSET, /* what the old header does not have */
        .place_bytes = is_old ? UINT64_MAX : sizeof(struct layout_place),
    };
    memcpy(file->header.magic, LAYOUT_MAGIC, sizeof file->header.magic);
    put_section(file, LAYOUT_SECTION_ENUMERATORS, values, sizeof *values, 2, names, sizeof names);
    put_section(file, LAYOUT_SECTION_OBJECTS, objects, sizeof *objects, 2, names, sizeof names);
    put_section(file, LAYOUT_SECTION_OWNER_TYPES, &owner, sizeof owner, 1, names, sizeof names);
    /* a section of a later version is skipped */
    put_section(file, 99, &owner, sizeof owner, 1, names, sizeof names);
    put_section(file, LAYOUT_SECTION_GROUPS, &group, sizeof group, 1, names, sizeof names);
    put_section(file, LAYOUT_SECTION_TRACEPOINTS, tracepoints, sizeof *tracepoints, 3, names, sizeof names);
    put_section(file, LAYOUT_SECTION_ARGUMENTS, arguments, sizeof *arguments, 3, names, sizeof names);
    put_section(file, LAYOUT_SECTION_RELATIONS, &relation, sizeof relation, 1, names, sizeof names);
    return file;
}

static struct layout_control *control_of(struct file *file)
{
    return (struct layout_control *)(file->bytes + 4096);
}

static struct layout_block *block_of(struct file *file, unsigned ring, uint64_t sequence)
{
    return (struct layout_block *)(ring_at(file, ring) + 4096 + sequence % BLOCKS * 4096);
}

static struct layout_place *place_of(struct file *file, unsigned ring)
{
    return (struct layout_place *)(file->bytes + DIRECTORY_OFFSET) + ring;
}

static void set_used(struct file *file, unsigned ring)
{
    if (version == SPOOR_VERSION_STATES) {
        file->bytes[4096 + LAYOUT_V2_STATES + ring] = LAYOUT_RING_USED;
        return;
    }
    control_of(file)->rings = RINGS;
    *place_of(file, ring) =
        (struct layout_place){RINGS_OFFSET + ring * STRIDE, BLOCKS * 4096, LAYOUT_RING_USED};
}

static struct layout_block *begin_block(struct file *file, unsigned ring, uint64_t sequence, uint64_t number,
                                        uint64_t counter)
{
    struct layout_block *block = block_of(file, ring, sequence);
    struct layout_ring *control = (struct layout_ring *)ring_at(file, ring);
    set_used(file, ring);
    control->committed = control->position_base =
        (sequence + 1) * LAYOUT_BLOCK_WORDS; /* everything in a copy is certain */
    *block = (struct layout_block){.sequence = sequence,
                                   .number = number,
                                   .counter = counter,
                                   .ring = ring,
                                   .tid = 10 + ring,
                                   .thread = "main",
                                   .first = LAYOUT_BLOCK_HEADER_BYTES};
    return block;
}

/* Appends a record to a block; *at is an index into its words. */
static void add_record(struct layout_block *block, unsigned *at, uint32_t id, uint64_t stamp, uint64_t object,
                       uint32_t owner, const uint64_t *words, unsigned count)
{
    struct layout_record *record = (struct layout_record *)&block->words[*at];
    const uint64_t position = block->sequence * LAYOUT_BLOCK_WORDS + LAYOUT_BLOCK_HEADER_BYTES / 8 + *at;
    *record =
        (struct layout_record){layout_record_start(position, id, 32 + count * 8), stamp, object, owner, 0};
    if (count)
        memcpy(record->arguments, words, count * 8);
    *at += 4 + count;
}

static void finish(struct file *file)
{
    control_of(file)->sections_used = file->sections;
    memcpy(file->bytes, &file->header, sizeof file->header);
}

static struct recording *open_file(struct file *file)
{
    struct recording *recording;
    struct text why = {0};
    finish(file);
    if (reader_open_bytes(file->bytes, sizeof file->bytes, "test", &recording, &why))
        fail_msg("%s", text_string(&why));
    text_free(&why);
    return recording;
}

static void check_list(struct file *file, const char *expected)
{
    struct recording *recording = open_file(file);
    struct text out = reader_list(recording, 0);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    recording_close(recording);
}

static void test_events_are_merged_by_time(void **state)
{
    (void)state;
    struct file *file = make_file();
    struct layout_owner owners[2] = {
        {.version = 2,
         .since = 0,
         .until = 1005000,
         .id = 2,
         .type = 1,
         .description_bytes = 3,
         .description = "old"},
        {.version = 4,
         .since = 1005000,
         .until = UINT64_MAX,
         .id = 2,
         .type = 1,
         .description_bytes = 3,
         .description = "n\033w"},
    };
    memcpy(file->bytes + 8256, owners, sizeof owners);
    unsigned at = 0;
    struct layout_block *block = begin_block(file, 0, 1, 0, 1000000);
    add_record(block, &at, 1, 1002000, 0x10, 2, (uint64_t[]){2, 0x99}, 2);
    add_record(block, &at, 2, 1006001, 0x10, 2, NULL, 0);
    at = 0;
    block = begin_block(file, 1, 1, 0, 1000000);
    const char text[8] = "hi\n!";
    add_record(block, &at, 3, 1004000, 0, 0, (uint64_t[]){9ull << 32 | 40 << 16 | 4, 0}, 2);
    memcpy(&block->words[at - 1], text, 8);
    add_record(block, &at, 3, 1005000, 0, 0, (uint64_t[]){0}, 1);
    check_list(
        file,
        "10:      1.000 b02 old START                      id:    i0               type:  IO_WRITE      "
        "   parent:0x99             thread:main\n"
        "11:      2.000         NOTE                       text:  hi\\x0a!..        thread:main\n"
        "11:      2.500         NOTE                       text:  (null)           thread:main\n"
        "10:      3.001 b02 n?w DONE                       id:    i0               time:  2.001            "
        "thread:main\n");
    free(file);
}

static void test_times_follow_the_triples(void **state)
{
    (void)state;
    struct file *file = make_file();
    unsigned at = 0;
    /* The counter really runs at 1.99 GHz, as a reading 1 s later shows. */
    control_of(file)->clocks[0] = clock_at(1000000 + 1990000000, 6000000000);
    control_of(file)->clocks[1] = clock_at(77, 1); /* read while it was being written */
    control_of(file)->clocks[1].check++;
    struct layout_block *block = begin_block(file, 0, 1, 0, 1000000);
    add_record(block, &at, 2, 1000000 + 995000000, 0x10, 0, NULL, 0);
    add_record(block, &at, 2, 1000000 + 3980000000, 0x10, 0, NULL, 0);
    struct recording *recording = open_file(file);
    struct recording_event event;
    assert_int_equal(recording_next(recording, &event), 1);
    assert_int_equal(recording_time(recording, event.stamp), 5500000000);
    assert_int_equal(recording_next(recording, &event), 1);
    assert_int_equal(recording_time(recording, event.stamp), 7000000000);
    assert_int_equal(recording_next(recording, &event), 0);
    recording_close(recording);
    free(file);
}

static void test_what_is_missing_is_counted_in_place(void **state)
{
    (void)state;
    struct file *file = make_file();
    unsigned at = 0;
    /* There were 6 records before block 3; block 4 was overwritten while it was copied; block 5 has a record that
     * was never finished. */
    struct layout_block *block = begin_block(file, 0, 3, 6, 1001000);
    add_record(block, &at, 2, 1001000, 1, 0, NULL, 0);
    add_record(block, &at, 2, 1002000, 1, 0, NULL, 0);
    block = begin_block(file, 0, 4, 8, 1003000);
    at = 0;
    add_record(block, &at, 2, 1003000, 1, 0, NULL, 0);
    block = begin_block(file, 0, 5, 11, 1004000);
    block->opened_before = 4 + BLOCKS;
    at = 0;
    add_record(block, &at, 2, 1004000, 1, 0, NULL, 0);
    add_record(block, &at, 2, 1004500, 1, 0, NULL, 0);
    block->words[4] ^= (uint64_t)1 << 40; /* the record's mark */
    block = begin_block(file, 0, 6, 14, 1005000);
    at = 0;
    add_record(block, &at, 2, 1005000, 1, 0, NULL, 0);
    struct recording *recording = open_file(file);
    struct recording_event event;
    static const uint64_t lost[] = {6, 0, 3, 2};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(recording_next(recording, &event), 1);
        assert_int_equal(event.lost, lost[i]);
    }
    assert_int_equal(recording_next(recording, &event), 0);
    assert_int_equal(recording_counts(recording).overwritten, 11);
    recording_close(recording);
    /* After a clear, older events are neither reported as lost nor shown. */
    control_of(file)->cleared = 1004000;
    recording = open_file(file);
    assert_int_equal(recording_next(recording, &event), 1);
    assert_int_equal(event.stamp, 1004000);
    recording_close(recording);
    free(file);
}

/* The files of these tests are not the ones that their headers name, so they count as copies. */
static void test_of_a_copy_only_what_is_certain(void **state)
{
    (void)state;
    struct file *file = make_file();
    struct layout_ring *ring = (struct layout_ring *)ring_at(file, 0);
    unsigned at;
    for (uint64_t sequence = 3; sequence <= 5; sequence++) {
        struct layout_block *block = begin_block(file, 0, sequence, sequence * 2, 1000000 + sequence * 1000);
        at = 0;
        add_record(block, &at, 2, 1000000 + sequence * 1000, 1, 0, NULL, 0);
        add_record(block, &at, 2, 1000001 + sequence * 1000, 1, 0, NULL, 0);
    }
    /* The second record of block 4 was not committed when the copy began; block 3 was overwritten when it ended. */
    ring->committed = 4 * LAYOUT_BLOCK_WORDS + LAYOUT_BLOCK_HEADER_BYTES / 8 + 4;
    struct layout_tail *tail = (struct layout_tail *)(ring_at(file, 0) + 4096 + BLOCKS * 4096);
    tail->opened_before = 3 + BLOCKS; /* the block is in the last slot */
    struct recording *recording = open_file(file);
    struct recording_event event;
    assert_int_equal(recording_next(recording, &event), 1);
    assert_int_equal(event.stamp, 1004000);
    assert_int_equal(event.lost, 8);
    assert_int_equal(recording_next(recording, &event), 0);
    assert_int_equal(recording_counts(recording).damaged, 0);
    recording_close(recording);
    free(file);
}

static void test_stream(void **state)
{
    (void)state;
    struct file *file = make_file();
    uint8_t *at_block = file->bytes + RINGS_OFFSET;
    unsigned at = 0;
    file->header.kind = LAYOUT_KIND_STREAM;
    /* the second file of a rotation: no record counts as lost before the empty block */
    control_of(file)->from = 1;
    struct layout_block *block = begin_block(file, 0, 7, 100, 1000);
    block->first = LAYOUT_BLOCK_BYTES;
    memmove(at_block, block, 4096);
    block = calloc(1, 4096);
    *block =
        (struct layout_block){.sequence = 8, .number = 100, .ring = 0, .first = LAYOUT_BLOCK_HEADER_BYTES};
    add_record(block, &at, 2, 1001000, 1, 0, NULL, 0);
    memcpy(at_block + 4096, block, 4096); /* the block was not full when it was first written */
    add_record(block, &at, 2, 1002000, 1, 0, NULL, 0);
    memcpy(at_block + 8192, block, 4096);
    *block =
        (struct layout_block){.sequence = 12, .number = 110, .ring = 0, .first = LAYOUT_BLOCK_HEADER_BYTES};
    at = 0;
    add_record(block, &at, 2, 1003000, 1, 0, NULL, 0);
    memcpy(at_block + 12288, block, 4096);
    memset(at_block + 16384, 0, sizeof file->bytes - RINGS_OFFSET - 16384);
    struct recording *recording = open_file(file);
    struct recording_event event;
    static const uint64_t lost[] = {0, 0, 8};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(recording_next(recording, &event), 1);
        assert_int_equal(event.stamp, 1001000 + i * 1000);
        assert_int_equal(event.lost, lost[i]);
    }
    assert_int_equal(recording_next(recording, &event), 0);
    recording_close(recording);
    free(block);
    free(file);
}

static void test_damage_is_an_error(void **state)
{
    (void)state;
    struct recording *recording;
    struct text why = {0};
    const bool is_old = version == SPOOR_VERSION_STATES;
    const struct {
        size_t offset;
        uint64_t value;
    } damages[] = {
        {offsetof(struct layout_header, counter_hz), 0},
        {offsetof(struct layout_header, control_offset), 1ull << 63},
        {offsetof(struct layout_header, owner_count), 1ull << 60},
        {offsetof(struct layout_header, sections_bytes), UINT64_MAX},
        {offsetof(struct layout_header, rings_offset), UINT64_MAX - 7},
        {offsetof(struct layout_header, ring_bytes), 12288},
        {offsetof(struct layout_header, ring_limit), 1ull << 40},
        {is_old ? offsetof(struct layout_header, v2_ring_stride)
                : offsetof(struct layout_header, place_bytes),
         4096},
        {is_old ? offsetof(struct layout_header, control_bytes)
                : offsetof(struct layout_header, directory_offset),
         is_old ? sizeof(struct layout_control) : 1 << 20},
        {offsetof(struct layout_header, version), LAYOUT_VERSION + 1 + ((uint64_t)LAYOUT_BYTE_ORDER << 32)},
        {offsetof(struct layout_header, block_bytes), 64},
        {offsetof(struct layout_header, required), 1},
    };
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct file *file = make_file();
        finish(file);
        memcpy(file->bytes + damages[i].offset, &damages[i].value, 8);
        text_clear(&why);
        assert_true(reader_open_bytes(file->bytes, sizeof file->bytes, "test", &recording, &why) < 0);
        assert_true(why.length > 0);
        assert_null(recording);
        free(file);
    }
    text_clear(&why);
    assert_true(reader_open_bytes("nothing", 7, "test", &recording, &why) < 0);
    assert_string_equal(text_string(&why), "test is no recording, neither of spoor nor of SPDK");
    text_free(&why);
}

/* Of a directory that was damaged, entries that are impossible are passed over; rings that overlap are refused. */
static void test_a_damaged_directory(void **state)
{
    (void)state;
    static const struct layout_place wrong[] = {
        {RINGS_OFFSET + STRIDE + 8, BLOCKS * 4096, LAYOUT_RING_USED},
        {RINGS_OFFSET - 4096, 8192, LAYOUT_RING_USED},
        {0, BLOCKS * 4096, LAYOUT_RING_USED},
        {UINT64_MAX - 4095, BLOCKS * 4096, LAYOUT_RING_USED},
        {INT64_MAX - 4095, BLOCKS * 4096, LAYOUT_RING_USED},
        {1ull << 40, BLOCKS * 4096, LAYOUT_RING_USED}, /* behind the end of the file */
        {RINGS_OFFSET + STRIDE, 0, LAYOUT_RING_USED},
        {RINGS_OFFSET + STRIDE, 4096, LAYOUT_RING_ENDED},
        {RINGS_OFFSET + STRIDE, 12288, LAYOUT_RING_ENDED},
        {RINGS_OFFSET + STRIDE, BLOCKS * 8192, LAYOUT_RING_USED}, /* more than the largest ring */
        {RINGS_OFFSET + STRIDE, UINT32_MAX, LAYOUT_RING_USED},
        {RINGS_OFFSET + STRIDE, BLOCKS * 4096, 77},
        {RINGS_OFFSET, BLOCKS * 4096, LAYOUT_RING_MAKING},
    };
    static const struct layout_place over[] = {
        {RINGS_OFFSET, BLOCKS * 4096, LAYOUT_RING_USED},
        {RINGS_OFFSET + 4096, 8192, LAYOUT_RING_ENDED},
        {RINGS_OFFSET + STRIDE - 4096, BLOCKS * 4096, LAYOUT_RING_USED},
    };
    const uint32_t before = version;
    version = LAYOUT_VERSION;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong + sizeof over / sizeof *over; i++) {
        const bool overlaps = i >= sizeof wrong / sizeof *wrong;
        struct file *file = make_file();
        unsigned at = 0;
        add_record(begin_block(file, 0, 1, 0, 1000000), &at, 2, 1000000, 0x10, 0, NULL, 0);
        *place_of(file, 1) = overlaps ? over[i - sizeof wrong / sizeof *wrong] : wrong[i];
        control_of(file)->rings = i % 2 ? RINGS : UINT64_MAX;
        finish(file);
        struct recording *recording;
        struct text why = {0};
        const int error = reader_open_bytes(file->bytes, sizeof file->bytes, "test", &recording, &why);
        if (overlaps) {
            assert_int_equal(error, -EINVAL);
            assert_string_equal(text_string(&why), "test is damaged: its rings overlap");
        } else {
            struct recording_event event;
            assert_int_equal(error, 0);
            assert_int_equal(recording_next(recording, &event), 1);
            assert_int_equal(recording_next(recording, &event), 0);
            recording_close(recording);
        }
        text_free(&why);
        free(file);
    }
    version = before;
}

static void test_object_lives_and_stories(void **state)
{
    (void)state;
    struct file *file = make_file();
    unsigned at = 0;
    struct layout_block *block = begin_block(file, 0, 1, 0, 1000000);
    for (unsigned i = 0; i < 10;
         i++) { /* lives of 10, 20, … 100 ticks of half a nanosecond; all with the same address */
        add_record(block, &at, 1, 1000000 + i * 1000, 0x10, 0, (uint64_t[]){1, 0}, 2);
        add_record(block, &at, 2, 1000000 + i * 1000 + (i + 1) * 10, 0x10, 0, NULL, 0);
    }
    struct recording *recording = open_file(file);
    struct objects *objects = objects_make(recording);
    struct latency_table table;
    struct stories stories;
    struct recording_event event;
    struct object_step step;
    latency_table_make(&table, recording);
    stories_make(&stories, 3, -1);
    while (recording_next(recording, &event) == 1) {
        objects_follow(objects, &event, &step);
        latency_table_add(&table, &event, &step);
        stories_see(&stories, &event, &step);
    }
    assert_int_equal(table.events, 20);
    assert_int_equal(table.lives[0]->latency.count, 10);
    assert_int_equal(table.lives[0]->latency.largest, 50);
    assert_int_equal((uint64_t)table.lives[0]->latency.sum, 275);
    assert_int_equal(latency_quantile(&table.lives[0]->latency, 0.5), 25);
    assert_int_equal(stories.count, 3);
    assert_int_equal(stories.objects[0].number, 9);
    assert_int_equal(stories.objects[2].number, 7);
    latency_table_free(&table);
    stories_free(&stories);
    objects_free(objects);
    recording_close(recording);
    free(file);
}

/* A million short lives beside a few that last: the memory stays bounded, and the living objects stay known. */
static void test_many_short_lives(void **state)
{
    enum { SHORT = 1000000, LONG = 1000 };
    struct recording_tracepoint begins = {.id = 1, .object = 0, .life = RECORDING_BEGINS};
    struct recording_tracepoint ends = {.id = 2, .object = 0, .life = RECORDING_ENDS};
    struct file *file = make_file();
    struct recording *recording = open_file(file);
    struct objects *objects = objects_make(recording);
    struct recording_event event = {.stamp = 1};
    struct object_step step;
    (void)state;
    for (uint64_t i = 0; i < LONG + SHORT; i++) {
        event = (struct recording_event){.stamp = i + 1, .tracepoint = &begins, .object = i};
        assert_int_equal(objects_follow(objects, &event, &step), 0);
        assert_int_equal(step.own->number, i);
        event.tracepoint = &ends;
        if (i >= LONG)
            assert_int_equal(objects_follow(objects, &event, &step), 0);
    }
    assert_true(objects_bytes(objects) < 10 << 20);
    for (uint64_t i = 0; i < LONG; i++) {
        event = (struct recording_event){.stamp = 2 * SHORT, .tracepoint = &ends, .object = i};
        assert_int_equal(objects_follow(objects, &event, &step), 0);
        assert_int_equal(step.own->number, i);
        assert_int_equal(step.own->begun, i + 1);
    }
    event.object = LONG + SHORT - 1; /* the object that ended last is still remembered */
    assert_int_equal(objects_follow(objects, &event, &step), 0);
    assert_int_equal(step.own->number, LONG + SHORT - 1);
    objects_free(objects);
    recording_close(recording);
    free(file);
}

/* ---- reading ahead ---- */

enum { STREAM_BLOCKS = (sizeof((struct file *)0)->bytes - RINGS_OFFSET) / LAYOUT_BLOCK_BYTES };

/* A stream of three rings with gaps, whose records are about few objects, so that some of them go from ring to ring. */
static struct file *make_random_stream(unsigned seed)
{
    enum { SOME_RINGS = 3, OBJECTS = 5 };
    struct file *file = make_file();
    uint64_t numbers[SOME_RINGS] = {0}, sequences[SOME_RINGS] = {0}, stamps[SOME_RINGS] = {0};
    srand(seed);
    file->header.kind = LAYOUT_KIND_STREAM;
    for (unsigned i = 0; i < STREAM_BLOCKS; i++) {
        const unsigned ring = (unsigned)rand() % SOME_RINGS;
        struct layout_block *block = calloc(1, sizeof *block);
        unsigned at = 0;
        numbers[ring] += rand() % 3 ? 0 : (unsigned)rand() % 4;
        *block = (struct layout_block){.sequence = ++sequences[ring],
                                       .number = numbers[ring],
                                       .ring = ring,
                                       .first = LAYOUT_BLOCK_HEADER_BYTES};
        for (unsigned count = (unsigned)rand() % 12; count; count--, numbers[ring]++) {
            const uint64_t object = (unsigned)rand() % OBJECTS, arguments[] = {1, object};
            const bool begins = rand() % 3 == 0;
            stamps[ring] += (unsigned)rand() % 1000;
            add_record(block, &at, begins ? 1 : 2, 1000000 + stamps[ring], object, 0, arguments,
                       begins ? 2 : 0);
        }
        memcpy(file->bytes + RINGS_OFFSET + i * LAYOUT_BLOCK_BYTES, block, sizeof *block);
        free(block);
    }
    return file;
}

static void gather(struct recording *recording, struct latency_table *table)
{
    struct objects *objects = objects_make(recording);
    struct recording_event event;
    struct object_step step;
    assert_int_equal(latency_table_make(table, recording), 0);
    while (recording_next(recording, &event) == 1) {
        assert_int_equal(objects_follow(objects, &event, &step), 0);
        assert_int_equal(latency_table_add(table, &event, &step), 0);
    }
    assert_int_equal(latency_table_finish(table, objects), 0);
    objects_free(objects);
}

static void gather_ahead(struct recording *recording, struct latency_table *table)
{
    struct objects *objects = objects_make(recording);
    struct recording_event event = {0};
    struct object_step step;
    struct ahead_batch batch;
    struct ahead *ahead;
    assert_int_equal(latency_table_make(table, recording), 0);
    latency_table_set_apart(table);
    objects_set_apart(objects, true);
    assert_int_equal(ahead_start(recording, &ahead), 0);
    while (ahead_next(ahead, &batch) == 1) {
        if (batch.gap_ends)
            assert_int_equal(objects_set_gap_ends(objects, batch.gap_ends, batch.gap_end_count), 0);
        for (int i = 0; i < batch.count; i++) {
            ahead_event(&batch, i, recording_model(recording), &event);
            assert_int_equal(objects_follow(objects, &event, &step), 0);
            assert_int_equal(latency_table_add(table, &event, &step), 0);
        }
    }
    ahead_stop(ahead);
    objects_set_apart(objects, false);
    assert_int_equal(latency_table_finish(table, objects), 0);
    objects_free(objects);
}

static void assert_same_latencies(const struct latency_pair *one, const struct latency_pair *other)
{
    for (; one && other; one = one->next, other = other->next) {
        assert_int_equal(one->object, other->object);
        assert_string_equal(one->from ? one->from->name : "", other->from ? other->from->name : "");
        assert_int_equal(one->latency.count, other->latency.count);
        assert_int_equal(one->latency.largest, other->latency.largest);
        assert_int_equal((uint64_t)one->latency.sum, (uint64_t)other->latency.sum);
    }
    assert_true(!one && !other);
}

static void test_what_is_read_ahead_gives_the_same(void **state)
{
    enum { FILES = 100 };
    unsigned with_gaps = 0;
    (void)state;
    for (unsigned seed = 0; seed < FILES; seed++) {
        struct file *file = make_random_stream(seed);
        struct recording *one = open_file(file), *other = open_file(file);
        struct latency_table here, there;
        gather(one, &here);
        gather_ahead(other, &there);
        assert_int_equal(here.events, there.events);
        assert_int_equal(here.first, there.first);
        assert_int_equal(here.last, there.last);
        assert_memory_equal(here.counts, there.counts, 65536 * sizeof *here.counts);
        for (unsigned i = 0; i < 4; i++) {
            assert_same_latencies(here.pairs[i], there.pairs[i]);
            assert_same_latencies(here.lives[i], there.lives[i]);
        }
        with_gaps += recording_gap_end(one, RECORDING_ALL_SOURCES) > 0;
        latency_table_free(&here);
        latency_table_free(&there);
        recording_close(one);
        recording_close(other);
        free(file);
    }
    assert_true(with_gaps > FILES / 2);
    /* One that is given up before its end. */
    struct file *file = make_random_stream(0);
    struct recording *recording = open_file(file);
    struct ahead *ahead;
    assert_int_equal(ahead_start(recording, &ahead), 0);
    ahead_stop(ahead);
    recording_close(recording);
    free(file);
}

static void test_quantiles(void **state)
{
    (void)state;
    struct latency latency = {0};
    for (uint64_t i = 1; i <= 100000; i++)
        assert_int_equal(latency_add(&latency, i * 1000), 0);
    static const double fractions[] = {0.5, 0.9, 0.99, 0.999};
    for (unsigned i = 0; i < 4; i++) {
        const double value = (double)latency_quantile(&latency, fractions[i]), exact = fractions[i] * 1e8;
        assert_true(value > exact * 0.985 && value < exact * 1.015);
    }
    assert_int_equal(latency_quantile(&latency, 1),
                     100000000 < latency.largest ? 0 : latency_quantile(&latency, 1));
    assert_int_equal(latency_add(&latency, UINT64_MAX), 0);
    assert_int_equal(latency.largest, UINT64_MAX);
    latency_clear(&latency);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_are_merged_by_time),
        cmocka_unit_test(test_times_follow_the_triples),
        cmocka_unit_test(test_what_is_missing_is_counted_in_place),
        cmocka_unit_test(test_of_a_copy_only_what_is_certain),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_damage_is_an_error),
        cmocka_unit_test(test_a_damaged_directory),
        cmocka_unit_test(test_object_lives_and_stories),
        cmocka_unit_test(test_many_short_lives),
        cmocka_unit_test(test_what_is_read_ahead_gives_the_same),
        cmocka_unit_test(test_quantiles),
    };
    version = SPOOR_VERSION_STATES;
    const int old = cmocka_run_group_tests_name("version 2", tests, NULL, NULL);
    version = LAYOUT_VERSION;
    return old + cmocka_run_group_tests_name("version 3", tests, NULL, NULL);
}
