/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, sizes and times of the command line, with one parser for each. All read a whole text, and return false
 * if it is no such value, or too large. Nothing is printed. */
#ifndef SPOOR_CMD_VALUES_H
#define SPOOR_CMD_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a number: decimal, or 0x… */
bool value_number(const char *text, uint64_t *number);
/* Reads a number of bytes that is not 0: 4096, 64K, 10M, 1G. */
bool value_size(const char *text, uint64_t *bytes);
/* Reads "90s", "1.5ms"; units are ns, us, ms, s, m, h and d. The unit of a number without one is `bare`. */
bool value_time(const char *text, uint64_t bare, uint64_t *nanoseconds);

#endif
