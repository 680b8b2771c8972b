/* SPDX-License-Identifier: BSD-3-Clause */
/* Aggregations: how one more value goes into a map's element on this CPU. The reader sums over the CPUs
 * (print/map.h); rows of histograms are numbered as print/histogram.h says. */
#include "builtin/aggregation.h"

#include "builtin/all.h"
#include "print/histogram.h"

/* The address of the map's element that the value is added to. */
static struct ir *element(struct lowering *l, struct node *map)
{
    return lower_map_element(l, map->map.symbol, lower_map_key(l, map), map->span);
}

static void update_count(struct lowering *l, struct node *map, struct node *node)
{
    (void)node;
    lower_add(l, element(l, map), 0, ir_constant(&l->b, 1));
}

static void update_sum(struct lowering *l, struct node *map, struct node *node)
{
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    lower_add(l, element(l, map), 0, value);
}

static void update_average(struct lowering *l, struct node *map, struct node *node)
{
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    struct ir *at = element(l, map);
    lower_add(l, at, 0, value);
    lower_add(l, at, 8, ir_constant(&l->b, 1));
}

/* Stores the value only if the element still holds `before`, so that a value that another program stored in between
 * is not lost: that one is compared once more. */
static void store_if_same(struct lowering *l, struct ir *base, int32_t offset, struct ir *before,
                          struct ir *value, enum ir_op better, struct ir_block *stored, struct ir_block *end)
{
    struct ir_builder *b = &l->b;
    struct ir_block *differs = ir_label_unlikely(b);
    struct ir *now = ir_atomic_compare(b, base, offset, 8, before, value);
    ir_branch(b, ir_binary(b, IR_EQ, now, before), stored, differs);
    ir_place(b, differs);
    ir_jump_unless(b, ir_binary(b, better, value, now), end);
    ir_store(b, base, offset, 8, value);
    ir_jump(b, stored);
}

/* The value is stored before the mark that says that there is one. */
void aggregation_extreme(struct lowering *l, struct ir *base, int32_t offset, struct ir *value,
                         enum ir_op better)
{
    struct ir_builder *b = &l->b;
    struct ir_block *store = ir_label(b), *stored = ir_label(b), *end = ir_label(b);
    /* Read once: the same value is compared and replaced. */
    struct ir *before = ir_load(b, base, offset, 8, false);
    ir_jump_unless(b, ir_load(b, base, offset + 8, 8, false), store);
    ir_branch(b, ir_binary(b, better, value, before), store, end);
    ir_place(b, store);
    if (lower_is_preemptible(l) && l->options->features->atomic_fetch)
        store_if_same(l, base, offset, before, value, better, stored, end);
    else
        ir_store(b, base, offset, 8, value);
    ir_place(b, stored);
    ir_store_constant(b, base, offset + 8, 8, 1);
    ir_place(b, end);
}

enum ir_op aggregation_better(const struct type *aggregation, bool largest)
{
    if (aggregation->is_signed)
        return largest ? IR_SGT : IR_SLT;
    return largest ? IR_UGT : IR_ULT;
}

static void update_extreme(struct lowering *l, struct node *map, struct node *node)
{
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    bool largest = node->call.builtin->data == TYPE_MAX;
    const struct type *type = map->map.symbol->value;
    aggregation_extreme(l, element(l, map), 0, value, aggregation_better(type, largest));
}

/* ---- histograms ---- */

/* floor(log2(v)) of v > 0: three steps find the byte with the highest bit, a table names the bit. The
 * verifier walks eight ways for each histogram; a search to the end would have 64, and one without branches
 * twice the instructions. */
enum { LOG2_ROWS = 256 };

static const uint8_t *log2_table(struct arena *arena)
{
    uint8_t *table = arena_alloc(arena, LOG2_ROWS);
    table[0] = 0;
    for (unsigned value = 1; value < LOG2_ROWS; value++)
        table[value] = (uint8_t)(31 - __builtin_clz(value));
    return table;
}

/* floor(log2(value)) + bias. */
static struct ir *lower_log2(struct lowering *l, struct ir *value, int64_t bias)
{
    static const char name[] = "log2";
    struct ir_builder *b = &l->b;
    struct ir *table = lower_constants(l, name, log2_table(l->arena), LOG2_ROWS);
    uint32_t rest = ir_variable(b), bits = ir_variable(b);
    ir_write(b, rest, value);
    ir_write(b, bits, ir_constant(b, bias));
    for (int shift = 32; shift >= 8; shift /= 2) {
        struct ir *now = ir_read(b, rest), *high = NULL;
        if (shift == 32) /* the bound of the comparison would take two words */
            high = ir_binary_constant(b, IR_LSHR, now, shift);
        struct ir_if large = ir_if(b, high ? high : ir_binary_constant(b, IR_UGE, now, 1ll << shift));
        ir_write(b, rest, high ? high : ir_binary_constant(b, IR_LSHR, now, shift));
        ir_write(b, bits, ir_binary_constant(b, IR_ADD, ir_read(b, bits), shift));
        ir_end_if(b, &large);
    }
    /* The steps leave less than LOG2_ROWS, which the verifier learns only from the mask. */
    struct ir *index = ir_binary_constant(b, IR_AND, ir_read(b, rest), LOG2_ROWS - 1);
    struct ir *at = ir_binary(b, IR_ADD, table, index);
    return ir_binary(b, IR_ADD, ir_load(b, at, 0, 1, false), ir_read(b, bits));
}

/* Adds one to a row: of the array of a keyless map, or of the element (key, row). `last` bounds the row for
 * the verifier; it never applies. */
static void add_row(struct lowering *l, struct node *map, struct ir *row, uint32_t last)
{
    struct ir_builder *b = &l->b;
    struct map_symbol *symbol = map->map.symbol;
    struct memory key = lower_map_key(l, map);
    if (symbol->key) {
        lower_add(l, lower_map_row(l, symbol, key, row, map->span), 0, ir_constant(b, 1));
        return;
    }
    struct ir *rows = lower_map_element(l, symbol, key, map->span);
    ir_jump_unless(b, ir_binary_constant(b, IR_ULE, row, last), lower_statement_end(l));
    struct ir *at = ir_binary(b, IR_ADD, rows, ir_binary_constant(b, IR_SHL, row, 3));
    lower_add(l, at, 0, ir_constant(b, 1));
}

/* Which row a value falls into, asked case by case: choose_row() for each special case, finish_row() for all others. */
struct row_choice {
    uint32_t variable;
    struct ir_block *chosen;
};

static void choose_row(struct lowering *l, struct row_choice *choice, struct ir *condition, struct ir *row)
{
    struct ir_builder *b = &l->b;
    struct ir_if taken = ir_if(b, condition);
    ir_write(b, choice->variable, row);
    ir_jump(b, choice->chosen);
    ir_end_if(b, &taken);
}

static struct ir *finish_row(struct lowering *l, struct row_choice *choice, struct ir *row)
{
    struct ir_builder *b = &l->b;
    ir_write(b, choice->variable, row);
    ir_place(b, choice->chosen);
    return ir_read(b, choice->variable);
}

static void update_hist(struct lowering *l, struct node *map, struct node *node)
{
    struct ir_builder *b = &l->b;
    const struct type *type = map->map.symbol->value;
    int64_t bits = type->step;
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    struct row_choice choice = {ir_variable(b), ir_label(b)};
    choose_row(l, &choice, ir_binary_constant(b, IR_SLT, value, 0), ir_constant(b, 0));
    choose_row(l, &choice, ir_binary_constant(b, IR_ULT, value, 1ll << bits),
               bits ? ir_binary_constant(b, IR_ADD, value, 1) : ir_constant(b, 1));
    struct ir *shift = lower_log2(l, value, bits ? -bits : 2), *row = shift;
    if (bits) {
        struct ir *sub =
            ir_binary_constant(b, IR_AND, ir_binary(b, IR_LSHR, value, shift), (1ll << bits) - 1);
        row = ir_binary_constant(b, IR_SHL, ir_binary_constant(b, IR_ADD, shift, 1), bits);
        row = ir_binary_constant(b, IR_ADD, ir_binary(b, IR_ADD, row, sub), 1);
    }
    add_row(l, map, finish_row(l, &choice, row), type_histogram_rows(type) - 1);
}

static void update_lhist(struct lowering *l, struct node *map, struct node *node)
{
    struct ir_builder *b = &l->b;
    const struct type *type = map->map.symbol->value;
    uint32_t last = type_histogram_rows(type) - 1;
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    struct row_choice choice = {ir_variable(b), ir_label(b)};
    choose_row(l, &choice, ir_binary(b, IR_SLT, value, ir_constant(b, type->minimum)), ir_constant(b, 0));
    choose_row(l, &choice, ir_binary(b, IR_SGE, value, ir_constant(b, type->maximum)), ir_constant(b, last));
    struct ir *row = ir_binary(b, IR_SUB, value, ir_constant(b, type->minimum));
    row = ir_binary(b, IR_UDIV, row, ir_constant(b, type->step));
    add_row(l, map, finish_row(l, &choice, ir_binary_constant(b, IR_ADD, row, 1)), last);
}

/* ---- types ---- */

/* data: enum type_kind. The aggregated value keeps its sign; count's is unsigned. */
static const struct type *check_aggregation(struct checker *checker, struct node *node)
{
    struct node *value = check_argument(node, 0);
    const struct type *type = value && value->type && value->type->is_signed ? &type_i64 : &type_u64;
    return type_aggregation(checker->arena, (enum type_kind)node->call.builtin->data, type);
}

static const struct type *check_hist(struct checker *checker, struct node *node)
{
    struct node *bits = check_argument(node, 1);
    struct type *type = arena_new(checker->arena, struct type);
    *type = *type_aggregation(checker->arena, TYPE_HIST, &type_i64);
    if (bits) {
        if (bits->kind != NODE_INTEGER)
            return type; /* the checker has not made it a constant yet */
        if (bits->integer.value > HISTOGRAM_BITS_MAX) {
            check_error(checker, bits->span, "hist(): bits must be 0 to %d, found %lld", HISTOGRAM_BITS_MAX,
                        (long long)bits->integer.value);
            return NULL;
        }
        type->step = (int64_t)bits->integer.value;
    }
    return type;
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
    *type = *type_aggregation(checker->arena, TYPE_LHIST, &type_i64);
    type->minimum = bounds[0];
    type->maximum = bounds[1];
    type->step = bounds[2];
    return type;
}

#define AGGREGATION(name_, synopsis_, kind_, update_)                                                        \
    {                                                                                                        \
        name_, synopsis_, BUILTIN_CALL | BUILTIN_AGGREGATION, 1, 1, {PARAMETER_INTEGER},                     \
            .check = check_aggregation, .update = update_, .data = kind_                                     \
    }

const struct builtin builtins_aggregation[] = {
    {"count", "count()", BUILTIN_CALL | BUILTIN_AGGREGATION, 0, 0, .check = check_aggregation,
     .update = update_count, .data = TYPE_COUNT},
    AGGREGATION("sum", "sum(value)", TYPE_SUM, update_sum),
    AGGREGATION("min", "min(value)", TYPE_MIN, update_extreme),
    AGGREGATION("max", "max(value)", TYPE_MAX, update_extreme),
    AGGREGATION("avg", "avg(value)", TYPE_AVG, update_average),
    AGGREGATION("stats", "stats(value)", TYPE_STATS, update_average),
    {"hist",
     "hist(value [, bits])",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     2,
     {PARAMETER_INTEGER, PARAMETER_LITERAL_INTEGER},
     .check = check_hist,
     .update = update_hist},
    {"lhist",
     "lhist(value, min, max, step)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     4,
     4,
     {PARAMETER_INTEGER, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER},
     .check = check_lhist,
     .update = update_lhist},
    {0},
};
