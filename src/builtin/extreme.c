/* SPDX-License-Identifier: BSD-3-Clause */
/* min() and max(): a number, and whether there is one. */
#include "builtin/aggregation.h"

static void update_extreme(struct lowering *l, struct node *map, struct node *node)
{
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    bool largest = node->call.builtin->aggregation == &aggregation_kind_max;
    const struct type *type = map->map.symbol->value;
    aggregation_extreme(l, aggregation_element(l, map), 0, value, aggregation_better(type, largest));
}

const struct aggregation aggregation_kind_min = {.name = "min_t", .words = 2, .merge = MERGE_MIN};
const struct aggregation aggregation_kind_max = {.name = "max_t", .words = 2, .merge = MERGE_MAX};

const struct builtin builtins_extreme[] = {
    {"min",
     "min(value)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = aggregation_check,
     .update = update_extreme,
     .aggregation = &aggregation_kind_min},
    {"max",
     "max(value)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = aggregation_check,
     .update = update_extreme,
     .aggregation = &aggregation_kind_max},
    {0},
};
