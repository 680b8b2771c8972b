/* SPDX-License-Identifier: BSD-3-Clause */
/* A living program with a hostile recording: FILE becomes a copy of GOOD, a recording of either format, which this
 * process has in its memory, and whose writer's lock it holds. From then on some of its words are wrong, and others
 * at each moment, until standard input ends.
 *
 *   hostile_writer GOOD FILE SEED
 *
 * A few of its words, or some hundred, are wrong at a time, as SEED decides, and each is soon corrected. So readers
 * read more or less of the file before they meet a wrong word. It prints "writes". */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/layout.h"

enum { WRONG_MAX = 256, ROUNDS_PER_LOOK = 2000, FRONT = 24576, SHORTER_EVERY = 60 };

static uint64_t seed, size;
static uint8_t *good, *bytes;

static uint64_t chance(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

static uint64_t begin_ticks(void)
{
    char line[1024] = "";
    uint64_t ticks = 0;
    FILE *file = fopen("/proc/self/stat", "r");
    if (!file || !fgets(line, sizeof line, file))
        exit(1);
    fclose(file);
    char *at = strrchr(line, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at)
        ticks = strtoull(at, NULL, 10);
    return ticks;
}

/* Writes into the header of spoor's format that the file is this process's memory. */
static void claim(int file)
{
    struct layout_header *header = (struct layout_header *)good;
    struct stat status;
    if (memcmp(good, LAYOUT_MAGIC, sizeof header->magic) || fstat(file, &status))
        return;
    header->pid = (uint32_t)getpid();
    header->start_ticks = begin_ticks();
    header->device = status.st_dev;
    header->inode = status.st_ino;
    ((struct layout_control *)(good + header->control_offset))->closed = 0;
}

static void make_wrong(uint64_t at)
{
    static const uint64_t borders[] = {0,          1,         7,          255,       4096,
                                       UINT16_MAX, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    uint64_t value;
    memcpy(&value, good + at, sizeof value);
    switch (chance(5)) {
    case 0: value = borders[chance(sizeof borders / sizeof *borders)]; break;
    case 1: value ^= 1ull << chance(64); break;
    case 2: value += chance(8192) - 4096; break;
    case 3: memcpy(&value, good + (chance(size - 8) & ~7ull), sizeof value); break;
    case 4: ((uint8_t *)&value)[chance(8)] = (uint8_t)chance(256); break;
    }
    memcpy(bytes + at, &value, sizeof value);
}

int main(int argc, char **argv)
{
    struct stat status;
    uint64_t wrong[WRONG_MAX] = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int from = argc == 4 ? open(argv[1], O_RDONLY) : -1;
    const int file = argc == 4 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0666) : -1;
    if (from < 0 || file < 0 || fstat(from, &status) || ftruncate(file, status.st_size) ||
        flock(file, LOCK_EX))
        return perror("hostile_writer"), 1;
    size = (uint64_t)status.st_size;
    seed = strtoull(argv[3], NULL, 10) * 2 + 1;
    good = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, from, 0);
    bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (good == MAP_FAILED || bytes == MAP_FAILED)
        return perror("hostile_writer"), 1;
    const uint64_t count = 2u << chance(8); /* up to WRONG_MAX */
    claim(file);
    memcpy(bytes, good, size);
    puts("writes");
    fflush(stdout);
    const uint64_t front = size < FRONT ? size : FRONT;
    for (uint64_t round = 0;; round++) {
        uint64_t *at = &wrong[round % count];
        memcpy(bytes + *at, good + *at, 8);
        /* mostly in the tables, and seldom in the magic */
        *at = chance(chance(3) ? front - 8 : size - 8) & ~7ull;
        if (*at || !chance(100))
            make_wrong(*at);
        for (uint64_t wait = chance(20000); wait; wait--)
            __asm__ volatile("");
        if (round % ROUNDS_PER_LOOK)
            continue;
        struct pollfd ended = {STDIN_FILENO, POLLIN, 0};
        if (poll(&ended, 1, 0) > 0)
            return 0;
        /* The file is cut short for a moment. Nothing is written meanwhile, which would end this process. */
        if (!chance(SHORTER_EVERY) &&
            (ftruncate(file, (off_t)chance(size)) || usleep(500) || ftruncate(file, (off_t)size)))
            return 1;
        memcpy(bytes, good, size);
    }
}
