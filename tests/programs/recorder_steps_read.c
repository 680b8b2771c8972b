/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers at every instruction of the recorder: a record is written step by step, alone, and in a signal handler
 * that interrupted another record at some instruction. After each step all readers look: one that reads what a
 * killed program leaves, a report of the living one, a copy of its file, a follower, and a drain. Each must see
 * whole records, in order and with their numbers; all that are committed at that instant, and none that is not
 * reserved. At the end the follower and the drain must have seen all.
 *
 *   recorder_steps_read [STRIDE]      a handler at every STRIDEth instruction */
#include <errno.h>

#include "reader/copy.h"
#include "reader/drain.h"
#include "reader/reader.h"
#include "recorder_steps.h"
#include "recorder_steps_records.h"

static unsigned stride = 211;
static struct steps_trace traces[2];

/* ---- what was seen ---- */

/* Which record has a number: the reader that sees it first stores it for all others. */
enum { REMEMBERED = 1 << 16 };
static struct {
    uint64_t number, serial;
    unsigned level;
    bool is_known;
} truth[REMEMBERED];

struct sight { /* what one reader has seen */
    const char *reader;
    uint64_t next;                   /* number */
    uint64_t count, missing;         /* missing: gaps after the first record */
    uint64_t first_missing;          /* number; only if missing */
    uint64_t serials[LEVELS], stamp; /* lower bounds of the next ones */
};

static void see(struct sight *sight, uint64_t number, unsigned level, uint64_t serial, uint64_t stamp)
{
    CHECK(level < LEVELS, "%s: level %u", sight->reader, level);
    if (level >= LEVELS)
        return;
    CHECK(number >= sight->next && serial >= sight->serials[level] && stamp >= sight->stamp,
          "%s: record %llu comes after %llu", sight->reader, (unsigned long long)number,
          (unsigned long long)sight->next);
    if (number != sight->next && sight->count > 0) {
        if (sight->missing == 0)
            sight->first_missing = sight->next;
        sight->missing += number - sight->next;
    }
    sight->next = number + 1;
    sight->serials[level] = serial + 1;
    sight->stamp = stamp;
    sight->count++;
    if (truth[number % REMEMBERED].is_known && truth[number % REMEMBERED].number == number)
        CHECK(truth[number % REMEMBERED].level == level && truth[number % REMEMBERED].serial == serial,
              "%s: record %llu is another one than before", sight->reader, (unsigned long long)number);
    truth[number % REMEMBERED].number = number;
    truth[number % REMEMBERED].level = level;
    truth[number % REMEMBERED].serial = serial;
    truth[number % REMEMBERED].is_known = true;
}

static void see_record(void *context, uint64_t number, const struct layout_record *record)
{
    if (check_whole(record, number))
        see(context, number, record->owner, record->arguments[0], record->stamp);
}

/* Reads events with the reader of spoor report. Numbers are those of its records, and of what it says to be missing
 * before each. */
static void see_events(struct sight *sight, struct recording *recording, uint64_t *number)
{
    struct recording_event event;
    while (recording_next(recording, &event) == 1) {
        *number += event.lost;
        if (check_whole((const struct layout_record *)event.bytes, *number))
            see(sight, *number, event.owner, event.words[0], event.stamp);
        ++*number;
    }
}

/* Checks what a reader saw: only what is unfinished at this instant may be missing. */
static void check_sight(const struct sight *sight)
{
    const struct layout_ring *ring = own_ring();
    const uint64_t committed = layout_number(ring->committed, ring->number_base);
    CHECK(sight->next >= committed && sight->next <= ring_number(ring),
          "%s: %llu, committed are %llu of %llu", sight->reader, (unsigned long long)sight->next,
          (unsigned long long)committed, (unsigned long long)ring_number(ring));
    /* A record that was given up stays with its block; those after it may be overwritten. */
    CHECK(sight->missing == 0 || is_late || sight->first_missing >= committed,
          "%s: %llu is missing, committed are %llu", sight->reader, (unsigned long long)sight->first_missing,
          (unsigned long long)committed);
}

/* ---- the readers ---- */

static struct recording *followed;
static struct sight following = {.reader = "follow"}, draining = {.reader = "minimal drain"};
static uint64_t followed_number, looks;
static struct view_drain drained_view;
static struct drain_reader {
    struct drain *drain;
    char path[96];
} drained;

static const struct recording_options snapshot = {.only_cpu = -1}, live = {.follow = true, .only_cpu = -1};

static void look_at(struct sight *sight, struct recording *recording)
{
    uint64_t number = 0;
    see_events(sight, recording, &number);
    check_sight(sight);
    recording_close(recording);
}

static void look(void)
{
    struct sight killed = {.reader = "killed"}, report = {.reader = "report"}, copy = {.reader = "copy"};
    struct text why = {0};
    struct recording *recording;
    looks++;
    ring_walk(&view, 0, see_record, &killed);
    check_sight(&killed);
    ring_drain(&view, 0, &drained_view, see_record, &draining);
    if (recording_open(spoor_trace_path(), &snapshot, &recording, &why) == 0)
        look_at(&report, recording);
    else
        CHECK(false, "%s", text_string(&why));
    const int file = open(spoor_trace_path(), O_RDONLY | O_CLOEXEC), memory = copy_to_memory(file);
    close(file);
    if (recording_open_file(memory, "copy", &snapshot, &recording, &why) == 0)
        look_at(&copy, recording);
    else
        CHECK(false, "%s", text_string(&why));
    recording_refresh(followed);
    see_events(&following, followed, &followed_number);
    CHECK(drain_round(drained.drain, &why) >= 0, "%s", text_string(&why));
    text_free(&why);
}

/* Waits until the follower has seen almost everything: it shows what is 20 ms old, and the ring goes round
 * meanwhile. */
static void let_follow(void)
{
    while (following.next + 100 < ring_number(own_ring())) {
        recording_refresh(followed);
        see_events(&following, followed, &followed_number);
    }
}

static void begin_reading(void)
{
    struct text why = {0};
    const struct drain_options options = {.output = drained.path};
    following = (struct sight){.reader = "follow"};
    draining = (struct sight){.reader = "minimal drain"};
    drained_view = (struct view_drain){0};
    followed_number = 0;
    memset(truth, 0, sizeof truth);
    snprintf(drained.path, sizeof drained.path, "%s.drained", spoor_trace_path());
    if (recording_open(spoor_trace_path(), &live, &followed, &why) != 0 ||
        drain_open(spoor_trace_path(), &options, &drained.drain, &why) != 0) {
        fprintf(stderr, "%s\n", text_string(&why));
        exit(1);
    }
}

/* Checks, when the recording is closed, that the two readers that stay with it have seen everything that was
 * written. */
static void end_reading(uint64_t written)
{
    struct text why = {0};
    struct recording *recording;
    struct sight file = {.reader = "drained"};
    uint64_t number = 0;
    snprintf(where, sizeof where, "at the end");
    recording_refresh(followed);
    see_events(&following, followed, &followed_number);
    CHECK(following.next == written && (is_late || following.missing == 0),
          "follow: %llu of %llu, %llu missing", (unsigned long long)following.count,
          (unsigned long long)written, (unsigned long long)following.missing);
    CHECK(drained_view.read + drained_view.overwritten == written && (is_late || !drained_view.overwritten),
          "minimal drain: %llu of %llu", (unsigned long long)drained_view.read, (unsigned long long)written);
    CHECK(drain_finish(drained.drain, &why) == 0, "%s", text_string(&why));
    const struct drain_counts counts = drain_counts(drained.drain);
    if (recording_open(drained.path, &snapshot, &recording, &why) == 0) {
        see_events(&file, recording, &number);
        CHECK(counts.events + counts.lost == written && file.next == written &&
                  (is_late || (file.missing == 0 && counts.lost == 0)),
              "drain: %llu of %llu, %llu missing, %llu lost", (unsigned long long)file.count,
              (unsigned long long)written, (unsigned long long)file.missing, (unsigned long long)counts.lost);
        recording_close(recording);
    } else {
        CHECK(false, "%s", text_string(&why));
    }
    drain_close(drained.drain);
    recording_close(followed);
    unlink(drained.path);
    text_free(&why);
}

/* ---- what they read ---- */

static void record(unsigned level, unsigned length)
{
    record_traced(level, length, NULL, NULL);
}

struct interruption {
    unsigned before, after; /* records around the one that is read step by step */
};

static void interrupt(void *context)
{
    const struct interruption *interruption = context;
    for (unsigned i = 0; i < interruption->before; i++)
        record(1, TEXT + i % 3 * 8);
    record_traced(1, TEXT, &traces[1], NULL);
    for (unsigned i = 0; i < interruption->after; i++)
        record(1, TEXT + i % 3 * 8);
}

/* Tests all paths, with at most `most` records in the handler. */
static void read_everywhere(unsigned blocks, unsigned most)
{
    for (unsigned path = 0; path < PATHS; path++) {
        snprintf(where, sizeof where, "%s, %u blocks", paths[path].name, blocks);
        fill_to(paths[path].room);
        traces[0].each = look;
        record_traced(0, TEXT, &traces[0], NULL);
        for (unsigned i = path; i < traces[0].count; i += is_late ? stride * 4 : stride) {
            struct interruption interruption = {i % 2 ? most : 0, i % 3 ? 0 : 60};
            struct steps steps = {.at = traces[0].at[i],
                                  .times = traces[0].times[i],
                                  .interrupt = interrupt,
                                  .context = &interruption};
            snprintf(where, sizeof where, "%s, %u blocks, instruction %u, %u and %u", paths[path].name,
                     blocks, i, interruption.before, interruption.after);
            traces[1].each = look;
            fill_to(paths[path].room);
            look();
            let_follow();
            record_traced(0, TEXT, NULL, &steps);
            look();
        }
    }
}

static void read_recording(unsigned blocks, unsigned most, bool late)
{
    memset(levels, 0, sizeof levels);
    open_recording(blocks, 1, 1);
    spoor_trace_thread("steps");
    if (late)
        set_late(10);
    begin_reading();
    read_everywhere(blocks, most);
    const uint64_t written = ring_number(own_ring());
    spoor_trace_close();
    end_reading(written);
    view_close(&view);
    is_late = false;
}

int main(int argc, char **argv)
{
    static const unsigned sizes[] = {4, 16};
    if (argc > 1 && atoi(argv[1]) > 0)
        stride = (unsigned)atoi(argv[1]);
    steps_begin();
    for (unsigned size = 0; size < 2; size++)
        read_recording(sizes[size], sizes[size] > 4 ? 150 : 30, false);
    part("readers at every instruction: what each sees is true, and all that is finished");
    for (unsigned size = 0; size < 2; size++)
        read_recording(sizes[size], sizes[size] * 90, true);
    part("readers after a long pause, above which the ring was filled: what each sees is true");
    printf("%llu looks of 6 readers\n", (unsigned long long)looks);
    return failures != 0;
}
