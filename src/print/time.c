/* SPDX-License-Identifier: BSD-3-Clause */
/* Points in time as text. See print_time in value.h. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "print/value.h"

/* The fractions of a second that strftime does not know. */
static const struct fraction {
    char conversion;
    unsigned digits;
    uint32_t unit; /* ns */
} fractions[] = {{'l', 3, 1000000}, {'f', 6, 1000}, {'k', 9, 1}};

static bool fraction_print(struct text *out, char conversion, uint32_t nanoseconds)
{
    for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
        if (fractions[i].conversion != conversion)
            continue;
        char digits[9];
        uint32_t value = nanoseconds / fractions[i].unit;
        for (unsigned left = fractions[i].digits; left--; value /= 10)
            digits[left] = (char)('0' + value % 10);
        text_append(out, digits, fractions[i].digits);
        return true;
    }
    return false;
}

/* One conversion, from its % to its letter. A width long enough to overflow the result prints nothing. */
static void conversion_print(struct text *out, const char *conversion, size_t length, const struct tm *when)
{
    char format[16], result[512];
    if (length >= sizeof format)
        return;
    memcpy(format, conversion, length);
    format[length] = 0;
    text_append(out, result, strftime(result, sizeof result, format, when));
}

void print_time(struct text *out, const char *format, int64_t wall_ns)
{
    const int64_t second = NSEC_PER_SEC;
    int64_t fraction = wall_ns % second;
    if (fraction < 0)
        fraction += second;
    time_t seconds = (time_t)(wall_ns / second - (wall_ns % second < 0));
    struct tm when;
    if (!localtime_r(&seconds, &when))
        memset(&when, 0, sizeof when);
    while (*format) {
        size_t plain = strcspn(format, "%");
        text_append(out, format, plain);
        format += plain;
        if (!*format)
            break;
        size_t length = 1 + strspn(format + 1, "_-0^#+123456789EO");
        if (!format[length]) { /* the format ends inside a conversion: as it is */
            text_append(out, format, length);
            break;
        }
        if (!fraction_print(out, format[length], (uint32_t)fraction))
            conversion_print(out, format, length + 1, &when);
        format += length + 1;
    }
}
