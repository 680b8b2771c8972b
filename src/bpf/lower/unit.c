/* SPDX-License-Identifier: BSD-3-Clause */
/* One checked unit to one program of the image, and the ways of lowering it that are tried one after the other.
 *
 *     entry        stop flag
 *     gate         whose event it is, and the probe kind's own test
 *     predicate
 *     body
 *
 * Each of the last three has a setup block before it, for scratch memory and shared values, and an end behind it,
 * which frees scratch memory and returns 0. */
#include "bpf/emit/btf_write.h"
#include "bpf/limits.h"
#include "bpf/lower/processes.h"
#include "bpf/lower/state.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

static bool follows_user_pointer(const struct lowering *l, const struct node *pointer)
{
    return pointer->type && pointer->type->kind == TYPE_POINTER &&
           lower_space(l, pointer->type) == SPACE_USER;
}

struct search {
    struct lowering *l;
    bool found;
};

static bool visit_reader(struct node *node, void *state)
{
    struct search *search = state;
    const struct builtin *builtin = lower_builtin(node);
    if (builtin && builtin->flags & BUILTIN_READS_MEMORY)
        search->found = true;
    if (node->kind == NODE_FIELD && follows_user_pointer(search->l, node->field.object))
        search->found = true;
    if (node->kind == NODE_INDEX && follows_user_pointer(search->l, node->binary.left))
        search->found = true;
    if (node->kind == NODE_UNARY && node->unary.op == OPERATOR_DEREFERENCE &&
        follows_user_pointer(search->l, node->unary.operand))
        search->found = true;
    return !search->found;
}

static bool visit_end(struct node *node, void *found)
{
    *(bool *)found |= node->kind == NODE_BREAK || node->kind == NODE_CONTINUE || node->kind == NODE_RETURN;
    return true;
}

static bool visit_variable(struct node *node, void *found)
{
    *(bool *)found |= node->kind == NODE_VARIABLE;
    return true;
}

static bool visit_loop(struct node *node, void *state)
{
    struct lower_state *s = state;
    const bool is_range = node->kind == NODE_FOR_RANGE, is_for = is_range || node->kind == NODE_FOR_MAP;
    s->has_callbacks |=
        is_for || node->kind == NODE_WHILE || (node->kind == NODE_CALL && node->call.subprogram);
    s->variables_end_loops |= node->kind == NODE_WHILE;
    if (is_for)
        node_walk(node->loop.body, visit_end, &s->variables_end_loops);
    if (is_range) {
        node_walk(node->loop.from, visit_variable, &s->variables_end_loops);
        node_walk(node->loop.to, visit_variable, &s->variables_end_loops);
    }
    return true;
}

static bool wants_sleep(struct lowering *l)
{
    struct search search = {.l = l};
    if (!l->context->may_sleep || !l->options->features->sleepable_uprobe)
        return false;
    if (l->context->reads_memory)
        return true;
    if (l->state->unit->predicate)
        node_walk(l->state->unit->predicate, visit_reader, &search);
    node_walk(l->state->unit->body, visit_reader, &search);
    for (const struct subprogram *called = l->state->unit->subprograms; called; called = called->next)
        node_walk(called->body, visit_reader, &search);
    return search.found;
}

static enum scratch_kind choose_scratch(const struct lowering *l)
{
    const struct features *features = l->options->features;
    if (!lower_is_preemptible(l))
        return SCRATCH_CPU;
    if (features->task_storage)
        return SCRATCH_TASK;
    /* Kernels without these features do not preempt programs at uprobes. */
    return features->atomic_fetch ? SCRATCH_SLOT : SCRATCH_CPU;
}

/* Begins the code of one phase: a setup block, which stays open, and the block behind it, which is now the current
 * one. */
static struct lower_statement begin_phase(struct lowering *l, enum lower_phase phase)
{
    struct lower_state *s = l->state;
    struct lower_function *main = s->main;
    s->phase = phase;
    s->leave[phase] = ir_label(&l->b);
    main->setup = l->b.block;
    main->start = ir_label(&l->b);
    ir_enter(&l->b, main->start);
    return (struct lower_statement){.end = s->leave[phase]};
}

static void end_phase(struct lowering *l)
{
    struct ir_block *block = l->b.block;
    lower_finish_function(l, l->state->main);
    ir_enter(&l->b, block);
}

static void lower_exit(struct lowering *l, struct ir_block *block, bool has_scratch)
{
    ir_place(&l->b, block);
    if (has_scratch && l->state->scratch_kind == SCRATCH_SLOT)
        ir_store_constant(&l->b, l->state->main->shared[SHARED_SCRATCH], SLOT_TAKEN, 8, 0);
    ir_return(&l->b, ir_constant(&l->b, 0));
}

static void test_stop(struct lowering *l)
{
    struct ir_builder *b = &l->b;
    b->comment = "stopped";
    struct ir *stop = ir_load(b, lower_control(l), offsetof(struct image_control, stop), 4, false);
    stop->is_volatile = true;
    l->state->stop = stop;
    ir_jump_if(b, stop, l->state->leave_early);
    b->comment = NULL;
}

static void lower_gates(struct lowering *l)
{
    struct lower_statement statement = begin_phase(l, PHASE_GATE);
    struct temporary_mark mark = lower_mark(l);
    l->state->statement = &statement;
    l->b.comment = "gate";
    if (l->context->lower_gate)
        l->context->lower_gate(l, l->context);
    l->b.comment = NULL;
    lower_test_process(l);
    lower_release(l, mark);
    l->state->statement = NULL;
    end_phase(l);
}

static void lower_predicate(struct lowering *l, struct node *predicate)
{
    struct lower_statement statement = begin_phase(l, PHASE_PREDICATE);
    struct temporary_mark mark = lower_mark(l);
    l->state->statement = &statement;
    struct ir_block *yes = ir_label(&l->b);
    l->b.comment = "predicate";
    lower_branch(l, predicate, yes, l->state->leave[PHASE_PREDICATE]);
    ir_place(&l->b, yes);
    l->b.comment = NULL;
    lower_release(l, mark);
    l->state->statement = NULL;
    end_phase(l);
}

static void lower_body(struct lowering *l, struct node *body)
{
    begin_phase(l, PHASE_BODY);
    if (l->state->section_size)
        lower_keep_context(l);
    if (l->state->context_slot >= 0 && l->request->divides) /* the verifier gave the block up before */
        lower_keep_stacks(l);
    lower_statement(l, body);
    if (!ir_ended(&l->b))
        ir_jump(&l->b, l->state->leave[PHASE_BODY]);
    end_phase(l);
}

static void lower_program(struct lowering *l)
{
    struct lower_state *s = l->state;
    const struct check_unit *unit = s->unit;
    l->b.span = unit->body->span;
    lower_enter_function(l, s->main, l->request->program_name, 1);
    s->main->shared[SHARED_CTX] = ir_context(&l->b);
    s->leave_early = ir_label(&l->b);
    if (!l->context->ignores_stop)
        test_stop(l);
    lower_gates(l);
    if (unit->predicate)
        lower_predicate(l, unit->predicate);
    lower_body(l, unit->body);
    l->b.span = unit->body->span;
    for (enum lower_phase phase = PHASE_GATE; phase < PHASE_COUNT; phase++)
        if (s->leave[phase])
            lower_exit(l, s->leave[phase], s->main->shared[SHARED_SCRATCH] && s->scratch_phase <= phase);
    lower_exit(l, s->leave_early, false);
}

/* Copies the program to memory that stays: its instructions were made in that of the IR. */
static void keep_program(struct arena *arena, struct image_program *program)
{
#define KEEP(items, count)                                                                                   \
    do {                                                                                                     \
        void *copy = arena_array(arena, (count), sizeof *(items));                                           \
        if (count)                                                                                           \
            memcpy(copy, (items), (count) * sizeof *(items));                                                \
        (items) = copy;                                                                                      \
    } while (0)
    KEEP(program->instructions, program->count);
    KEEP(program->relocations, program->relocation_count);
    KEEP(program->functions, program->function_count);
    KEEP(program->lines, program->line_count);
#undef KEEP
    for (uint32_t i = 0; i < program->function_count; i++)
        program->functions[i].name = arena_strdup(arena, program->functions[i].name);
}

static void size_scratch(struct lowering *l)
{
    const struct image *image = l->image;
    const int indices[] = {[SCRATCH_CPU] = image->scratch_cpu,
                           [SCRATCH_TASK] = image->scratch_task,
                           [SCRATCH_SLOT] = image->scratch_slots};
    int index = indices[l->state->scratch_kind];
    if (index < 0 || !l->state->has_scratch)
        return;
    struct image_map *map = &l->image->maps[index];
    uint32_t bytes = l->state->scratch_peak > 8 ? l->state->scratch_peak : 8;
    if (map->value_size < bytes)
        map->value_size = bytes;
    if (l->state->scratch_kind == SCRATCH_CPU && map->max_entries <= l->state->program_index)
        map->max_entries = l->state->program_index + 1;
}

static int emit(struct lowering *l)
{
    struct text *dump_ir = l->request->dump_ir;
    const bool dump_raw = l->request->dump_raw;
    struct ir_program *ir = l->b.program;
    struct image_program program = {
        .name = arena_strdup(l->arena, l->request->program_name),
        .type = l->context->program_type,
        .expected_attach_type = l->context->expected_attach_type,
        .sleepable = l->is_sleepable,
        .attach_btf_id = l->context->attach_btf_id,
        .attach_module = l->context->attach_module,
        .attach_program = l->context->attach_program,
        .is_divisible = !l->request->divides,
    };
    ir_order(ir);
    if (dump_ir && dump_raw)
        ir_print(dump_ir, ir);
    assert(!ir_check(l->state->temporary, ir));
    ir_optimise(ir);
    assert(!ir_check(l->state->temporary, ir));
    if (dump_ir && !dump_raw)
        ir_print(dump_ir, ir);
    int result = ir_emit(ir, &program, l->options->registers_for_tests, l->diagnostics);
    if (result)
        return result;
    if (l->options->is_for_kernel && limits_check(l->diagnostics, &program))
        return -EINVAL;
    keep_program(l->arena, &program);
    *arena_push(l->arena, l->image->programs, l->image->program_count, l->image->program_room) = program;
    return 0;
}

/* How a block is lowered. */
enum attempt {
    ATTEMPT_DIVIDED, /* in sections, if it is long */
    ATTEMPT_PLAIN,
    ATTEMPT_AVOID_STACK, /* what can be in scratch memory is not on the frame */
};

/* Lowers a unit in one way. -E2BIG: it does not fit in the stack. */
static int lower_attempt(const struct compilation *compilation, const struct unit_request *request,
                         enum attempt attempt)
{
    const struct check_unit *unit = request->unit;
    struct image *image = compilation->image;
    struct diagnostics *diagnostics = compilation->diagnostics;
    struct arena temporary = {.out_of_memory = compilation->arena->out_of_memory};
    struct lower_state state = {
        .checker = compilation->checker,
        .unit = unit,
        .temporary = &temporary,
        .main = arena_new(&temporary, struct lower_function),
        .return_slot = -1,
        .context_slot = -1,
        .program_index = (uint32_t)image->program_count,
        .avoid_stack = attempt == ATTEMPT_AVOID_STACK,
        .section_size = attempt == ATTEMPT_DIVIDED ? lower_section_size(unit, request->divides) : 0,
    };
    struct lowering lowering = {
        .arena = compilation->arena,
        .image = image,
        .actions = compilation->actions,
        .diagnostics = diagnostics,
        .context = unit->context,
        .options = &compilation->options,
        .request = request,
        .probe = unit->probe,
        .state = &state,
        .b.program = ir_program_new(&temporary, compilation->options.features),
    };
    size_t errors = diagnostics->errors;
    lowering.b.program->zeros_map = (uint32_t)image->control;
    lowering.b.program->zeros = IMAGE_ZEROS;
    lowering.b.program->saves_stack = state.avoid_stack;
    lowering.is_sleepable = wants_sleep(&lowering);
    node_walk(unit->body, visit_loop, lowering.state);
    for (const struct subprogram *called = unit->subprograms; called; called = called->next)
        node_walk(called->body, visit_loop, lowering.state);
    state.scratch_kind = choose_scratch(&lowering);
    if (state.scratch_kind == SCRATCH_SLOT)
        state.scratch_top = state.scratch_permanent = state.scratch_peak = SLOT_BYTES;
    lower_program(&lowering);
    size_scratch(&lowering);
    int result = diagnostics->errors > errors ? -EINVAL : emit(&lowering);
    table_free(&state.runtime_errors);
    arena_free(&temporary);
    return result;
}

int lower_unit(const struct compilation *compilation, const struct unit_request *request)
{
    struct diagnostics *diagnostics = compilation->diagnostics;
    struct text *dump_ir = request->dump_ir;
    const struct diagnostics before = *diagnostics;
    size_t dumped = dump_ir ? dump_ir->length : 0;
    int result = -E2BIG;
    enum attempt attempt =
        lower_section_size(request->unit, request->divides) ? ATTEMPT_DIVIDED : ATTEMPT_PLAIN;
    if (request->divides && attempt == ATTEMPT_PLAIN)
        return -E2BIG;
    for (; attempt <= ATTEMPT_AVOID_STACK; attempt++) {
        /* Diagnostics and code of an attempt are dropped; maps and counters that it made stay, unused. */
        *diagnostics = before;
        if (dump_ir)
            text_truncate(dump_ir, dumped);
        node_walk(request->unit->body, lower_forget_variable, NULL);
        result = lower_attempt(compilation, request, attempt);
        bool is_over = attempt == ATTEMPT_DIVIDED ? !result || request->divides : result != -E2BIG;
        if (is_over)
            break;
    }
    return result;
}
