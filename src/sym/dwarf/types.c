/* SPDX-License-Identifier: BSD-3-Clause */
/* From DWARF entries to struct type.
 *
 * A type is made once for each entry, and stored before the types are made to which it refers, so that types may
 * refer to each other in circles; the fields of a struct are made when they are needed. Circles that remain (an
 * array of itself) are ended by a limit of depth, and read as void. */
#include "sym/dwarf/private.h"

#include <errno.h>
#include <string.h>

bool dwarf_type_die(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute found;
    Dwarf_Die whole;
    if (!dwarf_attr_integrate(die, DW_AT_type, &found) || !dwarf_formref_die(&found, type))
        return false;
    /* A type in a unit of its own, of which this one has only the number. */
    if (dwarf_attr(type, DW_AT_signature, &found) && dwarf_formref_die(&found, &whole))
        *type = whole;
    return true;
}

bool dwarf_strip(Dwarf_Die *die)
{
    for (unsigned steps = 0; steps < DWARF_DEPTH_MAX; steps++) {
        switch (dwarf_tag(die)) {
        case DW_TAG_typedef:
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
        case DW_TAG_immutable_type: {
            Dwarf_Die next;
            if (!dwarf_type_die(die, &next))
                return false;
            *die = next;
            continue;
        }
        default: return true;
        }
    }
    return false;
}

static struct type *new_type(struct dwarf_reader *file, Dwarf_Die *die, enum type_kind kind, uint64_t size)
{
    struct type *type = arena_new(file->arena, struct type);
    const char *name = dwarf_diename(die);
    type->kind = kind;
    type->size = (uint32_t)size;
    type->name = name ? arena_strdup(file->arena, name) : NULL;
    table_set(&file->made, &die->addr, sizeof die->addr, type); /* if memory runs out, it is made again */
    return type;
}

static uint64_t byte_size(Dwarf_Die *die)
{
    uint64_t size;
    return dwarf_number(die, DW_AT_byte_size, &size) && size <= DWARF_STRUCT_MAX ? size : 0;
}

static const struct type *make_bytes(struct dwarf_reader *file, Dwarf_Die *die, uint64_t size, bool is_float)
{
    if (!size)
        return &type_none;
    struct type *type = new_type(file, die, TYPE_ARRAY, size);
    type->name = NULL;
    type->target = &type_u8;
    type->count = (uint32_t)size;
    type->is_float = is_float && type_size_is_float(size);
    return type;
}

static const struct type *make_base(struct dwarf_reader *file, Dwarf_Die *die)
{
    uint64_t encoding = 0, size = byte_size(die);
    const char *name = dwarf_diename(die);
    dwarf_number(die, DW_AT_encoding, &encoding);
    bool fits = size == 1 || size == 2 || size == 4 || size == 8;
    switch (encoding) {
    case DW_ATE_boolean:
        if (size == 1)
            return &type_bool;
        break;
    case DW_ATE_signed:
    case DW_ATE_signed_char:
        if (fits)
            return type_integer((unsigned)size, true);
        break;
    case DW_ATE_unsigned_char:
        /* Text is recognised by the type int8, also where characters are unsigned. */
        if (size == 1 && name && !strcmp(name, "char"))
            return &type_i8;
        /* fall through */
    case DW_ATE_unsigned:
    case DW_ATE_address:
    case DW_ATE_UTF:
        if (fits)
            return type_integer((unsigned)size, false);
        break;
    default: break;
    }
    return make_bytes(file, die, size, encoding == DW_ATE_float);
}

/* ---- enums ---- */

/* Returns the value of a constant. Compilers write it in as few bytes as it needs, which says nothing about its
 * sign, unless these are as many as those of the enum. */
static int64_t constant_value(Dwarf_Attribute *attribute, bool is_signed, uint64_t size)
{
    Dwarf_Sword with_sign = 0;
    Dwarf_Word plain = 0;
    unsigned form = dwarf_whatform(attribute), width = form == DW_FORM_data1   ? 1
                                                       : form == DW_FORM_data2 ? 2
                                                       : form == DW_FORM_data4 ? 4
                                                       : form == DW_FORM_data8 ? 8
                                                                               : 0;
    if (form == DW_FORM_sdata || form == DW_FORM_implicit_const || (is_signed && width == size))
        return dwarf_formsdata(attribute, &with_sign) ? 0 : with_sign;
    return dwarf_formudata(attribute, &plain) ? 0 : (int64_t)plain;
}

static bool enum_is_signed(struct dwarf_reader *file, Dwarf_Die *die)
{
    Dwarf_Die base;
    uint64_t encoding;
    Dwarf_Attribute found;
    if (dwarf_type_die(die, &base) && dwarf_strip(&base) && dwarf_number(&base, DW_AT_encoding, &encoding))
        return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    Dwarf_Die child;
    if (dwarf_child(die, &child))
        return false;
    do {
        Dwarf_Sword value;
        if (dwarf_attr(&child, DW_AT_const_value, &found) && dwarf_whatform(&found) == DW_FORM_sdata &&
            !dwarf_formsdata(&found, &value) && value < 0)
            return true;
    } while (dwarf_next(file, &child));
    return false;
}

static const struct type *make_enum(struct dwarf_reader *file, Dwarf_Die *die)
{
    uint64_t size = byte_size(die);
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return make_bytes(file, die, size, false);
    struct type *type = new_type(file, die, TYPE_ENUM, size);
    struct enumerator *items = NULL;
    size_t count = 0, room = 0;
    Dwarf_Die child;
    Dwarf_Attribute found;
    type->is_signed = enum_is_signed(file, die);
    if (dwarf_child(die, &child) == 0) {
        do {
            const char *name = dwarf_diename(&child);
            if (dwarf_tag(&child) != DW_TAG_enumerator || !name ||
                !dwarf_attr(&child, DW_AT_const_value, &found))
                continue;
            *arena_push(file->arena, items, count, room) = (struct enumerator){
                arena_strdup(file->arena, name), constant_value(&found, type->is_signed, size)};
        } while (dwarf_next(file, &child));
    }
    type->enumerators = items;
    type->count = (uint32_t)count;
    return type;
}

/* ---- structs ---- */

/* Finds a member's offset in bytes. False: it depends on the object (virtual bases), or it is no part of the
 * struct. */
static bool member_offset(Dwarf_Die *die, uint64_t *offset)
{
    Dwarf_Attribute found;
    Dwarf_Word word;
    Dwarf_Op *operations;
    size_t count;
    *offset = 0;
    if (!dwarf_attr(die, DW_AT_data_member_location, &found))
        return true;
    if (dwarf_formudata(&found, &word) == 0) {
        *offset = word;
        return true;
    }
    if (dwarf_getlocation(&found, &operations, &count) || count != 1 ||
        operations[0].atom != DW_OP_plus_uconst)
        return false;
    *offset = operations[0].number;
    return true;
}

static bool make_field(struct dwarf_reader *file, const struct type *owner, Dwarf_Die *die, struct field *out)
{
    uint64_t offset, bits, first;
    const char *name = dwarf_diename(die);
    bool is_base = dwarf_tag(die) == DW_TAG_inheritance;
    if (dwarf_has(die, DW_AT_external) || dwarf_has(die, DW_AT_declaration) || !member_offset(die, &offset) ||
        offset > owner->size)
        return false;
    *out = (struct field){.name = name && !is_base ? arena_strdup(file->arena, name) : "",
                          .type = dwarf_type_of(file, die, 0),
                          .offset = (uint32_t)offset};
    if (out->type->kind == TYPE_NONE)
        return false;
    uint64_t bytes = out->type->size;
    if (dwarf_number(die, DW_AT_bit_size, &bits)) {
        uint64_t unit = byte_size(die) ? byte_size(die) : out->type->size;
        if (!bits || bits > 64 || unit > 16)
            return false;
        if (dwarf_number(die, DW_AT_data_bit_offset, &first))
            first += 8 * offset;
        /* DW_AT_bit_offset counts from the highest bit of the unit */
        else if (dwarf_number(die, DW_AT_bit_offset, &first))
            first = 8 * offset + 8 * unit - first - bits;
        else
            first = 8 * offset;
        if (first / 8 > owner->size)
            return false;
        out->offset = (uint32_t)(first / 8);
        out->bit_offset = (uint8_t)(first % 8);
        out->bit_size = (uint8_t)bits;
        bytes = (out->bit_offset + bits + 7) / 8;
    }
    return out->offset + bytes <= owner->size;
}

struct fields {
    struct field *items;
    size_t count, room;
};

static void add_field(struct dwarf_reader *file, const struct type *owner, Dwarf_Die *die,
                      struct fields *fields)
{
    struct field field;
    int tag = dwarf_tag(die);
    if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) && make_field(file, owner, die, &field))
        *arena_push(file->arena, fields->items, fields->count, fields->room) = field;
}

/* Adds the variants of a Rust enum, which has one of several things at one place, and a number that says which. All
 * of them are fields; the number is the field `variant` and prints as a name. The variant without a number is the
 * one in whose value the compiler found one to spare; then that value is seen. */
static void add_variants(struct dwarf_reader *file, const struct type *owner, Dwarf_Die *part,
                         struct fields *fields)
{
    Dwarf_Die number, variant, member;
    Dwarf_Attribute found;
    struct field field;
    struct enumerator *names = NULL;
    size_t count = 0, room = 0, before = fields->count;
    bool has_number = dwarf_attr(part, DW_AT_discr, &found) && dwarf_formref_die(&found, &number) &&
                      make_field(file, owner, &number, &field) && field.type->kind == TYPE_INTEGER &&
                      !field.bit_size;
    if (has_number)
        arena_push(file->arena, fields->items, fields->count, fields->room);
    if (dwarf_child(part, &variant))
        return;
    do {
        if (dwarf_tag(&variant) != DW_TAG_variant || dwarf_child(&variant, &member))
            continue;
        const char *name = dwarf_diename(&member);
        add_field(file, owner, &member, fields);
        if (has_number && name && dwarf_attr(&variant, DW_AT_discr_value, &found))
            *arena_push(file->arena, names, count, room) =
                (struct enumerator){arena_strdup(file->arena, name),
                                    constant_value(&found, field.type->is_signed, field.type->size)};
    } while (dwarf_next(file, &variant));
    if (!has_number)
        return;
    struct type *type = arena_new(file->arena, struct type);
    *type = (struct type){.kind = TYPE_ENUM,
                          .size = field.type->size,
                          .is_signed = field.type->is_signed,
                          .enumerators = names,
                          .count = (uint32_t)count};
    fields->items[before] = (struct field){.name = "variant", .type = type, .offset = field.offset};
}

struct incomplete {
    struct dwarf_reader *file;
    Dwarf_Die die;
};

static void fill(struct dwarf_reader *file, struct type *type, Dwarf_Die *die)
{
    struct fields fields = {0};
    Dwarf_Die child;
    if (dwarf_child(die, &child))
        return;
    do {
        if (dwarf_tag(&child) == DW_TAG_variant_part)
            add_variants(file, type, &child, &fields);
        else
            add_field(file, type, &child, &fields);
    } while (dwarf_next(file, &child));
    type->fields = fields.items;
    type->count = (uint32_t)fields.count;
}

static int take_definition(void *state, Dwarf_Die *die)
{
    struct type *type = state;
    struct incomplete *incomplete = type->provider;
    type->size = (uint32_t)byte_size(die);
    fill(incomplete->file, type, die);
    return 1;
}

static void complete(struct type *type, void *provider)
{
    struct incomplete *incomplete = provider;
    type->complete = NULL;
    DWARF_QUERY_SCOPE(incomplete->file);
    if (!dwarf_has(&incomplete->die, DW_AT_declaration))
        fill(incomplete->file, type, &incomplete->die);
    else if (type->name) /* this unit has only the name */
        dwarf_index_each(incomplete->file, type->is_union ? DWARF_KIND_UNION : DWARF_KIND_STRUCT, type->name,
                         take_definition, type);
}

static const struct type *make_struct(struct dwarf_reader *file, Dwarf_Die *die)
{
    struct type *type = new_type(file, die, TYPE_STRUCT, byte_size(die));
    struct incomplete *incomplete = arena_new(file->arena, struct incomplete);
    *incomplete = (struct incomplete){file, *die};
    type->is_union = dwarf_tag(die) == DW_TAG_union_type;
    type->space = SPACE_NONE;
    type->complete = complete;
    type->provider = incomplete;
    return type;
}

/* ---- arrays and pointers ---- */

static uint64_t subrange_count(Dwarf_Die *die)
{
    uint64_t count, lower = 0;
    Dwarf_Attribute found;
    Dwarf_Word upper;
    if (dwarf_number(die, DW_AT_count, &count))
        return count;
    if (!dwarf_attr_integrate(die, DW_AT_upper_bound, &found) || dwarf_formudata(&found, &upper))
        return 0; /* x[], or a length that is known only while the program runs */
    dwarf_number(die, DW_AT_lower_bound, &lower);
    return upper == UINT64_MAX || upper < lower || upper >= UINT32_MAX ? 0 : upper - lower + 1;
}

/* Makes the type of an array. One entry describes all dimensions, the outermost first. */
static const struct type *make_array(struct dwarf_reader *file, Dwarf_Die *die, unsigned depth)
{
    enum { DIMENSIONS = 16 };
    uint64_t counts[DIMENSIONS];
    size_t dimensions = 0;
    Dwarf_Die child;
    if (dwarf_child(die, &child) == 0) {
        do
            if (dwarf_tag(&child) == DW_TAG_subrange_type || dwarf_tag(&child) == DW_TAG_enumeration_type)
                counts[dimensions++] = subrange_count(&child);
        while (dimensions < DIMENSIONS && dwarf_next(file, &child));
    }
    const struct type *element = dwarf_type_of(file, die, depth + 1);
    if (!dimensions || element->kind == TYPE_NONE)
        return &type_none;
    while (dimensions--) {
        struct type *type =
            dimensions ? arena_new(file->arena, struct type) : new_type(file, die, TYPE_ARRAY, 0);
        uint64_t size = 0;
        if (__builtin_mul_overflow(counts[dimensions], (uint64_t)element->size, &size) ||
            size > DWARF_STRUCT_MAX)
            size = counts[dimensions] = 0;
        *type = (struct type){.kind = TYPE_ARRAY,
                              .size = (uint32_t)size,
                              .target = element,
                              .count = (uint32_t)counts[dimensions]};
        element = type;
    }
    return element;
}

static const struct type *make_pointer(struct dwarf_reader *file, Dwarf_Die *die, unsigned depth)
{
    struct type *type = new_type(file, die, TYPE_POINTER, 8);
    type->name = NULL;
    type->space = SPACE_USER;
    type->target = &type_none; /* complete enough for a pointer to itself, which may be made meanwhile */
    type->target = dwarf_type_of(file, die, depth + 1);
    return type;
}

const struct type *dwarf_type_make(struct dwarf_reader *file, Dwarf_Die *die, unsigned depth)
{
    Dwarf_Die stripped = *die;
    if (depth > DWARF_DEPTH_MAX || !dwarf_strip(&stripped))
        return &type_none;
    const struct type *known = table_get(&file->made, &stripped.addr, sizeof stripped.addr);
    if (known)
        return known;
    switch (dwarf_tag(&stripped)) {
    case DW_TAG_base_type: return make_base(file, &stripped);
    case DW_TAG_enumeration_type: return make_enum(file, &stripped);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type: return make_struct(file, &stripped);
    case DW_TAG_array_type: return make_array(file, &stripped, depth);
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type: return make_pointer(file, &stripped, depth);
    case DW_TAG_ptr_to_member_type:
    case DW_TAG_unspecified_type: return make_bytes(file, &stripped, byte_size(&stripped), false);
    case DW_TAG_subrange_type: return dwarf_type_of(file, &stripped, depth + 1);
    default: return &type_none; /* functions are no types of values */
    }
}

const struct type *dwarf_type_of(struct dwarf_reader *file, Dwarf_Die *die, unsigned depth)
{
    Dwarf_Die type;
    return dwarf_type_die(die, &type) ? dwarf_type_make(file, &type, depth) : &type_none;
}

/* ---- by name ---- */

struct wanted {
    Dwarf_Die unit, die;
    bool is_found;
};

static int want(void *state, Dwarf_Die *die)
{
    struct wanted *wanted = state;
    wanted->die = *die;
    return wanted->is_found = true;
}

static bool find(struct dwarf_reader *file, enum dwarf_kind kind, const char *name, uint64_t near,
                 struct wanted *wanted)
{
    *wanted = (struct wanted){0};
    if (near && dwarf_unit_at(file, near, &wanted->unit))
        dwarf_unit_each(file, &wanted->unit, kind, name, want, wanted);
    if (!wanted->is_found)
        dwarf_index_each(file, kind, name, want, wanted);
    return wanted->is_found;
}

const struct type *dwarf_reader_type(struct dwarf_reader *file, const char *name, uint64_t near)
{
    DWARF_QUERY_SCOPE(file);
    static const struct {
        const char *keyword;
        enum dwarf_kind kind;
    } names[] = {
        {"struct ", DWARF_KIND_STRUCT}, {"union ", DWARF_KIND_UNION}, {"enum ", DWARF_KIND_ENUM},
        {"", DWARF_KIND_TYPEDEF},       {"", DWARF_KIND_STRUCT},      {"", DWARF_KIND_UNION},
        {"", DWARF_KIND_ENUM},          {"", DWARF_KIND_BASE},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t skip = strlen(names[i].keyword);
        struct wanted wanted;
        if (strncmp(name, names[i].keyword, skip))
            continue;
        if (find(file, names[i].kind, name + skip, near, &wanted)) {
            const struct type *type = dwarf_type_make(file, &wanted.die, 0);
            return type->kind == TYPE_NONE ? NULL : type;
        }
        if (skip)
            return NULL;
    }
    return NULL;
}

const struct type *dwarf_reader_enumerator(struct dwarf_reader *file, const char *name, uint64_t near,
                                           int64_t *value)
{
    DWARF_QUERY_SCOPE(file);
    struct wanted wanted;
    if (!find(file, DWARF_KIND_ENUMERATOR, name, near, &wanted))
        return NULL;
    const struct type *type = dwarf_type_make(file, &wanted.die, 0);
    for (uint32_t i = 0; type->kind == TYPE_ENUM && i < type->count; i++)
        if (!strcmp(type->enumerators[i].name, name)) {
            *value = type->enumerators[i].value;
            return type;
        }
    return NULL;
}

int dwarf_reader_each_enum(struct dwarf_reader *file, const char *pattern, dwarf_name_visitor *visit,
                           void *state)
{
    DWARF_QUERY_SCOPE(file);
    return dwarf_index_names(file, DWARF_KIND_ENUM, pattern, visit, state);
}

int dwarf_static_address(Dwarf_Die *die, uint64_t *address)
{
    Dwarf_Attribute found, indirect;
    Dwarf_Op *operations;
    size_t count;
    Dwarf_Addr value;
    if (!dwarf_attr_integrate(die, DW_AT_location, &found) ||
        dwarf_getlocation(&found, &operations, &count) || count != 1)
        return -ENOENT;
    switch (operations[0].atom) {
    case DW_OP_addr: *address = operations[0].number; return 0;
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
        if (dwarf_getlocation_attr(&found, operations, &indirect) || dwarf_formaddr(&indirect, &value))
            return -ENOENT;
        *address = value;
        return 0;
    default: return -ENOENT; /* each thread has one */
    }
}

int dwarf_reader_variable(struct dwarf_reader *file, const char *name, uint64_t near, uint64_t *address,
                          const struct type **type)
{
    DWARF_QUERY_SCOPE(file);
    struct wanted wanted;
    if (!find(file, DWARF_KIND_VARIABLE, name, near, &wanted) || dwarf_static_address(&wanted.die, address))
        return -ENOENT;
    *type = dwarf_type_of(file, &wanted.die, 0);
    return 0;
}
