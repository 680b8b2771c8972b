/* SPDX-License-Identifier: BSD-3-Clause */
/* Reaching into values and memory: fields, elements, dereferences, casts, sizes, names of types.
 *
 * A pointer found in memory points where that memory is: what a kernel struct refers to is in the kernel. */
#include "lang/check_state.h"
#include "lang/type_word.h"

static enum address_space context_space(const struct checker *checker)
{
    const struct probe_context *context = checker->unit ? checker->unit->context : NULL;
    return context ? context->space : SPACE_NONE;
}

/* Where the memory is that a FIELD, INDEX or dereference reads. */
static enum address_space memory_space(const struct checker *checker, const struct node *node)
{
    for (;;) {
        const struct node *below;
        if (node->kind == NODE_FIELD)
            below = node->field.object;
        else if (node->kind == NODE_INDEX)
            below = node->binary.left;
        else if (node->kind == NODE_UNARY && node->unary.op == OPERATOR_DEREFERENCE)
            below = node->unary.operand;
        else
            return context_space(checker);
        if (below->type && below->type->kind == TYPE_POINTER)
            return below->type->space == SPACE_NONE ? context_space(checker) : below->type->space;
        node = below;
    }
}

static bool is_text_array(const struct type *type)
{
    return type->kind == TYPE_ARRAY && type->count && type->target && type->target->kind == TYPE_INTEGER &&
           type->target->size == 1 && type->target->is_signed;
}

/* What a value of `type` in memory is in the language. */
static const struct type *type_loaded(struct checker *checker, const struct node *node,
                                      const struct type *type)
{
    if (type->kind == TYPE_POINTER && type->space == SPACE_NONE) {
        enum address_space space = memory_space(checker, node);
        if (space == SPACE_BPF)
            space = context_space(checker);
        return space == SPACE_NONE ? type : check_pointer_type(checker, node, type->target, space);
    }
    if (is_text_array(type))
        return check_string_type(checker, node, type->count);
    if (type->kind != TYPE_NONE && !type_is_aggregation(type))
        return type;
    check_error(checker, node->place, "A value of this type cannot be read: '%s'",
                type_text(checker->arena, type));
    return NULL;
}

/* ---- fields ---- */

static void fields_offer(struct nearest *nearest, const struct type *type, unsigned depth)
{
    type_complete(type);
    for (uint32_t i = 0; i < type->count; i++) {
        const struct field *field = &type->fields[i];
        if (field->name && field->name[0])
            nearest_offer(nearest, field->name);
        else if (depth && field->type && field->type->kind == TYPE_STRUCT)
            fields_offer(nearest, field->type, depth - 1);
    }
}

static const struct type *tuple_element(struct checker *checker, struct node *node, const struct type *tuple)
{
    uint32_t element = node->field.element;
    if (tuple->kind != TYPE_TUPLE) {
        check_error(checker, node->place,
                    "Can not access element %u of expression of type '%s': it is not a tuple", element,
                    type_text(checker->arena, tuple));
        return NULL;
    }
    if (element >= tuple->count) {
        check_error(checker, node->place, "Invalid tuple index: %u. Found %u elements in tuple.", element,
                    tuple->count);
        return NULL;
    }
    node->field.found = tuple->fields[element];
    return tuple->fields[element].type;
}

static void unknown_field(struct checker *checker, const struct node *node, const struct type *object)
{
    if (!object->count) {
        check_error(checker, node->place, "The fields of '%s' are not known: no field '%s'",
                    type_text(checker->arena, object), node->field.name);
        return;
    }
    const struct node *of = node->field.object;
    if (of->kind == NODE_NAME && of->type->kind == TYPE_STRUCT)
        check_error(checker, node->place, "'%s' does not contain a field named '%s'", of->name.name,
                    node->field.name);
    else
        check_error(checker, node->place, "'%s' does not contain a field named '%s'",
                    type_text(checker->arena, object), node->field.name);
    struct nearest nearest = {.name = node->field.name};
    fields_offer(&nearest, object, 4);
    if (nearest.best) {
        check_hint(checker, "did you mean '%s'?", nearest.best);
        return;
    }
    /* Nothing near: a short list says it all. */
    enum { FEW = 12 };
    struct text list = {0};
    for (uint32_t i = 0; i < object->count && object->count <= FEW; i++)
        if (object->fields[i].name && object->fields[i].name[0])
            text_printf(&list, "%s%s", list.length ? ", " : "", object->fields[i].name);
    if (list.length)
        check_hint(checker, "it has: %s", text_string(&list));
    text_free(&list);
}

static const struct type *field_of(struct checker *checker, struct node *node, const struct type *object)
{
    if (!node->field.name)
        return tuple_element(checker, node, object);
    if (object->kind == TYPE_POINTER && object->target)
        object = object->target;
    if (object->kind != TYPE_STRUCT) {
        check_error(checker, node->place, "Can not access field '%s' on expression of type '%s'",
                    node->field.name, type_text(checker->arena, object));
        if (type_is_number(object))
            check_hint(checker, "cast it to a pointer to a struct first: ((struct x *)...).%s",
                       node->field.name);
        return NULL;
    }
    type_complete(object);
    struct field found;
    if (!type_find_field(object, node->field.name, &found) || !found.type) {
        unknown_field(checker, node, object);
        return NULL;
    }
    node->field.found = found;
    /* The location of a dynamic array stands for the address of its first element. */
    if (found.data_loc)
        return check_pointer_type(checker, node, found.type->target ? found.type->target : &type_i8,
                                  SPACE_KERNEL);
    return type_loaded(checker, node, found.type);
}

const struct type *check_field(struct checker *checker, struct node *node)
{
    const struct type *object = check_value(checker, node->field.object);
    return object ? field_of(checker, node, object) : NULL;
}

/* ---- elements ---- */

static const struct type *index_tuple(struct checker *checker, struct node *node, const struct type *tuple)
{
    struct node *object = node->binary.left;
    int64_t number;
    if (!check_constant(checker, node->binary.right, &number)) {
        check_error(checker, node->place, "The index of a tuple must be a constant");
        return NULL;
    }
    if (number < 0 || number >= tuple->count) {
        check_error(checker, node->place, "Invalid tuple index: %lld. Found %u elements in tuple.",
                    (long long)number, tuple->count);
        return NULL;
    }
    node->kind = NODE_FIELD;
    node->field.object = object;
    node->field.name = NULL;
    node->field.element = (uint32_t)number;
    return tuple_element(checker, node, tuple);
}

/* True when the pointer's target is something that can be read. */
static bool target_is_readable(struct checker *checker, const struct node *node, const struct type *pointer)
{
    const struct type *target = pointer->target;
    if (target)
        type_complete(target);
    if (target && target->kind != TYPE_NONE && (target->kind != TYPE_STRUCT || target->size))
        return true;
    check_error(checker, node->place,
                "Can not dereference a pointer of type '%s': what it points to is not known",
                type_text(checker->arena, pointer));
    check_hint(checker, "cast it first, for instance to (uint64 *)");
    return false;
}

const struct type *check_index(struct checker *checker, struct node *node)
{
    const struct type *object = check_value(checker, node->binary.left);
    const struct type *index = check_value(checker, node->binary.right);
    if (!object || !index)
        return NULL;
    if (object->kind == TYPE_TUPLE)
        return index_tuple(checker, node, object);
    if (object->kind != TYPE_POINTER && object->kind != TYPE_ARRAY && object->kind != TYPE_STRING) {
        check_error(checker, node->place,
                    "The array index operator [] can only be used on arrays, pointers, strings and tuples, "
                    "found '%s'",
                    type_text(checker->arena, object));
        return NULL;
    }
    if (!type_is_number(index)) {
        check_error(checker, node->binary.right->place,
                    "The array index operator [] only accepts integer indices, found '%s'",
                    type_text(checker->arena, index));
        return NULL;
    }
    if (object->kind == TYPE_POINTER)
        return target_is_readable(checker, node, object) ? type_loaded(checker, node, object->target) : NULL;
    uint32_t count = object->kind == TYPE_ARRAY ? object->count : object->size;
    int64_t number;
    if (check_constant(checker, node->binary.right, &number) && (number < 0 || number >= count)) {
        check_error(checker, node->place, "the index %lld is out of bounds for array of size %u",
                    (long long)number, count);
        return NULL;
    }
    return object->kind == TYPE_ARRAY && object->target ? type_loaded(checker, node, object->target)
                                                        : &type_i8;
}

const struct type *check_dereference(struct checker *checker, struct node *node)
{
    const struct type *type = node->unary.operand->type;
    if (type->kind == TYPE_INTEGER)
        return &type_u64; /* a word at that address */
    if (type->kind == TYPE_POINTER)
        return target_is_readable(checker, node, type) ? type_loaded(checker, node, type->target) : NULL;
    check_error(checker, node->place, "Can not dereference type '%s'. It's not a pointer",
                type_text(checker->arena, type));
    return NULL;
}

/* ---- names of types ---- */

static const struct type *type_named(struct checker *checker, const char *name)
{
    const struct type *type = type_word_find(name);
    if (!type && checker->provider && checker->provider->type)
        type = checker->provider->type(checker->provider->state, name);
    return type;
}

static const struct type *type_of_name(struct checker *checker, const struct type_name *name)
{
    const struct type *type = type_named(checker, name->name);
    if (!type)
        return NULL;
    if (type == &type_string_empty && !name->pointers) /* string[N] is one string */
        return type_string(checker->arena, name->array && name->array != UINT32_MAX ? name->array
                                           : checker->max_strlen                    ? checker->max_strlen
                                                                                    : 1024);
    for (uint32_t i = 0; i < name->pointers; i++)
        type = type_pointer(checker->arena, type, SPACE_NONE);
    if (name->array)
        type = type_array(checker->arena, type, name->array == UINT32_MAX ? 0 : name->array);
    return type;
}

const struct type *check_type_name(struct checker *checker, const struct type_name *name)
{
    const struct type *type = type_of_name(checker, name);
    if (type)
        return type;
    check_error(checker, name->place, "Cannot resolve unknown type \"%s\"", name->name);
    struct nearest nearest = {.name = name->name};
    static const char *const words[] = {"bool",  "string", "int8",   "int16",  "int32",
                                        "int64", "uint8",  "uint16", "uint32", "uint64"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        nearest_offer(&nearest, words[i]);
    if (nearest.best)
        check_hint(checker, "did you mean '%s'?", nearest.best);
    return NULL;
}

/* ---- casts ---- */

/* An array of integers, as the target of a cast or its operand. Its bytes must fit the word that a register
 * is. */
static bool is_integer_array(const struct type *type)
{
    return type->kind == TYPE_ARRAY && type->target && type_is_number(type->target) && type->target->size &&
           type->size <= 8;
}

static bool cast_is_allowed(const struct type *from, const struct type *to)
{
    switch (to->kind) {
    case TYPE_INTEGER: return type_is_scalar(from) || (is_integer_array(from) && from->size);
    case TYPE_BOOL:
    case TYPE_POINTER: return type_is_scalar(from);
    case TYPE_ENUM: return type_is_number(from);
    case TYPE_ARRAY:
        return is_integer_array(to) && to->size && (type_is_number(from) || type_equal(from, to));
    case TYPE_STRING: return from->kind == TYPE_STRING && from->size <= to->size;
    default: return false;
    }
}

/* (int8[])x: as many elements as x has. */
static const struct type *cast_open_array(struct checker *checker, const struct type *to,
                                          const struct type *from)
{
    if (to->kind != TYPE_ARRAY || to->count || !to->target->size || from->size < to->target->size)
        return to;
    return type_array(checker->arena, to->target, from->size / to->target->size);
}

static const struct type *cast_pointer(struct checker *checker, struct node *node, const struct type *to,
                                       const struct type *from)
{
    enum address_space space = to->space;
    if (space == SPACE_NONE && from->kind == TYPE_POINTER)
        space = from->space;
    if (space == SPACE_NONE)
        space = context_space(checker);
    return check_pointer_type(checker, node, to->target, space);
}

const struct type *check_cast(struct checker *checker, struct node *node)
{
    const struct type *from = check_value(checker, node->cast.operand);
    const struct type *to = node->cast.target;
    /* An open array has a size of its own for every operand. */
    if (!to || node->cast.name.array == UINT32_MAX)
        to = check_type_name(checker, &node->cast.name);
    if (!to)
        return NULL;
    if (!from) {
        node->cast.target = to;
        return type_is_number(to) ? to : NULL;
    }
    to = cast_open_array(checker, to, from);
    if (!cast_is_allowed(from, to)) {
        check_error(checker, node->place, "Cannot cast from \"%s\" to \"%s\"",
                    type_text(checker->arena, from), type_text(checker->arena, to));
        if (to->kind == TYPE_STRUCT)
            check_hint(checker, "cast to a pointer to it: (%s *)", type_text(checker->arena, to));
        return NULL;
    }
    node->cast.target = to;
    return to->kind == TYPE_POINTER ? cast_pointer(checker, node, to, from) : to;
}

const struct type *check_sizeof(struct checker *checker, struct node *node)
{
    const struct type *type = NULL;
    /* A lone word may be a builtin, a type or another value, in this order: pid is no struct here. */
    bool is_builtin = node->cast.operand && node->cast.operand->kind == NODE_NAME &&
                      builtin_find(checker->builtins, node->cast.operand->name.name, NULL);
    if (node->cast.name.name && !is_builtin)
        type = node->cast.operand ? type_of_name(checker, &node->cast.name)
                                  : check_type_name(checker, &node->cast.name);
    bool is_settled = type || checker->is_reporting; /* a value's type may still grow */
    if (!type && node->cast.operand)
        type = check_value(checker, node->cast.operand);
    if (type)
        type_complete(type);
    if (!type || !is_settled)
        return &type_u64;
    if (type->kind == TYPE_NONE) {
        check_error(checker, node->place, "'%s' has no size", type_text(checker->arena, type));
        return NULL;
    }
    fold_to_integer(node, type->size, false, NULL);
    return check_expression(checker, node);
}
