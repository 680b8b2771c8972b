/* SPDX-License-Identifier: BSD-3-Clause */
/* What the probe hands to its action block. The probe kind knows where it is; here are only the names. */
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "sym/machine/machine.h"

/* The type of the arguments as a value: each field in storage form, one after the other. The probe kind's own
 * struct says where things are in the event, where not everything has its full size. */
static const struct type *args_value(struct arena *arena, const struct type *args)
{
    struct type *value = arena_new(arena, struct type);
    struct field *fields = arena_array(arena, args->count + 1, sizeof *fields);
    *value = *args;
    value->fields = fields;
    uint64_t size = 0;
    for (uint32_t i = 0; i < args->count; i++) {
        fields[i] = (struct field){.name = args->fields[i].name, .type = args->fields[i].type};
        fields[i].offset = (uint32_t)size;
        size += type_storage(fields[i].type);
        if (size > INT32_MAX) /* debug information may claim any size */
            size = INT32_MAX & ~7;
    }
    value->size = (uint32_t)size;
    return value;
}

/* Of a probe at a return, says where the arguments were. */
static void hint_at_return(struct checker *checker)
{
    const struct probe_context *context = checker->unit->context;
    const char *at = strchr(checker->unit->probe, ':');
    static const char leave[] = "ret";
    const char *kind = context->is_return && context->kind ? strstr(context->kind, leave) : NULL;
    if (!kind || !at)
        return;
    check_hint(
        checker,
        "a return has no arguments any more: keep them from the beginning, %.*s%s%s { @kept[tid] = arg0; }",
        (int)(kind - context->kind), context->kind, kind + sizeof leave - 1, at);
}

static const struct type *check_args(struct checker *checker, struct node *node)
{
    const struct probe_context *context = checker->unit->context;
    if (context->args)
        return args_value(checker->arena, context->args);
    check_error(checker, node->span, "args is not available with %s%s%s", checker->unit->probe,
                context->args_missing ? ": " : "", context->args_missing ? context->args_missing : "");
    if (context->argument_count)
        check_hint(checker, "use arg0 to arg%u", context->argument_count - 1);
    else
        hint_at_return(checker);
    return NULL;
}

static struct ir *lower_args(struct lowering *l, struct node *node, struct destination *into)
{
    const struct probe_context *context = l->context;
    for (uint32_t i = 0; destination_is_memory(into) && i < context->args->count; i++) {
        const struct field *from = &context->args->fields[i];
        struct memory to = {into->memory.base, into->memory.offset + (int32_t)node->type->fields[i].offset};
        struct ir *value = context->lower_args_field(l, context, from);
        uint32_t size = from->type->size, storage = type_storage(from->type);
        if (type_is_scalar(from->type)) {
            ir_store(&l->b, to.base, to.offset, 8, value);
            continue;
        }
        if (storage > size)
            ir_store_constant(&l->b, to.base, to.offset + (int32_t)storage - 8, 8, 0);
        lower_read(l, to, size, value, lower_args_space(l), node->span);
    }
    return NULL;
}

static const struct type *check_argument_number(struct checker *checker, struct node *node)
{
    const struct probe_context *context = checker->unit->context;
    uint32_t number = node->name.number;
    if (number < context->argument_count && context->arguments[number])
        return context->arguments[number];
    if (context->argument_count)
        check_error(checker, node->span, "%s has no arg%u: it has arg0 to arg%u", checker->unit->probe,
                    number, context->argument_count - 1);
    else
        check_error(checker, node->span, "arg%u is not available with %s", number, checker->unit->probe);
    if (!context->argument_count && context->args && context->args->count)
        check_hint(checker, "its arguments have names: args.%s; `spoor -lv '%s'` lists them",
                   context->args->fields[context->args->count - 1].name, checker->unit->probe);
    else if (!context->argument_count && context->args_missing && !context->is_return)
        check_hint(checker, "%s", context->args_missing);
    else if (!context->argument_count)
        hint_at_return(checker);
    return NULL;
}

static struct ir *lower_argument_number(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    return l->context->lower_argument(l, l->context, node->name.number);
}

static const struct type *check_retval(struct checker *checker, struct node *node)
{
    const char *missing = checker->unit->context->retval_missing;
    if (checker->unit->context->retval)
        return checker->unit->context->retval;
    check_error(checker, node->span, "retval is not available with %s%s%s", checker->unit->probe,
                missing ? ": " : "", missing ? missing : "");
    if (missing)
        return NULL;
    check_hint(checker, "use a return probe: uretprobe, kretprobe");
    return NULL;
}

static struct ir *lower_retval(struct lowering *l, struct node *node, struct destination *into)
{
    const struct type *type = l->context->retval;
    struct ir *value = l->context->lower_retval(l, l->context);
    if (type_is_scalar(type))
        return value;
    if (destination_is_memory(into)) { /* value is the address of its bytes */
        uint32_t storage = type_storage(type);
        if (storage > type->size)
            ir_store_constant(&l->b, into->memory.base, into->memory.offset + (int32_t)storage - 8, 8, 0);
        lower_read(l, into->memory, type->size, value, lower_args_space(l), node->span);
    }
    return NULL;
}

static const struct type *check_ctx(struct checker *checker, struct node *node)
{
    if (checker->unit->context->ctx)
        return checker->unit->context->ctx;
    check_error(checker, node->span, "ctx is not available with %s", checker->unit->probe);
    return NULL;
}

static struct ir *lower_context(struct lowering *l, struct node *node, struct destination *into)
{
    (void)node, (void)into;
    return lower_ctx_address(l);
}

static const struct type *check_name(struct checker *checker, struct node *node)
{
    (void)node;
    return type_probe_name(checker->arena, checker->name_bytes);
}

/* A constant, so that it can be compared while the script is compiled. */
static const struct type *check_probetype(struct checker *checker, struct node *node)
{
    const char *kind = checker->unit->context->kind;
    bool is_special = !strcmp(kind, "begin") || !strcmp(kind, "end");
    node->kind = NODE_STRING;
    node->string.text = is_special ? "special" : kind;
    node->string.length = strlen(node->string.text);
    return type_string(checker->arena, (uint32_t)node->string.length + 1);
}

static const struct type *check_func(struct checker *checker, struct node *node)
{
    const struct probe_context *context = checker->unit->context;
    if (context->site_function)
        return type_probe_name(checker->arena, checker->name_bytes);
    check_error(checker, node->span, "func is not available with %s: it is not at a function",
                checker->unit->probe);
    return NULL;
}

/* Names stand in the session's table: first the names of the variant's sites, then their functions. */
static void lower_name(struct lowering *l, struct destination *into, uint32_t first)
{
    struct ir *site =
        l->context->site_count > 1 ? l->context->lower_site(l, l->context) : ir_constant(&l->b, 0);
    if (destination_is_memory(into))
        ir_store(&l->b, into->memory.base, into->memory.offset, 8,
                 ir_binary_constant(&l->b, IR_ADD, site, first));
}

static struct ir *lower_probe(struct lowering *l, struct node *node, struct destination *into)
{
    (void)node;
    lower_name(l, into, l->request->name_base);
    return NULL;
}

static struct ir *lower_func(struct lowering *l, struct node *node, struct destination *into)
{
    (void)node;
    lower_name(l, into, l->request->name_base + l->context->site_count);
    return NULL;
}

static const struct type *check_reg(struct checker *checker, struct node *node)
{
    struct machine_register found;
    const struct node *argument = check_argument(node, 0);
    if (!checker->unit->context->has_registers) {
        check_error(checker, node->span, "reg() is not available with %s: it has no registers",
                    checker->unit->probe);
        return NULL;
    }
    if (!machine_register_named(machine_here(), check_literal(argument), &found)) {
        check_error(checker, argument->span, "'%s' is not a register of this machine",
                    check_literal(argument));
        check_hint(checker, "names are as in struct pt_regs without the r: ax, di, r8, ip, sp");
        return NULL;
    }
    return &type_u64;
}

static struct ir *lower_reg(struct lowering *l, struct node *node, struct destination *into)
{
    struct machine_register found;
    (void)into;
    if (!machine_register_named(machine_here(), check_literal(check_argument(node, 0)), &found))
        return ir_constant(&l->b, 0); /* refused by check_reg */
    return ir_load(&l->b, lower_ctx(l), found.offset, 8, false);
}

enum { EITHER = BUILTIN_BARE | BUILTIN_CALL };

#ifdef __x86_64__
enum { FIRST_ON_STACK = 1 }; /* the first word on the stack is the return address */
#else
enum { FIRST_ON_STACK = 0 };
#endif

static const struct type *check_stack_argument(struct checker *checker, struct node *node)
{
    check_error(checker, node->span, "%s is not there any more: bpftrace 0.25 removed it", node->name.name);
    check_hint(checker, "read the stack: *(uint64 *)uptr(reg(\"sp\") + %u)",
               8 * (node->name.number + FIRST_ON_STACK));
    return NULL;
}

const struct builtin builtins_context[] = {
    {"args", "args", BUILTIN_BARE | BUILTIN_USES_ARGS, .check = check_args, .lower = lower_args},
    {"arg", "arg0, arg1 …", BUILTIN_BARE | BUILTIN_NUMBERED | BUILTIN_USES_ARGUMENT,
     .check = check_argument_number, .lower = lower_argument_number},
    {"sarg", "reg(\"sp\")", BUILTIN_BARE | BUILTIN_NUMBERED, .check = check_stack_argument},
    {"retval", "retval", EITHER | BUILTIN_USES_RETVAL, .check = check_retval, .lower = lower_retval},
    {"ctx", "ctx", EITHER | BUILTIN_USES_CTX, .check = check_ctx, .lower = lower_context},
    {"probe", "probe", EITHER | BUILTIN_USES_SITE, .check = check_name, .lower = lower_probe},
    {"probetype", "probetype", EITHER, .check = check_probetype},
    {"func", "func", EITHER | BUILTIN_USES_SITE, .check = check_func, .lower = lower_func},
    {"reg",
     "reg(\"name\")",
     BUILTIN_CALL | BUILTIN_USES_REGISTERS,
     1,
     1,
     {PARAMETER_LITERAL_STRING},
     .check = check_reg,
     .lower = lower_reg},
    {0},
};
