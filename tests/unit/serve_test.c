/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of src/serve and of src/metrics/relay.c: messages between processes, whole and damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "metrics/relay.h"
#include "serve/due.h"
#include "serve/frames.h"

/* ---- frames ---- */

static void frames_come_whole(void **state)
{
    struct frames one, other;
    struct text sent = {0}, got = {0};
    enum frame_kind kind;
    (void)state;
    assert_int_equal(frames_pair(&one, &other), 0);
    text_fill(&sent, 'x', 3 << 20); /* more than a socket holds */
    frames_send(&one, FRAME_PING, NULL);
    frames_send(&one, FRAME_ANSWER, &sent);
    frames_send(&one, FRAME_PONG, NULL);
    unsigned turns = 0, seen = 0;
    while (seen < 3) {
        assert_int_equal(frames_flush(&one), 0);
        assert_int_equal(frames_receive(&other), 0);
        while (frames_next(&other, &kind, &got) == 1) {
            static const enum frame_kind expected[] = {FRAME_PING, FRAME_ANSWER, FRAME_PONG};
            assert_int_equal(kind, expected[seen]);
            assert_int_equal(got.length, seen == 1 ? sent.length : 0);
            seen++;
        }
        turns++;
    }
    assert_true(turns > 1);
    assert_false(frames_wait(&one));
    assert_int_equal(frames_flush_all(&one, 0), 0);
    frames_send(&one, FRAME_ANSWER, &sent);
    assert_int_equal(frames_flush_all(&one, 20), -ETIMEDOUT);
    frames_close(&other);
    assert_int_equal(frames_flush(&one), -EPIPE);
    assert_true(frames_receive(&one) < 0);
    frames_close(&one);
    text_free(&sent);
    text_free(&got);
}

static void frames_that_are_none(void **state)
{
    static const uint32_t heads[][2] = {{FRAME_KINDS, 0}, {FRAME_ANSWER, UINT32_MAX}};
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct frames one, other;
        struct text got = {0};
        enum frame_kind kind;
        assert_int_equal(frames_pair(&one, &other), 0);
        assert_int_equal(send(one.fd, heads[i], sizeof heads[i], 0), sizeof heads[i]);
        assert_int_equal(frames_receive(&other), 0);
        assert_int_equal(frames_next(&other, &kind, &got), -EBADMSG);
        frames_close(&one);
        frames_close(&other);
        text_free(&got);
    }
}

/* ---- families ---- */

static const struct metric_row rows[] = {{0, 0}, {1, 1}, {2, 3}};
static const char *const labels[] = {"key0"}, *const named[] = {"script", "version"};
static const struct metric_family counter = {.name = "b",
                                             .help = "B",
                                             .unit = "bytes",
                                             .kind = METRIC_COUNTER,
                                             .labels = labels,
                                             .label_count = 1},
                                  histogram = {.name = "a",
                                               .help = "A",
                                               .kind = METRIC_HISTOGRAM,
                                               .rows = rows,
                                               .row_count = 3,
                                               .first = 1,
                                               .last = 2},
                                  info = {.name = "c",
                                          .help = "C",
                                          .kind = METRIC_GAUGE,
                                          .labels = named,
                                          .label_count = 2};

static void write_one(struct text *out, const struct metric_family *family, const struct metric_point *point)
{
    struct metric_writer writer = {.format = &metric_relay, .out = out};
    metric_begin(&writer, family);
    metric_point(&writer, point);
    metric_end(&writer);
}

static void write_all(struct text *out)
{
    static const uint64_t counts[] = {0, 1, 2};
    write_one(out, &counter, &(struct metric_point){.values = "k\n", .value = 5});
    write_one(out, &histogram, &(struct metric_point){.values = "", .counts = counts});
    write_one(out, &info, &(struct metric_point){.values = "own\0001.0", .value = 1});
}

static size_t render(const struct metric_part *parts, size_t count, struct text *out)
{
    struct metric_writer writer = {.format = &metric_text, .out = out};
    size_t left_out;
    assert_int_equal(metric_relay_write(parts, count, &writer, &left_out), 0);
    metric_finish(&writer);
    return left_out;
}

static void families_of_several(void **state)
{
    struct text one = {0}, other = {0}, out = {0};
    (void)state;
    write_all(&one);
    write_all(&other);
    struct metric_family gauge = counter;
    gauge.kind = METRIC_GAUGE;
    write_one(&other, &gauge, &(struct metric_point){.values = "k", .value = 7});
    const struct metric_part parts[] = {{"x", one.bytes, one.length}, {"y", other.bytes, other.length}};
    assert_int_equal(render(parts, 2, &out), 1); /* the gauge */
    assert_string_equal(text_string(&out),
                        "# HELP a A\n# TYPE a histogram\n"
                        "a_bucket{script=\"x\",le=\"1\"} 1\na_bucket{script=\"x\",le=\"3\"} 3\n"
                        "a_bucket{script=\"x\",le=\"+Inf\"} 3\na_count{script=\"x\"} 3\n"
                        "a_bucket{script=\"y\",le=\"1\"} 1\na_bucket{script=\"y\",le=\"3\"} 3\n"
                        "a_bucket{script=\"y\",le=\"+Inf\"} 3\na_count{script=\"y\"} 3\n"
                        "# HELP b_total B\n# TYPE b_total counter\n"
                        "b_total{script=\"x\",key0=\"k\\n\"} 5\nb_total{script=\"y\",key0=\"k\\n\"} 5\n"
                        "# HELP c C\n# TYPE c gauge\n"
                        "c{script=\"own\",version=\"1.0\"} 1\nc{script=\"own\",version=\"1.0\"} 1\n");
    text_clear(&out);
    assert_int_equal(render(&(struct metric_part){NULL, one.bytes, one.length}, 1, &out), 0);
    assert_non_null(strstr(text_string(&out), "b_total{key0=\"k\\n\"} 5\n"));
    text_free(&one);
    text_free(&other);
    text_free(&out);
}

/* A process that is not what it was may send anything. */
static void damaged_families(void **state)
{
    struct text whole = {0}, out = {0};
    (void)state;
    write_all(&whole);
    for (size_t length = 0; length < whole.length; length++) {
        char *part = malloc(length + 1);
        assert_non_null(part);
        memcpy(part, whole.bytes, length);
        text_clear(&out);
        render(&(struct metric_part){"x", part, length}, 1, &out);
        free(part);
    }
    srandom(26);
    for (unsigned turn = 0; turn < 20000; turn++) {
        uint64_t *damaged = malloc(whole.length);
        assert_non_null(damaged);
        memcpy(damaged, whole.bytes, whole.length);
        for (long hits = 1 + random() % 3; hits; hits--) {
            const size_t at = (size_t)random() % whole.length;
            ((uint8_t *)damaged)[at] = random() % 3 ? (uint8_t)random() : random() % 2 ? 0xff : 0;
        }
        text_clear(&out);
        render(&(struct metric_part){"x", damaged, whole.length}, 1, &out);
        free(damaged);
    }
    text_free(&whole);
    text_free(&out);
}

/* ---- what is due, with a clock that the test has ---- */

#define SECOND ((uint64_t)NSEC_PER_SEC)
#define NOW (1000 * SECOND)

/* A script that fails again and again waits a second, then twice as long each time; one that ran well begins anew. */
static void failures_wait_longer(void **state)
{
    static const struct {
        unsigned ran, waits; /* s */
        bool is_paused;
    } steps[] = {{0, 1, false},    {1, 2, false},  {60, 4, false},  {0, 8, false},   {0, 16, false},
                 {0, 32, false},   {0, 64, false}, {0, 128, false}, {0, 256, false}, {0, 300, false},
                 {0, 300, false},  {61, 1, false}, {0, 10, true},   {0, 20, true},   {61, 10, true},
                 {7000, 1, false}, {0, 2, false}};
    struct served script = {0};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        script.is_paused = steps[i].is_paused;
        due_again(&script, steps[i].ran * SECOND, NOW + i);
        assert_int_equal(script.back_off, steps[i].waits * SECOND);
        assert_int_equal(script.start_at, NOW + i + steps[i].waits * SECOND);
    }
}

static void who_does_not_begin_is_stuck(void **state)
{
    struct child_process child = {.pid = 1, .begun = NOW};
    (void)state;
    assert_false(due_is_stuck(&child, NOW));
    assert_false(due_is_stuck(&child, NOW + 300 * SECOND - 1));
    assert_true(due_is_stuck(&child, NOW + 300 * SECOND));
    child.is_ready = true;
    assert_false(due_is_stuck(&child, NOW + 9000 * SECOND));
    child = (struct child_process){.pid = 1, .begun = NOW, .kill_at = NOW + SECOND};
    assert_false(
        due_is_stuck(&child, NOW + 300 * SECOND)); /* it has been asked to end, and is killed for that */
    child = (struct child_process){.begun = NOW};
    assert_false(due_is_stuck(&child, NOW + 300 * SECOND)); /* there is none */
}

static void who_is_silent(void **state)
{
    const struct served script = {.pinged = NOW, .active_at = NOW};
    (void)state;
    assert_false(due_is_asked(&script, NOW + 10 * SECOND - 1));
    assert_true(due_is_asked(&script, NOW + 10 * SECOND));
    assert_false(due_is_silent(&script, NOW + 120 * SECOND - 1));
    assert_true(due_is_silent(&script, NOW + 120 * SECOND));
}

/* Waits for a message. Returns false if the other side is gone. */
static bool next_message(struct frames *frames, enum frame_kind *kind)
{
    struct text payload = {0};
    int got, error = 0;
    while (!(got = frames_next(frames, kind, &payload)) && !error) {
        poll(&(struct pollfd){frames->fd, POLLIN, 0}, 1, -1);
        error = frames_receive(frames);
    }
    text_free(&payload);
    return got > 0;
}

static int answer_and_stay(void *context, struct frames *supervisor)
{
    enum frame_kind kind;
    (void)context;
    signal(SIGTERM, SIG_IGN);
    frames_send(supervisor, FRAME_READY, NULL);
    do {
        frames_send(supervisor, FRAME_PONG, NULL);
        frames_flush(supervisor);
    } while (next_message(supervisor, &kind));
    return 0;
}

/* Whether the process answers: who was killed before does not. */
static bool lives(struct child_process *child)
{
    enum frame_kind kind;
    frames_send(&child->frames, FRAME_PING, NULL);
    return !frames_flush(&child->frames) && next_message(&child->frames, &kind) && kind == FRAME_PONG;
}

/* A process that does not end when it is asked to is killed when its time is over, and not before. */
static void who_does_not_end_is_killed(void **state)
{
    struct child_process child;
    enum frame_kind kind;
    int status = 0;
    (void)state;
    assert_int_equal(child_process_start(&child, answer_and_stay, NULL), 0);
    child.patience_ns = 5 * SECOND;
    assert_true(next_message(&child.frames, &kind) && kind == FRAME_READY);
    assert_true(next_message(&child.frames, &kind) && kind == FRAME_PONG);
    child_process_hurry(&child, NOW + 9000 * SECOND); /* nobody has asked it to end */
    child_process_end(&child, NOW);
    child_process_end(&child, NOW + SECOND); /* changes nothing */
    child_process_hurry(&child, NOW + 15 * SECOND - 1);
    assert_true(lives(&child));
    child_process_hurry(&child, NOW + 15 * SECOND);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    child_process_forget(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_whole),    cmocka_unit_test(frames_that_are_none),
        cmocka_unit_test(families_of_several),  cmocka_unit_test(damaged_families),
        cmocka_unit_test(failures_wait_longer), cmocka_unit_test(who_does_not_begin_is_stuck),
        cmocka_unit_test(who_is_silent),        cmocka_unit_test(who_does_not_end_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
