/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring under stress: writers at full speed with signal handlers that record, a reader all the while,
 * copies of the file while it is written, SIGKILL in the middle. Every record that is read must be whole, in
 * order, and accounted for: read + overwritten = written. In one part handlers fill the ring above the record
 * that they interrupted: read + overwritten + lost = written, lost for this reason only.
 *
 *   recorder_stress ROUNDS [MILLISECONDS]      one "ok" or "not ok" line per part, details on stderr
 *
 * Each thread records two kinds, one in its loop and one in its signal handler, each numbered from 0. The
 * ring numbers all of them. So the number of a record in the ring is its own plus how many of the other kind
 * came before: this ties the ring's account to the writer's, also across what was overwritten.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <spoor/trace.h>
#include "../unit/recorder_reader.h"

SPOOR_GROUP(stress, "the ring under stress");
SPOOR_OBJECT(stress_thing, 's');
SPOOR_TRACEPOINT(stress, LOOP, stress_thing, SPOOR_USES, (uint64_t, sequence), (const char *, text),
                 (uint64_t, again));
SPOOR_TRACEPOINT(stress, SIGNAL, stress_thing, SPOOR_USES, (uint64_t, sequence), (const char *, text),
                 (uint64_t, again));
SPOOR_TRACEPOINT_HERE(LOOP);
SPOOR_TRACEPOINT_HERE(SIGNAL);

enum { WRITERS = 3, LENGTH_MAX = 1800 };

static unsigned failures;

#define CHECK(condition_, ...)                                                                               \
    do {                                                                                                     \
        if (!(condition_) && failures++ < 20) {                                                              \
            fprintf(stderr, "line %d: %s: ", __LINE__, #condition_);                                         \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fputc('\n', stderr);                                                                             \
        }                                                                                                    \
    } while (0)

/* ---- what is recorded ---- */

static unsigned text_length(uint64_t sequence, bool loop)
{
    if (!loop)
        return (unsigned)(sequence % 30);
    return sequence % 97 == 0 ? LENGTH_MAX - (unsigned)(sequence % 64) : (unsigned)(sequence * 7 % 50);
}

static char text_at(uint64_t sequence, unsigned i, bool loop)
{
    return (char)((loop ? 'a' : 'A') + (sequence + i) % 26);
}

static uint64_t object_of(uint64_t sequence, bool loop)
{
    return (sequence + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)loop;
}

/* ---- writers: in a process of their own ---- */

struct shared {
    uint64_t stop, ready;
    struct {
        uint64_t written[2]; /* by kind of record: loop, signal */
        uint64_t tid;
    } threads[WRITERS];
};

static struct shared *shared;
static _Thread_local uint64_t sequences[2];
/* how many records may come above an interrupted one: less than a ring, or more would be lost */
static unsigned most;
static bool filling;                          /* losing records is wanted */
static _Thread_local volatile unsigned above; /* records of handlers since the loop's last record */
static _Thread_local bool in_loop;            /* the ring is made, and the counts are not yet final */

static void record(bool loop)
{
    char text[LENGTH_MAX + 1];
    const uint64_t sequence = sequences[!loop];
    const unsigned length = text_length(sequence, loop);
    for (unsigned i = 0; i < length; i++)
        text[i] = text_at(sequence, i, loop);
    text[length] = '\0';
    if (loop)
        SPOOR_RECORD_SIZED(LOOP, (uint32_t)sequence, 1, object_of(sequence, true), sequence, text, ~sequence);
    else
        SPOOR_RECORD_SIZED(SIGNAL, (uint32_t)sequence, 2, object_of(sequence, false), sequence, text,
                           ~sequence);
    sequences[!loop]++;
}

static void on_signal(int number)
{
    (void)number;
    if (!in_loop)
        return;
    const unsigned burst = sequences[1] % (filling ? 64 : 1024) == 0 ? most : 3;
    if (above + burst > most) /* a slow machine goes from one signal to the next */
        return;
    above += burst;
    for (unsigned i = 0; i < burst; i++)
        record(false);
}

static void *writer(void *argument)
{
    const uintptr_t index = (uintptr_t)argument;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    shared->threads[index].tid = (uint64_t)syscall(SYS_gettid);
    timer_t timer;
    const struct itimerspec often = {{0, 50000 + 7000 * (long)index}, {0, 50000}};
    spoor_trace_thread("writer"); /* so that it has one ring, of the full size */
    record(true);
    in_loop = true;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &often, NULL);
    __atomic_fetch_add(&shared->ready, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED))
        for (int i = 0; i < 64; i++) {
            record(true);
            above = 0;
        }
    timer_delete(timer);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    in_loop = false;
    shared->threads[index].written[0] = sequences[0];
    shared->threads[index].written[1] = sequences[1];
    return NULL;
}

static void write_all(size_t ring_bytes)
{
    most = ring_bytes < 65536 ? 20 : 400;
    if (filling)
        most = (unsigned)(ring_bytes / 64);
    struct spoor_trace_options options = {.size = sizeof options,
                                          .name = "stress",
                                          .enable = "all",
                                          .ring_bytes = ring_bytes,
                                          .flags = SPOOR_TRACE_NO_ENVIRONMENT};
    if (spoor_trace_open(&options) != 0) {
        fprintf(stderr, "%s\n", spoor_trace_error());
        _exit(1);
    }
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL);
    pthread_t threads[WRITERS];
    for (uintptr_t i = 0; i < WRITERS; i++)
        pthread_create(&threads[i], NULL, writer, (void *)i);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    _exit(0);
}

/* ---- checking ---- */

struct check {
    uint32_t ids[2];
    bool begun;
    uint64_t number;      /* expected next */
    uint64_t expected[2]; /* by kind of record */
    uint64_t read, skipped;
    uint64_t stamp;
};

static void check_record(void *context, uint64_t number, const struct layout_record *record)
{
    struct check *check = context;
    const uint32_t id = layout_record_id(record->start);
    const bool loop = id == check->ids[0];
    CHECK(loop || id == check->ids[1], "id %u", id);
    const uint64_t sequence = record->arguments[0], word = record->arguments[1];
    const unsigned length = text_length(sequence, loop), offset = (unsigned)(word >> 16 & 0xffff);
    const bool same = record->arguments[2] == ~sequence && record->object == object_of(sequence, loop) &&
                      record->size == (uint32_t)sequence && record->owner == (loop ? 1u : 2u) &&
                      word >> 32 == length && (word & 0xffff) == length &&
                      offset == LAYOUT_RECORD_BYTES + 24 &&
                      layout_record_bytes(record->start) == offset + (length + 7) / 8 * 8;
    CHECK(same, "record %llu of kind %d is torn", (unsigned long long)sequence, !loop);
    if (!same)
        return;
    const char *text = (const char *)record + offset;
    for (unsigned i = 0; i < length; i++)
        if (text[i] != text_at(sequence, i, loop)) {
            CHECK(false, "text of record %llu differs at %u", (unsigned long long)sequence, i);
            break;
        }
    CHECK(record->stamp >= check->stamp, "time goes back at record %llu", (unsigned long long)number);
    check->stamp = record->stamp;

    /* number = sequence + how many of the other kind came before */
    const uint64_t others = number - sequence;
    if (filling) {
        CHECK(number >= check->number && sequence >= check->expected[!loop], "record %llu comes after %llu",
              (unsigned long long)number, (unsigned long long)check->number);
        check->skipped += number - check->number;
    } else if (check->begun && number == check->number) {
        CHECK(sequence == check->expected[!loop], "record %llu: sequence %llu, expected %llu",
              (unsigned long long)number, (unsigned long long)sequence,
              (unsigned long long)check->expected[!loop]);
        CHECK(others == check->expected[loop], "record %llu: %llu of the other kind, expected %llu",
              (unsigned long long)number, (unsigned long long)others,
              (unsigned long long)check->expected[loop]);
    } else {
        CHECK(number >= check->number && sequence >= check->expected[!loop] &&
                  others >= check->expected[loop],
              "record %llu comes after %llu", (unsigned long long)number, (unsigned long long)check->number);
        check->skipped += number - check->number;
    }
    check->begun = true;
    check->number = number + 1;
    check->expected[!loop] = sequence + 1;
    if (!filling)
        check->expected[loop] = others;
    check->read++;
}

static struct check check_begin(const struct recording_view *view)
{
    return (struct check){.ids = {view_tracepoint(view, "LOOP"), view_tracepoint(view, "SIGNAL")}};
}

static uint64_t check_all(const struct recording_view *view)
{
    uint64_t read = 0;
    for (uint64_t ring = 0; view_has_ring(view, ring); ring++) {
        struct check check = check_begin(view);
        ring_walk(view, ring, check_record, &check);
        read += check.read;
    }
    return read;
}

/* ---- rounds ---- */

static uint64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static pid_t begin(size_t ring_bytes, char *path, size_t room, struct recording_view *view)
{
    memset(shared, 0, sizeof *shared);
    const pid_t child = fork();
    if (child == 0)
        write_all(ring_bytes);
    snprintf(path, room, "/dev/shm/stress.%d.spoor", (int)child);
    while (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) < WRITERS)
        if (waitpid(child, NULL, WNOHANG) != 0)
            return -1;
    if (!view_open(view, path))
        return -1;
    return child;
}

static void copy_file(const char *from, const char *to)
{
    static char buffer[1 << 16];
    const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t got;
    while ((got = read(in, buffer, sizeof buffer)) > 0)
        CHECK(write(out, buffer, (size_t)got) == got, "%s", strerror(errno));
    close(in);
    close(out);
}

static uint64_t totals[5]; /* read, overwritten, in copies, after SIGKILL, lost */

/* Runs a reader while threads write, then checks the account. */
static void round_drain(size_t ring_bytes, unsigned milliseconds)
{
    char path[64];
    struct recording_view view;
    const pid_t child = begin(ring_bytes, path, sizeof path, &view);
    CHECK(child > 0, "the writers did not start");
    if (child <= 0)
        return;
    struct check checks[WRITERS];
    struct view_drain drains[WRITERS] = {0};
    for (int i = 0; i < WRITERS; i++)
        checks[i] = check_begin(&view);
    const uint64_t end = now_ms() + milliseconds;
    bool ended = false;
    while (!ended) {
        if (now_ms() >= end)
            __atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
        ended = waitpid(child, NULL, WNOHANG) != 0;
        for (uint64_t ring = 0; ring < WRITERS; ring++)
            if (view_has_ring(&view, ring))
                ring_drain(&view, ring, &drains[ring], check_record, &checks[ring]);
    }
    uint64_t unwritten = 0; /* what threads have written and no ring has */
    for (uint64_t ring = 0; ring < WRITERS; ring++) {
        CHECK(view_has_ring(&view, ring), "ring %llu is missing", (unsigned long long)ring);
        const struct layout_ring *there = view_ring(&view, ring);
        const uint64_t count = ring_number(there);
        uint64_t written = 0;
        for (int i = 0; i < WRITERS; i++)
            if (shared->threads[i].tid == there->tid)
                written = shared->threads[i].written[0] + shared->threads[i].written[1];
        unwritten += written - count;
        CHECK(there->reserved == there->committed, "records of thread %u are not committed", there->tid);
        CHECK(filling || count == written, "the ring counts %llu, the thread %llu", (unsigned long long)count,
              (unsigned long long)written);
        CHECK(drains[ring].read + drains[ring].overwritten == count, "%llu read + %llu overwritten != %llu",
              (unsigned long long)drains[ring].read, (unsigned long long)drains[ring].overwritten,
              (unsigned long long)count);
        CHECK(checks[ring].read == drains[ring].read && checks[ring].skipped == drains[ring].overwritten,
              "%llu + %llu", (unsigned long long)checks[ring].read, (unsigned long long)checks[ring].skipped);
        totals[0] += drains[ring].read;
        totals[1] += drains[ring].overwritten;
    }
    static const char *const reasons[LAYOUT_LOST_COUNT] = {"limit", "space", "making", "nested"};
    for (int reason = 0; reason < LAYOUT_LOST_COUNT; reason++) {
        const uint64_t lost = view_control(&view)->lost[reason];
        CHECK(lost == (reason == LAYOUT_LOST_NESTED ? unwritten : 0), "%llu records were lost: %s, of %llu",
              (unsigned long long)lost, reasons[reason], (unsigned long long)unwritten);
        totals[4] += lost;
    }
    view_close(&view);
    unlink(path);
}

/* Copies the file while threads write, then kills the program. */
static void round_copy_and_kill(size_t ring_bytes, unsigned milliseconds)
{
    char path[64], copy[96];
    struct recording_view view, copied;
    const pid_t child = begin(ring_bytes, path, sizeof path, &view);
    CHECK(child > 0, "the writers did not start");
    if (child <= 0)
        return;
    snprintf(copy, sizeof copy, "%s.copy", path);
    const uint64_t end = now_ms() + milliseconds;
    do {
        copy_file(path, copy);
        if (view_open(&copied, copy)) {
            totals[2] += check_all(&copied);
            view_close(&copied);
        }
    } while (now_ms() < end);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (uint64_t ring = 0; view_has_ring(&view, ring); ring++) {
        const struct layout_ring *there = view_ring(&view, ring);
        struct check check = check_begin(&view);
        ring_walk(&view, ring, check_record, &check);
        totals[3] += check.read;
        /* What was reserved last may be unfinished: one record of the loop and those of a handler in it. */
        const uint64_t committed = layout_number(there->committed, there->number_base);
        CHECK(check.number >= committed || check.read == 0, "%llu committed, but the last is %llu",
              (unsigned long long)committed, (unsigned long long)check.number);
        CHECK(check.read > 0, "nothing is left of thread %u", there->tid);
    }
    view_close(&view);
    unlink(path);
    unlink(copy);
}

static void part(const char *name, unsigned failures_before)
{
    printf("%s %s\n", failures == failures_before ? "ok" : "not ok", name);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
    const unsigned milliseconds = argc > 2 ? (unsigned)atoi(argv[2]) : 20;
    static const size_t sizes[] = {8192, 16384, 65536, 1 << 20};
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    for (unsigned i = 0; i < rounds; i++)
        round_drain(sizes[i % 4], milliseconds);
    part("read + overwritten = written, with a reader all the while", 0);
    unsigned before = failures;
    filling = true;
    for (unsigned i = 0; i < rounds / 2; i++)
        round_drain(sizes[i % 3], milliseconds);
    filling = false;
    part("read + overwritten + lost = written, with handlers that fill the ring", before);
    before = failures;
    for (unsigned i = 0; i < rounds; i++)
        round_copy_and_kill(sizes[i % 4], milliseconds);
    part("copies of the file while it is written, and what SIGKILL leaves, hold whole records only", before);
    fprintf(stderr, "%llu read, %llu overwritten, %llu in copies, %llu after SIGKILL, %llu lost\n",
            (unsigned long long)totals[0], (unsigned long long)totals[1], (unsigned long long)totals[2],
            (unsigned long long)totals[3], (unsigned long long)totals[4]);
    return failures != 0;
}
