/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, sizes and times as people and files write them, with one parser for each. Nothing is printed. */
#ifndef SPOOR_BASE_NUMBER_H
#define SPOOR_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NO_DIGIT = 36 };

/* Returns what a digit is worth, in bases up to 36; NO_DIGIT for any other character. */
static inline unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'z')
        return (unsigned)(c - 'a') + 10;
    return c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 10 : NO_DIGIT;
}

/* Reads the digits at *at and moves *at behind them. `end`: the end of the text; NULL if a NUL ends it. Returns whether
 * there were digits and the number fits. The value is 0 if there were none, and UINT64_MAX if it does not fit. */
bool number_take(const char **at, const char *end, unsigned base, uint64_t *value);

enum { NUMBER_DIGITS_MAX = 20 };
/* Writes decimal digits at a place with room for NUMBER_DIGITS_MAX. Returns their end; nothing ends them. */
char *number_write(char *at, uint64_t value);

/* ---- as files of the kernel and the command line have them: the whole text is the number ---- */

/* Reads decimal digits. */
bool decimal_parse(const char *text, uint64_t *number);
/* Reads a number: decimal, or 0x… */
bool number_parse(const char *text, uint64_t *number);
/* Reads a number of bytes that is not 0: 4096, 64K, 10M, 1G. */
bool size_parse(const char *text, uint64_t *bytes);
/* Reads "90s", "1.5ms"; units are ns, us, ms, s, m, h and d. The unit of a number without one is `bare`. */
bool time_parse(const char *text, uint64_t bare, uint64_t *nanoseconds);
/* Reads a percentile between 0 and 100, "p50" or "p99.9", in thousandths of one percent. */
bool percentile_parse(const char *text, uint32_t *thousandths);

/* ---- as scripts have them ---- */

/* What may follow the digits of a number. */
enum literal_suffix {
    LITERAL_TIME = 1, /* a unit of time behind a decimal number, which becomes nanoseconds: 10ms */
    LITERAL_C = 2,    /* what C writes there, u and l, which means nothing here */
};

enum literal_fault { LITERAL_FITS, LITERAL_INVALID, LITERAL_NOT_OCTAL, LITERAL_TOO_LARGE };

/* Reads a number of the language: 10, 0x1f, 017, 1e6, 1_000_000, with the suffixes that are allowed. The value is
 * useless after any fault. */
enum literal_fault literal_parse(const char *text, size_t length, unsigned suffixes, uint64_t *value);

/* Reads such a number without a suffix, and perhaps with a '-'. The value is that of an int64, or with *is_unsigned one
 * that only a uint64 can hold. */
enum literal_fault signed_literal_parse(const char *text, uint64_t *value, bool *is_unsigned);

#endif
