/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks other than by what helpers say of the current one: parents, leaders, the process with a number; and
 * process ids as PID namespaces see them. Read from the kernel's structs. */
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "builtin/kernel_field.h"
#include "builtin/desugar.h"
#include "sym/machine/machine.h"

/* ---- relatives: curtask.real_parent.tgid and the like ---- */

static const struct {
    const char *path, *cast;
} relatives[] = {
    {"real_parent.tgid", "uint32"},
    {"real_parent.comm", NULL},
    {"group_leader.comm", NULL},
    {"group_leader.pid", "uint32"},
};
enum relative { PARENT_PID, PARENT_COMM, LEADER_COMM, LEADER_TID };

static bool is_task(const struct type *type)
{
    return type->kind == TYPE_POINTER && type->target && type->target->kind == TYPE_STRUCT &&
           type->target->name && !strcmp(type->target->name, "task_struct");
}

static const struct type *check_relative(struct checker *checker, struct node *node)
{
    desugar_call(node);
    const struct builtin *builtin = node->call.builtin;
    struct node *task = check_argument(node, 0);
    if (task && !is_task(task->type)) {
        check_error(checker, task->span, "%s() needs a pointer to struct task_struct, found '%s'",
                    builtin->name, type_text(checker->arena, task->type));
        check_hint(checker, "for instance: %s(curtask)", builtin->name);
        return NULL;
    }
    if (!node->call.data) {
        const char *cast = relatives[builtin->data].cast;
        struct node *made = desugar_path(checker, task ? task : desugar_name(checker, node, "curtask"),
                                         relatives[builtin->data].path);
        node->call.data = cast ? desugar_cast(checker, made, cast) : made;
    }
    return check_made(checker, node->call.data);
}

/* ---- comm, comm(pid) ---- */

enum { COMM_BYTES = 16 };

/* The numbers of a PID namespace are the indices of a tree of nodes with 64 slots each; a number has 22 bits.
 */
enum { TREE_LEVELS = 4, TREE_SLOTS = 64, TREE_MARKS = 3, TREE_NODE = 2 };

enum task_field {
    TASK_THREAD_PID,
    TASK_PID_LINKS,
    TASK_COMM,
    PID_LEVEL,
    PID_TASKS,
    PID_NUMBERS,
    UPID_NS,
    NAMESPACE_TREE,
    NODE_SHIFT,
    NODE_SLOTS,
};
static const struct kernel_field task_fields[] = {
    [TASK_THREAD_PID] = {"struct task_struct", "thread_pid"},
    [TASK_PID_LINKS] = {"struct task_struct", "pid_links"},
    [TASK_COMM] = {"struct task_struct", "comm"},
    [PID_LEVEL] = {"struct pid", "level"},
    [PID_TASKS] = {"struct pid", "tasks"},
    [PID_NUMBERS] = {"struct pid", "numbers"},
    [UPID_NS] = {"struct upid", "ns"},
    [NAMESPACE_TREE] = {"struct pid_namespace", "idr.idr_rt.xa_head"},
    [NODE_SHIFT] = {"struct xa_node", "shift"},
    [NODE_SLOTS] = {"struct xa_node", "slots"},
};
enum { UPID_BYTES = 16 };

static const struct type *check_comm(struct checker *checker, struct node *node)
{
    if (check_argument(node, 0) && !node->call.data &&
        !(node->call.data = (void *)kernel_field_offsets(checker, node, "comm(pid)", task_fields,
                                                         sizeof task_fields / sizeof *task_fields)))
        return NULL;
    return type_string(checker->arena, COMM_BYTES);
}

/* The namespace in which the script's numbers count: the initial one, or, where the tracer is in another,
 * that of the current task. */
static struct ir *namespace(struct lowering *l, const uint32_t *at, struct ir_block *none, struct span span)
{
    struct ir_builder *b = &l->b;
    struct ir *task = ir_call(b, BPF_FUNC_get_current_task, 0);
    struct ir *pid = kernel_field_word(l, task, at[TASK_THREAD_PID], &type_u64, span);
    ir_jump_unless(b, pid, none);
    struct ir *number = ir_binary_constant(b, IR_ADD, pid, at[PID_NUMBERS]);
    if (l->options->filter.namespace) {
        struct ir *level = kernel_field_word(l, pid, at[PID_LEVEL], &type_u32, span);
        number = ir_binary(b, IR_ADD, number, ir_binary_constant(b, IR_MUL, level, UPID_BYTES));
    }
    return kernel_field_word(l, number, at[UPID_NS], &type_u64, span);
}

/* What the tree holds for a number. Goes to `none` where it holds nothing. */
static struct ir *tree_find(struct lowering *l, struct ir *namespace, struct ir *number, const uint32_t *at,
                            struct ir_block *none, struct span span)
{
    struct ir_builder *b = &l->b;
    uint32_t entry = ir_variable(b);
    struct ir_block *leaf = ir_label(b);
    /* A tree that holds only number 0 has no node. */
    ir_write(b, entry, kernel_field_word(l, namespace, at[NAMESPACE_TREE], &type_u64, span));
    for (unsigned level = 0; level < TREE_LEVELS; level++) {
        struct ir *marks = ir_binary_constant(b, IR_AND, ir_read(b, entry), TREE_MARKS);
        ir_jump_unless(b, ir_binary_constant(b, IR_EQ, marks, TREE_NODE), leaf);
        struct ir *tree = ir_binary_constant(b, IR_SUB, ir_read(b, entry), TREE_NODE);
        struct ir *shift = kernel_field_word(l, tree, at[NODE_SHIFT], &type_u8, span);
        struct ir *rest = ir_binary(b, IR_LSHR, number, shift);
        if (level == 0) /* the number is above all that the tree can hold */
            ir_jump_unless(b, ir_binary_constant(b, IR_ULT, rest, TREE_SLOTS), none);
        struct ir *slot = ir_binary_constant(b, IR_AND, rest, TREE_SLOTS - 1);
        struct ir *slots = ir_binary(b, IR_ADD, tree, ir_binary_constant(b, IR_MUL, slot, 8));
        ir_write(b, entry, kernel_field_word(l, slots, at[NODE_SLOTS], &type_u64, span));
    }
    ir_place(b, leaf);
    ir_jump_unless(b, ir_read(b, entry), none);
    return ir_read(b, entry);
}

static void comm_of(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    const uint32_t *at = node->call.data;
    struct ir *number = ir_extend(b, lower_scalar(l, check_argument(node, 0)), 4, false);
    struct ir_block *none = ir_label(b);
    ir_zero(b, into->memory.base, into->memory.offset, COMM_BYTES);
    struct ir *pid = tree_find(l, namespace(l, at, none, node->span), number, at, none, node->span);
    struct ir *link = kernel_field_word(l, pid, at[PID_TASKS], &type_u64, node->span);
    ir_jump_unless(b, link, none);
    struct ir *comm = ir_binary_constant(b, IR_ADD, link, (int64_t)at[TASK_COMM] - at[TASK_PID_LINKS]);
    lower_read_string(l, into, COMM_BYTES, NULL, comm, SPACE_KERNEL, TEXT_PADDED, node->span);
    ir_place(b, none);
}

static struct ir *lower_comm(struct lowering *l, struct node *node, struct destination *into)
{
    if (!destination_is_memory(into))
        return NULL;
    if (check_argument(node, 0)) {
        comm_of(l, node, into);
        return NULL;
    }
    if (l->context->has_record) {
        for (int32_t at = 0; at < COMM_BYTES; at += 8)
            ir_store(&l->b, into->memory.base, into->memory.offset + at, 8,
                     lower_event_word(l, offsetof(struct image_event, comm) + (size_t)at));
        return NULL;
    }
    /* Kernels such as 6.1 write the name and its NUL and leave what follows as it was. */
    ir_zero(&l->b, into->memory.base, into->memory.offset, COMM_BYTES);
    ir_call(&l->b, BPF_FUNC_get_current_comm, 2, ir_offset(&l->b, into->memory.base, into->memory.offset),
            ir_constant(&l->b, COMM_BYTES));
    return NULL;
}

/* ---- pid(mode), tid(mode) ---- */

enum id_mode { ID_OURS, ID_INITIAL, ID_OWN };
static const char *const id_modes[] = {[ID_OURS] = "curr_ns", [ID_INITIAL] = "init", [ID_OWN] = "own_ns"};

enum own_field { OWN_THREAD_PID, OWN_LEADER, OWN_LEVEL, OWN_NUMBERS, OWN_NUMBER };
static const struct kernel_field own_fields[] = {
    [OWN_THREAD_PID] = {"struct task_struct", "thread_pid"},
    [OWN_LEADER] = {"struct task_struct", "group_leader"},
    [OWN_LEVEL] = {"struct pid", "level"},
    [OWN_NUMBERS] = {"struct pid", "numbers"},
    [OWN_NUMBER] = {"struct upid", "nr"},
};

static enum id_mode id_mode(const struct node *mode)
{
    enum id_mode found = ID_OURS;
    for (enum id_mode i = 0; mode && mode->kind == NODE_NAME && i <= ID_OWN; i++)
        if (!strcmp(mode->name.name, id_modes[i]))
            return i;
    return mode ? ID_OWN + 1 : found;
}

static const struct type *check_id(struct checker *checker, struct node *node)
{
    const struct node *argument = check_argument(node, 0);
    enum id_mode mode = id_mode(argument);
    if (mode == ID_OWN && !node->call.data &&
        !(node->call.data = (void *)kernel_field_offsets(checker, node, node->call.name, own_fields,
                                                         sizeof own_fields / sizeof *own_fields)))
        return NULL;
    if (mode <= ID_OWN)
        return &type_u32;
    check_error(checker, argument->span, "%s(): expected init, curr_ns or own_ns", node->call.name);
    check_hint(checker,
               "curr_ns, the default, is as the PID namespace of this tracer sees it, own_ns as that "
               "of the process does");
    return NULL;
}

/* The number of a task in its innermost PID namespace, which it sees itself. */
static struct ir *own_id(struct lowering *l, struct node *node, bool of_process)
{
    struct ir_builder *b = &l->b;
    const uint32_t *at = node->call.data;
    struct ir *task = ir_call(b, BPF_FUNC_get_current_task, 0);
    if (of_process)
        task = kernel_field_word(l, task, at[OWN_LEADER], &type_u64, node->span);
    struct ir *pid = kernel_field_word(l, task, at[OWN_THREAD_PID], &type_u64, node->span);
    struct ir *level = kernel_field_word(l, pid, at[OWN_LEVEL], &type_u32, node->span);
    struct ir *number = ir_binary(b, IR_ADD, pid, ir_binary_constant(b, IR_MUL, level, UPID_BYTES));
    return kernel_field_word(l, number, at[OWN_NUMBERS] + at[OWN_NUMBER], &type_u32, node->span);
}

static struct ir *ids(struct lowering *l, enum id_mode mode)
{
    return mode == ID_INITIAL && !l->context->has_record ? ir_call(&l->b, BPF_FUNC_get_current_pid_tgid, 0)
                                                         : lower_pid_tgid(l);
}

static struct ir *lower_pid(struct lowering *l, struct node *node, struct destination *into)
{
    enum id_mode mode = id_mode(check_argument(node, 0));
    (void)into;
    return mode == ID_OWN ? own_id(l, node, true) : ir_binary_constant(&l->b, IR_LSHR, ids(l, mode), 32);
}

/* What spoor runs itself says that the process did it, of which a thread means nothing to the user. */
static struct ir *lower_tid(struct lowering *l, struct node *node, struct destination *into)
{
    if (l->context->runs_in_spoor)
        return lower_pid(l, node, into);
    enum id_mode mode = id_mode(check_argument(node, 0));
    (void)into;
    return mode == ID_OWN ? own_id(l, node, false) : ir_extend(&l->b, ids(l, mode), 4, false);
}

/* ---- the command of -c ---- */

static const struct type *check_has_child(struct checker *checker, struct node *node)
{
    return desugar_bool(node, checker->has_command);
}

static const struct type *check_child(struct checker *checker, struct node *node)
{
    desugar_call(node);
    node->call.data = checker->has_command ? node : NULL;
    return &type_u32;
}

static struct ir *lower_child(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    if (node->call.data)
        return ir_load(&l->b, lower_control(l), offsetof(struct image_control, child), 8, false);
    lower_runtime_error(l, RUNTIME_ERROR_NO_CHILD, node->span, -1, NULL);
    return ir_constant(&l->b, 0);
}

/* ---- usermode ---- */

/* Where the processor was when the event came, as the registers of the event say; where there are none the
 * kind of event says it. */
static struct ir *lower_usermode(struct lowering *l, struct node *node, struct destination *into)
{
    const struct probe_context *context = l->context;
    struct machine_register mode;
    (void)node, (void)into;
    bool is_arm = machine_here() == MACHINE_AARCH64;
    bool has_registers = context->has_registers || context->program_type == BPF_PROG_TYPE_PERF_EVENT;
    if (!strcmp(context->kind, "begin") || !strcmp(context->kind, "end"))
        return ir_constant(&l->b, 1);
    if (!has_registers || !machine_register_named(machine_here(), is_arm ? "pstate" : "cs", &mode))
        return ir_constant(&l->b, 0);
    struct ir *value = ir_load(&l->b, lower_ctx(l), mode.offset, 8, false);
    return is_arm ? ir_binary_constant(&l->b, IR_EQ, ir_binary_constant(&l->b, IR_AND, value, 0xf), 0)
                  : ir_binary_constant(&l->b, IR_NE, ir_binary_constant(&l->b, IR_AND, value, 3), 0);
}

enum { EITHER = BUILTIN_BARE | BUILTIN_CALL, RELATIVE = EITHER | BUILTIN_READS_KERNEL };

const struct builtin builtins_task[] = {
    {"ppid",
     "ppid([task])",
     RELATIVE,
     0,
     1,
     {PARAMETER_POINTER},
     .check = check_relative,
     .lower = desugar_lower,
     .data = PARENT_PID},
    {"pcomm",
     "pcomm([task])",
     RELATIVE,
     0,
     1,
     {PARAMETER_POINTER},
     .check = check_relative,
     .lower = desugar_lower,
     .data = PARENT_COMM},
    {"leader_comm",
     "leader_comm([task])",
     RELATIVE,
     0,
     1,
     {PARAMETER_POINTER},
     .check = check_relative,
     .lower = desugar_lower,
     .data = LEADER_COMM},
    {"leader_tid",
     "leader_tid([task])",
     RELATIVE,
     0,
     1,
     {PARAMETER_POINTER},
     .check = check_relative,
     .lower = desugar_lower,
     .data = LEADER_TID},
    {"pid",
     "pid([init | curr_ns | own_ns])",
     RELATIVE,
     0,
     1,
     {PARAMETER_WORD},
     .check = check_id,
     .lower = lower_pid},
    {"tid",
     "tid([init | curr_ns | own_ns])",
     RELATIVE,
     0,
     1,
     {PARAMETER_WORD},
     .check = check_id,
     .lower = lower_tid},
    {"comm", "comm([pid])", EITHER, 0, 1, {PARAMETER_INTEGER}, .check = check_comm, .lower = lower_comm},
    {"cpid", "cpid", EITHER, .check = check_child, .lower = lower_child},
    {"has_cpid", "has_cpid", EITHER, .check = check_has_child},
    {"usermode", "usermode", EITHER, .result = &type_u8, .lower = lower_usermode},
    {0},
};
