/* SPDX-License-Identifier: BSD-3-Clause */
/* What each operation and each helper is: its name, its properties, and the arithmetic of constants.
 *
 * Arithmetic is eBPF's: x / 0 is 0, x % 0 is x, shift counts are taken modulo 64, nothing traps. */
#include "bpf/ir/edit.h"

#include <assert.h>

enum operation_property {
    HAS_VALUE = 1,
    PURE = 2,
    REMOVABLE = 4, /* pure, or only its value is needed */
};
enum { VALUE = HAS_VALUE | PURE | REMOVABLE };

static const struct operation {
    const char *name;
    unsigned properties;
} operations[] = {
    [IR_CONSTANT] = {"constant", VALUE},
    [IR_CONTEXT] = {"context", VALUE},
    [IR_PARAMETER] = {"parameter", VALUE},
    [IR_FRAME] = {"frame", HAS_VALUE | REMOVABLE},
    [IR_MAP] = {"map", VALUE},
    [IR_MAP_VALUE] = {"map_value", VALUE},
    [IR_FUNCTION] = {"function", VALUE},
    [IR_ADD] = {"add", VALUE},
    [IR_SUB] = {"sub", VALUE},
    [IR_MUL] = {"mul", VALUE},
    [IR_UDIV] = {"udiv", VALUE},
    [IR_SDIV] = {"sdiv", VALUE},
    [IR_UMOD] = {"umod", VALUE},
    [IR_SMOD] = {"smod", VALUE},
    [IR_AND] = {"and", VALUE},
    [IR_OR] = {"or", VALUE},
    [IR_XOR] = {"xor", VALUE},
    [IR_SHL] = {"shl", VALUE},
    [IR_LSHR] = {"lshr", VALUE},
    [IR_ASHR] = {"ashr", VALUE},
    [IR_NEG] = {"neg", VALUE},
    [IR_NOT] = {"not", VALUE},
    [IR_BSWAP] = {"bswap", VALUE},
    [IR_EXTEND] = {"extend", VALUE},
    [IR_EQ] = {"eq", VALUE},
    [IR_NE] = {"ne", VALUE},
    [IR_ULT] = {"ult", VALUE},
    [IR_ULE] = {"ule", VALUE},
    [IR_UGT] = {"ugt", VALUE},
    [IR_UGE] = {"uge", VALUE},
    [IR_SLT] = {"slt", VALUE},
    [IR_SLE] = {"sle", VALUE},
    [IR_SGT] = {"sgt", VALUE},
    [IR_SGE] = {"sge", VALUE},
    [IR_LOAD] = {"load", HAS_VALUE | REMOVABLE},
    [IR_STORE] = {"store", 0},
    [IR_ATOMIC_ADD] = {"atomic_add", 0},
    [IR_ATOMIC_EXCHANGE] = {"atomic_exchange", HAS_VALUE},
    [IR_ATOMIC_COMPARE] = {"atomic_compare", HAS_VALUE},
    [IR_CALL] = {"call", HAS_VALUE},
    [IR_CALL_LOCAL] = {"call_local", HAS_VALUE},
    [IR_PHI] = {"phi", HAS_VALUE | REMOVABLE},
    [IR_JUMP] = {"jump", 0},
    [IR_BRANCH] = {"branch", 0},
    [IR_RETURN] = {"return", 0},
    [IR_UNREACHABLE] = {"unreachable", 0},
};

const char *ir_op_name(enum ir_op op)
{
    return operations[op].name;
}

bool ir_has_value(const struct ir *ir)
{
    return operations[ir->op].properties & HAS_VALUE;
}

bool ir_is_pure(const struct ir *ir)
{
    if (ir->op == IR_CALL)
        return helper_effects(ir->immediate) & HELPER_ONCE;
    return operations[ir->op].properties & PURE;
}

bool ir_is_removable(const struct ir *ir)
{
    if (ir->op == IR_CALL)
        return helper_effects(ir->immediate) & HELPER_REMOVABLE;
    return operations[ir->op].properties & REMOVABLE;
}

/* Operands */

static bool has_arguments(const struct ir *ir)
{
    return ir->op == IR_CALL || ir->op == IR_CALL_LOCAL || ir->op == IR_PHI;
}

unsigned ir_operand_count(const struct ir *ir)
{
    if (has_arguments(ir))
        return ir->argument_count;
    return ir->c ? 3 : ir->b ? 2 : ir->a ? 1 : 0;
}

struct ir **ir_operand(struct ir *ir, unsigned index)
{
    if (has_arguments(ir))
        return &ir->arguments[index];
    return index == 0 ? &ir->a : index == 1 ? &ir->b : &ir->c;
}

unsigned ir_successors(const struct ir_block *block, struct ir_block *to[2])
{
    if (!block->last || (block->last->op != IR_JUMP && block->last->op != IR_BRANCH))
        return 0;
    to[0] = block->last->to[0];
    to[1] = block->last->to[1];
    return block->last->op == IR_JUMP ? 1 : 2;
}

/* Helpers. The kernel's header lists names with or without numbers, depending on its age. */

#define HELPER_NAME(name, ...) [BPF_FUNC_##name] = #name
static const char *const helper_names[] = {__BPF_FUNC_MAPPER(HELPER_NAME)};
#undef HELPER_NAME

const char *ir_helper_name(int64_t helper)
{
    if (helper == KFUNC_copy_from_user_str)
        return "copy_from_user_str";
    if (helper <= 0 || helper >= (int64_t)(sizeof helper_names / sizeof *helper_names))
        return NULL;
    return helper_names[helper];
}

enum {
    SILENT = HELPER_REMOVABLE | HELPER_READS_ONLY | HELPER_NO_MAPS,
    PASSIVE = HELPER_READS_ONLY | HELPER_NO_MAPS,
};

static const uint8_t effects[] = {
    [BPF_FUNC_get_current_pid_tgid] = HELPER_ONCE | SILENT,
    [BPF_FUNC_get_current_uid_gid] = HELPER_ONCE | SILENT,
    [BPF_FUNC_get_smp_processor_id] = HELPER_ONCE | SILENT,
    [BPF_FUNC_get_numa_node_id] = HELPER_ONCE | SILENT,
    [BPF_FUNC_get_current_task] = HELPER_ONCE | SILENT,
    [BPF_FUNC_get_current_task_btf] = HELPER_ONCE | SILENT,
    [BPF_FUNC_get_current_cgroup_id] = HELPER_ONCE | SILENT,
    [BPF_FUNC_get_current_ancestor_cgroup_id] = HELPER_ONCE | SILENT,
    [BPF_FUNC_get_attach_cookie] = HELPER_ONCE | SILENT,
    [BPF_FUNC_get_func_ip] = HELPER_ONCE | SILENT,
    [BPF_FUNC_task_pt_regs] = HELPER_ONCE | SILENT,
    [BPF_FUNC_ktime_get_ns] = SILENT,
    [BPF_FUNC_ktime_get_boot_ns] = SILENT,
    [BPF_FUNC_ktime_get_coarse_ns] = SILENT,
    [BPF_FUNC_jiffies64] = SILENT,
    [BPF_FUNC_get_prandom_u32] = SILENT,
    [BPF_FUNC_map_lookup_elem] = SILENT,
    [BPF_FUNC_map_lookup_percpu_elem] = SILENT,
    [BPF_FUNC_strncmp] = SILENT,
    [BPF_FUNC_map_update_elem] = HELPER_READS_ONLY,
    [BPF_FUNC_map_delete_elem] = HELPER_READS_ONLY,
    [BPF_FUNC_task_storage_get] = PASSIVE, /* storage is no map that is looked up */
    [BPF_FUNC_ringbuf_output] = PASSIVE,
    [BPF_FUNC_ringbuf_reserve] = PASSIVE,
    [BPF_FUNC_ringbuf_submit] = PASSIVE,
    [BPF_FUNC_ringbuf_discard] = PASSIVE,
    [BPF_FUNC_ringbuf_query] = SILENT,
    [BPF_FUNC_perf_event_output] = PASSIVE,
    [BPF_FUNC_trace_printk] = PASSIVE,
    [BPF_FUNC_send_signal] = PASSIVE,
    [BPF_FUNC_probe_read] = HELPER_NO_MAPS,
    [BPF_FUNC_probe_read_str] = HELPER_NO_MAPS,
    [BPF_FUNC_probe_read_user] = HELPER_NO_MAPS,
    [BPF_FUNC_probe_read_kernel] = HELPER_NO_MAPS,
    [BPF_FUNC_probe_read_user_str] = HELPER_NO_MAPS,
    [BPF_FUNC_probe_read_kernel_str] = HELPER_NO_MAPS,
    [BPF_FUNC_copy_from_user] = HELPER_NO_MAPS,
    [BPF_FUNC_get_current_comm] = HELPER_NO_MAPS,
    [BPF_FUNC_get_stack] = HELPER_NO_MAPS,
    [BPF_FUNC_get_task_stack] = HELPER_NO_MAPS,
    [BPF_FUNC_snprintf] = HELPER_NO_MAPS,
};

unsigned helper_effects(int64_t helper)
{
    if (helper == KFUNC_copy_from_user_str)
        return HELPER_NO_MAPS;
    return helper >= 0 && helper < (int64_t)sizeof effects ? effects[helper] : 0;
}

/* Arithmetic */

static int64_t divide(int64_t x, int64_t y, bool remainder)
{
    if (!y)
        return remainder ? x : 0;
    if (y == -1) /* the smallest integer has no positive counterpart */
        return remainder ? 0 : (int64_t)(0 - (uint64_t)x);
    return remainder ? x % y : x / y;
}

int64_t ir_fold_binary(enum ir_op op, int64_t x, int64_t y)
{
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    switch (op) {
    case IR_ADD: return (int64_t)(a + b);
    case IR_SUB: return (int64_t)(a - b);
    case IR_MUL: return (int64_t)(a * b);
    case IR_UDIV: return b ? (int64_t)(a / b) : 0;
    case IR_UMOD: return b ? (int64_t)(a % b) : x;
    case IR_SDIV: return divide(x, y, false);
    case IR_SMOD: return divide(x, y, true);
    case IR_AND: return x & y;
    case IR_OR: return x | y;
    case IR_XOR: return x ^ y;
    case IR_SHL: return (int64_t)(a << (b & 63));
    case IR_LSHR: return (int64_t)(a >> (b & 63));
    case IR_ASHR: return x >> (b & 63);
    case IR_EQ: return a == b;
    case IR_NE: return a != b;
    case IR_ULT: return a < b;
    case IR_ULE: return a <= b;
    case IR_UGT: return a > b;
    case IR_UGE: return a >= b;
    case IR_SLT: return x < y;
    case IR_SLE: return x <= y;
    case IR_SGT: return x > y;
    case IR_SGE: return x >= y;
    default: assert(!"a binary operation"); return 0;
    }
}

int64_t ir_fold_extend(int64_t x, unsigned size, bool is_signed)
{
    unsigned shift = 64 - 8 * size;
    uint64_t up = (uint64_t)x << shift;
    return is_signed ? (int64_t)up >> shift : (int64_t)(up >> shift);
}

int64_t ir_fold_bswap(int64_t x, unsigned size)
{
    switch (size) {
    case 2: return __builtin_bswap16((uint16_t)x);
    case 4: return __builtin_bswap32((uint32_t)x);
    default: return (int64_t)__builtin_bswap64((uint64_t)x);
    }
}

static const struct {
    enum ir_op swapped, negated;
} comparisons[] = {
    [IR_EQ - IR_EQ] = {IR_EQ, IR_NE},    [IR_NE - IR_EQ] = {IR_NE, IR_EQ},
    [IR_ULT - IR_EQ] = {IR_UGT, IR_UGE}, [IR_ULE - IR_EQ] = {IR_UGE, IR_UGT},
    [IR_UGT - IR_EQ] = {IR_ULT, IR_ULE}, [IR_UGE - IR_EQ] = {IR_ULE, IR_ULT},
    [IR_SLT - IR_EQ] = {IR_SGT, IR_SGE}, [IR_SLE - IR_EQ] = {IR_SGE, IR_SGT},
    [IR_SGT - IR_EQ] = {IR_SLT, IR_SLE}, [IR_SGE - IR_EQ] = {IR_SLE, IR_SLT},
};

enum ir_op ir_compare_swapped(enum ir_op op)
{
    return comparisons[op - IR_EQ].swapped;
}

enum ir_op ir_compare_negated(enum ir_op op)
{
    return comparisons[op - IR_EQ].negated;
}
