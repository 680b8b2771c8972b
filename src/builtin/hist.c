/* SPDX-License-Identifier: BSD-3-Clause */
/* See hist.h. */
#include "builtin/hist.h"

#include "print/histogram.h"
#include "print/json.h"

static unsigned bits_of(const struct type *type)
{
    return type->step < 0 ? 0 : type->step > HISTOGRAM_BITS_MAX ? HISTOGRAM_BITS_MAX : (unsigned)type->step;
}

uint32_t hist_rows(const struct type *type)
{
    unsigned bits = bits_of(type);
    return ((64 - bits) << bits) + 1;
}

uint32_t hist_row_of(unsigned bits, int64_t value)
{
    if (value < 0)
        return 0;
    if (value < INT64_C(1) << bits)
        return (uint32_t)value + 1;
    unsigned shift = 63 - (unsigned)__builtin_clzll((uint64_t)value) - bits;
    return ((shift + 1) << bits) + ((uint32_t)(value >> shift) & ((1u << bits) - 1)) + 1;
}

uint32_t hist_row(const struct type *type, int64_t value)
{
    return hist_row_of(bits_of(type), value);
}

/* The lowest value of row index + 1 of a hist; 2^63 for the index after the last. */
static uint64_t hist_low(unsigned bits, uint32_t index)
{
    if (index < 2u << bits)
        return index;
    unsigned shift = (index >> bits) - 1;
    return (uint64_t)((1u << bits) + (index & ((1u << bits) - 1))) << shift;
}

/* As hist_low, with K for 2^10, M for 2^20 … where the row's interval is a multiple of it. */
static void hist_low_label(struct text *out, unsigned bits, uint32_t index)
{
    if (index < 2u << bits) {
        number_unsigned(out, index);
        return;
    }
    unsigned shift = (index >> bits) - 1;
    number_unsigned(out, (uint64_t)((1u << bits) + (index & ((1u << bits) - 1))) << shift % 10);
    if (shift >= 10)
        text_char(out, "KMGTPE"[shift / 10 - 1]);
}

struct histogram_bounds hist_bounds(const struct type *type, uint32_t row)
{
    unsigned bits = bits_of(type);
    return (struct histogram_bounds){
        .has_low = row > 0,
        .has_high = true,
        .low = row ? (int64_t)hist_low(bits, row - 1) : 0,
        .high = (int64_t)(hist_low(bits, row) - 1),
    };
}

void hist_bound_label(struct text *out, const struct type *type, uint32_t row)
{
    hist_low_label(out, bits_of(type), row - 1);
}

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

void hist_update(struct lowering *l, struct node *map, struct node *node)
{
    struct ir_builder *b = &l->b;
    const struct type *type = map->map.symbol->value;
    int64_t bits = type->step;
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    struct row_choice choice = {ir_variable(b), ir_label(b)};
    aggregation_choose_row(l, &choice, ir_binary_constant(b, IR_SLT, value, 0), ir_constant(b, 0));
    aggregation_choose_row(l, &choice, ir_binary_constant(b, IR_ULT, value, 1ll << bits),
                           bits ? ir_binary_constant(b, IR_ADD, value, 1) : ir_constant(b, 1));
    struct ir *shift = lower_log2(l, value, bits ? -bits : 2), *row = shift;
    if (bits) {
        struct ir *sub =
            ir_binary_constant(b, IR_AND, ir_binary(b, IR_LSHR, value, shift), (1ll << bits) - 1);
        row = ir_binary_constant(b, IR_SHL, ir_binary_constant(b, IR_ADD, shift, 1), bits);
        row = ir_binary_constant(b, IR_ADD, ir_binary(b, IR_ADD, row, sub), 1);
    }
    aggregation_add_row(l, map, aggregation_finish_row(l, &choice, row), type_rows(type) - 1);
}

static const struct type *check_hist(struct checker *checker, struct node *node)
{
    struct node *bits = check_argument(node, 1);
    struct type *type = arena_new(checker->arena, struct type);
    *type = *type_aggregation(checker->arena, &aggregation_kind_hist, &type_i64);
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

const struct aggregation aggregation_kind_hist = {
    .name = "hist_t",
    .shape = AGGREGATION_ROWS,
    .halves_first = true,
    .clash = "Different number of bits in a single hist unsupported",
    .rows = hist_rows,
    .row = hist_row,
    .bounds = hist_bounds,
    .bound_label = hist_bound_label,
    .print = print_histogram,
};

const struct builtin builtins_hist[] = {
    {"hist",
     "hist(value [, bits])",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     2,
     {PARAMETER_INTEGER, PARAMETER_LITERAL_INTEGER},
     .check = check_hist,
     .update = hist_update,
     .aggregation = &aggregation_kind_hist},
    {0},
};
