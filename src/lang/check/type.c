/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of types, casts, and questions about types: sizeof, offsetof, typeof, typeinfo, comptime.
 *
 * Operands are checked and never evaluated. Types grow while the checker goes over the script, so that an answer
 * becomes a constant only when they do not grow any more: in the last pass, or in the one that decides `comptime`. */
#include <string.h>

#include "lang/check/state.h"
#include "lang/parse/type_word.h"

bool check_folds_types(const struct checker *checker)
{
    return checker->is_reporting || (checker->state->is_deciding && checker->state->comptime);
}

/* ---- names of types ---- */

static const struct type *type_named(struct checker *checker, const char *name)
{
    const struct type *type = type_word_find(name);
    if (!strcmp(name, "inet"))
        return type_simple(checker->arena, TYPE_INET);
    if (!type && checker->provider && checker->provider->type)
        type = checker->provider->type(checker->provider->state, name);
    return type;
}

/* Returns the type of string[N] or buffer[N], which is one value and no array; *used: how many suffixes that took. */
static const struct type *type_of_text(struct checker *checker, const struct type_name *name, uint32_t *used)
{
    bool is_buffer = !strcmp(name->name, "buffer");
    uint32_t capacity = checker->max_strlen ? checker->max_strlen : 1024;
    if (name->suffix_count && name->suffixes[0]) {
        *used = 1;
        if (name->suffixes[0] != TYPE_NAME_OPEN)
            capacity = name->suffixes[0];
    }
    return is_buffer ? type_buffer(checker->arena, capacity) : type_string(checker->arena, capacity);
}

static const struct type *asked_type(struct checker *checker, struct node *node, bool *is_fixed);

/* Returns the type of a name. NULL: it is unknown, which the caller reports, or too large, which was reported. */
static const struct type *type_of_name(struct checker *checker, const struct type_name *name)
{
    uint32_t i = 0;
    bool is_fixed;
    const struct type *type = NULL;
    if (name->of)
        type = name->of->type = asked_type(checker, name->of, &is_fixed);
    else if (!strcmp(name->name, "string") || !strcmp(name->name, "buffer"))
        type = type_of_text(checker, name, &i);
    else
        type = type_named(checker, name->name);
    for (; type && i < name->suffix_count; i++) {
        uint32_t count = name->suffixes[i] == TYPE_NAME_OPEN ? 0 : name->suffixes[i];
        if (!name->suffixes[i]) {
            type = type_pointer(checker->arena, type, SPACE_NONE);
            continue;
        }
        type_complete(type);
        if ((uint64_t)type->size * count > INT32_MAX) {
            check_error(checker, name->span, "A type of that size is not possible");
            return NULL;
        }
        type = type_array(checker->arena, type, count);
    }
    return type;
}

const struct type *check_type_name(struct checker *checker, const struct type_name *name)
{
    size_t errors = checker->diagnostics->errors;
    const struct type *type = type_of_name(checker, name);
    if (type || checker->diagnostics->errors > errors)
        return type;
    if (name->of) {
        check_unresolved(checker, name->span);
        return NULL;
    }
    if (!strncmp(name->name, "enum ", 5)) {
        check_error(checker, name->span, "Unknown enum: %s", name->name + 5);
        return NULL;
    }
    check_error(checker, name->span, "Cannot resolve unknown type \"%s\"", name->name);
    if (!check_takes_hint(checker))
        return NULL;
    struct nearest nearest = {.name = name->name};
    static const char *const words[] = {"bool",  "string", "int8",   "int16",  "int32", "int64",
                                        "uint8", "uint16", "uint32", "uint64", "buffer"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        nearest_offer(&nearest, words[i]);
    if (nearest.best)
        check_nearest(checker, &nearest, "");
    else if (checker->without_types)
        check_hint(checker, "%s", checker->without_types);
    return NULL;
}

/* ---- casts ---- */

/* Whether a type is an array of numbers, whose bytes can be cast to others of the same number. */
static bool is_plain_array(const struct type *type)
{
    return type->kind == TYPE_ARRAY && type->target && type_is_number(type->target) && type->target->size;
}

static bool cast_is_allowed(const struct type *from, const struct type *to)
{
    switch (to->kind) {
    case TYPE_INTEGER:
        return type_is_scalar(from) || (is_plain_array(from) && from->size && from->size <= to->size);
    case TYPE_BOOL:
    case TYPE_POINTER: return type_is_scalar(from);
    case TYPE_ENUM: return type_is_number(from);
    case TYPE_ARRAY:
        if (!is_plain_array(to) || !to->size)
            return type_equal(from, to);
        if (type_is_number(from))
            return to->size <= 8;
        return from->size == to->size && (from->kind == TYPE_STRING || is_plain_array(from));
    case TYPE_STRING:
        return (from->kind == TYPE_STRING && from->size <= to->size) || from->kind == TYPE_PROBE_NAME;
    case TYPE_STRUCT:
    case TYPE_TUPLE:
    case TYPE_BUFFER: return type_equal(from, to);
    default: return false;
    }
}

/* Returns the type of (int8[])x, which has as many elements as the bytes of x. */
static const struct type *cast_open_array(struct checker *checker, const struct type *to,
                                          const struct type *from)
{
    if (to->kind != TYPE_ARRAY || to->count || !to->target->size || from->size < to->target->size)
        return to;
    return type_array(checker->arena, to->target, from->size / to->target->size);
}

/* Returns the address space of the pointer from which a number was computed: (uint64)$p - 8 is still an address in
 * the memory of $p. */
static enum address_space space_of_number(const struct node *node)
{
    if (node->type && node->type->kind == TYPE_POINTER)
        return node->type->space;
    if (node->kind == NODE_CAST)
        return space_of_number(node->cast.operand);
    if (node->kind != NODE_BINARY || (node->binary.op != OPERATOR_ADD && node->binary.op != OPERATOR_SUB))
        return SPACE_NONE;
    enum address_space space = space_of_number(node->binary.left);
    return space == SPACE_NONE ? space_of_number(node->binary.right) : space;
}

static const struct type *cast_pointer(struct checker *checker, struct node *node, const struct type *to)
{
    enum address_space space = to->space;
    if (space == SPACE_NONE)
        space = space_of_number(node->cast.operand);
    if (space == SPACE_NONE)
        space = check_context_space(checker);
    return check_pointer_type(checker, node, to->target, space);
}

/* Whether an operand that is cast to a pointer stands for its address, as arrays do in C: (struct in6_addr
 * *)$sk->address. */
static bool stands_for_address(const struct node *operand)
{
    bool is_stored = operand->kind == NODE_FIELD || operand->kind == NODE_INDEX ||
                     operand->kind == NODE_VARIABLE ||
                     (operand->kind == NODE_UNARY && operand->unary.op == OPERATOR_DEREFERENCE);
    const struct type *found = operand->kind == NODE_FIELD ? operand->field.found.type : NULL;
    bool is_text = operand->type && operand->type->kind == TYPE_STRING &&
                   (operand->kind == NODE_VARIABLE || (found && found->kind == TYPE_ARRAY));
    return is_text || (is_stored && operand->type && operand->type->kind == TYPE_ARRAY);
}

static const struct type *take_address(struct checker *checker, struct node *node)
{
    struct node *address = node_new(checker->arena, NODE_UNARY, node->cast.operand->span);
    address->unary.op = OPERATOR_ADDRESS;
    address->unary.operand = node->cast.operand;
    node->cast.operand = address;
    return check_value(checker, address);
}

const struct type *check_cast(struct checker *checker, struct node *node)
{
    const struct type *from = check_value(checker, node->cast.operand);
    const struct type *to = node->cast.target;
    if (node->cast.is_of_name && from && from->kind != TYPE_PROBE_NAME) { /* it has become a text */
        fold_to_child(node, node->cast.operand);
        return from;
    }
    /* An open array has a size of its own for every operand, and a type that typeof gives may grow. */
    if (!to || node->cast.name.of || type_name_is_open(&node->cast.name))
        to = check_type_name(checker, &node->cast.name);
    if (!to)
        return NULL;
    if (!from) {
        node->cast.target = to;
        return type_is_number(to) ? to : NULL;
    }
    to = cast_open_array(checker, to, from);
    if (to->kind == TYPE_POINTER && stands_for_address(node->cast.operand))
        from = take_address(checker, node);
    if (!from)
        return NULL;
    if (!cast_is_allowed(from, to)) {
        check_error(checker, node->cast.name.span, "Cannot cast from \"%s\" to \"%s\"",
                    type_text(checker->arena, from), type_text(checker->arena, to));
        if (to->kind == TYPE_STRUCT)
            check_hint(checker, "cast to a pointer to it: (%s *)", type_text(checker->arena, to));
        return NULL;
    }
    int64_t value;
    if (to->kind == TYPE_ENUM && to->count && check_constant(checker, node->cast.operand, &value) &&
        !type_enumerator(to, value) && (!value || (uint64_t)value & ~type_flags(to))) {
        check_error(checker, node->cast.name.span, "Enum: %s doesn't contain a variant value of %lld",
                    to->name ? to->name : "", (long long)value);
        return NULL;
    }
    node->cast.target = to;
    return to->kind == TYPE_POINTER ? cast_pointer(checker, node, to) : to;
}

/* ---- questions ---- */

/* Returns the type of a value that is not evaluated. A whole map stands for its key. */
static const struct type *operand_type(struct checker *checker, struct node *operand)
{
    if (operand->kind != NODE_MAP || operand->map.key)
        return check_value(checker, operand);
    const struct type *type = check_map_argument(checker, operand, false);
    if (type && check_is_whole_map(operand))
        type = check_is_settled(operand->map.symbol->key) ? operand->map.symbol->key : NULL;
    return operand->type = type;
}

/* Returns the type that is the operand of sizeof, typeof and the like. *is_fixed: it does not depend on types that
 * may still grow. */
static const struct type *asked_type(struct checker *checker, struct node *node, bool *is_fixed)
{
    const struct type *type = NULL;
    struct node *operand = node->cast.operand;
    /* A lone word may be a builtin, a type or another value, in this order: pid is no struct here. */
    bool is_builtin =
        operand && operand->kind == NODE_NAME && builtin_find(checker->builtins, operand->name.name, NULL);
    if (type_name_is_given(&node->cast.name) && !is_builtin)
        type = operand ? type_of_name(checker, &node->cast.name) : check_type_name(checker, &node->cast.name);
    *is_fixed = (type && !node->cast.name.of) || check_folds_types(checker);
    if (!type && operand)
        type = operand_type(checker, operand);
    if (type)
        type_complete(type);
    return type;
}

const struct type *check_sizeof(struct checker *checker, struct node *node)
{
    bool is_fixed;
    const struct type *type = asked_type(checker, node, &is_fixed);
    if (!type || !is_fixed)
        return &type_u64;
    if (type->kind == TYPE_NONE) {
        check_error(checker, node->span, "'%s' has no size", type_text(checker->arena, type));
        return NULL;
    }
    /* An enumerator is a constant of 64 bits, whatever its enum takes in memory. */
    const struct node *operand = node->cast.operand;
    const bool is_enumerator = operand && operand->kind == NODE_INTEGER && operand->integer.as_enum;
    fold_to_integer(node, is_enumerator ? sizeof(uint64_t) : type_c_size(type), false, NULL);
    return check_expression(checker, node);
}

/* Computes the offset of a path of members from the start of the type. False after a diagnostic. */
static bool member_offset(struct checker *checker, const struct node *node, const struct type *type,
                          uint64_t *offset)
{
    struct field found;
    *offset = 0;
    for (const struct member_path *member = node->cast.members; member; member = member->next) {
        type_complete(type);
        if (!member->name) {
            if (type->kind != TYPE_ARRAY || !type->target) {
                check_error(checker, node->span, "'%s' is not an array", type_text(checker->arena, type));
                return false;
            }
            if (member->element >= type->count && type->count) {
                check_error(checker, node->span, "the index %u is out of bounds for array of size %u",
                            member->element, type->count);
                return false;
            }
            type = type->target;
            *offset += (uint64_t)type->size * member->element;
            continue;
        }
        if (type->kind != TYPE_STRUCT) {
            check_error(checker, node->span, "'%s' is not a struct: it has no field '%s'",
                        type_text(checker->arena, type), member->name);
            return false;
        }
        if (!type_find_field(type, member->name, &found) || !found.type) {
            check_error(checker, node->span, "'%s' does not contain a field named '%s'",
                        type_text(checker->arena, type), member->name);
            check_hint_field(checker, type, member->name);
            return false;
        }
        if (found.bit_size && found.bit_offset) {
            check_error(checker, node->span, "The bit-field '%s' does not begin at a byte", member->name);
            return false;
        }
        *offset += found.offset;
        type = found.type;
    }
    return true;
}

const struct type *check_offsetof(struct checker *checker, struct node *node)
{
    bool is_fixed;
    uint64_t offset;
    const struct type *type = asked_type(checker, node, &is_fixed);
    if (!type || !is_fixed)
        return &type_u64;
    if (type->kind == TYPE_POINTER && type->target)
        type = type->target;
    if (!member_offset(checker, node, type, &offset))
        return NULL;
    fold_to_integer(node, offset, false, NULL);
    return check_expression(checker, node);
}

const struct type *check_typeof(struct checker *checker, struct node *node)
{
    check_error(checker, node->span, "typeof() is a type, not a value");
    check_hint(checker, "it stands in casts, in let $x : typeof(...), and in sizeof and its kin");
    return NULL;
}

/* ---- typeinfo ---- */

static const char *base_type(struct checker *checker, const struct type *type)
{
    switch (type->kind) {
    case TYPE_INTEGER:
    case TYPE_ENUM: return "int";
    case TYPE_BOOL: return "bool";
    case TYPE_POINTER: return "pointer";
    case TYPE_STRING:
    case TYPE_PROBE_NAME: return "string";
    case TYPE_BUFFER: return "buffer";
    case TYPE_ARRAY: return "array";
    case TYPE_STRUCT: return type->is_union ? "union" : "struct";
    case TYPE_TUPLE: return type_is_record(type) ? "record" : "tuple";
    default: return type_text(checker->arena, type);
    }
}

static struct node *text_node(struct checker *checker, struct span span, const char *text)
{
    struct node *node = node_new(checker->arena, NODE_STRING, span);
    node->string.text = text;
    node->string.length = strlen(text);
    return node;
}

/* Replaces the node by the record (btf_id=0, base_type="int", full_type="uint64"). */
const struct type *check_typeinfo(struct checker *checker, struct node *node)
{
    static const char *const names[] = {"btf_id", "base_type", "full_type"};
    bool is_fixed;
    const struct type *type = asked_type(checker, node, &is_fixed);
    if (!type)
        return NULL;
    const char *base = base_type(checker, type), *full = type_text(checker->arena, type);
    if (!is_fixed) {
        const struct type *types[] = {&type_i8, type_string(checker->arena, (uint32_t)strlen(base) + 1),
                                      type_string(checker->arena, (uint32_t)strlen(full) + 1)};
        const struct type *record = type_record(checker->arena, names, types, 3);
        return node->type && type_equal(node->type, record) ? node->type : record;
    }
    node->kind = NODE_TUPLE;
    node->type = NULL;
    node->list = (struct node_list){0};
    node->names = names;
    node_append(&node->list, node_new(checker->arena, NODE_INTEGER, node->span));
    node_append(&node->list, text_node(checker, node->span, base));
    node_append(&node->list, text_node(checker, node->span, full));
    return check_expression(checker, node);
}

/* ---- comptime ---- */

const struct type *check_answer(struct checker *checker, struct node *call, bool answer)
{
    if (check_folds_types(checker)) {
        fold_to_integer(call, (uint64_t)answer, false, NULL);
        call->kind = NODE_BOOL;
    }
    return &type_bool;
}

static bool is_constant(const struct node *node)
{
    struct constant constant;
    if (node->kind != NODE_TUPLE)
        return node->kind == NODE_STRING || fold_constant(node, &constant);
    for (const struct node *element = node->list.first; element; element = element->next)
        if (!is_constant(element))
            return false;
    return true;
}

const struct type *check_comptime(struct checker *checker, struct node *node)
{
    struct check_state *state = checker->state;
    struct node *operand = node->unary.operand;
    state->comptime++;
    const struct type *type = check_value(checker, operand);
    state->comptime--;
    if (!type || !(state->is_deciding || checker->is_reporting))
        return type;
    if (is_constant(operand)) {
        state->has_decided = true;
        fold_to_child(node, operand);
        return node->type;
    }
    if (checker->is_reporting) {
        check_error(checker, node->span, "Unable to evaluate this when the script is compiled");
        check_hint(checker, "comptime takes constants, sizeof, offsetof, typeinfo, is_ptr() and its kin");
    }
    return NULL;
}
