/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements. Loops that are not unrolled are in lower/loop.c.
 *
 * Each statement frees its temporaries, and has an end to which code inside of it can jump when it cannot go on (a
 * map is full, no record is free). */
#include "bpf/lower/state.h"

void lower_discard(struct lowering *l, struct node *node)
{
    const struct builtin *builtin = lower_builtin(node);
    struct span span = l->b.span;
    l->b.span = node->span;
    if (builtin) {
        const char *comment = l->b.comment;
        l->b.comment = builtin->name;
        if (builtin->lower)
            builtin->lower(l, node, &(struct destination){.kind = DESTINATION_NOTHING});
        l->b.comment = comment;
    } else if (node->kind == NODE_ASSIGN)
        lower_assign(l, node, false);
    else if (node->kind == NODE_STEP)
        lower_step(l, node, false);
    else if (node->kind == NODE_TERNARY) {
        struct ir_block *yes = ir_label(&l->b), *no = ir_label(&l->b), *end = ir_label(&l->b);
        lower_branch(l, node->ternary.condition, yes, no);
        ir_place(&l->b, yes);
        if (node->ternary.yes != node->ternary.condition)
            lower_discard(l, node->ternary.yes);
        if (!ir_ended(&l->b))
            ir_jump(&l->b, end);
        ir_place(&l->b, no);
        lower_discard(l, node->ternary.no);
        ir_place(&l->b, end);
    } else if (node->kind == NODE_CALL) {
        lower_call(l, node);
    } else if (node->kind == NODE_BLOCK_VALUE) {
        lower_discard_block(l, node);
    } else if (type_is_scalar(node->type) || type_is_aggregation(node->type))
        lower_scalar(l, node);
    else if (node->type->kind != TYPE_NONE)
        lower_memory(l, node);
    l->b.span = span;
}

static void statement_expression(struct lowering *l, struct node *node)
{
    /* With `_ = delete(…)` the script says that it ignores the result. */
    if (node->unary.is_silent && type_is_scalar(node->unary.operand->type))
        lower_scalar(l, node->unary.operand);
    else
        lower_discard(l, node->unary.operand);
}

static void statement_let(struct lowering *l, struct node *node)
{
    struct variable *variable = node->let.target->variable.symbol;
    struct node *value = node->let.value;
    if (!variable->type || variable->type->kind == TYPE_NONE)
        return; /* it was declared, and never used */
    if (!type_is_scalar(variable->type)) {
        struct memory memory = lower_variable_memory(l, variable);
        if (value)
            lower_into_type(l, value, variable->type, memory);
        else
            lower_zero(l, memory, type_storage(variable->type));
        return;
    }
    struct ir *result =
        value ? lower_convert(l, lower_scalar(l, value), value->type, variable->type) : ir_constant(&l->b, 0);
    lower_variable_write(l, variable, result);
}

/* Lowers a block, and frees scratch memory of variables that end with it. But a function that was made in the block
 * keeps its own for later calls. */
static void statement_block(struct lowering *l, struct node *node)
{
    struct lower_state *s = l->state;
    const struct lowered_call *calls = s->calls;
    const struct stack_function *stacks = s->stacks;
    const uint32_t top = s->scratch_top, permanent = s->scratch_permanent;
    lower_statements(l, &node->list);
    if (s->calls == calls && s->stacks == stacks && lower_end_scope(l, node->list.first, NULL, top))
        s->scratch_permanent = permanent;
}

static void statement_if(struct lowering *l, struct node *node)
{
    struct ir_builder *b = &l->b;
    struct ir_block *yes = ir_label(b), *end = ir_label(b);
    struct ir_block *no = node->ternary.no ? ir_label(b) : end;
    lower_branch(l, node->ternary.condition, yes, no);
    ir_place(b, yes);
    lower_statement(l, node->ternary.yes);
    if (!ir_ended(b))
        ir_jump(b, end);
    if (node->ternary.no) {
        ir_place(b, no);
        lower_statement(l, node->ternary.no);
        if (!ir_ended(b))
            ir_jump(b, end);
    }
    ir_place(b, end);
}

/* Lowers the body as often as the count says. `break` and `continue` in it mean the loop around, since this is
 * none. */
static void statement_unroll(struct lowering *l, struct node *node)
{
    uint64_t count = node->loop.from->integer.value;
    if (lower_is_divided(l)) {
        lower_iterations_in_sections(l, node->loop.body, count);
        return;
    }
    for (uint64_t i = 0; i < count && !ir_ended(&l->b) && !l->state->is_too_large; i++)
        lower_statement(l, node->loop.body);
}

/* Leaves an iteration: a callback returns, and 1 stops the loop. */
static void leave_iteration(struct lowering *l, bool is_break)
{
    if (l->state->current->parent)
        ir_return(&l->b, ir_constant(&l->b, is_break));
    else /* the checker has made sure that there is a loop */
        lower_leave_iteration_from_section(l, is_break);
}

static void statement_break(struct lowering *l, struct node *node)
{
    (void)node;
    leave_iteration(l, true);
}

static void statement_continue(struct lowering *l, struct node *node)
{
    (void)node;
    leave_iteration(l, false);
}

static void statement_return(struct lowering *l, struct node *node)
{
    lower_return(l, node->unary.operand);
}

static const struct {
    void (*lower)(struct lowering *, struct node *);
    const char *comment;
} statements[] = {
    [NODE_EXPRESSION] = {statement_expression, NULL}, [NODE_LET] = {statement_let, "let"},
    [NODE_BLOCK] = {statement_block, NULL},           [NODE_IF] = {statement_if, "if"},
    [NODE_WHILE] = {lower_loop_statement, "while"},   [NODE_FOR_RANGE] = {lower_loop_statement, "for"},
    [NODE_FOR_MAP] = {lower_loop_statement, "for"},   [NODE_UNROLL] = {statement_unroll, "unroll"},
    [NODE_BREAK] = {statement_break, "break"},        [NODE_CONTINUE] = {statement_continue, "continue"},
    [NODE_RETURN] = {statement_return, "return"},
};

void lower_statement(struct lowering *l, struct node *node)
{
    struct lower_state *s = l->state;
    struct lower_statement statement = {0}, *outer = s->statement;
    struct temporary_mark mark = lower_mark(l);
    const char *comment = l->b.comment;
    s->statement = &statement;
    l->b.span = node->span;
    if (node->kind < sizeof statements / sizeof statements[0] && statements[node->kind].lower) {
        l->b.comment = statements[node->kind].comment;
        statements[node->kind].lower(l, node);
    } else /* it is an expression in the place of a statement */
        lower_discard(l, node);
    if (statement.end) {
        if (!ir_ended(&l->b))
            ir_jump(&l->b, statement.end);
        ir_seal(&l->b, statement.end);
        ir_enter(&l->b, statement.end);
    }
    lower_release(l, mark);
    l->b.comment = comment;
    s->statement = outer;
}

/* Bounds of a program. The kernel accepts 256 functions and a million instructions: what is far beyond that is
 * refused before it takes long. */
enum { FUNCTIONS_MAX = 256, OPERATIONS_MAX = 500000 };

static bool is_too_large(struct lowering *l, const struct node *node)
{
    uint32_t functions = 0, operations = l->state->statements++; /* statements may have no code */
    if (l->state->is_too_large)
        return true;
    for (const struct ir_function *function = l->b.program->functions; function; function = function->next) {
        functions++;
        operations += function->value_count;
    }
    if (functions <= FUNCTIONS_MAX && operations <= OPERATIONS_MAX)
        return false;
    l->state->is_too_large = true;
    diagnose_error(l->diagnostics, node->span, "The block of %s is too large from here on: more than %d %s",
                   l->probe, functions > FUNCTIONS_MAX ? FUNCTIONS_MAX - 1 : OPERATIONS_MAX,
                   functions > FUNCTIONS_MAX ? "loops and functions" : "operations");
    diagnose_hint(l->diagnostics,
                  "divide it among several probes; a loop takes less than its rounds one by one");
    return true;
}

enum { PART = 8, FIRST_PART = 64 }; /* in statements; a short program has only one part */

static void begin_part(struct lowering *l)
{
    struct lower_state *s = l->state;
    if (s->avoid_stack) /* values that are needed again need not be kept on the frame */
        l->b.part++;
    if (!s->part_ends)
        s->part_ends = FIRST_PART;
    if (s->current->parent || s->statements < s->part_ends)
        return;
    s->part_ends = s->statements + PART;
    lower_forget(l);
}

void lower_one_of_many(struct lowering *l, struct node *node)
{
    if (is_too_large(l, node))
        return;
    begin_part(l);
    lower_statement(l, node);
}

void lower_statements(struct lowering *l, const struct node_list *list)
{
    if (lower_is_divided(l)) {
        lower_in_sections(l, list);
        return;
    }
    for (struct node *node = list->first; node && !ir_ended(&l->b) && !l->state->is_too_large;
         node = node->next)
        lower_one_of_many(l, node);
}
