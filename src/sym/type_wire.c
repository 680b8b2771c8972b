/* SPDX-License-Identifier: BSD-3-Clause */
#include "sym/type_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"

enum {
    NUMBER_NULL,
    NUMBER_FIXED,      /* types that exist once, in the order of the table below */
    NUMBER_FIRST = 16, /* the first number of the others */
    DEPTH_MAX = 256,
    SIZE_MAX_TOLD = 1 << 30, /* bytes of a type that is accepted */
};
enum flag {
    FLAG_SIGNED = 1,
    FLAG_UNION = 2,
    FLAG_CLOSED = 4 /* its fields are sent when they are asked for */,
    FLAG_FLOAT = 8
};

static const struct type *const fixed[] = {&type_none, &type_bool, &type_i8,  &type_i16, &type_i32,
                                           &type_i64,  &type_u8,   &type_u16, &type_u32, &type_u64};
enum { FIXED_COUNT = sizeof fixed / sizeof *fixed };
static_assert(NUMBER_FIXED + FIXED_COUNT <= NUMBER_FIRST,
              "the numbers of singletons collide with the others");

/* ---- in the service ---- */

static uint64_t number_of(struct type_writer *writer, const struct type *type, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < FIXED_COUNT; i++)
        if (type == fixed[i])
            return NUMBER_FIXED + i;
    uint64_t known = (uint64_t)(uintptr_t)table_get(&writer->numbers, &type, sizeof type);
    if (known)
        return known;
    if (!vector_make_room(writer->items, writer->count, writer->room))
        return NUMBER_NULL;
    uint64_t number = NUMBER_FIRST + writer->count;
    if (table_set(&writer->numbers, &type, sizeof type,
                  (void *)(uintptr_t)number)) // NOLINT(performance-no-int-to-ptr)
        return NUMBER_NULL;
    writer->items[writer->count++] = type;
    *is_new = true;
    return number;
}

static void put_fields(struct type_writer *writer, struct text *out, const struct type *type)
{
    wire_put(out, type->count);
    for (uint32_t i = 0; i < type->count; i++) {
        const struct field *field = &type->fields[i];
        wire_put_text(out, field->name);
        wire_put(out, field->offset);
        wire_put(out, (uint64_t)field->bit_offset | (uint64_t)field->bit_size << 8);
        type_put(writer, out, field->type);
    }
}

void type_put(struct type_writer *writer, struct text *out, const struct type *type)
{
    bool is_new = false;
    uint64_t number = type ? number_of(writer, type, &is_new) : NUMBER_NULL;
    wire_put(out, number);
    if (!is_new)
        return;
    bool is_closed = type->kind == TYPE_STRUCT && type->complete;
    wire_put(out, type->kind);
    wire_put(out, type->size);
    wire_put(out, (type->is_signed ? FLAG_SIGNED : 0u) | (type->is_union ? FLAG_UNION : 0u) |
                      (is_closed ? FLAG_CLOSED : 0u) | (type->is_float ? FLAG_FLOAT : 0u));
    wire_put(out, type->space);
    wire_put_text(out, type->name);
    switch (type->kind) {
    case TYPE_ENUM:
        wire_put(out, type->count);
        for (uint32_t i = 0; i < type->count; i++) {
            wire_put_text(out, type->enumerators[i].name);
            wire_put(out, (uint64_t)type->enumerators[i].value);
        }
        break;
    case TYPE_ARRAY:
        wire_put(out, type->count);
        type_put(writer, out, type->target);
        break;
    case TYPE_POINTER: type_put(writer, out, type->target); break;
    case TYPE_STRUCT:
        if (!is_closed)
            put_fields(writer, out, type);
        break;
    default: break;
    }
}

int type_put_fields(struct type_writer *writer, struct text *out, uint64_t number)
{
    if (number < NUMBER_FIRST || number - NUMBER_FIRST >= writer->count)
        return -ENOENT;
    const struct type *type = writer->items[number - NUMBER_FIRST];
    type_complete(type);
    wire_put(out, type->size);
    put_fields(writer, out, type);
    return 0;
}

void type_writer_free(struct type_writer *writer)
{
    table_free(&writer->numbers);
    free(writer->items);
    *writer = (struct type_writer){.items = NULL};
}

/* ---- in the process that asks ---- */

static bool is_word(uint64_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool fits(const struct field *field, uint32_t size)
{
    uint64_t bytes =
        field->bit_size ? (uint64_t)(field->bit_offset + field->bit_size + 7) / 8 : field->type->size;
    return field->type->kind != TYPE_NONE && field->bit_offset < 8 && field->bit_size <= 64 &&
           bytes <= size && field->offset <= size - bytes;
}

static void take_fields(struct type_hearer *hearer, struct cursor *in, struct type *type)
{
    enum { FIELD_MIN = 4 * 8 }; /* bytes of a field in the message, at least */
    size_t count = wire_take_count(in, FIELD_MIN);
    struct field *fields = arena_array(hearer->arena, count + 1, sizeof *fields);
    for (size_t i = 0; i < count && !in->is_bad; i++) {
        const char *name = wire_take_text(in);
        struct field *field = &fields[i];
        field->offset = (uint32_t)wire_take_within(in, UINT32_MAX);
        uint64_t bits = wire_take_within(in, UINT16_MAX);
        field->bit_offset = (uint8_t)bits;
        field->bit_size = (uint8_t)(bits >> 8);
        field->type = type_take(hearer, in);
        in->is_bad |= !name || !field->type || !fits(field, type->size);
        field->name = in->is_bad ? "" : arena_strdup(hearer->arena, name);
    }
    if (in->is_bad)
        return;
    type->fields = fields;
    type->count = (uint32_t)count;
}

static void take_enumerators(struct type_hearer *hearer, struct cursor *in, struct type *type)
{
    enum { ENUMERATOR_MIN = 2 * 8 };
    size_t count = wire_take_count(in, ENUMERATOR_MIN);
    struct enumerator *items = arena_array(hearer->arena, count + 1, sizeof *items);
    in->is_bad |= !is_word(type->size);
    for (size_t i = 0; i < count && !in->is_bad; i++) {
        const char *name = wire_take_text(in);
        items[i].value = (int64_t)wire_take(in);
        in->is_bad |= !name;
        items[i].name = name ? arena_strdup(hearer->arena, name) : "";
    }
    type->enumerators = items;
    type->count = in->is_bad ? 0 : (uint32_t)count;
}

struct closed {
    struct type_hearer *hearer;
    uint64_t number;
};

static void open_closed(struct type *type, void *provider)
{
    const struct closed *closed = provider;
    type->complete = NULL;
    if (closed->hearer->ask)
        closed->hearer->ask(closed->hearer->state, closed->number, type);
}

static void take_definition(struct type_hearer *hearer, struct cursor *in, struct type *type, uint64_t number)
{
    type->kind = (enum type_kind)wire_take_within(in, TYPE_STRUCT);
    type->size = (uint32_t)wire_take_within(in, SIZE_MAX_TOLD);
    unsigned flags = (unsigned)wire_take(in);
    type->is_signed = flags & FLAG_SIGNED;
    type->is_union = flags & FLAG_UNION;
    type->space = (enum address_space)wire_take_within(in, SPACE_USER);
    const char *name = wire_take_text(in);
    type->name = name ? arena_strdup(hearer->arena, name) : NULL;
    switch (in->is_bad ? TYPE_NONE : type->kind) {
    case TYPE_INTEGER: in->is_bad |= !is_word(type->size); break;
    case TYPE_BOOL: in->is_bad |= type->size != 1; break;
    case TYPE_ENUM: take_enumerators(hearer, in, type); break;
    case TYPE_ARRAY:
        type->count = (uint32_t)wire_take_within(in, UINT32_MAX);
        type->target = type_take(hearer, in);
        in->is_bad |= !type->target || type->target->kind == TYPE_NONE ||
                      (uint64_t)type->count * type->target->size != type->size;
        type->is_float = flags & FLAG_FLOAT && type->target == &type_u8 && type_size_is_float(type->size);
        break;
    case TYPE_POINTER:
        type->target = type_take(hearer, in);
        in->is_bad |= !type->target || type->size != 8;
        break;
    case TYPE_STRUCT:
        if (flags & FLAG_CLOSED) {
            struct closed *closed = arena_new(hearer->arena, struct closed);
            *closed = (struct closed){hearer, number};
            type->provider = closed;
            type->complete = open_closed;
        } else {
            take_fields(hearer, in, type);
        }
        break;
    default: in->is_bad = true;
    }
    if (in->is_bad) /* other types may already refer to it */
        *type = type_none;
}

const struct type *type_take(struct type_hearer *hearer, struct cursor *in)
{
    uint64_t number = wire_take(in);
    if (number == NUMBER_NULL)
        return NULL;
    if (number < NUMBER_FIRST) {
        in->is_bad |= number - NUMBER_FIXED >= FIXED_COUNT;
        return in->is_bad ? NULL : fixed[number - NUMBER_FIXED];
    }
    if (number - NUMBER_FIRST < hearer->count)
        return hearer->items[number - NUMBER_FIRST];
    in->is_bad |= number - NUMBER_FIRST != hearer->count || hearer->depth == DEPTH_MAX;
    if (in->is_bad)
        return NULL;
    struct type *type = arena_new(hearer->arena, struct type);
    *type = type_none; /* complete enough for a pointer to itself, which may be made meanwhile */
    *arena_push(hearer->arena, hearer->items, hearer->count, hearer->room) = type;
    hearer->depth++;
    take_definition(hearer, in, type, number);
    hearer->depth--;
    return in->is_bad ? NULL : type;
}

void type_take_fields(struct type_hearer *hearer, struct cursor *in, struct type *type)
{
    uint32_t before = type->size;
    type->size = (uint32_t)wire_take_within(in, SIZE_MAX_TOLD);
    if (!in->is_bad)
        take_fields(hearer, in, type);
    if (in->is_bad)
        type->size = before;
}

void type_hearer_end(struct type_hearer *hearer)
{
    hearer->ask = NULL;
    for (size_t i = 0; i < hearer->count; i++)
        hearer->items[i]->complete = NULL;
}
