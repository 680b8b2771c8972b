/* SPDX-License-Identifier: BSD-3-Clause */
/* Records for the tests that go step by step through the recorder: records that show whether they are whole, the
 * position of the ring before one of them, and the recording itself.
 *
 * A record has a level: 0 for the record that is interrupted, 1 for those of the handler, 2 for those of a handler
 * that interrupts that handler. Those of a level are numbered. */
#ifndef TESTS_RECORDER_STEPS_RECORDS_H
#define TESTS_RECORDER_STEPS_RECORDS_H

#define VIEW_BYTES ((size_t)1 << 24) /* QEMU remembers each page that was ever mapped */

#include <errno.h>

#include <spoor/trace.h>
#include "../unit/recorder_reader.h"

SPOOR_GROUP(steps, "the recorder step by step");
SPOOR_TRACEPOINT(steps, STEP, none, SPOOR_USES, (uint64_t, serial), (const char *, text), (uint64_t, again));
SPOOR_TRACEPOINT_HERE(STEP);

enum { LEVELS = 3, TEXT = 20, RECORD_WORDS = SPOOR_RECORD_WORDS_ + 3, LENGTH_MAX = 3800 };

static unsigned failures;
static struct recording_view view;

#define CHECK(condition_, ...)                                                                               \
    do {                                                                                                     \
        if (!(condition_) && failures++ < 20) {                                                              \
            fprintf(stderr, "line %d: %s: ", __LINE__, #condition_);                                         \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fprintf(stderr, " (%s)\n", where);                                                               \
        }                                                                                                    \
    } while (0)

static char where[160]; /* the case that is being tested */

struct level {
    uint64_t written, lost;
};
static struct level levels[LEVELS];
static char text_at(uint64_t serial, unsigned level, unsigned i)
{
    return (char)((level ? 'a' : 'A') + (serial + level + i) % 26);
}

struct wanted {
    unsigned level, length;
    const char *text;
};

static STEPS_CODE __attribute__((noinline)) void write_record(void *context)
{
    const struct wanted *wanted = context;
    const uint64_t serial = levels[wanted->level].written;
    SPOOR_RECORD_SIZED(STEP, wanted->length, wanted->level, serial * 3, serial, wanted->text, ~serial);
}

/* Writes one record, which is traced or interrupted on request. */
static void record_traced(unsigned level, unsigned length, struct steps_trace *trace, struct steps *steps)
{
    char text[LENGTH_MAX + 1];
    const struct wanted wanted = {level, length, text};
    void *const context = (void *)(uintptr_t)&wanted;
    for (unsigned i = 0; i < length; i++)
        text[i] = text_at(levels[level].written, level, i);
    text[length] = '\0';
    if (trace != NULL)
        steps_trace(trace, write_record, context);
    else if (steps != NULL)
        steps_run(steps, write_record, context);
    else
        write_record(context);
    levels[level].written++;
}

static bool check_whole(const struct layout_record *record, uint64_t number)
{
    const uint64_t serial = record->arguments[0], word = record->arguments[1];
    const unsigned length = (unsigned)(word & 0xffff), offset = (unsigned)(word >> 16 & 0xffff);
    const unsigned level = record->owner;
    const bool is_whole = layout_record_id(record->start) == view_tracepoint(&view, "STEP") &&
                          level < LEVELS && record->arguments[2] == ~serial && record->object == serial * 3 &&
                          record->size == length && word >> 32 == length &&
                          offset == LAYOUT_RECORD_BYTES + 24 &&
                          layout_record_bytes(record->start) == offset + (length + 7) / 8 * 8;
    CHECK(is_whole, "record %llu is torn", (unsigned long long)number);
    if (!is_whole)
        return false;
    const char *text = (const char *)record + offset;
    for (unsigned i = 0; i < length; i++)
        if (text[i] != text_at(serial, level, i)) {
            CHECK(false, "text of record %llu differs at %u", (unsigned long long)number, i);
            break;
        }
    return true;
}

static const struct layout_ring *own_ring(void)
{
    return (const struct layout_ring *)spoor_ring_v1.positions;
}

/* Returns how many words are left in the block that is being filled. */
static unsigned room(void)
{
    const unsigned used = (unsigned)(ring_position(own_ring()) % LAYOUT_BLOCK_WORDS);
    return used == 0 ? 0 : LAYOUT_BLOCK_WORDS - used;
}

static void record(unsigned level, unsigned length);

/* ---- where the ring stands before ---- */

static void record_words(unsigned words)
{
    record(0, (words - RECORD_WORDS) * 8);
}

/* Writes records until the block has room for so many words; 0: until it is full. */
static void fill_to(unsigned words)
{
    if (room() < words + RECORD_WORDS) { /* begin another */
        while (room() >= RECORD_WORDS)
            record(0, 0);
        record(0, 0);
    }
    while (room() >= words + 2 * RECORD_WORDS)
        record(0, 0);
    record_words(room() - words);
}

enum { SMALL = RECORD_WORDS + (TEXT + 7) / 8 };

static const struct path {
    const char *name;
    unsigned room; /* words in the block before the record */
} paths[] = {
    {"inline", 400},
    {"edge", SMALL},     /* the record fits, the next one does not */
    {"open", SMALL - 1}, /* it needs another block, and the rest of this one is padding */
    {"exact", 0},        /* it needs another block, and this one is full */
};
enum { PATHS = sizeof paths / sizeof *paths };

/* ---- the recording ---- */

static void open_recording(unsigned blocks, unsigned threads, unsigned kept)
{
    struct spoor_trace_options options = {.size = sizeof options,
                                          .name = "steps",
                                          .enable = "all",
                                          .ring_bytes = blocks * LAYOUT_BLOCK_BYTES,
                                          .threads = threads,
                                          .kept = kept,
                                          .owners = 8,
                                          .flags = SPOOR_TRACE_NO_ENVIRONMENT | SPOOR_TRACE_REMOVE};
    if (spoor_trace_open(&options) != 0) {
        fprintf(stderr, "%s\n", spoor_trace_error());
        exit(1);
    }
    if (!view_open(&view, spoor_trace_path())) {
        perror(spoor_trace_path());
        exit(1);
    }
}

static inline void close_recording(void)
{
    view_close(&view);
    spoor_trace_close();
}

static bool is_late; /* unfinished records are given up at once, as after a long pause */

/* The recorder takes the rate of the counter, and with it the time after which a record is given up, from the
 * recording: a tenth of what it is here. With a rate of less than 100 it reads the clock for every block. */
static void set_late(uint64_t rate)
{
    const int file = open(spoor_trace_path(), O_WRONLY | O_CLOEXEC);
    is_late = pwrite(file, &rate, sizeof rate, offsetof(struct layout_header, counter_hz)) == sizeof rate;
    CHECK(is_late, "%s", strerror(errno));
    close(file);
}

static void part(const char *name)
{
    static unsigned before;
    printf("%s %s\n", failures == before ? "ok" : "not ok", name);
    before = failures;
    fflush(stdout);
}

#endif
