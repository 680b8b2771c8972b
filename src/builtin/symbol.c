/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses, stacks and network addresses: carried as numbers, named by the reader. */
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "sym/machine/machine.h"

static const struct type *check_simple(struct checker *checker, struct node *node)
{
    return type_simple(checker->arena, (enum type_kind)node->call.builtin->data);
}

static struct ir *lower_ksym(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir *address = lower_scalar(l, check_argument(node, 0));
    if (destination_is_memory(into))
        ir_store(&l->b, into->memory.base, into->memory.offset, 8, address);
    return NULL;
}

static struct ir *user_pid(struct lowering *l)
{
    return ir_binary_constant(&l->b, IR_LSHR, lower_pid_tgid(l), 32);
}

static struct ir *lower_usym(struct lowering *l, struct node *node, struct destination *into)
{
    lower_ksym(l, node, into);
    if (destination_is_memory(into))
        ir_store(&l->b, into->memory.base, into->memory.offset + 8, 8, user_pid(l));
    return NULL;
}

/* The kernel's functions answer some errors as pointers: -4095 to -1. */
static const struct type *check_is_err(struct checker *checker, struct node *node)
{
    (void)checker, (void)node;
    return &type_bool;
}

static struct ir *lower_is_err(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir *pointer = lower_scalar(l, check_argument(node, 0));
    (void)into;
    return ir_binary_constant(&l->b, IR_UGE, pointer, -4095);
}

/* ---- names to addresses ---- */

static const struct type *check_uaddr(struct checker *checker, struct node *node)
{
    const struct probe_context *context = checker->unit->context;
    struct node *name = check_argument(node, 0);
    uint32_t size = 0;
    if (!context->find_symbol) {
        check_error(checker, node->span,
                    "uaddr() is not available with %s: it is not at a known place of a program",
                    checker->unit->probe);
        check_hint(checker, "use it with uprobe or usdt");
        return NULL;
    }
    if (!context->find_symbol(context, check_literal(name), &size)) {
        check_error(checker, name->span, "uaddr: there is no symbol '%s' in the program of %s",
                    check_literal(name), checker->unit->probe);
        check_hint(checker, "what every thread has its own of (__thread, thread_local) has no address that a "
                            "probe could know");
        return NULL;
    }
    const struct type *type =
        context->symbol_type ? context->symbol_type(context, check_literal(name)) : NULL;
    if (type && type->kind != TYPE_NONE)
        return type_pointer(checker->arena, type, SPACE_USER);
    /* The symbol's size gives what it points to: a variable of 1, 2, 4 or 8 bytes, else bytes. */
    bool whole = size == 1 || size == 2 || size == 4 || size == 8;
    return type_pointer(checker->arena, type_integer(whole ? size : 1, false), SPACE_USER);
}

static struct ir *lower_uaddr(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    return l->context->lower_symbol(l, l->context, check_literal(check_argument(node, 0)));
}

/* ---- stacks ---- */

enum { STACK_FRAMES_MAX = 127 };
static const char *const stack_modes[] = {"bpftrace", "perf", "raw", "build_id"}; /* enum stack_mode */
enum { STACK_MODES = sizeof stack_modes / sizeof *stack_modes };

static bool node_is_word(const struct node *node, const char *word)
{
    return node->kind == NODE_NAME && !strcmp(node->name.name, word);
}

/* ustack(dwarf, …): by call frame information where that can be. */
static bool asks_for_unwinding(const struct node *node)
{
    return node->kind == NODE_CALL && node->call.builtin->flags & BUILTIN_MAY_UNWIND &&
           node->call.arguments.count && node_is_word(check_argument(node, 0), UNWINDING_WORD);
}

/* kstack, kstack(), kstack(n), kstack(mode), kstack(mode, n); ustack has UNWINDING_WORD before these. */
static const struct type *check_stack(struct checker *checker, struct node *node)
{
    bool is_call = node->kind == NODE_CALL;
    const struct builtin *builtin = is_call ? node->call.builtin : node->name.builtin;
    const unsigned first = asks_for_unwinding(node);
    struct type *type = arena_new(checker->arena, struct type);
    *type = *type_simple(checker->arena, (enum type_kind)builtin->data);
    type->stack_frames = STACK_FRAMES_MAX;
    type->stack_mode = checker->stack_mode;
    for (unsigned i = first; is_call && i < node->call.arguments.count; i++) {
        struct node *argument = check_argument(node, i);
        if (argument->kind == NODE_INTEGER && i + 1 == node->call.arguments.count) {
            uint64_t frames = argument->integer.value;
            if (frames == 0 || frames > STACK_FRAMES_MAX) {
                check_error(checker, argument->span, "%s(): the number of frames must be 1 to %d, found %lld",
                            builtin->name, STACK_FRAMES_MAX, (long long)frames);
                return NULL;
            }
            type->stack_frames = (uint32_t)frames;
            continue;
        }
        unsigned mode = 0;
        while (mode < STACK_MODES && !node_is_word(argument, stack_modes[mode]))
            mode++;
        if (mode == STACK_MODES || i > first) {
            check_error(checker, argument->span,
                        "%s(): expected %sa mode (bpftrace, perf, raw or build_id) or a number of frames",
                        builtin->name, builtin->flags & BUILTIN_MAY_UNWIND && !i ? UNWINDING_WORD ", " : "");
            return NULL;
        }
        if (mode == STACK_BUILD_ID && type->kind == TYPE_KSTACK) {
            check_error(checker, argument->span, "%s(): build_id is a mode of ustack", builtin->name);
            return NULL;
        }
        type->stack_mode = (enum stack_mode)mode;
    }
    if (type->kind == TYPE_KSTACK && type->stack_mode == STACK_BUILD_ID)
        type->stack_mode = STACK_BPFTRACE; /* the setting is for those that have it */
    return type;
}

static void lower_stack_by(struct lowering *l, struct node *node, enum stack_method method,
                           struct destination *into)
{
    struct ir *id = lower_stack(l, method, node->type->stack_frames, node->span);
    if (destination_is_memory(into))
        ir_store(&l->b, into->memory.base, into->memory.offset, 8, id);
    if (destination_is_memory(into) && method != STACK_OF_KERNEL)
        ir_store(&l->b, into->memory.base, into->memory.offset + 8, 8, user_pid(l));
}

static struct ir *lower_kstack(struct lowering *l, struct node *node, struct destination *into)
{
    lower_stack_by(l, node, STACK_OF_KERNEL, into);
    return NULL;
}

static bool can_unwind(const struct lowering *l)
{
    const struct features *features = l->options->features;
    return machine_here() == MACHINE_X86_64 && features->loop && features->program_btf && l->options->unwind;
}

static const char unwinding_needs[] =
    "needs Linux 6.1 or newer on x86-64, and the kernel's types (/sys/kernel/btf/vmlinux)";

/* A recording has neither registers nor memory: there the stack is what was recorded, however it is asked for. */
static struct ir *lower_ustack(struct lowering *l, struct node *node, struct destination *into)
{
    const bool asks = asks_for_unwinding(node) && !l->context->has_record;
    const bool unwinds = asks && can_unwind(l);
    if (asks && !unwinds)
        diagnose_warning(l->diagnostics, node->span,
                         "ustack(" UNWINDING_WORD ") %s: frame pointers are followed", unwinding_needs);
    lower_stack_by(l, node, unwinds ? STACK_UNWOUND : STACK_OF_USER, into);
    return NULL;
}

static const struct type *check_unwound(struct checker *checker, struct node *node)
{
    if (machine_here() != MACHINE_X86_64) {
        check_error(checker, node->span, "dw_ustack is for programs of x86-64");
        check_hint(checker, "use ustack(" UNWINDING_WORD "), which follows frame pointers here");
        return NULL;
    }
    return check_stack(checker, node);
}

static struct ir *lower_unwound(struct lowering *l, struct node *node, struct destination *into)
{
    if (!can_unwind(l) && !l->context->has_record) {
        diagnose_error(l->diagnostics, node->span, "dw_ustack %s", unwinding_needs);
        diagnose_hint(l->diagnostics,
                      "use ustack(" UNWINDING_WORD "), which follows frame pointers where it must");
        return NULL;
    }
    lower_stack_by(l, node, l->context->has_record ? STACK_OF_USER : STACK_UNWOUND, into);
    return NULL;
}

/* ---- network addresses ---- */

enum { INET4_BYTES = 4, INET6_BYTES = 16, AF_INET6_NUMBER = 10 };

static uint32_t address_bytes(const struct type *type)
{
    if (type->kind == TYPE_ARRAY || type->kind == TYPE_STRUCT || type->kind == TYPE_BUFFER)
        return type->size == INET4_BYTES || type->size == INET6_BYTES ? type->size : 0;
    return type->kind == TYPE_INTEGER ? INET4_BYTES : 0;
}

static const struct type *check_ntop(struct checker *checker, struct node *node)
{
    struct node *last = check_argument(node, node->call.arguments.count - 1);
    if (!last->type || last->type->kind == TYPE_NONE)
        return type_simple(checker->arena, TYPE_INET);
    if (!address_bytes(last->type)) {
        check_error(checker, last->span,
                    "ntop() needs a 32-bit integer or an array of 4 or 16 bytes, found a value of type '%s'",
                    type_text(checker->arena, last->type));
        return NULL;
    }
    if (node->call.arguments.count == 2 && !type_is_number(check_argument(node, 0)->type)) {
        check_error(checker, check_argument(node, 0)->span, "ntop(): the address family must be an integer");
        return NULL;
    }
    return type_simple(checker->arena, TYPE_INET);
}

static struct ir *lower_ntop(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    struct node *last = check_argument(node, node->call.arguments.count - 1);
    struct ir *family = node->call.arguments.count == 2 ? lower_scalar(l, check_argument(node, 0)) : NULL;
    uint32_t bytes = address_bytes(last->type);
    if (!destination_is_memory(into))
        return NULL;
    ir_store_constant(b, into->memory.base, into->memory.offset + 8, 8, 0);
    ir_store_constant(b, into->memory.base, into->memory.offset + 16, 8, 0);
    if (last->type->kind == TYPE_INTEGER)
        ir_store(b, into->memory.base, into->memory.offset + 8, 4, lower_scalar(l, last));
    else {
        struct memory from = lower_memory(l, last);
        int32_t skip = last->type->kind == TYPE_BUFFER ? 8 : 0; /* behind the length */
        uint32_t part = bytes % 8 || (from.offset + skip) % 8 ? 4 : 8;
        for (uint32_t i = 0; i < bytes; i += part)
            ir_store(b, into->memory.base, into->memory.offset + 8 + (int32_t)i, part,
                     ir_load(b, from.base, from.offset + skip + (int32_t)i, part, false));
    }
    /* With a family the length is its own: 16 bytes for AF_INET6, else 4. */
    struct ir *length = ir_constant(b, bytes);
    if (family && bytes == INET6_BYTES) {
        length = ir_binary_constant(b, IR_EQ, family, AF_INET6_NUMBER);
        length = ir_binary_constant(
            b, IR_ADD, ir_binary_constant(b, IR_MUL, length, INET6_BYTES - INET4_BYTES), INET4_BYTES);
    }
    ir_store(b, into->memory.base, into->memory.offset, 8, length);
    return NULL;
}

enum { EITHER = BUILTIN_BARE | BUILTIN_CALL };

const struct builtin builtins_symbol[] = {
    {"ksym",
     "ksym(address)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_POINTER},
     .check = check_simple,
     .lower = lower_ksym,
     .data = TYPE_KSYM},
    {"usym",
     "usym(address)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_POINTER},
     .check = check_simple,
     .lower = lower_usym,
     .data = TYPE_USYM},
    {"uaddr",
     "uaddr(\"symbol\")",
     BUILTIN_CALL | BUILTIN_USES_SYMBOLS,
     1,
     1,
     {PARAMETER_LITERAL_STRING},
     .check = check_uaddr,
     .lower = lower_uaddr},
    {"is_err",
     "is_err(pointer)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_POINTER},
     .check = check_is_err,
     .lower = lower_is_err},
    {"kstack",
     "kstack([mode] [, frames])",
     EITHER | BUILTIN_USES_KSTACK,
     0,
     2,
     {PARAMETER_WORD, PARAMETER_WORD},
     .check = check_stack,
     .lower = lower_kstack,
     .data = TYPE_KSTACK},
    {"ustack",
     "ustack([dwarf] [, mode] [, frames])",
     EITHER | BUILTIN_MAY_UNWIND,
     0,
     3,
     {PARAMETER_WORD, PARAMETER_WORD, PARAMETER_WORD},
     .check = check_stack,
     .lower = lower_ustack,
     .data = TYPE_USTACK},
    {"dw_ustack",
     "dw_ustack([mode] [, frames])",
     EITHER | BUILTIN_UNWINDS,
     0,
     2,
     {PARAMETER_WORD, PARAMETER_WORD},
     .check = check_unwound,
     .lower = lower_unwound,
     .data = TYPE_USTACK},
    {"ntop",
     "ntop([family, ] address)",
     BUILTIN_CALL,
     1,
     2,
     {PARAMETER_ANY, PARAMETER_ANY},
     .check = check_ntop,
     .lower = lower_ntop},
    {0},
};
