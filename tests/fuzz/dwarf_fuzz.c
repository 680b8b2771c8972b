/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as a program with debug information; calls every function that reads it. libdw itself is not
 * instrumented: its mistakes show as a crash or as time. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sym/apart.h"
#include "sym/dwarf/dwarf.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The reading itself is tested, without the service in which it runs otherwise. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    apart_pretend();
    return 0;
}

static int see_place(void *state, uint64_t address, bool is_inlined)
{
    *(uint64_t *)state += address + is_inlined;
    return 0;
}

static size_t see_type(const struct type *type, unsigned depth)
{
    size_t sum = 0;
    if (!type || !depth)
        return 0;
    type_complete(type);
    if (type->kind == TYPE_ENUM)
        for (uint32_t i = 0; i < type->count; i++)
            sum += strlen(type->enumerators[i].name);
    if (type->kind == TYPE_STRUCT)
        for (uint32_t i = 0; i < type->count && i < 64; i++) {
            if (type->fields[i].offset > type->size)
                abort();
            sum += strlen(type->fields[i].name) + see_type(type->fields[i].type, depth - 1);
        }
    return sum + see_type(type->target, depth - 1);
}

static void ask(struct dwarf_file *file)
{
    static const char *const types[] = {"struct node", "union word", "enum colour",
                                        "pair_t",      "int",        "struct big"};
    uint64_t address = 0, sum = 0;
    int64_t value;
    const struct type *type;
    unsigned next;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        sum += see_type(dwarf_file_type(file, types[i], 0), 5);
    sum += see_type(dwarf_file_enumerator(file, "GREEN", 0x1200, &value), 2);
    if (!dwarf_file_variable(file, "config", 0, &address, &type))
        sum += see_type(type, 4);
    dwarf_file_each_function(file, "inlined", see_place, &sum);
    dwarf_file_each_line(file, "dwarf.c", 102, 0, see_place, &sum, &next);
    for (address = 0; address < 0x1c00; address += 8) {
        struct dwarf_function function;
        struct dwarf_expression expression;
        struct dwarf_operand operand = {.where = address & 8 ? DWARF_MEMORY : DWARF_REGISTERS,
                                        .is_static = address & 16,
                                        .offset = (int64_t)(address % 0x180) - 64,
                                        .size = address & 32 ? 4 : 8,
                                        .is_signed = address & 64};
        machine_register_argument(machine_here(), address % 6, &operand.base);
        if (!dwarf_file_operand(file, address, &operand, &expression))
            sum += strlen(expression.text) + strlen(expression.spelling) + see_type(expression.type, 3);
        if (dwarf_file_function(file, address, NULL, &function))
            continue;
        for (uint32_t i = 0; i < function.count; i++)
            sum += strlen(function.parameters[i].spelling) + see_type(function.parameters[i].type, 3);
        sum += see_type(function.result, 3);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct dwarf_options options = {.arena = &arena};
    struct dwarf_file *file = NULL;
    jmp_buf nowhere;
    char path[64];
    int memory = memfd_create("fuzz", MFD_CLOEXEC);
    setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    if (memory < 0 || write(memory, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    if (!arena_guard(&arena, nowhere) && !dwarf_file_open(path, &options, &file))
        ask(file);
    dwarf_file_close(file);
    arena_free(&arena);
    close(memory);
    return 0;
}
