/* SPDX-License-Identifier: BSD-3-Clause */
/* What recording costs, in units of one read of the CPU's counter in the same run: absolute times drift with
 * the machine's load.
 *
 *   bench/record        name, ns, units, goal
 *
 * The best of many rounds counts: it is the one that nobody disturbed.
 */
#include <spoor/trace.h>

#include <stdio.h>
#include <time.h>

/* As a program would have them, whose tracepoints are its own. */
SPOOR_GROUP(bench, "what recording costs");
SPOOR_OBJECT(bench_thing, 't');
SPOOR_TRACEPOINT(bench, NONE, bench_thing, SPOOR_USES);
SPOOR_TRACEPOINT(bench, ONE, bench_thing, SPOOR_USES, (uint64_t, a));
SPOOR_TRACEPOINT(bench, FOUR, bench_thing, SPOOR_USES, (uint64_t, a), (uint64_t, b), (uint64_t, c),
                 (uint64_t, d));
SPOOR_TRACEPOINT(bench, TEXT, bench_thing, SPOOR_USES, (const char *, text));
SPOOR_TRACEPOINT(bench, OFF, bench_thing, SPOOR_USES, (uint64_t, a), (uint64_t, b), (uint64_t, c),
                 (uint64_t, d));
SPOOR_TRACEPOINT_HERE(NONE);
SPOOR_TRACEPOINT_HERE(ONE);
SPOOR_TRACEPOINT_HERE(FOUR);
SPOOR_TRACEPOINT_HERE(TEXT);
SPOOR_TRACEPOINT_HERE(OFF);

enum { ROUNDS = 400, LOOPS = 20000 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static volatile uint64_t sink;
static const char *text = "abcdefghijklmnopqrstuvwxyz";

#define LOOP(name_, body_)                                                                                   \
    static __attribute__((noinline)) void name_(const void *thing)                                           \
    {                                                                                                        \
        (void)thing;                                                                                         \
        for (uint64_t i = 0; i < LOOPS; i++) {                                                               \
            body_;                                                                                           \
            __asm__ volatile("" ::: "memory");                                                               \
        }                                                                                                    \
    }

LOOP(read_counter, sink = spoor_counter_())
LOOP(record_off, SPOOR_RECORD(OFF, 3, thing, i, i, i, i))
LOOP(record_none, SPOOR_RECORD(NONE, 3, thing))
LOOP(record_one, SPOOR_RECORD(ONE, 3, thing, i))
LOOP(record_four, SPOOR_RECORD(FOUR, 3, thing, i, i + 1, i + 2, i + 3))
LOOP(record_text, SPOOR_RECORD(TEXT, 3, thing, text))

static struct {
    const char *name;
    void (*loop)(const void *thing);
    double goal, best;
} cases[] = {
    {"reading the counter", read_counter, 1, 1e9}, {"disabled", record_off, 0.03, 1e9},
    {"no arguments", record_none, 1.2, 1e9},       {"1 uint64_t", record_one, 1.25, 1e9},
    {"4 uint64_t", record_four, 1.4, 1e9},         {"string of 26 characters", record_text, 1.8, 1e9},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(void)
{
    struct spoor_trace_options options = {
        .size = sizeof options,
        .name = "bench-record",
        .enable = "bench:NONE,bench:ONE,bench:FOUR,bench:TEXT",
        .flags = SPOOR_TRACE_REMOVE,
    };
    if (spoor_trace_open(&options) != 0) {
        fprintf(stderr, "%s\n", spoor_trace_error());
        return 1;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CASES; i++) {
            const double start = now();
            cases[i].loop(&options);
            const double each = (now() - start) / LOOPS;
            if (each < cases[i].best)
                cases[i].best = each;
        }
    for (int i = 0; i < CASES; i++)
        printf("%-24s %7.2f ns %6.2f units  (goal %.2f)\n", cases[i].name, cases[i].best,
               cases[i].best / cases[0].best, cases[i].goal);
    spoor_trace_close();
    return 0;
}
