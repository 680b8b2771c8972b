/* SPDX-License-Identifier: BSD-3-Clause */
/* Text and bytes out of traced memory, and what can be asked of them. */
#include <string.h>

#include "bpf/lower.h"
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

static const struct type *check_str(struct checker *checker, struct node *node)
{
    struct node *from = check_argument(node, 0), *length = check_argument(node, 1);
    const struct type *type = from->type;
    if (!type || type->kind == TYPE_NONE)
        return type_string(checker->arena, checker->max_strlen);
    if (type->kind == TYPE_STRING)
        return type;
    if (!type_is_scalar(type) && !is_char_array(type)) {
        check_error(checker, from->place,
                    "str() needs an address or an array of characters, found a value of type '%s'",
                    type_text(checker->arena, type));
        return NULL;
    }
    return type_string(checker->arena,
                       literal_length(length, is_char_array(type) ? type->count : checker->max_strlen));
}

static struct ir *lower_str(struct lowering *l, struct node *node, struct memory *into)
{
    struct node *from = check_argument(node, 0), *length = check_argument(node, 1);
    struct ir *limit = length ? lower_scalar(l, length) : NULL;
    if (from->type->kind == TYPE_STRING) {
        if (into)
            lower_into_type(l, from, node->type, *into);
        return NULL;
    }
    enum address_space space;
    struct ir *address = lower_pointer(l, from, &space);
    if (into)
        return lower_read_string(l, *into, node->type->size, limit, address, space, true, node->place);
    return NULL;
}

/* ---- buf ---- */

static const struct type *check_buf(struct checker *checker, struct node *node)
{
    struct node *from = check_argument(node, 0), *length = check_argument(node, 1);
    const struct type *type = from->type;
    if (!type || type->kind == TYPE_NONE)
        return type_buffer(checker->arena, checker->max_strlen);
    if (type->kind == TYPE_ARRAY || type->kind == TYPE_STRUCT)
        return type_buffer(checker->arena, literal_length(length, type->size ? type->size : 1));
    if (!length) {
        check_error(checker, node->place, "buf() needs a length for a value of type '%s'",
                    type_text(checker->arena, type));
        check_hint(checker, "buf(pointer, length)");
        return NULL;
    }
    if (!type_is_scalar(type)) {
        check_error(checker, from->place, "buf() needs an address or an array, found a value of type '%s'",
                    type_text(checker->arena, type));
        return NULL;
    }
    return type_buffer(checker->arena, literal_length(length, checker->max_strlen));
}

static struct ir *lower_buf(struct lowering *l, struct node *node, struct memory *into)
{
    struct ir_builder *b = &l->b;
    struct node *from = check_argument(node, 0), *length = check_argument(node, 1);
    uint32_t capacity = node->type->size;
    if (!into)
        return NULL;
    enum address_space space;
    struct ir *address = lower_pointer(l, from, &space);
    ir_zero(b, into->base, into->offset, type_storage(node->type));
    struct memory bytes = {into->base, into->offset + 8};
    if (!length || length->kind == NODE_INTEGER) {
        ir_store_constant(b, into->base, into->offset, 8, capacity);
        lower_read(l, bytes, capacity, address, space, node->place);
        return NULL;
    }
    struct ir *wanted = lower_scalar(l, length);
    uint32_t bounded = ir_variable(b);
    struct ir_block *shorter = ir_block_new(b), *next = ir_block_new(b);
    ir_write(b, bounded, ir_constant(b, capacity));
    ir_branch(b, ir_binary_constant(b, IR_ULE, wanted, capacity), shorter, next);
    ir_seal(b, shorter);
    ir_enter(b, shorter);
    ir_write(b, bounded, wanted);
    ir_jump(b, next);
    ir_seal(b, next);
    ir_enter(b, next);
    wanted = ir_read(b, bounded);
    ir_store(b, into->base, into->offset, 8, wanted);
    lower_read_bounded(l, bytes, wanted, address, space, node->place);
    return NULL;
}

/* ---- comparison of beginnings ---- */

/* Word `number` of a text; zeros behind its storage. */
struct words {
    const char *literal; /* or NULL: memory */
    size_t literal_length;
    struct memory memory;
    uint32_t storage;
};

static struct words words_of(struct lowering *l, struct node *node)
{
    if (node->kind == NODE_STRING)
        return (struct words){.literal = node->string.text, .literal_length = node->string.length};
    return (struct words){.memory = lower_memory(l, node), .storage = type_storage(node->type)};
}

static struct ir *word(struct lowering *l, const struct words *words, uint32_t number)
{
    uint32_t begin = number * 8;
    if (!words->literal)
        return begin < words->storage
                   ? ir_load(&l->b, words->memory.base, words->memory.offset + (int32_t)begin, 8, false)
                   : ir_constant(&l->b, 0);
    int64_t value = 0;
    if (begin < words->literal_length) {
        size_t length = words->literal_length - begin;
        memcpy(&value, words->literal + begin, length < 8 ? length : 8);
    }
    return ir_constant(&l->b, value);
}

static const struct type *check_strncmp(struct checker *checker, struct node *node)
{
    struct node *length = check_argument(node, 2);
    if (length->kind == NODE_INTEGER &&
        ((int64_t)length->integer.value < 0 || length->integer.value > checker->max_strlen)) {
        check_error(checker, length->place, "strncmp(): the length must be 0 to %u, found %lld",
                    checker->max_strlen, (long long)length->integer.value);
        return NULL;
    }
    return &type_u64;
}

/* 0 when the first n bytes are the same, else 1. Texts are padded with zeros, so words tell; a text ends
 * where both do. */
static struct ir *lower_strncmp(struct lowering *l, struct node *node, struct memory *into)
{
    struct ir_builder *b = &l->b;
    struct words left = words_of(l, check_argument(node, 0)), right = words_of(l, check_argument(node, 1));
    uint32_t bytes = (uint32_t)check_argument(node, 2)->integer.value;
    uint32_t longest = left.storage > right.storage ? left.storage : right.storage;
    uint32_t literal =
        (uint32_t)(left.literal_length > right.literal_length ? left.literal_length : right.literal_length) +
        1;
    if (literal > longest)
        longest = literal;
    (void)into;
    uint32_t result = ir_variable(b);
    struct ir_block *end = ir_block_new(b);
    ir_write(b, result, ir_constant(b, 1));
    for (uint32_t i = 0; i * 8 < bytes && i * 8 < longest; i++) {
        struct ir *difference = ir_binary(b, IR_XOR, word(l, &left, i), word(l, &right, i));
        uint32_t rest = bytes - i * 8;
        if (rest < 8)
            difference = ir_binary(b, IR_AND, difference, ir_constant(b, (int64_t)((1ull << rest * 8) - 1)));
        struct ir_block *same = ir_block_new(b);
        ir_branch(b, difference, end, same);
        ir_seal(b, same);
        ir_enter(b, same);
    }
    ir_write(b, result, ir_constant(b, 0));
    ir_jump(b, end);
    ir_seal(b, end);
    ir_enter(b, end);
    return ir_read(b, result);
}

/* ---- search ---- */

/* What the search compares: the words of the needle, at every byte of the haystack. */
struct search {
    struct words needle; /* its memory, if it has any, is carried in */
    uint32_t needle_words;
};

/* The bytes of a word before its first NUL, as a mask. */
static struct ir *mask_of(struct lowering *l, struct ir *word, struct ir **ends)
{
    struct ir_builder *b = &l->b;
    struct ir *ones = ir_constant(b, 0x0101010101010101), *tops = ir_constant(b, (int64_t)0x8080808080808080);
    struct ir *zeros = ir_binary(b, IR_AND, ir_binary(b, IR_SUB, word, ones), ir_unary(b, IR_NOT, word));
    zeros = ir_binary(b, IR_AND, zeros, tops);
    *ends = zeros;
    /* The lowest marked byte is the first NUL. Without one: 0 - 1, all bytes. */
    struct ir *lowest = ir_binary(b, IR_AND, zeros, ir_unary(b, IR_NEG, zeros));
    return ir_binary_constant(b, IR_SUB, ir_binary_constant(b, IR_LSHR, lowest, 7), 1);
}

static struct ir *search_test(struct lowering *l, struct ir *index, struct ir *const *carried, void *state)
{
    struct ir_builder *b = &l->b;
    struct search *search = state;
    struct words needle = search->needle;
    struct ir *at = ir_binary(b, IR_ADD, carried[0], index);
    uint32_t answer = ir_variable(b);
    struct ir_block *differs = ir_block_new(b), *same = ir_block_new(b), *end = ir_block_new(b);
    if (!needle.literal)
        needle.memory = (struct memory){.base = carried[1]};
    for (uint32_t i = 0; i < search->needle_words; i++) {
        struct ir *wanted = word(l, &needle, i), *ends;
        struct ir *mask = mask_of(l, wanted, &ends);
        struct ir *found = ir_load(b, at, (int32_t)i * 8, 8, false);
        struct ir *difference = ir_binary(b, IR_AND, ir_binary(b, IR_XOR, found, wanted), mask);
        struct ir_block *equal = ir_block_new(b), *more = ir_block_new(b);
        ir_branch(b, difference, differs, equal);
        ir_seal(b, equal);
        ir_enter(b, equal);
        ir_branch(b, ends, same, more); /* the needle ends in this word */
        ir_seal(b, more);
        ir_enter(b, more);
    }
    ir_jump(b, same);
    ir_seal(b, same);
    ir_enter(b, same);
    ir_write(b, answer, ir_constant(b, LOWER_FOUND));
    ir_jump(b, end);
    ir_seal(b, differs);
    ir_enter(b, differs); /* behind the haystack's end nothing can be found */
    struct ir *over = ir_binary_constant(b, IR_EQ, ir_load(b, at, 0, 1, false), 0);
    ir_write(b, answer, ir_binary_constant(b, IR_MUL, over, LOWER_STOP));
    ir_jump(b, end);
    ir_seal(b, end);
    ir_enter(b, end);
    return ir_read(b, answer);
}

static struct ir *lower_strcontains(struct lowering *l, struct node *node, struct memory *into)
{
    struct node *haystack = check_argument(node, 0), *needle = check_argument(node, 1);
    uint32_t bytes = type_storage(haystack->type);
    struct search search = {.needle = words_of(l, needle), .needle_words = type_storage(needle->type) / 8};
    /* A copy with zeros behind it: words are compared from every byte on. */
    uint32_t behind = type_storage(needle->type) + 8;
    struct memory copy = lower_scratch(l, bytes + behind, false);
    (void)into;
    lower_into(l, haystack, copy);
    ir_zero(&l->b, copy.base, copy.offset + (int32_t)bytes, behind);
    struct ir *carried[2] = {ir_offset(&l->b, copy.base, copy.offset), NULL};
    if (!search.needle.literal)
        carried[1] = ir_offset(&l->b, search.needle.memory.base, search.needle.memory.offset);
    struct ir *found = lower_find(l, bytes, carried, carried[1] ? 2 : 1, search_test, &search, node->place);
    return ir_binary_constant(&l->b, IR_SGE, found, 0);
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
     {PARAMETER_POINTER, PARAMETER_INTEGER},
     .check = check_buf,
     .lower = lower_buf},
    {"strncmp",
     "strncmp(a, b, length)",
     BUILTIN_CALL,
     3,
     3,
     {PARAMETER_STRING, PARAMETER_STRING, PARAMETER_LITERAL_INTEGER},
     .check = check_strncmp,
     .lower = lower_strncmp},
    {"strcontains",
     "strcontains(haystack, needle)",
     BUILTIN_CALL,
     2,
     2,
     {PARAMETER_STRING, PARAMETER_STRING},
     .result = &type_bool,
     .lower = lower_strcontains},
    {0},
};
