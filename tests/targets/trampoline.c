/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls reached() twice through code that it makes itself, as CPython does for its functions: `sub $N, %rsp; call *%rdi; add $N,
 * %rsp; ret`, which no call frame information describes, and no frame pointer is kept meanwhile. */
#ifndef __clang__
#pragma GCC optimize("O2", "omit-frame-pointer", "no-optimize-sibling-calls")
#endif
#include <string.h>
#include <sys/mman.h>

#define KEEP __attribute__((noinline, used))

volatile int trampoline_sink;

KEEP void reached(void)
{
    trampoline_sink++;
}

#ifdef __x86_64__
static unsigned char *code;

/* Makes a trampoline with so many bytes on the stack, at an offset of the code. */
static void make(size_t offset, unsigned char bytes)
{
    const unsigned char instructions[] = {0x48, 0x83, 0xec, bytes, 0xff, 0xd7, 0x48, 0x83, 0xc4, bytes, 0xc3};
    memcpy(code + offset, instructions, sizeof instructions);
}

static KEEP void pass(size_t offset, void (*function)(void))
{
    ((void (*)(void (*)(void)))(void *)(code + offset))(function);
    trampoline_sink++;
}

static KEEP void inner(void)
{
    pass(16, reached);
    trampoline_sink++;
}

int main(void)
{
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return 1;
    make(0, 8);
    make(16, 0x78);
    /* The register that might be a frame pointer is none. */
    __asm__ volatile("" ::: "rbp");
    pass(0, inner);
    return trampoline_sink == 0;
}
#else
int main(void)
{
    reached();
}
#endif
