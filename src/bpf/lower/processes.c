/* SPDX-License-Identifier: BSD-3-Clause */
/* Which processes' events count: tests at the beginning of each program, and the programs that keep the set of
 * processes.
 *
 * The set is the map "processes": ids of processes as the tracer's PID namespace numbers them. The session adds the
 * first ones; fork adds what they start, and the exit of a process's last thread removes it, so that an id that is
 * used again is not in the set. In the initial PID namespace a helper's ids are enough. Elsewhere the helper knows
 * only tasks of the tracer's own namespace, and not those of containers below it: there the id is read from the
 * task's struct pid, at the level of the tracer's namespace. */
#include "bpf/lower/processes.h"

#include <string.h>

#include "bpf/lower/state.h"

enum { UPID_BYTES = 16, CGROUP_LEVELS_MAX = 16 };

static void leave_unless(struct lowering *l, struct ir *condition)
{
    ir_jump_unless(&l->b, condition, lower_statement_end(l));
}

static struct ir *read_member(struct lowering *l, struct ir *object, uint32_t offset, const struct type *type)
{
    return lower_read_scalar(l, ir_binary_constant(&l->b, IR_ADD, object, offset), type, SPACE_KERNEL,
                             l->b.span);
}

static struct ir *control_word(struct lowering *l, size_t offset)
{
    return ir_load(&l->b, lower_control(l), (int32_t)offset, 8, false);
}

/* Returns the process's id in the tracer's namespace, 0 if it has none there. task NULL: the current one. */
static struct ir *process_id(struct lowering *l, struct ir *task)
{
    struct ir_builder *b = &l->b;
    const struct task_offsets *at = l->options->filter.task;
    if (!l->options->filter.namespace || !at)
        return task ? read_member(l, task, at->tgid, &type_u32)
                    : ir_binary_constant(b, IR_LSHR, lower_pid_tgid(l), 32);
    uint32_t id = ir_variable(b);
    struct ir_block *done = ir_label(b);
    if (!task)
        task = ir_call(b, BPF_FUNC_get_current_task, 0);
    struct ir *leader = read_member(l, task, at->group_leader, &type_u64);
    struct ir *pid = read_member(l, leader, at->thread_pid, &type_u64);
    struct ir *level = control_word(l, offsetof(struct image_control, pid_level));
    ir_write(b, id, ir_constant(b, 0));
    struct ir *deepest = read_member(l, pid, at->pid_level, &type_u32);
    ir_jump_unless(b, ir_binary(b, IR_ULE, level, deepest), done);
    struct ir *number = ir_binary(b, IR_ADD, pid, ir_binary_constant(b, IR_MUL, level, UPID_BYTES));
    struct ir *namespace = read_member(l, number, at->pid_numbers + at->upid_namespace, &type_u64);
    struct ir *ours = control_word(l, offsetof(struct image_control, pid_namespace));
    ir_jump_unless(b, ir_binary(b, IR_EQ, namespace, ours), done);
    ir_write(b, id, read_member(l, number, at->pid_numbers + at->upid_number, &type_u32));
    ir_place(b, done);
    return ir_read(b, id);
}

/* Returns the element of a process in the set; NULL: it is not in it. */
static struct ir *find_process(struct lowering *l, struct memory key)
{
    return ir_call(&l->b, BPF_FUNC_map_lookup_elem, 2, ir_map(&l->b, (uint32_t)l->image->processes),
                   lower_address(l, key));
}

static struct memory process_key(struct lowering *l, struct ir *id)
{
    struct memory key = lower_temporary(l, 8, false);
    ir_store(&l->b, key.base, key.offset, 8, id);
    return key;
}

/* ---- tests ---- */

static void test_cgroup(struct lowering *l)
{
    struct ir_builder *b = &l->b;
    const struct process_filter *filter = &l->options->filter;
    struct ir_block *ours = ir_label(b);
    b->comment = "cgroup filter";
    uint32_t levels = filter->cgroup_levels < CGROUP_LEVELS_MAX ? filter->cgroup_levels : CGROUP_LEVELS_MAX;
    for (uint32_t i = 0; i < levels; i++) {
        struct ir_block *next = i + 1 < levels ? ir_label(b) : l->state->leave[PHASE_GATE];
        struct ir *group =
            ir_call(b, BPF_FUNC_get_current_ancestor_cgroup_id, 1, ir_constant(b, filter->cgroup_level + i));
        ir_branch(b, ir_binary(b, IR_EQ, group, ir_constant(b, (int64_t)filter->cgroup)), ours, next);
        if (i + 1 < levels)
            ir_place(b, next);
    }
    ir_place(b, ours);
    b->comment = NULL;
}

static void test_id(struct lowering *l, struct ir *wanted)
{
    l->b.comment = "pid filter";
    ir_jump_unless(&l->b, ir_binary(&l->b, IR_EQ, process_id(l, NULL), wanted), l->state->leave[PHASE_GATE]);
    l->b.comment = NULL;
}

static void test_set(struct lowering *l)
{
    l->b.comment = "filter by the set of processes";
    ir_jump_unless(&l->b, find_process(l, process_key(l, process_id(l, NULL))), l->state->leave[PHASE_GATE]);
    l->b.comment = NULL;
}

void lower_test_process(struct lowering *l)
{
    const struct process_filter *filter = &l->options->filter;
    const struct probe_context *context = l->context;
    if (context->ignores_pid_filter)
        return;
    if (filter->cgroup)
        test_cgroup(l);
    if (filter->has_set)
        test_set(l);
    else if (context->filters_pid)
        return;
    else if (filter->pid)
        test_id(l, ir_constant(&l->b, filter->pid));
    else if (filter->has_command && context->is_of_command)
        test_id(l, control_word(l, offsetof(struct image_control, child)));
}

/* ---- the programs that keep the set ---- */

/* A program that spoor runs once: finds the tracer's namespace among those of a process. */
static struct ir *lower_locate(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    const struct task_offsets *at = l->options->filter.task;
    (void)node, (void)into;
    struct ir *task = ir_call(b, BPF_FUNC_get_current_task, 0);
    struct ir *pid = read_member(l, task, at->thread_pid, &type_u64);
    struct ir *level = read_member(l, pid, at->pid_level, &type_u32);
    struct ir *number = ir_binary(b, IR_ADD, pid, ir_binary_constant(b, IR_MUL, level, UPID_BYTES));
    struct ir *namespace = read_member(l, number, at->pid_numbers + at->upid_namespace, &type_u64);
    struct ir *control = lower_control(l);
    ir_store(b, control, offsetof(struct image_control, pid_level), 8, level);
    ir_store(b, control, offsetof(struct image_control, pid_namespace), 8, namespace);
    return NULL;
}

/* At sched_process_fork(parent, child), which runs in the parent before the child runs. */
static struct ir *lower_fork(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    const struct task_offsets *at = l->options->filter.task;
    (void)into;
    leave_unless(l, find_process(l, process_key(l, process_id(l, NULL))));
    struct ir *child = ir_load(b, lower_ctx(l), 8, 8, false);
    struct ir *thread = read_member(l, child, at->pid, &type_u32);
    leave_unless(l, ir_binary(b, IR_EQ, thread, read_member(l, child, at->tgid, &type_u32)));
    struct memory key = process_key(l, process_id(l, child)), value = lower_temporary(l, 8, true);
    struct ir *failed = ir_call(b, BPF_FUNC_map_update_elem, 4, ir_map(b, (uint32_t)l->image->processes),
                                lower_address(l, key), lower_address(l, value), ir_constant(b, BPF_ANY));
    leave_unless(l, failed);
    lower_runtime_error(l, RUNTIME_ERROR_PROCESSES, node->span, -1, NULL);
    return NULL;
}

/* At sched_process_exit(task), which runs in the task. */
static struct ir *lower_exit(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    const struct task_offsets *at = l->options->filter.task;
    (void)node, (void)into;
    struct memory key = process_key(l, process_id(l, NULL));
    leave_unless(l, find_process(l, key));
    struct ir *task = ir_load(b, lower_ctx(l), 0, 8, false);
    struct ir *signal = read_member(l, task, at->signal, &type_u64);
    struct ir *others = read_member(l, signal, at->signal_live, &type_u32);
    leave_unless(l, ir_binary_constant(b, IR_EQ, others, 0));
    ir_call(b, BPF_FUNC_map_delete_elem, 2, ir_map(b, (uint32_t)l->image->processes), lower_address(l, key));
    ir_atomic_add(b, lower_control(l), offsetof(struct image_control, process_ends), 8, ir_constant(b, 1));
    return NULL;
}

static const struct pid_set_body {
    const char *name;
    const char *event; /* NULL: it is run once */
    struct builtin body;
} pid_set_bodies[] = {
    [PID_SET_LOCATE] = {"keep_locate", NULL, {.name = "locate", .lower = lower_locate}},
    [PID_SET_FORK] = {"keep_fork", "sched_process_fork", {.name = "fork", .lower = lower_fork}},
    [PID_SET_EXIT] = {"keep_exit", "sched_process_exit", {.name = "exit", .lower = lower_exit}},
};

static bool is_needed(const struct process_filter *filter, enum pid_set_program_kind kind)
{
    switch (kind) {
    case PID_SET_LOCATE: return filter->namespace && filter->task;
    case PID_SET_FORK: return filter->has_set && filter->follows;
    default: return filter->has_set;
    }
}

int lower_pid_set_programs(const struct compilation *compilation, struct pid_set_program *out)
{
    static const struct probe_context context = {
        .kind = "set of processes",
        .program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
        .space = SPACE_KERNEL,
        .ignores_pid_filter = true,
        .site_count = 1,
    };
    for (enum pid_set_program_kind kind = 0; kind < PID_SET_COUNT; kind++) {
        struct node *body = node_new(compilation->arena, NODE_CALL, (struct span){0});
        body->call.name = pid_set_bodies[kind].name;
        body->call.builtin = &pid_set_bodies[kind].body;
        body->type = &type_none;
        struct check_unit unit = {.body = body, .context = &context, .probe = "--follow"};
        struct unit_request request = {.unit = &unit, .program_name = pid_set_bodies[kind].name};
        out[kind] = (struct pid_set_program){.is_needed = is_needed(&compilation->options.filter, kind),
                                             .program = compilation->image->program_count,
                                             .event = pid_set_bodies[kind].event};
        int error = out[kind].is_needed ? lower_unit(compilation, &request) : 0;
        if (error)
            return error;
    }
    return 0;
}

void lower_process_map(const struct compilation *compilation)
{
    struct image *image = compilation->image;
    image->processes = -1;
    if (!compilation->options.filter.has_set)
        return;
    image->processes = (int)image->map_count;
    *arena_push(compilation->arena, image->maps, image->map_count, image->map_room) = (struct image_map){
        .name = "processes",
        .type = BPF_MAP_TYPE_HASH,
        .key_size = 8,
        .value_size = 8,
        .max_entries = compilation->options.max_map_keys,
    };
}
