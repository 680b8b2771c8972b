/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes system calls that probes in the kernel can count: each has something that nobody else's call has.
 *
 *   kernel_calls read    10 reads of 4321 bytes
 *   kernel_calls open    5 attempts to open /no/such/spoor
 *   kernel_calls         both */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int read_zeros(void)
{
    static char bytes[4321];
    int fd = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 10; i++)
        if (read(fd, bytes, sizeof bytes) != sizeof bytes)
            return 1;
    return close(fd);
}

static int open_nothing(void)
{
    for (int i = 0; i < 5; i++)
        if (open("/no/such/spoor", O_RDONLY) >= 0)
            return 1;
    return 0;
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "read open";
    if (strstr(what, "read") && read_zeros())
        return perror("/dev/zero"), 1;
    if (strstr(what, "open") && open_nothing())
        return fputs("/no/such/spoor exists\n", stderr), 1;
    return 0;
}
