/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes of spoor/probe.h: fires [ROUNDS] [MILLISECONDS FIRST] [MILLISECONDS AT THE END]. A round fires, in this
 * order:
 *   fires:request    declared, three arguments; prints "described" when its last argument is evaluated
 *   fires:widths     declared, twelve arguments
 *   fires:state      declared, an enumeration and a bool
 *   fires:idle       declared, no arguments
 *   fires:in-line    inline, with a hyphen
 *   fires:text       inline, text that has only just been written */
#include <spoor/probe.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "warm.h"

enum state { STATE_NONE, STATE_ACTIVE, STATE_PAUSED };

SPOOR_PROBE_DECLARE(fires, request, (uint64_t, id), (int32_t, status), (const char *, export_name));
SPOOR_PROBE_DECLARE(fires, widths, (int8_t, a), (uint8_t, b), (int16_t, c), (uint16_t, d), (int32_t, e),
                    (uint32_t, f), (int64_t, g), (uint64_t, h), (bool, i), (char, j), (const void *, k),
                    (const char *, l));
SPOOR_PROBE_DECLARE(fires, state, (enum state, old), (enum state, now), (bool, failed));
SPOOR_PROBE_DECLARE(fires, idle);

static const char *describe(int round)
{
    puts("described");
    return round ? "null0" : "malloc0";
}

__attribute__((noinline)) static void fires_request(int round)
{
    SPOOR_FIRE(fires, request, 1000u + (unsigned)round, -round, describe(round));
}

__attribute__((noinline)) static void fires_text(int round)
{
    char text[4] = {(char)('a' + round), 'b', 'c', 0};
    SPOOR_PROBE(fires, text, text, round);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;

    setlinebuf(stdout);
    if (argc > 2)
        usleep((useconds_t)atoi(argv[2]) * 1000);
    for (int i = 0; i < rounds; i++) {
        fires_request(i);
        SPOOR_FIRE(fires, widths, -1, 200, -300, 60000, -70000, 4000000000u, -5000000000,
                   18000000000000000000u, i == 0, 'j', (void *)0x1000, "twelfth");
        SPOOR_FIRE(fires, state, STATE_ACTIVE, STATE_PAUSED, i > 0);
        SPOOR_FIRE(fires, idle);
        /* clang-format off */
        SPOOR_PROBE(fires, in-line, i, (uint8_t)200);
        /* clang-format on */
        fires_text(i);
    }
    if (argc > 3)
        usleep((useconds_t)atoi(argv[3]) * 1000);
    return 0;
}
