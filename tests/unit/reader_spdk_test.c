/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of reading SPDK's trace files, made by hand: the listing that SPDK's users know, and everything that may be
 * wrong with a file. */
#include "reader_testing.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>

enum {
    IO_START = 65,
    IO_DONE,
    REQ_NEW = 129,
    REQ_NEED,
    REQ_TX,
    REQ_READY,
    REQ_EXECUTED,
    REQ_TO_COMPLETE,
    REQ_C2H,
    REQ_COMPLETED
};

#define IO 0x7ffb7d48b110u
#define REQUEST 0x7ffb7d48b110u /* SPDK's context is the request itself: the two types may use the same id */
#define QPAIR 0x618000004080u

static struct spdk_file *make_seed_file(void)
{
    static const struct {
        const char *name;
        uint16_t id;
    } requests[] = {
        {"TCP_REQ_NEW", REQ_NEW},           {"TCP_REQ_NEED_BUFFER", REQ_NEED},
        {"TCP_REQ_TX_H_TO_C", REQ_TX},      {"TCP_REQ_RDY_TO_EXECUTE", REQ_READY},
        {"TCP_REQ_EXECUTED", REQ_EXECUTED}, {"TCP_REQ_RDY_TO_COMPLETE", REQ_TO_COMPLETE},
        {"TCP_REQ_TRANSFER_C2H", REQ_C2H},  {"TCP_REQ_COMPLETED", REQ_COMPLETED},
    };
    struct spdk_file *file = spdk_file_make(1000000000);
    spdk_add_types(file);
    struct spdk_tracepoint *start = spdk_add_tracepoint(file, "BDEV_IO_START", IO_START, 1, 1, 1);
    spdk_add_argument(start, "type", 0, 8);
    spdk_add_argument(start, "ctx", 1, 8);
    spdk_add_argument(start, "offset", 0, 8);
    spdk_add_argument(start, "len", 0, 8);
    start->relations[0].object_type = 2;
    start->relations[0].argument = 1;
    struct spdk_tracepoint *done = spdk_add_tracepoint(file, "BDEV_IO_DONE", IO_DONE, 1, 1, 0);
    spdk_add_argument(done, "ctx", 1, 8);
    done->relations[0].object_type = 2;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        spdk_add_argument(spdk_add_tracepoint(file, requests[i].name, requests[i].id, 2, 2, i == 0), "qpair",
                          1, 8);
    return file;
}

/* The listing of one request and its block I/O, as spdk_trace prints them. spdk_trace computes times in single
 * precision: it has 0.810 for 0.812. */
static void test_listing_of_the_seed(void **state)
{
    (void)state;
    static const char expected[] =
        " 0: 141184.297 t02 TCP_REQ_NEW                           id:    r520             qpair: "
        "0x618000004080\n"
        " 0: 141185.109 t02 TCP_REQ_NEED_BUFFER                   id:    r520             time:  0.812       "
        "     qpair: 0x618000004080\n"
        " 0: 141186.500 t02 TCP_REQ_TX_H_TO_C                     id:    r520             time:  2.203       "
        "     qpair: 0x618000004080\n"
        " 0: 141189.609 t02 TCP_REQ_RDY_TO_EXECUTE                id:    r520             time:  5.312       "
        "     qpair: 0x618000004080\n"
        " 0: 141193.578 b00 BDEV_IO_START                         id:    i429 (r520)      type:  2           "
        "     ctx:   0x7ffb7d48b110   offset:12048            len:   2\n"
        " 0: 143030.609 b00 BDEV_IO_DONE                          id:    i429 (r520)      time:  1837.031    "
        "     ctx:   0x7ffb7d48b110\n"
        " 0: 143032.734 t02 TCP_REQ_EXECUTED                      id:    r520             time:  1848.437    "
        "     qpair: 0x618000004080\n"
        " 0: 143033.031 t02 TCP_REQ_RDY_TO_COMPLETE               id:    r520             time:  1848.734    "
        "     qpair: 0x618000004080\n"
        " 0: 143034.344 t02 TCP_REQ_TRANSFER_C2H                  id:    r520             time:  1850.047    "
        "     qpair: 0x618000004080\n"
        " 0: 143606.969 t02 TCP_REQ_COMPLETED                     id:    r520             time:  2422.672    "
        "     qpair: 0x618000004080\n";
    enum { BASE = 1000000 };
    const uint64_t qpair = QPAIR, context = REQUEST;
    const uint64_t start[] = {2, context, 12048, 2};
    struct spdk_file *file = make_seed_file();
    struct recording *recording;
    struct text why = {0};
    static const struct {
        uint64_t time;
        uint16_t id;
    } after[] = {{143032734, REQ_EXECUTED},
                 {143033031, REQ_TO_COMPLETE},
                 {143034344, REQ_C2H},
                 {143606969, REQ_COMPLETED}};
    for (unsigned i = 0; i < 520; i++) /* earlier events, on the other lcore */
        spdk_record(file, 1, BASE + i, REQ_NEW, 2, 0, 16 + i % 8, &qpair, 8);
    for (unsigned i = 0; i < 429; i++)
        spdk_record(file, 1, BASE + 600 + i, IO_START, 0, 0, 4096, (uint64_t[]){1, 0, 0, 0}, 32);
    spdk_record(file, 0, BASE + 141184297, REQ_NEW, 2, 0, REQUEST, &qpair, 8);
    spdk_record(file, 0, BASE + 141185109, REQ_NEED, 2, 0, REQUEST, &qpair, 8);
    spdk_record(file, 0, BASE + 141186500, REQ_TX, 2, 0, REQUEST, &qpair, 8);
    spdk_record(file, 0, BASE + 141189609, REQ_READY, 2, 0, REQUEST, &qpair, 8);
    spdk_record(file, 0, BASE + 141193578, IO_START, 0, 0, IO, start, sizeof start);
    spdk_record(file, 0, BASE + 143030609, IO_DONE, 0, 0, IO, &context, 8);
    for (unsigned i = 0; i < 4; i++)
        spdk_record(file, 0, BASE + after[i].time, after[i].id, 2, 0, REQUEST, &qpair, 8);
    assert_int_equal(reader_open_bytes(file, sizeof *file, "seed", &recording, &why), 0);
    struct text out = reader_list(recording, 0);
    const char *tail = strstr(text_string(&out), " 0: 141184.297");
    if (!tail)
        fail_msg("%.2000s", text_string(&out));
    assert_string_equal(tail, expected);
    text_free(&out);
    recording_close(recording);
    free(file);
}

static struct text list_file(const struct spdk_file *file)
{
    struct recording *recording;
    struct text why = {0};
    if (reader_open_bytes(file, sizeof *file, "test", &recording, &why))
        fail_msg("%s", text_string(&why));
    struct text out = reader_list(recording, 0);
    recording_close(recording);
    return out;
}

static void test_arguments_over_several_slots(void **state)
{
    (void)state;
    struct spdk_file *file = spdk_file_make(1000000000);
    spdk_add_types(file);
    struct spdk_tracepoint *tracepoint = spdk_add_tracepoint(file, "LONG", 70, 0, 0, 0);
    spdk_add_argument(tracepoint, "a", 0, 4);
    spdk_add_argument(tracepoint, "text", 2, 40);
    spdk_add_argument(tracepoint, "b", 0, 8);
    struct {
        int32_t a;
        char text[40];
        int64_t b;
    } __attribute__((packed)) arguments = {-5, "a text that is longer than one slot", INT64_MIN};
    spdk_record(file, 1, 1000, 70, 0, 77, 0, &arguments, sizeof arguments);
    struct text out = list_file(file);
    assert_string_equal(
        text_string(&out),
        " 1:      0.000     LONG                     size:     77 a:     -5               text:  "
        "a text that is longer than one slot b:     -9223372036854775808\n");
    text_free(&out);
    free(file);
}

static void test_owners_have_descriptions_from_when_they_were_registered(void **state)
{
    (void)state;
    struct spdk_file *file = spdk_file_make(1000000000);
    spdk_add_types(file);
    spdk_add_tracepoint(file, "T", 70, 1, 0, 0);
    const struct spdk_owner owner = {2000, 2};
    memcpy(file->owners[1], &owner, sizeof owner);
    memcpy(file->owners[1] + 9, "qp1", 4);
    spdk_record(file, 0, 1000, 70, 1, 0, 0, NULL, 0);
    spdk_record(file, 0, 3000, 70, 1, 0, 0, NULL, 0);
    spdk_record(file, 0, 4000, 70, 60000, 0, 0, NULL, 0); /* an owner that is out of range */
    struct text out = list_file(file);
    assert_string_equal(text_string(&out),
                        " 0:      0.000 b01     T\n 0:      2.000 t01 qp1 T\n 0:      3.000 b60000  T\n");
    text_free(&out);
    free(file);
}

/* A ring that wrapped around: the other lcore's older events lie outside of the time that both cover. */
static void test_only_the_common_time_is_shown(void **state)
{
    (void)state;
    struct spdk_file *file = spdk_file_make(1000000000);
    spdk_add_types(file);
    spdk_add_tracepoint(file, "T", 70, 0, 0, 0);
    for (uint64_t i = 0; i < SPDK_SLOTS + 100; i++)
        spdk_record(file, 0, 1000 + i * 10, 70, 0, 0, i, NULL, 0);
    spdk_record(file, 1, 1005, 70, 0, 0, 0, NULL, 0);
    spdk_record(file, 1, 2015, 70, 0, 0, 0, NULL, 0);
    struct recording *recording;
    struct recording_event event;
    struct text why = {0};
    for (int whole = 0; whole < 2; whole++) {
        const struct recording_options options = {.only_cpu = -1, .whole = whole};
        const int memory = memfd_create("test", MFD_CLOEXEC);
        assert_int_equal(write(memory, file, sizeof *file), sizeof *file);
        assert_int_equal(recording_open_file(memory, "test", &options, &recording, &why), 0);
        uint64_t first = 0, events = 0, outside = 0, before = 0;
        while (recording_next(recording, &event) == 1) {
            assert_true(event.stamp >= before);
            before = event.stamp;
            first = first || event.is_outside ? first : event.stamp;
            outside += event.is_outside;
            events++;
        }
        assert_int_equal(events, SPDK_SLOTS + 2);
        assert_int_equal(outside, whole ? 0 : 1);
        assert_int_equal(first, whole ? 1005 : 2000);
        assert_int_equal(recording_start(recording), recording_time(recording, first));
        assert_int_equal(recording_counts(recording).overwritten, 100);
        recording_close(recording);
    }
    free(file);
}

/* A copy by cp of a ring that is being written: the header is older than the slots, and the slots are of several
 * rounds. */
static void test_copy_of_a_running_program(void **state)
{
    (void)state;
    struct spdk_file *file = spdk_file_make(1000000000);
    spdk_add_types(file);
    spdk_add_tracepoint(file, "T", 70, 0, 0, 0);
    for (uint64_t i = 0; i < SPDK_SLOTS + 500; i++)
        spdk_record(file, 0, 1000 + i, 70, 0, 0, i, NULL, 0);
    file->lcores[0].history.next_entry = SPDK_SLOTS + 100;
    struct recording *recording;
    struct recording_event event;
    struct text why = {0};
    assert_int_equal(reader_open_bytes(file, sizeof *file, "test", &recording, &why), 0);
    uint64_t events = 0, before = 0;
    while (recording_next(recording, &event) == 1) {
        assert_true(event.stamp >= before);
        assert_int_equal(event.object, event.stamp - 1000);
        before = event.stamp;
        events++;
    }
    assert_true(events >= SPDK_SLOTS - 2); /* the event at the writer's position may be half written */
    recording_close(recording);
    free(file);
}

/* ---- a running program ---- */

struct writer {
    struct spdk_file *file;
    volatile int stop;
};

/* Writes as SPDK does: the slots first, then the position; nothing else protects them. */
enum { BURST = 20000 };

static void *write_without_end(void *argument)
{
    struct writer *writer = argument;
    struct spdk_lcore *ring = &writer->file->lcores[0];
    for (uint64_t i = 1; !writer->stop; i++) {
        const uint64_t next = ring->history.next_entry;
        const uint64_t words[4] = {i * 3, i * 5, i * 7, i * 11};
        const uint8_t *bytes = (const uint8_t *)words;
        const uint64_t tsc = 1000 + i;
        volatile struct spdk_slot *first = &ring->slots[next % SPDK_SLOTS];
        first->tsc = tsc;
        first->id = 70;
        first->owner = (uint16_t)i;
        first->size = (uint32_t)i;
        first->object = i;
        memcpy((void *)(uintptr_t)first->arguments, bytes, 8);
        for (unsigned slot = 1; slot < 3; slot++) {
            volatile struct spdk_slot *more = &ring->slots[(next + slot) % SPDK_SLOTS];
            more->tsc = tsc;
            more->id = SPDK_IDS;
            memcpy((uint8_t *)(uintptr_t)more + 10, bytes + 8 + (slot - 1) * 22, slot == 1 ? 22 : 2);
        }
        __atomic_thread_fence(__ATOMIC_RELEASE);
        __atomic_store_n(&ring->history.next_entry, next + 3, __ATOMIC_RELEASE);
        /* Writes at full speed in bursts: between two of them even a busy machine's reader finds whole entries. */
        if (i % BURST == 0)
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    return NULL;
}

enum { ENOUGH = 1000 };

static void test_a_running_program_at_full_speed(void **state)
{
    (void)state;
    char path[64];
    struct writer writer = {0};
    snprintf(path, sizeof path, "/dev/shm/spoor_test_trace.pid%d", getpid());
    const int shared = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (shared < 0) {
        print_message("no /dev/shm here\n");
        skip();
    }
    struct spdk_file *file = spdk_file_make(1000000000);
    spdk_add_types(file);
    struct spdk_tracepoint *tracepoint = spdk_add_tracepoint(file, "T", 70, 1, 1, 1);
    for (int i = 0; i < 4; i++)
        spdk_add_argument(tracepoint, "word", 1, 8);
    assert_int_equal(write(shared, file, sizeof *file), sizeof *file);
    writer.file = mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    assert_true(writer.file != MAP_FAILED);
    pthread_t thread;
    pthread_create(&thread, NULL, write_without_end, &writer);
    uint64_t events = 0;
    const struct recording_options options = {.only_cpu = -1};
    for (int round = 0; round < 300 || (events < ENOUGH && round < 30000); round++) {
        struct recording *recording;
        struct recording_event event;
        struct text why = {0};
        uint64_t before = 0;
        assert_int_equal(recording_open(path, &options, &recording, &why), 0);
        assert_false(recording_is_live(recording)); /* the reader works on a copy */
        for (; recording_next(recording, &event) == 1; events++) {
            const uint64_t i = event.object;
            assert_true(event.stamp > before);
            before = event.stamp;
            assert_int_equal(event.stamp, 1000 + i);
            assert_int_equal(event.size, (uint32_t)i);
            assert_true(event.words[0] == i * 3 && event.words[1] == i * 5 && event.words[2] == i * 7 &&
                        event.words[3] == i * 11);
        }
        recording_close(recording);
    }
    writer.stop = 1;
    pthread_join(thread, NULL);
    print_message("%llu events, none torn\n", (unsigned long long)events);
    assert_true(events >= ENOUGH);
    munmap(writer.file, sizeof *file);
    close(shared);
    unlink(path);
    free(file);
}

static void test_damage(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    struct spdk_file *good = make_seed_file();
    const uint64_t words[4] = {1, 2, 3, 4};
    for (uint64_t i = 0; i < 1000; i++)
        spdk_record(good, i % 2, 1000 + i,
                    i % 3   ? REQ_NEED
                    : i % 2 ? REQ_NEW
                            : IO_START,
                    2, 0, i % 7, words, i % 3 || i % 2 ? 8 : 32);
    struct spdk_file *file = malloc(sizeof *file);
    for (int round = 0; round < 500; round++) {
        *file = *good;
        for (int i = 0; i < 20; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            /* Mostly changes what lies before the slots. */
            const size_t room = i % 4 ? offsetof(struct spdk_file, lcores) + 64 : sizeof *file;
            ((uint8_t *)file)[random % room] = (uint8_t)(random >> 40);
        }
        struct recording *recording;
        struct text why = {0};
        if (!reader_open_bytes(file, sizeof *file - (round % 5 ? 0 : random % sizeof *file), "test",
                               &recording, &why)) {
            struct text out = reader_list(recording, round % 2 ? 80 : 0);
            text_free(&out);
            recording_close(recording);
        } else {
            assert_true(why.length > 0);
        }
        text_free(&why);
    }
    free(file);
    free(good);
}

/* A file as `spoor record` writes it: chunks whose slots are numbered. */
static struct spdk_file *make_drained_file(void)
{
    struct spdk_file *file = make_seed_file();
    const size_t end = offsetof(struct spdk_file, lcores);
    memcpy(file->header.reserved, SPDK_STREAM_MARK, 6);
    file->header.file_size = end;
    file->header.offsets[SPDK_SECTION_LCORES] = 0;
    memset((uint8_t *)file + end, 0, sizeof *file - end);
    return file;
}

/* Adds a chunk at the offset and returns the offset behind it. */
static size_t add_chunk(struct spdk_file *file, size_t at, uint32_t index, uint64_t first,
                        const struct spdk_slot *slots, unsigned count)
{
    struct spdk_chunk chunk = {
        .first = first, .count = count, .index = index, .lcore = (int32_t)index, .num_tpoint_ids = SPDK_IDS};
    chunk.check = spdk_chunk_check(&chunk);
    memcpy((uint8_t *)file + at, &chunk, sizeof chunk);
    memcpy((uint8_t *)file + at + sizeof chunk, slots, count * sizeof *slots);
    return at + sizeof chunk + count * sizeof *slots;
}

static size_t add_events(struct spdk_file *file, size_t at, uint32_t index, uint64_t first, unsigned count)
{
    struct spdk_slot slots[16];
    assert_true(count <= 16);
    for (unsigned i = 0; i < count; i++)
        slots[i] = (struct spdk_slot){.tsc = 1000 + first + i, .id = REQ_NEED, .owner = 2, .object = 1};
    return add_chunk(file, at, index, first, slots, count);
}

static void test_a_drained_file(void **state)
{
    (void)state;
    struct spdk_file *file = make_drained_file();
    size_t at = offsetof(struct spdk_file, lcores);
    at = add_events(file, at, 0, 0, 10);
    at = add_events(file, at, 1, 700, 0); /* the slots before the first chunk do not count as lost */
    at = add_events(file, at, 0, 10, 10);
    at = add_events(file, at, 1, 700, 5);
    at = add_events(file, at, 0, 25, 3); /* 5 events were overwritten */
    const size_t whole = at;
    for (size_t length = offsetof(struct spdk_file, lcores); length <= whole; length += 8) {
        struct recording *recording;
        struct recording_event event;
        struct text why = {0};
        uint64_t events = 0, lost = 0;
        assert_int_equal(reader_open_bytes(file, length, "drained", &recording, &why), 0);
        assert_false(recording_is_live(recording));
        while (recording_next(recording, &event) == 1) {
            events++;
            lost += event.lost;
        }
        const struct recording_counts counts = recording_counts(recording);
        assert_int_equal(counts.damaged, 0);
        assert_true(counts.overwritten >= lost); /* more if no event came after the gap */
        if (length == whole) {
            assert_int_equal(events, 28);
            assert_int_equal(lost, 5);
        }
        recording_close(recording);
    }
    free(file);
}

/* What is known of objects around a gap. Lcore 0 has one between its slots 3 and 10, of times 1003 to 1010. `known`
 * has a letter for each event: B it begins its object, k its object's beginning is known, with its time, u it is
 * unknown. */
static void test_a_gap_makes_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct gap_event { /* ordered by time */
            unsigned lcore;
            uint64_t tsc, object;
            bool begins;
        } events[8];
        const char *known;
    } rows[] = {
        {"an object of the ring with the gap",
         {{0, 1000, 7, true}, {0, 1003, 7, false}, {0, 1010, 7, false}, {0, 1011, 7, false}},
         "Bkuu"},
        {"its next beginning", {{0, 1003, 7, true}, {0, 1010, 7, true}, {0, 1011, 7, false}}, "BBk"},
        {"one of another ring",
         {{1, 1000, 7, true}, {0, 1003, 1, true}, {0, 1010, 2, true}, {1, 1011, 7, false}},
         "BBBk"},
        {"one that comes from another ring",
         {{0, 1003, 1, true}, {1, 1004, 7, true}, {0, 1010, 7, false}},
         "BBu"},
        {"one that went to another ring",
         {{0, 1003, 7, true}, {1, 1004, 7, false}, {0, 1010, 1, true}},
         "BuB"},
        {"one of a type that goes from ring to ring",
         {{0, 1001, 7, true},
          {1, 1002, 7, false},
          {0, 1003, 1, true},
          {1, 1005, 7, false},
          {0, 1010, 2, true},
          {1, 1011, 7, false}},
         "BkBuBu"},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct spdk_file *file = make_drained_file();
        size_t at = offsetof(struct spdk_file, lcores);
        uint64_t next[2] = {0};
        for (const struct gap_event *event = rows[row].events; event->tsc; event++) {
            if (!event->lcore && event->tsc == 1010)
                next[0] += 6;
            at = add_chunk(file, at, event->lcore, next[event->lcore]++,
                           &(struct spdk_slot){.tsc = event->tsc,
                                               .id = event->begins ? REQ_NEW : REQ_NEED,
                                               .owner = 2,
                                               .object = event->object},
                           1);
        }
        struct recording *recording;
        struct recording_event event;
        struct object_step step;
        struct text why = {0};
        char known[9] = {0};
        assert_int_equal(reader_open_bytes(file, at, "drained", &recording, &why), 0);
        struct objects *objects = objects_make(recording);
        for (unsigned i = 0; recording_next(recording, &event) == 1; i++) {
            assert_int_equal(objects_follow(objects, &event, &step), 0);
            known[i] = step.begins ? 'B' : step.own->number != OBJECT_UNNUMBERED ? 'k' : 'u';
            if (step.is_first)
                assert_int_equal(step.before, 0);
        }
        if (strcmp(known, rows[row].known))
            fail_msg("%s: %s, not %s", rows[row].what, known, rows[row].known);
        objects_free(objects);
        recording_close(recording);
        free(file);
    }
}

static void test_lines_fit_the_terminal(void **state)
{
    (void)state;
    struct spdk_file *file = make_seed_file();
    const uint64_t words[4] = {1, UINT64_MAX, INT64_MAX, 4};
    const struct spdk_owner owner = {1, 1};
    memcpy(file->owners[0], &owner, sizeof owner);
    memset(file->owners[0] + sizeof owner, 'o', 60); /* a long description */
    for (unsigned i = 0; i < 5; i++)
        spdk_record(file, 0, 1000 + i, IO_START, 0, 4096, 1, words, 32);
    struct recording *recording;
    struct text why = {0};
    assert_int_equal(reader_open_bytes(file, sizeof *file, "test", &recording, &why), 0);
    struct text out = reader_list(recording, 80);
    for (char *rest, *line = strtok_r(out.bytes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        assert_true(strlen(line) <= 80);
    text_free(&out);
    recording_close(recording);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listing_of_the_seed),
        cmocka_unit_test(test_arguments_over_several_slots),
        cmocka_unit_test(test_owners_have_descriptions_from_when_they_were_registered),
        cmocka_unit_test(test_only_the_common_time_is_shown),
        cmocka_unit_test(test_copy_of_a_running_program),
        cmocka_unit_test(test_a_running_program_at_full_speed),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_a_drained_file),
        cmocka_unit_test(test_a_gap_makes_unknown),
        cmocka_unit_test(test_lines_fit_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
