/* SPDX-License-Identifier: BSD-3-Clause */
/* A long block is divided into sections: functions that the verifier looks at each on its own ("global" ones,
 * since Linux 5.6). It keeps in mind at most 8192 conditions that it has to come back to, follows a million
 * instructions, and before Linux 6.6 jumps over 32767 at most: what one section takes of these another has
 * again.
 *
 * Of some types of programs the kernel gives the context to no such function: sections that want it are then
 * ordinary functions, which at least are short.
 *
 * A section is a program of its own in most respects, with setup and ends. It takes the context, if it wants
 * it, and nothing else; variables are in scratch memory, which each section looks up. It returns 1 where the
 * script's program ends. Sections stand one after another in the program's own function, in whatever
 * conditions are around them; in loops and functions there are none. */
#include "bpf/btf_write.h"
#include "bpf/lower_state.h"

#include <assert.h>

enum {
    LONG = 512,         /* statements: shorter blocks are not divided */
    SECTION_LEAST = 64, /* statements in a section */
    SECTIONS = 128,     /* about; the kernel takes 256 functions */
};

struct lower_section {
    struct lower_function function;
    struct lower_function *main;
    struct ir_block *leave, *leave_early;
    struct ir *stop;
    struct lower_statement *statement;
    int32_t return_slot;
    bool was_in_section;
};

static uint64_t weigh(struct node *node);

static bool visit_weight(struct node *node, void *state)
{
    uint64_t *weight = state;
    *weight += node->kind >= NODE_EXPRESSION;
    if (node->kind != NODE_UNROLL)
        return true;
    uint64_t turns = node->loop.from->integer.value, turn = weigh(node->loop.body);
    *weight += turns > UINT32_MAX / turn ? UINT32_MAX : turns * turn;
    return false;
}

/* How many statements there are in this one, with itself. */
static uint64_t weigh(struct node *node)
{
    uint64_t weight = 0;
    node_walk(node, visit_weight, &weight);
    return weight;
}

uint32_t lower_section_size(struct node *body)
{
    uint64_t weight = weigh(body);
    if (weight <= LONG)
        return 0;
    return weight / SECTIONS > SECTION_LEAST ? (uint32_t)(weight / SECTIONS) : SECTION_LEAST;
}

bool lower_is_divided(const struct lowering *l)
{
    const struct lower_state *s = l->state;
    return s->section_size && !s->is_in_section && !s->current->parent && s->phase == PHASE_BODY;
}

static struct lower_section *begin_section(struct lowering *l)
{
    struct lower_state *s = l->state;
    struct lower_section *section = arena_new(s->temporary, struct lower_section);
    section->main = s->main;
    section->leave = s->leave[PHASE_BODY];
    section->leave_early = s->leave_early;
    section->stop = s->stop;
    section->statement = s->statement;
    section->return_slot = s->return_slot;
    section->was_in_section = s->is_in_section;
    s->current = NULL; /* it is inside of no other */
    lower_enter_function(l, &section->function, "section", 1);
    s->main = &section->function;
    s->main->depth = section->main->depth + 1;
    s->main->setup = l->b.block;
    s->main->start = ir_block_new(&l->b);
    s->leave_early = s->leave[PHASE_BODY] = ir_block_new(&l->b);
    s->stop = NULL;
    s->statement = NULL;
    s->return_slot = -1;
    s->is_in_section = true;
    ir_enter(&l->b, s->main->start);
    return section;
}

static void end_section(struct lowering *l, struct lower_section *section)
{
    struct lower_state *s = l->state;
    struct ir_builder *b = &l->b;
    struct ir_function *function = section->function.function;
    if (!ir_ended(b))
        ir_return(b, ir_constant(b, 0));
    lower_finish_function(l, &section->function);
    ir_seal(b, s->leave_early);
    ir_enter(b, s->leave_early);
    ir_return(b, ir_constant(b, 1));
    function->parameters = function->context != NULL;
    function->is_global =
        !function->context || btf_can_pass_context(l->options->features, l->context->program_type,
                                                   l->context->expected_attach_type);
    s->main = s->current = section->main;
    s->leave[PHASE_BODY] = section->leave;
    s->leave_early = section->leave_early;
    s->stop = section->stop;
    s->statement = section->statement;
    s->return_slot = section->return_slot;
    s->is_in_section = section->was_in_section;
    *b = section->function.saved;
    struct ir *argument = function->parameters ? lower_shared_value(l, SHARED_CTX) : NULL;
    struct ir *ends = ir_call_local(b, function, function->parameters, argument);
    struct ir_block *stay = ir_block_new(b);
    ir_branch(b, ends, s->leave[PHASE_BODY], stay);
    ir_seal(b, stay);
    ir_enter(b, stay);
}

/* As many of the statements as a section has room for; the first is in it in any case. Returns what follows
 * them. */
static struct node *lower_section_of(struct lowering *l, struct node *node)
{
    uint64_t weight = weigh(node);
    struct lower_section *section = begin_section(l);
    do {
        if (!ir_ended(&l->b))
            lower_one_of_many(l, node);
        node = node->next;
        weight += node ? weigh(node) : 0;
    } while (node && weight <= l->state->section_size);
    end_section(l, section);
    return node;
}

void lower_in_sections(struct lowering *l, const struct node_list *list)
{
    struct node *node = list->first;
    while (node && !ir_ended(&l->b) && !l->state->is_too_large) {
        bool has_own = node->kind == NODE_BLOCK || node->kind == NODE_IF || node->kind == NODE_UNROLL;
        if (has_own && weigh(node) > l->state->section_size) {
            lower_one_of_many(l, node);
            node = node->next;
        } else {
            node = lower_section_of(l, node);
        }
    }
}

void lower_turns_in_sections(struct lowering *l, struct node *body, uint64_t turns)
{
    uint64_t weight = weigh(body),
             together = weight < l->state->section_size ? l->state->section_size / weight : 0;
    while (turns && !ir_ended(&l->b) && !l->state->is_too_large) {
        struct lower_section *section = together ? begin_section(l) : NULL;
        uint64_t some = together && together < turns ? together : together ? turns : 1;
        for (uint64_t i = 0; i < some && !ir_ended(&l->b); i++)
            lower_statement(l, body);
        if (section)
            end_section(l, section);
        turns -= some;
    }
}
