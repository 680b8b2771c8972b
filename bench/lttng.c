/* SPDX-License-Identifier: BSD-3-Clause */
/* The peer of the flight recorder: LTTng-UST, for bench/recorder, which sets up the session.
 *
 *   lttng                  what recording costs, as bench/record prints it
 *   lttng REQUESTS         the events of tests/programs/recording NAME REQUESTS 1 0; prints how many they are
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 100, LOOPS = 20000, EVENTS = 8 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

static volatile uint64_t sink;
static const char *text = "abcdefghijklmnopqrstuvwxyz";

#define LOOP(name_, body_)                                                                                   \
    static __attribute__((noinline)) void name_(void)                                                        \
    {                                                                                                        \
        for (uint64_t i = 0; i < LOOPS; i++) {                                                               \
            body_;                                                                                           \
            __asm__ volatile("" ::: "memory");                                                               \
        }                                                                                                    \
    }

LOOP(read_counter, sink = counter())
LOOP(record_off, lttng_ust_tracepoint(bench, off, i, i, i, i))
LOOP(record_none, lttng_ust_tracepoint(bench, none))
LOOP(record_one, lttng_ust_tracepoint(bench, one, i))
LOOP(record_four, lttng_ust_tracepoint(bench, four, i, i + 1, i + 2, i + 3))
LOOP(record_text, lttng_ust_tracepoint(bench, text, text))

static struct {
    const char *name;
    void (*loop)(void);
    double best;
} cases[] = {
    {"reading the counter", read_counter, 1e9}, {"disabled", record_off, 1e9},
    {"no arguments", record_none, 1e9},         {"1 uint64_t", record_one, 1e9},
    {"4 uint64_t", record_four, 1e9},           {"string of 26 characters", record_text, 1e9},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void make_requests(uint64_t requests)
{
    static char pool[8][64], ios[8][64];
    for (uint64_t i = 0; i < requests; i++) {
        const void *request = pool[i % 8], *io = ios[i * 3 % 8];
        lttng_ust_tracepoint(bench, request_new, 1, request, pool);
        lttng_ust_tracepoint(bench, request_need_buffer, 1, request, pool);
        lttng_ust_tracepoint(bench, request_ready, 1, request, pool);
        lttng_ust_tracepoint(bench, io_start, 2, io, 512, i % 4 == 3 ? 2 : 1, request, i * 8, 8);
        lttng_ust_tracepoint(bench, io_done, 2, io, request, -(int)(i % 2));
        lttng_ust_tracepoint(bench, request_executed, 1, request, pool);
        lttng_ust_tracepoint(bench, note, i % 3 ? "steady as she goes" : "", (double)i / 2, i % 2);
        lttng_ust_tracepoint(bench, request_completed, 1, request, pool);
    }
    printf("%" PRIu64 "\n", requests * EVENTS);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        make_requests(strtoull(argv[1], NULL, 10));
        return 0;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CASES; i++) {
            const double start = now();
            cases[i].loop();
            const double each = (now() - start) / LOOPS;
            if (each < cases[i].best)
                cases[i].best = each;
        }
    for (int i = 0; i < CASES; i++)
        printf("%-24s %7.2f ns %6.2f units\n", cases[i].name, cases[i].best, cases[i].best / cases[0].best);
    return 0;
}
