/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, sizes and times of the command line: one parser for each. All take a whole text, and return false where it is
 * none of them or too large; nothing is printed. */
#ifndef SPOOR_CMD_VALUES_H
#define SPOOR_CMD_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal, or 0x… */
bool value_number(const char *text, uint64_t *number);
/* A number of bytes that is not 0: 4096, 64K, 10M, 1G */
bool value_size(const char *text, uint64_t *bytes);
/* "90s", "1.5ms"; units are ns, us, ms, s, m, h and d. A number without a unit counts what `bare` says. */
bool value_time(const char *text, uint64_t bare, uint64_t *nanoseconds);

#endif
