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

#define MEASURE(best_, body_)                                                                                \
    do {                                                                                                     \
        best_ = 1e9;                                                                                         \
        for (int round_ = 0; round_ < ROUNDS; round_++) {                                                    \
            const double start_ = now();                                                                     \
            for (uint64_t i = 0; i < LOOPS; i++) {                                                           \
                body_;                                                                                       \
                __asm__ volatile("" ::: "memory");                                                           \
            }                                                                                                \
            const double each_ = (now() - start_) / LOOPS;                                                   \
            if (each_ < best_)                                                                               \
                best_ = each_;                                                                               \
        }                                                                                                    \
    } while (0)

static void row(const char *name, double nanoseconds, double unit, double goal)
{
    printf("%-24s %7.2f ns %6.2f units  (goal %.2f)\n", name, nanoseconds, nanoseconds / unit, goal);
}

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
    const char *text = "abcdefghijklmnopqrstuvwxyz";
    __asm__("" : "+r"(text));
    double unit, each;
    volatile uint64_t sink = 0;
    MEASURE(unit, sink = spoor_counter_());
    (void)sink;
    printf("%-24s %7.2f ns\n", "reading the counter", unit);
    MEASURE(each, SPOOR_RECORD(OFF, 3, &options, i, i, i, i));
    row("disabled", each, unit, 0.03);
    MEASURE(each, SPOOR_RECORD(NONE, 3, &options));
    row("no arguments", each, unit, 1.2);
    MEASURE(each, SPOOR_RECORD(ONE, 3, &options, i));
    row("1 uint64_t", each, unit, 1.25);
    MEASURE(each, SPOOR_RECORD(FOUR, 3, &options, i, i + 1, i + 2, i + 3));
    row("4 uint64_t", each, unit, 1.4);
    MEASURE(each, SPOOR_RECORD(TEXT, 3, &options, text));
    row("string of 26 characters", each, unit, 1.8);
    spoor_trace_close();
    return 0;
}
