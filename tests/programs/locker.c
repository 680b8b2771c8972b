/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds the lock of a recording, as a tool that steers it would, until its standard input ends.
 *
 *   locker FILE [old]        old: a lock of the process, not of the descriptor */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    const int file = argc > 1 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
    if (file < 0 || fcntl(file, argc > 2 ? F_SETLK : F_OFD_SETLK, &lock)) {
        perror("locker");
        return 1;
    }
    puts("locked");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
