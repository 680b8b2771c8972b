/* SPDX-License-Identifier: BSD-3-Clause */
/* The coder of a page's data: columns of 64-bit numbers as few bytes. src/page/decode.js reads them.
 *
 * A number is written seven bits at a time, the lowest first; the eighth bit says that more follow. A signed number is
 * folded first: 0, -1, 1, -2 … become 0, 1, 2, 3 … A column is
 *
 *     mode     how its values are written
 *     shift    bits that are zero in all values and were cut off
 *     length   bytes that follow
 *     COLUMN_PLAIN   each value
 *     COLUMN_STEPS   the first value and then the difference of each to the one before, folded; differences wrap
 *     COLUMN_TABLE   how many different values there are, these as COLUMN_STEPS, and for each value its index
 *     COLUMN_SAME    the one value that all have
 *
 * of which the shortest is taken. How many values it has is said before the column. */
#ifndef SPOOR_EXPORT_HTML_COLUMN_H
#define SPOOR_EXPORT_HTML_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct numbers { /* a column while it is collected */
    uint64_t *values;
    size_t count, room;
};
bool numbers_add(struct numbers *numbers, uint64_t value); /* false: there is no memory */

enum column_mode { COLUMN_PLAIN, COLUMN_STEPS, COLUMN_TABLE, COLUMN_SAME };

void code_number(struct text *out, uint64_t value);
static inline uint64_t code_fold(uint64_t difference) /* of a signed number, as one without a sign */
{
    return difference << 1 ^ (0 - (difference >> 63));
}

/* Writes a column. When memory runs out `out` fails. */
void code_column(struct text *out, const uint64_t *values, size_t count);

#endif
