/* SPDX-License-Identifier: BSD-3-Clause */
/* raw FILE: runs machine code that lies in a file without an ELF header, which it writes first if it is not there. The code does
 * nothing, after 64 bytes that are not run. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BEGIN = 64, SIZE = 4096 };

static const unsigned char code[] = {
#ifdef __x86_64__
    0x90, 0x90, 0xc3, /* nop; nop; ret */
#else
    0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6, /* nop; ret */
#endif
};

int main(int argc, char **argv)
{
    int file = argc == 2 ? open(argv[1], O_RDWR | O_CREAT, 0755) : -1;
    if (file < 0 || pwrite(file, code, sizeof code, BEGIN) != sizeof code || ftruncate(file, SIZE))
        return 1;
    char *bytes = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        return 1;
    ((void (*)(void))(bytes + BEGIN))();
    return 0;
}
