/* SPDX-License-Identifier: BSD-3-Clause */
/* Event rings are merged by time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "kernel/state.h"

/* Rings in this process's memory, with contents that the test chooses. */
enum { FAKE = 4096, FAKES = 512 };
struct fakes {
    struct kernel kernel;
    struct ring rings[FAKES];
    unsigned long consumer[FAKES], producer[FAKES];
    uint8_t data[FAKES][2 * FAKE];
    struct contender tree[2 * FAKES];
    uint64_t out[FAKES * 8];
    size_t count, room; /* room: how many records are taken, 0 for all */
};

static void fakes_open(struct fakes *fakes, uint32_t count)
{
    memset(fakes, 0, sizeof *fakes);
    fakes->kernel.rings = (struct rings){.items = fakes->rings, .count = count, .tree = fakes->tree};
    for (uint32_t i = 0; i < count; i++)
        fakes->rings[i] = (struct ring){.size = FAKE,
                                        .consumer = &fakes->consumer[i],
                                        .producer = &fakes->producer[i],
                                        .data = fakes->data[i]};
}

static uint32_t *fake_put(struct fakes *fakes, int ring, uint32_t header, uint64_t time)
{
    uint8_t *at = fakes->data[ring] + fakes->producer[ring];
    memcpy(at, &header, 4);
    memcpy(at + 8, &time, 8);
    fakes->producer[ring] += ((header & 0x3fffffff) + 15) & ~7UL;
    return (uint32_t *)(void *)at;
}

static int see_fake(void *state, const uint8_t *record, size_t length)
{
    struct fakes *fakes = state;
    (void)length;
    if (fakes->room && fakes->count == fakes->room)
        return -ENOBUFS;
    memcpy(&fakes->out[fakes->count++], record, 8);
    return 0;
}

static uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void three_rings_are_merged(void **state)
{
    (void)state;
    static struct fakes fakes;
    fakes_open(&fakes, 3);
    static const uint64_t times[][4] = {{5, 7, 9, 30}, {6, 8, 20, 21}, {1, 22, 23, 24}};
    for (int ring = 0; ring < 3; ring++)
        for (int i = 0; i < 4; i++) {
            fake_put(&fakes, ring, 16, times[ring][i]);
            fake_put(&fakes, ring, 1U << 30 | 24, 2); /* discarded */
        }
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 12);
    for (size_t i = 1; i < 12; i++)
        assert_true(fakes.out[i - 1] <= fakes.out[i]);
    for (int ring = 0; ring < 3; ring++)
        assert_int_equal(fakes.consumer[ring], fakes.producer[ring]);
    assert_int_equal(fakes.kernel.rings.disorder, 0);
    fake_put(&fakes, 0, 16, 3);
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 1);
    assert_int_equal(fakes.kernel.rings.disorder, 1);
}

static void each_number_of_rings_is_merged(void **state)
{
    (void)state;
    static struct fakes fakes;
    uint64_t random = 1;
    for (uint32_t count = 1; count <= FAKES; count = count < 20 ? count + 1 : count * 3 / 2 + 7) {
        fakes_open(&fakes, count);
        uint64_t time = 1000;
        size_t wanted = 0;
        for (uint32_t i = 0; i < count * 5; i++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            bool is_discarded = i % 7 == 3;
            fake_put(&fakes, (int)((random >> 33) % count), is_discarded ? 1U << 30 | 16 : 16,
                     time += random >> 62);
            wanted += !is_discarded;
        }
        assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), wanted);
        for (size_t i = 1; i < wanted; i++)
            assert_true(fakes.out[i - 1] <= fakes.out[i]);
        assert_int_equal(fakes.kernel.rings.disorder, 0);
        assert_memory_equal(fakes.consumer, fakes.producer, count * sizeof *fakes.consumer);
    }
}

/* A record for which there was no room is delivered again, in its place. */
static void what_had_no_room_comes_again(void **state)
{
    (void)state;
    static struct fakes fakes;
    fakes_open(&fakes, 2);
    for (uint64_t time = 1; time <= 8; time++)
        fake_put(&fakes, time % 2, 16, time);
    for (fakes.room = 3; fakes.room < 8; fakes.room += 2) {
        assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), -ENOBUFS);
        assert_int_equal(fakes.count, fakes.room);
    }
    fakes.room = 0;
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 1);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(fakes.out[i], i + 1);
    assert_int_equal(fakes.kernel.rings.disorder, 0);
}

static void what_is_new_is_held_back(void **state)
{
    (void)state;
    static struct fakes fakes;
    fakes_open(&fakes, 2);
    uint64_t now = clock_now();
    /* The first record is old enough that no older one can follow; the second is not. */
    fake_put(&fakes, 0, 16, now - 1000000000);
    fake_put(&fakes, 0, 16, now + 1000000000);
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 1);
    /* The other ring now has a later record: this makes the young record certain, but not the later one. */
    fake_put(&fakes, 1, 16, now + 1500000000);
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 1);
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 0);
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 1);
}

static void an_unfinished_record_is_waited_for(void **state)
{
    (void)state;
    static struct fakes fakes;
    fakes_open(&fakes, 2);
    uint64_t now = clock_now();
    uint32_t *busy = fake_put(&fakes, 0, 1U << 31 | 16, now);
    fake_put(&fakes, 0, 16, now + 1);
    fake_put(&fakes, 1, 16, now + 2);
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 0);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* the other records wait for it … */
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 0);
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL); /* … but not for ever */
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 1);
    assert_int_equal(fakes.out[0], now + 2);
    *busy &= 0x7fffffff;
    assert_int_equal(ring_consume(&fakes.kernel.host, false, see_fake, &fakes), 2);
    assert_int_equal(fakes.kernel.rings.disorder, 2);
    /* A drain delivers everything that is finished at once. */
    fake_put(&fakes, 0, 1U << 31 | 16, now + 3);
    fake_put(&fakes, 1, 16, now + 4);
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 1);
}

static void senseless_records_are_passed_over(void **state)
{
    (void)state;
    static struct fakes fakes;
    fakes_open(&fakes, 1);
    fake_put(&fakes, 0, 3, 1); /* shorter than a record's head */
    fake_put(&fakes, 0, 16, 2);
    uint32_t *wrong = fake_put(&fakes, 0, 16, 3);
    *wrong = 0x3fffffff; /* longer than the ring */
    assert_int_equal(ring_consume(&fakes.kernel.host, true, see_fake, &fakes), 2);
    assert_int_equal(fakes.out[0], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_rings_are_merged),
        cmocka_unit_test(each_number_of_rings_is_merged),
        cmocka_unit_test(what_had_no_room_comes_again),
        cmocka_unit_test(what_is_new_is_held_back),
        cmocka_unit_test(an_unfinished_record_is_waited_for),
        cmocka_unit_test(senseless_records_are_passed_over),
    };
    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
