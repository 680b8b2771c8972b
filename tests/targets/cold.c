/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that is in memory's page cache but that this process has never touched: cold [ROUNDS].
 * A round maps the pages anew and calls cold_say with the text within a page, cold_cross with text that
 * begins on one such page and ends on the next, and opens a file whose name is on one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, noipa, used))
#define KEEP() __asm__ volatile("" ::: "memory")

PROBED void cold_say(const char *text)
{
    KEEP();
    (void)text;
}

PROBED void cold_cross(const char *text)
{
    KEEP();
    (void)text;
}

PROBED const char *cold_return(const char *text)
{
    KEEP();
    return text;
}

int main(int argc, char **argv)
{
    enum { PAGE = 4096, PAGES = 8, CROSSING = 2 * PAGE - 5, NAME = 4 * PAGE, RETURNED = 6 * PAGE };
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    static const char within[] = "never touched", across[] = "from one page to the next",
                      name[] = "/nowhere/cold";
    int file = memfd_create("cold", 0);
    if (file < 0 || ftruncate(file, PAGES * PAGE) || pwrite(file, within, sizeof within, 0) < 0 ||
        pwrite(file, across, sizeof across, CROSSING) < 0 || pwrite(file, name, sizeof name, NAME) < 0 ||
        pwrite(file, within, sizeof within, RETURNED) < 0)
        return 1;
    for (int i = 0; i < rounds; i++) {
        char *pages = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
        if (pages == MAP_FAILED)
            return 1;
        /* without it the kernel maps the neighbours of a touched page, too */
        madvise(pages, PAGES * PAGE, MADV_RANDOM);
        cold_say(pages);
        cold_cross(pages + CROSSING);
        cold_return(pages + RETURNED);
        int opened = open(pages + NAME, O_RDONLY);
        if (opened >= 0)
            close(opened);
        munmap(pages, PAGES * PAGE);
    }
    return 0;
}
