/* SPDX-License-Identifier: BSD-3-Clause */
/* From an operand back to its name in the source: which variable is in that register, or covers that memory, at the
 * instruction. If there is none, the instructions of the same line are followed backwards, because compilers copy
 * the argument of a probe to where the probe reads it. What was computed for the probe has no name and stays a
 * number. */
#include "sym/dwarf/private.h"

#include <errno.h>
#include <string.h>

#include "base/sorted.h"
#include "sym/elf/elf.h"
#include "sym/machine/copy.h"

struct search {
    struct dwarf_reader *file;
    uint64_t address;
    struct dwarf_operand operand;
    struct text text;
    Dwarf_Die found; /* its DW_AT_type is the type of the result */
    unsigned depth;  /* depth of the scope in which it is; 0: nothing was found yet */
    bool is_ambiguous;
};

/* ---- a part of a variable ---- */

static bool fits(const struct search *search, const struct type *type)
{
    bool has_sign = type->kind != TYPE_POINTER && type->kind != TYPE_ENUM && type->kind != TYPE_BOOL;
    return type_is_scalar(type) && type->size == search->operand.size &&
           (!has_sign || type->is_signed == search->operand.is_signed);
}

static bool same_type(struct search *search, Dwarf_Die *a, Dwarf_Die *b)
{
    return dwarf_type_of(search->file, a, 0) == dwarf_type_of(search->file, b, 0);
}

static bool member_begin(Dwarf_Die *member, uint64_t *begin)
{
    Dwarf_Attribute found;
    Dwarf_Word value = 0;
    if (dwarf_tag(member) != DW_TAG_member || dwarf_hasattr(member, DW_AT_bit_size) ||
        dwarf_hasattr(member, DW_AT_external))
        return false;
    if (dwarf_attr(member, DW_AT_data_member_location, &found) && dwarf_formudata(&found, &value))
        return false;
    *begin = value;
    return true;
}

static bool part_of(struct search *search, Dwarf_Die *whole, uint64_t offset, struct text *text,
                    Dwarf_Die *found, unsigned depth);

/* Finds the member of a struct or union at an offset. Members of a union, and members of size 0, share a place:
 * they must agree. */
static bool member_at(struct search *search, Dwarf_Die *type, uint64_t offset, struct text *text,
                      Dwarf_Die *found, unsigned depth)
{
    Dwarf_Die child, part;
    uint64_t begin;
    bool is_found = false;
    if (dwarf_child(type, &child))
        return false;
    do {
        struct text path = {0};
        if (!member_begin(&child, &begin) || offset < begin ||
            offset - begin >= dwarf_type_of(search->file, &child, 0)->size)
            continue;
        const char *name = dwarf_diename(&child);
        if (name)
            text_printf(&path, ".%s", name);
        bool is_part = part_of(search, &child, offset - begin, &path, &part, depth + 1);
        if (is_part && is_found && !same_type(search, &part, found)) {
            text_free(&path);
            return false;
        }
        if (is_part && !is_found) {
            text_add(text, text_string(&path));
            *found = part;
            is_found = true;
        }
        text_free(&path);
    } while (dwarf_next(search->file, &child));
    return is_found;
}

/* Finds what is at an offset in something that has the type of `whole`; *found has its type. */
static bool part_of(struct search *search, Dwarf_Die *whole, uint64_t offset, struct text *text,
                    Dwarf_Die *found, unsigned depth)
{
    Dwarf_Die type;
    const struct type *made = dwarf_type_of(search->file, whole, 0);
    if (depth > DWARF_DEPTH_MAX || !dwarf_type_die(whole, &type) || !dwarf_strip(&type))
        return false;
    switch (dwarf_tag(&type)) {
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type: return member_at(search, &type, offset, text, found, depth);
    case DW_TAG_array_type: {
        uint32_t step = made->kind == TYPE_ARRAY && made->target ? made->target->size : 0;
        /* With several dimensions the type has a level for each, and the entry one for all. */
        if (!step || made->target->kind == TYPE_ARRAY)
            return false;
        text_printf(text, "[%llu]", (unsigned long long)(offset / step));
        return part_of(search, &type, offset % step, text, found, depth + 1);
    }
    default: *found = *whole; return offset == 0 && fits(search, made);
    }
}

/* ---- a variable ---- */

/* Finds what is at the operand if its base register is a pointer in a variable. */
static bool behind(struct search *search, Dwarf_Die *variable, struct text *text, Dwarf_Die *found)
{
    Dwarf_Die pointer, target;
    int64_t offset = search->operand.offset;
    if (offset < 0 || !dwarf_type_die(variable, &pointer) || !dwarf_strip(&pointer) ||
        dwarf_tag(&pointer) != DW_TAG_pointer_type || !dwarf_type_die(&pointer, &target) ||
        !dwarf_strip(&target))
        return false;
    uint32_t size = dwarf_type_of(search->file, &pointer, 0)->size;
    bool is_record = dwarf_tag(&target) != DW_TAG_array_type && dwarf_haschildren(&target) > 0 &&
                     dwarf_tag(&target) != DW_TAG_enumeration_type;
    if (is_record) {
        struct text path = {0};
        bool is_part = offset < size && part_of(search, &pointer, (uint64_t)offset, &path, found, 0);
        if (is_part && path.length)
            text_printf(text, "->%s", path.bytes + 1);
        text_free(&path);
        return is_part;
    }
    if (!size || offset % size)
        return false;
    text_printf(text, "[%lld]", (long long)offset / size);
    return part_of(search, &pointer, 0, text, found, 0);
}

static bool covers(struct search *search, Dwarf_Die *variable, uint64_t offset, struct text *text,
                   Dwarf_Die *found)
{
    return offset < dwarf_type_of(search->file, variable, 0)->size &&
           part_of(search, variable, offset, text, found, 0);
}

static bool is_at(struct search *search, Dwarf_Die *variable, Dwarf_Die *function, struct text *text,
                  Dwarf_Die *found)
{
    const struct dwarf_operand *operand = &search->operand;
    uint64_t begin;
    if (operand->where == DWARF_MEMORY && operand->is_static)
        return !dwarf_static_address(variable, &begin) &&
               covers(search, variable, (uint64_t)operand->offset - begin, text, found);
    if (!function)
        return false;
    struct dwarf_location at = dwarf_location_at(search->file, variable, function, search->address, false);
    if (at.where == DWARF_REGISTERS && at.count == 1 && !at.offset &&
        at.registers[0].offset == operand->base.offset)
        return operand->where == DWARF_REGISTERS ? part_of(search, variable, 0, text, found, 0)
                                                 : behind(search, variable, text, found);
    if (at.where != DWARF_MEMORY || operand->where != DWARF_MEMORY || at.base.offset != operand->base.offset)
        return false;
    return covers(search, variable, (uint64_t)operand->offset - (uint64_t)at.offset, text, found);
}

static void consider(struct search *search, Dwarf_Die *variable, Dwarf_Die *function, unsigned depth)
{
    struct text text = {0};
    Dwarf_Die found;
    const char *name = dwarf_diename(variable);
    text_add(&text, name ? name : "?");
    if (!is_at(search, variable, function, &text, &found) || text.failed) {
        text_free(&text);
        return;
    }
    if (search->depth == depth) { /* the first name is kept, but both must have the same type */
        search->is_ambiguous |= !same_type(search, &found, &search->found);
        text_free(&text);
        return;
    }
    text_free(&search->text);
    search->text = text;
    search->found = found;
    search->depth = depth;
    search->is_ambiguous = false;
}

/* Searches scopes from the outside, so that the innermost is found last. */
static void look_in(struct search *search, Dwarf_Die *scope, Dwarf_Die *function, unsigned depth)
{
    Dwarf_Die child;
    if (depth > DWARF_DEPTH_MAX || dwarf_child(scope, &child))
        return;
    Dwarf_Die inner = {0};
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
            consider(search, &child, function, depth);
        else if (tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type)
            look_in(search, &child, function, depth);
        else if (dwarf_holds_code(tag) && dwarf_haspc(&child, search->address) > 0)
            inner = child;
    } while (dwarf_next(search->file, &child));
    if (inner.addr)
        look_in(search, &inner, dwarf_tag(&inner) == DW_TAG_subprogram ? &inner : function, depth + 1);
}

static bool look(struct search *search)
{
    Dwarf_Die unit;
    text_clear(&search->text);
    search->depth = 0;
    search->is_ambiguous = false;
    if (dwarf_unit_at(search->file, search->address, &unit))
        look_in(search, &unit, NULL, 1);
    return search->depth && !search->is_ambiguous;
}

/* ---- instructions before it ---- */

enum { CODE_MAX = 160, COPIES_MAX = 48, ROWS_MAX = 32, STEPS_MAX = 8 };

struct copies {
    struct {
        uint64_t address;
        struct machine_copy copy;
    } items[COPIES_MAX];
    unsigned count;
};

/* Finds where the rows of the source line begin that has the address, the nearest first. */
static unsigned line_begins(struct dwarf_reader *file, uint64_t address, uint64_t begins[ROWS_MAX])
{
    Dwarf_Die unit;
    Dwarf_Lines *lines;
    size_t all;
    unsigned count = 0;
    Dwarf_Addr at;
    int line = 0, other;
    if (!dwarf_unit_at(file, address, &unit) || dwarf_getsrclines(&unit, &lines, &all))
        return 0;
    size_t behind = partition_point(all, i, dwarf_lineaddr(dwarf_onesrcline(lines, i), &at) || at <= address);
    while (behind-- && count < ROWS_MAX) {
        Dwarf_Line *row = dwarf_onesrcline(lines, behind);
        bool is_end = false;
        if (dwarf_lineno(row, &other) || dwarf_lineaddr(row, &at) || dwarf_lineendsequence(row, &is_end) ||
            is_end || at > address || address - at > CODE_MAX || (line && other != line))
            break;
        line = other;
        if (at < address)
            begins[count++] = at;
    }
    return count;
}

/* Decodes the instructions from a row to the address. False, and none: something between is not a copy. */
static bool decode(const uint8_t *code, uint64_t begin, uint64_t address, struct copies *copies)
{
    copies->count = 0;
    while (begin < address) {
        struct machine_copy copy;
        size_t length =
            copies->count < COPIES_MAX ? machine_copy_decode(code, address - begin, begin, &copy) : 0;
        if (!length) {
            copies->count = 0;
            return false;
        }
        copies->items[copies->count].address = begin;
        copies->items[copies->count++].copy = copy;
        code += length;
        begin += length;
    }
    return true;
}

/* Reads the instructions of the line in front of the address, as far back as they only copy. */
static void read_copies(struct dwarf_reader *file, uint64_t address, struct copies *copies)
{
    uint8_t code[CODE_MAX];
    uint64_t begins[ROWS_MAX], offset;
    unsigned rows = line_begins(file, address, begins);
    struct elf_file *elf;
    copies->count = 0;
    if (!rows || machine_here() != MACHINE_X86_64 || elf_file_open_fd(file->source->program, &elf))
        return;
    uint64_t first = begins[rows - 1];
    bool is_read =
        !elf_file_offset(elf, first, &offset) && !elf_file_read(elf, offset, code, address - first);
    elf_file_close(elf);
    while (is_read && rows-- && !decode(code + (begins[rows] - first), begins[rows], address, copies))
        ;
}

static bool overlap(const struct machine_copy *copy, const struct dwarf_operand *operand)
{
    const struct machine_place *to = &copy->to;
    if (to->in_memory != (operand->where == DWARF_MEMORY))
        return false;
    if (!to->in_memory)
        return to->base.offset == operand->base.offset;
    return to->is_static == operand->is_static &&
           (to->is_static || to->base.offset == operand->base.offset) &&
           to->offset < operand->offset + operand->size && operand->offset < to->offset + copy->size;
}

enum step { STEP_NONE, STEP_COPY, STEP_BASE };

/* Goes back to what was last copied to the operand, which is at *index, or to its base register. */
static enum step step_back(const struct copies *copies, unsigned *index, struct dwarf_operand *operand)
{
    while ((*index)--) {
        const struct machine_copy *copy = &copies->items[*index].copy;
        const struct machine_place *to = &copy->to, *from = &copy->from;
        if (overlap(copy, operand)) {
            if (!to->is_known || !from->is_known || copy->size != operand->size ||
                (to->in_memory && to->offset != operand->offset))
                return STEP_NONE;
            operand->where = from->in_memory ? DWARF_MEMORY : DWARF_REGISTERS;
            operand->is_static = from->is_static;
            operand->base = from->base;
            operand->offset = from->offset;
            return STEP_COPY;
        }
        if (operand->where == DWARF_MEMORY && !operand->is_static && to->is_known && !to->in_memory &&
            to->base.offset == operand->base.offset) {
            ++*index; /* the copy is a step of the base's own */
            return STEP_BASE;
        }
    }
    return STEP_NONE;
}

static bool trace(struct search *search, const struct copies *copies, unsigned index, unsigned steps);

/* Finds the operand behind a pointer that the line has loaded. */
static bool trace_base(struct search *search, const struct copies *copies, unsigned index, unsigned steps)
{
    struct dwarf_operand operand = search->operand;
    search->operand = (struct dwarf_operand){.where = DWARF_REGISTERS, .base = operand.base, .size = 8};
    bool is_found = trace(search, copies, index, steps);
    Dwarf_Die pointer = search->found;
    search->operand = operand;
    return is_found && behind(search, &pointer, &search->text, &search->found);
}

static bool trace(struct search *search, const struct copies *copies, unsigned index, unsigned steps)
{
    bool is_found = false;
    while (!is_found && !search->depth && steps++ < STEPS_MAX) {
        enum step step = step_back(copies, &index, &search->operand);
        if (step == STEP_COPY) {
            search->address = copies->items[index].address;
            is_found = look(search);
        } else if (step == STEP_BASE) {
            is_found = trace_base(search, copies, index, steps);
            break;
        } else {
            break;
        }
    }
    return is_found;
}

int dwarf_reader_operand(struct dwarf_reader *file, uint64_t address, const struct dwarf_operand *operand,
                         struct dwarf_expression *out)
{
    struct search search = {.file = file, .address = address, .operand = *operand};
    DWARF_QUERY_SCOPE(file);
    bool is_found = look(&search);
    if (!is_found && !search.depth) {
        struct copies copies;
        read_copies(file, address, &copies);
        is_found = trace(&search, &copies, copies.count, 0);
    }
    if (is_found)
        *out = (struct dwarf_expression){text_keep(&search.text, file->arena),
                                         dwarf_spelled(file, &search.found),
                                         dwarf_type_of(file, &search.found, 0)};
    text_free(&search.text);
    return is_found ? 0 : -ENOENT;
}
