/* SPDX-License-Identifier: BSD-3-Clause */
/* What aggregations share: how the smallest or largest value of an element is kept. */
#ifndef SPOOR_BUILTIN_AGGREGATION_H
#define SPOOR_BUILTIN_AGGREGATION_H

#include "bpf/lower.h"

/* base[offset] = value if that is better than what is there, or nothing is there: the word behind it, which
 * says so, becomes 1. */
void aggregation_extreme(struct lowering *l, struct ir *base, int32_t offset, struct ir *value,
                         enum ir_op better);
/* IR_SLT and so on, as the sign of the map's value asks: other calls may give it negative numbers. */
enum ir_op aggregation_better(const struct type *aggregation, bool largest);

#endif
