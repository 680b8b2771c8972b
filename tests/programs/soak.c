/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes, libraries and threads that come and go while tests/programs/soak.sh traces them: soak WHAT…
 *   forks N         N processes that end at once
 *   lives LIBRARY   until its input ends: opens the library, calls into it and closes it; threads start, record steps that
 *                   begin and end, and end. Then it prints how many steps it recorded
 *   records N       N steps, recorded by a thread for each hundred */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spoor/trace.h>

enum { STEPS = 100 /* of a thread */, THREADS = 4, PAUSE_MS = 20 };

SPOOR_GROUP(soak, "steps");
SPOOR_OWNER(worker, 'w');
SPOOR_OBJECT(step, 's');
SPOOR_TRACEPOINT(soak, STEP_BEGIN, step, SPOOR_BEGINS, (int, n), (const char *, text));
SPOOR_TRACEPOINT(soak, STEP_END, step, SPOOR_ENDS, (int, n));
SPOOR_TRACEPOINT_HERE(STEP_BEGIN);
SPOOR_TRACEPOINT_HERE(STEP_END);

static uint64_t threads_made;

/* A thread that records steps, none of which has the name of an earlier one. */
static void *work(void *number)
{
    const uint64_t first = (uint64_t)(uintptr_t)number * STEPS;
    char name[16];
    snprintf(name, sizeof name, "worker_%u", (unsigned)((uintptr_t)number % 100000));
    spoor_trace_thread(name);
    const unsigned owner = spoor_owner_register(&spoor_owner_worker, name);
    for (int i = 0; i < STEPS; i++) {
        SPOOR_RECORD(STEP_BEGIN, owner, (void *)(uintptr_t)(first + (unsigned)i + 1), i, name);
        SPOOR_RECORD(STEP_END, owner, (void *)(uintptr_t)(first + (unsigned)i + 1), i);
    }
    spoor_owner_unregister(owner);
    return NULL;
}

static int start_recording(void)
{
    const struct spoor_trace_options options = {.size = sizeof options, .name = "soak", .enable = "all"};
    if (!spoor_trace_open(&options))
        return 0;
    fprintf(stderr, "soak: %s\n", spoor_trace_error());
    return 1;
}

static int work_in_threads(unsigned count)
{
    pthread_t threads[THREADS];
    unsigned made = 0;
    while (made < count && !pthread_create(&threads[made], NULL, work, (void *)(uintptr_t)threads_made)) {
        threads_made++;
        made++;
    }
    for (unsigned i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    return made == count ? 0 : 1;
}

/* Opens the library, uses it for a while, and closes it. */
static int turn(const char *path, struct pollfd *input)
{
    void *library = dlopen(path, RTLD_NOW);
    int (*greet)(const char *, int) =
        library ? (int (*)(const char *, int))dlsym(library, "greeter_greet") : NULL;
    if (!greet) {
        fprintf(stderr, "soak: %s\n", dlerror());
        return 1;
    }
    poll(input, 1, PAUSE_MS);
    greet("soak", (int)threads_made);
    int error = work_in_threads(THREADS);
    return dlclose(library) || error;
}

static int live(const char *path)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    int error = start_recording();
    while (!error && poll(&input, 1, PAUSE_MS) == 0)
        error = turn(path, &input);
    printf("%llu\n", (unsigned long long)threads_made * STEPS);
    return error;
}

static int record(long steps)
{
    int error = start_recording();
    for (long i = 0; !error && i < steps; i += STEPS)
        error = work_in_threads(1);
    return error;
}

static int fork_many(long count)
{
    for (long i = 0; i < count; i++) {
        const pid_t child = vfork(); /* for a third of the time of fork() */
        if (!child)
            _exit(0);
        if (child < 0 ? errno != EAGAIN : wait(NULL) < 0)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "lives"))
        return live(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "records"))
        return record(atol(argv[2]));
    if (argc == 3 && !strcmp(argv[1], "forks"))
        return fork_many(atol(argv[2]));
    fprintf(stderr, "usage: soak lives LIBRARY | records N | forks N\n");
    return 2;
}
