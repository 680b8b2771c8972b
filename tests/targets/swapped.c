/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes memory, has the kernel page it out, and reads it again: swapped PAGES. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

int main(int argc, char **argv)
{
    enum { PAGE = 4096 };
    size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, sum = 0;
    char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return perror("mmap"), 1;
    madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; i++)
        memset(memory + i * PAGE, (int)(i % 251) + 1, PAGE);
    if (madvise(memory, pages * PAGE, MADV_PAGEOUT))
        return perror("madvise"), 1;
    for (size_t i = 0; i < pages; i++)
        sum += (unsigned char)memory[i * PAGE];
    return sum ? 0 : 1;
}
