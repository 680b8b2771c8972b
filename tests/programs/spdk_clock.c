/* SPDX-License-Identifier: BSD-3-Clause */
/* Records in SPDK's format, with a system call between every two events, so that there is only one right order of all.
 *
 *   spdk_clock NAME ROUNDS APART_NS
 *
 * A round is the event BDEV_IO_START, close(FIRST + round), which fails, and BDEV_IO_DONE, each as much later than the one
 * before as APART says, or more; on one lcore, then on the other. Prints the file's path, waits for a line before it begins,
 * prints "done", and waits until its standard input ends. */
#include <errno.h>

#include "spdk_writing.h"

enum { FIRST = 1000000 };

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void pass(uint64_t nanoseconds)
{
    for (const uint64_t begin = now(); now() - begin < nanoseconds;)
        ;
}

int main(int argc, char **argv)
{
    const char *const arguments[] = {"round", NULL};
    uint64_t unused[2] = {0};
    char line[8];
    if (argc != 4) {
        fputs("usage: spdk_clock NAME ROUNDS APART_NS\n", stderr);
        return 2;
    }
    const uint64_t rounds = strtoull(argv[2], NULL, 10), apart = strtoull(argv[3], NULL, 10);
    slots = rounds * 2 + 1024;
    make_file(argv[1]);
    add_type('b', 'i');
    declare("BDEV_IO_START", 3 * 64, 1, true, arguments, 0);
    declare("BDEV_IO_DONE", 3 * 64 + 1, 1, false, arguments, 0);
    tell_path();
    if (!fgets(line, sizeof line, stdin))
        return 1;
    for (uint64_t round = 0; round < rounds; round++) {
        const unsigned lcore = round % LCORES;
        record_at(ticks(), lcore, 3 * 64, 0, 0x1000 + round, &round, 1, unused);
        pass(apart);
        if (!close((int)(FIRST + round)) || errno != EBADF)
            return 1;
        pass(apart);
        record_at(ticks(), lcore, 3 * 64 + 1, 0, 0x1000 + round, &round, 1, unused);
        pass(apart);
    }
    puts("done");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
