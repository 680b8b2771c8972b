/* SPDX-License-Identifier: BSD-3-Clause */
/* USDT probes in every form that a note can have: sites [ROUNDS] [MILLISECONDS FIRST] [MILLISECONDS AT THE
 * END]; "stop" in place of milliseconds: until somebody has it go on (SIGCONT); "alone" at the end: until no tracer
 * is attached to sites:guarded, 20 s at most. A round fires, in this order:
 *   sites:widths   one value of each width and sign, from registers, memory or constants
 *   sites:many     three sites of one probe, with the values 1, 2 and 3, one of them a constant
 *   sites:operands memory operands as only hand-written notes are sure to have them
 *   sites:none     no arguments
 *   sites:twelve   twelve arguments
 *   sites:guarded  behind a semaphore: only if a tracer is attached; two sites; prints "listened" at the end */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#undef _SDT_HAS_SEMAPHORES

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "warm.h"

#define SEMAPHORE(name) unsigned short name __attribute__((section(".probes")))

/* With the switch above every probe refers to its semaphore. */
SEMAPHORE(sites_widths_semaphore);
SEMAPHORE(sites_many_semaphore);
SEMAPHORE(sites_none_semaphore);
SEMAPHORE(sites_twelve_semaphore);
SEMAPHORE(sites_guarded_semaphore);

/* A note with its arguments as text, and no semaphore. */
#define HAND_WRITTEN(provider, name, arguments)                                                              \
    "990: nop\n"                                                                                             \
    ".pushsection .note.stapsdt,\"\",\"note\"\n"                                                             \
    ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"                                                            \
    "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                                              \
    "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte 0\n"                                                    \
    ".asciz \"" provider "\"\n.asciz \"" name "\"\n.asciz \"" arguments "\"\n"                               \
    "994: .balign 4\n.popsection\n"

static const uint32_t table[8] = {100, 101, 102, 103, 104, 105, 106, 0xfffffffe};
static const uint64_t wide[4] = {1000, 2000, 3000, 4000};
uint32_t sites_counter = 77;

__attribute__((noinline)) static void many(int value)
{
    if (value == 1)
        DTRACE_PROBE1(sites, many, value);
    else if (value == 2)
        DTRACE_PROBE1(sites, many, (int64_t)value);
    else
        DTRACE_PROBE1(sites, many, 3);
}

__attribute__((noinline)) static void operands(void)
{
#if defined(__x86_64__)
    register const uint64_t *last __asm__("r8") = &wide[3];
    register long nine __asm__("r9") = 0x12345;
    const void *base = (const char *)table - 16;
    /* base, index and scale with a displacement; base alone; relative to the instruction; a constant; parts
     * of registers; a negative displacement. */
    __asm__ volatile(
        HAND_WRITTEN("sites", "operands",
                     "4@16(%%rax,%%rdx,4) -4@16(%%rax,%%rcx,4) 8@8(%%rsi) 4@sites_counter(%%rip) "
                     "-8@$-0x10 -1@%%dil 8@-8(%%r8) 2@%%r9w")
        :
        : "a"(base), "d"(3L), "c"(7L), "S"(wide), "D"(0xffL), "r"(last), "r"(nine)
        : "memory");
#endif
}

static void pause_for(const char *text)
{
    if (!strcmp(text, "stop"))
        raise(SIGSTOP);
    else if (!strcmp(text, "alone"))
        for (int i = 0; i < 2000 && __atomic_load_n(&sites_guarded_semaphore, __ATOMIC_RELAXED); i++)
            usleep(10000);
    else if (atoi(text))
        usleep((useconds_t)atoi(text) * 1000);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    int listened = 0;
    volatile int8_t a = -1;
    volatile uint8_t b = 200;
    volatile int16_t c = -300;
    volatile uint16_t d = 60000;
    volatile int32_t e = -70000;
    volatile uint32_t f = 4000000000u;
    volatile int64_t g = -5000000000;
    volatile uint64_t h = 18000000000000000000u;

    /* The notes name memory, which is touched here: memory that was never touched is another test. */
    volatile uint64_t touched = table[0] + wide[0] + sites_counter;
    (void)touched;
    pause_for(argc > 2 ? argv[2] : "");
    for (int i = 0; i < rounds; i++) {
        DTRACE_PROBE8(sites, widths, a, b, c, d, e, f, g, h);
        many(1);
        many(2);
        many(3);
        operands();
        DTRACE_PROBE(sites, none);
        DTRACE_PROBE12(sites, twelve, i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "twelfth");
        if (sites_guarded_semaphore) {
            listened++;
            DTRACE_PROBE2(sites, guarded, i, "first");
        }
        if (sites_guarded_semaphore)
            DTRACE_PROBE2(sites, guarded, (uint8_t)(i + 1), "second");
    }
    pause_for(argc > 3 ? argv[3] : "");
    if (listened)
        printf("listened %d, now %u\n", listened, sites_guarded_semaphore);
    return 0;
}
