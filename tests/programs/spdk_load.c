/* SPDX-License-Identifier: BSD-3-Clause */
/* Records at a given rate, as an SPDK target under load does, and reports what it recorded.
 *
 *   spdk_load NAME REQUESTS_PER_SECOND SECONDS [SLOTS [CPU]]
 *
 * Two lcores, a thread each, both on one CPU if one is given; together they make so many requests a second. A
 * request is five objects, each related to the one above it: it begins with all of them and ends with all of them,
 * ten events in fourteen slots. Ids are used again after a few hundred requests. Each event's first argument is how
 * many ticks ago its object began, so that a wrong time shows.
 *
 * Prints the file's path and the counter's rate, and waits for a line before it begins. It works for so many seconds at least,
 * and until there is another line. Then it prints, for each tracepoint, its name, the events and the slots that were recorded,
 * and waits until its standard input ends. */
#include <sched.h>
#include <stdatomic.h>

#include "spdk_writing.h"

enum { LEVELS = 5, POOL = 256, BEGIN_SLOTS = 2, END_SLOTS = 1 };

static const struct level {
    const char *begins, *ends;
    uint16_t begin, end;
    char owner, object;
} levels[LEVELS] = {
    {"TCP_REQ_NEW", "TCP_REQ_COMPLETED", 5 * 64, 5 * 64 + 12, 't', 'r'},
    {"BDEV_IO_START", "BDEV_IO_DONE", 3 * 64, 3 * 64 + 1, 'b', 'i'},
    {"BLOB_REQ_SET_START", "BLOB_REQ_SET_COMPLETE", 16 * 64, 16 * 64 + 1, 'o', 'l'},
    {"BDEV_NVME_IO_START", "BDEV_NVME_IO_DONE", 14 * 64, 14 * 64 + 1, 'v', 'e'},
    {"SOCK_REQ_QUEUE", "SOCK_REQ_COMPLETE", 15 * 64, 15 * 64 + 2, 's', 'p'},
};

static uint64_t rate, seconds;
static atomic_bool is_told; /* to end */
static uint64_t requests[LCORES];

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t id_of(unsigned lcore, unsigned level, uint64_t request)
{
    return 0x200000000000 + ((uint64_t)lcore << 40) + ((uint64_t)level << 32) + request % POOL * 0x180;
}

static void make_request(unsigned lcore, uint64_t request)
{
    uint64_t begun[LEVELS], unused[2];
    for (unsigned i = 0; i < LEVELS; i++) {
        begun[i] = ticks();
        record_at(begun[i], lcore, levels[i].begin, (uint16_t)(i + 1 < OWNERS ? i + 1 : 0),
                  id_of(lcore, i, request), (uint64_t[]){0, i ? id_of(lcore, i - 1, request) : 0}, 2, unused);
    }
    for (unsigned i = LEVELS; i-- > 0;) {
        const uint64_t tsc = ticks();
        record_at(tsc, lcore, levels[i].end, (uint16_t)(i + 1 < OWNERS ? i + 1 : 0), id_of(lcore, i, request),
                  (uint64_t[]){tsc - begun[i]}, 1, unused);
    }
}

static void *work(void *argument)
{
    const unsigned lcore = (unsigned)(uintptr_t)argument;
    const uint64_t apart = LCORES * 1000000000u / rate, begin = now(), end = begin + seconds * 1000000000u;
    for (uint64_t time; (time = now()) < end || !is_told;) {
        const uint64_t due = (time - begin) / apart;
        while (requests[lcore] < due)
            make_request(lcore, requests[lcore]++);
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[LCORES];
    char line[8];
    if (argc < 4 || !(rate = strtoull(argv[2], NULL, 10)) || !(seconds = strtoull(argv[3], NULL, 10))) {
        fputs("usage: spdk_load NAME REQUESTS_PER_SECOND SECONDS [SLOTS [CPU]]\n", stderr);
        return 2;
    }
    if (argc > 4)
        slots = strtoull(argv[4], NULL, 10);
    if (argc > 5) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(strtoul(argv[5], NULL, 10), &one);
        if (sched_setaffinity(0, sizeof one, &one)) {
            perror(argv[5]);
            return 1;
        }
    }
    make_file(argv[1]);
    for (unsigned i = 0; i < LEVELS; i++)
        add_type(levels[i].owner, levels[i].object);
    for (unsigned i = 1; i < OWNERS; i++) {
        char description[64];
        snprintf(description, sizeof description,
                 "nqn.2016-06.io.spdk:cnode%u host 192.168.100.%u qid %02u pad pad", i, i, i);
        owner(i, (uint8_t)i, description);
    }
    for (unsigned i = 0; i < LEVELS; i++) {
        const uint8_t type = (uint8_t)(i + 1);
        declare(levels[i].begins, levels[i].begin, type, true, (const char *const[]){"age", "ctx", NULL},
                (uint8_t)i);
        declare(levels[i].ends, levels[i].end, type, false, (const char *const[]){"age", NULL}, 0);
    }
    tell_path();
    printf("%" PRIu64 "\n", file->main[0]);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 1;
    for (uintptr_t i = 0; i < LCORES; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    if (fgets(line, sizeof line, stdin) == NULL)
        fputs("there is nobody any more\n", stderr);
    is_told = true;
    uint64_t made = 0;
    for (unsigned i = 0; i < LCORES; i++) {
        pthread_join(threads[i], NULL);
        made += requests[i];
    }
    for (unsigned i = 0; i < LEVELS; i++)
        printf("%s %" PRIu64 " %" PRIu64 "\n%s %" PRIu64 " %" PRIu64 "\n", levels[i].begins, made,
               made * BEGIN_SLOTS, levels[i].ends, made, made * END_SLOTS);
    puts("end");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
