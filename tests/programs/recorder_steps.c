/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder, interrupted at every instruction: a record is written step by step, and after each number of
 * steps a signal handler records as much as a ring takes and more. Then all records must be there, whole, in
 * order and numbered, or be counted as lost for a reason that holds: read + overwritten + lost = written.
 *
 *   recorder_steps [STRIDE]      of pairs of instructions every STRIDEth, of single ones all before which a handler
 *                                makes a difference (recorder_steps.h); a table, then one "ok" or "not ok" line per
 *                                part
 *
 * A record has a level: 0 for the record that is interrupted, 1 for those of the handler, 2 for those of a
 * handler that interrupts that handler.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "recorder_steps.h"
#include "recorder_steps_records.h"

static unsigned stride = 97; /* for pairs of instructions */

/* ---- records ---- */

static uint64_t losses[LAYOUT_LOST_COUNT]; /* records that were lost since the case began, by reason */

/* Whether a record may be lost now because what is above an unfinished one would overwrite it. */
static bool is_nested_loss_due(unsigned length)
{
    const struct layout_ring *ring = own_ring();
    const uint64_t block = ~(uint64_t)(LAYOUT_BLOCK_WORDS - 1);
    const uint64_t next = (ring_position(ring) + LAYOUT_BLOCK_WORDS - 1) & block;
    return room() < RECORD_WORDS + (length + 7) / 8 && ring->reserved != ring->committed &&
           next - (ring_committed(ring) & block) > spoor_ring_v1.mask;
}

static bool is_making; /* the interrupted record may be making its thread's ring */

static uint64_t lost_above(unsigned level)
{
    uint64_t lost = 0;
    while (++level < LEVELS)
        lost += levels[level].lost;
    return lost;
}

/* Records as record_traced() does, and notes whether the record was lost, which must have been due. */
static void record_stepped(unsigned level, unsigned length, struct steps_trace *trace, struct steps *steps)
{
    const struct layout_control *control = view_control(&view);
    uint64_t before[LAYOUT_LOST_COUNT], sum = 0;
    const uint64_t above = lost_above(level);
    memcpy(before, control->lost, sizeof before);
    record_traced(level, length, trace, steps);
    for (int reason = 0; reason < LAYOUT_LOST_COUNT; reason++)
        sum += control->lost[reason] - before[reason];
    const uint64_t own = sum - (lost_above(level) - above);
    if (own == 0)
        return;
    CHECK(own == 1, "%llu lost", (unsigned long long)own);
    CHECK(level > 0, "the record that was interrupted is lost");
    levels[level].lost += own;
    if (control->lost[LAYOUT_LOST_NESTED] != before[LAYOUT_LOST_NESTED])
        CHECK(is_late || is_nested_loss_due(length), "a record of level %u is lost without need", level);
    else
        CHECK(is_making && control->lost[LAYOUT_LOST_MAKING] != before[LAYOUT_LOST_MAKING],
              "a record of level %u is lost for another reason", level);
}

static void record(unsigned level, unsigned length)
{
    record_stepped(level, length, NULL, NULL);
}

/* ---- what must be there ---- */

struct found {
    uint32_t ring;  /* the ring in which the case began */
    uint64_t first; /* number of its first record there */
    uint64_t since; /* number of its first record in the ring that is walked */
    uint64_t begun[LEVELS];
    bool any;
    uint64_t next, oldest, count;
    uint64_t serials[LEVELS]; /* a lower bound for that of the next record */
    uint64_t missing[LEVELS];
    uint64_t stamp;
};

static void find_record(void *context, uint64_t number, const struct layout_record *record)
{
    struct found *found = context;
    const uint64_t serial = record->arguments[0];
    const unsigned level = record->owner;
    if (!check_whole(record, number))
        return;
    CHECK(record->stamp >= found->stamp, "time goes back at record %llu", (unsigned long long)number);
    found->stamp = record->stamp;
    if (number < found->since)
        return;
    if (!found->any) {
        found->oldest = found->next = number;
        found->any = true;
    }
    CHECK(number == found->next, "record %llu comes after %llu", (unsigned long long)number,
          (unsigned long long)found->next - 1);
    CHECK(serial >= found->serials[level], "level %u: record %llu comes after %llu", level,
          (unsigned long long)serial, (unsigned long long)found->serials[level] - 1);
    found->missing[level] += serial - found->serials[level];
    found->serials[level] = serial + 1;
    found->next = number + 1;
    found->count++;
}

struct row { /* a row of the table */
    unsigned long instructions, interrupted, cases, written, read, overwritten, lost[LAYOUT_LOST_COUNT];
};

static struct found begin_case(uint32_t ring)
{
    struct found found = {.ring = ring,
                          .first = view_has_ring(&view, ring) ? ring_number(view_ring(&view, ring)) : 0};
    for (unsigned level = 0; level < LEVELS; level++) {
        levels[level].lost = 0;
        found.begun[level] = found.serials[level] = levels[level].written;
    }
    memcpy(losses, view_control(&view)->lost, sizeof losses);
    return found;
}

static void end_case(struct found *found, struct row *row)
{
    uint64_t written = 0, lost = 0, missing = 0, overwritten = 0;
    for (unsigned level = 0; level < LEVELS; level++)
        written += levels[level].written - found->begun[level];
    for (int reason = 0; reason < LAYOUT_LOST_COUNT; reason++) {
        const uint64_t now = view_control(&view)->lost[reason] - losses[reason];
        row->lost[reason] += now;
        lost += now;
    }
    /* A thread's rings stand in the order in which it had them, because none is used again within a case. */
    for (uint32_t i = found->ring; view_has_ring(&view, i); i++) {
        const struct layout_ring *ring = view_ring(&view, i);
        found->since = i == found->ring ? found->first : 0;
        found->any = false;
        ring_walk(&view, i, find_record, found);
        if (!found->any)
            found->oldest = found->next = ring_number(ring);
        overwritten += found->oldest - found->since;
        CHECK(ring->reserved == ring->committed, "not committed");
        CHECK(found->next == ring_number(ring), "the last is %llu of %llu", (unsigned long long)found->next,
              (unsigned long long)ring_number(ring));
    }
    for (unsigned level = 0; level < LEVELS; level++)
        missing += found->missing[level] + levels[level].written - found->serials[level];
    CHECK(found->count + overwritten + lost == written,
          "%llu read + %llu overwritten + %llu lost != %llu written", (unsigned long long)found->count,
          (unsigned long long)overwritten, (unsigned long long)lost, (unsigned long long)written);
    CHECK(missing == overwritten + lost, "%llu missing", (unsigned long long)missing);
    row->cases++;
    row->written += written;
    row->read += found->count;
    row->overwritten += overwritten;
}

static void print_row(const char *path, unsigned blocks, unsigned depth, unsigned burst,
                      const struct row *row)
{
    printf("%-8s %6u %5u %6u %12lu %9lu %9lu %9lu %11lu %6lu %6lu\n", path, blocks, depth, burst,
           row->instructions, row->interrupted, row->written, row->read, row->overwritten,
           row->lost[LAYOUT_LOST_MAKING], row->lost[LAYOUT_LOST_NESTED]);
}

/* ---- interruptions ---- */

struct interruption {
    unsigned level, burst;
    struct steps_trace *trace; /* trace of the burst's first record */
    struct steps *steps;       /* steps at which a deeper handler interrupts */
};

static void interrupt(void *context)
{
    const struct interruption *interruption = context;
    for (unsigned i = 0; i < interruption->burst; i++)
        record_stepped(interruption->level, TEXT + i % 3 * 8, i ? NULL : interruption->trace,
                       i ? NULL : interruption->steps);
}

static struct steps steps_at(const struct steps_trace *trace, unsigned i, struct interruption *interruption)
{
    return (struct steps){
        .at = trace->at[i], .times = trace->times[i], .interrupt = interrupt, .context = interruption};
}

static void run_case(const struct path *path, struct steps *steps, struct row *row)
{
    fill_to(path->room);
    struct found found = begin_case(own_ring()->index);
    record_stepped(0, TEXT, NULL, steps);
    record(0, TEXT);
    end_case(&found, row);
}

static struct steps_trace traces[2];

/* Keeps only instructions before which a handler does something else than before the next one. */
static void keep_what_matters(struct steps_trace *trace)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < trace->count; i++)
        if (steps_matters(trace->at[i])) {
            trace->times[kept] = trace->times[i];
            trace->at[kept++] = trace->at[i];
        }
    trace->count = kept;
}

static void trace_path(const struct path *path)
{
    fill_to(path->room);
    record_stepped(0, TEXT, &traces[0], NULL);
    keep_what_matters(&traces[0]);
}

/* Interrupts a record by one handler, at each instruction of traces[0]. */
static void one_handler(unsigned blocks, const struct path *path, unsigned burst)
{
    struct row row = {0};
    struct interruption interruption = {.level = 1, .burst = burst};
    row.instructions = traces[0].count;
    for (unsigned i = 0; i < traces[0].count; i++) {
        struct steps steps = steps_at(&traces[0], i, &interruption);
        snprintf(where, sizeof where, "%s, %u blocks, burst of %u, instruction %u at %p", path->name, blocks,
                 burst, i, (void *)steps.at);
        run_case(path, &steps, &row);
        row.interrupted += steps.done;
    }
    print_row(path->name, blocks, 1, burst, &row);
}

/* How many records each of two handlers makes. */
struct bursts {
    unsigned first, second;
};

enum { BURSTS_MAX = 3 };

/* Interrupts a record by a handler, and that by another one at each instruction of its first record, which is the
 * same however many follow it. */
static void two_handlers(unsigned blocks, const struct path *path, const struct bursts *bursts,
                         unsigned count)
{
    struct row rows[BURSTS_MAX] = {0};
    trace_path(path);
    for (unsigned i = blocks % stride; i < traces[0].count; i += stride) {
        struct interruption traced = {.level = 1, .burst = bursts->first, .trace = &traces[1]};
        struct steps steps = steps_at(&traces[0], i, &traced);
        snprintf(where, sizeof where, "%s, %u blocks, traced at instruction %u", path->name, blocks, i);
        traces[1].count = 0;
        run_case(path, &steps, &rows[0]);
        keep_what_matters(&traces[1]);
        for (unsigned burst = 0; burst < count; burst++) {
            rows[burst].instructions += traces[1].count;
            for (unsigned j = i % stride; j < traces[1].count; j += stride) {
                struct interruption second = {.level = 2, .burst = bursts[burst].second};
                struct steps inner = steps_at(&traces[1], j, &second);
                struct interruption first = {.level = 1, .burst = bursts[burst].first, .steps = &inner};
                steps = steps_at(&traces[0], i, &first);
                snprintf(where, sizeof where, "%s, %u blocks, bursts of %u and %u, instructions %u and %u",
                         path->name, blocks, first.burst, second.burst, i, j);
                run_case(path, &steps, &rows[burst]);
                rows[burst].interrupted += inner.done;
            }
        }
    }
    for (unsigned burst = 0; burst < count; burst++)
        print_row(path->name, blocks, 2, bursts[burst].second, &rows[burst]);
}

static const unsigned sizes[] = {2, 4, 16};

static void interrupted_once(bool late)
{
    for (unsigned size = 0; size < 3; size++) {
        const unsigned blocks = sizes[size], bursts[] = {0, 1, 2, 90, blocks * 90};
        open_recording(blocks, 0, 0);
        spoor_trace_thread("steps");
        if (late)
            set_late(0);
        for (unsigned path = 0; path < PATHS; path++) {
            trace_path(&paths[path]);
            for (unsigned i = late ? 4 : 0; i < 5; i++)
                one_handler(blocks, &paths[path], bursts[i]);
        }
        is_late = false;
        close_recording();
    }
}

static void interrupted_twice(bool late)
{
    for (unsigned size = 0; size < 2; size++) {
        const unsigned blocks = sizes[size];
        open_recording(blocks, 0, 0);
        spoor_trace_thread("steps");
        if (late)
            set_late(0);
        const struct bursts bursts[] = {{90, blocks * 90}, {2, 90}, {1, 1}};
        for (unsigned path = 0; path < PATHS; path++)
            two_handlers(blocks, &paths[path], bursts, late ? 1 : 3);
        is_late = false;
        close_recording();
    }
}

/* ---- a ring is made ---- */

enum making {
    MAKING_FRESH,  /* a new thread, a new ring */
    MAKING_REUSED, /* a new thread, the ring of one that has ended */
    MAKING_AGAIN,  /* a thread that has a ring in a recording before this one */
};

/* How many rings this thread has left for larger ones. */
static uint64_t has_grown(void)
{
    uint64_t sizes = 0;
    for (uint64_t bytes = own_ring()->bytes; bytes > LAYOUT_RING_FIRST; bytes /= LAYOUT_RING_GROWS)
        sizes++;
    return sizes;
}

struct maker {
    struct steps_trace *trace;
    struct steps *steps;
    struct row *row;
    uint64_t tenants; /* tenants of all rings, at the end */
};

static void *make_ring(void *context)
{
    const struct maker *maker = context;
    struct found found = begin_case(0);
    uint64_t tenants = 0;
    is_making = true;
    record_stepped(0, TEXT, maker->trace, maker->steps);
    is_making = false;
    record(0, TEXT);
    end_case(&found, maker->row);
    for (uint64_t ring = 0; view_has_ring(&view, ring); ring++)
        tenants += view_ring(&view, ring)->tenants;
    tenants -= has_grown();
    CHECK(tenants == maker->tenants, "%llu rings were made, not %llu", (unsigned long long)tenants,
          (unsigned long long)maker->tenants);
    return (void *)(uintptr_t)syscall(SYS_gettid);
}

static void run_maker(enum making making, unsigned blocks, struct maker *maker)
{
    pthread_t thread;
    void *tid;
    if (making != MAKING_REUSED) {
        open_recording(making == MAKING_AGAIN && maker->row->cases % 2 ? blocks * 4 : blocks, 4, 0);
        maker->tenants = 0;
    }
    maker->tenants++;
    if (making == MAKING_AGAIN) {
        make_ring(maker);
    } else if (pthread_create(&thread, NULL, make_ring, maker) == 0 && pthread_join(thread, &tid) == 0) {
        while (syscall(SYS_tgkill, getpid(), (int)(uintptr_t)tid, 0) ==
               0) /* so that it has ended for the recorder, too */
            sched_yield();
    } else {
        CHECK(false, "no thread");
    }
    if (making != MAKING_REUSED)
        close_recording();
}

static void interrupted_making(enum making making, unsigned blocks)
{
    static const char *const names[] = {"fresh", "reused", "again"};
    static const unsigned bursts[] = {1, 3, 90, 360};
    enum { BURSTS = sizeof bursts / sizeof *bursts };
    struct row rows[BURSTS] = {0};
    struct maker maker = {.trace = &traces[0], .row = &rows[0]};
    snprintf(where, sizeof where, "%s, %u blocks, traced", names[making], blocks);
    if (making == MAKING_REUSED) {
        open_recording(blocks, 1, 1);
        run_maker(making, blocks, &maker);
    }
    run_maker(making, blocks, &maker);
    maker.trace = NULL;
    keep_what_matters(&traces[0]);
    for (unsigned burst = 0; burst < BURSTS; burst++) {
        struct interruption interruption = {.level = 1, .burst = bursts[burst]};
        maker.row = &rows[burst];
        rows[burst].instructions = traces[0].count;
        for (unsigned i = bursts[burst] % stride; i < traces[0].count; i += stride) {
            struct steps steps = steps_at(&traces[0], i, &interruption);
            maker.steps = &steps;
            snprintf(where, sizeof where, "%s, %u blocks, burst of %u, instruction %u at %p", names[making],
                     blocks, bursts[burst], i, (void *)steps.at);
            run_maker(making, blocks, &maker);
            rows[burst].interrupted += steps.done;
        }
    }
    if (making == MAKING_REUSED)
        close_recording();
    for (unsigned burst = 0; burst < BURSTS; burst++)
        print_row(names[making], blocks, 1, bursts[burst], &rows[burst]);
}

/* ---- a ring is left for a larger one ---- */

struct grower {
    const struct path *path;
    struct steps_trace *trace;
    struct steps *steps;
    struct row *row;
};

/* Records until the next block would go round above the first one of the thread's first ring, and then the record
 * that is traced or interrupted. Nothing may be lost, also for a handler. */
static void *grow_ring(void *context)
{
    const struct grower *grower = context;
    record(0, 0);
    while (ring_position(own_ring()) - own_ring()->begin <= LAYOUT_RING_FIRST / 8 - LAYOUT_BLOCK_WORDS)
        record(0, 0);
    fill_to(grower->path->room);
    CHECK(view_has_ring(&view, 0) && !view_has_ring(&view, 1), "it has grown before");
    struct found found = begin_case(0);
    record_stepped(0, TEXT, grower->trace, grower->steps);
    for (unsigned i = 0; i < 100; i++)
        record(0, TEXT);
    end_case(&found, grower->row);
    CHECK(own_ring()->index == has_grown() && has_grown() > 0, "ring %u of %llu bytes", own_ring()->index,
          (unsigned long long)own_ring()->bytes);
    return NULL;
}

static void run_grower(struct grower *grower)
{
    pthread_t thread;
    open_recording(64, 1, 0);
    CHECK(!pthread_create(&thread, NULL, grow_ring, grower) && !pthread_join(thread, NULL), "no thread");
    close_recording();
}

static void trace_growth(const struct path *path, struct row *row)
{
    struct grower grower = {.path = path, .trace = &traces[0], .row = row};
    snprintf(where, sizeof where, "growing, %s, traced", path->name);
    run_grower(&grower);
    keep_what_matters(&traces[0]);
}

/* Interrupts the record by one handler, at each instruction of traces[0]. */
static void interrupted_growth(const struct path *path, unsigned burst)
{
    struct row row = {0};
    struct interruption first = {.level = 1, .burst = burst};
    row.instructions = traces[0].count;
    for (unsigned i = 0; i < traces[0].count; i++) {
        struct steps steps = steps_at(&traces[0], i, &first);
        struct grower grower = {.path = path, .steps = &steps, .row = &row};
        snprintf(where, sizeof where, "growing, %s, burst of %u, instruction %u at %p", path->name, burst, i,
                 (void *)steps.at);
        run_grower(&grower);
        row.interrupted += steps.done;
    }
    print_row(path->name, 64, 1, burst, &row);
}

/* Interrupts the record at some instructions of traces[0] by a handler, and the first record of that by another one. */
static void interrupted_growth_twice(const struct path *path, const struct bursts *bursts, unsigned count)
{
    struct row rows[BURSTS_MAX] = {0};
    for (unsigned i = 0; i < traces[0].count; i += stride) {
        struct interruption traced = {.level = 1, .burst = bursts->first, .trace = &traces[1]};
        struct steps steps = steps_at(&traces[0], i, &traced);
        struct grower grower = {.path = path, .steps = &steps, .row = &rows[0]};
        traces[1].count = 0;
        snprintf(where, sizeof where, "growing, %s, traced at instruction %u", path->name, i);
        run_grower(&grower);
        keep_what_matters(&traces[1]);
        for (unsigned burst = 0; burst < count; burst++) {
            rows[burst].instructions += traces[1].count;
            grower.row = &rows[burst];
            for (unsigned j = i % stride; j < traces[1].count; j += stride) {
                struct interruption second = {.level = 2, .burst = bursts[burst].second};
                struct steps inner = steps_at(&traces[1], j, &second);
                struct interruption first = {.level = 1, .burst = bursts[burst].first, .steps = &inner};
                steps = steps_at(&traces[0], i, &first);
                snprintf(where, sizeof where, "growing, %s, bursts of %u and %u, instructions %u and %u",
                         path->name, first.burst, second.burst, i, j);
                run_grower(&grower);
                rows[burst].interrupted += inner.done;
            }
        }
    }
    for (unsigned burst = 0; burst < count; burst++)
        print_row(path->name, 64, 2, bursts[burst].second, &rows[burst]);
}

/* ---- another recording ---- */

static void reopen(void *context)
{
    const unsigned *blocks = context;
    close_recording();
    open_recording(*blocks, 1, 0);
    record(1, TEXT);
}

/* Closes the recording in a handler, and opens another one with rings of another size. */
static void reopened(const struct path *path, unsigned from, unsigned to)
{
    char text[TEXT + 1] = "";
    const struct wanted wanted = {0, 0, text};
    unsigned count = 1, done = 0;
    for (unsigned i = 0; i < count; i++) {
        struct steps steps = {.at = 0, .interrupt = reopen, .context = &to};
        snprintf(where, sizeof where, "%s, recordings of %u and %u blocks, instruction %u", path->name, from,
                 to, i);
        open_recording(from, 1, 0);
        record(0, TEXT);
        fill_to(path->room);
        if (i == 0) {
            steps_trace(&traces[0], write_record, (void *)(uintptr_t)&wanted);
            count = traces[0].count;
        } else {
            steps.at = traces[0].at[i];
            steps.times = traces[0].times[i];
            steps_run(&steps, write_record, (void *)(uintptr_t)&wanted);
            done += steps.done;
        }
        levels[0].written++;
        struct found found = {0};
        record(0, TEXT);
        ring_walk(&view, 0, find_record, &found);
        CHECK(found.next == ring_number(own_ring()) && found.count > 0 && (!steps.done || found.count <= 3),
              "%llu records of %llu", (unsigned long long)found.count,
              (unsigned long long)ring_number(own_ring()));
        close_recording();
    }
    CHECK(done > 0, "nothing was interrupted");
}

/* The counter's rate is measured once, and not at each of the thousands of openings. */
uint64_t __real_clock_measure_rate(const struct layout_clock *start);
uint64_t __wrap_clock_measure_rate(const struct layout_clock *start);
uint64_t __wrap_clock_measure_rate(const struct layout_clock *start)
{
    static uint64_t rate;
    if (rate == 0)
        rate = __real_clock_measure_rate(start);
    return rate;
}

/* The kernel is asked for the time, and not its code in this process, whose hundred instructions nothing can
 * interrupt. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    return (int)syscall(SYS_clock_gettime, clock, time);
}

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        stride = (unsigned)atoi(argv[1]);
    steps_begin();
    printf("%-8s %6s %5s %6s %12s %9s %9s %9s %11s %6s %6s\n", "path", "blocks", "depth", "burst",
           "instructions", "hit", "written", "read", "overwritten", "making", "nested");
    interrupted_once(false);
    part("a handler at every instruction of a record: all are there, or lost with need");
    interrupted_once(true);
    part("a long pause at every instruction, and a handler that fills the ring: nothing is torn");
    interrupted_twice(false);
    part("a handler in a handler");
    interrupted_twice(true);
    part("a long pause, and a handler in a handler");
    for (enum making making = MAKING_FRESH; making <= MAKING_AGAIN; making++)
        interrupted_making(making, 4);
    part("a handler while a ring is made: the interrupted record is there, in the one ring of its thread");
    for (unsigned path = 0; path < PATHS; path++) {
        static const struct bursts bursts[] = {{90, 400}, {2, 90}};
        struct row traced = {0};
        trace_growth(&paths[path], &traced);
        interrupted_growth(&paths[path], 1);
        interrupted_growth(&paths[path], 90);
        interrupted_growth(&paths[path], 1000);
        interrupted_growth_twice(&paths[path], bursts, 2);
    }
    part("a ring is left for a larger one: nothing is lost, and the order stays");
    for (unsigned path = 0; path < PATHS; path++) {
        reopened(&paths[path], 2, 64);
        reopened(&paths[path], 64, 2);
    }
    part("another recording while a record is written");
    return failures != 0;
}
