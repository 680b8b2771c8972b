/* SPDX-License-Identifier: BSD-3-Clause */
/* The calling conventions: x86-64 System V and AAPCS64. They say where parameters are when a function begins,
 * whatever the debug information says about later; unoptimised code has no other description.
 *
 * Floating-point registers are not among those that a probe can read: such parameters are nowhere. */
#include <string.h>

#include "sym/dwarf/private.h"

enum { WORD = 8, X86_INTEGERS = 6, ARM_INTEGERS = 8, VECTORS = 8, RETURN_ADDRESS = 8 };
enum word_class { CLASS_NONE, CLASS_VECTOR, CLASS_INTEGER, CLASS_MEMORY };

static const char in_vector[] = "it is in a floating-point register, which a probe cannot read";

static enum word_class worse(enum word_class a, enum word_class b)
{
    return a > b ? a : b;
}

static uint64_t size_of(struct dwarf_reader *file, Dwarf_Die *die)
{
    return dwarf_type_make(file, die, 0)->size;
}

static bool is_pointer(int tag)
{
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

static bool is_record(int tag)
{
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* Finds the classes of the two words of a value of at most 16 bytes, which begins at `offset`. */
static void classify(struct dwarf_reader *file, Dwarf_Die *type, uint64_t offset, enum word_class classes[2],
                     unsigned depth)
{
    Dwarf_Die child, member;
    Dwarf_Attribute found;
    if (depth > 16 || !dwarf_strip(type)) {
        classes[0] = CLASS_MEMORY;
        return;
    }
    int tag = dwarf_tag(type);
    uint64_t size = size_of(file, type), encoding = DW_ATE_unsigned;
    if (is_record(tag)) {
        if (dwarf_child(type, &child))
            return;
        do {
            Dwarf_Word at = 0, bits;
            if ((dwarf_tag(&child) != DW_TAG_member && dwarf_tag(&child) != DW_TAG_inheritance) ||
                dwarf_has(&child, DW_AT_external) || !dwarf_type_die(&child, &member))
                continue;
            if (dwarf_attr(&child, DW_AT_data_member_location, &found) && dwarf_formudata(&found, &at))
                at = 0;
            if (dwarf_attr(&child, DW_AT_data_bit_offset, &found) && !dwarf_formudata(&found, &bits))
                classes[bits / 64 ? 1 : 0] = worse(classes[bits / 64 ? 1 : 0], CLASS_INTEGER);
            else
                classify(file, &member, offset + at, classes, depth + 1);
        } while (dwarf_next(file, &child));
        return;
    }
    if (tag == DW_TAG_array_type) {
        if (!dwarf_type_die(type, &member))
            return;
        Dwarf_Die element = member;
        uint64_t step = dwarf_strip(&element) ? size_of(file, &element) : 0;
        for (uint64_t at = 0; step && at < size && offset + at < 16; at += step) {
            Dwarf_Die copy = member;
            classify(file, &copy, offset + at, classes, depth + 1);
        }
        return;
    }
    enum word_class class = CLASS_INTEGER;
    dwarf_number(type, DW_AT_encoding, &encoding);
    if (encoding == DW_ATE_float || encoding == DW_ATE_complex_float || encoding == DW_ATE_imaginary_float)
        class = size > WORD && encoding == DW_ATE_float ? CLASS_MEMORY : CLASS_VECTOR;
    if (!size && (is_pointer(tag) || tag == DW_TAG_ptr_to_member_type))
        size = WORD;
    if (!size)
        return;
    if (size <= WORD && offset % size) /* it is packed */
        class = CLASS_MEMORY;
    for (uint64_t at = offset; at < 2 * WORD && at < offset + size; at += WORD)
        classes[at / WORD ? 1 : 0] = worse(classes[at / WORD ? 1 : 0], class);
}

/* Whether a value is passed by its address, as C++ does if it has a destructor or a copy constructor. */
static bool is_by_reference(Dwarf_Die *type)
{
    uint64_t convention;
    return dwarf_number(type, DW_AT_calling_convention, &convention) && convention == DW_CC_pass_by_reference;
}

static struct dwarf_location nowhere(const char *why)
{
    return (struct dwarf_location){.why = why};
}

static struct dwarf_location in_registers(struct dwarf_call *call, unsigned words)
{
    struct dwarf_location location = {.where = DWARF_REGISTERS, .count = words};
    for (unsigned i = 0; i < words; i++)
        machine_register_argument(call->machine, call->integers++, &location.registers[i]);
    return location;
}

static struct dwarf_location behind_register(struct dwarf_call *call)
{
    struct dwarf_location location = in_registers(call, 1);
    return (struct dwarf_location){.where = DWARF_MEMORY, .base = location.registers[0]};
}

static struct dwarf_location on_stack(struct dwarf_call *call, uint64_t size, uint64_t alignment)
{
    uint64_t align = alignment > WORD ? 16 : WORD;
    call->stack = (call->stack + align - 1) & ~(align - 1);
    struct dwarf_location location = {.where = DWARF_MEMORY,
                                      .base = machine_register_stack(call->machine),
                                      .offset = (int64_t)call->stack +
                                                (call->machine == MACHINE_X86_64 ? RETURN_ADDRESS : 0)};
    call->stack += (size + WORD - 1) & ~(uint64_t)(WORD - 1);
    return location;
}

static unsigned integers_of(enum machine machine)
{
    return machine == MACHINE_X86_64 ? X86_INTEGERS : ARM_INTEGERS;
}

static uint64_t alignment_of(Dwarf_Die *type, uint64_t size)
{
    uint64_t alignment;
    if (dwarf_number(type, DW_AT_alignment, &alignment))
        return alignment;
    return dwarf_tag(type) == DW_TAG_base_type && size == 16 ? 16 : WORD;
}

static struct dwarf_location next_x86(struct dwarf_call *call, Dwarf_Die *type, uint64_t size)
{
    enum word_class classes[2] = {CLASS_NONE, CLASS_NONE};
    Dwarf_Die copy = *type;
    if (size > 16)
        return on_stack(call, size, alignment_of(type, size));
    classify(call->file, &copy, 0, classes, 0);
    if (classes[0] == CLASS_MEMORY || classes[1] == CLASS_MEMORY)
        return on_stack(call, size, alignment_of(type, size));
    unsigned integers = 0, vectors = 0;
    for (unsigned i = 0; i < 2; i++) {
        integers += classes[i] == CLASS_INTEGER;
        vectors += classes[i] == CLASS_VECTOR;
    }
    if (call->integers + integers > X86_INTEGERS || call->vectors + vectors > VECTORS)
        return on_stack(call, size, alignment_of(type, size));
    call->vectors += vectors;
    if (vectors) {
        call->integers += integers;
        return nowhere(in_vector);
    }
    return integers ? in_registers(call, integers) : nowhere("it has no bytes");
}

/* Returns how many values of one floating type make up a type, if it has nothing else and at most four, which go to as
 * many vector registers; else 5. */
static unsigned same_floats(struct dwarf_reader *file, Dwarf_Die *type, uint64_t *width, unsigned depth)
{
    Dwarf_Die child, member;
    uint64_t encoding;
    unsigned count = 0;
    if (depth > 16 || !dwarf_strip(type))
        return 5;
    if (dwarf_tag(type) == DW_TAG_base_type) {
        uint64_t size = size_of(file, type);
        bool fits = dwarf_number(type, DW_AT_encoding, &encoding) && encoding == DW_ATE_float &&
                    (!*width || *width == size);
        *width = size;
        return fits ? 1 : 5;
    }
    if (dwarf_tag(type) == DW_TAG_array_type) {
        uint64_t all = size_of(file, type);
        if (!dwarf_type_die(type, &member) || same_floats(file, &member, width, depth + 1) != 1 || !*width)
            return 5;
        return all / *width < 5 ? (unsigned)(all / *width) : 5;
    }
    if (!is_record(dwarf_tag(type)) || dwarf_child(type, &child))
        return 5;
    do
        if (dwarf_tag(&child) == DW_TAG_member && dwarf_type_die(&child, &member))
            count += same_floats(file, &member, width, depth + 1);
    while (count < 5 && dwarf_next(file, &child));
    return count ? count : 5;
}

static struct dwarf_location next_arm(struct dwarf_call *call, Dwarf_Die *type, uint64_t size)
{
    uint64_t width = 0;
    Dwarf_Die copy = *type;
    unsigned floats = same_floats(call->file, &copy, &width, 0);
    if (floats < 5) {
        if (call->vectors + floats <= VECTORS) {
            call->vectors += floats;
            return nowhere(in_vector);
        }
        call->vectors = VECTORS;
        return on_stack(call, size, width);
    }
    bool by_reference = size > 16;
    unsigned words = by_reference ? 1 : (unsigned)((size + WORD - 1) / WORD);
    if (!words)
        return nowhere("it has no bytes");
    if (!by_reference && alignment_of(type, size) == 16)
        call->integers += call->integers & 1;
    if (call->integers + words > ARM_INTEGERS) {
        call->integers = ARM_INTEGERS;
        return by_reference ? nowhere("its address is on the stack")
                            : on_stack(call, size, alignment_of(type, size));
    }
    return by_reference ? behind_register(call) : in_registers(call, words);
}

struct dwarf_location dwarf_call_next(struct dwarf_call *call, Dwarf_Die *parameter)
{
    Dwarf_Die type;
    if (!dwarf_type_die(parameter, &type) || !dwarf_strip(&type))
        return nowhere("it has no type");
    uint64_t size = is_pointer(dwarf_tag(&type)) ? WORD : size_of(call->file, &type);
    if (call->machine == MACHINE_OTHER)
        return nowhere("the calling convention of this machine is not known");
    if (is_by_reference(&type))
        return call->integers < integers_of(call->machine) ? behind_register(call)
                                                           : nowhere("its address is on the stack");
    return call->machine == MACHINE_X86_64 ? next_x86(call, &type, size) : next_arm(call, &type, size);
}

/* Whether the result is written to memory whose address the caller passes in the first register. */
static bool result_in_memory(struct dwarf_reader *file, Dwarf_Die *function)
{
    Dwarf_Die type;
    enum word_class classes[2] = {CLASS_NONE, CLASS_NONE};
    if (!dwarf_type_die(function, &type) || !dwarf_strip(&type) || !is_record(dwarf_tag(&type)))
        return false;
    if (is_by_reference(&type) || size_of(file, &type) > 16)
        return true;
    if (machine_here() != MACHINE_X86_64)
        return false;
    classify(file, &type, 0, classes, 0);
    return classes[0] == CLASS_MEMORY || classes[1] == CLASS_MEMORY;
}

void dwarf_call_begin(struct dwarf_call *call, struct dwarf_reader *file, Dwarf_Die *function)
{
    *call = (struct dwarf_call){.file = file, .machine = machine_here()};
    call->integers = call->machine == MACHINE_X86_64 && result_in_memory(file, function);
}

struct dwarf_location dwarf_call_result(struct dwarf_reader *file, Dwarf_Die *function)
{
    Dwarf_Die type;
    struct machine_register first = machine_register_return(machine_here()), second;
    if (!dwarf_type_die(function, &type) || !dwarf_strip(&type))
        return nowhere("it returns nothing");
    if (result_in_memory(file, function))
        return machine_here() == MACHINE_X86_64
                   ? (struct dwarf_location){.where = DWARF_MEMORY, .base = first}
                   : nowhere("its address is not known any more");
    struct dwarf_call call = {.file = file, .machine = machine_here()};
    uint64_t size = is_pointer(dwarf_tag(&type)) ? WORD : size_of(file, &type);
    struct dwarf_location location =
        call.machine == MACHINE_X86_64 ? next_x86(&call, &type, size) : next_arm(&call, &type, size);
    if (location.where != DWARF_REGISTERS)
        return location.why ? location : nowhere(in_vector);
    machine_register_named(call.machine, call.machine == MACHINE_X86_64 ? "dx" : "r1", &second);
    location.registers[0] = first;
    location.registers[1] = second;
    return location;
}
