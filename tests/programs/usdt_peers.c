/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes of every form, for other tools: usdt_peers ROUNDS. Each fires once a round, with values that follow from
 * the round. perf reads no file with a hyphen in a probe's name: it needs -DNO_HYPHEN. */
#include <spoor/compat/sdt.h>
#include <spoor/probe.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum colour { RED = 1, GREEN = -2 };

SPOOR_PROBE_DECLARE(peers, declared, (int32_t, number), (const char *, text), (uint8_t, small));
SPOOR_PROBE_DECLARE(peers, bare);

static volatile char constant[] = "constant";

static __attribute__((noinline)) void fire(int round, const char *text, int8_t narrow, uint16_t small,
                                           int64_t wide)
{
    enum colour colour = round % 2 ? RED : GREEN;
    /* clang-format off */
    SPOOR_PROBE(peers, none);
    SPOOR_PROBE(peers, one, round);
    SPOOR_PROBE(peers, widths, narrow, small, (uint32_t)round + 4000000000u, wide, (bool)(round & 1), colour);
    SPOOR_PROBE(peers, text, text, (const char *)constant, 42);
#ifndef NO_HYPHEN
    SPOOR_PROBE(peers, with-hyphen, round * 2);
#endif
    SPOOR_PROBE(peers, twelve, round, round + 1, round + 2, round + 3, round + 4, round + 5, round + 6, round + 7,
                round + 8, round + 9, round + 10, round + 11);
    DTRACE_PROBE2(peers, compat, round, text);
    /* clang-format on */
    SPOOR_FIRE(peers, declared, round - 100, text, small & 0xff);
    SPOOR_FIRE(peers, bare);
}

int main(int argc, char **argv)
{
    constant[0] = 'c'; /* some tools read only memory that is present */
    const int rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 1; i <= rounds; i++)
        fire(i, (const char *)(i % 2 ? constant + 3 : constant + 5), (int8_t)-i, (uint16_t)(60000 + i),
             -5000000000 * i);
    return 0;
}
