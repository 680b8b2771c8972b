/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls a function of a program that is in another file at a page boundary, as programs do with archives whose
 * members are not compressed: maps FILE OFFSET LENGTH OFFSET-OF-THE-FUNCTION TIMES. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "warm.h"

int main(int argc, char **argv)
{
    uint64_t numbers[4];
    for (int i = 0; i < 4 && argc == 6; i++)
        numbers[i] = strtoull(argv[2 + i], NULL, 0);
    int fd = argc == 6 ? open(argv[1], O_RDONLY) : -1;
    char *code = fd < 0 ? MAP_FAILED
                        : mmap(NULL, numbers[1], PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)numbers[0]);
    if (code == MAP_FAILED)
        return 1;
    int (*function)(int, int) = (int (*)(int, int))(uintptr_t)(code + numbers[2]);
    for (uint64_t i = 0; i < numbers[3]; i++)
        if (function(20, (int)i) != 20 + (int)i)
            return 2;
    return 0;
}
