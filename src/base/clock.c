/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"

#include <string.h>

uint64_t time_unit(const char *name, size_t length)
{
    static const struct {
        const char *name;
        uint64_t nanoseconds;
    } units[] = {
        {"ns", 1},
        {"us", NSEC_PER_USEC},
        {"ms", NSEC_PER_MSEC},
        {"s", NSEC_PER_SEC},
        {"m", 60ull * NSEC_PER_SEC},
        {"h", 3600ull * NSEC_PER_SEC},
        {"d", 86400ull * NSEC_PER_SEC},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == length && !memcmp(units[i].name, name, length))
            return units[i].nanoseconds;
    return 0;
}
