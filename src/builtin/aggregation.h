/* SPDX-License-Identifier: BSD-3-Clause */
/* What aggregations share: how the smallest or largest value of an element is kept. */
#ifndef SPOOR_BUILTIN_AGGREGATION_H
#define SPOOR_BUILTIN_AGGREGATION_H

#include "bpf/lower/lower.h"

/* Stores `value` at base[offset] if it is better than the value there, or if there is none, and 1 in the word behind
 * it, which says that there is one. */
void aggregation_extreme(struct lowering *l, struct ir *base, int32_t offset, struct ir *value,
                         enum ir_op better);
/* The comparison for a better value, IR_SLT and so on: signed if the map's values are, which other calls may make
 * negative. */
enum ir_op aggregation_better(const struct type *aggregation, bool largest);

#endif
