/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes system calls that probes in the kernel can count: a NUMBER that no other program uses distinguishes them.
 *
 *   kernel_calls read NUMBER    10 reads of NUMBER bytes
 *   kernel_calls open NUMBER    5 attempts to open /no/such/NUMBER */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "warm.h"

static int read_zeros(size_t size)
{
    static char bytes[1 << 16];
    int fd = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 10; i++)
        if (read(fd, bytes, size) != (ssize_t)size)
            return 1;
    return close(fd);
}

static int open_nothing(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/no/such/%s", name);
    for (int i = 0; i < 5; i++)
        if (open(path, O_RDONLY) >= 0)
            return 1;
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 3 && !strcmp(arguments[1], "read"))
        return read_zeros(strtoul(arguments[2], NULL, 10));
    if (count == 3 && !strcmp(arguments[1], "open"))
        return open_nothing(arguments[2]);
    return fputs("usage: kernel_calls read|open NUMBER\n", stderr), 1;
}
