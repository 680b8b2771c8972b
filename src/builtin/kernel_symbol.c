/* SPDX-License-Identifier: BSD-3-Clause */
/* Symbols of the kernel by name, per-CPU variables, functions that programs may call; and kptr() and uptr(), which
 * say whose memory an address is in. */
#include <errno.h>
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "builtin/kernel_field.h"
#include "builtin/desugar.h"

static bool address_of(struct checker *checker, const char *name, uint64_t *address)
{
    const struct type_provider *provider = checker->provider;
    return provider && provider->kernel_address && !provider->kernel_address(provider->state, name, address);
}

static void no_symbol(struct checker *checker, const struct node *name, const char *builtin,
                      const char *symbol)
{
    check_error(checker, name->span, "%s: the kernel has no symbol '%s', or hides its address", builtin,
                symbol);
    check_hint(checker, "see /proc/kallsyms; addresses are hidden by kernel.kptr_restrict, and variables are "
                        "listed only by kernels with CONFIG_KALLSYMS_ALL");
}

/* ---- kaddr ---- */

static const struct type *check_kaddr(struct checker *checker, struct node *node)
{
    struct node *name = check_argument(node, 0);
    uint64_t address;
    if (!address_of(checker, check_literal(name), &address)) {
        no_symbol(checker, name, "kaddr", check_literal(name));
        return NULL;
    }
    uint64_t *kept = arena_new(checker->arena, uint64_t);
    *kept = address;
    node->call.data = kept;
    return &type_u64;
}

static struct ir *lower_kaddr(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    const uint64_t *address = node->call.data;
    return ir_constant(&l->b, address ? (int64_t)*address : 0);
}

/* ---- percpu_kaddr ---- */

/* A variable that every CPU has one of: its symbol says where it is in each CPU's part, and a table of the
 * kernel where the parts are. */
struct percpu {
    uint64_t symbol, parts;
};

static const struct type *check_percpu(struct checker *checker, struct node *node)
{
    static const char parts[] = "__per_cpu_offset";
    struct node *name = check_argument(node, 0);
    struct percpu found;
    uint64_t begin, end;
    const char *missing = !address_of(checker, parts, &found.parts)                  ? parts
                          : !address_of(checker, check_literal(name), &found.symbol) ? check_literal(name)
                                                                                     : NULL;
    if (missing) {
        no_symbol(checker, name, "percpu_kaddr", missing);
        return NULL;
    }
    if (address_of(checker, "__per_cpu_start", &begin) && address_of(checker, "__per_cpu_end", &end) &&
        (found.symbol < begin || found.symbol >= end)) {
        check_error(checker, name->span, "percpu_kaddr: there is only one '%s' for all CPUs",
                    check_literal(name));
        check_hint(checker, "kaddr(\"%s\") is its address", check_literal(name));
        return NULL;
    }
    if (!node->call.data)
        node->call.data = arena_new(checker->arena, struct percpu);
    *(struct percpu *)node->call.data = found;
    const struct type *type =
        checker->provider->kernel_variable
            ? checker->provider->kernel_variable(checker->provider->state, check_literal(name))
            : NULL;
    return type_pointer(checker->arena, type ? type : &type_u64, SPACE_KERNEL);
}

/* The address of a CPU's variable; 0 for a number that no CPU can have. */
static struct ir *lower_percpu(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    const struct percpu *percpu = node->call.data;
    struct node *number = check_argument(node, 1);
    struct ir *cpu = number ? lower_scalar(l, number) : ir_call(b, BPF_FUNC_get_smp_processor_id, 0);
    uint32_t address = ir_variable(b);
    (void)into;
    ir_write(b, address, ir_constant(b, 0));
    struct ir_if inside = ir_if(b, ir_binary_constant(b, IR_ULT, cpu, l->options->features->cpus));
    struct ir *slot =
        ir_binary(b, IR_ADD, ir_constant(b, (int64_t)percpu->parts), ir_binary_constant(b, IR_MUL, cpu, 8));
    struct ir *part = kernel_field_word(l, slot, 0, &type_u64, node->span);
    ir_write(b, address, ir_binary(b, IR_ADD, part, ir_constant(b, (int64_t)percpu->symbol)));
    ir_end_if(b, &inside);
    return ir_read(b, address);
}

/* ---- kfunc_exist, kfunc_allowed ---- */

enum { KFUNC_EXIST, KFUNC_ALLOWED };

static const struct type *check_kfunc(struct checker *checker, struct node *node)
{
    const struct type_provider *provider = checker->provider;
    const struct probe_context *context = checker->unit->context;
    const char *name = check_literal(check_argument(node, 0));
    bool answer = false;
    if (provider && node->call.builtin->data == KFUNC_EXIST && provider->kernel_function)
        answer = provider->kernel_function(provider->state, name);
    else if (provider && node->call.builtin->data == KFUNC_ALLOWED && provider->kernel_function_allowed)
        answer = provider->kernel_function_allowed(provider->state, name, context);
    return desugar_bool(node, answer);
}

/* ---- kptr, uptr ---- */

static const struct type *check_space(struct checker *checker, struct node *node)
{
    const struct type *type = check_argument(node, 0)->type;
    return type_pointer(checker->arena, type->kind == TYPE_INTEGER ? &type_none : type->target,
                        (enum address_space)node->call.builtin->data);
}

static struct ir *lower_space_mark(struct lowering *l, struct node *node, struct destination *into)
{
    enum address_space space;
    (void)into;
    return lower_pointer(l, check_argument(node, 0), &space);
}

const struct builtin builtins_kernel_symbol[] = {
    {"kaddr",
     "kaddr(\"symbol\")",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_LITERAL_STRING},
     .check = check_kaddr,
     .lower = lower_kaddr},
    {"percpu_kaddr",
     "percpu_kaddr(\"symbol\" [, cpu])",
     BUILTIN_CALL | BUILTIN_READS_KERNEL,
     1,
     2,
     {PARAMETER_LITERAL_STRING, PARAMETER_INTEGER},
     .check = check_percpu,
     .lower = lower_percpu},
    {"kfunc_exist",
     "kfunc_exist(\"function\")",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_LITERAL_STRING},
     .check = check_kfunc,
     .data = KFUNC_EXIST},
    {"kfunc_allowed",
     "kfunc_allowed(\"function\")",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_LITERAL_STRING},
     .check = check_kfunc,
     .data = KFUNC_ALLOWED},
    {"kptr",
     "kptr(pointer)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_POINTER},
     .check = check_space,
     .lower = lower_space_mark,
     .data = SPACE_KERNEL},
    {"uptr",
     "uptr(pointer)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_POINTER},
     .check = check_space,
     .lower = lower_space_mark,
     .data = SPACE_USER},
    {0},
};
