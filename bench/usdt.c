/* SPDX-License-Identifier: BSD-3-Clause */
/* What a hit costs the program: usdt [HITS [ROUNDS]]. In turns, so that both see the same machine, HITS of a
 * probe declared with spoor/probe.h and of a sys/sdt.h probe; prints the nanoseconds of the best round of
 * each. */
#include <spoor/probe.h>
#include <sys/sdt.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

SPOOR_PROBE_DECLARE(bench, declared, (uint64_t, number), (const char *, text));

__attribute__((noinline)) static void fire_declared(uint64_t number)
{
    SPOOR_FIRE(bench, declared, number, "text");
}

__attribute__((noinline)) static void fire_sdt(uint64_t number)
{
    DTRACE_PROBE2(bench, sdt, number, "text");
}

static double measure(void (*fire)(uint64_t), uint64_t hits)
{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint64_t i = 0; i < hits; i++)
        fire(i);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / (double)hits;
}

int main(int argc, char **argv)
{
    uint64_t hits = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    int rounds = argc > 2 ? atoi(argv[2]) : 100;
    double declared = 1e18, sdt = 1e18;
    for (int i = 0; i < rounds; i++) {
        double a = measure(fire_declared, hits), b = measure(fire_sdt, hits);
        declared = a < declared ? a : declared;
        sdt = b < sdt ? b : sdt;
    }
    printf("%.1f %.1f %.2f\n", declared, sdt, declared / sdt);
    return 0;
}
