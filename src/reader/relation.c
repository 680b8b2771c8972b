/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/relation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/whole.h"
#include "reader/reader.h"

enum {
    TRIES = 16,
    RIPE = 50000000,   /* ns */
    UNEVEN = 100,      /* a rate that differs by more than one part in so many is another counter's */
    PAUSE = 100000000, /* ns; a shorter difference between the clocks is no sleep of the machine */
    MILLION = 1000000, /* the kernel changes the rate of its clocks by up to about one part in so many */
};

/* ---- reading ---- */

uint64_t recording_counter_now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return UINT64_MAX;
#endif
}

/* Reads the counter after everything before it and before everything behind it. */
static uint64_t counter_here(void)
{
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    const uint64_t now = recording_counter_now();
    __builtin_ia32_lfence();
#else
    __asm__ volatile("isb" ::: "memory");
    const uint64_t now = recording_counter_now();
    __asm__ volatile("isb" ::: "memory");
#endif
    return now;
}

struct layout_clock relation_look(void)
{
    struct layout_clock best = {.error = UINT64_MAX};
    for (int attempt = 0; attempt < TRIES; attempt++) {
        const uint64_t before = counter_here(), boottime = clock_ns(CLOCK_BOOTTIME), after = counter_here();
        if ((after - before) / 2 + 1 < best.error)
            best = (struct layout_clock){.counter = before + (after - before) / 2,
                                         .boottime = boottime,
                                         .error = (after - before) / 2 + 1};
    }
    /* This clock is needed only to find out whether the machine has slept. */
    best.monotonic = clock_ns(CLOCK_MONOTONIC);
    best.check = layout_clock_check(&best);
    return best;
}

static uint64_t to_ns(uint64_t units, uint64_t rate)
{
    const unsigned __int128 ns = ((unsigned __int128)units * NSEC_PER_SEC + rate - 1) / rate;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

bool relation_is_broken(const struct layout_clock *before, const struct layout_clock *after, uint64_t rate)
{
    if (after->counter <= before->counter || after->boottime <= before->boottime)
        return true;
    const uint64_t units = after->counter - before->counter, time = after->boottime - before->boottime,
                   counted = to_ns(units, rate), off = counted > time ? counted - time : time - counted,
                   errors = to_ns(before->error, rate) + to_ns(after->error, rate) + 1;
    return off > errors && off - errors > time / UNEVEN;
}

void relation_begin(struct relation *relation, uint64_t rate)
{
    const uint64_t boot = clock_ns(CLOCK_BOOTTIME), real = clock_ns(CLOCK_REALTIME);
    const struct layout_clock clock = relation_look();
    *relation = (struct relation){
        .check = RELATION_CHECK,
        .realtime = real > boot ? real - boot : 0,
        .apart = rate,
        /* The machine slept, and it is unknown when, and whether the counter went on. */
        .since = (int64_t)(clock.boottime - clock.monotonic) > PAUSE ? clock.counter : 0,
    };
    relation_add(relation, &clock, rate);
}

/* Drops every second reading, but not the first and the newest. */
static void thin(struct relation *relation)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < relation->count; i++)
        if (i % 2 == 0 || i + 1 == relation->count)
            relation->clocks[kept++] = relation->clocks[i];
    relation->count = kept;
    relation->apart = relation->apart > UINT64_MAX / 2 ? UINT64_MAX : relation->apart * 2;
}

void relation_add(struct relation *relation, const struct layout_clock *clock, uint64_t rate)
{
    struct layout_clock *clocks = relation->clocks;
    const uint64_t count = relation->count;
    if (count && relation_is_broken(&clocks[count - 1], clock, rate)) {
        relation->since = clock->counter;
        relation->count = 0;
    } else if (count > 1 && clock->counter - clocks[count - 2].counter < relation->apart) {
        relation->count--; /* the newest one is kept only if it is far enough from the one before */
    } else if (count == RELATION_CLOCKS) {
        thin(relation);
    }
    clocks[relation->count++] = *clock;
    relation->check = RELATION_CHECK ^ relation->count;
}

void relation_ripen(const struct relation *relation)
{
    const uint64_t first = relation->count ? relation->clocks[0].boottime : 0, now = clock_ns(CLOCK_BOOTTIME);
    if (now - first < RIPE)
        nanosleep(&(struct timespec){.tv_nsec = (long)(RIPE - (now - first))}, NULL);
}

/* ---- using ---- */

const char *relation_use(const struct relation *relation, struct timeline *timeline, int *error)
{
    const struct layout_clock *before = NULL;
    *error = 0;
    if (relation->check != (RELATION_CHECK ^ relation->count) || !relation->count ||
        relation->count > RELATION_CLOCKS)
        return "its relation to the boot clock is damaged";
    for (uint64_t i = 0; i < relation->count && !*error; i++) {
        const struct layout_clock *clock = &relation->clocks[i];
        if (clock->check != layout_clock_check(clock))
            continue; /* it was being written when it was read */
        if (before && relation_is_broken(before, clock, timeline->rate)) {
            timeline->count = 0;
            return "its counter did not go on evenly, or not at the rate that the file says";
        }
        before = clock;
        *error = timeline_add(timeline, clock->counter, clock->boottime, clock->error);
    }
    timeline_finish(timeline);
    return timeline->count ? NULL : "its relation to the boot clock is damaged";
}

/* Returns the error, in ns, of a stamp that is so many units outside of the readings a and b, whose line goes on to
 * there. */
static uint64_t error_beyond(uint64_t units, const struct timeline_point *a, const struct timeline_point *b,
                             uint64_t rate)
{
    const unsigned __int128 rate_error =
        a == b ? (unsigned __int128)units / UNEVEN + 1
               : (unsigned __int128)units * (a->error + b->error) / (b->counter - a->counter) + 1;
    const unsigned __int128 all = rate_error + units / MILLION;
    return to_ns(all > UINT64_MAX ? UINT64_MAX : (uint64_t)all, rate);
}

uint64_t relation_error(const struct timeline *timeline, uint64_t oldest, uint64_t newest)
{
    if (!timeline->count)
        return UINT64_MAX;
    const struct timeline_point *points = timeline->points, *last = &points[timeline->count - 1];
    uint64_t read = 0, apart = 0, before = 0, behind = 0, all;
    for (const struct timeline_point *point = points; point <= last; point++) {
        read = point->error > read ? point->error : read;
        if (point < last && point[1].counter - point->counter > apart)
            apart = point[1].counter - point->counter;
    }
    if (oldest < points->counter)
        before = error_beyond(points->counter - oldest, points, points == last ? points : points + 1,
                              timeline->rate);
    if (newest > last->counter)
        behind = error_beyond(newest - last->counter, points == last ? last : last - 1, last, timeline->rate);
    /* Between two readings the clock deviates most if half of the time had one rate and half of it the other. */
    const uint64_t inside = to_ns(read, timeline->rate) + to_ns(apart / 2 / MILLION, timeline->rate) + 1;
    return __builtin_add_overflow(before > behind ? before : behind, inside, &all) ? UINT64_MAX : all;
}

/* ---- what can be related ---- */

static bool has_word(const char *line, const char *word)
{
    const size_t length = strlen(word);
    const char *end = strchrnul(line, '\n');
    for (const char *at = line; (at = strstr(at, word)) && at < end; at += length)
        if (at > line && at[-1] == ' ' && (at[length] == ' ' || at[length] == '\n' || !at[length]))
            return true;
    return false;
}

const char *relation_counter_refusal(const char *cpuinfo, const char *clocksource)
{
    static const char *const by_counter[] = {
        "", "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter"};
    const char *flags = cpuinfo ? strstr(cpuinfo, "\nflags") : NULL;
    if (cpuinfo && (!flags || !has_word(flags + 1, "constant_tsc")))
        return "this processor's counter has no constant rate (/proc/cpuinfo: no constant_tsc)";
    if (cpuinfo && !has_word(flags + 1, "nonstop_tsc"))
        return "this processor's counter stops when it is idle (/proc/cpuinfo: no nonstop_tsc)";
    for (size_t i = 0; i < sizeof by_counter / sizeof by_counter[0]; i++)
        if (!strcmp(clocksource, by_counter[i]))
            return NULL;
    return "the kernel does not trust this processor's counter "
           "(/sys/devices/system/clocksource/clocksource0/current_clocksource)";
}

/* Reads the beginning of a file, without a line feed at its end. */
static void read_text(const char *path, char *text, size_t room)
{
    const ssize_t got = whole_read_short(path, text, room);
    if (got > 0 && text[got - 1] == '\n')
        text[got - 1] = 0;
}

const char *relation_machine_refusal(void)
{
    char clocksource[64];
    read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", clocksource,
              sizeof clocksource);
#if defined(__x86_64__)
    char cpuinfo[8192]; /* the text about the first CPU is enough */
    read_text("/proc/cpuinfo", cpuinfo, sizeof cpuinfo);
    return relation_counter_refusal(cpuinfo, clocksource);
#else
    return relation_counter_refusal(NULL, clocksource);
#endif
}
