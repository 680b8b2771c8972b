/* SPDX-License-Identifier: BSD-3-Clause */
/* From BTF records to struct type.
 *
 * A type is made once for each id, and stored before the types are made to which it refers, so that types may refer
 * to each other in circles; the fields of a struct are made when they are needed. Circles that remain (a typedef of
 * itself, an array of itself) are ended by a limit of depth, and read as void. */
#include "sym/kernel/btf_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 64, TRACE_NAME_MAX = 256 };

static const struct type *btf_make(struct btf_file *file, uint32_t id, unsigned depth);

/* Follows typedefs, qualifiers, tags and variables to the type that they stand for. */
static uint32_t btf_strip(const struct btf_file *file, uint32_t id)
{
    for (unsigned steps = 0; steps < DEPTH_MAX; steps++) {
        const struct btf_type *record = btf_record(file, id);
        if (!record)
            return 0;
        switch (BTF_INFO_KIND(record->info)) {
        case BTF_KIND_TYPEDEF:
        case BTF_KIND_VOLATILE:
        case BTF_KIND_CONST:
        case BTF_KIND_RESTRICT:
        case BTF_KIND_VAR:
        case BTF_KIND_TYPE_TAG: id = record->type; continue;
        default: return id;
        }
    }
    return 0;
}

/* Whether a pointer to this type leads to user memory. Kernel code marks it with the TYPE_TAG "user" between the
 * pointer and its target. */
static bool btf_is_user_tag(const struct btf_file *file, uint32_t id)
{
    const struct btf_type *record = btf_record(file, id);
    return record && BTF_INFO_KIND(record->info) == BTF_KIND_TYPE_TAG &&
           !strcmp(btf_string(file, record->name_off), "user");
}

static struct type *btf_new(struct btf_file *file, enum type_kind kind, uint32_t size, const char *name)
{
    struct type *type = arena_new(file->arena, struct type);
    type->kind = kind;
    type->size = size;
    type->name = name && *name ? name : NULL;
    return type;
}

static const struct type *btf_integer(const struct btf_file *file, const struct btf_type *record)
{
    uint32_t data;
    memcpy(&data, record + 1, sizeof data);
    bool is_signed = BTF_INT_ENCODING(data) & BTF_INT_SIGNED;
    if (BTF_INT_ENCODING(data) & BTF_INT_BOOL)
        return &type_bool;
    /* The kernel is built with unsigned characters, but text is recognised by the type int8. */
    if (record->size == 1 && !strcmp(btf_string(file, record->name_off), "char"))
        return &type_i8;
    switch (record->size) {
    case 1:
    case 2:
    case 4:
    case 8: return type_integer(record->size, is_signed);
    default: return NULL; /* __int128, of which the caller makes an array of bytes */
    }
}

static struct type *btf_opaque(struct btf_file *file, uint32_t size)
{
    struct type *type = btf_new(file, TYPE_ARRAY, size, NULL);
    type->target = &type_u8;
    type->count = size;
    return type;
}

static struct type *btf_enum(struct btf_file *file, const struct btf_type *record)
{
    bool wide = BTF_INFO_KIND(record->info) == BTF_KIND_ENUM64;
    uint32_t count = BTF_INFO_VLEN(record->info);
    uint32_t size = record->size;
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return btf_opaque(file, size);
    struct type *type = btf_new(file, TYPE_ENUM, size, btf_string(file, record->name_off));
    struct enumerator *items = arena_array(file->arena, count, sizeof *items);
    /* Before Linux 6.0 enums were not marked as signed: there a negative value shows it. */
    bool is_signed = BTF_INFO_KFLAG(record->info);
    for (uint32_t i = 0; i < count && !wide && !file->enums_have_sign; i++)
        is_signed |= ((const struct btf_enum *)(record + 1) + i)->val < 0;
    for (uint32_t i = 0; i < count; i++) {
        if (wide) {
            const struct btf_enum64 *value = (const struct btf_enum64 *)(record + 1) + i;
            items[i].name = btf_string(file, value->name_off);
            items[i].value = (int64_t)((uint64_t)value->val_hi32 << 32 | value->val_lo32);
        } else {
            const struct btf_enum *value = (const struct btf_enum *)(record + 1) + i;
            items[i].name = btf_string(file, value->name_off);
            items[i].value = is_signed || size < 4 ? value->val : (int64_t)(uint32_t)value->val;
        }
    }
    type->is_signed = is_signed;
    type->enumerators = items;
    type->count = count;
    return type;
}

/* Reads a member. Bit-fields have two encodings. With the struct's flag, offset is (bits << 24 | bit offset).
 * Without it, the member's type is an INT whose own record says how many bits it has, and at which offset. */
static void btf_field(struct btf_file *file, const struct btf_type *owner, const struct btf_member *member,
                      struct field *out)
{
    uint32_t bit_size = 0, bit = member->offset;
    if (BTF_INFO_KFLAG(owner->info)) {
        bit_size = BTF_MEMBER_BITFIELD_SIZE(member->offset);
        bit = BTF_MEMBER_BIT_OFFSET(member->offset);
    } else {
        const struct btf_type *base = btf_record(file, btf_strip(file, member->type));
        if (base && BTF_INFO_KIND(base->info) == BTF_KIND_INT) {
            uint32_t data;
            memcpy(&data, base + 1, sizeof data);
            if (BTF_INT_BITS(data) != base->size * 8 || BTF_INT_OFFSET(data) || bit % 8) {
                bit_size = BTF_INT_BITS(data);
                bit += BTF_INT_OFFSET(data);
            }
        }
    }
    *out = (struct field){.name = btf_string(file, member->name_off),
                          .offset = bit / 8,
                          .bit_offset = (uint8_t)(bit % 8),
                          .bit_size = (uint8_t)(bit_size > 64 ? 64 : bit_size)};
    out->type = btf_make(file, member->type, 0);
}

/* Whether a field is inside of its struct; others are left out. */
static bool btf_field_fits(const struct type *owner, const struct field *field)
{
    uint64_t bytes =
        field->bit_size ? (uint64_t)(field->bit_offset + field->bit_size + 7) / 8 : field->type->size;
    return field->type->kind != TYPE_NONE && field->offset + bytes <= owner->size;
}

struct btf_incomplete {
    struct btf_file *file;
    const struct btf_type *record;
};

static void btf_complete(struct type *type, void *provider)
{
    struct btf_file *file = ((struct btf_incomplete *)provider)->file;
    const struct btf_type *record = ((struct btf_incomplete *)provider)->record;
    uint32_t count = BTF_INFO_VLEN(record->info), kept = 0;
    const struct btf_member *members = (const struct btf_member *)(record + 1);
    struct field *fields = arena_array(file->arena, count, sizeof *fields);
    for (uint32_t i = 0; i < count; i++) {
        btf_field(file, record, &members[i], &fields[kept]);
        kept += btf_field_fits(type, &fields[kept]);
    }
    type->fields = fields;
    type->count = kept;
}

static struct type *btf_struct(struct btf_file *file, const struct btf_type *record)
{
    bool forward = BTF_INFO_KIND(record->info) == BTF_KIND_FWD;
    struct type *type =
        btf_new(file, TYPE_STRUCT, forward ? 0 : record->size, btf_string(file, record->name_off));
    type->is_union = forward ? BTF_INFO_KFLAG(record->info) : BTF_INFO_KIND(record->info) == BTF_KIND_UNION;
    if (!forward) {
        struct btf_incomplete *incomplete = arena_new(file->arena, struct btf_incomplete);
        *incomplete = (struct btf_incomplete){file, record};
        type->complete = btf_complete;
        type->provider = incomplete;
    }
    return type;
}

static struct type *btf_array(struct btf_file *file, const struct btf_type *record, unsigned depth)
{
    struct btf_array array;
    memcpy(&array, record + 1, sizeof array);
    const struct type *element = btf_make(file, array.type, depth + 1);
    uint64_t size = (uint64_t)element->size * array.nelems;
    if (element->kind == TYPE_NONE || size > UINT32_MAX)
        return NULL;
    struct type *type = btf_new(file, TYPE_ARRAY, (uint32_t)size, NULL);
    type->target = element;
    type->count = array.nelems;
    return type;
}

/* Makes a pointer and its target, which takes little: a struct gets its fields only when they are needed. */
static struct type *btf_pointer(struct btf_file *file, const struct btf_type *record, struct type **slot,
                                unsigned depth)
{
    struct type *type = btf_new(file, TYPE_POINTER, 8, NULL);
    type->space = btf_is_user_tag(file, record->type) ? SPACE_USER : file->space;
    type->target = &type_none;
    *slot = type; /* it may point to itself through typedefs */
    type->target = btf_make(file, record->type, depth + 1);
    return type;
}

static struct type **btf_slot(struct btf_file *file, uint32_t id, struct btf_file **owner)
{
    while (file && id < file->first_id)
        file = file->base;
    if (!file || id - file->first_id >= file->count)
        return NULL;
    *owner = file;
    return &file->made[id - file->first_id];
}

static const struct type *btf_make(struct btf_file *file, uint32_t id, unsigned depth)
{
    id = btf_strip(file, id);
    const struct btf_type *record = btf_record(file, id);
    if (!record || depth > DEPTH_MAX)
        return &type_none;
    struct btf_file *owner;
    struct type **slot = btf_slot(file, id, &owner);
    if (!slot)
        return &type_none;
    if (*slot)
        return *slot;
    const struct type *simple = NULL;
    struct type *type = NULL;
    switch (BTF_INFO_KIND(record->info)) {
    case BTF_KIND_INT:
        if ((simple = btf_integer(file, record)))
            return simple;
        type = btf_opaque(owner, record->size);
        break;
    case BTF_KIND_FLOAT:
        type = btf_opaque(owner, record->size);
        type->is_float = type_size_is_float(record->size);
        break;
    case BTF_KIND_PTR: type = btf_pointer(owner, record, slot, depth); break;
    case BTF_KIND_ARRAY: type = btf_array(owner, record, depth); break;
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
    case BTF_KIND_FWD: type = btf_struct(owner, record); break;
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64: type = btf_enum(owner, record); break;
    default: return &type_none; /* functions and variables are no types of values */
    }
    if (!type)
        return &type_none;
    return *slot = type;
}

const struct type *btf_file_type_by_id(struct btf_file *file, uint32_t id)
{
    const struct type *type = btf_make(file, id, 0);
    return type->kind == TYPE_NONE ? NULL : type;
}

const struct type *btf_file_type(struct btf_file *file, const char *name)
{
    static const struct {
        const char *keyword;
        enum btf_name kind;
    } names[] = {
        {"struct ", BTF_NAME_STRUCT}, {"union ", BTF_NAME_UNION}, {"enum ", BTF_NAME_ENUM},
        {"", BTF_NAME_TYPEDEF},       {"", BTF_NAME_STRUCT},      {"", BTF_NAME_UNION},
        {"", BTF_NAME_ENUM},          {"", BTF_NAME_INTEGER},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t skip = strlen(names[i].keyword);
        if (strncmp(name, names[i].keyword, skip))
            continue;
        uint32_t id = btf_file_id(file, names[i].kind, name + skip);
        if (id)
            return btf_file_type_by_id(file, id);
        if (skip)
            return NULL;
    }
    return NULL;
}

const struct type *btf_file_enumerator_type(struct btf_file *file, const char *name, int64_t *value)
{
    for (struct btf_file *at = file; at; at = at->base)
        for (uint32_t i = 0; i < at->count; i++) {
            const struct btf_type *record = (const void *)(at->types + at->offsets[i]);
            unsigned kind = BTF_INFO_KIND(record->info);
            if (kind != BTF_KIND_ENUM && kind != BTF_KIND_ENUM64)
                continue;
            size_t step = kind == BTF_KIND_ENUM ? sizeof(struct btf_enum) : sizeof(struct btf_enum64);
            for (uint32_t k = 0; k < BTF_INFO_VLEN(record->info); k++) {
                uint32_t name_offset; /* the first member of both structs */
                memcpy(&name_offset, (const char *)(record + 1) + k * step, sizeof name_offset);
                if (strcmp(btf_string(at, name_offset), name))
                    continue;
                const struct type *type = btf_make(at, at->first_id + i, 0);
                if (type->kind != TYPE_ENUM)
                    continue;
                *value = type->enumerators[k].value;
                return type;
            }
        }
    return NULL;
}

int btf_file_enumerator(struct btf_file *file, const char *name, int64_t *value)
{
    return btf_file_enumerator_type(file, name, value) ? 0 : -ENOENT;
}

/* Fills the prototype from a FUNC_PROTO, without its first `skip` parameters. */
static int btf_prototype_fill(struct btf_file *file, uint32_t proto_id, uint32_t skip,
                              struct btf_prototype *out)
{
    const struct btf_type *record = btf_record(file, proto_id);
    if (!record || BTF_INFO_KIND(record->info) != BTF_KIND_FUNC_PROTO || BTF_INFO_VLEN(record->info) < skip)
        return -ENOENT;
    uint32_t count = BTF_INFO_VLEN(record->info);
    const struct btf_param *params = (const struct btf_param *)(record + 1);
    out->is_variadic = count && !params[count - 1].type && !params[count - 1].name_off;
    count -= out->is_variadic;
    struct btf_parameter *parameters = arena_array(file->arena, count, sizeof *parameters);
    out->count = 0;
    for (uint32_t i = skip; i < count; i++)
        parameters[out->count++] = (struct btf_parameter){btf_string(file, params[i].name_off),
                                                          btf_make(file, params[i].type, 0), params[i].type};
    out->parameters = parameters;
    out->result = btf_make(file, record->type, 0);
    out->result_id = record->type;
    return 0;
}

int btf_file_function(struct btf_file *file, const char *name, struct btf_prototype *out)
{
    *out = (struct btf_prototype){.id = btf_file_id(file, BTF_NAME_FUNCTION, name)};
    const struct btf_type *record = btf_record(file, out->id);
    return record ? btf_prototype_fill(file, record->type, 0, out) : -ENOENT;
}

/* Names the parameters of a tracepoint's hook. Its typedef is a prototype without names, but functions that the
 * kernel makes of the same prototype have them. */
static void btf_name_parameters(struct btf_file *file, const char *event, struct btf_prototype *hook)
{
    static const char *const prefixes[] = {"__probestub_", "__traceiter_", "__bpf_trace_"};
    char name[TRACE_NAME_MAX];
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        struct btf_prototype same;
        if (snprintf(name, sizeof name, "%s%s", prefixes[i], event) >= (int)sizeof name ||
            btf_file_function(file, name, &same) || same.count != hook->count + 1)
            continue;
        struct btf_parameter *named = arena_array(file->arena, hook->count, sizeof *named);
        for (uint32_t k = 0; k < hook->count; k++)
            named[k] = (struct btf_parameter){same.parameters[k + 1].name, hook->parameters[k].type,
                                              hook->parameters[k].id};
        hook->parameters = named;
        return;
    }
}

int btf_file_tracepoint(struct btf_file *file, const char *event, struct btf_prototype *out)
{
    char name[TRACE_NAME_MAX];
    *out = (struct btf_prototype){0};
    if (snprintf(name, sizeof name, BTF_TRACE_PREFIX "%s", event) >= (int)sizeof name)
        return -ENOENT;
    out->id = btf_file_id(file, BTF_NAME_TYPEDEF, name);
    const struct btf_type *record = btf_record(file, out->id);
    if (!record)
        return -ENOENT;
    record = btf_record(file, btf_strip(file, record->type)); /* a typedef of a pointer to the prototype */
    if (!record || BTF_INFO_KIND(record->info) != BTF_KIND_PTR)
        return -ENOENT;
    int error = btf_prototype_fill(file, btf_strip(file, record->type), 1, out);
    if (!error && out->count && !*out->parameters[0].name)
        btf_name_parameters(file, event, out);
    return error;
}
