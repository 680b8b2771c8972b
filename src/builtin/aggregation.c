/* SPDX-License-Identifier: BSD-3-Clause */
/* What kinds of aggregations share. */
#include "builtin/aggregation.h"

const struct type *aggregation_check(struct checker *checker, struct node *node)
{
    struct node *value = check_argument(node, 0);
    const struct type *type = value && value->type && value->type->is_signed ? &type_i64 : &type_u64;
    return type_aggregation(checker->arena, node->call.builtin->aggregation, type);
}

struct ir *aggregation_element(struct lowering *l, struct node *map)
{
    return lower_map_element(l, map->map.symbol, lower_map_key(l, map), map->span);
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

void aggregation_add_row(struct lowering *l, struct node *map, struct ir *row, uint32_t last)
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

void aggregation_choose_row(struct lowering *l, struct row_choice *choice, struct ir *condition,
                            struct ir *row)
{
    struct ir_builder *b = &l->b;
    struct ir_if taken = ir_if(b, condition);
    ir_write(b, choice->variable, row);
    ir_jump(b, choice->chosen);
    ir_end_if(b, &taken);
}

struct ir *aggregation_finish_row(struct lowering *l, struct row_choice *choice, struct ir *row)
{
    struct ir_builder *b = &l->b;
    ir_write(b, choice->variable, row);
    ir_place(b, choice->chosen);
    return ir_read(b, choice->variable);
}
