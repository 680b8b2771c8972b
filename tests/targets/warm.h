/* SPDX-License-Identifier: BSD-3-Clause */
/* Touches every page of the program before main(): what probes read is then in memory, also where a program in the
 * kernel cannot page it in. cold.c does not include this, since that is what it tests. */
#ifndef WARM_H
#define WARM_H

#include <link.h>
#include <sys/auxv.h>

__attribute__((constructor)) static void warm(void)
{
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long count = getauxval(AT_PHNUM), base = 0;
    for (unsigned long i = 0; i < count; i++)
        if (parts[i].p_type == PT_PHDR)
            base = (unsigned long)parts - parts[i].p_vaddr;
    for (unsigned long i = 0; i < count; i++)
        if (parts[i].p_type == PT_LOAD)
            for (unsigned long at = 0; at < parts[i].p_memsz; at += 4096)
                (void)*(const volatile char *)(base + parts[i].p_vaddr + at);
}

#endif
