/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe/call.h"

#include "bpf/lower/lower.h"
#include "sym/kernel/btf.h"
#include "sym/machine/machine.h"

static struct ir *call_argument(struct lowering *l, const struct probe_context *context, unsigned number)
{
    struct machine_register found;
    (void)context;
    if (!machine_register_argument(machine_here(), number, &found))
        return ir_constant(&l->b, 0);
    return ir_load(&l->b, lower_ctx(l), found.offset, 8, false);
}

static struct ir *call_retval(struct lowering *l, const struct probe_context *context)
{
    (void)context;
    return ir_load(&l->b, lower_ctx(l), machine_register_return(machine_here()).offset, 8, false);
}

void call_registers(struct probe_environment *environment, const struct context_uses *uses,
                    struct probe_context *context)
{
    context->has_registers = true;
    if (!uses->ctx)
        return;
    struct btf_file *btf = probe_btf(environment);
    const struct type *registers = btf ? btf_file_type(btf, "struct pt_regs") : NULL;
    context->ctx = type_pointer(environment->arena, registers ? registers : &type_none, SPACE_KERNEL);
}

void call_values(struct probe_environment *environment, struct probe_context *context, bool is_return,
                 const char *no_args)
{
    struct machine_register found;
    context->args_missing = no_args;
    if (is_return) {
        context->args_missing = "the arguments are gone when a function returns";
        context->is_return = true;
        context->retval = &type_u64;
        context->lower_retval = call_retval;
        return;
    }
    unsigned count = 0;
    while (machine_register_argument(machine_here(), count, &found))
        count++;
    const struct type **types = arena_array(environment->arena, count + 1, sizeof *types);
    for (unsigned i = 0; i < count; i++)
        types[i] = &type_u64;
    context->arguments = types;
    context->argument_count = count;
    context->lower_argument = call_argument;
}

void call_key(struct probe_environment *environment, const struct context_uses *uses,
              const struct probe_site *site, struct text *key)
{
    (void)environment;
    text_add(key, uses->site && !site->function ? "address" : "function");
}
