/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory at an address that is known beforehand: watched [ROUNDS] [MILLISECONDS BEFORE EACH]. Every round
 * writes 8 bytes at 0x10000000, reads 4 at 0x10000010 and calls the function at 0x10001000. With "thread" as
 * the third argument a thread of its own does it. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "warm.h"

#define MEMORY ((char *)0x10000000)

static int rounds, pause_ms;

static void *work(void *nothing)
{
    volatile uint64_t *written = (volatile uint64_t *)MEMORY;
    volatile uint32_t *read = (volatile uint32_t *)(MEMORY + 16);
    int (*code)(void) = (int (*)(void))(uintptr_t)(MEMORY + 4096);
    int sum = 0;
    for (int i = 1; i <= rounds; i++) {
        usleep(1000 * (useconds_t)pause_ms);
        *written = (uint64_t)i;
        sum += (int)*read + code();
    }
    printf("%d\n", sum);
    return nothing;
}

int main(int argc, char **argv)
{
    static const unsigned char instructions[] =
#ifdef __x86_64__
        {0xb8, 5, 0, 0, 0, 0xc3}; /* return 5 */
#else
        {0xa0, 0x00, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6};
#endif
    rounds = argc > 1 ? atoi(argv[1]) : 3;
    pause_ms = argc > 2 ? atoi(argv[2]) : 0;
    if (mmap(MEMORY, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED)
        return 1;
    memcpy(MEMORY + 4096, instructions, sizeof instructions);
    __builtin___clear_cache(MEMORY + 4096, MEMORY + 8192);
    pthread_t thread;
    if (argc <= 3) {
        work(NULL);
    } else if (!pthread_create(&thread, NULL, work, NULL)) {
        pthread_join(thread, NULL);
    }
    return 0;
}
