/* SPDX-License-Identifier: BSD-3-Clause */
/* What changes the traced program: signals, return values, memory. Only with --unsafe. system() is in
 * command.c. */
#include <signal.h>
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"

/* ---- signal, signal_thread ---- */

enum { SIGNAL_MAX = 64 };

/* The number of a signal, whose name may begin with SIG; 0: there is no such signal. */
static int signal_number(const char *name)
{
    if (!strncmp(name, "SIG", 3))
        name += 3;
    for (int i = 1; i <= SIGNAL_MAX; i++) {
        const char *known = sigabbrev_np(i);
        if (known && !strcmp(known, name))
            return i;
    }
    return 0;
}

/* Returns whether the probe fires in the traced program's own context: elsewhere the current task is any process
 * that happens to run. */
static bool is_in_program(const struct probe_context *context)
{
    static const char *const others[] = {"begin", "end", "interval", "iter", "self"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(context->kind, others[i]))
            return false;
    return true;
}

static const struct type *check_signal(struct checker *checker, struct node *node)
{
    struct node *signal = check_argument(node, 0);
    const char *name = check_literal(signal);
    int64_t number = 1;
    if (!is_in_program(checker->unit->context)) {
        check_error(checker, node->span, "%s() can not be used for this probetype %s", node->call.name,
                    checker->unit->context->kind);
        check_hint(checker, "it signals the task that the probe fires in: use a probe of the program");
        return NULL;
    }
    if (name && !(number = signal_number(name))) {
        check_error(checker, signal->span, "%s(): there is no signal '%s'", node->call.name, name);
        check_hint(checker, "names are like SIGUSR1");
        return NULL;
    }
    if (!name && !type_is_number(signal->type)) {
        check_error(checker, signal->span, "%s() accepts a string literal or a positive integer",
                    node->call.name);
        return NULL;
    }
    if (!name && signal->kind == NODE_INTEGER)
        number = (int64_t)signal->integer.value;
    if (number < 1 || number > SIGNAL_MAX) {
        check_error(checker, signal->span, "%s() expects a signal from 1 to %d, found %lld", node->call.name,
                    SIGNAL_MAX, (long long)number);
        return NULL;
    }
    return &type_none;
}

/* Counts a runtime error if the helper failed. */
static void report_failure(struct lowering *l, struct ir *result, enum runtime_error_kind kind,
                           const char *helper, struct span span)
{
    struct ir_if failed = ir_if_unlikely(&l->b, result);
    lower_runtime_error(l, kind, span, -1, helper);
    ir_end_if(&l->b, &failed);
}

static struct ir *lower_signal(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *signal = check_argument(node, 0);
    const char *name = check_literal(signal);
    enum bpf_func_id helper = (enum bpf_func_id)node->call.builtin->data;
    struct ir *number = name ? ir_constant(&l->b, signal_number(name)) : lower_scalar(l, signal);
    (void)into;
    report_failure(l, ir_call(&l->b, helper, 1, ir_extend(&l->b, number, 4, false)), RUNTIME_ERROR_SIGNAL,
                   NULL, node->span);
    return NULL;
}

/* ---- override ---- */

static const struct type *check_override(struct checker *checker, struct node *node)
{
    const struct probe_context *context = checker->unit->context;
    if (!strcmp(context->kind, "kprobe"))
        return &type_none;
    check_error(checker, node->span, "override() can not be used for this probetype %s", context->kind);
    check_hint(checker, "only a kprobe can take the place of its function");
    return NULL;
}

static struct ir *lower_override(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    if (!l->options->features->override_return) {
        diagnose_error(l->diagnostics, node->span,
                       "override() needs bpf_override_return, which this kernel lacks");
        diagnose_hint(l->diagnostics, "kernels have it that are built with CONFIG_BPF_KPROBE_OVERRIDE");
    }
    ir_call(&l->b, BPF_FUNC_override_return, 2, lower_ctx(l), lower_scalar(l, check_argument(node, 0)));
    return NULL;
}

/* ---- write_user ---- */

/* How many bytes the source has; 0: it is an address, behind which any number may be. */
static uint32_t source_bytes(const struct type *type)
{
    return type->kind == TYPE_POINTER || type->kind == TYPE_INTEGER ? 0 : type->size;
}

static const struct type *check_write(struct checker *checker, struct node *node)
{
    struct node *to = check_argument(node, 0), *from = check_argument(node, 1),
                *length = check_argument(node, 2);
    uint32_t most = source_bytes(from->type) ? source_bytes(from->type) : checker->max_strlen;
    if (to->type->kind == TYPE_POINTER && to->type->space == SPACE_KERNEL) {
        check_error(checker, to->span,
                    "write_user() writes to memory of programs, and this points to the kernel's");
        check_hint(checker, "uptr(p) says that it points to a program's");
        return NULL;
    }
    if (length->kind == NODE_INTEGER && (length->integer.value < 1 || length->integer.value > most)) {
        check_error(checker, length->span, "write_user(): the length must be 1 to %u, found %lld", most,
                    (long long)length->integer.value);
        return NULL;
    }
    return &type_i64;
}

static struct ir *lower_write(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    struct node *from = check_argument(node, 1), *length = check_argument(node, 2);
    uint32_t bytes = source_bytes(from->type);
    bool is_address = !bytes, is_unused = into->kind == DESTINATION_NOTHING;
    uint32_t result = ir_variable(b);
    struct ir_block *end = ir_label(b);
    if (is_address)
        bytes = length->kind == NODE_INTEGER ? (uint32_t)length->integer.value : l->options->max_strlen;
    enum address_space space;
    struct ir *to = lower_pointer(l, check_argument(node, 0), &space), *wanted = lower_scalar(l, length);
    struct memory source;
    ir_write(b, result, ir_constant(b, -22)); /* EINVAL */
    ir_jump_unless(b, ir_binary_constant(b, IR_UGE, wanted, 1), end);
    ir_jump_unless(b, ir_binary_constant(b, IR_ULE, wanted, bytes), end);
    if (is_address) {
        struct ir *address = lower_pointer(l, from, &space);
        source = lower_scratch(l, bytes, false);
        ir_zero(b, source.base, source.offset, (bytes + 7) & ~7u);
        lower_read_bounded(l, source, wanted, address, space, node->span);
    } else {
        source = lower_memory(l, from);
        source.offset += from->type->kind == TYPE_BUFFER ? 8 : 0; /* behind the length */
    }
    struct ir *answer =
        ir_call(b, BPF_FUNC_probe_write_user, 3, to, ir_offset(b, source.base, source.offset), wanted);
    ir_write(b, result, ir_extend(b, answer, 4, true));
    ir_place(b, end);
    if (is_unused)
        report_failure(l, ir_read(b, result), RUNTIME_ERROR_WRITE, "probe_write_user", node->span);
    return ir_read(b, result);
}

enum { UNSAFE = BUILTIN_CALL | BUILTIN_UNSAFE };

const struct builtin builtins_unsafe[] = {
    {"signal",
     "signal(\"SIGNAL\" | number)",
     UNSAFE,
     1,
     1,
     {PARAMETER_ANY},
     .check = check_signal,
     .lower = lower_signal,
     .data = BPF_FUNC_send_signal},
    {"signal_thread",
     "signal_thread(\"SIGNAL\" | number)",
     UNSAFE,
     1,
     1,
     {PARAMETER_ANY},
     .check = check_signal,
     .lower = lower_signal,
     .data = BPF_FUNC_send_signal_thread},
    {"override",
     "override(value)",
     UNSAFE,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_override,
     .lower = lower_override},
    {"write_user",
     "write_user(to, from, length)",
     UNSAFE | BUILTIN_READS_MEMORY | BUILTIN_VALUE_UNUSED_OK,
     3,
     3,
     {PARAMETER_POINTER, PARAMETER_BYTES, PARAMETER_INTEGER},
     .check = check_write,
     .lower = lower_write},
    {0},
};
