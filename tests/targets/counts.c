/* SPDX-License-Identifier: BSD-3-Clause */
/* Fires events from several sources, in threads on chosen CPUs, and counts them:
 *   counts RING-KiB FAULTS SOURCE:CPU:BURST:PAUSE…
 * Each SOURCE is one thread on that CPU, which fires BURST events, sleeps for PAUSE microseconds, and so on.
 * Sources:
 *   usdt     counts:tick (number, text), behind a semaphore
 *   call     counts_call(number, text), which returns the number
 *   getpgid  getpgid(number), a system call whose result does not matter
 *   rename   the thread's name becomes n and the last three digits of the number
 *   record   the tracepoint counts:COUNTS_EVENT (number, text) of the recorder
 * A thread's numbers count up from 0. The last of every FAULTS events has a text at an address without memory (0:
 * none has). First it prints where its recording is. Then it obeys the lines of its input: at "go" all threads
 * begin, at "stop" they end, and it prints "SOURCE THREAD FIRED FAULTS" for each, and "end". It ends at the end of
 * its input. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <spoor/probe.h>
#include <spoor/trace.h>

SPOOR_PROBE_DECLARE(counts, tick, (uint64_t, number), (const char *, text));
SPOOR_GROUP(counts, "what was fired");
SPOOR_TRACEPOINT(counts, COUNTS_EVENT, none, SPOOR_USES, (uint64_t, number), (const char *, text));
SPOOR_TRACEPOINT_HERE(COUNTS_EVENT);

enum { THREADS_MAX = 32 };

struct source {
    _Alignas(64) uint64_t fired;
    uint64_t faults;
    char kind[16];
    unsigned cpu, burst, pause_us, index;
    pthread_t thread;
};

static struct source sources[THREADS_MAX];
static unsigned source_count, faults;
static bool runs;

__attribute__((noinline, noclone, noipa, used)) uint64_t counts_call(uint64_t number, const char *text)
{
    __asm__ volatile("" ::"r"(number), "r"(text) : "memory");
    return number;
}

static void fire(struct source *source, uint64_t number, const char *text)
{
    char name[16];
    switch (source->kind[0]) {
    case 'u': SPOOR_FIRE(counts, tick, number, text); break;
    case 'c': counts_call(number, text); break;
    case 'g': syscall(SYS_getpgid, (int)(number & INT32_MAX)); break;
    case 'r':
        if (source->kind[2] == 'c') {
            SPOOR_RECORD(COUNTS_EVENT, SPOOR_NO_OWNER, 0, number, "steady");
            break;
        }
        snprintf(name, sizeof name, "n%03u", (unsigned)(number % 1000));
        prctl(PR_SET_NAME, name);
        break;
    }
}

static void *work(void *own)
{
    struct source *source = own;
    const struct timespec pause = {source->pause_us / 1000000, source->pause_us % 1000000 * 1000};
    bool has_text = source->kind[0] == 'u' || source->kind[0] == 'c';
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(source->cpu, &cpus);
    pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    while (__atomic_load_n(&runs, __ATOMIC_RELAXED)) {
        for (unsigned i = 0; i < source->burst; i++) {
            bool is_wrong = has_text && faults && source->fired % faults == faults - 1;
            fire(source, source->fired, is_wrong ? (const char *)8 : "steady");
            source->fired++;
            source->faults += is_wrong;
        }
        if (source->pause_us)
            nanosleep(&pause, NULL);
    }
    return NULL;
}

static bool read_source(const char *text, struct source *source)
{
    source->index = source_count;
    return sscanf(text, "%15[a-z]:%u:%u:%u", source->kind, &source->cpu, &source->burst, &source->pause_us) ==
           4;
}

int main(int argc, char **argv)
{
    char line[16];
    if (argc < 4 || argc - 3 > THREADS_MAX)
        return 2;
    const struct spoor_trace_options options = {.size = sizeof options,
                                                .name = "counts",
                                                .enable = "all",
                                                .ring_bytes = strtoull(argv[1], NULL, 10) << 10};
    if (spoor_trace_open(&options)) {
        fprintf(stderr, "%s\n", spoor_trace_error());
        return 1;
    }
    faults = (unsigned)strtoul(argv[2], NULL, 10);
    for (; (int)source_count < argc - 3; source_count++)
        if (!read_source(argv[3 + source_count], &sources[source_count]))
            return 2;
    setlinebuf(stdout);
    printf("%s\n", spoor_trace_path());
    while (fgets(line, sizeof line, stdin)) {
        bool goes = !strcmp(line, "go\n");
        __atomic_store_n(&runs, goes, __ATOMIC_RELAXED);
        for (unsigned i = 0; i < source_count; i++)
            if (goes ? pthread_create(&sources[i].thread, NULL, work, &sources[i])
                     : pthread_join(sources[i].thread, NULL))
                return 2;
        for (unsigned i = 0; i < source_count && !goes; i++)
            printf("%s %u %llu %llu\n", sources[i].kind, i, (unsigned long long)sources[i].fired,
                   (unsigned long long)sources[i].faults);
        if (!goes)
            puts("end");
    }
    return 0;
}
