/* SPDX-License-Identifier: BSD-3-Clause */
/* count() and sum(): one number. */
#include "builtin/aggregation.h"

static void update_count(struct lowering *l, struct node *map, struct node *node)
{
    (void)node;
    lower_add(l, aggregation_element(l, map), 0, ir_constant(&l->b, 1));
}

static void update_sum(struct lowering *l, struct node *map, struct node *node)
{
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    lower_add(l, aggregation_element(l, map), 0, value);
}

const struct aggregation aggregation_kind_count = {
    .name = "count_t", .words = 1, .is_unsigned = true, .starts_at_zero = true};
const struct aggregation aggregation_kind_sum = {.name = "sum_t", .words = 1, .starts_at_zero = true};

const struct builtin builtins_count[] = {
    {"count",
     "count()",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     0,
     0,
     {0},
     .check = aggregation_check,
     .update = update_count,
     .aggregation = &aggregation_kind_count},
    {"sum",
     "sum(value)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = aggregation_check,
     .update = update_sum,
     .aggregation = &aggregation_kind_sum},
    {0},
};
