/* SPDX-License-Identifier: BSD-3-Clause */
/* Binary search in sorted arrays. */
#ifndef SPOOR_BASE_SORTED_H
#define SPOOR_BASE_SORTED_H

#include <stddef.h>

/* Returns how many of `count` elements meet a condition, where those that meet it come first: this is the index of
 * the first that does not meet it, or `count`. A statement expression of type size_t; `index` names the variable by
 * which the condition reads an element, and exists in it alone. The condition is evaluated for about log2(count)
 * elements.
 *
 *     size_t first = partition_point(count, i, items[i].address < address);     the first at the address or behind
 *     size_t behind = partition_point(count, i, items[i].address <= address);   the first behind the address */
#define partition_point(count, index, condition)                                                             \
    ({                                                                                                       \
        size_t low_ = 0, high_ = (count);                                                                    \
        while (low_ < high_) {                                                                               \
            const size_t index = low_ + (high_ - low_) / 2;                                                  \
            if (condition)                                                                                   \
                low_ = index + 1;                                                                            \
            else                                                                                             \
                high_ = index;                                                                               \
        }                                                                                                    \
        low_;                                                                                                \
    })

#endif
