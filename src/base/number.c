/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/number.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"

bool number_take(const char **at, const char *end, unsigned base, uint64_t *value)
{
    const char *first = *at;
    uint64_t sum = 0;
    bool fits = true;
    for (unsigned digit; *at != end && (digit = digit_value(**at)) < base; ++*at)
        if (__builtin_mul_overflow(sum, (uint64_t)base, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)digit, &sum))
            fits = false;
    *value = fits ? sum : UINT64_MAX;
    return fits && *at != first;
}

#define ROW(tens) tens "0" tens "1" tens "2" tens "3" tens "4" tens "5" tens "6" tens "7" tens "8" tens "9"
static const char digit_pairs[] =
    ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7") ROW("8") ROW("9");
#undef ROW

/* Writes eight digits. The pairs do not wait for each other, as they would in a loop of divisions. */
static char *write_eight(char *at, uint32_t value)
{
    const uint32_t high = value / 10000, low = value % 10000;
    memcpy(at, digit_pairs + high / 100 * 2, 2);
    memcpy(at + 2, digit_pairs + high % 100 * 2, 2);
    memcpy(at + 4, digit_pairs + low / 100 * 2, 2);
    memcpy(at + 6, digit_pairs + low % 100 * 2, 2);
    return at + 8;
}

char *number_write(char *at, uint64_t value)
{
    enum { EIGHT_DIGITS = 100000000 };
    if (value >= EIGHT_DIGITS)
        return write_eight(number_write(at, value / EIGHT_DIGITS), (uint32_t)(value % EIGHT_DIGITS));
    uint32_t left = (uint32_t)value;
    if (left < 10) {
        *at = (char)('0' + left);
        return at + 1;
    }
    char *const end = at + 2 + (left >= 100) + (left >= 1000) + (left >= 10000) + (left >= 100000) +
                      (left >= 1000000) + (left >= 10000000);
    char *digit = end;
    for (; left >= 100; left /= 100)
        memcpy(digit -= 2, digit_pairs + left % 100 * 2, 2);
    if (left >= 10)
        memcpy(digit - 2, digit_pairs + left * 2, 2);
    else
        digit[-1] = (char)('0' + left);
    return end;
}

static bool is_hexadecimal(const char *text, size_t length)
{
    return length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

bool decimal_parse(const char *text, uint64_t *number)
{
    return number_take(&text, NULL, 10, number) && !*text;
}

bool percentile_parse(const char *text, uint32_t *thousandths)
{
    enum { DIGITS = 3, PERCENT = 1000, ALL = 100 * PERCENT };
    uint64_t whole, part = 0;
    if (*text++ != 'p' || !number_take(&text, NULL, 10, &whole) || whole >= 100)
        return false;
    if (*text == '.') {
        const char *digits = ++text;
        if (!number_take(&text, NULL, 10, &part) || text - digits > DIGITS)
            return false;
        for (long length = text - digits; length < DIGITS; length++)
            part *= 10;
    }
    *thousandths = (uint32_t)(whole * PERCENT + part);
    return !*text && *thousandths;
}

/* Reads a decimal number or 0x… at *at and moves *at behind it. */
static bool take_number(const char **at, uint64_t *number)
{
    const bool hexadecimal = is_hexadecimal(*at, strlen(*at));
    *at += hexadecimal ? 2 : 0;
    return number_take(at, NULL, hexadecimal ? 16 : 10, number);
}

bool number_parse(const char *text, uint64_t *number)
{
    return take_number(&text, number) && !*text;
}

bool size_parse(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    if (!take_number(&text, bytes))
        return false;
    const char *unit = *text ? strchr(units, *text) : NULL;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if ((*text && (!unit || text[1])) || !*bytes || *bytes > UINT64_MAX >> shift)
        return false;
    *bytes <<= shift;
    return true;
}

bool time_parse(const char *text, uint64_t bare, uint64_t *nanoseconds)
{
    enum { FRACTION_DIGITS = 9 };
    uint64_t whole, fraction = 0, scale = 1;
    if (!number_take(&text, NULL, 10, &whole))
        return false;
    if (*text == '.') {
        const char *first = ++text;
        text += strspn(text, "0123456789");
        const char *end = text - first > FRACTION_DIGITS ? first + FRACTION_DIGITS : text;
        for (const char *at = first; at < end; at++)
            scale *= 10;
        number_take(&first, end, 10, &fraction);
    }
    const uint64_t unit = *text ? time_unit(text, strlen(text)) : bare;
    const uint64_t rest = (uint64_t)((unsigned __int128)fraction * unit / scale);
    return unit && !__builtin_mul_overflow(whole, unit, nanoseconds) &&
           !__builtin_add_overflow(*nanoseconds, rest, nanoseconds);
}

/* ---- numbers of the language ---- */

/* Returns what a suffix multiplies the number with; 0: it is none that is allowed. */
static uint64_t suffix_factor(const char *text, size_t length, unsigned base, unsigned suffixes)
{
    static const char *const kinds[] = {"u", "l", "ul", "lu", "ll", "ull", "llu"};
    if (!length)
        return 1;
    for (size_t i = 0; suffixes & LITERAL_C && i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == length && !strncasecmp(text, kinds[i], length))
            return 1;
    return suffixes & LITERAL_TIME && base == 10 ? time_unit(text, length) : 0;
}

/* Reads the digits behind the e of 1e6 and multiplies the value by that power of ten. */
static bool take_exponent(const char **at, const char *end, uint64_t *value)
{
    bool fits = true;
    uint64_t exponent;
    number_take(at, end, 10, &exponent);
    for (; exponent && *value && fits; exponent--)
        fits = !__builtin_mul_overflow(*value, (uint64_t)10, value);
    return fits;
}

/* digits: [0-9][0-9_]* | 0[0-7_]* | 0x[0-9a-fA-F_]+ ; then [eE][0-9]+ (decimal only), then a suffix. */
enum literal_fault literal_parse(const char *text, size_t length, unsigned suffixes, uint64_t *value)
{
    const char *at = text, *end = text + length;
    unsigned base = 10;
    if (is_hexadecimal(text, length)) {
        base = 16;
        at += 2;
    } else if (length > 1 && text[0] == '0' && (digit_value(text[1]) < 10 || text[1] == '_')) {
        base = 8;
    }
    size_t digits = 0;
    bool fits = true;
    for (*value = 0; at < end; at++) {
        const unsigned digit = digit_value(*at);
        if (*at == '_')
            continue;
        if (base == 8 && (digit == 8 || digit == 9))
            return LITERAL_NOT_OCTAL;
        if (digit >= base)
            break;
        fits &= !__builtin_mul_overflow(*value, (uint64_t)base, value);
        fits &= !__builtin_add_overflow(*value, (uint64_t)digit, value);
        digits++;
    }
    if (base == 10 && digits && end - at > 1 && (*at == 'e' || *at == 'E') && digit_value(at[1]) < 10) {
        at++;
        fits &= take_exponent(&at, end, value);
    }
    const uint64_t factor = suffix_factor(at, (size_t)(end - at), base, suffixes);
    fits &= !__builtin_mul_overflow(*value, factor, value);
    return !factor || !digits || text[0] == '_' ? LITERAL_INVALID : fits ? LITERAL_FITS : LITERAL_TOO_LARGE;
}

enum literal_fault signed_literal_parse(const char *text, uint64_t *value, bool *is_unsigned)
{
    const bool is_negative = *text == '-';
    text += is_negative;
    const enum literal_fault fault = literal_parse(text, strlen(text), 0, value);
    *is_unsigned = !is_negative && *value > INT64_MAX;
    if (fault == LITERAL_FITS && is_negative && *value > (uint64_t)INT64_MAX + 1)
        return LITERAL_TOO_LARGE;
    *value = is_negative ? 0 - *value : *value;
    return fault;
}
