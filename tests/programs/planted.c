/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that finds out whether a breakpoint was put into it, at the function that is meant for one or in any
 * other place: it compares its code with its file. With -DOTHER it is another program, in which the function is
 * elsewhere. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef OTHER
#define PLACE aligned(512)
#else
#define PLACE aligned(1)
#endif

__attribute__((noinline, used, PLACE)) int probed(int value)
{
    __asm__ volatile("");
    return value + 1;
}

static int compare(struct dl_phdr_info *info, size_t size, void *state)
{
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && file >= 0; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const unsigned char *code = (const unsigned char *)(info->dlpi_addr + segment->p_vaddr);
        unsigned char byte;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        for (size_t k = 0; k < segment->p_filesz; k++)
            if (pread(file, &byte, 1, (off_t)(segment->p_offset + k)) == 1 && byte != code[k])
                ((int *)state)[(uintptr_t)(code + k) - (uintptr_t)probed < 4]++;
    }
    close(file);
    return 1; /* only the first object, which is the program itself, is examined */
}

int main(void)
{
    int planted[2] = {0}; /* breakpoints elsewhere, and at the function */
    dl_iterate_phdr(compare, planted);
    puts(planted[0] ? "planted" : planted[1] ? "probed" : "clean");
    return probed(-1);
}
