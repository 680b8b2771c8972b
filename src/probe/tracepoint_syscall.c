/* SPDX-License-Identifier: BSD-3-Clause */
/* Many system calls by one program: attached to the hook that all of them pass, it looks its number up in a
 * table (number → site + 1) and goes on only when somebody asked for it. Arguments come from the registers.
 *
 * With BTF-typed programs (tp_btf) the registers are read directly, else through bpf_probe_read_kernel.
 * 32-bit calls have other numbers and other arguments; the perf tracepoints ignore them, so this must, too.
 * A number is masked to the table's size wherever it is used, so that each use verifies by itself, also in
 * the body of a loop. */
#include <string.h>

#include "bpf/lower/lower.h"
#include "probe/tracepoint.h"
#include "sym/kernel/btf.h"
#include "sym/machine/machine.h"
#include "sym/kernel/syscalls.h"

enum { ARGUMENTS = 6, TABLE_LARGEST = 4096 };

/* Which registers hold arguments and number of a system call, and what marks a 32-bit one, for each machine. */
static const struct syscall_machine {
    enum machine machine;
    uint16_t arguments[ARGUMENTS]; /* offsets in struct pt_regs */
    uint16_t number;               /* at exit */
    const char *status;            /* member of struct thread_info */
    uint32_t compat;
} syscall_machines[] = {
    {MACHINE_X86_64, {112, 104, 96, 56, 72, 64}, 120, "status", 2 /* TS_COMPAT */},
    {MACHINE_AARCH64, {0, 8, 16, 24, 32, 40}, 280, "flags", 1u << 22 /* TIF_32BIT */},
};

static const struct syscall_machine *syscall_machine_here(void)
{
    for (size_t i = 0; i < sizeof syscall_machines / sizeof *syscall_machines; i++)
        if (syscall_machines[i].machine == machine_here())
            return &syscall_machines[i];
    return NULL;
}

/* Offset in struct task_struct of the word that tells a 32-bit call. */
static bool status_offset(struct probe_environment *environment, uint32_t *offset)
{
    const struct syscall_machine *machine = syscall_machine_here();
    struct btf_file *btf = machine ? probe_btf(environment) : NULL;
    const struct type *task = btf ? btf_file_type(btf, "struct task_struct") : NULL;
    struct field info, status;
    if (!task || !type_find_field(task, "thread_info", &info) || info.type->kind != TYPE_STRUCT ||
        !type_find_field(info.type, machine->status, &status))
        return false;
    *offset = info.offset + status.offset;
    return true;
}

bool tracepoint_dispatch_works(struct probe_environment *environment)
{
    uint32_t offset;
    return status_offset(environment, &offset);
}

static bool is_exit(const struct probe_context *context)
{
    const struct probe_variant *variant = context->data;
    return ((const struct tracepoint_site *)variant->sites[0].detail)->is_exit;
}

const char *tracepoint_dispatch_event(const struct probe_variant *variant)
{
    return is_exit(&variant->context) ? "sys_exit" : "sys_enter";
}

/* ---- reading ---- */

static struct ir *registers_load(struct lowering *l, const struct probe_context *context, uint32_t offset,
                                 const struct type *type)
{
    struct ir *registers = ir_load(&l->b, lower_ctx(l), 0, 8, false);
    if (context->program_type == BPF_PROG_TYPE_TRACING)
        return ir_load(&l->b, registers, (int32_t)offset, type->size, type->is_signed);
    return lower_read_scalar(l, ir_offset(&l->b, registers, (int32_t)offset), type, SPACE_KERNEL, l->b.span);
}

static struct ir *syscall_load_number(struct lowering *l, const struct probe_context *context)
{
    if (is_exit(context))
        return registers_load(l, context, syscall_machine_here()->number, &type_u64);
    return ir_load(&l->b, lower_ctx(l), 8, 8, false);
}

static uint32_t table_entries(void)
{
    uint32_t entries = 64;
    while (entries < (uint32_t)syscall_limit() && entries < TABLE_LARGEST)
        entries *= 2;
    return entries;
}

/* The word of the table for this number: the site's index + 1, or 0. */
static struct ir *table_word(struct lowering *l, const struct tracepoint_detail *detail, struct ir *number)
{
    struct ir *index = ir_binary_constant(&l->b, IR_AND, number, table_entries() - 1);
    struct ir *offset = ir_binary_constant(&l->b, IR_SHL, index, 2);
    struct ir *table = ir_map_value(&l->b, detail->map, 0);
    return ir_load(&l->b, ir_binary(&l->b, IR_ADD, table, offset), 0, 4, false);
}

static struct ir *dispatch_site(struct lowering *l, const struct probe_context *context)
{
    const struct probe_variant *variant = context->data;
    struct ir *word = table_word(l, variant->detail, syscall_load_number(l, context));
    return ir_binary_constant(&l->b, IR_SUB, word, 1);
}

/* Leaves the program unless the condition holds. */
static void leave_unless(struct lowering *l, struct ir *condition)
{
    struct ir_block *on = ir_label(&l->b), *out = ir_label_unlikely(&l->b);
    ir_branch(&l->b, condition, on, out);
    ir_place(&l->b, out);
    ir_return(&l->b, ir_constant(&l->b, 0));
    ir_place(&l->b, on);
}

static struct ir *task_status(struct lowering *l, const struct tracepoint_detail *detail)
{
    /* bpf_get_current_task_btf came with task storage. */
    if (l->options->features->task_storage)
        return ir_load(&l->b, ir_call(&l->b, BPF_FUNC_get_current_task_btf, 0), (int32_t)detail->status, 4,
                       false);
    struct ir *task = ir_call(&l->b, BPF_FUNC_get_current_task, 0);
    return lower_read_scalar(l, ir_offset(&l->b, task, (int32_t)detail->status), &type_u32, SPACE_KERNEL,
                             l->b.span);
}

static void dispatch_gate(struct lowering *l, const struct probe_context *context)
{
    const struct probe_variant *variant = context->data;
    struct tracepoint_detail *detail = variant->detail;
    uint32_t entries = table_entries();
    uint32_t *table = arena_array(l->arena, entries, sizeof *table);
    for (size_t i = 0; i < variant->count; i++) {
        const struct tracepoint_site *site = variant->sites[i].detail;
        if ((uint32_t)site->syscall < entries)
            table[site->syscall] = (uint32_t)i + 1;
    }
    detail->map = (uint32_t)l->image->map_count;
    *arena_push(l->arena, l->image->maps, l->image->map_count, l->image->map_room) = (struct image_map){
        .name = "syscalls",
        .type = BPF_MAP_TYPE_ARRAY,
        .key_size = 4,
        .value_size = entries * (uint32_t)sizeof *table,
        .max_entries = 1,
        .flags = BPF_F_RDONLY_PROG,
        .initial = table,
    };
    struct ir *number = syscall_load_number(l, context);
    leave_unless(l, ir_binary_constant(&l->b, IR_ULT, number, entries));
    leave_unless(l, table_word(l, detail, number));
    if (detail->compat) {
        struct ir *bit = ir_binary_constant(&l->b, IR_AND, task_status(l, detail), detail->compat);
        leave_unless(l, ir_binary_constant(&l->b, IR_EQ, bit, 0));
    }
}

/* Which argument a field of a system call's record is: the fields behind the number are arguments 0, 1 and so on. -1:
 * none. */
static int field_position(const struct type *args, const char *name)
{
    int position = -1;
    bool behind = false;
    for (uint32_t i = 0; i < args->count; i++) {
        position += behind;
        if (behind && !strcmp(args->fields[i].name, name))
            return position < ARGUMENTS ? position : -1;
        behind |= !strcmp(args->fields[i].name, "__syscall_nr");
    }
    return -1;
}

static struct ir *dispatch_field(struct lowering *l, const struct probe_context *context,
                                 const struct field *field)
{
    if (!strcmp(field->name, "common_pid"))
        return ir_extend(&l->b, lower_pid_tgid(l), 4, true);
    int position = field_position(context->args, field->name);
    if (position < 0)
        return ir_extend(&l->b, syscall_load_number(l, context), 4, true);
    if (is_exit(context))
        return ir_extend(&l->b, ir_load(&l->b, lower_ctx(l), 8, 8, true), field->type->size,
                         field->type->is_signed);
    return registers_load(l, context, syscall_machine_here()->arguments[position], field->type);
}

/* ---- planning ---- */

void tracepoint_dispatch_key(struct probe_environment *environment, const struct context_uses *uses,
                             const struct probe_site *probe_site, struct text *key)
{
    const struct tracepoint_site *site = probe_site->detail;
    (void)environment;
    text_add(key, site->is_exit ? "exit" : "enter");
    for (uint32_t i = 0; site->args && i < site->args->count; i++) {
        const struct field *field = &site->args->fields[i];
        if (!tracepoint_reads_field(uses, field->name))
            continue;
        text_printf(key, "|%s@%d ", field->name, field_position(site->args, field->name));
        type_describe(key, field->type);
    }
}

void tracepoint_dispatch_fill(struct probe_environment *environment, const struct context_uses *uses,
                              struct probe_variant *variant)
{
    const struct tracepoint_site *site = variant->sites[0].detail;
    struct tracepoint_detail *detail = arena_new(environment->arena, struct tracepoint_detail);
    struct probe_context *context = &variant->context;
    struct btf_prototype prototype;
    detail->method = TRACEPOINT_DISPATCH;
    if (status_offset(environment, &detail->status))
        detail->compat = syscall_machine_here()->compat;
    variant->detail = detail;
    /* The variant moves while the list of variants grows: lowering gets a copy that stays. */
    struct probe_variant *kept = arena_new(environment->arena, struct probe_variant);
    context->program_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
    if (environment->features.tp_btf &&
        !btf_file_tracepoint(probe_btf(environment), site->is_exit ? "sys_exit" : "sys_enter", &prototype)) {
        context->program_type = BPF_PROG_TYPE_TRACING;
        context->expected_attach_type = BPF_TRACE_RAW_TP;
        context->attach_btf_id = prototype.id;
    }
    context->space = SPACE_USER;
    context->args = site->args;
    context->args_missing = tracepoint_args_missing(uses);
    context->lower_gate = dispatch_gate;
    context->lower_site = dispatch_site;
    context->lower_args_field = dispatch_field;
    context->data = kept;
    *kept = *variant;
}
