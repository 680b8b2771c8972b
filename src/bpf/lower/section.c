/* SPDX-License-Identifier: BSD-3-Clause */
/* A long block is divided into sections: functions that the verifier checks one by one ("global" ones, since Linux
 * 5.6). It keeps at most 8192 conditions to which it must return, follows a million instructions, and before Linux
 * 6.6 jumps over 32767 at most; every section has these limits for itself.
 *
 * In some types of programs the kernel does not give the context to such functions. Their sections read it at its address,
 * which is in scratch memory, by helpers; and those that must hand it to a helper, to take a stack, are ordinary
 * functions, which at least are short: what is then done with the frames is a function that needs no context. If they are
 * still too many for the verifier, the stacks are taken before all sections (both in stack.c).
 *
 * In most respects a section is a program of its own, with setup and ends. It takes the context, if it needs it, and the
 * number of the slot of scratch memory, if that is in slots; variables are in scratch memory, which each section looks up. Its result says how it was left.
 * Sections follow one another in the program's own function and in the bodies of loops, inside of any conditions;
 * and so do those of a long function of the script. */
#include "bpf/emit/btf_write.h"
#include "bpf/lower/state.h"

#include <assert.h>

enum {
    LONG = 512,       /* statements: shorter blocks are not divided */
    SECTION_MIN = 64, /* statements in a section; and where the verifier needs small ones: */
    SECTION_SMALL = 4,
    SECTIONS = 128, /* roughly; the kernel accepts 256 functions */
};

/* How a section was left; 0: at its end. */
enum { SECTION_LEAVES = 1, SECTION_BREAKS, SECTION_CONTINUES, SECTION_RETURNS };

struct lower_section {
    struct lower_function function;
    struct lower_function *main;
    /* the section that calls the script's function in which this one is; or NULL */
    struct lower_section *outer;
    struct ir_block *leave, *leave_early;
    struct ir *stop;
    struct ir
        *slot; /* its last parameter: the number of the slot that scratch memory is in; NULL: it needs none */
    struct lower_statement *statement;
    int32_t return_slot;
    /* the result of the function around it, in scratch memory, if the section returns from it; -1: it does not */
    int32_t result;
    bool leaves_iteration; /* `break` or `continue` of the loop around it */
};

static uint64_t weigh(struct node *node);

static bool visit_weight(struct node *node, void *state)
{
    uint64_t *weight = state;
    *weight += node->kind >= NODE_EXPRESSION;
    if (node->kind != NODE_UNROLL)
        return true;
    uint64_t iterations = node->loop.from->integer.value, iteration = weigh(node->loop.body);
    *weight += iterations > UINT32_MAX / iteration ? UINT32_MAX : iterations * iteration;
    return false;
}

/* Returns how many statements there are in a node, itself included. */
static uint64_t weigh(struct node *node)
{
    uint64_t weight = 0;
    node_walk(node, visit_weight, &weight);
    return weight;
}

uint32_t lower_section_size(const struct check_unit *unit, bool is_small)
{
    uint64_t weight = weigh(unit->body), least = is_small ? SECTION_SMALL : SECTION_MIN;
    for (const struct subprogram *called = unit->subprograms; called; called = called->next)
        weight += weigh(called->body);
    if (weight <= (is_small ? SECTION_SMALL : LONG))
        return 0;
    return weight / SECTIONS > least ? (uint32_t)(weight / SECTIONS) : (uint32_t)least;
}

bool lower_is_divided(const struct lowering *l)
{
    const struct lower_state *s = l->state;
    if (!s->section_size || s->section || s->phase != PHASE_BODY)
        return false;
    const struct lower_function *function = lower_enclosing(l);
    return !function || weigh(function->subprogram->body) > s->section_size;
}

struct lower_section *lower_begin_apart(struct lowering *l, const char *name)
{
    struct lower_state *s = l->state;
    struct lower_section *section = arena_new(s->temporary, struct lower_section);
    section->main = s->main;
    section->leave = s->leave[PHASE_BODY];
    section->leave_early = s->leave_early;
    section->stop = s->stop;
    section->statement = s->statement;
    section->return_slot = s->return_slot;
    section->outer = s->section;
    section->result = -1;
    section->function.caller = s->current;
    section->function.result_slot = section->function.returned_slot = -1;
    s->current = NULL; /* it is not inside of another function */
    lower_enter_function(l, &section->function, name, 2);
    s->main = &section->function;
    s->main->depth = section->function.caller->depth + 1;
    s->main->setup = l->b.block;
    s->main->start = ir_label(&l->b);
    s->leave_early = s->leave[PHASE_BODY] = ir_label(&l->b);
    s->stop = NULL;
    s->statement = NULL;
    s->return_slot = -1;
    s->section = section;
    ir_enter(&l->b, s->main->start);
    return section;
}

struct ir_function *lower_end_apart(struct lowering *l, struct lower_section *section, int64_t leaves)
{
    struct lower_state *s = l->state;
    lower_finish_function(l, &section->function);
    ir_place(&l->b, s->leave_early);
    ir_return(&l->b, ir_constant(&l->b, leaves));
    s->main = section->main;
    s->current = section->function.caller;
    s->leave[PHASE_BODY] = section->leave;
    s->leave_early = section->leave_early;
    s->stop = section->stop;
    s->statement = section->statement;
    s->return_slot = section->return_slot;
    s->section = section->outer;
    l->b = section->function.saved;
    struct ir_function *function = section->function.function;
    function->parameters = (function->context != NULL) + (section->slot != NULL);
    if (section->slot)
        section->slot->immediate = function->context != NULL;
    return function;
}

struct ir *lower_section_slot(struct lowering *l)
{
    struct lower_section *section = l->state->section;
    if (!section->slot)
        section->slot = ir_parameter(&l->b, 1);
    return section->slot;
}

struct ir *lower_call_apart(struct lowering *l, struct ir_function *function)
{
    struct ir *arguments[2] = {NULL, NULL};
    unsigned count = 0;
    if (function->context)
        arguments[count++] = lower_shared_value(l, SHARED_CTX);
    if (count < function->parameters)
        arguments[count++] = ir_load(&l->b, lower_shared_value(l, SHARED_SCRATCH), SLOT_NUMBER, 8, false);
    return ir_call_local(&l->b, function, count, arguments[0], arguments[1]);
}

static struct lower_section *begin_section(struct lowering *l)
{
    const struct lower_function *function = lower_enclosing(l);
    struct lower_section *section = lower_begin_apart(l, "section");
    section->function.subprogram = function ? function->subprogram : NULL;
    return section;
}

void lower_leave_iteration_from_section(struct lowering *l, bool is_break)
{
    l->state->section->leaves_iteration = true;
    ir_return(&l->b, ir_constant(&l->b, is_break ? SECTION_BREAKS : SECTION_CONTINUES));
}

void lower_return_from_section(struct lowering *l, struct ir *result)
{
    struct lower_section *section = l->state->section;
    if (section->result < 0)
        section->result = lower_scratch(l, 8, true).offset;
    ir_store(&l->b, lower_shared_value(l, SHARED_SCRATCH), section->result, 8, result);
    ir_return(&l->b, ir_constant(&l->b, SECTION_RETURNS));
}

/* Begins the code for a section that was left as SECTION_LEAVES and so on say. */
static struct ir_if if_left_as(struct lowering *l, struct ir *left, int64_t how)
{
    return ir_if(&l->b, ir_binary_constant(&l->b, IR_EQ, left, how));
}

/* Goes behind the call of a section, as its result says. */
static void pass_on(struct lowering *l, const struct lower_section *section, struct ir *left)
{
    struct ir_builder *b = &l->b;
    struct ir_if has_left = ir_if_unlikely(b, left);
    if (section->result >= 0) {
        struct ir_if returns = if_left_as(l, left, SECTION_RETURNS);
        lower_return_result(l, ir_load(b, lower_shared_value(l, SHARED_SCRATCH), section->result, 8, false));
        ir_end_if(b, &returns);
    }
    if (section->leaves_iteration) {
        struct ir_if leaves = if_left_as(l, left, SECTION_LEAVES);
        lower_leave(l);
        ir_end_if(b, &leaves);
        ir_return(b, ir_binary_constant(b, IR_EQ, left, SECTION_BREAKS));
    } else {
        lower_leave(l);
    }
    ir_end_if(b, &has_left);
}

static void end_section(struct lowering *l, struct lower_section *section)
{
    struct ir_builder *b = &l->b;
    if (!ir_ended(b))
        ir_return(b, ir_constant(b, 0));
    struct ir_function *function = lower_end_apart(l, section, SECTION_LEAVES);
    function->is_global =
        !function->context || btf_can_pass_context(l->options->features, l->context->program_type,
                                                   l->context->expected_attach_type);
    pass_on(l, section, lower_call_apart(l, function));
}

/* Frees the scratch memory that was taken since `before` for a section of the statements before `behind`; the functions that it
 * made of its own are among it, because nobody else calls them. */
static void free_section(struct lowering *l, struct node *first, const struct node *behind,
                         const struct lower_state *before)
{
    struct lower_state *s = l->state;
    if (s->stacks != before->stacks || !lower_end_scope(l, first, behind, before->scratch_top))
        return;
    s->scratch_permanent = before->scratch_permanent;
    s->scratch_top = before->scratch_top;
}

/* Lowers a section with as many of the statements as it has room for, but at least one. Returns the statement
 * behind them. */
static struct node *lower_section_of(struct lowering *l, struct node *first)
{
    uint64_t weight = weigh(first);
    struct node *behind = first;
    do {
        lower_declare(l, behind); /* what may be needed after the section */
        behind = behind->next;
        weight += behind ? weigh(behind) : 0;
    } while (behind && weight <= l->state->section_size);
    const struct lower_state before = *l->state;
    struct lower_section *section = begin_section(l);
    for (struct node *node = first; node != behind && !ir_ended(&l->b); node = node->next)
        lower_one_of_many(l, node);
    end_section(l, section);
    free_section(l, first, behind, &before);
    return behind;
}

void lower_in_sections(struct lowering *l, const struct node_list *list)
{
    struct node *node = list->first;
    while (node && !ir_ended(&l->b) && !l->state->is_too_large) {
        bool has_own = node->kind == NODE_BLOCK || node->kind == NODE_IF || node->kind == NODE_UNROLL ||
                       node->kind == NODE_WHILE || node->kind == NODE_FOR_RANGE || node->kind == NODE_FOR_MAP;
        if (has_own && weigh(node) > l->state->section_size) {
            lower_one_of_many(l, node);
            node = node->next;
        } else {
            node = lower_section_of(l, node);
        }
    }
}

void lower_iterations_in_sections(struct lowering *l, struct node *body, uint64_t iterations)
{
    uint64_t weight = weigh(body),
             together = weight < l->state->section_size ? l->state->section_size / weight : 0;
    while (iterations && !ir_ended(&l->b) && !l->state->is_too_large) {
        const struct lower_state before = *l->state;
        struct lower_section *section = together ? begin_section(l) : NULL;
        uint64_t some = together && together < iterations ? together : together ? iterations : 1;
        for (uint64_t i = 0; i < some && !ir_ended(&l->b); i++)
            lower_statement(l, body);
        if (section) {
            end_section(l, section);
            free_section(l, body, body->next, &before);
        }
        iterations -= some;
    }
}
