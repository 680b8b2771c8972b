/* SPDX-License-Identifier: BSD-3-Clause */
/* A 32-bit program, without any library: compat32 asks for its parent's process twenty times, writes "32" and ends with
 * status 3. Its numbers are those of i386: 64 is getppid there, and semget for 64-bit programs. */
enum { EXIT = 1, WRITE = 4, GETPPID = 64, CALLS = 20 };

__attribute__((noinline, noipa)) static int call(int number, int first, const char *second, int third)
{
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(number), "b"(first), "c"(second), "d"(third) : "memory");
    return result;
}

void _start(void)
{
    for (int i = 0; i < CALLS; i++)
        call(GETPPID, 0, "", 0);
    call(WRITE, 1, "32\n", 3);
    call(EXIT, 3, "", 0);
    for (;;)
        ;
}
