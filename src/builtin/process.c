/* SPDX-License-Identifier: BSD-3-Clause */
/* Who runs, and where: the current user and CPU, by helpers. */
#include "bpf/lower/lower.h"
#include "builtin/all.h"

static struct ir *lower_uid(struct lowering *l, struct node *node, struct destination *into)
{
    (void)node, (void)into;
    return ir_extend(&l->b, ir_call(&l->b, BPF_FUNC_get_current_uid_gid, 0), 4, false);
}

static struct ir *lower_gid(struct lowering *l, struct node *node, struct destination *into)
{
    (void)node, (void)into;
    return ir_binary_constant(&l->b, IR_LSHR, ir_call(&l->b, BPF_FUNC_get_current_uid_gid, 0), 32);
}

/* A helper without arguments whose result is the value: data is its number. */
static struct ir *lower_helper(struct lowering *l, struct node *node, struct destination *into)
{
    const struct builtin *builtin = node->kind == NODE_CALL ? node->call.builtin : node->name.builtin;
    (void)into;
    if (l->context->has_record && builtin->data == BPF_FUNC_get_smp_processor_id)
        return lower_event_word(l, offsetof(struct image_event, cpu));
    const struct features *features = l->options->features;
    if (builtin->data == BPF_FUNC_jiffies64 && !features->jiffies)
        diagnose_error(l->diagnostics, node->span, "jiffies needs bpf_jiffies64, which this kernel lacks");
    if (builtin->data == BPF_FUNC_get_current_cgroup_id && !features->cgroup_id)
        diagnose_error(l->diagnostics, node->span,
                       "cgroup needs bpf_get_current_cgroup_id, which this kernel lacks");
    struct ir *value = ir_call(&l->b, (enum bpf_func_id)builtin->data, 0);
    return builtin->result && builtin->result->size < 8
               ? ir_extend(&l->b, value, builtin->result->size, false)
               : value;
}

static struct ir *lower_username(struct lowering *l, struct node *node, struct destination *into)
{
    if (destination_is_memory(into))
        ir_store(&l->b, into->memory.base, into->memory.offset, 8, lower_uid(l, node, NULL));
    return NULL;
}

static const struct type *check_username(struct checker *checker, struct node *node)
{
    (void)node;
    return type_simple(checker->arena, TYPE_USERNAME);
}

static const struct type *check_curtask(struct checker *checker, struct node *node)
{
    (void)node;
    const struct type *task =
        checker->provider ? checker->provider->type(checker->provider->state, "struct task_struct") : NULL;
    return type_pointer(checker->arena, task ? task : &type_none, SPACE_KERNEL);
}

static struct ir *lower_ncpus(struct lowering *l, struct node *node, struct destination *into)
{
    (void)node, (void)into;
    return ir_constant(&l->b, l->options->features->cpus);
}

enum { EITHER = BUILTIN_BARE | BUILTIN_CALL };

const struct builtin builtins_process[] = {
    {"uid", "uid", EITHER, .result = &type_u64, .lower = lower_uid},
    {"gid", "gid", EITHER, .result = &type_u64, .lower = lower_gid},
    {"username", "username", EITHER, .check = check_username, .lower = lower_username},
    {"cgroup", "cgroup", EITHER, .result = &type_u64, .lower = lower_helper,
     .data = BPF_FUNC_get_current_cgroup_id},
    {"curtask", "curtask", EITHER, .check = check_curtask, .lower = lower_helper,
     .data = BPF_FUNC_get_current_task},
    {"cpu", "cpu", EITHER, .result = &type_u32, .lower = lower_helper, .data = BPF_FUNC_get_smp_processor_id},
    {"numaid", "numaid", EITHER, .result = &type_u32, .lower = lower_helper,
     .data = BPF_FUNC_get_numa_node_id},
    {"ncpus", "ncpus", EITHER, .result = &type_u64, .lower = lower_ncpus},
    {"rand", "rand", EITHER, .result = &type_u32, .lower = lower_helper, .data = BPF_FUNC_get_prandom_u32},
    {"jiffies", "jiffies", EITHER, .result = &type_u64, .lower = lower_helper, .data = BPF_FUNC_jiffies64},
    {0},
};
