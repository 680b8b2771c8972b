/* SPDX-License-Identifier: BSD-3-Clause */
/* tseries(): a value for each interval of time. The map has a ring of elements for each key, one for each of
 * the last intervals; an element that belongs to an older interval starts again. Intervals are numbered since
 * 1970, so that they begin at whole seconds (or what they are parts of).
 *
 * Where programs can be preempted, the start of an interval on one CPU may drop a value that comes in the
 * same moment: nothing here waits. */
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/aggregation.h"
#include "print/series.h"

enum { INTERVALS_MAX = 1000000, EPOCH = 0, VALUE = 8, MARK = 16 };

static const char *const series_names[] = {[SERIES_LAST] = "",
                                           [SERIES_AVG] = "avg",
                                           [SERIES_SUM] = "sum",
                                           [SERIES_MIN] = "min",
                                           [SERIES_MAX] = "max"};

static bool find_series(const char *name, enum series_value *series)
{
    for (size_t i = SERIES_AVG; i <= SERIES_MAX; i++)
        if (!strcmp(name, series_names[i])) {
            *series = (enum series_value)i;
            return true;
        }
    return false;
}

static bool check_number(struct checker *checker, const struct node *call, unsigned argument,
                         const char *what, int64_t most, int64_t *number)
{
    const struct node *node = check_argument(call, argument);
    *number = 1;
    if (!node || node->kind != NODE_INTEGER)
        return true; /* the checker has not made it a constant yet */
    if ((int64_t)node->integer.value < 1 || (int64_t)node->integer.value > most) {
        check_error(checker, node->span, "tseries(): %s must be 1 to %lld, found %lld", what, (long long)most,
                    (long long)node->integer.value);
        return false;
    }
    *number = (int64_t)node->integer.value;
    return true;
}

static const struct type *check_tseries(struct checker *checker, struct node *node)
{
    const struct node *value = check_argument(node, 0), *name = check_argument(node, 3);
    bool is_signed = value->type && value->type->is_signed;
    struct type *type = arena_new(checker->arena, struct type);
    *type = *type_aggregation(checker->arena, &aggregation_kind_tseries, is_signed ? &type_i64 : &type_u64);
    if (!check_number(checker, node, 1, "the interval", INT64_MAX, &type->step) ||
        !check_number(checker, node, 2, "the number of intervals", INTERVALS_MAX, &type->maximum))
        return NULL;
    if (name && !find_series(check_literal(name), &type->series)) {
        check_error(checker, name->span, "tseries(): unknown aggregation '%s'", check_literal(name));
        check_hint(checker,
                   "it is one of \"avg\", \"max\", \"min\" and \"sum\"; without it the last value is kept");
        return NULL;
    }
    return type;
}

/* Nanoseconds since 1970; or what the script put into the map that stands for the clock in tests. */
static struct ir *wall_time(struct lowering *l)
{
    const char *clock = l->options->clock_map;
    if (!clock)
        return ir_binary_constant(&l->b, IR_ADD, lower_time(l), l->options->wall_offset);
    for (size_t i = 0; i < l->image->map_count; i++) {
        const struct image_map *map = &l->image->maps[i];
        if (!strcmp(map->name, clock) && !map->key && map->value && map->value->kind == TYPE_INTEGER)
            return ir_load(&l->b, ir_map_value(&l->b, (uint32_t)i, 0), 0, 8, false);
    }
    diagnose_error(l->diagnostics, (struct span){0},
                   "DUMMY_TS_MAP: the script has no integer map %s without key", clock);
    return ir_constant(&l->b, 0);
}

/* Empties an element that belongs to an older interval. */
static void begin_interval(struct lowering *l, struct ir *at, struct ir *epoch)
{
    struct ir_builder *b = &l->b;
    struct ir_block *same = ir_label(b);
    ir_jump_if(b, ir_binary(b, IR_EQ, ir_load(b, at, EPOCH, 8, false), epoch), same);
    ir_store_constant(b, at, MARK, 8, 0);
    ir_store_constant(b, at, VALUE, 8, 0);
    ir_store(b, at, EPOCH, 8, epoch);
    ir_place(b, same);
}

static void update_tseries(struct lowering *l, struct node *map, struct node *node)
{
    struct ir_builder *b = &l->b;
    const struct type *type = map->map.symbol->value;
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    struct ir *now = wall_time(l);
    struct ir *epoch = ir_binary(b, IR_UDIV, now, ir_constant(b, type->step));
    struct ir *row = ir_binary(b, IR_UMOD, epoch, ir_constant(b, type->maximum));
    struct ir *at = lower_map_row(l, map->map.symbol, lower_map_key(l, map), row, map->span);
    begin_interval(l, at, epoch);
    switch (type->series) {
    case SERIES_LAST:
        ir_store(b, at, VALUE, 8, value);
        ir_store(b, at, MARK, 8, ir_binary_constant(b, IR_ADD, now, 1));
        break;
    case SERIES_AVG:
    case SERIES_SUM:
        lower_add(l, at, VALUE, value);
        lower_add(l, at, MARK, ir_constant(b, 1));
        break;
    case SERIES_MIN:
    case SERIES_MAX:
        aggregation_extreme(l, at, VALUE, value, aggregation_better(type, type->series == SERIES_MAX));
    }
}

static uint32_t series_rows(const struct type *type)
{
    return type->maximum > 0 && type->maximum <= INTERVALS_MAX ? (uint32_t)type->maximum : 1;
}

const struct aggregation aggregation_kind_tseries = {
    .name = "tseries_t",
    .shape = AGGREGATION_SERIES,
    .merge_cpus = series_sum,
    .words = 3,
    .clash = "Different tseries bounds in a single map unsupported",
    .rows = series_rows,
};

const struct builtin builtins_series[] = {
    {"tseries",
     "tseries(value, interval, intervals [, \"avg\" | \"max\" | \"min\" | \"sum\"])",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     3,
     4,
     {PARAMETER_INTEGER, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_STRING},
     .check = check_tseries,
     .update = update_tseries,
     .aggregation = &aggregation_kind_tseries},
    {0},
};
