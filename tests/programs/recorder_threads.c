/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder with many threads.
 *
 *   recorder_threads living N     N threads that live at one time, of three records each
 *   recorder_threads short N      N threads, of which eight live at one time, of three records each
 *   recorder_threads growing N    threads without end, N at one time, that grow through all sizes of rings: to be killed
 *
 * The first two print the path of the recording, and what is in it: records written, lost, KiB of memory, and µs of CPU
 * time for a thread. Each wait until standard input ends. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <spoor/trace.h>

SPOOR_GROUP(threads, "what threads record");
SPOOR_TRACEPOINT(threads, SERIAL, none, SPOOR_USES, (uint64_t, thread), (uint64_t, serial));
SPOOR_TRACEPOINT_HERE(SERIAL);

enum { RECORDS = 3, AT_ONE_TIME = 8, GROWING = 40000, STACK = 1 << 16 };

static pthread_barrier_t begun, over;
static pthread_attr_t attributes;

static void record(uint64_t thread, uint64_t count)
{
    for (uint64_t serial = 0; serial < count; serial++)
        SPOOR_RECORD(SERIAL, SPOOR_NO_OWNER, 0, thread, serial);
}

static void *live(void *thread)
{
    record((uint64_t)(uintptr_t)thread, RECORDS);
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&over);
    return NULL;
}

static void *live_shortly(void *thread)
{
    record((uint64_t)(uintptr_t)thread, RECORDS);
    return NULL;
}

static void *grow(void *thread)
{
    record((uint64_t)(uintptr_t)thread, GROWING);
    return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), uint64_t number)
{
    const int error = pthread_create(thread, &attributes, run, (void *)(uintptr_t)number);
    if (error) {
        fprintf(stderr, "thread %" PRIu64 ": %s\n", number, strerror(error));
        unlink(spoor_trace_path());
        exit(1);
    }
}

static void run_shortly(void *(*run)(void *), uint64_t count, uint64_t at_one_time)
{
    pthread_t *threads = calloc(at_one_time, sizeof *threads);
    for (uint64_t i = 0; i < count + at_one_time; i++) {
        if (i >= at_one_time)
            pthread_join(threads[i % at_one_time], NULL);
        if (i < count)
            start(&threads[i % at_one_time], run, i);
    }
    free(threads);
}

static double cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void print_account(uint64_t count, double since)
{
    struct stat status = {0};
    stat(spoor_trace_path(), &status);
    printf("%s %" PRIu64 " %" PRIu64 " %lld %.1f\n", spoor_trace_path(), count * RECORDS, spoor_trace_lost(),
           (long long)status.st_blocks / 2, (cpu_us() - since) / (double)count);
    fflush(stdout);
    while (getchar() != EOF)
        ;
}

int main(int argc, char **argv)
{
    const uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    const struct spoor_trace_options options = {.size = sizeof options, .enable = "all"};
    if (count == 0) {
        fputs("usage: recorder_threads living|short|growing N\n", stderr);
        return 2;
    }
    if (spoor_trace_open(&options)) {
        fprintf(stderr, "%s\n", spoor_trace_error());
        return 1;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    const double since = cpu_us();
    if (strcmp(argv[1], "living") == 0) {
        pthread_t *threads = calloc(count, sizeof *threads);
        pthread_barrier_init(&begun, NULL, (unsigned)count + 1);
        pthread_barrier_init(&over, NULL, (unsigned)count + 1);
        for (uint64_t i = 0; i < count; i++)
            start(&threads[i], live, i);
        pthread_barrier_wait(&begun);
        print_account(count, since);
        pthread_barrier_wait(&over);
        for (uint64_t i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
        free(threads);
    } else if (strcmp(argv[1], "short") == 0) {
        run_shortly(live_shortly, count, AT_ONE_TIME);
        print_account(count, since);
    } else {
        puts(spoor_trace_path());
        fflush(stdout);
        run_shortly(grow, UINT64_MAX - count, count);
    }
    return 0;
}
