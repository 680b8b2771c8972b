/* SPDX-License-Identifier: BSD-3-Clause */
/* Location expressions, as far as they name a place that a probe can read: registers, memory at a register plus a
 * constant, the frame, constants. A value that is computed otherwise is nowhere.
 *
 * When a function begins its frame does not exist yet: slots in it are written by its first instructions. Only what
 * is above the frame, in the caller's, is valid already. */
#include "sym/dwarf/private.h"

#include <stdio.h>
#include <stdlib.h>

static const char left_out[] = "the compiler left it out here";
static const char computed[] = "it is computed in a way that a probe cannot follow";

static struct dwarf_location nowhere(const char *why)
{
    return (struct dwarf_location){.why = why};
}

static bool register_of(unsigned number, struct machine_register *out)
{
    static const char *const x86[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                      "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "ip"};
    char name[8];
    switch (machine_here()) {
    case MACHINE_X86_64:
        return number < sizeof x86 / sizeof *x86 && machine_register_named(MACHINE_X86_64, x86[number], out);
    case MACHINE_AARCH64:
        snprintf(name, sizeof name, number == 31 ? "sp" : "r%u", number < 32 ? number : 99);
        return machine_register_named(MACHINE_AARCH64, name, out);
    default: return false;
    }
}

/* Finds the register that an operation names; *based: the operation means memory at it, at *offset. */
static bool operation_register(const Dwarf_Op *operation, unsigned *number, bool *based, int64_t *offset)
{
    *offset = 0;
    *based = false;
    if (operation->atom >= DW_OP_reg0 && operation->atom <= DW_OP_reg31) {
        *number = operation->atom - DW_OP_reg0;
    } else if (operation->atom == DW_OP_regx) {
        *number = (unsigned)operation->number;
    } else if (operation->atom >= DW_OP_breg0 && operation->atom <= DW_OP_breg31) {
        *number = operation->atom - DW_OP_breg0;
        *offset = (int64_t)operation->number;
        *based = true;
    } else if (operation->atom == DW_OP_bregx) {
        *number = (unsigned)operation->number;
        *offset = (int64_t)operation->number2;
        *based = true;
    } else {
        return false;
    }
    return true;
}

static struct dwarf_location at_register(unsigned number, bool based, int64_t offset)
{
    struct machine_register found;
    if (!register_of(number, &found))
        return nowhere("it is in a register that a probe cannot read");
    if (based)
        return (struct dwarf_location){.where = DWARF_MEMORY, .base = found, .offset = offset};
    return (struct dwarf_location){
        .where = DWARF_REGISTERS, .registers = {found}, .count = 1, .offset = offset};
}

/* Finds the canonical frame address at an instruction: a register and a distance. */
static bool frame_address(struct dwarf_reader *file, uint64_t address, unsigned *number, int64_t *offset)
{
    if (!file->frames)
        file->frames = dwarf_getcfi_elf(file->program);
    for (unsigned i = 0; i < 2; i++) {
        Dwarf_CFI *table = i ? dwarf_getcfi(file->dwarf) : file->frames;
        Dwarf_Frame *frame = NULL;
        Dwarf_Op *operations;
        size_t count;
        bool based = false, found = false;
        if (!table || dwarf_cfi_addrframe(table, address, &frame))
            continue;
        if (!dwarf_frame_cfa(frame, &operations, &count) && count >= 1 && count <= 2)
            found = operation_register(&operations[0], number, &based, offset) && based;
        if (found && count == 2 && operations[1].atom != DW_OP_stack_value)
            found =
                operations[1].atom == DW_OP_plus_uconst && ((*offset += (int64_t)operations[1].number), true);
        free(frame);
        if (found)
            return true;
    }
    return false;
}

static struct dwarf_location in_frame(struct dwarf_reader *file, Dwarf_Die *function, int64_t offset,
                                      uint64_t address, bool is_entry)
{
    enum { FRAME_POINTER = 6, SAVED_BESIDE = 16, RETURN_ADDRESS = 8 }; /* x86-64 */
    Dwarf_Attribute attribute;
    Dwarf_Op *operations;
    size_t count, frames;
    unsigned number = 0;
    bool based = false;
    int64_t distance = 0;
    if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attribute))
        return nowhere(computed);
    frames = (size_t)dwarf_getlocation_addr(&attribute, address, &operations, &count, 1);
    if (frames != 1 || count != 1)
        return nowhere(computed);
    bool is_cfa = operations[0].atom == DW_OP_call_frame_cfa;
    if (!is_cfa && !operation_register(&operations[0], &number, &based, &distance))
        return nowhere(computed);
    if (!is_entry) {
        if (is_cfa && !frame_address(file, address, &number, &distance))
            return nowhere("where its frame is is not described");
        return at_register(number, true, distance + offset);
    }
    bool is_x86 = machine_here() == MACHINE_X86_64;
    if (!is_cfa && (number != FRAME_POINTER || !is_x86))
        return nowhere(left_out);
    if (!is_cfa)
        offset += distance - SAVED_BESIDE; /* from here on relative to the frame address */
    if (offset < 0)
        return nowhere(left_out);
    return (struct dwarf_location){.where = DWARF_MEMORY,
                                   .base = machine_register_stack(machine_here()),
                                   .offset = offset + (is_x86 ? RETURN_ADDRESS : 0)};
}

static bool constant_of(const Dwarf_Op *operation, int64_t *value)
{
    if (operation->atom >= DW_OP_lit0 && operation->atom <= DW_OP_lit31) {
        *value = operation->atom - DW_OP_lit0;
        return true;
    }
    switch (operation->atom) {
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts: *value = (int64_t)operation->number; return true;
    default: return false;
    }
}

/* Returns the location of a struct in two registers: words of 8 bytes, each with its register. */
static struct dwarf_location in_pieces(const Dwarf_Op *operations, size_t count)
{
    struct dwarf_location location = {.where = DWARF_REGISTERS};
    for (size_t i = 0; i + 1 < count && location.count < 2; i += 2) {
        unsigned number;
        bool based;
        int64_t offset;
        bool is_last = i + 2 == count;
        if (operations[i + 1].atom != DW_OP_piece ||
            !operation_register(&operations[i], &number, &based, &offset) || based ||
            (is_last ? operations[i + 1].number > 8 : operations[i + 1].number != 8) ||
            !register_of(number, &location.registers[location.count++]))
            return nowhere("its parts are in several places");
    }
    return count == 2 * location.count ? location : nowhere("its parts are in several places");
}

/* Returns the location of what was in a register when the function was called. */
static struct dwarf_location at_entry(Dwarf_Attribute *attribute, Dwarf_Op *operation, bool is_entry)
{
    Dwarf_Attribute inner;
    Dwarf_Op *operations;
    size_t count;
    unsigned number;
    bool based;
    int64_t offset;
    if (!is_entry)
        return nowhere("only its value at the beginning of the function is known");
    if (dwarf_getlocation_attr(attribute, operation, &inner) ||
        dwarf_getlocation(&inner, &operations, &count) || count != 1 ||
        !operation_register(&operations[0], &number, &based, &offset) || based)
        return nowhere(computed);
    return at_register(number, false, 0);
}

struct dwarf_location dwarf_location_at(struct dwarf_reader *file, Dwarf_Die *die, Dwarf_Die *function,
                                        uint64_t address, bool is_entry)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *operations = NULL;
    size_t count = 0;
    unsigned number;
    bool based;
    int64_t value;
    if (dwarf_attr_integrate(die, DW_AT_const_value, &attribute)) {
        Dwarf_Sword constant;
        return dwarf_formsdata(&attribute, &constant)
                   ? nowhere(computed)
                   : (struct dwarf_location){.where = DWARF_CONSTANT, .value = constant};
    }
    if (!dwarf_attr_integrate(die, DW_AT_location, &attribute) ||
        dwarf_getlocation_addr(&attribute, address, &operations, &count, 1) != 1 || !count)
        return nowhere(left_out);
    bool is_value = count == 2 && operations[1].atom == DW_OP_stack_value;
    if (operations[0].atom == DW_OP_fbreg && count == 1)
        return in_frame(file, function, (int64_t)operations[0].number, address, is_entry);
    if (is_value && (operations[0].atom == DW_OP_entry_value || operations[0].atom == DW_OP_GNU_entry_value))
        return at_entry(&attribute, &operations[0], is_entry);
    if (is_value && constant_of(&operations[0], &value))
        return (struct dwarf_location){.where = DWARF_CONSTANT, .value = value};
    if ((count == 1 || is_value) && operation_register(&operations[0], &number, &based, &value)) {
        if (is_value && !based)
            return nowhere(computed);
        return at_register(number, based && !is_value, value);
    }
    /* A register that compilers narrow as the type does: (r + n) & 0xffffffff. */
    if (count == 4 && operations[1].atom == DW_OP_constu && operations[1].number == UINT32_MAX &&
        operations[2].atom == DW_OP_and && operations[3].atom == DW_OP_stack_value &&
        operation_register(&operations[0], &number, &based, &value) && based &&
        dwarf_type_of(file, die, 0)->size <= 4)
        return at_register(number, false, value);
    if (count >= 2 && operations[count - 1].atom == DW_OP_piece)
        return in_pieces(operations, count);
    return nowhere(computed);
}
