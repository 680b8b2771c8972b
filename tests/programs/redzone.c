/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that keep values where a probe might write: redzone HITS. Each is called HITS times and says how
 * often a value was not what it had been. Leaf functions keep them below the stack pointer, in the red zone;
 * others right above it; the stubs of declared probes may keep something, too, so their callers look at
 * everything. */
#include <spoor/compat/sdt.h>
#include <spoor/probe.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

SPOOR_PROBE_DECLARE(redzone, none);
SPOOR_PROBE_DECLARE(redzone, three, (uint64_t, a), (uint32_t, b), (const char *, c));
SPOOR_PROBE_DECLARE(redzone, twelve, (uint64_t, a), (uint64_t, b), (uint64_t, c), (uint64_t, d),
                    (uint64_t, e), (uint64_t, f), (uint64_t, g), (uint64_t, h), (uint64_t, i), (uint8_t, j),
                    (int16_t, k), (uint64_t, l));

enum { KEPT = 12 }; /* of the 16 words of the red zone */

/* Defines a function that keeps values around PROBE, which may use `a`. True: the values are unchanged. */
#define KEEPER(name, PROBE)                                                                                  \
    __attribute__((noinline)) static bool name(uint64_t a)                                                   \
    {                                                                                                        \
        volatile uint64_t kept[KEPT];                                                                        \
        uint64_t wrong = 0;                                                                                  \
        for (unsigned i = 0; i < KEPT; i++)                                                                  \
            kept[i] = a * 31 + i;                                                                            \
        PROBE;                                                                                               \
        for (unsigned i = 0; i < KEPT; i++)                                                                  \
            wrong |= kept[i] ^ (a * 31 + i);                                                                 \
        return !wrong;                                                                                       \
    }

KEEPER(leaf_inline, SPOOR_PROBE(redzone, inline, a, kept[3]))
KEEPER(leaf_bare, SPOOR_PROBE(redzone, bare))
KEEPER(leaf_compat, DTRACE_PROBE2(redzone, compat, a, (uint8_t)a))
KEEPER(caller_none, SPOOR_FIRE(redzone, none))
KEEPER(caller_three, SPOOR_FIRE(redzone, three, a, (uint32_t)a, "text"))
KEEPER(caller_twelve, SPOOR_FIRE(redzone, twelve, a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7, a + 8,
                                 (uint8_t)a, (int16_t)-1, a + 11))
#if defined(__x86_64__)
/* Not one of spoor's probes: shows what happens where a 5-byte nop stands alone. */
KEEPER(leaf_alone, __asm__ volatile(".type redzone_alone, @function\nredzone_alone:\n"
                                    ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n.size redzone_alone, 5\n"))
#endif

static const struct {
    const char *name;
    bool (*call)(uint64_t a);
} keepers[] = {
    {"inline", leaf_inline}, {"bare", leaf_bare},     {"compat", leaf_compat},
    {"none", caller_none},   {"three", caller_three}, {"twelve", caller_twelve},
#if defined(__x86_64__)
    {"alone", leaf_alone},
#endif
};

int main(int argc, char **argv)
{
    uint64_t hits = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    for (size_t k = 0; k < sizeof keepers / sizeof keepers[0]; k++) {
        uint64_t corrupted = 0;
        for (uint64_t i = 0; i < hits; i++)
            corrupted += !keepers[k].call(i);
        printf("%s corrupted %" PRIu64 "\n", keepers[k].name, corrupted);
    }
    return 0;
}
