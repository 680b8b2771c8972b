/* SPDX-License-Identifier: BSD-3-Clause */
/* Reaching into values and memory: fields, elements, dereferences, addresses.
 *
 * A pointer that is read from memory points into the same address space as that memory: what a kernel struct refers
 * to is in the kernel. */
#include <string.h>

#include "lang/check/state.h"

enum address_space check_context_space(const struct checker *checker)
{
    const struct probe_context *context = checker->unit ? checker->unit->context : NULL;
    return context ? context->space : SPACE_NONE;
}

/* Returns the address space of the memory that a FIELD, an INDEX or a dereference reads. */
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
            return check_context_space(checker);
        const struct type *type = below->type;
        if (type && type->kind == TYPE_POINTER)
            return type->space == SPACE_NONE ? check_context_space(checker) : type->space;
        if (type && (type->kind == TYPE_STRUCT || type->kind == TYPE_ARRAY) && type->space != SPACE_NONE)
            return type->space; /* it is a copy from that address space */
        node = below;
    }
}

static bool is_text_array(const struct type *type)
{
    return type->kind == TYPE_ARRAY && type->count && type->target && type->target->kind == TYPE_INTEGER &&
           type->target->size == 1 && type->target->is_signed;
}

/* Returns the type as that of a copy from an address space, so that pointers in it are known to point there. */
static const struct type *type_from(struct checker *checker, const struct node *node, const struct type *type,
                                    enum address_space space)
{
    if (type->space == space || space == SPACE_NONE || space == SPACE_BPF ||
        (space == SPACE_KERNEL && check_context_space(checker) == SPACE_KERNEL))
        return type;
    if (node->type && node->type->space == space && type_equal(node->type, type))
        return node->type;
    type_complete(type);
    struct type *copy = arena_new(checker->arena, struct type);
    *copy = *type;
    copy->space = space;
    return copy;
}

/* Returns the type of char[5]: five characters, and room for a NUL that the memory need not have. */
static const struct type *text_array_type(struct checker *checker, const struct node *node, uint32_t count)
{
    if (node->type && node->type->kind == TYPE_STRING && node->type->count == count)
        return node->type;
    return type_text_array(checker->arena, count);
}

/* Returns the type that a value has in the language which has `type` in memory. What a provider says about the
 * address space of a pointer holds for the provider's own memory; pointers in a program's memory are always
 * addresses of the program. */
static const struct type *type_loaded(struct checker *checker, const struct node *node,
                                      const struct type *type)
{
    if (type->kind == TYPE_POINTER) {
        enum address_space space = memory_space(checker, node);
        if (type->space != SPACE_NONE && space != SPACE_USER)
            return type;
        if (space == SPACE_BPF)
            space = check_context_space(checker);
        return space == SPACE_NONE || space == type->space
                   ? type
                   : check_pointer_type(checker, node, type->target, space);
    }
    if (is_text_array(type))
        return text_array_type(checker, node, type->count);
    if (type->kind == TYPE_STRUCT || type->kind == TYPE_ARRAY)
        return type_from(checker, node, type, memory_space(checker, node));
    if (type->kind != TYPE_NONE && !type_is_aggregation(type))
        return type;
    check_error(checker, node->span, "A value of this type cannot be read: '%s'",
                type_text(checker->arena, type));
    return NULL;
}

/* ---- fields ---- */

/* Offers the names of fields, also those in anonymous members. The budget bounds the search, because anonymous
 * members of debug information may contain themselves many times over. */
static void fields_offer(struct nearest *nearest, const struct type *type, unsigned depth, unsigned *budget)
{
    type_complete(type);
    for (uint32_t i = 0; i < type->count && *budget; i++, --*budget) {
        const struct field *field = &type->fields[i];
        if (field->name && field->name[0])
            nearest_offer(nearest, field->name);
        else if (depth && field->type && field->type->kind == TYPE_STRUCT)
            fields_offer(nearest, field->type, depth - 1, budget);
    }
}

static const struct type *tuple_element(struct checker *checker, struct node *node, const struct type *tuple)
{
    uint32_t element = node->field.element;
    if (tuple->kind != TYPE_TUPLE) {
        check_error(checker, node->span,
                    "Can not access element %u of expression of type '%s': it is not a tuple", element,
                    type_text(checker->arena, tuple));
        return NULL;
    }
    if (element >= tuple->count) {
        check_error(checker, node->span, "Invalid tuple index: %u. Found %u elements in tuple.", element,
                    tuple->count);
        return NULL;
    }
    node->field.found = tuple->fields[element];
    return tuple->fields[element].type;
}

static void unknown_field(struct checker *checker, const struct node *node, const struct type *object)
{
    if (!object->count && !(node->field.object->kind == NODE_NAME && checker->unit->context->args_absent)) {
        check_error(checker, node->span, "The fields of '%s' are not known: no field '%s'",
                    type_text(checker->arena, object), node->field.name);
        return;
    }
    const struct node *of = node->field.object;
    if (of->kind == NODE_NAME && of->type->kind == TYPE_STRUCT)
        check_error(checker, node->span, "'%s' does not contain a field named '%s'", of->name.name,
                    node->field.name);
    else
        check_error(checker, node->span, "'%s' does not contain a field named '%s'",
                    type_text(checker->arena, object), node->field.name);
    const struct probe_context *context = checker->unit->context;
    const char *why = of->kind == NODE_NAME && of->name.builtin &&
                              of->name.builtin->flags & BUILTIN_USES_ARGS && context->args_absent
                          ? context->args_absent(context, node->field.name)
                          : NULL;
    if (why)
        check_hint(checker, "'%s' is a parameter, but cannot be read here: %s", node->field.name, why);
    else
        check_hint_field(checker, object, node->field.name);
}

void check_hint_field(struct checker *checker, const struct type *object, const char *name)
{
    struct nearest nearest = {.name = name};
    unsigned budget = 1 << 16;
    if (!check_takes_hint(checker))
        return;
    fields_offer(&nearest, object, 4, &budget);
    if (nearest.best) {
        check_nearest(checker, &nearest, "");
        return;
    }
    /* No name is similar: a short list of all fields is the hint. */
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
    if (object->kind != TYPE_STRUCT && !type_is_record(object)) {
        check_error(checker, node->span, "Can not access field '%s' on expression of type '%s'",
                    node->field.name, type_text(checker->arena, object));
        if (object->kind == TYPE_NONE && checker->without_types)
            check_hint(checker, "%s", checker->without_types);
        else if (type_is_number(object))
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

/* Returns the element that a field of a record names, if all elements of the record are constants; else NULL. */
static struct node *constant_element(struct node *record, const struct node *field)
{
    struct node *found = NULL;
    uint32_t i = 0;
    for (struct node *element = record->list.first; element; element = element->next, i++) {
        if (element->kind != NODE_INTEGER && element->kind != NODE_STRING && element->kind != NODE_BOOL)
            return NULL;
        if (field->field.name ? record->names && !strcmp(record->names[i], field->field.name)
                              : i == field->field.element)
            found = element;
    }
    return found;
}

const struct type *check_field(struct checker *checker, struct node *node)
{
    const struct type *object = check_value(checker, node->field.object);
    const struct type *type = object ? field_of(checker, node, object) : NULL;
    struct node *constant = type && node->field.object->kind == NODE_TUPLE && check_folds_types(checker)
                                ? constant_element(node->field.object, node)
                                : NULL;
    if (!constant)
        return type;
    fold_to_child(node, constant);
    return check_expression(checker, node);
}

/* ---- elements ---- */

static const struct type *index_tuple(struct checker *checker, struct node *node, const struct type *tuple)
{
    struct node *object = node->binary.left;
    int64_t number;
    if (!check_constant(checker, node->binary.right, &number)) {
        check_error(checker, node->span, "The index of a tuple must be a constant");
        return NULL;
    }
    if (number < 0 || number >= tuple->count) {
        check_error(checker, node->span, "Invalid tuple index: %lld. Found %u elements in tuple.",
                    (long long)number, tuple->count);
        return NULL;
    }
    node->kind = NODE_FIELD;
    node->field.object = object;
    node->field.name = NULL;
    node->field.element = (uint32_t)number;
    return tuple_element(checker, node, tuple);
}

/* Whether the target of a pointer can be read. False after a diagnostic. */
static bool target_is_readable(struct checker *checker, const struct node *node, const struct type *pointer)
{
    const struct type *target = pointer->target;
    if (target)
        type_complete(target);
    if (target && target->kind != TYPE_NONE && (target->kind != TYPE_STRUCT || target->size))
        return true;
    check_error(checker, node->span,
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
    if (check_name_as_text(checker, node->binary.left))
        object = node->binary.left->type;
    if (object->kind == TYPE_TUPLE)
        return index_tuple(checker, node, object);
    if (object->kind != TYPE_POINTER && object->kind != TYPE_ARRAY && object->kind != TYPE_STRING) {
        check_error(checker, node->span,
                    "The array index operator [] can only be used on arrays, pointers, strings and tuples, "
                    "found '%s'",
                    type_text(checker->arena, object));
        return NULL;
    }
    if (!type_is_number(index)) {
        check_error(checker, node->binary.right->span,
                    "The array index operator [] only accepts integer indices, found '%s'",
                    type_text(checker->arena, index));
        return NULL;
    }
    if (object->kind == TYPE_POINTER)
        return target_is_readable(checker, node, object) ? type_loaded(checker, node, object->target) : NULL;
    uint32_t count = type_characters(object);
    int64_t number;
    bool is_open = object->kind == TYPE_ARRAY && !count; /* x[] at the end of a struct */
    if (check_constant(checker, node->binary.right, &number) &&
        (number < 0 || (number >= count && !is_open))) {
        check_error(checker, node->span, "the index %lld is out of bounds for array of size %u",
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
        return &type_u64; /* an integer is dereferenced as the address of a word */
    if (type->kind == TYPE_POINTER)
        return target_is_readable(checker, node, type) ? type_loaded(checker, node, type->target) : NULL;
    check_error(checker, node->span, "Can not dereference type '%s'. It's not a pointer",
                type_text(checker->arena, type));
    return NULL;
}

/* ---- addresses ---- */

/* Whether a FIELD, an INDEX or a dereference is a part of a value of the program, and not in memory to which a
 * pointer leads. */
static bool is_own_memory(const struct node *node)
{
    while (node->kind == NODE_FIELD || node->kind == NODE_INDEX) {
        node = node->kind == NODE_FIELD ? node->field.object : node->binary.left;
        if (node->type && node->type->kind == TYPE_POINTER)
            return false;
    }
    return node->kind != NODE_UNARY || node->unary.op != OPERATOR_DEREFERENCE;
}

static bool is_args(const struct node *node)
{
    return node->kind == NODE_NAME && node->name.builtin && (node->name.builtin->flags & BUILTIN_USES_ARGS);
}

/* Returns the type of what is at the address of an operand: text in traced memory is an array of characters there. */
static const struct type *addressed(const struct node *operand, const struct type *type)
{
    const struct type *container = operand->kind == NODE_INDEX   ? operand->binary.left->type
                                   : operand->kind == NODE_UNARY ? operand->unary.operand->type
                                                                 : NULL;
    if (operand->kind == NODE_FIELD && operand->field.object->type->kind != TYPE_TUPLE &&
        !operand->field.found.data_loc)
        return operand->field.found.type;
    if (container && (container->kind == TYPE_POINTER || container->kind == TYPE_ARRAY) && container->target)
        return container->target;
    return type;
}

static const struct type *no_address(struct checker *checker, const struct node *node, const char *of)
{
    check_error(checker, node->span, "Can not take the address of %s", of);
    check_hint(checker, "&$x, &@m, &@m[key], &$p->field and &$p->array[1] have an address");
    return NULL;
}

const struct type *check_address(struct checker *checker, struct node *node)
{
    struct node *operand = node->unary.operand;
    bool is_stored = operand->kind == NODE_FIELD || operand->kind == NODE_INDEX ||
                     (operand->kind == NODE_UNARY && operand->unary.op == OPERATOR_DEREFERENCE);
    const struct type *type = check_value(checker, operand);
    if (!is_stored && operand->kind != NODE_VARIABLE && operand->kind != NODE_MAP)
        return no_address(checker, node, "a value that is not kept anywhere");
    if (!type)
        return NULL;
    if (operand->kind == NODE_VARIABLE) {
        operand->variable.symbol->address_taken = true;
        return check_pointer_type(checker, node, type, SPACE_BPF);
    }
    if (operand->kind == NODE_MAP) {
        if (type_is_aggregation(operand->map.symbol->value))
            return no_address(checker, node, "an aggregation");
        return check_pointer_type(checker, node, type, SPACE_BPF);
    }
    if (operand->kind == NODE_FIELD && operand->field.found.bit_size)
        return no_address(checker, node, "a bit-field");
    if (operand->kind == NODE_FIELD && is_args(operand->field.object))
        return no_address(checker, node, "an argument");
    if (operand->kind == NODE_UNARY) /* &*p is p */
        return check_pointer_type(checker, node, addressed(operand, type), memory_space(checker, operand));
    return check_pointer_type(checker, node, addressed(operand, type),
                              is_own_memory(operand) ? SPACE_BPF : memory_space(checker, operand));
}
