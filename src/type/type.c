/* SPDX-License-Identifier: BSD-3-Clause */
/* Types: making, comparing, joining, measuring, searching and naming them.
 *
 * Types that are read from debug information are untrusted: they may be deep, wide, or point at themselves. Every
 * walk here is bounded by a depth or by a budget of steps, and two types are called equal only when the walk was
 * completed. */
#include "type/type.h"

#include <string.h>

enum {
    TYPE_DEPTH = 32,    /* how deep a walk follows nested types */
    TYPE_BUDGET = 4096, /* steps of one comparison or search */
};

const struct type type_none = {.kind = TYPE_NONE};
const struct type type_bool = {.kind = TYPE_BOOL, .size = 1};
const struct type type_string_empty = {.kind = TYPE_STRING, .size = 1};
const struct type type_i8 = {.kind = TYPE_INTEGER, .size = 1, .is_signed = true};
const struct type type_i16 = {.kind = TYPE_INTEGER, .size = 2, .is_signed = true};
const struct type type_i32 = {.kind = TYPE_INTEGER, .size = 4, .is_signed = true};
const struct type type_i64 = {.kind = TYPE_INTEGER, .size = 8, .is_signed = true};
const struct type type_u8 = {.kind = TYPE_INTEGER, .size = 1};
const struct type type_u16 = {.kind = TYPE_INTEGER, .size = 2};
const struct type type_u32 = {.kind = TYPE_INTEGER, .size = 4};
const struct type type_u64 = {.kind = TYPE_INTEGER, .size = 8};

/* What makes one kind of value different from another, besides how it is printed (print/value.c) and what its
 * parameters are. In the order of enum type_kind. */
enum { COMPARABLE = 1, NUMBERED = 2 };
static const struct kind_facts {
    const char *name;
    uint8_t storage; /* bytes; 0: it depends on the type */
    uint8_t size;    /* what sizeof says, bytes */
    /* COMPARABLE: no scalar, and two values are equal when their words are. NUMBERED: see type_is_numbered(). */
    uint8_t flags;
    uint8_t order; /* enum type_order */
} kind_facts[] = {
    [TYPE_NONE] = {"void", 0, 0, 0, ORDER_NONE},
    [TYPE_INTEGER] = {"int", 8, 8, 0, ORDER_NUMBER},
    [TYPE_BOOL] = {"bool", 8, 1, 0, ORDER_NUMBER},
    [TYPE_ENUM] = {"enum", 8, 4, 0, ORDER_NUMBER},
    [TYPE_POINTER] = {"pointer", 8, 8, 0, ORDER_NUMBER},
    [TYPE_STRING] = {"string", 0, 0, COMPARABLE, ORDER_BYTES},
    [TYPE_BUFFER] = {"buffer", 0, 0, COMPARABLE, ORDER_NONE},
    [TYPE_ARRAY] = {"array", 0, 0, COMPARABLE, ORDER_NONE},
    [TYPE_STRUCT] = {"struct", 0, 0, COMPARABLE, ORDER_NONE},
    [TYPE_TUPLE] = {"tuple", 0, 0, COMPARABLE, ORDER_FIELDS},
    [TYPE_KSYM] = {"ksym_t", 8, 8, COMPARABLE | NUMBERED, ORDER_NONE},
    [TYPE_USYM] = {"usym_t", 16, 16, COMPARABLE | NUMBERED, ORDER_NONE},
    [TYPE_KSTACK] = {"kstack_t", 8, 8, COMPARABLE | NUMBERED, ORDER_NONE},
    [TYPE_USTACK] = {"ustack_t", 16, 16, COMPARABLE | NUMBERED, ORDER_NONE},
    [TYPE_INET] = {"inet", 24, 24, COMPARABLE, ORDER_NONE},
    [TYPE_TIMESTAMP] = {"timestamp", 8, 8, NUMBERED, ORDER_NONE},
    [TYPE_USERNAME] = {"username_t", 8, 8, COMPARABLE | NUMBERED, ORDER_NONE},
    [TYPE_PROBE_NAME] = {"string", 8, 8, COMPARABLE | NUMBERED, ORDER_NUMBER},
    [TYPE_MACADDR] = {"macaddr_t", 8, 6, COMPARABLE, ORDER_BYTES},
    [TYPE_CGROUP_PATH] = {"cgroup_path_t", 8, 8, COMPARABLE | NUMBERED, ORDER_NONE},
    [TYPE_CONTAINER] = {"container_t", 8, 8, COMPARABLE | NUMBERED, ORDER_NONE},
    [TYPE_POD] = {"pod_t", 8, 8, COMPARABLE | NUMBERED, ORDER_NONE},
    [TYPE_AGGREGATION] = {"aggregation", 0, 8, 0, ORDER_NONE},
};

bool type_is_comparable(const struct type *type)
{
    return kind_facts[type->kind].flags & COMPARABLE;
}

bool type_is_numbered(const struct type *type)
{
    return kind_facts[type->kind].flags & NUMBERED;
}

enum type_order type_order(const struct type *type)
{
    return (enum type_order)kind_facts[type->kind].order;
}

static uint32_t round_to_word(uint64_t bytes)
{
    uint64_t rounded = (bytes + 7) & ~(uint64_t)7;
    return rounded > UINT32_MAX - 7 ? UINT32_MAX - 7 : (uint32_t)rounded;
}

const struct type *type_integer(unsigned bytes, bool is_signed)
{
    switch (bytes) {
    case 1: return is_signed ? &type_i8 : &type_u8;
    case 2: return is_signed ? &type_i16 : &type_u16;
    case 4: return is_signed ? &type_i32 : &type_u32;
    default: return is_signed ? &type_i64 : &type_u64;
    }
}

static struct type *type_new(struct arena *arena, enum type_kind kind, uint32_t size)
{
    struct type *type = arena_new(arena, struct type);
    type->kind = kind;
    type->size = size;
    return type;
}

const struct type *type_pointer(struct arena *arena, const struct type *target, enum address_space space)
{
    struct type *type = type_new(arena, TYPE_POINTER, 8);
    type->target = target;
    type->space = space;
    return type;
}

const struct type *type_string(struct arena *arena, uint32_t capacity)
{
    return type_new(arena, TYPE_STRING, capacity ? capacity : 1);
}

const struct type *type_text_array(struct arena *arena, uint32_t count)
{
    struct type *type = type_new(arena, TYPE_STRING, count + 1);
    type->count = count;
    return type;
}

uint32_t type_characters(const struct type *type)
{
    return type->count || type->kind != TYPE_STRING ? type->count : type->size;
}

const struct type *type_buffer(struct arena *arena, uint32_t capacity)
{
    return type_new(arena, TYPE_BUFFER, capacity);
}

const struct type *type_array(struct arena *arena, const struct type *element, uint32_t count)
{
    uint64_t size = (uint64_t)element->size * count;
    struct type *type = type_new(arena, TYPE_ARRAY, size > UINT32_MAX ? UINT32_MAX : (uint32_t)size);
    type->target = element;
    type->count = count;
    return type;
}

bool type_size_is_float(uint64_t size)
{
    return size == sizeof(float) || size == sizeof(double);
}

const struct type *type_float(struct arena *arena, uint32_t size)
{
    struct type *type = type_new(arena, TYPE_ARRAY, size);
    type->target = &type_u8;
    type->count = size;
    type->is_float = type_size_is_float(size);
    return type;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || strcmp(a ? a : "", b ? b : "") == 0;
}

const struct type *type_record(struct arena *arena, const char *const *names,
                               const struct type *const *elements, uint32_t count)
{
    struct field *fields = arena_array(arena, count, sizeof *fields);
    uint64_t offset = 0;
    for (uint32_t i = 0; i < count; i++) {
        fields[i].name = names ? names[i] : "";
        fields[i].type = elements[i];
        fields[i].offset = round_to_word(offset);
        offset += type_storage(elements[i]);
    }
    struct type *type = type_new(arena, TYPE_TUPLE, round_to_word(offset));
    type->fields = fields;
    type->count = count;
    return type;
}

const struct type *type_tuple(struct arena *arena, const struct type *const *elements, uint32_t count)
{
    return type_record(arena, NULL, elements, count);
}

const struct type *type_tuple_like(struct arena *arena, const struct type *tuple,
                                   const struct type *const *elements)
{
    struct type *like = (struct type *)type_tuple(arena, elements, tuple->count);
    struct field *fields = (struct field *)like->fields;
    for (uint32_t i = 0; i < tuple->count; i++)
        fields[i].name = tuple->fields[i].name;
    return like;
}

bool type_is_record(const struct type *type)
{
    return type->kind == TYPE_TUPLE && type->count && type->fields[0].name && type->fields[0].name[0];
}

int type_element(const struct type *tuple, const struct type *other, uint32_t i)
{
    if (type_is_record(tuple) != type_is_record(other) || tuple->count != other->count)
        return -1;
    if (!type_is_record(tuple))
        return (int)i;
    for (uint32_t k = 0; k < tuple->count; k++) /* begin with the same place, where it mostly is */
        if (same_text(tuple->fields[(i + k) % tuple->count].name, other->fields[i].name))
            return (int)((i + k) % tuple->count);
    return -1;
}

const struct type *type_simple(struct arena *arena, enum type_kind kind)
{
    return type_new(arena, kind, kind_facts[kind].size);
}

const struct type *type_probe_name(struct arena *arena, uint32_t bytes)
{
    struct type *type = type_new(arena, TYPE_PROBE_NAME, kind_facts[TYPE_PROBE_NAME].size);
    type->count = bytes;
    return type;
}

const struct type *type_aggregation(struct arena *arena, const struct aggregation *kind,
                                    const struct type *value)
{
    struct type *type = type_new(arena, TYPE_AGGREGATION, kind_facts[TYPE_AGGREGATION].size);
    type->aggregation = kind;
    type->target = value;
    type->is_signed = !kind->is_unsigned && value && value->is_signed;
    return type;
}

bool type_is_symbol(const struct type *type)
{
    return type->kind == TYPE_KSYM || type->kind == TYPE_USYM;
}

/* Returns the alignment of a type as a member of a struct. */
static uint64_t c_alignment(const struct type *type)
{
    uint64_t alignment = 1;
    if (type->kind == TYPE_ARRAY && type->target)
        return c_alignment(type->target);
    for (uint32_t i = 0; (type->kind == TYPE_TUPLE || type->kind == TYPE_STRUCT) && i < type->count; i++) {
        const uint64_t member = c_alignment(type->fields[i].type);
        alignment = member > alignment ? member : alignment;
    }
    if (type->kind == TYPE_TUPLE || type->kind == TYPE_STRUCT || type->kind == TYPE_STRING)
        return alignment;
    return type->size && type->size < 8 ? type->size : 8;
}

uint64_t type_c_size(const struct type *type)
{
    uint64_t size = 0;
    if (type->kind == TYPE_STRING)
        return type_characters(type);
    if (type->kind != TYPE_TUPLE)
        return type->size;
    for (uint32_t i = 0; i < type->count; i++) {
        const uint64_t alignment = c_alignment(type->fields[i].type);
        size = (size + alignment - 1) / alignment * alignment + type_c_size(type->fields[i].type);
    }
    const uint64_t alignment = c_alignment(type);
    return (size + alignment - 1) / alignment * alignment;
}

bool type_is_scalar(const struct type *type)
{
    return type->kind >= TYPE_INTEGER && type->kind <= TYPE_POINTER;
}

bool type_is_number(const struct type *type)
{
    return type->kind >= TYPE_INTEGER && type->kind <= TYPE_ENUM;
}

bool type_is_aggregation(const struct type *type)
{
    return type->kind == TYPE_AGGREGATION;
}

bool type_has_rows(const struct type *type)
{
    return type_is_aggregation(type) && type->aggregation->rows;
}

bool type_has_shape(const struct type *type, enum aggregation_shape shape)
{
    return type_is_aggregation(type) && type->aggregation->shape == shape;
}

bool type_is_per_cpu(const struct type *type)
{
    return type_is_aggregation(type);
}

bool type_reads_as_integer(const struct type *type)
{
    return type_has_shape(type, AGGREGATION_NUMBER) || type_has_shape(type, AGGREGATION_STATS);
}

static bool has_name(const struct type *type)
{
    return type->name && type->name[0];
}

static bool equal_within(const struct type *a, const struct type *b, unsigned depth, unsigned *budget);

static bool fields_equal(const struct type *a, const struct type *b, unsigned depth, unsigned *budget)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct field *x = &a->fields[i], *y = &b->fields[i];
        if (x->offset != y->offset || x->bit_offset != y->bit_offset || x->bit_size != y->bit_size ||
            x->data_loc != y->data_loc || !same_text(x->name, y->name) ||
            !equal_within(x->type, y->type, depth, budget))
            return false;
    }
    return true;
}

/* Returns the first member of `a` that has another place or another name in `b`; NULL: there is none. The types of
 * members are not compared: that could go round in circles, and would complete types that are not needed. */
static const struct field *other_member(const struct type *a, const struct type *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const struct field *x = &a->fields[i], *y = i < b->count ? &b->fields[i] : NULL;
        if (!y || x->offset != y->offset || x->bit_offset != y->bit_offset || x->bit_size != y->bit_size ||
            !same_text(x->name, y->name))
            return x;
    }
    return a->count < b->count ? &b->fields[a->count] : NULL;
}

static bool is_opaque(const struct type *type)
{
    return !type->complete && !type->size && !type->count;
}

/* Whether two structs are equal. One with a name is known by it, no matter whether the kernel's BTF, a format of
 * tracefs, a program's debug information or the script described it. Two descriptions that contradict each other
 * are two structs. */
static bool structs_equal(const struct type *a, const struct type *b, unsigned depth, unsigned *budget)
{
    if (a->is_union != b->is_union || !same_text(a->name, b->name))
        return false;
    if (!has_name(a))
        return a->size == b->size && fields_equal(a, b, depth, budget);
    type_complete(a);
    type_complete(b);
    if (a->count && a->fields == b->fields) /* copies of one description */
        return true;
    return is_opaque(a) || is_opaque(b) || (a->size == b->size && !other_member(a, b));
}

void type_difference(struct text *out, const struct type *a, const struct type *b)
{
    while (a && b && a->kind == b->kind && (a->kind == TYPE_POINTER || a->kind == TYPE_ARRAY))
        a = a->target, b = b->target;
    for (uint32_t i = 0;
         a && b && a->kind == TYPE_TUPLE && b->kind == TYPE_TUPLE && i < a->count && i < b->count; i++)
        if (!type_equal(a->fields[i].type, b->fields[i].type)) {
            type_difference(out, a->fields[i].type, b->fields[i].type);
            return;
        }
    if (a && b && a->kind == b->kind && (a->kind == TYPE_KSTACK || a->kind == TYPE_USTACK)) {
        if (a->stack_frames != b->stack_frames)
            text_printf(out, "one stack has at most %u frames, the other %u", a->stack_frames,
                        b->stack_frames);
        else if (a->stack_mode != b->stack_mode)
            text_add(out, "the stacks have two modes");
        return;
    }
    if (!a || !b || a->kind != TYPE_STRUCT || b->kind != TYPE_STRUCT || !same_text(a->name, b->name))
        return;
    const struct field *member = a->size == b->size ? other_member(a, b) : NULL;
    if (a->size != b->size)
        text_printf(out, "two structs are called '%s': one has %u bytes, the other %u", a->name, a->size,
                    b->size);
    else if (member)
        text_printf(out, "two structs are called '%s', and '%s' is not the same member in both", a->name,
                    member->name ? member->name : "");
}

/* Whether two aggregations are of one kind with the same parameters. */
static bool same_parameters(const struct type *a, const struct type *b)
{
    bool same = a->aggregation == b->aggregation && a->minimum == b->minimum && a->maximum == b->maximum &&
                a->step == b->step && a->series == b->series && a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = a->enumerators[i].value == b->enumerators[i].value;
    return same && (!a->aggregation->compares_target || type_equal(a->target, b->target));
}

static bool equal_within(const struct type *a, const struct type *b, unsigned depth, unsigned *budget)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind || !depth || !*budget)
        return false;
    --*budget;
    switch (a->kind) {
    case TYPE_INTEGER: return a->size == b->size && a->is_signed == b->is_signed;
    case TYPE_ENUM:
        if (a->size != b->size || a->is_signed != b->is_signed || !same_text(a->name, b->name))
            return false;
        if (has_name(a))
            return true;
        if (a->count != b->count)
            return false;
        for (uint32_t i = 0; i < a->count; i++)
            if (a->enumerators[i].value != b->enumerators[i].value ||
                !same_text(a->enumerators[i].name, b->enumerators[i].name))
                return false;
        return true;
    case TYPE_POINTER: return a->space == b->space && equal_within(a->target, b->target, depth - 1, budget);
    case TYPE_STRING:
    case TYPE_BUFFER: return a->size == b->size;
    case TYPE_ARRAY:
        return a->count == b->count && a->is_float == b->is_float &&
               equal_within(a->target, b->target, depth - 1, budget);
    case TYPE_STRUCT: return structs_equal(a, b, depth - 1, budget);
    case TYPE_TUPLE: return fields_equal(a, b, depth - 1, budget);
    case TYPE_KSTACK:
    case TYPE_USTACK: return a->stack_mode == b->stack_mode && a->stack_frames == b->stack_frames;
    case TYPE_CGROUP_PATH:
    case TYPE_TIMESTAMP: return same_text(a->format, b->format);
    case TYPE_AGGREGATION: return same_parameters(a, b) && a->is_signed == b->is_signed;
    default: return true;
    }
}

bool type_holds(const struct type *type, enum type_kind kind)
{
    bool holds = type->kind == kind;
    for (uint32_t i = 0; type->kind == TYPE_TUPLE && i < type->count && !holds; i++)
        holds = type_holds(type->fields[i].type, kind);
    return holds;
}

bool type_equal(const struct type *a, const struct type *b)
{
    unsigned budget = TYPE_BUDGET;
    return equal_within(a, b, TYPE_DEPTH, &budget);
}

/* Returns the integer that holds every value of both types; int64 if none does. */
static const struct type *common_integer(const struct type *a, const struct type *b)
{
    unsigned signed_size = 0, unsigned_size = 0;
    const struct type *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        unsigned size = both[i]->kind == TYPE_BOOL ? 1 : both[i]->size;
        unsigned *which = both[i]->is_signed ? &signed_size : &unsigned_size;
        /* A bool is 0 or 1: it fits every integer, signed or not. */
        if (both[i]->kind != TYPE_BOOL && *which < size)
            *which = size;
    }
    if (!signed_size)
        return type_integer(unsigned_size, false);
    if (unsigned_size >= signed_size)
        return type_integer(unsigned_size >= 4 ? 8 : unsigned_size * 2, true);
    return type_integer(signed_size, true);
}

static bool is_void(const struct type *type)
{
    return !type || type->kind == TYPE_NONE;
}

/* Returns the pointer that holds both, or NULL. void* takes the other's target, and an unknown address space the
 * other's; a pointer that may be of the kernel or of a process has an unknown one. */
static const struct type *common_pointer(struct arena *arena, const struct type *a, const struct type *b)
{
    const struct type *target = a->target;
    if (is_void(target))
        target = b->target;
    else if (!is_void(b->target) && !type_equal(a->target, b->target))
        return NULL;
    enum address_space space = a->space;
    if (space == SPACE_NONE)
        space = b->space;
    else if (b->space != SPACE_NONE && b->space != space)
        space = SPACE_NONE;
    if (target == a->target && space == a->space)
        return a;
    if (target == b->target && space == b->space)
        return b;
    return type_pointer(arena, target, space);
}

static const struct type *common_within(struct arena *arena, const struct type *a, const struct type *b,
                                        unsigned depth)
{
    if (!depth)
        return NULL;
    if (type_equal(a, b))
        return a;
    if (type_is_number(a) && type_is_number(b))
        return common_integer(a, b);
    if (type_is_symbol(a) && b->kind == TYPE_PROBE_NAME)
        return a;
    if (type_is_symbol(b) && a->kind == TYPE_PROBE_NAME)
        return b;
    if (a->kind == TYPE_PROBE_NAME && b->kind == TYPE_STRING)
        return type_string(arena, a->count > b->size ? a->count : b->size);
    if (b->kind == TYPE_PROBE_NAME && a->kind == TYPE_STRING)
        return type_string(arena, b->count > a->size ? b->count : a->size);
    if (a->kind != b->kind)
        return NULL;
    switch (a->kind) {
    case TYPE_POINTER: return common_pointer(arena, a, b);
    case TYPE_STRING:
    case TYPE_BUFFER: return a->size >= b->size ? a : b;
    case TYPE_TUPLE: {
        if (a->count != b->count)
            return NULL;
        const struct type **elements = arena_array(arena, a->count, sizeof *elements);
        for (uint32_t i = 0; i < a->count; i++) {
            int k = type_element(b, a, i);
            elements[i] =
                k < 0 ? NULL : common_within(arena, a->fields[i].type, b->fields[k].type, depth - 1);
            if (!elements[i])
                return NULL;
        }
        return type_tuple_like(arena, a, elements);
    }
    case TYPE_AGGREGATION: /* if they differ in sign, a negative value must keep its meaning */
        if (!same_parameters(a, b))
            return NULL;
        return a->is_signed ? a : b;
    default: return NULL;
    }
}

const struct type *type_common(struct arena *arena, const struct type *a, const struct type *b)
{
    return common_within(arena, a, b, TYPE_DEPTH);
}

static uint32_t aggregation_words(const struct type *type)
{
    const struct aggregation *kind = type->aggregation;
    return kind->words ? kind->words : kind->words_of ? kind->words_of(type) : kind->rows(type);
}

uint32_t type_storage(const struct type *type)
{
    switch (type->kind) {
    case TYPE_STRING:
    case TYPE_ARRAY:
    case TYPE_STRUCT:
    case TYPE_TUPLE: return round_to_word(type->size);
    case TYPE_BUFFER: return round_to_word((uint64_t)type->size + 8);
    case TYPE_AGGREGATION: return 8 * aggregation_words(type);
    default: return kind_facts[type->kind].storage;
    }
}

uint32_t type_rows(const struct type *type)
{
    return type->aggregation->rows(type);
}

void type_complete(const struct type *type)
{
    if (!type->complete)
        return;
    struct type *open = (struct type *)type; /* the one change that a shared type undergoes */
    void (*complete)(struct type *, void *) = open->complete;
    open->complete = NULL;
    complete(open, open->provider);
}

static bool find_within(const struct type *type, const char *name, uint32_t base, struct field *out,
                        unsigned depth, unsigned *budget)
{
    type_complete(type);
    for (uint32_t i = 0; i < type->count; i++) {
        if (!*budget)
            return false;
        --*budget;
        const struct field *field = &type->fields[i];
        if (field->name && field->name[0]) {
            if (strcmp(field->name, name) != 0)
                continue;
            *out = *field;
            out->offset += base;
            return true;
        }
        if (field->type && field->type->kind == TYPE_STRUCT && depth &&
            find_within(field->type, name, base + field->offset, out, depth - 1, budget))
            return true;
    }
    return false;
}

bool type_find_field(const struct type *type, const char *name, struct field *out)
{
    /* Wide enough for the widest structs, and an end for those that contain themselves. */
    unsigned budget = TYPE_BUDGET * 16;
    if ((type->kind != TYPE_STRUCT && type->kind != TYPE_TUPLE) || !name[0])
        return false;
    return find_within(type, name, 0, out, TYPE_DEPTH, &budget);
}

const char *type_enumerator(const struct type *type, int64_t value)
{
    if (type->kind != TYPE_ENUM)
        return NULL;
    for (uint32_t i = 0; i < type->count; i++)
        if (type->enumerators[i].value == value)
            return type->enumerators[i].name;
    return NULL;
}

uint64_t type_flags(const struct type *type)
{
    uint64_t flags = 0;
    uint32_t count = 0, others = 0;
    if (type->kind != TYPE_ENUM)
        return 0;
    uint64_t mask = type->size < 8 ? (1ULL << 8 * type->size) - 1 : UINT64_MAX;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < type->count; i++) {
            uint64_t value = (uint64_t)type->enumerators[i].value & mask;
            bool is_flag = value && !(value & (value - 1));
            if (!pass && is_flag && !(flags & value)) {
                flags |= value;
                count++;
            } else if (pass && !is_flag && value && value != flags) {
                if (value & ~flags)
                    return 0;
                others++;
            }
        }
    return count >= 3 && 3 * others < count ? flags : 0;
}

static void describe_within(struct text *out, const struct type *type, unsigned depth);

static void describe_tuple(struct text *out, const struct type *type, unsigned depth)
{
    text_char(out, '(');
    for (uint32_t i = 0; i < type->count; i++) {
        if (i)
            text_char(out, ',');
        if (type->fields[i].name && type->fields[i].name[0])
            text_printf(out, "%s=", type->fields[i].name);
        describe_within(out, type->fields[i].type, depth - 1);
    }
    text_char(out, ')');
}

static void describe_pointer(struct text *out, const struct type *type, unsigned depth)
{
    unsigned stars = 0;
    while (type && type->kind == TYPE_POINTER && stars < TYPE_DEPTH) {
        stars++;
        type = type->target;
    }
    if (type)
        describe_within(out, type, depth - 1);
    else
        text_add(out, "void");
    text_char(out, ' ');
    text_fill(out, '*', stars);
}

static void describe_within(struct text *out, const struct type *type, unsigned depth)
{
    if (!depth || out->length > 4096) { /* so that names of nested types stay readable */
        text_add(out, "...");
        return;
    }
    switch (type->kind) {
    case TYPE_INTEGER: text_printf(out, "%sint%u", type->is_signed ? "" : "u", type->size * 8); break;
    case TYPE_STRING:
    case TYPE_BUFFER: text_printf(out, "%s[%u]", kind_facts[type->kind].name, type->size); break;
    case TYPE_POINTER: describe_pointer(out, type, depth); break;
    case TYPE_ARRAY:
        if (type->is_float) {
            text_add(out, type->size == sizeof(float) ? "float" : "double");
            break;
        }
        describe_within(out, type->target, depth - 1);
        text_printf(out, "[%u]", type->count);
        break;
    case TYPE_TUPLE: describe_tuple(out, type, depth); break;
    case TYPE_ENUM:
    case TYPE_STRUCT:
        /* A probe's args are named after the probe, which says more than "struct". */
        if (has_name(type) && strchr(type->name, ':'))
            text_add(out, type->name);
        else
            text_printf(out, "%s%s%s", type->is_union ? "union" : kind_facts[type->kind].name,
                        has_name(type) ? " " : "", has_name(type) ? type->name : "");
        break;
    case TYPE_AGGREGATION: text_add(out, type->aggregation->name); break;
    default: text_add(out, kind_facts[type->kind].name); break;
    }
}

void type_describe(struct text *out, const struct type *type)
{
    describe_within(out, type, TYPE_DEPTH);
}

const char *type_text(struct arena *arena, const struct type *type)
{
    struct text text = {0};
    type_describe(&text, type);
    return text_keep(&text, arena);
}
