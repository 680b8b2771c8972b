/* SPDX-License-Identifier: BSD-3-Clause */
/* Text and bytes out of traced memory. What can be asked of text is in string.c. */
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"

/* An array of one-byte integers is text, as far as it has no NUL. */
static bool is_char_array(const struct type *type)
{
    return type->kind == TYPE_ARRAY && type->target->kind == TYPE_INTEGER && type->target->size == 1;
}

/* A constant length argument, bounded; `fallback` when it is not a constant. */
static uint32_t literal_length(const struct node *length, uint32_t fallback)
{
    if (!length || length->kind != NODE_INTEGER || length->integer.value > fallback)
        return fallback;
    return length->integer.value ? (uint32_t)length->integer.value : 1;
}

/* Reports a constant that is no length. */
static bool check_length(struct checker *checker, const struct node *call, const struct node *length)
{
    if (!length || length->kind != NODE_INTEGER || length->integer.is_unsigned ||
        (int64_t)length->integer.value >= 0)
        return true;
    check_error(checker, length->span, "%s(): the length must not be negative, found %lld", call->call.name,
                (long long)length->integer.value);
    return false;
}

/* str() of a constant text is the text, or as many of its characters as a constant length says: there is no NUL that it
 * would count, too. */
static const struct type *fold_str(struct checker *checker, struct node *node, const struct node *from,
                                   const struct node *length)
{
    const char *text = from->string.text;
    size_t most = strnlen(text, from->string.length);
    if (length && length->integer.value < most)
        most = length->integer.value;
    node->kind = NODE_STRING;
    node->string.text = text;
    node->string.length = most;
    return type_string(checker->arena, (uint32_t)most + 1);
}

static const struct type *check_str(struct checker *checker, struct node *node)
{
    struct node *from = check_argument(node, 0), *length = check_argument(node, 1);
    const struct type *type = from->type;
    if (!check_length(checker, node, length))
        return NULL;
    if (!type || type->kind == TYPE_NONE)
        return type_string(checker->arena, checker->max_strlen);
    if (from->kind == NODE_STRING && (!length || length->kind == NODE_INTEGER))
        return fold_str(checker, node, from, length);
    if (type->kind == TYPE_STRING)
        return length ? type_string(checker->arena, literal_length(length, type->size)) : type;
    if (!type_is_scalar(type) && !is_char_array(type)) {
        check_error(checker, from->span,
                    "str() needs an address or an array of characters, found a value of type '%s'",
                    type_text(checker->arena, type));
        return NULL;
    }
    return type_string(checker->arena,
                       literal_length(length, is_char_array(type) ? type->count : checker->max_strlen));
}

static struct ir *lower_str(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *from = check_argument(node, 0), *length = check_argument(node, 1);
    struct ir *limit = length ? lower_scalar(l, length) : NULL;
    bool is_string = from->type->kind == TYPE_STRING;
    if (is_string && !limit) {
        if (destination_is_memory(into))
            lower_to(l, from, node->type, into);
        return NULL;
    }
    enum address_space space = SPACE_BPF;
    struct ir *address;
    if (is_string) {
        struct memory text = lower_memory(l, from);
        address = ir_offset(&l->b, text.base, text.offset);
    } else
        address = lower_pointer(l, from, &space);
    if (destination_is_memory(into))
        lower_read_string(l, into, node->type->size, limit, address, space,
                          TEXT_PADDED | (type_is_scalar(from->type) ? TEXT_ENDLESS : 0), node->span);
    return NULL;
}

/* ---- buf ---- */

static const struct type *check_buf(struct checker *checker, struct node *node)
{
    struct node *from = check_argument(node, 0), *length = check_argument(node, 1);
    const struct type *type = from->type;
    if (!check_length(checker, node, length))
        return NULL;
    if (!type || type->kind == TYPE_NONE)
        return type_buffer(checker->arena, checker->max_strlen);
    if (type->kind == TYPE_ARRAY || type->kind == TYPE_STRUCT || type->kind == TYPE_STRING)
        return type_buffer(checker->arena, literal_length(length, type->size ? type->size : 1));
    if (!length) {
        check_error(checker, node->span, "buf() needs a length for a value of type '%s'",
                    type_text(checker->arena, type));
        check_hint(checker, "buf(pointer, length)");
        return NULL;
    }
    if (!type_is_scalar(type)) {
        check_error(checker, from->span, "buf() needs an address or an array, found a value of type '%s'",
                    type_text(checker->arena, type));
        return NULL;
    }
    return type_buffer(checker->arena, literal_length(length, checker->max_strlen));
}

static struct ir *lower_buf(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    struct node *from = check_argument(node, 0), *length = check_argument(node, 1);
    uint32_t capacity = node->type->size;
    if (!destination_is_memory(into))
        return NULL;
    enum address_space space;
    struct ir *address = lower_pointer(l, from, &space);
    ir_zero(b, into->memory.base, into->memory.offset, type_storage(node->type));
    struct memory bytes = {into->memory.base, into->memory.offset + 8};
    if (!length || length->kind == NODE_INTEGER) {
        if (length && !length->integer.value)
            return NULL; /* an empty buffer, which has room for one byte */
        ir_store_constant(b, into->memory.base, into->memory.offset, 8, capacity);
        lower_read(l, bytes, capacity, address, space, node->span);
        return NULL;
    }
    struct ir *wanted = lower_at_most(l, lower_scalar(l, length), capacity);
    ir_store(b, into->memory.base, into->memory.offset, 8, wanted);
    lower_read_bounded(l, bytes, wanted, address, space, node->span);
    return NULL;
}

const struct builtin builtins_text[] = {
    {"str",
     "str(pointer [, length])",
     BUILTIN_CALL | BUILTIN_READS_MEMORY,
     1,
     2,
     {PARAMETER_TEXT, PARAMETER_INTEGER},
     .check = check_str,
     .lower = lower_str},
    {"buf",
     "buf(pointer [, length])",
     BUILTIN_CALL | BUILTIN_READS_MEMORY,
     1,
     2,
     {PARAMETER_BYTES, PARAMETER_INTEGER},
     .check = check_buf,
     .lower = lower_buf},
    {0},
};
