/* SPDX-License-Identifier: BSD-3-Clause */
/* How long it takes to merge the records of many event rings by time: merge RINGS RECORDS [RUN]. The rings are made by hand,
 * full of small records; each RUN (1) records in a row are of one ring. Prints ns of CPU time for each record, once all
 * have been found in their order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/image.h"
#include "kernel/state.h"

enum { HEADER = 8, RECORD = 24, STEP = HEADER + RECORD };

static uint64_t seen, disorder, last;

static int deliver(void *state, const uint8_t *record, size_t length)
{
    (void)state, (void)length;
    uint64_t time;
    memcpy(&time, record, sizeof time);
    disorder += time < last;
    last = time;
    seen++;
    return 0;
}

static uint64_t cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int main(int argc, char **argv)
{
    uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 0, records = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
    uint32_t run = argc > 3 ? (uint32_t)atoi(argv[3]) : 1;
    if (!count || !records || !run)
        return fprintf(stderr, "usage: merge RINGS RECORDS [RUN]\n"), 2;
    uint32_t each = records / count + run, size = 4096;
    while (size < each * STEP)
        size *= 2;
    struct kernel kernel = {.rings = {.count = count}};
    struct rings *rings = &kernel.rings;
    rings->items = calloc(count, sizeof *rings->items);
    rings->tree = calloc(2 * (size_t)count, sizeof *rings->tree);
    unsigned long *positions = calloc(2 * (size_t)count, sizeof *positions);
    if (!rings->items || !rings->tree || !positions)
        return 1;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *data = calloc(2, size);
        if (!data)
            return 1;
        rings->items[i] = (struct ring){
            .size = size, .consumer = &positions[i], .producer = &positions[count + i], .data = data};
    }
    uint64_t random = 1;
    for (uint32_t made = 0, ring = 0; made < records; made++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        if (made % run == 0)
            do
                ring = (uint32_t)(random >> 33) % count,
                random = random * 6364136223846793005 + 1442695040888963407;
            while (positions[count + ring] + (unsigned long)run * STEP > size);
        uint8_t *at = (uint8_t *)(uintptr_t)rings->items[ring].data + positions[count + ring];
        uint32_t length = RECORD;
        uint64_t time = 1000 + made;
        memcpy(at, &length, sizeof length);
        memcpy(at + HEADER, &time, sizeof time);
        positions[count + ring] += STEP;
    }
    uint64_t begin = cpu_ns();
    int answer = ring_consume(&kernel.host, true, deliver, NULL);
    uint64_t taken = cpu_ns() - begin;
    if (answer != (int)records || seen != records || disorder || rings->disorder)
        return fprintf(stderr, "%d of %u records, %llu out of order\n", answer, records,
                       (unsigned long long)disorder),
               1;
    printf("%.1f\n", (double)taken / records);
}
