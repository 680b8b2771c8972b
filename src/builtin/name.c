/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that the system has names for: errors, signals, system calls. The names are strings in the program,
 * so they can be compared, searched and be keys: each family is a table of rows of 64 bytes that programs
 * read. The last row is for numbers without a name. */
#include <stdio.h>
#include <string.h>

#include "base/kernel_error.h"
#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "sym/kernel/syscalls.h"

enum { ROW_BYTES = 64, ERRORS = KERNEL_ERRORS_END, SIGNALS = 65 };

static const char *error_name(int number)
{
    const char *name = kernel_error(-number);
    return strncmp(name, "Unknown error", 13) ? name : NULL;
}

static const char *signal_text(int number)
{
    return strsignal(number);
}

static int error_count(void)
{
    return ERRORS;
}

static int signal_count(void)
{
    return SIGNALS;
}

static const struct family {
    bool is_signed; /* negative numbers mean the same as positive ones */
    const char *map, *unknown;
    const char *(*name)(int number); /* NULL: it has none. Lives until the next call */
    int (*count)(void);
} families[] = {
    {true, "errors", "Unknown error", error_name, error_count},
    {false, "signals", "N/A", signal_text, signal_count},
    {false, "syscalls", "Unknown syscall", syscall_own_name, syscall_limit},
};
enum { FAMILY_ERRORS, FAMILY_SIGNALS, FAMILY_SYSCALLS };

static const char *table_of(struct arena *arena, const struct family *family, int rows)
{
    char *table = arena_array(arena, (size_t)rows + 1, ROW_BYTES);
    for (int i = 0; i <= rows; i++) {
        const char *name = i < rows ? family->name(i) : NULL;
        snprintf(table + i * ROW_BYTES, ROW_BYTES, "%s", name ? name : family->unknown);
    }
    return table;
}

static const struct type *check_name_of(struct checker *checker, struct node *node)
{
    (void)node;
    return type_string(checker->arena, ROW_BYTES);
}

static struct ir *lower_name_of(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    const struct family *family = &families[node->call.builtin->data];
    int rows = family->count();
    struct ir *number = ir_extend(b, lower_scalar(l, check_argument(node, 0)), 4, true);
    if (!destination_is_memory(into))
        return NULL;
    if (family->is_signed) {
        struct ir *sign = ir_binary_constant(b, IR_ASHR, number, 63); /* 0 or -1 */
        number = ir_binary(b, IR_SUB, ir_binary(b, IR_XOR, number, sign), sign);
    }
    lower_table_row(l, family->map, table_of(l->arena, family, rows), (uint32_t)rows, ROW_BYTES, ROW_BYTES,
                    number, into->memory);
    return NULL;
}

const struct builtin builtins_name[] = {
    {"strerror",
     "strerror(errno)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_name_of,
     .lower = lower_name_of,
     .data = FAMILY_ERRORS},
    {"signal_name",
     "signal_name(signal)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_name_of,
     .lower = lower_name_of,
     .data = FAMILY_SIGNALS},
    {"syscall_name",
     "syscall_name(number)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_name_of,
     .lower = lower_name_of,
     .data = FAMILY_SYSCALLS},
    {0},
};
