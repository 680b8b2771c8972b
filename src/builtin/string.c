/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be asked of text: comparison, search, length. Texts are in storage form, padded with zeros, so
 * most of it works on words. A pointer to characters is as good as the text there: it becomes str(pointer).
 */
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "builtin/desugar.h"

/* ---- arguments that are like a string ---- */

static bool is_character(const struct type *type)
{
    return type && type->kind == TYPE_INTEGER && type->size == 1;
}

/* A string stays; a pointer to characters, or an array of them, becomes the call of str(). */
static bool check_text(struct checker *checker, struct node *call, unsigned number)
{
    struct node *text = check_argument(call, number);
    const struct type *type = text->type;
    if (type->kind == TYPE_STRING)
        return true;
    if ((type->kind != TYPE_POINTER && type->kind != TYPE_ARRAY) || !is_character(type->target)) {
        check_error(checker, text->span,
                    "%s(): string-like values must be either strings, arrays or pointers of characters, "
                    "found '%s'",
                    call->call.name, type_text(checker->arena, type));
        check_hint(checker, "str() makes a string of the text at an address");
        return false;
    }
    struct node *address = node_new(checker->arena, text->kind, text->span), *next = text->next;
    *address = *text;
    address->next = NULL;
    *text = *desugar_call_of(checker, text, "str", address);
    text->next = next;
    return check_made(checker, text) != NULL;
}

static bool check_texts(struct checker *checker, struct node *node)
{
    return check_text(checker, node, 0) && check_text(checker, node, 1);
}

/* ---- comparison of beginnings ---- */

/* A text of which words are read; behind its storage they are 0. */
struct words {
    const char *literal; /* a constant text; NULL: it is in `memory` */
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
        check_error(checker, length->span, "strncmp(): the length must be 0 to %u, found %lld",
                    checker->max_strlen, (long long)length->integer.value);
        return NULL;
    }
    return &type_u64;
}

/* 0 when the first n bytes are the same, else 1. Texts are padded with zeros, so words tell; a text ends
 * where both do. */
static struct ir *lower_strncmp(struct lowering *l, struct node *node, struct destination *into)
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
    struct ir_block *end = ir_label(b);
    ir_write(b, result, ir_constant(b, 1));
    for (uint32_t i = 0; i * 8 < bytes && i * 8 < longest; i++) {
        struct ir *difference = ir_binary(b, IR_XOR, word(l, &left, i), word(l, &right, i));
        uint32_t rest = bytes - i * 8;
        if (rest < 8)
            difference = ir_binary(b, IR_AND, difference, ir_constant(b, (int64_t)((1ull << rest * 8) - 1)));
        ir_jump_if(b, difference, end);
    }
    ir_write(b, result, ir_constant(b, 0));
    ir_place(b, end);
    return ir_read(b, result);
}

/* ---- search ---- */

/* What the search compares: the words of the needle, at every byte of the haystack. */
struct search {
    struct words needle; /* if it is no constant, its memory is a value that the search carries */
    uint32_t needle_words;
};

/* A mask of the bytes of a word that stand before its first NUL. *ends: not 0 if there is a NUL. */
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
    struct ir_block *differs = ir_label(b), *same = ir_label(b), *end = ir_label(b);
    if (!needle.literal)
        needle.memory = (struct memory){.base = carried[1]};
    for (uint32_t i = 0; i < search->needle_words; i++) {
        struct ir *wanted = word(l, &needle, i), *ends;
        struct ir *mask = mask_of(l, wanted, &ends);
        struct ir *found = ir_load(b, at, (int32_t)i * 8, 8, false);
        struct ir *difference = ir_binary(b, IR_AND, ir_binary(b, IR_XOR, found, wanted), mask);
        ir_jump_if(b, difference, differs);
        ir_jump_if(b, ends, same); /* the needle ends in this word */
    }
    ir_place(b, same);
    ir_write(b, answer, ir_constant(b, LOWER_FOUND));
    ir_jump(b, end);
    ir_place(b, differs); /* behind the haystack's end nothing can be found */
    struct ir *over = ir_binary_constant(b, IR_EQ, ir_load(b, at, 0, 1, false), 0);
    ir_write(b, answer, ir_binary_constant(b, IR_MUL, over, LOWER_STOP));
    ir_place(b, end);
    return ir_read(b, answer);
}

static const struct type *check_search(struct checker *checker, struct node *node)
{
    if (!check_texts(checker, node))
        return NULL;
    return node->call.builtin->data ? &type_bool : &type_i64;
}

/* The index of the needle, or -1. */
static struct ir *lower_search(struct lowering *l, struct node *node, struct destination *into)
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
    struct ir *found = lower_find(l, bytes, carried, carried[1] ? 2 : 1, search_test, &search, node->span);
    return node->call.builtin->data ? ir_binary_constant(&l->b, IR_SGE, found, 0) : found;
}

/* ---- lengths ---- */

/* Counts the bytes before the NUL of a text in the program's own memory; a full one has no NUL. The kernel counts
 * them: the copy that it makes is not used. */
static struct ir *length_of(struct lowering *l, struct memory text, uint32_t capacity)
{
    struct ir_builder *b = &l->b;
    struct memory copy = lower_scratch(l, capacity + 1, false);
    uint32_t length = ir_variable(b);
    struct ir *got = ir_call(b, BPF_FUNC_probe_read_kernel_str, 3, ir_offset(b, copy.base, copy.offset),
                             ir_constant(b, (int64_t)capacity + 1), ir_offset(b, text.base, text.offset));
    got = ir_binary_constant(b, IR_SUB, got, 1);
    ir_write(b, length, ir_constant(b, 0));
    struct ir_if good = ir_if(b, ir_binary_constant(b, IR_ULE, got, capacity));
    ir_write(b, length, got);
    ir_end_if(b, &good);
    return ir_read(b, length);
}

static const struct type *check_strlen(struct checker *checker, struct node *node)
{
    return check_text(checker, node, 0) ? &type_u64 : NULL;
}

static struct ir *lower_strlen(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *text = check_argument(node, 0);
    (void)into;
    if (text->kind == NODE_STRING)
        return ir_constant(&l->b, (int64_t)strnlen(text->string.text, text->string.length));
    return length_of(l, lower_memory(l, text), text->type->size);
}

/* What a string or an array has room for; of a pointer, the length of its text. */
static const struct type *check_strcap(struct checker *checker, struct node *node)
{
    struct node *text = check_argument(node, 0);
    if (!node->call.data && text->type->kind == TYPE_POINTER)
        node->call.data = node;
    if (!node->call.data && text->type->kind == TYPE_ARRAY && is_character(text->type->target))
        return &type_i64;
    return check_text(checker, node, 0) ? &type_i64 : NULL;
}

static struct ir *lower_strcap(struct lowering *l, struct node *node, struct destination *into)
{
    return node->call.data ? lower_strlen(l, node, into)
                           : ir_constant(&l->b, check_argument(node, 0)->type->size);
}

/* ---- concatenation ---- */

static const struct type *check_concat(struct checker *checker, struct node *node)
{
    if (!check_texts(checker, node))
        return NULL;
    uint64_t both = (uint64_t)check_argument(node, 0)->type->size + check_argument(node, 1)->type->size;
    return type_string(checker->arena, both < checker->max_strlen ? (uint32_t)both : checker->max_strlen);
}

static struct ir *lower_concat(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    struct node *left = check_argument(node, 0), *right = check_argument(node, 1);
    uint32_t left_bytes = type_storage(left->type), right_bytes = type_storage(right->type);
    uint32_t capacity = node->type->size, storage = type_storage(node->type);
    if (!destination_is_memory(into))
        return NULL;
    struct memory tail = lower_memory(l, right);
    struct memory whole = lower_scratch(l, left_bytes + right_bytes + 8, false);
    lower_into(l, left, whole);
    ir_zero(b, whole.base, whole.offset + (int32_t)left_bytes, right_bytes + 8);
    struct ir *at =
        ir_binary(b, IR_ADD, ir_offset(b, whole.base, whole.offset), length_of(l, whole, left->type->size));
    ir_call(b, BPF_FUNC_probe_read_kernel_str, 3, at, ir_constant(b, (int64_t)right->type->size + 1),
            ir_offset(b, tail.base, tail.offset));
    for (uint32_t i = capacity; i < storage; i++) /* nothing but zeros behind a text that fills its room */
        ir_store_constant(b, whole.base, whole.offset + (int32_t)i, 1, 0);
    ir_copy(b, into->memory.base, into->memory.offset, whole.base, whole.offset, storage);
    return NULL;
}

/* ---- bytes ---- */

/* How many bytes of a value can be compared; UINT32_MAX: any number, because it is a pointer. */
static uint32_t bytes_of(const struct type *type)
{
    switch (type->kind) {
    case TYPE_POINTER: return UINT32_MAX;
    case TYPE_STRING:
    case TYPE_BUFFER:
    case TYPE_ARRAY:
    case TYPE_STRUCT: return type->size;
    default: return 0;
    }
}

static const struct type *check_memcmp(struct checker *checker, struct node *node)
{
    const struct node *count = check_argument(node, 2);
    if (count->kind != NODE_INTEGER)
        return &type_i32; /* it holds sizeof, which becomes a number in the last pass */
    if (count->integer.value > checker->max_strlen) {
        check_error(checker, count->span, "memcmp(): the length must be 0 to %u, found %lld",
                    checker->max_strlen, (long long)count->integer.value);
        return NULL;
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct node *side = check_argument(node, i);
        if (count->integer.value <= bytes_of(side->type))
            continue;
        check_error(checker, side->span, "memcmp(): a value of type '%s' has no %llu bytes to compare",
                    type_text(checker->arena, side->type), (unsigned long long)count->integer.value);
        check_hint(checker, "strings, buffers, arrays, structs and pointers have bytes");
        return NULL;
    }
    return &type_i32;
}

static struct memory bytes_in_memory(struct lowering *l, struct node *node, uint32_t bytes)
{
    if (node->type->kind != TYPE_POINTER) {
        struct memory memory = lower_memory(l, node);
        memory.offset += node->type->kind == TYPE_BUFFER ? 8 : 0; /* behind the length */
        return memory;
    }
    enum address_space space;
    struct ir *address = lower_pointer(l, node, &space);
    struct memory copy = lower_temporary(l, bytes, false);
    lower_read(l, copy, bytes, address, space, node->span);
    return copy;
}

/* -1, 0 or 1. The first byte of a word is its lowest: turned around, words compare as their bytes do. */
static struct ir *lower_memcmp(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    uint32_t bytes = (uint32_t)check_argument(node, 2)->integer.value;
    uint32_t result = ir_variable(b), x = ir_variable(b), y = ir_variable(b);
    struct ir_block *differs = ir_label(b), *end = ir_label(b);
    (void)into;
    if (!bytes)
        return ir_constant(b, 0);
    struct memory left = bytes_in_memory(l, check_argument(node, 0), bytes);
    struct memory right = bytes_in_memory(l, check_argument(node, 1), bytes);
    ir_write(b, result, ir_constant(b, 0));
    for (uint32_t i = 0; i < bytes; i += 8) {
        struct ir *of_left = ir_load(b, left.base, left.offset + (int32_t)i, 8, false);
        struct ir *of_right = ir_load(b, right.base, right.offset + (int32_t)i, 8, false);
        if (bytes - i < 8) {
            struct ir *mask = ir_constant(b, (int64_t)((1ull << (bytes - i) * 8) - 1));
            of_left = ir_binary(b, IR_AND, of_left, mask);
            of_right = ir_binary(b, IR_AND, of_right, mask);
        }
        ir_write(b, x, of_left);
        ir_write(b, y, of_right);
        ir_jump_unless(b, ir_binary(b, IR_EQ, of_left, of_right), differs);
    }
    ir_jump(b, end);
    ir_place(b, differs);
    struct ir *of_left = ir_bswap(b, ir_read(b, x), 8), *of_right = ir_bswap(b, ir_read(b, y), 8);
    ir_write(b, result,
             ir_binary(b, IR_SUB, ir_binary(b, IR_UGT, of_left, of_right),
                       ir_binary(b, IR_ULT, of_left, of_right)));
    ir_place(b, end);
    return ir_read(b, result);
}

enum { TEXT = BUILTIN_CALL | BUILTIN_READS_MEMORY };

const struct builtin builtins_string[] = {
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
     TEXT,
     2,
     2,
     {PARAMETER_TEXT, PARAMETER_TEXT},
     .check = check_search,
     .lower = lower_search,
     .data = true},
    {"strstr",
     "strstr(haystack, needle)",
     TEXT,
     2,
     2,
     {PARAMETER_TEXT, PARAMETER_TEXT},
     .check = check_search,
     .lower = lower_search},
    {"strlen", "strlen(text)", TEXT, 1, 1, {PARAMETER_TEXT}, .check = check_strlen, .lower = lower_strlen},
    {"strcap", "strcap(text)", TEXT, 1, 1, {PARAMETER_TEXT}, .check = check_strcap, .lower = lower_strcap},
    {"str_concat",
     "str_concat(a, b)",
     TEXT,
     2,
     2,
     {PARAMETER_TEXT, PARAMETER_TEXT},
     .check = check_concat,
     .lower = lower_concat},
    {"memcmp",
     "memcmp(a, b, length)",
     TEXT,
     3,
     3,
     {PARAMETER_BYTES, PARAMETER_BYTES, PARAMETER_LITERAL_INTEGER},
     .check = check_memcmp,
     .lower = lower_memcmp},
    {0},
};
