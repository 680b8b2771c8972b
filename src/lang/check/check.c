/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's passes, statements and messages. check.h says what the checker promises, check/state.h how types
 * settle. Expressions, builtins, variables and maps have files of their own. */
#include "lang/check/state.h"

/* Each pass carries types one assignment further against the order of the script, so that long scripts need
 * several. */
enum { PASSES_MAX = 100 };

/* ---- messages ---- */

static void check_report(struct checker *checker, enum severity severity, struct span span,
                         const char *format, va_list arguments)
{
    if (!checker->is_reporting)
        return;
    struct text text = {0};
    text_vprintf(&text, format, arguments);
    (severity == DIAGNOSTIC_ERROR ? diagnose_error : diagnose_warning)(checker->diagnostics, span, "%s",
                                                                       text_string(&text));
    text_free(&text);
}

void check_error(struct checker *checker, struct span span, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    check_report(checker, DIAGNOSTIC_ERROR, span, format, arguments);
    va_end(arguments);
}

void check_warning(struct checker *checker, struct span span, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    check_report(checker, DIAGNOSTIC_WARNING, span, format, arguments);
    va_end(arguments);
}

void check_hint(struct checker *checker, const char *format, ...)
{
    if (!checker->is_reporting)
        return;
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&text, format, arguments);
    va_end(arguments);
    diagnose_hint(checker->diagnostics, "%s", text_string(&text));
    text_free(&text);
}

void check_nearest(struct checker *checker, const struct nearest *nearest, const char *behind)
{
    if (checker->is_reporting)
        diagnose_nearest(checker->diagnostics, nearest, behind);
}

bool check_takes_hint(const struct checker *checker)
{
    return checker->is_reporting && diagnostics_are_open(checker->diagnostics);
}

void check_unresolved(struct checker *checker, struct span span)
{
    if (!checker->is_reporting || checker->state->is_unresolved)
        return;
    checker->state->is_unresolved = true;
    checker->state->unresolved = span;
}

/* ---- scopes ---- */

size_t check_scope_enter(struct checker *checker)
{
    size_t outer = checker->state->scope_begin;
    checker->state->scope_begin = checker->state->visible_count;
    return outer;
}

void check_scope_leave(struct checker *checker, size_t outer)
{
    struct check_state *state = checker->state;
    /* the names are in the table: setting them needs no memory */
    while (state->visible_count > state->scope_begin)
        table_put(&checker->variables, state->visible[--state->visible_count]->variable.name, NULL);
    state->scope_begin = outer;
}

/* ---- statements ---- */

static void check_statement(struct checker *checker, struct node *node);

/* Whether control never goes on after the statement. */
static bool statement_ends(const struct node *node)
{
    if (node->kind == NODE_RETURN || node->kind == NODE_BREAK || node->kind == NODE_CONTINUE)
        return true;
    if (node->kind != NODE_EXPRESSION || !node->unary.operand)
        return false;
    const struct node *operand = node->unary.operand;
    const struct builtin *builtin = operand->kind == NODE_CALL   ? operand->call.builtin
                                    : operand->kind == NODE_NAME ? operand->name.builtin
                                                                 : NULL;
    return builtin && (builtin->flags & BUILTIN_ENDS);
}

/* Checks the statements of a block in a scope of their own. Returns the type of an expression at its end, or
 * type_none. */
static const struct type *check_statements(struct checker *checker, const struct node_list *list)
{
    size_t outer = check_scope_enter(checker);
    bool has_ended = false, has_warned = false;
    const struct type *type = &type_none;
    for (struct node *node = list->first; node; node = node->next) {
        if (has_ended && !has_warned) {
            check_warning(checker, node->span, "Unreachable statement");
            has_warned = true;
        }
        if (!node->next && node_is_expression(node))
            type = check_expression(checker, node);
        else
            check_statement(checker, node);
        has_ended |= statement_ends(node);
    }
    check_scope_leave(checker, outer);
    return type;
}

void check_block(struct checker *checker, struct node *block)
{
    if (!block)
        return;
    if (block->kind != NODE_BLOCK) {
        check_statement(checker, block);
        return;
    }
    check_statements(checker, &block->list);
    block->type = &type_none;
}

const struct type *check_block_value(struct checker *checker, struct node *block)
{
    return check_statements(checker, &block->list);
}

/* If the value of an assignment is a block that ends with an aggregation, which is no value, moves the assignment
 * into the block: @ = { …; avg($a) } becomes { …; @ = avg($a) }. */
static bool assigns_within(struct checker *checker, struct node *node)
{
    struct node *assign = node->unary.operand;
    if (!assign || assign->kind != NODE_ASSIGN || assign->assign.op != OPERATOR_NONE ||
        assign->assign.target->kind != NODE_MAP || assign->assign.value->kind != NODE_BLOCK_VALUE)
        return false;
    const struct node_list *list = &assign->assign.value->list;
    const struct node *value = list->last;
    while (value && value->kind == NODE_BLOCK_VALUE)
        value = value->list.last;
    if (!value || !check_is_aggregation_call(checker, value))
        return false;
    struct node *statement = node_new(checker->arena, NODE_EXPRESSION, list->last->span), **last;
    struct node_list statements = *list;
    for (last = &statements.first; (*last)->next; last = &(*last)->next)
        ;
    assign->assign.value = *last;
    statement->unary.operand = assign;
    *last = statements.last = statement;
    node->kind = NODE_BLOCK;
    node->list = statements;
    node->names = NULL;
    return true;
}

static void check_discard(struct checker *checker, struct node *node)
{
    if (assigns_within(checker, node)) {
        check_block(checker, node);
        return;
    }
    struct node *operand = node->unary.operand;
    const struct type *type = operand ? check_expression(checker, operand) : NULL;
    if (!type || type->kind == TYPE_NONE || node->unary.is_silent)
        return;
    if (operand->kind == NODE_ASSIGN || operand->kind == NODE_STEP)
        return;
    const struct builtin *builtin = operand->kind == NODE_CALL   ? operand->call.builtin
                                    : operand->kind == NODE_NAME ? operand->name.builtin
                                                                 : NULL;
    if (builtin && (builtin->flags & BUILTIN_VALUE_UNUSED_OK))
        return;
    check_warning(checker, operand->span, "Return value discarded.");
    check_hint(checker, "assign it to _ to discard it silently: _ = ...");
}

static void check_let_statement(struct checker *checker, struct node *node)
{
    check_let(checker, node);
}

static void check_if(struct checker *checker, struct node *node)
{
    struct node *condition = node->ternary.condition;
    bool is_comptime = condition->kind == NODE_COMPTIME;
    struct constant constant;
    check_condition(checker, condition, "condition in if()");
    if (is_comptime && condition->kind == NODE_COMPTIME)
        return; /* not decided yet: its branches may still be dropped */
    bool is_constant = fold_constant(condition, &constant);
    if (is_comptime && is_constant) { /* the other branch is dropped */
        if (!constant.value)
            node->ternary.yes = node_new(checker->arena, NODE_BLOCK, node->ternary.yes->span);
        else
            node->ternary.no = NULL;
    }
    for (int is_yes = 1; is_yes >= 0; is_yes--) {
        unsigned is_dead = is_constant && (constant.value != 0) != is_yes;
        checker->dead_branches += is_dead;
        check_block(checker, is_yes ? node->ternary.yes : node->ternary.no);
        checker->dead_branches -= is_dead;
    }
}

/* Checks a loop's body, which becomes a function of its own that is called for each iteration. The condition
 * belongs to it. */
static void check_loop_body(struct checker *checker, struct node *node)
{
    checker->loop_depth++;
    if (node->loop.condition)
        check_condition(checker, node->loop.condition, "condition in while()");
    check_block(checker, node->loop.body);
    checker->loop_depth--;
}

static void check_loop(struct checker *checker, struct node *node, const struct type *variable)
{
    size_t outer = check_scope_enter(checker);
    checker->state->callbacks++;
    if (node->loop.variable) {
        struct scratch *scratch = check_declare(checker, node->loop.variable);
        if (variable && (!scratch->variable.type || !type_equal(scratch->variable.type, variable)))
            check_variable_grow(checker, scratch, variable);
        node->loop.variable->type = scratch->variable.type;
    }
    check_loop_body(checker, node);
    checker->state->callbacks--;
    check_scope_leave(checker, outer);
}

static void check_while(struct checker *checker, struct node *node)
{
    check_warning(checker, node->span, "While loops are deprecated and may be removed in the future.");
    check_hint(
        checker,
        "For loops support ranges (e.g. `for ($x : $start..$end) { ... }`), and can be used in place of "
        "while. These are more easily proven to be bounded by the verifier.");
    check_loop(checker, node, NULL);
}

static void check_bound(struct checker *checker, struct node *node, const char *which)
{
    const struct type *type = check_value(checker, node);
    if (type && !type_is_number(type))
        check_error(checker, node->span, "Loop range requires an integer for the %s value, found '%s'", which,
                    type_text(checker->arena, type));
}

static void check_for_range(struct checker *checker, struct node *node)
{
    check_bound(checker, node->loop.from, "start");
    check_bound(checker, node->loop.to, "end");
    check_loop(checker, node, &type_i64);
}

/* Returns the type of the pair (key, value) of a map; NULL while it is not known, or after a diagnostic. */
static const struct type *map_pair(struct checker *checker, struct node *node, struct node *map)
{
    const struct type *key = map->map.symbol->key, *value = map->map.symbol->value;
    if (!check_is_settled(key) || !check_is_settled(value))
        return NULL;
    const struct type *pair[] = {key, check_readable(value)};
    if (!pair[1]) {
        check_error(checker, map->span, "Loops over maps of type '%s' are not supported",
                    type_text(checker->arena, value));
        check_hint(checker, "print(%s) shows it", map->map.name);
        return NULL;
    }
    const struct type *old = node->loop.variable->type;
    if (old && old->kind == TYPE_TUPLE && old->count == 2 && old->fields[0].type == pair[0] &&
        old->fields[1].type == pair[1])
        return old;
    return type_tuple(checker->arena, pair, 2);
}

static void check_for_map(struct checker *checker, struct node *node)
{
    struct node *map = node->loop.map;
    const struct type *pair = NULL;
    if (map->map.key) {
        check_error(checker, map->span, "A loop goes over a whole map, not over one of its elements");
        check_hint(checker, "write: for (%s : %s)", node->loop.variable->variable.name, map->map.name);
    }
    map->type = check_map_argument(checker, map, true);
    if (map->type && !check_is_whole_map(map)) {
        check_error(checker, map->span, "%s has no keys to loop over", map->map.name);
        check_hint(checker, "%s was used without a key at %s", map->map.name,
                   check_where(checker, map->map.symbol->key_span));
    } else if (map->type) {
        pair = map_pair(checker, node, map);
        if (!pair)
            check_unresolved(checker, map->span);
    }
    check_loop(checker, node, pair);
}

static void check_unroll(struct checker *checker, struct node *node)
{
    enum { UNROLL_MAX = 100 };
    struct node *count = node->loop.from;
    int64_t value;
    if (!check_value(checker, count)) {
        check_unresolved(checker, count->span);
    } else if (!type_is_number(count->type) || !check_constant(checker, count, &value)) {
        check_error(checker, count->span, "unroll needs a constant number of rounds");
        check_hint(checker, "for ($i : 0..n) takes any number");
    } else if (value < 1) {
        check_error(checker, count->span, "unroll minimum value is 1");
    } else if (value > UNROLL_MAX) {
        check_error(checker, count->span, "unroll maximum value is %d", UNROLL_MAX);
    } else if (count->kind != NODE_INTEGER && count->kind != NODE_SIZEOF) {
        fold_to_integer(count, (uint64_t)value, false, NULL);
        check_expression(checker, count);
    }
    check_block(checker, node->loop.body);
}

static void check_jump(struct checker *checker, struct node *node)
{
    if (!checker->loop_depth)
        check_error(checker, node->span, "%s must be inside a loop",
                    node->kind == NODE_BREAK ? "break" : "continue");
}

static void check_return(struct checker *checker, struct node *node)
{
    if (checker->state->subprogram) {
        check_result(checker, node);
        return;
    }
    if (!node->unary.operand)
        return;
    const struct type *type = check_value(checker, node->unary.operand);
    if (type && !type_is_number(type))
        check_error(checker, node->unary.operand->span, "A probe can only return an integer, found '%s'",
                    type_text(checker->arena, type));
}

typedef void statement_checker(struct checker *checker, struct node *node);

static statement_checker *const statement_checkers[] = {
    [NODE_EXPRESSION] = check_discard, [NODE_LET] = check_let_statement,
    [NODE_BLOCK] = check_block,        [NODE_IF] = check_if,
    [NODE_WHILE] = check_while,        [NODE_FOR_RANGE] = check_for_range,
    [NODE_FOR_MAP] = check_for_map,    [NODE_UNROLL] = check_unroll,
    [NODE_BREAK] = check_jump,         [NODE_CONTINUE] = check_jump,
    [NODE_RETURN] = check_return,
};

static void check_statement(struct checker *checker, struct node *node)
{
    struct check_state *state = checker->state;
    if ((size_t)node->kind >= sizeof statement_checkers / sizeof *statement_checkers ||
        !statement_checkers[node->kind]) {
        check_expression(checker, node);
        return;
    }
    if (state->depth > 4 * (TREE_NESTING + TREE_CHAIN)) {
        check_error(checker, node->span, "This statement is nested too deeply");
        return;
    }
    state->depth++;
    statement_checkers[node->kind](checker, node);
    state->depth--;
    node->type = &type_none;
}

/* ---- passes ---- */

static void check_pass(struct checker *checker, struct check_unit *units, size_t count)
{
    struct check_state *state = checker->state;
    checker->changed = false;
    for (size_t i = 0; i < count; i++) {
        checker->unit = &units[i];
        checker->loop_depth = 0;
        state->callbacks = 0;
        state->depth = 0;
        size_t outer = check_scope_enter(checker);
        if (units[i].predicate)
            check_condition(checker, units[i].predicate, "type for predicate");
        check_block(checker, units[i].body);
        check_scope_leave(checker, outer);
        for (struct subprogram *called = units[i].subprograms; called; called = called->next)
            check_subprogram(checker, called);
    }
    checker->unit = NULL;
}

/* Makes constants of `comptime` expressions that can be known. Returns whether there was one. */
static bool check_decide(struct checker *checker, struct check_unit *units, size_t count)
{
    struct check_state *state = checker->state;
    state->is_deciding = true;
    state->has_decided = false;
    check_pass(checker, units, count);
    state->is_deciding = false;
    return state->has_decided;
}

static bool check_settle(struct checker *checker, struct check_unit *units, size_t count)
{
    unsigned passes = 0;
    for (int phase = PHASE_OPEN; phase <= PHASE_DEFAULTS; phase++) {
        checker->state->phase = (enum check_phase)phase;
        do {
            if (passes++ == PASSES_MAX)
                return false;
            check_pass(checker, units, count);
        } while (checker->changed);
        /* This comes before the defaults, because a branch that is chosen may say more about types. */
        if (phase >= PHASE_LITERALS && check_decide(checker, units, count))
            phase = PHASE_OPEN - 1;
    }
    return true;
}

bool check_units(struct checker *checker, struct check_unit *units, size_t count)
{
    size_t errors = checker->diagnostics->errors;
    checker->state = arena_new(checker->arena, struct check_state);
    checker->is_reporting = false;
    for (size_t i = 0; i < count; i++) {
        fold(checker, units[i].predicate);
        fold(checker, units[i].body);
    }
    bool settled = check_settle(checker, units, count);
    checker->is_reporting = true;
    check_subprograms(checker);
    check_pass(checker, units, count);
    check_declarations(checker);
    if (checker->diagnostics->errors == errors && (!settled || checker->changed)) {
        struct span nowhere = count && units[0].body ? units[0].body->span : (struct span){0};
        check_error(checker, nowhere,
                    "The types of maps and variables depend on each other in too many steps");
        check_hint(checker,
                   "cast what is assigned to them, or assign them in the order in which they depend");
    }
    if (checker->diagnostics->errors == errors && checker->state->is_unresolved) {
        check_error(checker, checker->state->unresolved, "The type of this value cannot be found out");
        check_hint(checker, "nothing that is assigned to it tells: assign a value of a known type somewhere");
    }
    checker->is_reporting = false;
    return checker->diagnostics->errors == errors;
}

void checker_free(struct checker *checker)
{
    table_free(&checker->map_table);
    table_free(&checker->variables);
}
