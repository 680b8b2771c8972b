/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of aggregations, one file each: how one more value goes into a map's element on this CPU, what the element looks
 * like, and how it is printed (type/aggregation.h). And what they share. */
#ifndef SPOOR_BUILTIN_AGGREGATION_H
#define SPOOR_BUILTIN_AGGREGATION_H

#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "type/aggregation.h"

extern const struct aggregation aggregation_kind_count, aggregation_kind_sum, aggregation_kind_min,
    aggregation_kind_max, aggregation_kind_avg, aggregation_kind_stats, aggregation_kind_hist,
    aggregation_kind_lhist, aggregation_kind_llhist, aggregation_kind_quantile, aggregation_kind_tseries;

/* For struct builtin: the type of NAME(value …). The aggregated value keeps its sign. */
const struct type *aggregation_check(struct checker *checker, struct node *node);

/* The address of the map's element that the value is added to. */
struct ir *aggregation_element(struct lowering *l, struct node *map);

/* Stores `value` at base[offset] if it is better than the value there, or if there is none, and 1 in the word behind
 * it, which says that there is one. */
void aggregation_extreme(struct lowering *l, struct ir *base, int32_t offset, struct ir *value,
                         enum ir_op better);
/* The comparison for a better value, IR_SLT and so on: signed if the map's values are, which other calls may make
 * negative. */
enum ir_op aggregation_better(const struct type *aggregation, bool largest);

/* Adds one to a row: of the array of a keyless map, or of the element (key, row). `last` bounds the row for the
 * verifier; it never applies. */
void aggregation_add_row(struct lowering *l, struct node *map, struct ir *row, uint32_t last);

/* Which row a value falls into, asked case by case: aggregation_choose_row() for each special case,
 * aggregation_finish_row() for all others, which returns the row. */
struct row_choice {
    uint32_t variable;
    struct ir_block *chosen;
};
void aggregation_choose_row(struct lowering *l, struct row_choice *choice, struct ir *condition,
                            struct ir *row);
struct ir *aggregation_finish_row(struct lowering *l, struct row_choice *choice, struct ir *row);

#endif
