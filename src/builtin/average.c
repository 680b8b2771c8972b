/* SPDX-License-Identifier: BSD-3-Clause */
/* avg() and stats(): the total, and the number of values. */
#include "builtin/aggregation.h"

static void update_average(struct lowering *l, struct node *map, struct node *node)
{
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    struct ir *at = aggregation_element(l, map);
    lower_add(l, at, 0, value);
    lower_add(l, at, 8, ir_constant(&l->b, 1));
}

const struct aggregation aggregation_kind_avg = {.name = "avg_t", .words = 2, .is_average = true};
const struct aggregation aggregation_kind_stats = {
    .name = "stats_t", .shape = AGGREGATION_STATS, .words = 2, .is_average = true};

const struct builtin builtins_average[] = {
    {"avg",
     "avg(value)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = aggregation_check,
     .update = update_average,
     .aggregation = &aggregation_kind_avg},
    {"stats",
     "stats(value)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = aggregation_check,
     .update = update_average,
     .aggregation = &aggregation_kind_stats},
    {0},
};
