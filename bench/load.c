/* SPDX-License-Identifier: BSD-3-Clause */
/* A fixed number of events: load COUNT [A SECOND [TEXT]]. Each is one call of load_call(i, text) below a
 * stack of some frames; with a rate that is not 0 the calls are spread evenly over time, by spinning. Prints
 * how long it took, in ms. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Begins with a nop: the kernel steps over most other instructions in single-step mode, which costs more than
 * any tracer does. */
__attribute__((noinline, noclone, noipa, used, patchable_function_entry(1))) long load_call(long i,
                                                                                            const char *text)
{
    __asm__ volatile("" ::: "memory");
    return i + !text;
}

static long long now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((noinline)) static void call(long count, double every_ns, const char *text)
{
    long long begin = now_ns();
    for (long i = 0; i < count; i++) {
        if (every_ns > 0)
            while ((double)(now_ns() - begin) < every_ns * (double)i)
                ;
        load_call(i, text);
        __asm__ volatile("" ::: "memory");
    }
    printf("%lld\n", (now_ns() - begin) / 1000000);
}

__attribute__((noinline)) static void deeper(int depth, long count, double every_ns, const char *text)
{
    if (depth > 0)
        deeper(depth - 1, count, every_ns, text);
    else
        call(count, every_ns, text);
    __asm__ volatile("" ::: "memory"); /* so that each call keeps its frame */
}

int main(int argc, char **argv)
{
    enum { DEPTH = 10 };
    long count = argc > 1 ? atol(argv[1]) : 1, rate = argc > 2 ? atol(argv[2]) : 0;
    const char *text = argc > 3 ? argv[3] : "a string of some length";
    /* A text that nobody has touched is not in memory, and each tracer's read of it would be a fault. */
    if (!*(const volatile char *)text)
        return 2;
    deeper(DEPTH, count, rate > 0 ? 1e9 / (double)rate : 0, text);
    return 0;
}
