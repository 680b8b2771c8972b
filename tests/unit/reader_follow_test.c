/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of following a recording of this process while it is made: by a reader with a thread, and by one without. */
#include "recorder_testing.h"

#include "reader/objects.h"
#include "reader/reader.h"

enum { BURSTS = 300, BURST_MAX = 5000, PATIENCE = 2000 /* number of attempts, a millisecond apart */ };

static struct recording *follow(void)
{
    const struct recording_options options = {.follow = true, .only_cpu = -1};
    struct recording *recording;
    struct text why = {0};
    if (recording_open(spoor_trace_path(), &options, &recording, &why))
        fail_msg("%s", text_string(&why));
    return recording;
}

/* Takes events in order until the record with this number came. Returns false if it does not come. */
static bool take_until(struct recording *recording, uint64_t number, uint64_t *next, uint64_t *lost)
{
    for (int i = 0; i < PATIENCE; i++) {
        struct recording_event event;
        while (recording_next(recording, &event) == 1) {
            assert_int_equal(event.object, *next + event.lost);
            *lost += event.lost;
            *next = event.object + 1;
        }
        if (*next > number)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_int_equal(recording_refresh(recording), 1);
    }
    return false;
}

/* Records in bursts, some of which wrap around a ring of four blocks many times and some of which are a few
 * records, with pauses: the last record always comes, and each record that does not come is counted as lost. */
static void bursts(bool has_thread, int count)
{
    uint64_t number = 0, next = 0, lost = 0, random = 88172645463325252u;
    open_usual("all");
    struct recording *recording = follow();
    if (has_thread)
        assert_int_equal(recording_keep_up(recording), 0);
    for (int i = 0; i < count; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        for (uint64_t end = number + 1 + random % (i % 2 ? 10 : BURST_MAX); number < end; number++)
            SPOOR_RECORD(TCP_REQ_NEW, 0, number);
        if (!take_until(recording, number - 1, &next, &lost))
            fail_msg("burst %d: %llu of %llu came", i, (unsigned long long)next, (unsigned long long)number);
    }
    const struct recording_counts counts = recording_counts(recording);
    assert_int_equal(counts.overwritten, lost);
    assert_int_equal(counts.damaged, 0);
    recording_close(recording);
}

static void bursts_with_a_thread(void **state)
{
    (void)state;
    bursts(true, BURSTS);
}

static void bursts_without_a_thread(void **state)
{
    (void)state;
    bursts(false, BURSTS / 6);
}

/* Compares what is known of the objects of the next events of a block device, one letter for each event: 'B' it
 * begins, 'k' its beginning is known, 'u' it is unknown. */
static void expect_io(struct recording *recording, struct objects *objects, const char *expected)
{
    struct recording_event event;
    struct object_step step;
    char known[8] = {0};
    size_t count = 0;
    for (int i = 0; count < strlen(expected) && i < PATIENCE; i++) {
        if (recording_is_live(recording))
            assert_int_equal(recording_refresh(recording), 1);
        while (recording_next(recording, &event) == 1) {
            assert_int_equal(objects_follow(objects, &event, &step), 0);
            if (!strncmp(event.tracepoint->name, "BDEV", 4) && count < sizeof known - 1)
                known[count++] = step.begins ? 'B' : step.own->number != OBJECT_UNNUMBERED ? 'k' : 'u';
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_string_equal(known, expected);
}

/* The events that were overwritten before they were read may have held the object's end and its next beginning. */
static void a_gap_makes_unknown(void **state)
{
    (void)state;
    open_usual("all");
    struct recording *recording = follow();
    struct objects *objects = objects_make(recording);
    SPOOR_RECORD(BDEV_IO_START, 0, 7, IO_READ, NULL, 0, 0);
    SPOOR_RECORD(BDEV_IO_DONE, 0, 7, NULL);
    SPOOR_RECORD(BDEV_IO_START, 0, 7, IO_READ, NULL, 0, 0);
    expect_io(recording, objects, "BkB");
    for (uint64_t i = 0; i < BURST_MAX; i++) /* wraps around the ring many times */
        SPOOR_RECORD(TCP_REQ_NEW, 0, i);
    SPOOR_RECORD(BDEV_IO_DONE, 0, 7, NULL);
    SPOOR_RECORD(BDEV_IO_START, 0, 7, IO_READ, NULL, 0, 0);
    SPOOR_RECORD(BDEV_IO_DONE, 0, 7, NULL);
    expect_io(recording, objects, "uBk");
    assert_true(recording_counts(recording).overwritten > 0);
    objects_free(objects);
    recording_close(recording);
}

static struct recording *read_now(void)
{
    const struct recording_options options = {.only_cpu = -1};
    struct recording *recording;
    struct text why = {0};
    if (recording_open(spoor_trace_path(), &options, &recording, &why))
        fail_msg("%s", text_string(&why));
    return recording;
}

/* A thread goes through rings of three sizes. Its records come in order, as of one ring; what the last ring has
 * overwritten is a gap behind those of the ones before. */
static void a_thread_that_grows(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    struct spoor_trace_options options = usual("all");
    options.ring_bytes = 1 << 18;
    assert_int_equal(spoor_trace_open(&options), 0);
    struct recording *following = follow();
    uint64_t next = 0, lost = 0, read = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        SPOOR_RECORD(TCP_REQ_NEW, 0, i);
        if (i % 500 == 0)
            assert_true(take_until(following, i, &next, &lost));
    }
    assert_true(take_until(following, COUNT - 1, &next, &lost));
    assert_int_equal(lost, 0);
    recording_close(following);

    struct recording_view view = look();
    assert_int_equal(view_control(&view)->rings, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(view_place(&view, i)->bytes, 16384 << 2 * i);
        assert_int_equal(view_ring(&view, i)->after, i);
        assert_int_equal(view_place(&view, i)->state, LAYOUT_RING_USED);
    }
    view_close(&view);
    struct recording *recording = read_now();
    struct recording_event event;
    next = 0;
    for (; recording_next(recording, &event) == 1; read++) {
        assert_int_equal(event.object, next + event.lost);
        assert_int_equal(event.source, 0);
        lost += event.lost;
        next = event.object + 1;
    }
    assert_int_equal(next, COUNT);
    assert_int_equal(read + lost, COUNT);
    assert_true(lost > 1000);
    assert_int_equal(recording_counts(recording).older, 0);
    assert_int_equal(recording_counts(recording).overwritten, lost);
    recording_close(recording);
}

/* An object of which the end and the next beginning were overwritten, in a larger ring than that of its beginning. */
static void growing_makes_unknown(void **state)
{
    (void)state;
    struct spoor_trace_options options = usual("all");
    options.ring_bytes = 1 << 16;
    assert_int_equal(spoor_trace_open(&options), 0);
    SPOOR_RECORD(BDEV_IO_START, 0, 7, IO_READ, NULL, 0, 0);
    for (uint64_t i = 0; i < BURST_MAX; i++)
        SPOOR_RECORD(TCP_REQ_NEW, 0, i);
    SPOOR_RECORD(BDEV_IO_DONE, 0, 7, NULL);
    SPOOR_RECORD(BDEV_IO_START, 0, 7, IO_READ, NULL, 0, 0);
    SPOOR_RECORD(BDEV_IO_DONE, 0, 7, NULL);
    struct recording *recording = read_now();
    struct objects *objects = objects_make(recording);
    expect_io(recording, objects, "BuBk");
    objects_free(objects);
    recording_close(recording);
}

static void *record_elsewhere(void *nothing)
{
    SPOOR_RECORD(TCP_REQ_NEW, 0, 77);
    return nothing;
}

/* Two threads take a ring each, and the second is done before the first: a ring that is used then stands behind one
 * that is being made. */
static void a_ring_behind_one_that_is_made(void **state)
{
    (void)state;
    open_usual("all");
    SPOOR_RECORD(TCP_REQ_NEW, 0, 1);
    struct recording_view view = look();
    const int file = open(spoor_trace_path(), O_RDWR | O_CLOEXEC);
    const uint64_t two = 2;
    const off_t rings = (const uint8_t *)&view_control(&view)->rings - view.memory;
    assert_int_equal(view_control(&view)->rings, 1);
    assert_int_equal(pwrite(file, &two, sizeof two, rings), sizeof two);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, record_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_false(view_has_ring(&view, 1));
    assert_true(view_has_ring(&view, 2));
    close(file);

    struct recording *recording = follow();
    struct recording_event event;
    uint64_t seen = 0;
    for (int i = 0; seen != 78 && i < PATIENCE; i++) {
        assert_int_equal(recording_refresh(recording), 1);
        while (recording_next(recording, &event) == 1)
            seen += event.object;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(seen, 1 + 77);
    recording_close(recording);
    view_close(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bursts_with_a_thread), TEST(bursts_without_a_thread), TEST(a_gap_makes_unknown),
        TEST(a_thread_that_grows),  TEST(growing_makes_unknown),   TEST(a_ring_behind_one_that_is_made),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
