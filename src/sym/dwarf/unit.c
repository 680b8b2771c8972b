/* SPDX-License-Identifier: BSD-3-Clause */
/* What one walk over a unit, or over the symbols, has found is kept: a unit may have tens of thousands of functions,
 * each of which is asked for, and would be walked over for each of them. */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vector.h"
#include "sym/dwarf/private.h"

/* A range of what has code: in a unit, of a function; in a function, of what is next inside of it. */
struct code {
    uint64_t low, high;
    size_t order; /* of the walk, in which an entry may have several ranges */
    Dwarf_Die die;
};
struct instance { /* a place where a function was inlined */
    const void *origin;
    uint64_t entry;
    size_t order;
};
struct dwarf_unit {
    struct code *codes; /* sorted by `low` */
    size_t code_count, code_room;
    struct instance *instances; /* sorted by `origin` */
    size_t instance_count, instance_room;
    bool has_codes, has_instances;
};

static struct dwarf_unit *unit_of(struct dwarf_reader *file, const Dwarf_Die *die)
{
    struct dwarf_unit *unit = table_get(&file->units, &die->addr, sizeof die->addr);
    if (unit)
        return unit;
    unit = calloc(1, sizeof *unit);
    if (unit && table_set(&file->units, &die->addr, sizeof die->addr, unit)) {
        free(unit);
        return NULL;
    }
    return unit;
}

void dwarf_units_free(struct dwarf_reader *file)
{
    for (size_t i = 0; i < file->units.count; i++) {
        struct dwarf_unit *unit = file->units.entries[i].value;
        free(unit->codes);
        free(unit->instances);
        free(unit);
    }
    table_free(&file->units);
    free(file->symbols);
}

static bool holds_functions(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
           tag == DW_TAG_union_type;
}

bool dwarf_holds_code(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
           tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

bool dwarf_base_of(Dwarf_Die *die, uint64_t *address)
{
    Dwarf_Addr base, low, high;
    if (dwarf_lowpc(die, address) == 0)
        return true;
    if (dwarf_ranges(die, 0, &base, &low, &high) <= 0)
        return false;
    *address = low;
    return true;
}

bool dwarf_entry_of(Dwarf_Die *die, uint64_t *address)
{
    Dwarf_Attribute entry;
    Dwarf_Word distance;
    if (dwarf_entrypc(die, address) == 0)
        return true;
    if (!dwarf_base_of(die, address))
        return false;
    if (dwarf_attr(die, DW_AT_entry_pc, &entry) && dwarf_formudata(&entry, &distance) == 0)
        *address += distance;
    return true;
}

/* ---- code by address ---- */

static int compare_codes(const void *a, const void *b)
{
    const struct code *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool add_code(struct dwarf_reader *file, struct dwarf_unit *unit, Dwarf_Die *die)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    for (unsigned n = 0; n < DWARF_CHILDREN_MAX && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;
         n++) {
        if (n % 4096 == 4095 && dwarf_is_late(file))
            return false;
        if (low >= high)
            continue;
        if (!vector_make_room(unit->codes, unit->code_count, unit->code_room))
            return false;
        unit->codes[unit->code_count] = (struct code){low, high, unit->code_count, *die};
        unit->code_count++;
    }
    return true;
}

static bool add_codes(struct dwarf_reader *file, struct dwarf_unit *unit, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die child;
    if (depth > DWARF_DEPTH_MAX || dwarf_child(parent, &child))
        return true;
    do {
        int tag = dwarf_tag(&child);
        if (holds_functions(tag) ? !add_codes(file, unit, &child, depth + 1)
                                 : dwarf_holds_code(tag) && !add_code(file, unit, &child))
            return false;
    } while (dwarf_next(file, &child));
    return true;
}

bool dwarf_code_at(struct dwarf_reader *file, const Dwarf_Die *parent, uint64_t address, Dwarf_Die *found)
{
    enum { OVERLAPPING_MAX = 64 };
    struct dwarf_unit *unit = unit_of(file, parent);
    Dwarf_Die around = *parent;
    if (!unit)
        return false;
    if (!unit->has_codes)
        unit->code_count = 0; /* what a walk left that did not end */
    if (!unit->has_codes && add_codes(file, unit, &around, 0)) {
        if (unit->code_count)
            qsort(unit->codes, unit->code_count, sizeof *unit->codes, compare_codes);
        unit->has_codes = true;
    }
    if (!unit->has_codes)
        return false;
    /* Functions with the same code may share it: the first of them in the unit counts. */
    const struct code *first = NULL;
    size_t behind = partition_point(unit->code_count, i, unit->codes[i].low <= address);
    for (size_t tries = 0; behind-- && tries < OVERLAPPING_MAX; tries++) {
        const struct code *code = &unit->codes[behind];
        if (address < code->high && (!first || code->order < first->order))
            first = code;
    }
    if (first)
        *found = first->die;
    return first != NULL;
}

/* ---- what is innermost ---- */

struct search {
    struct dwarf_reader *file;
    uint64_t address;
    const char *name;
    struct dwarf_scope *scope;
};

static bool descend(const struct search *search, Dwarf_Die *parent, Dwarf_Die *function, unsigned depth);

/* The address is in this code, or in code inside of it. */
static void enter(const struct search *search, Dwarf_Die *code, Dwarf_Die *function, unsigned depth)
{
    int tag = dwarf_tag(code);
    Dwarf_Die *around = tag == DW_TAG_subprogram ? code : function;
    if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) && around) {
        const char *own = dwarf_diename(code), *name = search->name;
        if (!name || (*name ? own && !strcmp(own, name) : tag == DW_TAG_subprogram))
            *search->scope = (struct dwarf_scope){*code, *around, true};
    }
    descend(search, code, around, depth);
}

/* Whether it is the instance of the wanted name that begins at the address. Of one whose first instructions were moved
 * elsewhere the ranges do not have the place where it begins. */
static bool begins_here(const struct search *search, Dwarf_Die *die)
{
    uint64_t entry;
    const char *own;
    return search->name && *search->name && dwarf_tag(die) == DW_TAG_inlined_subroutine &&
           dwarf_entry_of(die, &entry) && entry == search->address && (own = dwarf_diename(die)) &&
           !strcmp(own, search->name);
}

/* Returns whether the address is in a child. */
static bool descend(const struct search *search, Dwarf_Die *parent, Dwarf_Die *function, unsigned depth)
{
    Dwarf_Die child;
    if (depth > DWARF_DEPTH_MAX || dwarf_child(parent, &child))
        return false;
    do {
        int tag = dwarf_tag(&child);
        if (holds_functions(tag) && descend(search, &child, function, depth + 1))
            return true;
        if (dwarf_holds_code(tag) &&
            (begins_here(search, &child) || dwarf_haspc(&child, search->address) > 0)) {
            enter(search, &child, function, depth + 1);
            return true;
        }
    } while (dwarf_next(search->file, &child));
    return false;
}

bool dwarf_scope_at(struct dwarf_reader *file, uint64_t address, const char *name, struct dwarf_scope *scope)
{
    Dwarf_Die unit, code;
    *scope = (struct dwarf_scope){.is_found = false};
    const struct search search = {file, address, name, scope};
    if (dwarf_unit_at(file, address, &unit) && dwarf_code_at(file, &unit, address, &code))
        enter(&search, &code, NULL, 0);
    return scope->is_found;
}

/* ---- where functions were inlined ---- */

static int compare_instances(const void *a, const void *b)
{
    const struct instance *x = a, *y = b;
    if (x->origin != y->origin)
        return (uintptr_t)x->origin < (uintptr_t)y->origin ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool add_instance(struct dwarf_unit *unit, Dwarf_Die *die)
{
    Dwarf_Die origin;
    uint64_t entry;
    if (!dwarf_entry_of(die, &entry))
        return true;
    if (!vector_make_room(unit->instances, unit->instance_count, unit->instance_room))
        return false;
    dwarf_origin_of(die, &origin);
    unit->instances[unit->instance_count] = (struct instance){origin.addr, entry, unit->instance_count};
    unit->instance_count++;
    return true;
}

static bool add_instances(struct dwarf_reader *file, struct dwarf_unit *unit, Dwarf_Die *parent,
                          unsigned depth)
{
    Dwarf_Die child;
    if (depth > DWARF_DEPTH_MAX || dwarf_child(parent, &child))
        return true;
    do {
        int tag = dwarf_tag(&child);
        if (!dwarf_holds_code(tag) && !holds_functions(tag))
            continue;
        if (tag == DW_TAG_inlined_subroutine && !add_instance(unit, &child))
            return false;
        if (dwarf_haschildren(&child) > 0 && !add_instances(file, unit, &child, depth + 1))
            return false;
    } while (dwarf_next(file, &child));
    return true;
}

int dwarf_unit_instances(struct dwarf_reader *file, Dwarf_Die *die, const Dwarf_Die *function,
                         dwarf_place_visitor *visit, void *state)
{
    struct dwarf_unit *unit = unit_of(file, die);
    if (!unit)
        return 0;
    if (!unit->has_instances)
        unit->instance_count = 0;
    if (!unit->has_instances && add_instances(file, unit, die, 0)) {
        if (unit->instance_count)
            qsort(unit->instances, unit->instance_count, sizeof *unit->instances, compare_instances);
        unit->has_instances = true;
    }
    size_t at = unit->has_instances
                    ? partition_point(unit->instance_count, i,
                                      (uintptr_t)unit->instances[i].origin < (uintptr_t)function->addr)
                    : unit->instance_count;
    int stop = 0;
    for (; !stop && at < unit->instance_count && unit->instances[at].origin == function->addr; at++)
        stop = visit(state, unit->instances[at].entry, true);
    return stop;
}

/* ---- symbols ---- */

static int compare_symbols(const void *a, const void *b)
{
    const struct dwarf_symbol *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static bool add_symbols(struct dwarf_reader *file, size_t *room, Elf *elf)
{
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Sym symbol;
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
            const char *name = GELF_ST_TYPE(symbol.st_info) == STT_FUNC
                                   ? elf_strptr(elf, header.sh_link, symbol.st_name)
                                   : NULL;
            if (!name)
                continue;
            if (!vector_make_room(file->symbols, file->symbol_count, *room))
                return false;
            file->symbols[file->symbol_count++] = (struct dwarf_symbol){symbol.st_value, !strchr(name, '.')};
        }
    }
    return true;
}

void dwarf_symbols_at(struct dwarf_reader *file, uint64_t address, bool *any, bool *plain)
{
    *any = *plain = false;
    if (!file->symbols_read) {
        size_t room = 0;
        free(file->symbols);
        file->symbols = NULL;
        file->symbol_count = 0;
        if (!add_symbols(file, &room, file->program) || !add_symbols(file, &room, file->debug))
            return;
        if (file->symbol_count)
            qsort(file->symbols, file->symbol_count, sizeof *file->symbols, compare_symbols);
        file->symbols_read = true;
    }
    size_t at = partition_point(file->symbol_count, i, file->symbols[i].address < address);
    for (; at < file->symbol_count && file->symbols[at].address == address; at++) {
        *any = true;
        *plain |= file->symbols[at].is_plain;
    }
}
