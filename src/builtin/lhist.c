/* SPDX-License-Identifier: BSD-3-Clause */
/* lhist(value, min, max, step): signed 64-bit values.
 *
 *     value < min       row 0
 *     value >= max      the last row
 *     otherwise         row (value - min) / step + 1, the difference and the division unsigned
 *
 * There are ceil((max - min) / step) + 2 rows; when step does not divide the range, the last row before the overflow ends
 * at max. The program computes the row in eBPF, lhist_row() the same here; tests compare the two. */
#include "builtin/aggregation.h"

#include "print/histogram.h"
#include "print/json.h"

enum { ROWS_MAX = 1 << 20 /* that are shown, whatever a type says */ };

static uint32_t lhist_rows(const struct type *type)
{
    if (type->step <= 0 || type->maximum <= type->minimum)
        return 2;
    uint64_t range = (uint64_t)type->maximum - (uint64_t)type->minimum;
    uint64_t rows = (range - 1) / (uint64_t)type->step + 1;
    return rows > ROWS_MAX - 2 ? ROWS_MAX : (uint32_t)rows + 2;
}

static uint32_t lhist_row(const struct type *type, int64_t value)
{
    if (value < type->minimum)
        return 0;
    uint32_t last = lhist_rows(type) - 1;
    if (value >= type->maximum || type->step <= 0)
        return last;
    uint64_t row = ((uint64_t)value - (uint64_t)type->minimum) / (uint64_t)type->step + 1;
    return row > last ? last : (uint32_t)row;
}

/* The lowest value of row `row` (from 1) of an lhist: never beyond the maximum. */
static int64_t lhist_low(const struct type *type, uint32_t row)
{
    if (row + 1 >= type_rows(type))
        return type->maximum;
    return (int64_t)((uint64_t)type->minimum + (uint64_t)(row - 1) * (uint64_t)type->step);
}

static void lhist_bound_label(struct text *out, const struct type *type, uint32_t row)
{
    const int64_t value = lhist_low(type, row);
    static const struct {
        int64_t unit;
        char suffix;
    } units[] = {{1 << 20, 'M'}, {1 << 10, 'K'}};
    if (value && type->step % 1024 == 0)
        for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
            if (value % units[i].unit == 0) {
                number_signed(out, value / units[i].unit);
                text_char(out, units[i].suffix);
                return;
            }
    number_signed(out, value);
}

static struct histogram_bounds lhist_bounds(const struct type *type, uint32_t row)
{
    struct histogram_bounds bounds = {.has_low = row > 0, .has_high = row + 1 < lhist_rows(type)};
    bounds.low = row ? lhist_low(type, row) : 0;
    /* The row below a minimum of INT64_MIN is empty for ever: the difference may wrap. */
    bounds.high = bounds.has_high ? (int64_t)((uint64_t)lhist_low(type, row + 1) - 1) : 0;
    return bounds;
}

static void update_lhist(struct lowering *l, struct node *map, struct node *node)
{
    struct ir_builder *b = &l->b;
    const struct type *type = map->map.symbol->value;
    uint32_t last = type_rows(type) - 1;
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    struct row_choice choice = {ir_variable(b), ir_label(b)};
    aggregation_choose_row(l, &choice, ir_binary(b, IR_SLT, value, ir_constant(b, type->minimum)),
                           ir_constant(b, 0));
    aggregation_choose_row(l, &choice, ir_binary(b, IR_SGE, value, ir_constant(b, type->maximum)),
                           ir_constant(b, last));
    struct ir *row = ir_binary(b, IR_SUB, value, ir_constant(b, type->minimum));
    row = ir_binary(b, IR_UDIV, row, ir_constant(b, type->step));
    aggregation_add_row(l, map, aggregation_finish_row(l, &choice, ir_binary_constant(b, IR_ADD, row, 1)),
                        last);
}

enum { LHIST_ROWS_MAX = 1000 };

static const struct type *check_lhist(struct checker *checker, struct node *node)
{
    int64_t bounds[3] = {0, 1, 1};
    for (unsigned i = 0; i < 3; i++) {
        struct node *bound = check_argument(node, i + 1);
        if (bound && bound->kind == NODE_INTEGER)
            bounds[i] = (int64_t)bound->integer.value;
    }
    if (bounds[2] <= 0) {
        check_error(checker, check_argument(node, 3)->span,
                    "lhist(): the step must be greater than 0, found %lld", (long long)bounds[2]);
        return NULL;
    }
    if (bounds[0] >= bounds[1]) {
        check_error(checker, check_argument(node, 2)->span,
                    "lhist(): max must be greater than min, found min %lld and max %lld",
                    (long long)bounds[0], (long long)bounds[1]);
        return NULL;
    }
    if (((uint64_t)bounds[1] - (uint64_t)bounds[0]) / (uint64_t)bounds[2] > LHIST_ROWS_MAX) {
        check_error(checker, node->span, "lhist(): more than %d rows", LHIST_ROWS_MAX);
        check_hint(checker, "use a larger step, or hist()");
        return NULL;
    }
    struct type *type = arena_new(checker->arena, struct type);
    *type = *type_aggregation(checker->arena, &aggregation_kind_lhist, &type_i64);
    type->minimum = bounds[0];
    type->maximum = bounds[1];
    type->step = bounds[2];
    return type;
}

const struct aggregation aggregation_kind_lhist = {
    .name = "lhist_t",
    .shape = AGGREGATION_ROWS,
    .ignores_divisor = true,
    .clash = "Different lhist bounds in a single map unsupported",
    .rows = lhist_rows,
    .row = lhist_row,
    .bounds = lhist_bounds,
    .bound_label = lhist_bound_label,
    .print = print_histogram,
};

const struct builtin builtins_lhist[] = {
    {"lhist",
     "lhist(value, min, max, step)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     4,
     4,
     {PARAMETER_INTEGER, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER},
     .check = check_lhist,
     .update = update_lhist,
     .aggregation = &aggregation_kind_lhist},
    {0},
};
