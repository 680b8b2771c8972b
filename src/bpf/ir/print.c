/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the intermediate representation for -d ir and for tests. Invalid code is printed as well as valid code. */
#include "bpf/ir/edit.h"

#include <inttypes.h>

static void print_value(struct text *out, const struct ir *value)
{
    value = ir_resolve(value);
    if (!value)
        text_add(out, "?");
    else if (value->op == IR_CONSTANT)
        text_printf(out, "%" PRId64, value->immediate);
    else
        text_printf(out, "v%" PRIu32, value->number);
}

static void print_memory(struct text *out, const struct ir *ir)
{
    text_printf(out, "%c%u [", ir->is_signed ? 's' : 'u', ir->size * 8u);
    print_value(out, ir->a);
    if (ir->offset)
        text_printf(out, "%+" PRId32, ir->offset);
    text_char(out, ']');
}

static void print_operands(struct text *out, const struct ir *ir)
{
    unsigned count = ir_operand_count(ir);
    for (unsigned i = 0; i < count; i++) {
        text_add(out, i ? ", " : " ");
        print_value(out, *ir_operand((struct ir *)ir, i));
        if (ir->op == IR_PHI && ir->block && i < ir->block->predecessor_count)
            text_printf(out, " (b%" PRIu32 ")", ir->block->predecessors[i]->number);
    }
}

/* What stands behind the name of the operation, but for where a jump goes. */
static void print_arguments(struct text *out, const struct ir *ir)
{
    switch (ir->op) {
    case IR_CONSTANT:
    case IR_PARAMETER:
    case IR_FRAME: text_printf(out, " %" PRId64, ir->immediate); break;
    case IR_MAP:
        text_printf(out, " %" PRId64, ir->immediate);
        if (ir->offset)
            text_printf(out, " ring %" PRId32, ir->offset - 1);
        break;
    case IR_MAP_VALUE: text_printf(out, " %" PRId64 "%+" PRId32, ir->immediate, ir->offset); break;
    case IR_FUNCTION: text_printf(out, " %s", ir->callee->name); break;
    case IR_BSWAP:
    case IR_EXTEND:
        text_printf(out, " %c%u", ir->is_signed ? 's' : 'u', ir->size * 8u);
        print_operands(out, ir);
        break;
    case IR_LOAD:
    case IR_STORE:
    case IR_ATOMIC_ADD:
    case IR_ATOMIC_EXCHANGE:
    case IR_ATOMIC_COMPARE:
        text_add(out, ir->is_volatile ? " volatile " : " ");
        print_memory(out, ir);
        if (ir->b) {
            text_add(out, ", ");
            print_value(out, ir->b);
        }
        if (ir->c) {
            text_add(out, ", ");
            print_value(out, ir->c);
        }
        break;
    case IR_CALL: {
        const char *name = ir_helper_name(ir->immediate);
        if (name)
            text_printf(out, " %s", name);
        else
            text_printf(out, " helper#%" PRId64, ir->immediate);
        print_operands(out, ir);
        break;
    }
    case IR_CALL_LOCAL:
        text_printf(out, " %s", ir->callee->name);
        print_operands(out, ir);
        break;
    default: print_operands(out, ir); break;
    }
}

static void print_instruction(struct text *out, const struct ir *ir)
{
    size_t start = out->length;
    text_add(out, "    ");
    if (ir_has_value(ir))
        text_printf(out, "v%" PRIu32 " = ", ir->number);
    text_add(out, ir_op_name(ir->op));
    print_arguments(out, ir);
    struct ir_block *to[2];
    unsigned count = ir->op == IR_JUMP || ir->op == IR_BRANCH ? ir_successors(ir->block, to) : 0;
    for (unsigned i = 0; i < count; i++)
        text_printf(out, "%s b%" PRIu32, i || ir->a ? "," : "", to[i]->number);
    if (ir->comment) {
        if (out->length - start < 48)
            text_fill(out, ' ', 48 - (out->length - start));
        text_printf(out, " ; %s", ir->comment);
    }
    text_char(out, '\n');
}

void ir_print(struct text *out, const struct ir_program *program)
{
    for (const struct ir_function *function = program->functions; function; function = function->next) {
        text_printf(out, "function %s (%u parameter%s)\n", function->name, function->parameters,
                    function->parameters == 1 ? "" : "s");
        for (const struct ir_block *block = function->first; block; block = block->next) {
            text_printf(out, "b%" PRIu32 ":%s", block->number, block->unlikely ? " (unlikely)" : "");
            for (size_t i = 0; i < block->predecessor_count; i++)
                text_printf(out, "%s b%" PRIu32, i ? "," : " from", block->predecessors[i]->number);
            text_char(out, '\n');
            for (const struct ir *ir = block->first; ir; ir = ir->next)
                print_instruction(out, ir);
        }
    }
}
