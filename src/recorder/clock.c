/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU's counter beside the kernel's clocks. Records carry the counter alone; these triples let a reader
 * translate. */
#include "recorder/state.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static uint64_t nanoseconds(clockid_t which)
{
    struct timespec now = {0};
    clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Reads the counter and both clocks at one time, with the error bound of the triple. Takes the narrowest of up to
 * three readings, because an interrupt between two of them makes a triple wide. */
struct layout_clock clock_read(void)
{
    struct layout_clock best = {.error = UINT64_MAX};
    for (int attempt = 0; attempt < 3; attempt++) {
        const uint64_t before = spoor_counter_();
        const uint64_t monotonic = nanoseconds(CLOCK_MONOTONIC), boottime = nanoseconds(CLOCK_BOOTTIME);
        const uint64_t width = spoor_counter_() - before;
        if (width / 2 + 1 < best.error) {
            best.counter = before + width / 2;
            best.monotonic = monotonic;
            best.boottime = boottime;
            best.error = width / 2 + 1;
        }
        if (width < 1000)
            break;
    }
    best.check = layout_clock_check(&best);
    return best;
}

/* Returns how often the counter ticks per second. Where the CPU does not say it, it is measured for half a
 * millisecond, which is right to some hundred ppm; readers compute it exactly from triples that are taken later. */
uint64_t clock_measure_rate(const struct layout_clock *start)
{
#if defined(__aarch64__)
    uint64_t rate;
    __asm__("mrs %0, cntfrq_el0" : "=r"(rate));
    (void)start;
    return rate;
#else
    struct layout_clock end;
    do {
        end = clock_read();
    } while (end.monotonic - start->monotonic < 500000);
    const unsigned __int128 scaled = (unsigned __int128)(end.counter - start->counter) * 1000000000u;
    return (uint64_t)(scaled / (end.monotonic - start->monotonic));
#endif
}

bool clock_is_invariant(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#else
    return true;
#endif
}

void clock_publish(struct recording *recording, const struct layout_clock *clock)
{
    uint64_t last = __atomic_load_n(&recorder.last_clock, __ATOMIC_RELAXED);
    if ((int64_t)(clock->counter - last) < (int64_t)recording->header->counter_hz)
        return;
    if (!__atomic_compare_exchange_n(&recorder.last_clock, &last, clock->counter, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return; /* another thread publishes the clock */
    struct layout_control *control = recording->control;
    const uint64_t number = __atomic_fetch_add(&control->clock_next, 1, __ATOMIC_RELAXED);
    control->clocks[number % LAYOUT_CLOCK_SLOTS] = *clock;
}
