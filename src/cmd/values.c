/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

bool value_number(const char *text, uint64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *number = strtoull(text, &end, text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10);
    return !errno && !*end;
}

bool value_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    char digits[24];
    const size_t length = strlen(text);
    const char *unit = length ? strchr(units, text[length - 1]) : NULL;
    if (!length || length >= sizeof digits)
        return false;
    memcpy(digits, text, length + 1);
    if (unit)
        digits[length - 1] = 0;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (!value_number(digits, bytes) || !*bytes || *bytes > UINT64_MAX >> shift)
        return false;
    *bytes <<= shift;
    return true;
}

bool value_time(const char *text, uint64_t bare, uint64_t *nanoseconds)
{
    enum { FRACTION_MAX = 1000000000 };
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    const uint64_t whole = strtoull(text, &end, 10);
    if (errno)
        return false;
    uint64_t fraction = 0, scale = 1;
    if (*end == '.')
        for (end++; isdigit((unsigned char)*end); end++)
            if (scale < FRACTION_MAX) {
                fraction = fraction * 10 + (uint64_t)(*end - '0');
                scale *= 10;
            }
    const uint64_t unit = *end ? time_unit(end, strlen(end)) : bare;
    const uint64_t rest = (uint64_t)((unsigned __int128)fraction * unit / scale);
    return unit && !__builtin_mul_overflow(whole, unit, nanoseconds) &&
           !__builtin_add_overflow(*nanoseconds, rest, nanoseconds);
}
