/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks and units of time. */
#ifndef SPOOR_BASE_CLOCK_H
#define SPOOR_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { NSEC_PER_USEC = 1000, NSEC_PER_MSEC = 1000000, NSEC_PER_SEC = 1000000000 };

static inline uint64_t timespec_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * NSEC_PER_SEC + (uint64_t)time->tv_nsec;
}

static inline struct timespec timespec_of(uint64_t nanoseconds)
{
    return (struct timespec){(time_t)(nanoseconds / NSEC_PER_SEC), (long)(nanoseconds % NSEC_PER_SEC)};
}

/* Return the clock's time, in nanoseconds, in milliseconds, in seconds. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return timespec_ns(&now);
}

static inline uint64_t clock_ms(clockid_t clock)
{
    return clock_ns(clock) / NSEC_PER_MSEC;
}

static inline time_t clock_seconds(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return now.tv_sec;
}

/* Returns how far a clock is ahead of the boot clock, in nanoseconds; as a difference, it may be negative. */
static inline int64_t clock_ahead(clockid_t clock)
{
    const uint64_t boot = clock_ns(CLOCK_BOOTTIME);
    return (int64_t)(clock_ns(clock) - boot);
}

/* Returns how many nanoseconds a unit has that is written ns, us, ms, s, m, h or d; 0 if it is none of these. */
uint64_t time_unit(const char *name, size_t length);

#endif
