/* SPDX-License-Identifier: BSD-3-Clause */
/* Records as an SPDK program does: the sectioned format in shared memory, masks obeyed, nothing else guarded.
 *
 *   spdk_writer NAME EVENTS PAUSE [SLOTS]
 *
 * Two lcores, a thread each. Each makes EVENTS rounds (0: until it is killed) of BDEV_IO_START, BDEV_IO_DONE,
 * TCP_REQ_NEW and TCP_REQ_COMPLETED, with PAUSE µs after each; an event may take several slots. The words of
 * an event follow from its number, so that a torn one shows. Prints the file's path; after the rounds, for
 * each lcore how many slots and events it wrote; then waits until its standard input ends. */
#include "spdk_writing.h"

enum { IO_START = 3 * 64, IO_DONE, REQ_NEW = 5 * 64, REQ_COMPLETED = 5 * 64 + 12 };

enum spdk_bdev_io_type { BDEV_IO_TYPE_INVALID, BDEV_IO_TYPE_READ, BDEV_IO_TYPE_WRITE, BDEV_IO_TYPE_UNMAP };
typedef enum { LATE = -1, EARLY = 8 } when; /* without a tag */

static volatile enum spdk_bdev_io_type newest_type;
static volatile when newest_when;
static uint64_t rounds;
static unsigned pause_us;
static uint64_t written[LCORES][2];

static void *work(void *argument)
{
    const unsigned lcore = (unsigned)(uintptr_t)argument;
    for (uint64_t i = 1; !rounds || i <= rounds; i++) {
        const uint64_t io = i % 8 * 64 + 4096 + lcore, request = i % 16 * 128 + 65536 + lcore;
        const uint64_t start[] = {i % 4, request, i * 8, i * 3, i * 5, i * 7, i * 11, i * 13};
        newest_type = (enum spdk_bdev_io_type)start[0];
        newest_when = EARLY;
        record_at(ticks(), lcore, REQ_NEW, 2, request, (uint64_t[]){i}, 1, written[lcore]);
        record_at(ticks(), lcore, IO_START, 1, io, start, 8, written[lcore]);
        record_at(ticks(), lcore, IO_DONE, 1, io, (uint64_t[]){request}, 1, written[lcore]);
        record_at(ticks(), lcore, REQ_COMPLETED, 2, request, (uint64_t[]){i}, 1, written[lcore]);
        if (pause_us)
            nanosleep(&(struct timespec){pause_us / 1000000, pause_us % 1000000 * 1000}, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[LCORES];
    if (argc < 4) {
        fputs("usage: spdk_writer NAME EVENTS PAUSE [SLOTS]\n", stderr);
        return 2;
    }
    rounds = strtoull(argv[2], NULL, 10);
    pause_us = (unsigned)strtoul(argv[3], NULL, 10);
    if (argc > 4)
        slots = strtoull(argv[4], NULL, 10);
    make_file(argv[1]);
    add_type('b', 'i');
    add_type('t', 'r');
    owner(1, 1, "Nvme0n1");
    owner(2, 2, "qpair 2");
    declare("BDEV_IO_START", IO_START, 1, true,
            (const char *const[]){"type", "ctx", "offset", "len", "a", "b", "c", "d", NULL}, 2);
    declare("BDEV_IO_DONE", IO_DONE, 1, false, (const char *const[]){"ctx", NULL}, 2);
    declare("TCP_REQ_NEW", REQ_NEW, 2, true, (const char *const[]){"number", NULL}, 0);
    declare("TCP_REQ_COMPLETED", REQ_COMPLETED, 2, false, (const char *const[]){"number", NULL}, 0);
    tell_path();
    for (uintptr_t i = 0; i < LCORES; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (unsigned i = 0; i < LCORES; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < LCORES; i++)
        printf("%" PRIu64 " %" PRIu64 "\n", written[i][0], written[i][1]);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
