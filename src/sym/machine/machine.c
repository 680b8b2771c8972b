/* SPDX-License-Identifier: BSD-3-Clause */
/* One table per machine; the order of a row of x86-64 names is 8, 4, 2, 1 bytes, then the second byte. */
#include "sym/machine/machine.h"

#include <string.h>

#include "base/number.h"

struct x86_row {
    const char *named; /* name in reg() */
    uint16_t offset;
    const char *wide[5];
};

static const struct x86_row x86_rows[] = {
    {"ax", 80, {"rax", "eax", "ax", "al", "ah"}},
    {"bx", 40, {"rbx", "ebx", "bx", "bl", "bh"}},
    {"cx", 88, {"rcx", "ecx", "cx", "cl", "ch"}},
    {"dx", 96, {"rdx", "edx", "dx", "dl", "dh"}},
    {"si", 104, {"rsi", "esi", "si", "sil"}},
    {"di", 112, {"rdi", "edi", "di", "dil"}},
    {"bp", 32, {"rbp", "ebp", "bp", "bpl"}},
    {"sp", 152, {"rsp", "esp", "sp", "spl"}},
    {"r8", 72, {"r8", "r8d", "r8w", "r8b"}},
    {"r9", 64, {"r9", "r9d", "r9w", "r9b"}},
    {"r10", 56, {"r10", "r10d", "r10w", "r10b"}},
    {"r11", 48, {"r11", "r11d", "r11w", "r11b"}},
    {"r12", 24, {"r12", "r12d", "r12w", "r12b"}},
    {"r13", 16, {"r13", "r13d", "r13w", "r13b"}},
    {"r14", 8, {"r14", "r14d", "r14w", "r14b"}},
    {"r15", 0, {"r15", "r15d", "r15w", "r15b"}},
    {"ip", 128, {"rip", "eip"}},
    {"orig_ax", 120, {NULL}},
    {"cs", 136, {NULL}},
    {"flags", 144, {NULL}},
    {"ss", 160, {NULL}},
};
enum { X86_ROWS = sizeof x86_rows / sizeof *x86_rows };
static const uint8_t x86_widths[5] = {8, 4, 2, 1, 1};
static const uint16_t x86_arguments[] = {112, 104, 96, 88, 72, 64};

enum { ARM_SP = 31 * 8, ARM_PC = 32 * 8, ARM_PSTATE = 33 * 8 };
static const struct {
    const char *name;
    uint16_t offset;
    uint8_t width;
} arm_names[] = {
    {"sp", ARM_SP, 8}, {"wsp", ARM_SP, 4}, {"pc", ARM_PC, 8},  {"pstate", ARM_PSTATE, 8},
    {"fp", 29 * 8, 8}, {"lr", 30 * 8, 8},  {"ip0", 16 * 8, 8}, {"ip1", 17 * 8, 8},
};

enum machine machine_here(void)
{
#if defined(__x86_64__)
    return MACHINE_X86_64;
#elif defined(__aarch64__)
    return MACHINE_AARCH64;
#else
    return MACHINE_OTHER;
#endif
}

static bool name_is(const char *name, size_t length, const char *wanted)
{
    return wanted && strlen(wanted) == length && !memcmp(name, wanted, length);
}

static bool x86_assembler(const char *name, size_t length, struct machine_register *out)
{
    for (size_t row = 0; row < X86_ROWS; row++)
        for (size_t i = 0; i < 5; i++)
            if (name_is(name, length, x86_rows[row].wide[i])) {
                *out = (struct machine_register){(uint16_t)(x86_rows[row].offset + (i == 4)), x86_widths[i]};
                return true;
            }
    return false;
}

/* Reads x0 … x30, w0 … w30, and r0 … r30 if prefix is 'r'. False: it is none of them. */
static bool arm_numbered(const char *name, size_t length, char prefix, uint8_t width,
                         struct machine_register *out)
{
    if (length < 2 || length > 3 || name[0] != prefix)
        return false;
    const char *at = name + 1;
    uint64_t number;
    if (!number_take(&at, name + length, 10, &number) || at != name + length || number > 30 ||
        (length == 3 && name[1] == '0'))
        return false;
    *out = (struct machine_register){(uint16_t)(number * 8), width};
    return true;
}

static bool arm_assembler(const char *name, size_t length, struct machine_register *out)
{
    if (arm_numbered(name, length, 'x', 8, out) || arm_numbered(name, length, 'w', 4, out))
        return true;
    for (size_t i = 0; i < sizeof arm_names / sizeof *arm_names; i++)
        if (name_is(name, length, arm_names[i].name)) {
            *out = (struct machine_register){arm_names[i].offset, arm_names[i].width};
            return true;
        }
    return false;
}

bool machine_register_assembler(enum machine machine, const char *name, size_t length,
                                struct machine_register *out)
{
    if (machine == MACHINE_X86_64)
        return x86_assembler(name, length, out);
    return machine == MACHINE_AARCH64 && arm_assembler(name, length, out);
}

bool machine_register_named(enum machine machine, const char *name, struct machine_register *out)
{
    size_t length = strlen(name);
    if (machine == MACHINE_X86_64) {
        if (!strcmp(name, "pc")) /* its name on aarch64 */
            name = "ip", length = 2;
        for (size_t row = 0; row < X86_ROWS; row++)
            if (name_is(name, length, x86_rows[row].named) || name_is(name, length, x86_rows[row].wide[0])) {
                *out = (struct machine_register){x86_rows[row].offset, 8};
                return true;
            }
        return false;
    }
    if (machine != MACHINE_AARCH64)
        return false;
    return arm_numbered(name, length, 'r', 8, out) || (arm_assembler(name, length, out) && out->width == 8);
}

bool machine_register_argument(enum machine machine, unsigned n, struct machine_register *out)
{
    if (machine == MACHINE_X86_64 && n < sizeof x86_arguments / sizeof *x86_arguments) {
        *out = (struct machine_register){x86_arguments[n], 8};
        return true;
    }
    if (machine == MACHINE_AARCH64 && n < 8) {
        *out = (struct machine_register){(uint16_t)(n * 8), 8};
        return true;
    }
    return false;
}

static struct machine_register machine_pick(enum machine machine, uint16_t x86, uint16_t arm)
{
    return (struct machine_register){machine == MACHINE_AARCH64 ? arm : x86, 8};
}

struct machine_register machine_register_return(enum machine machine)
{
    return machine_pick(machine, 80, 0);
}

struct machine_register machine_register_stack(enum machine machine)
{
    return machine_pick(machine, 152, ARM_SP);
}

struct machine_register machine_register_instruction(enum machine machine)
{
    return machine_pick(machine, 128, ARM_PC);
}
